"""A search through embeddings: trial and enrolment vectors in, evidence of each trial out.

One that continues after an interruption keeps its calibration and blocks of trials in a folder.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property, partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from zeroevidence._typing import IntArray, StrArray
from zeroevidence.data.embeddings import Embeddings, rank_names
from zeroevidence.data.files import ArrayOnDisk, changed
from zeroevidence.data.json_values import load_json, typed
from zeroevidence.data.loaded_scores import RelaxedRule
from zeroevidence.data.store import Store, digest
from zeroevidence.data.writing import lock_folder, write_file
from zeroevidence.errors import InputError, UsageError
from zeroevidence.linkage.calibration import calibrate_search, cross_fit
from zeroevidence.linkage.engines import Engine, Requirements, choose
from zeroevidence.linkage.estimate import estimate
from zeroevidence.linkage.evidence import ARRAYS, TrialEvidence
from zeroevidence.linkage.inputs import Pairing, check_other_people, pair, vector_sets
from zeroevidence.linkage.plan import LinkOptions, SearchCalibration, SearchPlan, check_weight, plan_search
from zeroevidence.run import Run

_BLOCK_BYTES = 1 << 24


def array_digest(*arrays: NDArray[Any] | ArrayOnDisk | None) -> str:
    """SHA-256 of arrays with their types and shapes, read in blocks so that those on disk stay there.

    Of an array of several blocks the digests of its blocks are hashed, which threads compute.
    """
    hasher = sha256()
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for array in arrays:
            if array is None:
                hasher.update(b"none")
                continue
            hasher.update(f"{array.dtype.str}{array.shape}".encode())
            width = array.shape[1] if array.ndim > 1 else 1
            step = max(1, _BLOCK_BYTES // max(1, array.dtype.itemsize * width))
            contents = (partial(_bytes, array, start, start + step) for start in range(0, len(array), step))
            if len(array) <= step:
                hasher.update(b"".join(content() for content in contents))
                continue
            for digest in pool.map(lambda content: sha256(content()).digest(), contents):
                hasher.update(digest)
    return hasher.hexdigest()


def _bytes(array: NDArray[Any] | ArrayOnDisk, start: int, stop: int) -> memoryview:
    return np.ascontiguousarray(array[start:stop]).data.cast("B")


@dataclass(frozen=True, slots=True, eq=False)
class Identities:
    """Names of trials and people; a trial or person without a name is called by its number."""

    mated: IntArray  # row of each trial's true identity
    ids: StrArray | None = None  # of the trials
    speakers: StrArray | None = None  # of the trials
    people: StrArray | None = None  # of the enrolled, one per row

    @classmethod
    def of(cls, trial_vectors: Any, enrol_vectors: Any, mated: IntArray) -> Identities:
        """Return the names in `Embeddings`; arrays and addresses have none."""
        ids = speakers = people = None
        if isinstance(trial_vectors, Embeddings):
            ids, speakers = trial_vectors.ids, trial_vectors.speakers
        if isinstance(enrol_vectors, Embeddings):
            people = enrol_vectors.ids if enrol_vectors.speakers is None else enrol_vectors.speakers
        return cls(mated, ids, speakers, people)


# without slots, because names and digest are computed when first asked for, and kept
@dataclass(frozen=True, eq=False)
class LinkResult(TrialEvidence):
    """Evidence of a whole search with everything that an evaluation needs."""

    names: Identities
    options: LinkOptions
    calibration: SearchCalibration
    not_enrolled: int  # trials left out because their speaker is not enrolled
    relaxed: tuple[RelaxedRule, ...]  # recordings on both sides
    data: Callable[[], str]  # computes the digest

    @classmethod
    def of(cls, other: LinkResult) -> Self:
        """Return the same result as an instance of a subclass that adds methods."""
        return cls(**{field.name: getattr(other, field.name) for field in fields(LinkResult)})

    @cached_property
    def trial(self) -> StrArray:
        """Identifier of each trial, its number where none was given."""
        return np.arange(len(self)).astype(np.str_) if self.names.ids is None else self.names.ids

    @cached_property
    def speaker(self) -> StrArray:
        """Speaker of each trial: as the trial has it, else the name or number of its true identity."""
        names = self.names
        if names.speakers is not None:
            return names.speakers
        return names.mated.astype(np.str_) if names.people is None else names.people[names.mated]

    @cached_property
    def digest(self) -> str:
        """SHA-256 that identifies the search; the vectors must not have changed since."""
        return self.data()


def link(
    trial: Any,
    enrol: Any,
    mated: Any = None,
    options: LinkOptions = LinkOptions(),
    calibration: SearchCalibration | None = None,
    run: Run = Run(),
) -> LinkResult:
    r"""Evidence of each trial in a search through N enrolled identities, without the T x N matrix of scores.

    :math:`LLR_{ij} = w (s_{ij} - \mu_i) / \sigma_i + b` and
    :math:`LID_i = \log_2 (N e^{LLR_{i m_i}} / \sum_j e^{LLR_{ij}})`.

    Parameters
    ----------
    trial
        T x d: an array of floats (memory-mapped is fine, also beyond the memory of the machine), `Embeddings`, or the
        address of a file, which ``dask`` opens where its workers are.
    enrol
        N x d, likewise.
    mated
        For each trial the row of its true identity in `enrol`. Embeddings with speakers need none: several vectors of
        an enrolled person are averaged, and trials of people who are not enrolled are left out.
    options
        Scoring, calibration weight, scaling of rows, engine and precision.
    calibration
        Weight, bias and threshold, such as `calibrate_search` fits, in place of the weight of the options. Without
        either, the trials of each person are calibrated on those of other people, by a second pass over all pairs.
    run
        Seed of the folds of people, cores, device and scheduler of the engine, and the progress in trials.

    Examples
    --------
    >>> people = [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]
    >>> result = link([[1.0, 0.2], [0.1, 1.0]], people, [0, 1], LinkOptions("dot", weight=3.0))
    >>> result.lid.round(2).tolist(), result.top.tolist()
    ([1.51, 1.58], [0, 1])
    """
    search = None
    if mated is None:
        search = pair(trial, enrol, scoring=options.scoring, allow_same=options.allow_same)
        trial, enrol, mated = search.trial, search.enrol, search.mated
    if calibration is None:
        weight, people = options.weight, _people(enrol, np.asarray(mated))
        given = None if weight is None else SearchCalibration(weight)
        calibration = given or cross_fit(trial, enrol, mated, people, options, run)
    job = prepare_search(trial, enrol, mated, calibration, options, run)
    parts, done, step = dict[int, TrialEvidence](), 0, run.progress("linking", "trials")
    runs = job.runs()
    for index, part in job.engine.compute(job.plan, runs, run):
        parts[index] = part
        done += len(part)
        step(done, job.plan.trials)
    names = Identities.of(trial, enrol, job.plan.mated)
    evidence = TrialEvidence.join([parts[index] for index in range(len(runs))])
    return job.result(evidence, names, partial(search_digest, job.plan, names), search)


def _people(enrol: Any, mated: Any) -> IntArray:
    """Return the number of each trial's speaker, in the order of names where there are names."""
    if mated.dtype.kind not in "iu" or not isinstance(enrol, Embeddings) or (mated >= len(enrol)).any():
        return np.asarray(mated)  # which a plan of the search checks
    return np.asarray(rank_names(enrol.ids if enrol.speakers is None else enrol.speakers)[1][mated])


