"""Search for the speakers of trials among many enrolled people, without storing the scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal, TypeAlias, get_args

import click
import polars as pl

from zeroevidence.cli.declare import options_of, run_options, shared
from zeroevidence.cli.printing import echo, working
from zeroevidence.data.files import naming_file
from zeroevidence.data.printable import file_name_text
from zeroevidence.errors import UsageError
from zeroevidence.linkage.engines import engine_names
from zeroevidence.linkage.inputs import Pairing, read_pairing
from zeroevidence.linkage.plan import LinkOptions
from zeroevidence.linkage.search import LinkResult, SearchOutput, link_resumable
from zeroevidence.run import Run, setting

TableFormat: TypeAlias = Literal["parquet", "csv"]
_TABLES: tuple[TableFormat, ...] = get_args(TableFormat)


@dataclass(frozen=True, slots=True)
class SearchFiles:
    """Files of a search, and those to calibrate it on."""

    enrol: str = setting(MISSING, "Embeddings of the enrolled people, one or several each.", metavar="FILE")
    trial: str = setting(MISSING, "Embeddings of the trials, with their speakers.", metavar="FILE")
    enrol_ids: str | None = setting(
        None, "Lines of `utterance speaker` for --enrol, where the file names no speakers.", metavar="FILE"
    )
    trial_ids: str | None = setting(None, "The same for --trial.", metavar="FILE")
    dev_enrol: str | None = setting(None, "Embeddings of enrolments of other people, to calibrate on.", metavar="FILE")
    dev_trial: str | None = setting(None, "Embeddings of trials of other people, to calibrate on.", metavar="FILE")

    def read(self, options: LinkOptions) -> tuple[Pairing, Pairing | None]:
        """Return the embeddings of the search, and those to calibrate on."""
        if (self.dev_enrol is None) != (self.dev_trial is None):
            raise UsageError("--dev-enrol and --dev-trial belong together; expected both")
        read = partial(read_pairing, scoring=options.scoring, allow_same=options.allow_same)
        search = read(self.trial, self.enrol, trial_ids=self.trial_ids, enrol_ids=self.enrol_ids)
        if self.dev_trial is None or self.dev_enrol is None:
            return search, None
        return search, read(self.dev_trial, self.dev_enrol)


@dataclass(frozen=True, slots=True)
class LinkResults:
    """What is written into the folder of a search."""

    folder: str = shared("--output", "a folder, which also holds checkpoints", default=MISSING, metavar="FOLDER")
    system: str | None = shared("--system", "the name of the file of trials unless given")
    table: TableFormat = setting("parquet", "Format of the table with a row for each trial.")
    overwrite: bool = shared("--overwrite", "start again if the folder holds a finished or another search")


@click.command("link")
@options_of(SearchFiles, "files")
@options_of(LinkOptions, "options", engine={"type": click.Choice(engine_names())})
@run_options(
    "seed", "level", "device", "scheduler", "verbose", scheduler="of the engine dask [default: a local cluster]"
)
@click.option(
    "--threads",
    type=click.IntRange(1),
    help="Threads that share the work; used by the engine numpy, and by each task of dask.",
)
@options_of(LinkResults, "results")
def command(files: SearchFiles, options: LinkOptions, run: Run, threads: int | None, results: LinkResults) -> None:
    """Link trials to enrolled people and measure what each trial discloses, without storing the scores.

    Embeddings are .npz, .npy with a list of identifiers beside it, Parquet, Kaldi ark or scp, or VoicePrivacy
    speaker_vectors.pt. Several enrolment vectors of a person are averaged, for cosine after scaling each to length
    one. Without --dev-enrol and --dev-trial the calibration is cross-fitted over speakers. A search that was killed
    continues where it stopped if it is started again with the same arguments.

    \b
    zeroevidence link --enrol enrol.npz --trial trial.npz -o out/
    zeroevidence link --enrol e.npy --trial t.npy --dev-enrol de.npz --dev-trial dt.npz --engine triton -o out/
    """  # noqa: D301 (\b is a control character here)
    system = results.system or file_name_text(Path(files.trial).stem)
    labels = {"table": results.table, "system": system, "level": str(run.level)}
    make_table = pl.DataFrame  # which loads polars: the search needs to know how much memory is left
    with working("linking trials to enrolled people"), naming_file(f"{files.trial} and {files.enrol}"):
        search, development = files.read(options)
        output = SearchOutput(
            partial(_write, make_table, search, Path(results.folder), labels, run),
            ("result.json", *(f"trials.{table}" for table in _TABLES)),
            labels,
        )
        linked = link_resumable(
            search,
            results.folder,
            options,
            development=development,
            output=output,
            overwrite=results.overwrite,
            run=replace(run, cores=threads or (1 if options.engine == "dask" else None)),
        )
    if linked is None:
        echo(f"{results.folder}: this search is done; --overwrite does it again", err=True)


def _write(
    make_table: Callable[..., pl.DataFrame],
    search: Pairing,
    folder: Path,
    labels: dict[str, str],
    run: Run,
    linked: LinkResult,
) -> None:
    """Write the table of trials and the result."""
    from zeroevidence.cli.output import print_written
    from zeroevidence.data.writing import write_file
    from zeroevidence.evaluation.results import LinkedSearch, to_json
    from zeroevidence.report.people import write_table

    table = make_table(
        {
            "trial": linked.trial,
            "speaker": linked.speaker,
            "lid": linked.lid,
            "rank": 1.0 + linked.greater + linked.equal / 2.0,
            "linked": ((linked.greater == 0) & (linked.equal == 0)).astype("int64"),
            "score": linked.score,
            "row_mean": linked.mean,
            "row_deviation": linked.deviation,
            "log_sum": linked.log_sum,
            "greater": linked.greater,
            "equal": linked.equal,
            "best_other": linked.best_other,
            "top": search.enrol.ids[linked.top],
        }
    )
    written = folder / f"trials.{labels['table']}", folder / "result.json"
    write_table(table, written[0])
    evaluation = LinkedSearch.of(linked).evaluate(labels={"system": labels["system"]}, run=run)
    write_file(written[1], to_json([evaluation]))
    for path in written:
        print_written(path)
