"""Fine-tune a speaker encoder on protected speech, for an attacker."""

from __future__ import annotations

from dataclasses import MISSING, replace

import click

from zeroevidence.attack.training.attacker import AttackerOptions, train_attacker
from zeroevidence.attack.training.history import Epoch
from zeroevidence.cli.declare import options_of, run_options, shared_option
from zeroevidence.cli.printing import echo, working
from zeroevidence.run import Run


@click.command("train-attacker")
@click.argument("corpus")
@options_of(AttackerOptions, "options")
@run_options(
    "device",
    "scheduler",
    "cores",
    "verbose",
    cores="they read the speech [default: one for each core]",
    scheduler="its workers read the speech [default: none]",
)
@shared_option("--output", str, "a folder for the encoder and its card", default=MISSING, metavar="FOLDER")
def command(corpus: str, options: AttackerOptions, run: Run, output: str) -> None:
    """Fine-tune a speaker encoder on protected speech, to attack the protection with it.

    CORPUS is protected speech of people who will not be evaluated: a folder speaker/utterance.wav, a Kaldi data folder
    or a table. A quarter of the people is held out to decide when to stop. An interrupted training continues where it
    stopped.

    \b
    zeroevidence train-attacker protected/ -o attacker/
    zeroevidence audit original/ --anonymised anonymised/ --extractor-anonymised attacker/card.json -o out/
    """  # noqa: D301 (\b is a control character here)
    run = replace(run, seed=options.settings.seed)
    with working("training an attacker"):
        trained = train_attacker(corpus, output, options, on_epoch=_print_epoch, run=run)
    echo(
        f"{trained.card}: trained on {trained.people} people and stopped on {trained.development_people}, "
        f"{trained.utterances} recordings in all; development people disclose {trained.after:.2f} bits to it, and "
        f"{trained.before:.2f} bits to the encoder that it started from"
    )


def _print_epoch(epoch: Epoch) -> None:
    measured = epoch.development
    result = "" if measured is None else f", development EER {100 * measured.eer:.1f} %, {measured.bits:.2f} bits"
    echo(f"epoch {epoch.number}: loss {epoch.loss:.3f}{result}", err=True)