@dataclass(frozen=True, slots=True, eq=False)
class SearchJob:
    """A checked search and the engine that does it."""

    plan: SearchPlan
    calibration: SearchCalibration
    engine: Engine
    run: Run

    def runs(self) -> list[tuple[int, int]]:
        """Runs of trials: as many as fit a modest memory, so that the enrolment is read few times."""
        step = self.plan.options.block or self.engine.run_trials(self.plan.trial.dim)
        return [(start, min(self.plan.trials, start + step)) for start in range(0, self.plan.trials, step)]

    def result(
        self, evidence: TrialEvidence, names: Identities, data: Callable[[], str], search: Pairing | None
    ) -> LinkResult:
        """Return the result of the search; `data` computes its digest when asked for."""
        values: dict[str, Any] = {name: getattr(evidence, name) for name in ARRAYS}
        values |= {"names": names, "options": self.plan.options, "calibration": self.calibration, "data": data}
        left_out, relaxed = (0, ()) if search is None else (search.not_enrolled, search.relaxed)
        return LinkResult(evidence.identities, **values, not_enrolled=left_out, relaxed=relaxed)


def prepare_search(
    trial_vectors: Any, enrol_vectors: Any, mated: Any, calibration: SearchCalibration, options: LinkOptions, run: Run
) -> SearchJob:
    """Check a search and choose its engine."""
    engine = choose_engine(trial_vectors, enrol_vectors, options)
    moments = partial(engine.moments, run=run)
    plan = plan_search(trial_vectors, enrol_vectors, mated, calibration, options, dtype=engine.sums, moments=moments)
    return SearchJob(plan, calibration, engine, run)


