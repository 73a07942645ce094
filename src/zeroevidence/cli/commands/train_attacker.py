"""``zeroevidence train-attacker``: an encoder that learned from protected speech."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from zeroevidence.attack.training.settings import TrainingSettings
from zeroevidence.cli.options.declare import settings_options
from zeroevidence.cli.options.output import terminal_progress

if TYPE_CHECKING:
    from zeroevidence.attack.training.history import Epoch


@click.command("train-attacker")
@click.argument("corpus")
@click.option(
    "--extractor",
    metavar="NAME",
    help="Encoder to start from, by name or by its card [default: the one that comes with the package].",
)
@click.option(
    "--evaluation", metavar="CORPUS", help="Corpus that will be evaluated; training on its people is refused."
)
@settings_options("settings", TrainingSettings)
@click.option("--device", metavar="NAME", help="Device of torch, such as cuda:1 or cpu.")
@click.option("--workers", type=click.IntRange(1), help="Cores that read speech [default: all].")
@click.option("-o", "--output", "folder", required=True, metavar="FOLDER", help="Where the encoder and its card go.")
def command(
    corpus: str,
    extractor: str | None,
    evaluation: str | None,
    settings: TrainingSettings,
    device: str | None,
    workers: int | None,
    folder: str,
) -> None:
    """Fine-tune a speaker encoder on protected speech, to attack that protection with.

    CORPUS is protected speech of people who will not be evaluated: speaker/utterance.wav, a Kaldi data folder or a
    table. A quarter of the people decide when to stop. Cut off and started again, it goes on where it was.

    \b
    zeroevidence train-attacker protected/ -o attacker/
    zeroevidence audit original/ --anonymised anonymised/ --extractor-anonymised attacker/card.json -o out/
    """  # noqa: D301 (the mark that keeps lines apart is a control character, not two letters)
    from zeroevidence.attack.extractors.extractor import DEFAULT_EXTRACTOR
    from zeroevidence.attack.training.attacker import train_attacker

    found = train_attacker(
        corpus,
        folder,
        encoder=extractor or DEFAULT_EXTRACTOR,
        evaluation=evaluation,
        settings=settings,
        device=device,
        workers=workers,
        on_epoch=_show_epoch,
        progress=terminal_progress("reading speech", "recordings"),
        say=partial(click.echo, err=True),
    )
    click.echo(
        f"{found.card}: learned from {found.people} people and was stopped on {found.development_people}, "
        f"{found.utterances} recordings in all; development people disclose {found.after:.2f} bits to it, and "
        f"{found.before:.2f} to the encoder that it started from"
    )


def _show_epoch(epoch: Epoch) -> None:
    looked = "" if epoch.development is None else f", development EER {100 * epoch.development.eer:.1f} %"
    bits = "" if epoch.development is None else f", {epoch.development.bits:.2f} bits"
    click.echo(f"epoch {epoch.number}: loss {epoch.loss:.3f}{looked}{bits}", err=True)
