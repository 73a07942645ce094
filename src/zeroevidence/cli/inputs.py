"""Options that say what to read, shared by the commands that read scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from zeroevidence.data.formats import FORMATS, Loaded, diagnose, find_rows, read_scores
from zeroevidence.errors import Problem, UsageError


@dataclass(frozen=True, slots=True)
class Source:
    """One row to be: a score file, its key and what is known about it."""

    scores: str
    key: str | None
    speakers: str | None
    labels: dict[str, str]


def input_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """SCORES and the options that say how to read them."""
    for decorator in (
        click.option(
            "--allow-missing",
            is_flag=True,
            help="Evaluate the trials that both files have, instead of refusing.",
        ),
        click.option(
            "--duplicates",
            type=click.Choice(["error", "keep-last"]),
            default="error",
            show_default=True,
            help="What to do with a pair that is scored twice.",
        ),
        click.option(
            "--format",
            "file_format",
            type=click.Choice(FORMATS),
            default="auto",
            show_default=True,
            help="Format of the score files.",
        ),
        click.option("--speakers", metavar="FILE", help="Who speaks: lines of `utterance speaker` (Kaldi utt2spk)."),
        click.option(
            "--key",
            "keys",
            metavar="KEY",
            multiple=True,
            help="File or Kaldi data folder with the labels; once for all SCORES, or once for each.",
        ),
        click.argument("scores", nargs=-1, required=True, metavar="SCORES..."),
    ):
        function = decorator(function)
    return function


def system_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options ``--system``, ``--dev`` and ``--dev-key``."""
    for option in (
        click.option("--dev-key", "dev_keys", multiple=True, metavar="KEY", help="Their labels, as --key."),
        click.option(
            "--dev",
            "dev_scores",
            multiple=True,
            metavar="SCORES",
            help="Scores of other speakers to calibrate the search on; once for all SCORES, or once for each.",
        ),
        click.option(
            "--system", "names", multiple=True, metavar="NAME", help="Name of the system, one for each SCORES."
        ),
    ):
        function = option(function)
    return function


def trust_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """How many replicates, and how many processes share them."""
    for option in (
        click.option(
            "--workers",
            type=click.IntRange(1),
            default=1,
            show_default=True,
            help="Processes for the resampling; the result does not depend on it.",
        ),
        click.option(
            "--interval-method",
            type=click.Choice(["auto", "percentile", "bca"]),
            default="auto",
            show_default=True,
            help="auto: BCa, centred for oracle-calibrated measures, percentile for extremes.",
        ),
        click.option(
            "--intervals",
            type=click.IntRange(0),
            default=1000,
            show_default=True,
            help="Bootstrap replicates of the intervals; 0 for none.",
        ),
    ):
        function = option(function)
    return function


def resolve(
    scores: Sequence[str], keys: Sequence[str], speakers: str | None, names: Sequence[str] = ()
) -> list[Source]:
    """One source per score file; result folders are opened up into theirs."""
    if len(keys) not in (0, 1, len(scores)):
        raise UsageError(f"expected one --key, or one for each of the {len(scores)} SCORES, got {len(keys)}")
    if names and len(names) != len(scores):
        raise UsageError(f"expected one --system for each of the {len(scores)} SCORES, got {len(names)}")
    if list(scores).count("-") > 1:
        raise UsageError("standard input (-) can be given once")
    sources = []
    titles = names or distinct_names(scores)
    for index, path in enumerate(scores):
        key = keys[index if len(keys) == len(scores) else 0] if keys else None
        if path != "-" and Path(path).is_dir():
            for row in find_rows(path, key=key):
                labels = dict(row.labels)
                if names:
                    labels["system"] = names[index]
                found = None if row.speakers is None else str(row.speakers)
                sources.append(Source(str(row.scores), str(row.key), speakers or found, labels))
        else:
            sources.append(Source(path, key, speakers, {"system": titles[index]}))
    return sources


def distinct_names(paths: Sequence[str]) -> list[str]:
    """File names without their ending, with as much of the path before them as it takes to tell them apart."""
    parts = [Path(path).with_suffix("").parts if path != "-" else ("stdin",) for path in paths]
    for depth in range(1, max(map(len, parts)) + 1):
        names = ["/".join(part[-depth:]) for part in parts]
        if len(set(names)) == len(names):
            return names
    return list(paths)


@dataclass(frozen=True, slots=True)
class Reading:
    """How files are to be read, as the options say."""

    file_format: str
    duplicates: str
    allow_missing: bool

    def read(self, source: Source) -> Loaded:
        """The scores of one source."""
        return read_scores(
            source.scores,
            source.key,
            format=self.file_format,
            duplicates=self.duplicates,  # type: ignore[arg-type]
            allow_missing=self.allow_missing,
            speakers=source.speakers,
        )

    def problems(self, source: Source) -> list[Problem]:
        """Everything that is wrong with one source."""
        return diagnose(
            source.scores,
            source.key,
            format=self.file_format,
            duplicates=self.duplicates,  # type: ignore[arg-type]
            allow_missing=self.allow_missing,
            speakers=source.speakers,
        )


def paired(extra: Sequence[Source], sources: Sequence[Source], option: str) -> list[Source]:
    """One further source for each: the same for all where a single one was given."""
    if len(extra) == 1:
        return [extra[0]] * len(sources)
    if len(extra) != len(sources):
        raise UsageError(f"expected one {option}, or one for each of the {len(sources)} score files, got {len(extra)}")
    return list(extra)
