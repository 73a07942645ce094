"""Score files, folders and finished results that commands read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import click

from zeroevidence.data.formats.scores.score_format import ReadingOptions
from zeroevidence.errors import UsageError
from zeroevidence.evaluation import Evaluation, Options
from zeroevidence.evaluation.comparable import tell_apart
from zeroevidence.evaluation.results import is_result, read_results, refuse_unfinished
from zeroevidence.evaluation.score_files import ScoreFile, ScorePaths, distinct_names, pool_files, score_files
from zeroevidence.evaluation.utility import utility_in_folders
from zeroevidence.parallel import compute_in_copies
from zeroevidence.run import Each, Run, setting

_LARGE = 1 << 26  # bytes of a file beyond which it has the memory to itself


@dataclass(frozen=True, slots=True)
class ScoreInputs:
    """What to read, and how.

    Parameters
    ----------
    paths
        The files, folders and finished results.
    reading
        How score files are read.
    pool
        The label whose groups are pooled, None for none.
    """

    paths: ScorePaths
    reading: ReadingOptions
    pool: str | None = setting(
        None, "Pool rows of a folder that differ in this label only, such as sex.", metavar="LABEL"
    )

    @property
    def finished(self) -> list[str]:
        """The finished results among SCORES, as `evaluate`, `audit` and `link` write them."""
        return [path for path in self.paths.scores if path != "-" and is_result(path)]

    @property
    def all_finished(self) -> bool:
        """Whether SCORES are finished results only."""
        return len(self.finished) == len(self.paths.scores) and not self.paths.targets

    def finished_rows(self) -> list[Evaluation]:
        """Return the rows of finished results, where different systems have different names."""
        results = [read_results(path) for path in self.finished]
        return [row for rows in tell_apart(results, distinct_names(self.finished)) for row in rows]

    @property
    def names(self) -> list[str]:
        """A name for each of SCORES."""
        return list(self.paths.systems) or distinct_names(self.paths.scores)

    def files(self, *, named: bool = True) -> list[ScoreFile]:
        """Return the score files among SCORES with their keys; the folder of an audit that still runs is refused.

        Parameters
        ----------
        named
            Whether the names that were given are those of the files.
        """
        for path in self.paths.scores:
            refuse_unfinished(path)
        scores = [path for path in self.paths.scores if path not in self.finished]
        files = score_files(replace(self.paths, scores=scores, systems=self.paths.systems if named else ()))
        return files if self.pool is None else pool_files(files, self.pool)

    def utility(self, options: Options, run: Run) -> list[Evaluation]:
        """Return the rows of utility in the result folders of a challenge among SCORES."""
        paths = self.paths
        return utility_in_folders(paths.scores, paths.keys, systems=paths.systems, options=options, run=run)


@dataclass(frozen=True, slots=True)
class RequiredInputs(ScoreInputs):
    """What to read, and how; nothing at all is refused as click refuses a missing argument."""

    def __post_init__(self) -> None:
        if not self.paths.scores and not self.paths.targets and not self.paths.nontargets:
            raise click.UsageError("Missing argument 'SCORES...', or --targets and --nontargets.")
        if self.paths.labels and self.all_finished:
            raise UsageError("--label is for score files, but all inputs are finished results")


def files_abreast(files: Sequence[ScoreFile], run: Run, meanwhile: Callable[[], object] | None = None) -> Each:
    """Return a `map` over score files: by several processes where these fit into memory together.

    Parameters
    ----------
    files
        The score files.
    run
        How many processes; those that were asked for resample where there is one file.
    meanwhile
        What to do here while other processes work, where they do.
    """
    alone = len(files) == 1 and run.cores is not None
    return partial(compute_in_copies, run=run, meanwhile=meanwhile) if _are_small(files) and not alone else map


def copied_run(files: Sequence[ScoreFile], run: Run, meanwhile: Callable[[], object]) -> Run:
    """Return the run of one small file on several cores, in which copies of this process read it and draw the null."""
    alone = len(files) == 1 and run.cores is None and run.workers > 1
    return replace(run, meanwhile=meanwhile) if alone and _are_small(files) else run


def _are_small(files: Sequence[ScoreFile]) -> bool:
    """Return whether several of these files fit into memory together, and may be read again."""
    return all(_is_small(Path(path)) for file in files for path in file.paths)


def _is_small(path: Path) -> bool:
    """Return whether a path is that of a file, which can be read again, and not a large one."""
    try:
        return path.is_file() and path.stat().st_size <= _LARGE
    except (OSError, ValueError):  # reading it tells why
        return False
