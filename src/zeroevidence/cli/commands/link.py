"""``zeroevidence link``: embeddings in, disclosure out, for searches whose score matrix nobody could store."""

from __future__ import annotations

from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import click

from zeroevidence.errors import UsageError
from zeroevidence.linkage.engines.engine import engine_names
from zeroevidence.linkage.inputs.scoring import ScoringName
from zeroevidence.linkage.resuming.resumable import Ddof, LinkSettings, Precision, link_resumable

if TYPE_CHECKING:
    from zeroevidence.linkage.inputs.pairing import Pairing
    from zeroevidence.linkage.result import LinkResult

TableFormat: TypeAlias = Literal["parquet", "csv"]
_TABLES: tuple[TableFormat, ...] = get_args(TableFormat)
_DEFAULTS = LinkSettings()


def _whole(_context: click.Context, _parameter: click.Parameter, value: str | None) -> int | None:
    return None if value is None else int(value)


@click.command("link")
@click.option("--enrol", required=True, metavar="FILE", help="Embeddings of the enrolled people, one or several each.")
@click.option("--trial", required=True, metavar="FILE", help="Embeddings of the trials, with their speakers.")
@click.option("--enrol-ids", metavar="FILE", help="Lines of `utterance speaker` for --enrol, if the file has none.")
@click.option("--trial-ids", metavar="FILE", help="The same for --trial.")
@click.option("--dev-enrol", metavar="FILE", help="Enrolment of other speakers, to calibrate on.")
@click.option("--dev-trial", metavar="FILE", help="Trials of other speakers, to calibrate on.")
@click.option("--weight", type=float, help="Use this calibration weight instead of fitting one.")
@click.option(
    "--scoring",
    type=click.Choice(get_args(ScoringName)),
    default=_DEFAULTS.scoring,
    show_default=True,
    help="Score of two vectors.",
)
@click.option(
    "--ddof",
    type=click.IntRange(min(get_args(Ddof)), max(get_args(Ddof))),
    default=_DEFAULTS.ddof,
    show_default=True,
    help="Row deviation: 0 population, 1 sample.",
)
@click.option(
    "--backend",
    "engine",
    type=click.Choice(engine_names()),
    default=_DEFAULTS.engine,
    show_default=True,
    help="Engine that computes.",
)
@click.option("--scheduler", metavar="ADDRESS", help="Dask scheduler to work on; a local cluster unless given.")
@click.option("--device", metavar="NAME", help="Device for torch, such as cuda:1.")
@click.option("--threads", type=click.IntRange(1), help="Threads for the engine numpy, or for a task of dask.")
@click.option(
    "--precision",
    type=click.Choice([str(bits) for bits in get_args(Precision)]),
    callback=_whole,
    help="Bits of the products' inputs.",
)
@click.option("--block", type=click.IntRange(1), help="Trials between two checkpoints.")
@click.option(
    "--seed",
    type=click.IntRange(0),
    default=_DEFAULTS.seed,
    show_default=True,
    help="Seed of the folds without --dev-enrol.",
)
@click.option("--system", metavar="NAME", help="Name of the system in the results.")
@click.option("--table", type=click.Choice(_TABLES), default=_TABLES[0], show_default=True, help="Per-trial table.")
@click.option("-o", "--output", required=True, metavar="FOLDER", help="Where results and checkpoints go.")
@click.option("--overwrite", is_flag=True, help="Start over if the folder holds another search.")
def command(output: str, overwrite: bool, **given: Any) -> None:
    """Link trials to enrolled identities and measure what each trial discloses, without storing any score.

    Embeddings are .npz, .npy with a list of identifiers beside it, Parquet, Kaldi ark or scp, or VoicePrivacy
    speaker_vectors.pt. A person enrolled with several vectors gets their mean, each of length one first for cosine.
    Without development embeddings the calibration is cross-fitted over speakers. If killed and started again with the
    same arguments, it continues where it stopped.

    \b
    zeroevidence link --enrol enrol.npz --trial trial.npz -o out/
    zeroevidence link --enrol e.npy --trial t.npy --dev-enrol de.npz --dev-trial dt.npz --backend triton -o out/
    """  # noqa: D301 (the mark that keeps lines apart is a control character, not two letters)
    from zeroevidence.cli.options.output import terminal_progress
    from zeroevidence.data.files.errors import naming_file

    settings = LinkSettings(**{one.name: given[one.name] for one in fields(LinkSettings)})
    search, development = _read(given)
    labels = {"table": given["table"], "system": given["system"] or Path(given["trial"]).stem}
    with naming_file(f"{given['trial']} and {given['enrol']}"):
        found = link_resumable(
            search,
            output,
            settings,
            development=development,
            labels=labels,
            device=given["device"],
            threads=given["threads"],
            scheduler=given["scheduler"],
            write=partial(_write, search, Path(output), labels),
            outputs=("result.json", *(f"trials.{table}" for table in _TABLES)),
            overwrite=overwrite,
            progress=terminal_progress("linking", "blocks"),
            say=partial(click.echo, err=True),
        )
    if found is None:
        click.echo(f"{output}: this search is done; --overwrite does it again", err=True)


def _read(given: dict[str, Any]) -> tuple[Pairing, Pairing | None]:
    """The search and the one to calibrate on."""
    from zeroevidence.linkage.inputs.pairing import read_pairing

    if (given["dev_enrol"] is None) != (given["dev_trial"] is None):
        raise UsageError("--dev-enrol and --dev-trial go together")
    ids = {"trial_ids": given["trial_ids"], "enrol_ids": given["enrol_ids"]}
    search = read_pairing(given["trial"], given["enrol"], scoring=given["scoring"], **ids)
    if given["dev_trial"] is None:
        return search, None
    return search, read_pairing(given["dev_trial"], given["dev_enrol"], scoring=given["scoring"])


def _write(search: Pairing, folder: Path, labels: dict[str, str], found: LinkResult) -> None:
    import polars as pl

    from zeroevidence.cli.options.output import emit, emit_table
    from zeroevidence.evaluation.reading.linked import linked_evaluation
    from zeroevidence.evaluation.reading.results import to_json

    table = pl.DataFrame(
        {
            "trial": found.trial,
            "speaker": found.speaker,
            "lid": found.lid,
            "rank": 1.0 + found.greater + found.equal / 2.0,
            "linked": ((found.greater == 0) & (found.equal == 0)).astype("int64"),
            "score": found.score,
            "row_mean": found.mean,
            "row_deviation": found.deviation,
            "log_sum": found.log_sum,
            "greater": found.greater,
            "equal": found.equal,
            "best_other": found.best_other,
            "top": search.enrol.ids[found.top],
        }
    )
    emit_table(table, str(folder / f"trials.{labels['table']}"))
    evaluation = linked_evaluation(found, labels={"system": labels["system"]})
    emit(to_json([evaluation]), str(folder / "result.json"))
