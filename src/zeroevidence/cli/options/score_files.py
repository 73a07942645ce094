"""The score files that several commands read, as one value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from zeroevidence.cli.options.declare import grouped, setting
from zeroevidence.cli.options.output import terminal_progress
from zeroevidence.data.formats.scores.reading.join import Duplicates
from zeroevidence.data.formats.scores.reading.read import Infinite
from zeroevidence.data.formats.scores.score_format import format_names
from zeroevidence.data.preparing.scale import Base, Scale
from zeroevidence.evaluation.reading.kits import utility_in_folders
from zeroevidence.evaluation.reading.results import is_result
from zeroevidence.evaluation.reading.score_files import Reading, ScoreFile, distinct_names, pool_files, score_files
from zeroevidence.uncertainty.resampling.draws import Progress

if TYPE_CHECKING:
    from zeroevidence.evaluation import Evaluation, Options


@dataclass(frozen=True, slots=True)
class ScoreInputs:
    """What to read, and how.

    Parameters
    ----------
    scores, keys, speakers, systems, dev, dev_keys, calibrate, calibrate_keys
        As in `score_files`.
    reading
        How the files are read.
    pool
        The label whose groups are pooled, None for none.
    """

    scores: tuple[str, ...]
    keys: tuple[str, ...]
    speakers: str | None
    systems: tuple[str, ...]
    dev: tuple[str, ...]
    dev_keys: tuple[str, ...]
    reading: Reading
    pool: str | None = None
    calibrate: tuple[str, ...] = ()
    calibrate_keys: tuple[str, ...] = ()

    @property
    def finished(self) -> list[str]:
        """Those of SCORES that are finished results, as `evaluate`, `audit` and `link` write them."""
        return [path for path in self.scores if path != "-" and is_result(path)]

    @property
    def all_finished(self) -> bool:
        """Whether there is nothing but finished results."""
        return len(self.finished) == len(self.scores)

    @property
    def names(self) -> list[str]:
        """A name for each of SCORES."""
        return list(self.systems) or distinct_names(self.scores)

    def files(self) -> list[ScoreFile]:
        """The score files among SCORES with their keys."""
        raw = [path for path in self.scores if path not in self.finished]
        found = score_files(
            raw,
            self.keys,
            speakers=self.speakers,
            systems=self.systems,
            dev=self.dev,
            dev_keys=self.dev_keys,
            calibrate=self.calibrate,
            calibrate_keys=self.calibrate_keys,
        )
        return found if self.pool is None else pool_files(found, self.pool)

    def utility(self, options: Options) -> list[Evaluation]:
        """What result folders of a challenge among SCORES say about utility."""
        return utility_in_folders(self.scores, self.keys, systems=self.systems, options=options)


def file_progress(files: Sequence[ScoreFile]) -> Callable[[int], Progress | None]:
    """For the number of a file, the line on the terminal that counts its replicates."""
    return lambda number: terminal_progress(f"{number + 1}/{len(files)}")


def _inputs(
    scores: tuple[str, ...],
    keys: tuple[str, ...],
    speakers: str | None,
    file_format: str,
    duplicates: Duplicates,
    allow_missing: bool,
    infinite: Infinite,
    systems: tuple[str, ...] = (),
    dev: tuple[str, ...] = (),
    dev_keys: tuple[str, ...] = (),
    calibrate: tuple[str, ...] = (),
    calibrate_keys: tuple[str, ...] = (),
    negate: bool = False,
    llr_base: Base = "e",
    pool: str | None = None,
) -> ScoreInputs:
    reading = Reading(file_format, duplicates, allow_missing, Scale(negate, llr_base), infinite)
    return ScoreInputs(scores, keys, speakers, systems, dev, dev_keys, reading, pool, calibrate, calibrate_keys)


_FILES = (
    click.argument("scores", nargs=-1, required=True, metavar="SCORES..."),
    click.option(
        "--key",
        "keys",
        metavar="KEY",
        multiple=True,
        help="File or Kaldi data folder with the labels; once for all SCORES, or once for each.",
    ),
    click.option("--speakers", metavar="FILE", help="Who speaks: lines of `utterance speaker` (Kaldi utt2spk)."),
    setting(
        Reading, "file_format", "--format", "file_format", choices=format_names(), help="Format of the score files."
    ),
    setting(Reading, "duplicates", help="What to do with a pair that is scored twice."),
    setting(Reading, "allow_missing", help="Evaluate the trials that are in both files, instead of refusing."),
    setting(Reading, "infinite", help="What to do with infinite scores, which LLRs may be."),
)
_SCALE = (
    setting(Scale, "negate", help="Negate the scores: higher ones speak against the target."),
    setting(Scale, "llr_base", help="Base of the logarithm, for scores that are log-likelihood ratios."),
)
_SYSTEMS = (
    click.option("--system", "systems", multiple=True, metavar="NAME", help="Name of the system, one for each SCORES."),
    click.option(
        "--dev",
        multiple=True,
        metavar="SCORES",
        help="Scores of other speakers to calibrate on; once for all SCORES, or once for each.",
    ),
    click.option("--dev-key", "dev_keys", multiple=True, metavar="KEY", help="Their labels, like --key."),
    click.option(
        "--calibrate",
        multiple=True,
        metavar="SCORES",
        help="Scores of other speakers that turn scores into likelihood ratios; once for all SCORES, or once for each.",
    ),
    click.option("--calibrate-key", "calibrate_keys", multiple=True, metavar="KEY", help="Their labels, like --key."),
    click.option("--pool", metavar="LABEL", help="Take rows of a folder together that differ in this alone: sex."),
)

score_inputs = grouped("inputs", _inputs, *_FILES, *_SCALE, *_SYSTEMS)
files_to_check = grouped("inputs", _inputs, *_FILES, *_SCALE)
