"""A search that continues after an interruption: calibration and blocks of trials are kept in a folder."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zeroevidence.data.files import reading_file
from zeroevidence.data.json_values import load_json, typed
from zeroevidence.data.writing import lock_folder, write_atomically
from zeroevidence.errors import InputError, UsageError
from zeroevidence.linkage.calibration import calibrate_search
from zeroevidence.linkage.estimate import estimate
from zeroevidence.linkage.evidence import ARRAYS, TrialEvidence
from zeroevidence.linkage.inputs import Pairing, check_other_people
from zeroevidence.linkage.plan import LinkOptions, SearchCalibration, check_weight
from zeroevidence.linkage.search import Identities, LinkResult, SearchJob, array_digest, choose_engine, prepare_search
from zeroevidence.run import Run

_MAGIC = b"ZEBLOCK2"
_HEADER = len(_MAGIC) + 8 + 32
SCHEMA = "zeroevidence/link/1"
BLOCKS, MANIFEST = "blocks", "manifest.json"  # in the folder of a search


class WorkFolder:
    """A folder with one search: its settings, its blocks, and later its results.

    A block is written to a temporary file, flushed to the disk and renamed; `lock_folder` removes temporary files of
    killed processes. Its header holds the length and a digest of the payload, of its name and of the search it belongs
    to, so that a file that is cut off, damaged or of another search is never taken for a block: the block is computed
    again.
    """

    def __init__(self, folder: str | Path, settings: Mapping[str, Any]) -> None:
        self.folder, self.blocks, self.settings = Path(folder), Path(folder) / BLOCKS, dict(settings)
        self.key = hashlib.sha256(json.dumps(self.settings, sort_keys=True).encode()).hexdigest()

    def load(self, name: str) -> dict[str, NDArray[Any]] | None:
        """Return the arrays of a block, None where it is missing, cut off, damaged or of another search."""
        try:
            data = (self.blocks / name).read_bytes()
        except OSError:
            return None
        payload = data[_HEADER:]
        if data[:_HEADER] != self._header(name, payload):
            return None
        with reading_file(self.blocks / name, "a block"), np.load(io.BytesIO(payload), allow_pickle=False) as arrays:
            return {array: arrays[array] for array in arrays.files}

    def save(self, name: str, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Write a block, atomically."""
        self.blocks.mkdir(exist_ok=True)
        buffer = io.BytesIO()
        np.savez(buffer, allow_pickle=False, **dict(arrays))
        payload = buffer.getvalue()
        _write_durably(self.blocks / name, self._header(name, payload), payload)

    def _header(self, name: str, payload: bytes) -> bytes:
        digest = hashlib.sha256(f"{self.key} {name} ".encode() + payload).digest()
        return _MAGIC + len(payload).to_bytes(8, "little") + digest

    def describe(self, *, done: bool) -> None:
        """Write the manifest, which says whether the results are complete, then remove the blocks."""
        content = asdict(_Manifest(SCHEMA, self.key, self.settings, done))
        text = f"{json.dumps(content, indent=1, sort_keys=True)}\n"
        _write_durably(self.folder / MANIFEST, text.encode())
        shutil.rmtree(self.blocks, ignore_errors=True)


def open_work_folder(
    folder: str | Path, settings: Mapping[str, Any], *, outputs: Sequence[str] = (), overwrite: bool = False
) -> WorkFolder | None:
    """Begin a search in a folder, or continue it; None where it is done.

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
    work, manifest = WorkFolder(home, settings), _read_manifest(home / MANIFEST)
    if manifest is not None and manifest.key != work.key:
        if not overwrite:
            differing = [name for name in settings if manifest.settings.get(name) != settings[name]]
            other = ", ".join(differing) or "inputs"
            raise UsageError(
                f"{home}: holds a search with other {other}; overwriting starts over, or name another folder"
            )
        manifest = None
    if manifest is None:
        if not overwrite and any(home.iterdir()):
            raise UsageError(f"{home}: is not empty; overwriting starts over there, or name another folder")
        for name in outputs:
            (home / name).unlink(missing_ok=True)
        work.describe(done=False)
    elif manifest.done and not overwrite:
        return None
    return work


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


def _write_durably(path: Path, *parts: bytes) -> None:
    """Write a file that is there completely or not at all, even after a loss of power."""

    def write(temporary: Path) -> None:
        with temporary.open("wb") as stream:
            stream.writelines(parts)
            stream.flush()
            os.fsync(stream.fileno())

    write_atomically(path, write)


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
    digests = _digests(search, development)
    labels, files = ({}, ()) if output is None else (output.labels, output.files)
    manifest = {**asdict(options), "seed": run.seed, **labels, **digests}
    with lock_folder(folder, continued_from=[BLOCKS]):
        work = open_work_folder(folder, manifest, outputs=files, overwrite=overwrite)
        if work is None:
            return None
        calibration = _calibration(search, development, options, run, work)
        job = prepare_search(search.trial, search.enrol, search.mated, calibration, options, run)
        cost = estimate(job.plan, job.engine, run)
        run.say(f"{job.plan.trials} trials x {job.plan.identities} identities, {job.engine.name}: {cost}")
        cost.check_address_space()
        names = Identities.of(search.trial, search.enrol, search.mated)
        data = partial(_data_digest, digests, options)
        result = job.result(_blocks(job, work), names, data, not_enrolled=search.not_enrolled)
        if output is not None:
            output.write(result)
            work.describe(done=True)
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


def _data_digest(digests: Mapping[str, str | None], options: LinkOptions) -> str:
    """SHA-256 of the embeddings and of what else decides about the numbers and is not in a signature.

    Engines and sizes of blocks do not: whatever computes a search, its signature is the same.
    """
    content = {**digests, "weight": options.weight, "precision": options.precision}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _calibration(
    search: Pairing, development: Pairing | None, options: LinkOptions, run: Run, work: WorkFolder
) -> SearchCalibration:
    """Return the calibration of the checkpoints, or fit one and save it there."""
    saved = work.load("calibration")
    if saved is not None:
        values: dict[str, Any] = {name: array if array.ndim else array.item() for name, array in saved.items()}
        return SearchCalibration(**values)
    calibration = calibrate_search(search, options, development=development, run=run)
    fitted = {field.name: getattr(calibration, field.name) for field in fields(calibration)}
    work.save("calibration", {name: np.asarray(value) for name, value in fitted.items() if value is not None})
    return calibration


def _blocks(job: SearchJob, work: WorkFolder) -> TrialEvidence:
    """Return the evidence of all runs: of the checkpoints, and of the others, which are computed and saved."""
    runs, step = job.runs(), job.run.progress("linking", "blocks")
    names = [f"trials-{start:012d}-{stop:012d}" for start, stop in runs]  # other runs are other blocks
    saved = {index: work.load(name) for index, name in enumerate(names)}
    parts = {index: TrialEvidence(job.plan.identities, **block) for index, block in saved.items() if block is not None}
    if parts:
        job.run.say(f"continuing: {len(parts)} of {len(runs)} blocks are there")
    missing = [index for index in range(len(runs)) if index not in parts]
    for place, part in job.engine.compute(job.plan, [runs[index] for index in missing], job.run) if missing else ():
        index = missing[place]
        work.save(names[index], {name: getattr(part, name) for name in ARRAYS})
        parts[index] = part
        step(len(parts), len(runs))
    return TrialEvidence.join([parts[index] for index in range(len(runs))])
