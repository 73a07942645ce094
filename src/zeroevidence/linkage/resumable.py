"""A search that continues after an interruption: calibration and blocks of trials are kept in a folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from zeroevidence.data.embeddings import Embeddings
from zeroevidence.data.files import ArrayOnDisk, changed
from zeroevidence.data.json_values import load_json, typed
from zeroevidence.data.store import Store, digest
from zeroevidence.data.writing import lock_folder, write_file
from zeroevidence.errors import InputError, UsageError
from zeroevidence.linkage.calibration import calibrate_search
from zeroevidence.linkage.estimate import estimate
from zeroevidence.linkage.evidence import ARRAYS, TrialEvidence
from zeroevidence.linkage.inputs import Pairing, check_other_people
from zeroevidence.linkage.plan import LinkOptions, SearchCalibration, check_weight
from zeroevidence.linkage.search import Identities, LinkResult, SearchJob, array_digest, choose_engine, prepare_search
from zeroevidence.run import Run

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
        _check_unchanged(search, development, digests)
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


def _check_unchanged(search: Pairing, development: Pairing | None, digests: Mapping[str, str | None]) -> None:
    """Refuse files that hold something else than at the beginning, even where their times say nothing of it."""
    for name, data in _sides(search, development):
        if data is not None and isinstance(data.vectors, ArrayOnDisk) and _digest(data) != digests[name]:
            raise changed(data.vectors.path)


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
