"""Anonymise a corpus of speech with a voice protector."""

from __future__ import annotations

from typing import Any

import click

from zeroevidence.cli.options import shared
from zeroevidence.cli.printing import echo, echo_lines, terminal_progress
from zeroevidence.data.audio import RATES
from zeroevidence.errors import InputError
from zeroevidence.protect.anonymise import FORMATS, anonymise
from zeroevidence.protect.voices import spelling_help


@click.command("anonymise")
@click.argument("corpus")
@click.option(
    "--protect",
    metavar="NAME",
    required=True,
    help=f"Anonymise the speech with this voice protector: {spelling_help()}.",
)
@click.option("--rate", type=click.IntRange(*RATES), help="Sample rate of the files [default: as they are].")
@click.option(
    "--audio-format", "format", type=click.Choice(FORMATS), help="Format of the files [default: as they are]."
)
@click.option(
    "--transcripts",
    metavar="FILE",
    help="What was said: lines of `utterance word ...` (Kaldi text); in place of the recogniser of a cascade.",
)
@shared.seed(
    "decides what the protector draws, and whoever has it can undo draws [default: a secret one]",
    default=None,
    show_default=False,
)
@click.option("--keep-seed", is_flag=True, help="State the seed in protector.json.")
@shared.threads("[default: one for each core]")
@shared.output("a folder apart from the original", name="folder", required=True, metavar="FOLDER")
@shared.overwrite()
def command(corpus: str, folder: str, **settings: Any) -> None:
    """Write a corpus of the same layout in which the voice of every recording is protected.

    CORPUS is the original speech: a folder speaker/utterance.wav, a Kaldi data folder, or a table with utterance,
    speaker and path. Speakers, roles, attributes and transcripts stay as they are; rates and formats do unless asked
    otherwise. A recording that cannot be anonymised is refused with one line and left out, and the exit code is 3; an
    audit then leaves it out on both sides. An interrupted run continues where it stopped.

    FOLDER also gets the card of the protector (protector.json), which `audit` reads, and the digests of the recordings.

    \b
    zeroevidence anonymise original/ -o anonymised/ --protect mcadams-random+pitch:-4..4
    zeroevidence anonymise original/ -o anonymised/ --protect cascade
    zeroevidence audit original/ --anonymised anonymised/ -o out/
    """  # noqa: D301 (\b is a control character here)
    anonymised = anonymise(corpus, folder, progress=terminal_progress("anonymising", "recordings"), **settings)
    for problem in anonymised.refused:
        echo(problem, err=True)
    release = anonymised.card.release
    echo_lines(anonymised.card.to_text())
    if anonymised.refused and release is not None:
        count = len(anonymised.refused)
        share = f"{count} of {release.recordings + count} recordings"
        raise InputError(
            f"{share} were refused and left out, as protector.json lists; the same command tries again", path=folder
        )