def choose_engine(trial_vectors: Any, enrol_vectors: Any, options: LinkOptions) -> Engine:
    """Return the engine that is asked for, or the best one; an error says why it cannot do this search."""
    trial, enrol = vector_sets(trial_vectors, enrol_vectors, options.scoring)
    double = options.precision == 64 or (options.precision is None and not (trial.single and enrol.single))
    return choose(options.engine, Requirements(enrol.dim, double, options.function is not None, options.precision))


def search_digest(plan: SearchPlan, names: Identities) -> str:
    """SHA-256 of vectors, names, calibration and the precision that was asked for; engines do not enter it."""
    calibrated = plan.trial.vectors, plan.enrol.vectors, plan.mated, plan.weight, plan.bias
    bits = plan.options.precision
    precision = None if bits is None else np.array([f"float{bits}"])
    return array_digest(*calibrated, names.ids, names.speakers, names.people, plan.threshold, precision)


SCHEMA = "zeroevidence/link/1"
BLOCKS, MANIFEST = "blocks", "manifest.json"  # in the folder of a search


@dataclass(frozen=True, slots=True)
class Manifest:
    """Content of `manifest.json`: the settings of a search, a digest of them, and whether its results are complete."""

    schema: str
    key: str
    settings: Mapping[str, Any]
    done: bool

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Manifest:
        """Return the manifest of a search that begins; its settings are as JSON has them."""
        return cls(SCHEMA, sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest(), settings, done=False)

    @classmethod
    def read(cls, folder: Path) -> Manifest | None:
        """Return the manifest of a folder, None where it is missing, damaged or of something else."""
        try:
            manifest = typed(cls, load_json(folder / MANIFEST), "manifest")
        except InputError:
            return None
        return manifest if manifest.schema == SCHEMA else None

    def write(self, folder: Path) -> None:
        """Write it to a folder, then remove the blocks there."""
        write_file(folder / MANIFEST, f"{json.dumps(asdict(self), indent=1, sort_keys=True)}\n")
        Store(folder, BLOCKS).remove()


def begin_or_continue(folder: Path, search: Manifest, *, outputs: Sequence[str] = (), overwrite: bool = False) -> bool:
    """Begin a search in a folder, or continue it, and return True; return False where it is done.

    Parameters
    ----------
    folder
        Folder of its manifest, blocks and results.
    search
        Its settings: everything that the results depend on; other settings are another search.
    outputs
        Names of result files, which are removed when the search starts over.
    overwrite
        Start over where the folder holds something else, or a search that is done.

    Raises
    ------
    UsageError
        When the folder holds something else and must not be overwritten.
    """
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder}: is a file; expected a folder")
    before = Manifest.read(folder)
    if before is not None and before.key == search.key:
        return overwrite or not before.done
    if before is not None and not overwrite:
        differing = [name for name in search.settings if before.settings.get(name) != search.settings[name]]
        reason = f"holds a search with other {', '.join(differing) or 'inputs'}"
        raise UsageError(f"{folder}: {reason}; overwriting starts over, or name another folder")
    if not overwrite and folder.is_dir() and any(folder.iterdir()):
        raise UsageError(f"{folder}: is not empty; overwriting starts over there, or name another folder")
    for name in outputs:
        (folder / name).unlink(missing_ok=True)
    search.write(folder)
    return True


@dataclass(frozen=True, slots=True)
class SearchOutput:
    """What a complete search is written to, within its folder."""

    write: Callable[[LinkResult], None]
    files: tuple[str, ...] = ()  # names of what it may write
    labels: Mapping[str, str] = field(default_factory=dict)  # further settings of it, for the manifest


