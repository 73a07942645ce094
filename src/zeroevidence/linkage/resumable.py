"""A search that continues after an interruption: calibration and blocks of trials are kept in a folder."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from zeroevidence.calibrate.rows import RowScaling
from zeroevidence.data.files import reading_file
from zeroevidence.data.json_values import load_json, typed
from zeroevidence.data.writing import lock_folder, write_atomically
from zeroevidence.errors import InputError, UsageError
from zeroevidence.linkage.calibration import SearchCalibration, calibrate_search
from zeroevidence.linkage.engines import AUTO, EngineName, EngineSettings, Runs
from zeroevidence.linkage.estimate import estimate
from zeroevidence.linkage.evidence import ARRAYS, TrialEvidence
from zeroevidence.linkage.inputs import Pairing, ScoringName, check_other_people
from zeroevidence.linkage.plan import check_weight
from zeroevidence.linkage.search import Identities, LinkResult, SearchJob, array_digest, choose_engine, prepare_search

_MAGIC = b"ZEBLOCK2"
_HEADER = len(_MAGIC) + 8 + 32
SCHEMA = "zeroevidence/link/1"
BLOCKS = "blocks"  # folder of the blocks within that of the search


class Checkpoints:
    """Blocks of one search, in a folder of their own."""

    def __init__(self, folder: Path, key: str) -> None:
        self.folder, self.key = folder, key

    def load(self, name: str) -> dict[str, NDArray[Any]] | None:
        """Return the arrays of a block, None where it is missing, cut off, damaged or of another search."""
        try:
            data = (self.folder / name).read_bytes()
        except OSError:
            return None
        payload = data[_HEADER:]
        if data[:_HEADER] != self._header(name, payload):
            return None
        with reading_file(self.folder / name, "a block"), np.load(io.BytesIO(payload), allow_pickle=False) as arrays:
            return {array: arrays[array] for array in arrays.files}

    def save(self, name: str, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Write a block, atomically."""
        self.folder.mkdir(exist_ok=True)
        buffer = io.BytesIO()
        np.savez(buffer, allow_pickle=False, **dict(arrays))
        payload = buffer.getvalue()
        _write_durably(self.folder / name, self._header(name, payload), payload)

    def clear(self) -> None:
        """Remove all blocks."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _header(self, name: str, payload: bytes) -> bytes:
        digest = hashlib.sha256(f"{self.key} {name} ".encode() + payload).digest()
        return _MAGIC + len(payload).to_bytes(8, "little") + digest


@dataclass(frozen=True, slots=True, eq=False)
class WorkFolder:
    """A folder with one search: its settings, its blocks, and later its results."""

    folder: Path
    settings: Mapping[str, Any]
    checkpoints: Checkpoints
    done: bool  # already, when the folder was opened

    def finish(self) -> None:
        """Record that the results are complete, then remove the blocks."""
        _write_manifest(self.folder / "manifest.json", self.checkpoints.key, self.settings, done=True)
        self.checkpoints.clear()


def open_work_folder(
    folder: str | Path, settings: Mapping[str, Any], *, outputs: Sequence[str] = (), overwrite: bool = False
) -> WorkFolder:
    """Begin a search in a folder, or continue it.

    Parameters
    ----------
    folder
        Folder of its manifest, blocks and results.
    settings
        Everything that the results depend on, as JSON has it; other settings are another search.
    outputs
        Names of result files, which are removed when the search starts over.
    overwrite
        Start over where the folder holds something else, or a search that is done.

    Raises
    ------
    UsageError
        When the folder holds something else and must not be overwritten.
    """
    home = Path(folder)
    if home.exists() and not home.is_dir():
        raise UsageError(f"{home}: is a file; expected a folder")
    home.mkdir(parents=True, exist_ok=True)
    key = hashlib.sha256(json.dumps(dict(settings), sort_keys=True).encode()).hexdigest()
    checkpoints = Checkpoints(home / BLOCKS, key)
    manifest = _read_manifest(home / "manifest.json")
    if manifest is not None and manifest.key != key:
        if not overwrite:
            differing = [name for name in settings if manifest.settings.get(name) != settings[name]]
            raise UsageError(
                f"{home}: holds a search with other {', '.join(differing) or 'inputs'}; "
                "overwriting starts over, or name another folder"
            )
        manifest = None
    if manifest is None:
        if not overwrite and any(home.iterdir()):
            raise UsageError(f"{home}: is not empty; overwriting starts over there, or name another folder")
        for name in outputs:
            (home / name).unlink(missing_ok=True)
        checkpoints.clear()
        _write_manifest(home / "manifest.json", key, settings, done=False)
    elif manifest.done and not overwrite:
        return WorkFolder(home, settings, checkpoints, done=True)
    return WorkFolder(home, settings, checkpoints, done=False)


@dataclass(frozen=True, slots=True)
class _Manifest:
    """Content of `manifest.json`."""

    schema: str
    key: str
    settings: Mapping[str, Any]
    done: bool


def _read_manifest(path: Path) -> _Manifest | None:
    """Return the manifest, None where it is missing, damaged or of something else: the search then starts over."""
    try:
        manifest = typed(_Manifest, load_json(path), "manifest")
    except InputError:
        return None
    return manifest if manifest.schema == SCHEMA else None


def _write_manifest(path: Path, key: str, settings: Mapping[str, Any], *, done: bool) -> None:
    content = asdict(_Manifest(SCHEMA, key, dict(settings), done))
    _write_durably(path, f"{json.dumps(content, indent=1, sort_keys=True)}\n".encode())


def _write_durably(path: Path, *parts: bytes) -> None:
    """Write a file that is there completely or not at all, even after a loss of power."""

    def write(temporary: Path) -> None:
        with temporary.open("wb") as stream:
            stream.writelines(parts)
            stream.flush()
            os.fsync(stream.fileno())

    write_atomically(path, write)


Precision: TypeAlias = Literal[16, 32, 64]
Ddof: TypeAlias = Literal[0, 1]


@dataclass(frozen=True, slots=True)
class LinkSettings:
    """What the result of a search depends on, beside the embeddings."""

    scoring: ScoringName = "cosine"
    weight: float | None = None  # of the calibration, instead of fitting one
    ddof: Ddof = 0  # row deviation: 0 population, 1 sample
    row_scaling: RowScaling = "standardise"  # of each row before calibration
    engine: EngineName = AUTO
    precision: Precision | None = None  # bits of the products' inputs
    block: int | None = None  # trials between two checkpoints
    seed: int = 0  # of the folds of a cross-fitted calibration


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
    """Calibrate and link a search in blocks that are kept in a folder; called again, it continues.

    Parameters
    ----------
    search
        The search, from `pair` or `read_pairing`.
    folder
        Folder of manifest and blocks; it may hold this very search, nothing else.
    settings
        Settings that the result depends on; a folder with other settings is refused.
    development
        A search among other people to calibrate on.
    labels
        Further settings to store in the manifest, by name.
    device
        As in `link`; it may change from call to call, as may `threads` and `scheduler`.
    threads
        As in `link`.
    scheduler
        As in `link`.
    write
        Writes the result once it is complete. After it the search counts as done and the blocks are removed. Without
        it the blocks stay, and a further call only reads them.
    outputs
        Names of the files in `folder` that `write` makes.
    overwrite
        Start over where the folder holds something else, or a search that is done.
    progress
        Called with the number of blocks done and in all.
    say
        Called with lines for a reader.

    Returns
    -------
    LinkResult | None
        None where the search was done already.
    """
    dtype = None if settings.precision is None else np.dtype(f"float{settings.precision}")
    engine_settings = EngineSettings(dtype, device, threads, scheduler)
    # refuse what cannot work before a folder is made for it
    if development is not None:
        if settings.weight is not None:
            raise UsageError("a weight and development embeddings exclude each other")
        check_other_people(search, development)
    if settings.weight is not None:
        check_weight(settings.weight, settings.row_scaling)
    choose_engine(search.trial, search.enrol, scoring=settings.scoring, name=settings.engine, settings=engine_settings)
    digests = _digests(search, development)
    manifest = {**asdict(settings), **(labels or {}), **digests}
    with lock_folder(folder, continued_from=[BLOCKS]):
        work = open_work_folder(folder, manifest, outputs=outputs, overwrite=overwrite)
        if work.done:
            return None
        calibration = _calibration(search, development, settings, work.checkpoints)
        job = prepare_search(
            search.trial,
            search.enrol,
            search.mated,
            weight=calibration.weight,
            bias=calibration.bias,
            threshold=calibration.threshold,
            scoring=settings.scoring,
            ddof=settings.ddof,
            row_scaling=settings.row_scaling,
            engine=settings.engine,
            settings=engine_settings,
        )
        if say is not None:
            cost = estimate(job.plan, job.engine, engine_settings)
            say(f"{job.plan.trials} trials x {job.plan.identities} identities, {job.engine.name}: {cost}")
            cost.check_address_space()
        result = LinkResult.build(
            _blocks(job, job.runs(settings.block), work.checkpoints, progress, say),
            job.plan,
            Identities.of(search.trial, search.enrol, search.mated),
            scoring=settings.scoring,
            calibration=calibration.facts,
            not_enrolled=search.not_enrolled,
            data=partial(_data_digest, digests, settings),
        )
        if write is not None:
            write(result)
            work.finish()
    return result


def _digests(search: Pairing, development: Pairing | None) -> dict[str, str | None]:
    """Digests of all embeddings, by their names in the manifest."""
    digests: dict[str, str | None] = {}
    for prefix, pairing in (("", search), ("dev_", development)):
        for side in ("trial", "enrol"):
            vectors = getattr(pairing, side, None)
            digest = None if vectors is None else array_digest(vectors.vectors, vectors.ids, vectors.speakers)
            digests[f"{prefix}{side}"] = digest
    return digests


def _data_digest(digests: Mapping[str, str | None], settings: LinkSettings) -> str:
    """SHA-256 of the embeddings and of what else decides about the numbers and is not in a signature.

    Engines and sizes of blocks do not: whatever computes a search, its signature is the same.
    """
    content = {**digests, "weight": settings.weight, "precision": settings.precision}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _calibration(
    search: Pairing, development: Pairing | None, settings: LinkSettings, checkpoints: Checkpoints
) -> SearchCalibration:
    """Return the calibration of the checkpoints, or fit one and save it there."""
    saved = checkpoints.load("calibration")
    if saved is not None:
        return SearchCalibration.from_arrays(saved)
    options = {name: getattr(settings, name) for name in ("weight", "scoring", "ddof", "row_scaling", "seed")}
    calibration = calibrate_search(search, development, **options)
    checkpoints.save("calibration", calibration.to_arrays())
    return calibration


def _blocks(
    job: SearchJob,
    runs: Runs,
    checkpoints: Checkpoints,
    progress: Callable[[int, int], None] | None,
    say: Callable[[str], None] | None,
) -> TrialEvidence:
    """Return the evidence of all runs: of the checkpoints, and of the others, which are computed and saved."""
    names = [f"trials-{start:012d}-{stop:012d}" for start, stop in runs]  # other runs are other blocks
    saved = {index: checkpoints.load(name) for index, name in enumerate(names)}
    parts = {index: TrialEvidence(job.plan.identities, **block) for index, block in saved.items() if block is not None}
    if parts and say is not None:
        say(f"continuing: {len(parts)} of {len(runs)} blocks are there")
    missing = [index for index in range(len(runs)) if index not in parts]
    for place, part in job.work([runs[index] for index in missing]) if missing else ():
        index = missing[place]
        checkpoints.save(names[index], {name: getattr(part, name) for name in ARRAYS})
        parts[index] = part
        if progress is not None:
            progress(len(parts), len(runs))
    return TrialEvidence.join([parts[index] for index in range(len(runs))])
