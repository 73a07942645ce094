"""Anonymise a corpus of speech with a voice protector."""

from __future__ import annotations

import secrets
import sys
from collections import Counter
from contextlib import suppress
from dataclasses import MISSING, dataclass

import click
import numpy as np

from zeroevidence.cli.declare import options_of, run_options, shared
from zeroevidence.cli.printing import echo, echo_lines
from zeroevidence.data.waves import PcmInput
from zeroevidence.errors import InputError, UsageError
from zeroevidence.protect.anonymise import AUTO, AnonymiseOptions, anonymise
from zeroevidence.protect.pieces import PIPED, PIPED_PIECE, anonymise_pipe
from zeroevidence.protect.release import Draws
from zeroevidence.protect.voices import load_protector, spelling_help
from zeroevidence.protect.voices.cascade import with_language
from zeroevidence.protect.voices.processing import HIGHEST_RATE, LOWEST_RATE
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
    folder: str = shared("--output", "a folder apart from the original, or -", default=MISSING, metavar="FOLDER")
    overwrite: bool = shared("--overwrite")


@click.command("anonymise")
@click.argument("corpus")
@options_of(_Settings, "settings")
@run_options("cores", "scheduler", "verbose", scheduler="its workers anonymise the speech [default: none]")
def command(corpus: str, settings: _Settings, run: Run) -> None:
    """Write a corpus of the same layout in which the voice of every recording is protected.

    CORPUS is the original speech: a folder speaker/utterance.wav, a Kaldi data folder, or a table with utterance,
    speaker and path. Speakers, roles, attributes and transcripts stay as they are; rates and formats do unless asked
    otherwise. A recording that cannot be anonymised is refused with one line and left out, and the exit code is 3; an
    audit then leaves it out on both sides. An interrupted run continues where it stopped.

    A recording of more than a minute is protected in pieces, cut at pauses, and memory does not grow with its length.
    pieces.csv in FOLDER says where each piece lies in the original and in the anonymised recording; a piece that cannot
    be anonymised is silent there.

    FOLDER also gets the card of the protector (protector.json), which `audit` reads, and the digests of the recordings.

    With - in place of both, a WAV file or 16-bit PCM (with its --rate) goes from standard input to standard output, in
    pieces of a few seconds; the latency is said on standard error at the end. A piece that cannot be anonymised is
    silence of the same length, and the exit code is 3.

    \b
    zeroevidence anonymise original/ -o anonymised/ --protect mcadams-random+pitch:-4..4
    zeroevidence anonymise original/ -o anonymised/ --protect cascade
    zeroevidence audit original/ --anonymised anonymised/ -o out/
    arecord -f S16_LE -r 16000 -t wav | zeroevidence anonymise - -o - --protect onevoice | aplay
    """  # noqa: D301 (\b is a control character here)
    if "-" in (corpus, settings.folder):
        _pipe(corpus, settings, run)
        return
    anonymised = anonymise(
        corpus, settings.folder, settings.protect, settings.options, overwrite=settings.overwrite, run=run
    )
    for problem in (*anonymised.refused, *anonymised.silenced):
        echo(problem.with_heard, err=True)
    release = anonymised.card.release
    echo_lines(anonymised.card.to_text())
    reasons = []
    if anonymised.refused and release is not None:
        count = len(anonymised.refused)
        share = f"{count} of {release.recordings + count} recordings {'was' if count == 1 else 'were'}"
        remedies = Counter(problem.remedy or _USUAL_REMEDY[release.draws] for problem in anonymised.refused)
        helps = "; ".join(f"{remedy} ({number} recording{'s'[: number > 1]})" for remedy, number in remedies.items())
        reasons.append(f"{share} refused and left out, as protector.json lists; what helps: {helps}")
    if anonymised.silenced:
        reasons.append(f"pieces of long recordings that were refused and are silent: {len(anonymised.silenced)}")
    if reasons:
        raise InputError("; ".join(reasons), path=settings.folder)


def _pipe(corpus: str, settings: _Settings, run: Run) -> None:
    """Anonymise standard input to standard output."""
    options = settings.options
    if corpus != settings.folder:
        raise UsageError("- is both input and output, or neither; expected `anonymise - -o -`")
    if options.format or options.transcripts or options.keep_seed or options.language == AUTO:
        names = "--audio-format, --transcripts, --keep-seed and --language auto"
        raise UsageError(f"{names} are for files; expected none of them with -")
    if sys.stdout.isatty():
        raise UsageError("standard output is no file or program; expected one that takes audio")
    name = settings.protect if options.language is None else with_language(settings.protect, options.language)
    protector = load_protector(name, seed=secrets.randbits(62) if options.seed is None else options.seed)
    speech = PcmInput.of(sys.stdin.buffer, options.rate, "standard input")
    if not LOWEST_RATE <= speech.rate <= HIGHEST_RATE:
        raise InputError(f"{speech.rate} Hz; expected {LOWEST_RATE} to {HIGHEST_RATE} Hz", path="standard input")
    with suppress(InputError):  # models are loaded before somebody waits for them
        protector(np.random.default_rng(0).normal(0.0, 0.1, speech.rate), speech.rate, PIPED)
    piped = anonymise_pipe(speech, sys.stdout.buffer, protector, options.piece or PIPED_PIECE, run.say)
    echo(piped, err=True)
    if piped.silenced:
        raise InputError(f"pieces that were refused and are silent: {piped.silenced}", path="standard input")