def link_resumable(
    search: Pairing,
    folder: str | Path,
    options: LinkOptions = LinkOptions(),
    *,
    development: Pairing | None = None,
    output: SearchOutput | None = None,
    overwrite: bool = False,
    run: Run = Run(),
) -> LinkResult | None:
    """Calibrate and link a search in blocks that are kept in a folder; called again, it continues.

    Parameters
    ----------
    search
        The search, from `pair` or `read_pairing`.
    folder
        Folder of manifest and blocks; it may hold this very search, nothing else.
    options
        What the result depends on; a folder with other options, or another seed, is refused.
    development
        A search among other people to calibrate on.
    output
        Writes the result once it is complete. After it the search counts as done and the blocks are removed. Without
        it the blocks stay, and a further call only reads them.
    overwrite
        Start over where the folder holds something else, or a search that is done.
    run
        Seed of the folds of a cross-fitted calibration; cores, device and scheduler, which may change from call to
        call; progress in blocks; and messages.

    Returns
    -------
    LinkResult | None
        None where the search was done already.
    """
    # refuse what cannot work before a folder is made for it
    if options.function is not None:
        raise UsageError("a manifest cannot hold a scoring function; expected cosine or dot")
    if development is not None:
        if options.weight is not None:
            raise UsageError("a weight and development embeddings exclude each other")
        check_other_people(search, development)
    if options.weight is not None:
        check_weight(options.weight, options.row_scaling)
    choose_engine(search.trial, search.enrol, options)
    digests = {name: _digest(data) for name, data in _sides(search, development)}
    labels, files = ({}, ()) if output is None else (output.labels, output.files)
    home, manifest = Path(folder), Manifest.of({**asdict(options), "seed": run.seed, **labels, **digests})
    with lock_folder(folder, continued_from=[BLOCKS]):
        if not begin_or_continue(home, manifest, outputs=files, overwrite=overwrite):
            return None
        store, key = Store(home, BLOCKS), partial(digest, manifest.key)
        calibration = _calibration(search, development, options, run, store, key("calibration"))
        job = prepare_search(search.trial, search.enrol, search.mated, calibration, options, run)
        cost = estimate(job.plan, job.engine, run)
        run.say(f"{job.plan.trials} trials x {job.plan.identities} identities, {job.engine.name}: {cost}")
        cost.check_address_space()
        names = Identities.of(search.trial, search.enrol, search.mated)
        data = partial(_data_digest, digests, options)
        result = job.result(_blocks(job, store, key), names, data, search)
        # files may hold something else than at the beginning, even where their times say nothing of it
        for name, side in _sides(search, development):
            if side is not None and isinstance(side.vectors, ArrayOnDisk) and _digest(side) != digests[name]:
                raise changed(side.vectors.path)
        if output is not None:
            output.write(result)
            replace(manifest, done=True).write(home)
    return result


def _sides(search: Pairing, development: Pairing | None) -> Iterator[tuple[str, Embeddings | None]]:
    """Yield all embeddings with their names in the manifest."""
    for prefix, pairing in (("", search), ("dev_", development)):
        for side in ("trial", "enrol"):
            yield f"{prefix}{side}", getattr(pairing, side, None)


def _digest(data: Embeddings | None) -> str | None:
    return None if data is None else array_digest(data.vectors, data.ids, data.speakers)


def _data_digest(digests: Mapping[str, str | None], options: LinkOptions) -> str:
    """SHA-256 of the embeddings and of what else decides about the numbers and is not in a signature.

    Engines and sizes of blocks do not: whatever computes a search, its signature is the same.
    """
    content = {**digests, "weight": options.weight, "precision": options.precision}
    return sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _calibration(
    search: Pairing, development: Pairing | None, options: LinkOptions, run: Run, store: Store, key: str
) -> SearchCalibration:
    """Return the calibration that the store has, or fit one and keep it there."""
    kept = store.load_arrays(key)
    if kept is not None:
        values: dict[str, Any] = {name: array if array.ndim else array.item() for name, array in kept.items()}
        return SearchCalibration(**values)
    calibration = calibrate_search(search, options, development=development, run=run)
    fitted = {field.name: getattr(calibration, field.name) for field in fields(calibration)}
    store.save_arrays(key, {name: np.asarray(value) for name, value in fitted.items() if value is not None})
    return calibration


def _blocks(job: SearchJob, store: Store, key: Callable[[str], str]) -> TrialEvidence:
    """Return the evidence of all runs: of those in the store, and of the others, which are computed and kept there."""
    runs, step = job.runs(), job.run.progress("linking", "blocks")
    keys = [key(f"trials-{start:012d}-{stop:012d}") for start, stop in runs]  # other runs are other blocks
    kept = {index: store.load_arrays(key) for index, key in enumerate(keys)}
    parts = {index: TrialEvidence(job.plan.identities, **block) for index, block in kept.items() if block is not None}
    if parts:
        job.run.say(f"continuing: {len(parts)} of {len(runs)} blocks are there")
    missing = [index for index in range(len(runs)) if index not in parts]
    for place, part in job.engine.compute(job.plan, [runs[index] for index in missing], job.run) if missing else ():
        index = missing[place]
        store.save_arrays(keys[index], {name: getattr(part, name) for name in ARRAYS})
        parts[index] = part
        step(len(parts), len(runs))
    return TrialEvidence.join([parts[index] for index in range(len(runs))])
