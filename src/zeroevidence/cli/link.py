"""``zeroevidence link``: embeddings in, disclosure out, for searches whose score matrix nobody could store."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from zeroevidence.errors import InputError, UsageError

if TYPE_CHECKING:
    from zeroevidence._typing import IntArray
    from zeroevidence.cli.checkpoints import Checkpoints
    from zeroevidence.data.embeddings import Embeddings
    from zeroevidence.linkage.result import Linkage

_BACKENDS = ["auto", "numpy", "torch", "triton", "dask"]


@click.command("link")
@click.option("--enrol", required=True, metavar="FILE", help="Embeddings of the enrolled, one person or many each.")
@click.option("--trial", required=True, metavar="FILE", help="Embeddings of the trials, with their speakers.")
@click.option("--enrol-ids", metavar="FILE", help="Lines of `utterance speaker` for --enrol, where it lacks them.")
@click.option("--trial-ids", metavar="FILE", help="Lines of `utterance speaker` for --trial.")
@click.option("--dev-enrol", metavar="FILE", help="Enrolled of other speakers, to calibrate on.")
@click.option("--dev-trial", metavar="FILE", help="Trials of other speakers, to calibrate on.")
@click.option("--weight", type=float, help="Use this calibration weight instead of fitting one.")
@click.option(
    "--scoring", type=click.Choice(["cosine", "dot"]), default="cosine", show_default=True, help="Score of two vectors."
)
@click.option(
    "--ddof", type=click.IntRange(0, 1), default=0, show_default=True, help="Row deviation: 0 population, 1 sample."
)
@click.option("--backend", type=click.Choice(_BACKENDS), default="auto", show_default=True, help="What computes.")
@click.option("--scheduler", metavar="ADDRESS", help="Dask scheduler to work on; a local cluster unless given.")
@click.option("--device", metavar="NAME", help="Device of torch, such as cuda:1.")
@click.option("--threads", type=click.IntRange(1), help="Threads of the back-end numpy.")
@click.option("--precision", type=click.Choice(["16", "32", "64"]), help="Bits of the products' inputs.")
@click.option("--block", type=click.IntRange(1), help="Trials between two checkpoints.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the folds without --dev.")
@click.option("--system", metavar="NAME", help="Name of the system in the results.")
@click.option(
    "--table", type=click.Choice(["parquet", "csv"]), default="parquet", show_default=True, help="Per-trial table."
)
@click.option("-o", "--output", required=True, metavar="FOLDER", help="Where results and checkpoints go.")
@click.option("--overwrite", is_flag=True, help="Start anew if the folder holds another search.")
def command(output: str, overwrite: bool, **given: Any) -> None:
    """Link trials to enrolled identities and measure what each trial discloses, without storing any score.

    Embeddings are .npz, .npy with a list of identifiers beside it, Parquet, Kaldi ark or scp, or VoicePrivacy
    speaker_vectors.pt. A person enrolled with several vectors gets their mean, each of length one first for cosine.
    Without development embeddings the calibration is cross-fitted over speakers. Killed and started again with the
    same arguments, it goes on where it was.

    \b
    zeroevidence link --enrol enrol.npz --trial trial.npz -o out/
    zeroevidence link --enrol e.npy --trial t.npy --dev-enrol de.npz --dev-trial dt.npz --backend triton -o out/
    """  # noqa: D301 (the mark that keeps lines apart is a control character, not two letters)
    from zeroevidence.cli.checkpoints import digest_of, finish_work, open_work

    if (given["dev_enrol"] is None) != (given["dev_trial"] is None):
        raise UsageError("--dev-enrol and --dev-trial go together")
    if given["weight"] is not None and given["dev_enrol"] is not None:
        raise UsageError("--weight and --dev-enrol exclude each other")
    search = Inputs.read(given)
    settings = {name: given[name] for name in ("scoring", "weight", "ddof", "backend", "precision", "block", "seed")}
    settings["table"] = given["table"]
    settings["system"] = given["system"] or Path(given["trial"]).stem
    settings |= {
        name: None if one is None else digest_of(one.vectors, one.ids, one.speakers)
        for name, one in (
            ("trial", search.trial),
            ("enrol", search.enrol),
            ("dev_trial", search.dev_trial),
            ("dev_enrol", search.dev_enrol),
        )
    }
    key = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()
    folder = Path(output)
    checkpoints, done = open_work(folder, key, settings, overwrite=overwrite)
    if done:
        click.echo(f"{folder}: this search is done; --overwrite does it again", err=True)
        return
    _run(search, checkpoints, folder, settings, given)
    finish_work(folder, checkpoints, settings)


class Inputs:
    """Embeddings of a search, trials of people who are not enrolled left out."""

    def __init__(self, trial: Embeddings, enrol: Embeddings, mated: IntArray, not_enrolled: int) -> None:
        self.trial, self.enrol, self.mated, self.not_enrolled = trial, enrol, mated, not_enrolled
        self.dev_trial: Embeddings | None = None
        self.dev_enrol: Embeddings | None = None
        self.dev_mated: IntArray | None = None

    @classmethod
    def read(cls, given: dict[str, Any]) -> Inputs:
        """Read and pair all files."""
        import numpy as np

        cosine = given["scoring"] == "cosine"
        found = cls(*_pair(given["trial"], given["enrol"], given["trial_ids"], given["enrol_ids"], cosine))
        if given["dev_trial"] is None:
            return found
        other = cls(*_pair(given["dev_trial"], given["dev_enrol"], None, None, cosine))
        found.dev_trial, found.dev_enrol, found.dev_mated = other.trial, other.enrol, other.mated
        assert found.enrol.speakers is not None
        assert other.enrol.speakers is not None
        common = np.intersect1d(found.enrol.speakers, other.enrol.speakers)
        if len(common):
            raise InputError(
                f"development and evaluation share {len(common)} speaker(s), among them {str(common[0])!r}; "
                "expected other people in the development embeddings"
            )
        return found


def _pair(
    trial_path: str, enrol_path: str, trial_ids: str | None, enrol_ids: str | None, cosine: bool
) -> tuple[Embeddings, Embeddings, IntArray, int]:
    import numpy as np

    from zeroevidence.data.embeddings import Embeddings, mated_rows
    from zeroevidence.data.formats.vectors import read_embeddings

    trial, enrol = read_embeddings(trial_path, ids=trial_ids), read_embeddings(enrol_path, ids=enrol_ids)
    if trial.speakers is None:
        raise InputError(
            "speakers are not known; expected them in the file, beside it or by --trial-ids", path=trial_path
        )
    if enrol.speakers is None:
        enrol = Embeddings(enrol.vectors, enrol.ids, enrol.ids)
    elif len(np.unique(enrol.speakers)) < len(enrol):
        enrol = enrol.profiles(cosine=cosine)
    mated = mated_rows(trial, enrol)
    kept = np.flatnonzero(mated >= 0)
    left_out = len(trial) - len(kept)
    if not len(kept):
        raise InputError(f"no trial has its speaker among the enrolled of {enrol_path}", path=trial_path)
    if left_out:
        trial = Embeddings(trial.vectors[kept], trial.ids[kept], trial.speakers[kept])
    return trial, enrol, mated[kept], left_out


def _run(
    search: Inputs, checkpoints: Checkpoints, folder: Path, settings: dict[str, Any], given: dict[str, Any]
) -> None:
    import numpy as np

    from zeroevidence.cli.output import progress_of
    from zeroevidence.linkage.engine import chunks_of, resolve, run_chunks
    from zeroevidence.linkage.estimate import estimate
    from zeroevidence.linkage.result import Linkage

    dtype = {None: None, "16": np.float16, "32": np.float32, "64": np.float64}[given["precision"]]
    shape = len(search.trial), len(search.enrol), search.trial.vectors.shape[1]
    calibration = checkpoints.load("calibration")
    if calibration is None:
        calibration = _calibrate(search, given)
        checkpoints.save("calibration", calibration)
    plan, backend, half = resolve(
        search.trial,
        search.enrol,
        search.mated,
        weight=calibration["weight"],
        bias=calibration["bias"],
        threshold=calibration.get("threshold"),
        scoring=given["scoring"],
        ddof=given["ddof"],
        backend=given["backend"],
        device=given["device"],
        dtype=dtype,
    )
    expected = estimate(*shape, backend=backend, itemsize=plan.dtype.itemsize)
    click.echo(f"{shape[0]} trials x {shape[1]} identities, {backend}: {expected}", err=True)
    chunks = chunks_of(plan, given["block"])
    names = [f"trials-{start:012d}" for start, _ in chunks]
    parts: dict[int, Linkage] = {}
    for index, name in enumerate(names):
        saved = checkpoints.load(name)
        if saved is not None:
            parts[index] = Linkage(plan.identities, **saved)
    if parts:
        click.echo(f"going on: {len(parts)} of {len(chunks)} blocks are there", err=True)
    left = [index for index in range(len(chunks)) if index not in parts]
    show = progress_of("linking", "blocks")
    running = run_chunks(
        plan,
        backend,
        [chunks[index] for index in left],
        scheduler=given["scheduler"],
        device=given["device"],
        threads=given["threads"],
        half=half,
    )
    for place, part in running if left else ():
        index = left[place]
        checkpoints.save(names[index], {name: getattr(part, name) for name in _arrays()})
        parts[index] = part
        if show is not None:
            show(len(parts), len(chunks))
    result = Linkage.join([parts[index] for index in range(len(chunks))])
    _write(search, result, str(calibration["how"]), folder, settings, given, checkpoints.key)


def _arrays() -> tuple[str, ...]:
    from zeroevidence.linkage.result import ARRAYS

    return ARRAYS


def _calibrate(search: Inputs, given: dict[str, Any]) -> dict[str, Any]:
    """Weight, bias and threshold of each trial: from development data, or from the other speakers' trials."""
    import numpy as np

    from zeroevidence.calibrate.rows import speaker_folds
    from zeroevidence.linkage.calibration import PairStatistics, pair_statistics

    options = {"scoring": given["scoring"], "ddof": given["ddof"]}
    identities, trials = len(search.enrol), len(search.trial)
    if given["weight"] is not None:
        full = np.full(trials, given["weight"])
        return {"weight": full, "bias": np.zeros(trials), "how": np.array("weight given")}
    weight, bias, threshold = (np.empty(trials) for _ in range(3))
    if search.dev_trial is not None:
        assert search.dev_enrol is not None
        wanted = len(search.dev_trial) * len(search.dev_enrol) // identities
        (part,) = pair_statistics(search.dev_trial, search.dev_enrol, search.dev_mated, top=wanted + 1, **options)
        fit = part.fit()
        weight[:], bias[:] = fit.weight, fit.bias - fit.prior_log_odds
        known = {"threshold": np.full(trials, part.threshold(wanted))} if wanted else {}
        return {"weight": weight, "bias": bias, "how": np.array("logistic"), **known}
    folds = speaker_folds(search.mated, seed=given["seed"])
    parts = pair_statistics(search.trial, search.enrol, search.mated, folds=folds, top=trials + 1, **options)
    for index, rows in enumerate(folds):
        wanted = trials - len(rows)
        rest = PairStatistics.merge(parts[:index] + parts[index + 1 :], top=wanted + 1)
        fit = rest.fit()
        weight[rows], bias[rows] = fit.weight, fit.bias - fit.prior_log_odds
        threshold[rows] = rest.threshold(wanted)
    how = np.array("logistic, cross-fitted by speaker")
    return {"weight": weight, "bias": bias, "threshold": threshold, "how": how}


