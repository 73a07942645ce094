"""A search that survives a kill: calibration and blocks of trials stay in a folder, and only what is missing is done.

Called again with the same arguments, it goes on where it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from zeroevidence.data.files.locking import lock_folder
from zeroevidence.errors import UsageError
from zeroevidence.linkage.calibration.search_calibration import SearchCalibration, calibrate_search
from zeroevidence.linkage.engines.engine import AUTO, EngineName, EngineSettings
from zeroevidence.linkage.estimate import estimate
from zeroevidence.linkage.evidence.trial_evidence import ARRAYS, TrialEvidence
from zeroevidence.linkage.inputs.digests import array_digest
from zeroevidence.linkage.inputs.pairing import Pairing, check_other_people
from zeroevidence.linkage.inputs.scoring import ScoringName
from zeroevidence.linkage.inputs.vectors import VectorSet
from zeroevidence.linkage.result import Identities, LinkResult
from zeroevidence.linkage.resuming.checkpoints import Checkpoints, WorkFolder, open_work_folder
from zeroevidence.linkage.search import SearchJob, engine_for, prepare

Precision: TypeAlias = Literal[16, 32, 64]
Ddof: TypeAlias = Literal[0, 1]


@dataclass(frozen=True, slots=True)
class LinkSettings:
    """What the result of a search depends on, beside the embeddings."""

    scoring: ScoringName = "cosine"
    weight: float | None = None  # of the calibration, instead of fitting one
    ddof: Ddof = 0  # row deviation: 0 population, 1 sample
    engine: EngineName = AUTO
    precision: Precision | None = None  # bits of the products' inputs
    block: int | None = None  # trials between two checkpoints
    seed: int = 0  # of the folds of a cross-fitted calibration

    def request(self, device: str | None, threads: int | None, scheduler: Any) -> EngineSettings:
        """What is asked of the engine."""
        dtype = None if self.precision is None else np.dtype(f"float{self.precision}")
        return EngineSettings(dtype, device, threads, scheduler)


_DEFAULTS = LinkSettings()


def link_resumable(
    search: Pairing,
    folder: str | Path,
    settings: LinkSettings = _DEFAULTS,
    *,
    development: Pairing | None = None,
    labels: Mapping[str, str] | None = None,
    device: str | None = None,
    threads: int | None = None,
    scheduler: Any = None,
    write: Callable[[LinkResult], None] | None = None,
    outputs: Sequence[str] = (),
    overwrite: bool = False,
    progress: Callable[[int, int], None] | None = None,
    say: Callable[[str], None] | None = None,
) -> LinkResult | None:
    """Calibrate and link a search in blocks that are kept in a folder; called again, it goes on where it was.

    Parameters
    ----------
    search, development
        The search, and one among other people to calibrate on, from `pair` or `read_pairing`.
    folder
        Where manifest and blocks go; it may hold this very search, nothing else.
    settings, labels
        What the result depends on, and further words; a folder with others is refused.
    device, threads, scheduler
        As in `link`; they may change from call to call.
    write, outputs
        Writes results once they are all there, and the names of its files in `folder`. After it the work counts as
        done and the blocks are removed. Without it the blocks stay, and a further call only reads them.
    overwrite
        Start over where the folder holds something else, or work that is done.
    progress, say
        Called with the number of blocks done and in all; called with lines for a reader.

    Returns
    -------
    LinkResult | None
        None where the work was done already.
    """
    request = settings.request(device, threads, scheduler)
    _check(search, development, settings, request)
    described = {**asdict(settings), **(labels or {}), **_digests(search, development)}
    with lock_folder(folder):
        work = open_work_folder(folder, described, outputs=outputs, overwrite=overwrite)
        if work.done:
            return None
        found = _link(search, development, settings, request, work, progress, say)
        if write is not None:
            write(found)
            work.finish()
    return found


def _check(search: Pairing, development: Pairing | None, settings: LinkSettings, request: EngineSettings) -> None:
    """Refuse what cannot work before a folder is made for it."""
    if development is not None:
        if settings.weight is not None:
            raise UsageError("a weight and development embeddings exclude each other")
        check_other_people(search, development)
    trial, enrol = VectorSet.of(search.trial, "trial"), VectorSet.of(search.enrol, "enrolment")
    engine_for(trial, enrol, scoring=settings.scoring, engine=settings.engine, request=request)


def _digests(search: Pairing, development: Pairing | None) -> dict[str, str | None]:
    sides = {
        "trial": search.trial,
        "enrol": search.enrol,
        "dev_trial": None if development is None else development.trial,
        "dev_enrol": None if development is None else development.enrol,
    }
    return {
        name: None if one is None else array_digest(one.vectors, one.ids, one.speakers) for name, one in sides.items()
    }


def _link(
    search: Pairing,
    development: Pairing | None,
    settings: LinkSettings,
    request: EngineSettings,
    work: WorkFolder,
    progress: Callable[[int, int], None] | None,
    say: Callable[[str], None] | None,
) -> LinkResult:
    calibration = _calibration(search, development, settings, work.checkpoints)
    job = prepare(
        search.trial,
        search.enrol,
        search.mated,
        weight=calibration.weight,
        bias=calibration.bias,
        threshold=calibration.threshold,
        scoring=settings.scoring,
        ddof=settings.ddof,
        engine=settings.engine,
        request=request,
    )
    if say is not None:
        cost = estimate(job.plan, job.engine, request)
        say(f"{job.plan.trials} trials x {job.plan.identities} identities, {job.engine.name}: {cost}")
    found = _blocks(job, job.runs(settings.block), work.checkpoints, progress, say)
    return LinkResult.build(
        found,
        job.plan,
        Identities.known(search.trial, search.enrol, search.mated),
        scoring=settings.scoring,
        calibration=calibration.facts,
        not_enrolled=search.not_enrolled,
        data=partial(str, work.checkpoints.key),
    )


def _calibration(
    search: Pairing, development: Pairing | None, settings: LinkSettings, checkpoints: Checkpoints
) -> SearchCalibration:
    saved = checkpoints.load("calibration")
    if saved is not None:
        return SearchCalibration.from_arrays(saved)
    calibration = calibrate_search(
        search,
        development,
        weight=settings.weight,
        scoring=settings.scoring,
        ddof=settings.ddof,
        seed=settings.seed,
    )
    checkpoints.save("calibration", calibration.to_arrays())
    return calibration


def _blocks(
    job: SearchJob,
    runs: Sequence[tuple[int, int]],
    checkpoints: Checkpoints,
    progress: Callable[[int, int], None] | None,
    say: Callable[[str], None] | None,
) -> TrialEvidence:
    """Results of all runs: those that are kept, and the others worked out and kept."""
    names = [f"trials-{start:012d}-{stop:012d}" for start, stop in runs]  # other runs are other blocks
    saved = {index: checkpoints.load(name) for index, name in enumerate(names)}
    parts = {index: TrialEvidence(job.plan.identities, **one) for index, one in saved.items() if one is not None}
    if parts and say is not None:
        say(f"going on: {len(parts)} of {len(runs)} blocks are there")
    left = [index for index in range(len(runs)) if index not in parts]
    for place, part in job.work([runs[index] for index in left]) if left else ():
        index = left[place]
        checkpoints.save(names[index], {name: getattr(part, name) for name in ARRAYS})
        parts[index] = part
        if progress is not None:
            progress(len(parts), len(runs))
    return TrialEvidence.join([parts[index] for index in range(len(runs))])
