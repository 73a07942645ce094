"""Anonymise a corpus of speech with a voice protector."""

from __future__ import annotations

from collections import Counter
from dataclasses import MISSING, dataclass

import click

from zeroevidence.cli.declare import options_of, run_options, shared
from zeroevidence.cli.printing import echo, echo_lines
from zeroevidence.errors import InputError
from zeroevidence.protect.anonymise import AnonymiseOptions, anonymise
from zeroevidence.protect.release import Draws
from zeroevidence.protect.voices import spelling_help
from zeroevidence.run import Run, setting

# what helps where the protector names nothing: what is not drawn by a program comes out the same from the same file
_SAME = "other files in their place, and the same command"
_USUAL_REMEDY: dict[Draws, str] = {"none": _SAME, "seeded": _SAME, "program": "the same command, which tries again"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Settings:
    """How a corpus is anonymised, and where to."""

    protect: str = setting(
        MISSING, f"Anonymise the speech with this voice protector: {spelling_help()}.", metavar="NAME"
    )
    options: AnonymiseOptions
    folder: str = shared("--output", "a folder apart from the original", default=MISSING, metavar="FOLDER")
    overwrite: bool = shared("--overwrite")


@click.command("anonymise")
@click.argument("corpus")
@options_of(_Settings, "settings")
@run_options("cores")
def command(corpus: str, settings: _Settings, run: Run) -> None:
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
    anonymised = anonymise(
        corpus, settings.folder, settings.protect, settings.options, overwrite=settings.overwrite, run=run
    )
    for problem in anonymised.refused:
        echo(problem, err=True)
    release = anonymised.card.release
    echo_lines(anonymised.card.to_text())
    if anonymised.refused and release is not None:
        count = len(anonymised.refused)
        share = f"{count} of {release.recordings + count} recordings {'was' if count == 1 else 'were'}"
        remedies = Counter(problem.remedy or _USUAL_REMEDY[release.draws] for problem in anonymised.refused)
        helps = "; ".join(f"{remedy} ({number} recording{'s'[: number > 1]})" for remedy, number in remedies.items())
        reason = f"{share} refused and left out, as protector.json lists; what helps: {helps}"
        raise InputError(reason, path=settings.folder)
