"""Fine-tune a speaker encoder on protected speech, for an attacker."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from zeroevidence.attack.extractors import DEFAULT_EXTRACTOR
from zeroevidence.attack.training import TrainingSettings
from zeroevidence.cli.options import shared
from zeroevidence.cli.options.declare import settings_options
from zeroevidence.cli.printing import echo, terminal_progress, working
from zeroevidence.forking import cores
from zeroevidence.run import Run

if TYPE_CHECKING:
    from zeroevidence.attack.training.history import Epoch


@click.command("train-attacker")
@click.argument("corpus")
@shared.extractor("the one to start from, by name or by its card", default=DEFAULT_EXTRACTOR, show_default=True)
@click.option("--evaluation", metavar="CORPUS", help="Corpus to be evaluated later; training on its people is refused.")
@settings_options("settings", TrainingSettings)
@click.option(
    "--scheduler", metavar="ADDRESS", help="Address of a Dask scheduler; its workers read the speech [default: none]."
)
@click.option(
    "--hours",
    type=float,
    help="Train again with other rates and more epochs until development people disclose no more, or this is spent.",
)
@shared.device()
@shared.threads("used to read speech [default: one for each core]")
@shared.output("a folder for the encoder and its card", name="folder", required=True, metavar="FOLDER")
@shared.overwrite()
def command(
    corpus: str, folder: str, device: str | None, threads: int | None, scheduler: str | None, **options: Any
) -> None:
    """Fine-tune a speaker encoder on protected speech, to attack the protection with it.

    CORPUS is protected speech of people who will not be evaluated: a folder speaker/utterance.wav, a Kaldi data folder
    or a table. A quarter of the people is held out to decide when to stop. An interrupted training continues where it
    stopped. Started by torchrun, processes share the work, each on a GPU of its own.

    \b
    zeroevidence train-attacker protected/ -o attacker/
    zeroevidence audit original/ --anonymised anonymised/ --extractor-anonymised attacker/card.json -o out/
    """  # noqa: D301 (\b is a control character here)
    from zeroevidence.attack.training.attacker import AttackerOptions, is_first_process, train_attacker

    run = Run(
        seed=options["settings"].seed,
        cores=threads or cores(),
        progress=terminal_progress,
        say=partial(echo, err=True),
        device=device,
        scheduler=scheduler,
    )
    with working("training an attacker"):
        trained = train_attacker(corpus, folder, AttackerOptions(**options), on_epoch=_print_epoch, run=run)
    if not is_first_process():
        return
    echo(
        f"{trained.card}: trained on {trained.people} people and stopped on {trained.development_people}, "
        f"{trained.utterances} recordings in all; development people disclose {trained.after:.2f} bits to it, and "
        f"{trained.before:.2f} bits to the encoder that it started from"
    )


def _print_epoch(epoch: Epoch) -> None:
    measured = epoch.development
    result = "" if measured is None else f", development EER {100 * measured.eer:.1f} %, {measured.bits:.2f} bits"
    echo(f"epoch {epoch.number}: loss {epoch.loss:.3f}{result}", err=True)
