"""Options that say which score files to read, and how."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from zeroevidence.cli.options import shared
from zeroevidence.cli.options.declare import Decorator, derived_option, option_group
from zeroevidence.data.formats.scores.join import Duplicates
from zeroevidence.data.formats.scores.read import Infinite
from zeroevidence.data.formats.scores.score_format import format_names
from zeroevidence.data.loaded_scores import Base, Scale
from zeroevidence.evaluation.results import is_result, refuse_unfinished
from zeroevidence.evaluation.score_files import Reading, ScoreFile, distinct_names, pool_files, score_files
from zeroevidence.evaluation.utility import utility_in_folders
from zeroevidence.forking import Each, forked_map
from zeroevidence.run import Run

if TYPE_CHECKING:
    from zeroevidence.evaluation import Evaluation, Options

_LARGE = 1 << 26  # bytes of a file beyond which it has the memory to itself


@dataclass(frozen=True, slots=True)
class ScoreInputs:
    """What to read, and how; the fields that are not described are the arguments of `score_files`.

    Parameters
    ----------
    reading
        How the files are read.
    pool
        The label whose groups are pooled, None for none.
    """

    reading: Reading
    scores: tuple[str, ...]
    keys: tuple[str, ...]
    speakers: str | None
    systems: tuple[str, ...] = ()
    dev: tuple[str, ...] = ()
    dev_keys: tuple[str, ...] = ()
    calibrate: tuple[str, ...] = ()
    calibrate_keys: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    nontargets: tuple[str, ...] = ()
    pool: str | None = None

    @property
    def finished(self) -> list[str]:
        """The finished results among SCORES, as `evaluate`, `audit` and `link` write them."""
        return [path for path in self.scores if path != "-" and is_result(path)]

    @property
    def all_finished(self) -> bool:
        """Whether SCORES are finished results only."""
        return len(self.finished) == len(self.scores) and not self.targets

    @property
    def names(self) -> list[str]:
        """A name for each of SCORES."""
        return list(self.systems) or distinct_names(self.scores)

    def files(self) -> list[ScoreFile]:
        """Return the score files among SCORES with their keys; the folder of an audit that still runs is refused."""
        for path in self.scores:
            refuse_unfinished(path)
        files = score_files(
            [path for path in self.scores if path not in self.finished],
            self.keys,
            speakers=self.speakers,
            systems=self.systems,
            dev=self.dev,
            dev_keys=self.dev_keys,
            calibrate=self.calibrate,
            calibrate_keys=self.calibrate_keys,
            targets=self.targets,
            nontargets=self.nontargets,
        )
        return files if self.pool is None else pool_files(files, self.pool)

    def utility(self, options: Options, run: Run) -> list[Evaluation]:
        """Return the rows of utility in the result folders of a challenge among SCORES."""
        return utility_in_folders(self.scores, self.keys, systems=self.systems, options=options, run=run)


def files_abreast(
    files: Sequence[ScoreFile], run: Run, meanwhile: Callable[[], object] | None = None
) -> AbstractContextManager[Each]:
    """Provide a `map` over score files: by several processes where these fit into memory together.

    Parameters
    ----------
    files
        The score files.
    run
        With several cores, which resample each file, one file is evaluated after the other.
    meanwhile
        What to do here while other processes work, where they do.
    """
    small = all(_is_small(Path(path)) for file in files for path in file.paths)
    return forked_map(meanwhile=meanwhile) if small and run.cores == 1 else nullcontext(map)


def _is_small(path: Path) -> bool:
    """Return whether a path is that of a file, which can be read again, and not a large one."""
    try:
        return path.is_file() and path.stat().st_size <= _LARGE
    except (OSError, ValueError):  # reading it tells why
        return False


def _score_inputs(
    input_format: str,
    duplicates: Duplicates,
    allow_missing: bool,
    infinite: Infinite,
    negate: bool,
    llr_base: Base,
    sessions: str | None,
    score_column: str | None,
    label_column: str | None,
    **files: Any,
) -> ScoreInputs:
    scale = Scale(negate, llr_base)
    columns = score_column, label_column
    return ScoreInputs(Reading(input_format, duplicates, allow_missing, scale, infinite, sessions, *columns), **files)


def _required_inputs(**values: Any) -> ScoreInputs:
    """Return what to read; nothing at all is refused as click refuses a missing argument."""
    if not values["scores"] and not values["targets"] and not values["nontargets"]:
        raise click.UsageError("Missing argument 'SCORES...', or --targets and --nontargets.")
    return _score_inputs(**values)


def reading_options(owner: Callable[..., Any], format_name: str, formats: Sequence[str]) -> tuple[Decorator, ...]:
    """Return the options of how score files are read.

    Parameters
    ----------
    owner
        The function or dataclass that has the defaults.
    format_name
        Its parameter or field for the format.
    formats
        The formats.
    """
    return (
        derived_option(
            owner, format_name, "--input-format", "input_format", choices=formats, help="Format of the score files."
        ),
        derived_option(owner, "duplicates", help="What to do with a trial that is scored twice."),
        derived_option(
            owner, "allow_missing", help="Evaluate the trials that scores and key have in common, instead of refusing."
        ),
    )


def llr_base_option(owner: Callable[..., Any]) -> Decorator:
    """Return the option --llr-base."""
    return derived_option(owner, "llr_base", help="Base of the logarithm, for scores that are log-likelihood ratios.")


_ONCE = "once for all SCORES, or once for each"


def _other_people(option: str, purpose: str) -> tuple[Decorator, Decorator]:
    """Return the options of score files of other people, and of their keys."""
    keys = f"{option.removeprefix('--')}_keys"
    return (
        click.option(option, multiple=True, metavar="SCORES", help=f"Scores of other people, {purpose}; {_ONCE}."),
        click.option(f"{option}-key", keys, multiple=True, metavar="KEY", help=f"Key of {option}, like --key."),
    )


def _scores_of(kind: str, detail: str) -> Decorator:
    """Return the option of lists of scores of one kind."""
    text = f"Scores of {kind} alone, one number a line; {detail}."
    return click.option(f"--{kind}", multiple=True, metavar="FILE", help=text)


def _column(kind: str, detail: str = "") -> Decorator:
    """Return the option that names a column of a table."""
    text = f"Column of a table that holds the {kind}s; {detail or 'recognised by its name unless given'}."
    return click.option(f"--{kind}-column", metavar="NAME", help=text)


def _files() -> tuple[Decorator, ...]:
    return (
        click.argument("scores", nargs=-1, metavar="[SCORES]..."),
        shared.key(f"may be a Kaldi data folder; {_ONCE}", name="keys", multiple=True),
        shared.speakers(),
        click.option(
            "--sessions",
            metavar="FILE",
            help="Leave out pairs of one recording session: lines of `identifier session`, a line for every session "
            "of an enrolment or trial.",
        ),
        _scores_of("targets", "with --nontargets, instead of SCORES"),
        _scores_of("nontargets", "once for each --targets"),
        *reading_options(Reading, "file_format", format_names()),
        _column("score"),
        _column("label", "of the key where there is one"),
        derived_option(Reading, "infinite", help="What to do with infinite scores, which LLRs may be."),
        derived_option(Scale, "negate", help="Negate the scores, where lower scores support the target."),
        llr_base_option(Scale),
    )


score_inputs = option_group(
    "inputs",
    _required_inputs,
    *_files(),
    shared.system("one for each of SCORES [default: from the file names]", name="systems", multiple=True),
    *_other_people("--dev", "to calibrate a search"),
    *_other_people("--calibrate", "to turn scores into LLRs"),
    click.option("--pool", metavar="LABEL", help="Pool rows of a folder that differ in this label only, such as sex."),
)
files_to_check = option_group("inputs", _score_inputs, *_files())