def _write(
    search: Inputs,
    result: Linkage,
    how: str,
    folder: Path,
    settings: dict[str, Any],
    given: dict[str, Any],
    key: str,
) -> None:
    import polars as pl

    from zeroevidence.cli.output import emit, emit_table
    from zeroevidence.evaluation.linked import linked_evaluation
    from zeroevidence.report.jsonfile import to_json

    trial, enrol = search.trial, search.enrol
    assert trial.speakers is not None
    table = pl.DataFrame(
        {
            "trial": trial.ids,
            "speaker": trial.speakers,
            "lid": result.lid,
            "rank": 1.0 + result.greater + result.equal / 2.0,
            "linked": ((result.greater == 0) & (result.equal == 0)).astype("int64"),
            "score": result.score,
            "row_mean": result.mean,
            "row_deviation": result.deviation,
            "log_sum": result.log_sum,
            "greater": result.greater,
            "equal": result.equal,
            "best_other": result.best_other,
            "top": enrol.ids[result.top],
        }
    )
    emit_table(table, str(folder / f"trials.{given['table']}"))
    evaluation, _ = linked_evaluation(
        result,
        trial.ids,
        trial.speakers,
        how=how,
        scoring=given["scoring"],
        digest=key,
        ddof=given["ddof"],
        labels={"system": settings["system"]},
        left_out={"not_enrolled": search.not_enrolled} if search.not_enrolled else None,
    )
    emit(to_json([evaluation]), str(folder / "result.json"))
