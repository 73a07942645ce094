"""Search for the speakers of trials among many enrolled people, without storing the scores."""

from __future__ import annotations

from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import click

from zeroevidence.cli.options import shared
from zeroevidence.cli.options.declare import derived_option
from zeroevidence.cli.printing import echo
from zeroevidence.data.printable import file_name_text
from zeroevidence.errors import UsageError
from zeroevidence.linkage.engines import engine_names
from zeroevidence.linkage.resumable import LinkSettings, Precision, link_resumable
from zeroevidence.uncertainty.level import LEVEL

if TYPE_CHECKING:
    from zeroevidence.linkage.inputs import Pairing
    from zeroevidence.linkage.search import LinkResult

TableFormat: TypeAlias = Literal["parquet", "csv"]
_TABLES: tuple[TableFormat, ...] = get_args(TableFormat)


def _parse_bits(_context: click.Context, _parameter: click.Parameter, value: str | None) -> int | None:
    return None if value is None else int(value)


@click.command("link")
@click.option("--enrol", required=True, metavar="FILE", help="Embeddings of the enrolled people, one or several each.")
@click.option("--trial", required=True, metavar="FILE", help="Embeddings of the trials, with their speakers.")
@click.option(
    "--enrol-ids", metavar="FILE", help="Lines of `utterance speaker` for --enrol, where the file names no speakers."
)
@click.option("--trial-ids", metavar="FILE", help="The same for --trial.")
@click.option("--dev-enrol", metavar="FILE", help="Embeddings of enrolments of other people, to calibrate on.")
@click.option("--dev-trial", metavar="FILE", help="Embeddings of trials of other people, to calibrate on.")
@click.option("--weight", type=float, help="Calibration weight to use instead of a fitted one.")
@derived_option(LinkSettings, "scoring", help="Score of two vectors.")
@derived_option(
    LinkSettings,
    "ddof",
    type=click.IntRange(0, 1),
    help="Standard deviation of a row of scores: 0 population, 1 sample.",
)
@derived_option(
    LinkSettings, "row_scaling", help="Scale of each row of a search before calibration; `evaluate` has auto as well."
)
@derived_option(LinkSettings, "engine", choices=engine_names(), help="Engine that computes the search.")
@click.option(
    "--scheduler", metavar="ADDRESS", help="Address of a Dask scheduler; of the engine dask [default: a local cluster]."
)
@shared.device()
@shared.threads("used by the engine numpy, and by each task of dask")
@click.option(
    "--precision",
    type=click.Choice([str(bits) for bits in get_args(Precision)]),
    callback=_parse_bits,
    help="Bits of the numbers that are multiplied.",
)
@click.option("--block", type=click.IntRange(1), help="Trials between two checkpoints.")
@shared.level(default=LEVEL)
@shared.seed()
@shared.system("the name of the file of trials unless given")
@click.option(
    "--table",
    type=click.Choice(_TABLES),
    default=_TABLES[0],
    show_default=True,
    help="Format of the table with a row for each trial.",
)
@shared.output("a folder, which also holds checkpoints", required=True, metavar="FOLDER")
@shared.overwrite("start again if the folder holds a finished or another search")
def command(output: str, overwrite: bool, **values: Any) -> None:
    """Link trials to enrolled people and measure what each trial discloses, without storing the scores.

    Embeddings are .npz, .npy with a list of identifiers beside it, Parquet, Kaldi ark or scp, or VoicePrivacy
    speaker_vectors.pt. Several enrolment vectors of a person are averaged, for cosine after scaling each to length
    one. Without --dev-enrol and --dev-trial the calibration is cross-fitted over speakers. A search that was killed
    continues where it stopped if it is started again with the same arguments.

    \b
    zeroevidence link --enrol enrol.npz --trial trial.npz -o out/
    zeroevidence link --enrol e.npy --trial t.npy --dev-enrol de.npz --dev-trial dt.npz --engine triton -o out/
    """  # noqa: D301 (\b is a control character here)
    from zeroevidence.cli.printing import terminal_progress, working
    from zeroevidence.data.files import naming_file

    settings = LinkSettings(**{field.name: values[field.name] for field in fields(LinkSettings)})
    labels = {
        "table": values["table"],
        "system": values["system"] or file_name_text(Path(values["trial"]).stem),
        "level": str(values["level"]),
    }
    with working("linking trials to enrolled people"), naming_file(f"{values['trial']} and {values['enrol']}"):
        search, development = _read_pairings(values)
        linked = link_resumable(
            search,
            output,
            settings,
            development=development,
            labels=labels,
            device=values["device"],
            threads=values["threads"],
            scheduler=values["scheduler"],
            write=partial(_write, search, Path(output), labels, settings.seed),
            outputs=("result.json", *(f"trials.{table}" for table in _TABLES)),
            overwrite=overwrite,
            progress=terminal_progress("linking", "blocks"),
            say=partial(echo, err=True),
        )
    if linked is None:
        echo(f"{output}: this search is done; --overwrite does it again", err=True)


def _read_pairings(values: dict[str, Any]) -> tuple[Pairing, Pairing | None]:
    """Return the embeddings of the search, and those to calibrate on."""
    from zeroevidence.linkage.inputs import read_pairing

    if (values["dev_enrol"] is None) != (values["dev_trial"] is None):
        raise UsageError("--dev-enrol and --dev-trial belong together; expected both")
    ids = {"trial_ids": values["trial_ids"], "enrol_ids": values["enrol_ids"]}
    search = read_pairing(values["trial"], values["enrol"], scoring=values["scoring"], **ids)
    if values["dev_trial"] is None:
        return search, None
    return search, read_pairing(values["dev_trial"], values["dev_enrol"], scoring=values["scoring"])


def _write(search: Pairing, folder: Path, labels: dict[str, str], seed: int, linked: LinkResult) -> None:
    """Write the table of trials and the result."""
    import polars as pl

    from zeroevidence.cli.options.output import write_frame, write_text
    from zeroevidence.evaluation import Options
    from zeroevidence.evaluation.results import linked_evaluation, to_json

    table = pl.DataFrame(
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
    write_frame(table, str(folder / f"trials.{labels['table']}"))
    options = Options(level=float(labels["level"]), seed=seed)
    evaluation = linked_evaluation(linked, labels={"system": labels["system"]}, options=options)
    write_text(to_json([evaluation]), folder / "result.json")
