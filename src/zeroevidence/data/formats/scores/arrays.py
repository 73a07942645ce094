"""Formats of arrays of scores: matrices of whole searches with their keys, and scores with labels (NumPy, BOSARIS)."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from io import BytesIO
from typing import Any

import numpy as np
import polars as pl

from zeroevidence._typing import IntArray, StrArray
from zeroevidence.data.files import array_header, check_archive, check_array, check_size, naming_file, reading_file
from zeroevidence.data.formats import text
from zeroevidence.data.formats.input_file import EXPORT, HDF5, NPY, NPZ, TEXT, Container, InputFile, pickled
from zeroevidence.data.formats.lists import SpeakerList
from zeroevidence.data.formats.scores.detect import ONE_NUMBER
from zeroevidence.data.formats.scores.layout import Role, Table
from zeroevidence.data.formats.scores.score_format import SCORE_FORMATS, Binary, FailingMatrix, Matrix, ScoreFormat
from zeroevidence.data.formats.vectors.kaldi import read_ark, stack_vectors
from zeroevidence.data.json_values import shortened
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.data.printable import compose
from zeroevidence.data.scores import frozen, is_target
from zeroevidence.errors import InputError
from zeroevidence.optional import optional

_IDS = ("trials", "enrolments", "trial_speakers", "enrolment_speakers")
_ARRAYS = ("scores", "mated", *_IDS)


def read_matrix(source: InputFile, key: InputFile | None, speakers: SpeakerList | None) -> FailingMatrix:
    """Return the matrix, validated, and where its scores are NaN.

    Raises
    ------
    InputError
        Naming the file, and the row and column where that helps.
    """
    arrays = load_arrays(source, "scores", _ARRAYS)
    if "scores" not in arrays:
        raise _without_scores(source)
    if key is not None:
        for name, array in load_arrays(key, "mated", _ARRAYS).items():
            if name == "scores":
                continue
            if name in arrays and not np.array_equal(arrays[name], array):
                raise InputError(f"{name} differs from {name} in {source.name}; expected the same", path=key.name)
            arrays[name] = array
    if "mated" not in arrays and arrays["scores"].ndim == 1:
        raise InputError(ONE_NUMBER, path=source.name)
    if "mated" not in arrays:
        raise InputError("no array named mated; expected one, here or in a key (--key KEY)", path=source.name)
    return build_matrix(arrays, source.name, speakers)


def build_matrix(arrays: dict[str, Any], name: str, speakers: SpeakerList | None) -> FailingMatrix:
    """Return the matrix of arrays by name, with 1 for NaN, and where that was; at least one trial must be mated."""
    scores = arrays["scores"]
    if scores.dtype.kind not in "biuf" or scores.ndim != 2 or not scores.size:
        reason = f"scores: {scores.dtype} of shape {scores.shape}; expected numbers, trials x identities"
        raise InputError(reason, path=name)
    failed = np.isnan(scores)
    scores = np.where(failed, np.ones_like(scores), scores) if failed.any() else scores
    if np.asarray(arrays["mated"]).dtype.kind == "b":
        reason = "mated: labels, not columns; expected np.savez('scores.npz', scores=one_per_trial, labels=key)"
        raise InputError(reason, path=name)
    with naming_file(name):
        matrix = ScoreMatrix(scores, arrays["mated"], **{field: arrays[field] for field in _IDS if field in arrays})
    if matrix.scores.shape[1] < 2:
        raise InputError("one enrolled identity; expected at least two", path=name)
    if not (matrix.mated >= 0).any():
        raise InputError("no trial has its speaker enrolled; expected at least one mated column", path=name)
    return (matrix if speakers is None else _with_speakers(matrix, speakers, name)), failed


def load_arrays(source: InputFile, alone: str, names: Sequence[str]) -> dict[str, Any]:
    """Return the arrays of a NumPy file.

    Parameters
    ----------
    source
        The file.
    alone
        The name of the array of an npy.
    names
        The arrays of an npz that are read.
    """
    if source.kind not in (NPZ.name, NPY.name):
        raise InputError(f"is a {source.kind} file; expected NumPy (.npz or .npy)", path=source.name)
    with reading_file(source.name, f"NumPy {source.kind}"), source.stream() as stream:
        if source.kind == NPY.name:
            held = stream.seek(0, 2)
            stream.seek(0)
            check_array(stream, held, source.name)
            stream.seek(0)
        else:
            check_archive(stream, source.name)
        loaded = np.load(stream, allow_pickle=False)
        if source.kind == NPY.name:
            return {alone: _decode(loaded)}
        with loaded:
            return {name: _decode(loaded[name]) for name in names if name in loaded.files}


def _without_scores(source: InputFile) -> InputError:
    """Return the error about an npz, or another zip file, without an array of scores."""
    with (
        reading_file(source.name, f"NumPy {source.kind}"),
        source.stream() as stream,
        np.load(stream, allow_pickle=False) as loaded,
    ):
        names = loaded.files
    if any(name.endswith("data.pkl") for name in names):  # as torch saves
        return pickled(source.name, EXPORT)
    if "[Content_Types].xml" in names:
        return InputError("is a workbook of Excel; expected it saved as CSV", path=source.name)
    listed = ", ".join(map(shortened, names)) or "none"
    return InputError(f"no array named scores (found: {listed}); expected one", path=source.name)


def _decode(array: Any) -> Any:
    return np.char.decode(array, "utf-8") if array.dtype.kind == "S" else frozen(array)


def not_finite(scores: Any, wrong: Any, advice: str) -> str:
    """Return the message about scores of a matrix that are not finite."""
    places = np.argwhere(wrong)
    row, column = (int(i) for i in places[0])
    more = f" (and {len(places) - 1} more)" if len(places) > 1 else ""
    score = f"score {scores[row, column]} at trial {row}, identity {column}"
    return f"{score} is not finite{more}; expected finite numbers{advice}"


def _with_speakers(matrix: ScoreMatrix, speakers: SpeakerList, name: str) -> ScoreMatrix:
    if matrix.trials is None:
        raise InputError("no array named trials; expected one to look speakers up", path=name)
    missing = speakers.missing(matrix.trials.tolist(), "trial")
    if missing:
        raise InputError.of(missing)
    enrolled = matrix.enrolment_speakers
    if matrix.enrolments is not None:
        enrolled = np.array([speakers.speaker(name) or name for name in matrix.enrolments.tolist()], np.str_)
    tried = np.array([speakers.speaker(name) for name in matrix.trials.tolist()], np.str_)
    written = matrix.spellings | speakers.spellings
    return replace(matrix, trial_speakers=tried, enrolment_speakers=enrolled, spellings=written)


_NAME = "kaldi-ark"
_ARCHIVE = Container(TEXT, "Kaldi archive", ())  # begins with a name, as other text does
_FIRST_ENTRY = re.compile(rb"\s*[^\s\[\]]+ (?: *\[[ \t]|\x00B[FD]V )")
_HEAD = 4096
_NUMBER = re.compile("-?[0-9]{1,9}")


def is_archive(file: InputFile) -> bool:
    """Return whether a file begins with a name and a vector."""
    with file.stream() as stream:
        return _FIRST_ENTRY.match(stream.read(_HEAD)) is not None


def read_archive(file: InputFile, key: InputFile | None, speakers: SpeakerList | None) -> FailingMatrix:
    """Return the score matrix of the search, and where its scores are NaN.

    Raises
    ------
    InputError
        When the archive is damaged, its vectors differ in length, or the key does not fit.
    """
    vectors = read_ark(file.read(), file.name)
    scores = stack_vectors(vectors, file.name)
    if key is None:
        raise InputError("no labels; expected a key (--key KEY) with `trial number` on each line", path=file.name)
    mated = _mated(list(vectors), scores.shape[1], key, file.name)
    return build_matrix({"scores": scores, "mated": mated, "trials": np.array(list(vectors))}, file.name, speakers)


def _mated(trials: list[str], identities: int, key: InputFile, name: str) -> IntArray:
    """Return the column of each trial's speaker."""
    problems = text.FileProblems(key.name)
    column: dict[str, int] = {}
    present = set(map(compose, trials))
    for number, trial, written in text.two_columns(key, problems, "trial number"):
        if not _NUMBER.fullmatch(written) or not -1 <= int(written) < identities:
            problems.add(number, f"{written!r} is no identity; expected a whole number from -1 to {identities - 1}")
        elif trial not in present:
            problems.add(number, f"{trial!r} is not in {name}; expected a trial of the archive")
        elif column.setdefault(trial, int(written)) != int(written):
            problems.add(number, f"{trial!r} is {column[trial]} before; expected one identity")
    for trial in () if problems else present:
        if trial not in column:
            problems.add(None, f"{trial!r} of {name} is missing; expected a line for every trial")
    problems.check()
    return np.array([column[compose(trial)] for trial in trials], np.int64)


SCORE_FORMATS.add(
    ScoreFormat(
        name="matrix",
        description="matrix of a search, trials x identities in NumPy `.npz` or `.npy`",
        matrix=Matrix((NPZ, NPY), read_matrix),
        place=60,
    ),
    ScoreFormat(
        name=_NAME,
        description="Kaldi archive, `trial [ score score ... ]` in text or binary",
        matrix=Matrix((_ARCHIVE,), read_archive),
        takes=is_archive,
        place=80,
    ),
)


_LABELLED = "arrays"
_NAMED = ("scores", "labels")
_HYPOTHESES = ("scores", "hypothesis")  # as lir calls them
_UNNAMED = ("arr_0", "arr_1")  # what NumPy calls arrays that were saved without a name
_ALONE = "both"  # what the only array of an npy is called here
_SIDES = {"enrol": "enrolments", "trial": "trials"}


def is_labelled(file: InputFile) -> bool:
    """Return whether a NumPy file holds scores with labels, and not the matrix of a search; False for a damaged one."""
    try:
        with file.stream() as stream:
            if file.kind == NPY.name:
                shape = array_header(stream)[0]
                two = len(shape) == 2 and (2 in shape or shape[1] == 3)
            else:
                names = set(zipfile.ZipFile(stream).namelist())
                pairs = (_NAMED, _HYPOTHESES, _UNNAMED)
                labelled = any({f"{name}.npy" for name in pair} <= names for pair in pairs)
                return labelled and "mated.npy" not in names
        array = load_arrays(file, _ALONE, ())[_ALONE] if two else None
        return array is not None and (_pair(array) is not None or _has_people(array))
    except Exception:  # the reader of matrices reports what is wrong with it
        return False


def _pair(array: Any) -> tuple[Any, Any] | None:
    """Return scores and labels of one array of numbers: two rows, or two columns, the second nothing but 0 and 1."""
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        return None
    for turned in (array, array.T):
        if len(turned) == 2 and set(np.unique(turned[1]).tolist()) == {0, 1}:
            return turned[0], turned[1]
    return None


def _has_people(array: Any) -> bool:
    """Return whether the columns are the numbers of two people, and scores that are not whole numbers."""
    if array.ndim != 2 or array.shape[1] != 3 or array.dtype.kind not in "iuf":
        return False
    whole = (array == np.rint(array)).all(axis=0)
    return bool(whole[0] and whole[1] and not whole[2] and (array[:, 0] == array[:, 1]).any())


def read_labelled(file: InputFile, _role: Role) -> Table:
    """Return the scores with their labels, as a table without lines.

    Raises
    ------
    InputError
        When the arrays do not fit together, or a label is none.
    """
    arrays = load_arrays(file, _ALONE, (*_NAMED, *_HYPOTHESES, *_UNNAMED, *_SIDES.values()))
    if _ALONE in arrays and _has_people(arrays[_ALONE]):
        tried, enrolled, score = arrays[_ALONE].T
        people = {"trial_speaker": tried, "enrol_speaker": enrolled}
        names = {column: numbers.astype(np.int64).astype(np.str_) for column, numbers in people.items()}
        return Table(file.name, _LABELLED, pl.DataFrame({**names, "score": score.astype(np.float64)}), None)
    arrays = _by_usual_names(arrays, file.name)
    table = score_table(file, arrays["scores"], _LABELLED)
    for name, array in arrays.items():
        if array.shape != arrays["scores"].shape:
            raise InputError(f"{name}: shape {array.shape}; expected {len(table.frame)}, one per score", path=file.name)
    with naming_file(file.name):
        columns = {"label": is_target(arrays["labels"])}
    columns |= {column: arrays[name].astype(np.str_) for column, name in _SIDES.items() if name in arrays}
    return replace(table, frame=table.frame.with_columns(**{name: pl.Series(cells) for name, cells in columns.items()}))


def score_table(file: InputFile, scores: Any, format: str) -> Table:
    """Return an array of scores as a table without lines."""
    if scores.ndim != 1 or scores.dtype.kind not in "iuf" or not scores.size:
        advice = " (of two log-posteriors: x[:, 1] - x[:, 0])" if scores.shape[1:] == (2,) else ""
        reason = f"scores: {scores.dtype} of shape {scores.shape}; expected numbers, one per trial{advice}"
        raise InputError(reason, path=file.name)
    return Table(file.name, format, pl.DataFrame({"score": scores.astype(np.float64)}), None)


def _by_usual_names(arrays: dict[str, Any], file: str) -> dict[str, Any]:
    """Return the arrays of a file by their usual names."""
    if "hypothesis" in arrays:
        arrays["labels"] = arrays.pop("hypothesis")
    if _ALONE in arrays:
        arrays = dict(zip(_NAMED, _pair(arrays[_ALONE]) or (), strict=False))
    elif _NAMED[0] not in arrays:
        arrays |= {name: arrays[unnamed] for name, unnamed in zip(_NAMED, _UNNAMED, strict=True) if unnamed in arrays}
    if not all(name in arrays for name in _NAMED):
        raise InputError("no scores with labels; expected arrays named scores and labels", path=file)
    return {name: array for name, array in arrays.items() if name not in _UNNAMED}


_BOSARIS = "bosaris"


def read_hdf5(source: InputFile, role: Role) -> Table:
    """Return the trials that a mask selects, as a table without line numbers.

    Raises
    ------
    MissingExtra
        When h5py is not installed.
    InputError
        When the file lacks a dataset or their shapes do not fit.
    """
    h5py = optional("h5py", "hdf5", f"{source.name}: reading BOSARIS files (HDF5)")
    place = source.path if source.held is None else BytesIO(source.held)
    with reading_file(source.name, "HDF5"), h5py.File(place, "r") as file:
        models = _ids(file, ("ID/row_ids", "modelset", "model_names"))
        segments = _ids(file, ("ID/column_ids", "segset", "test_names"))
        shape = len(models), len(segments)
        if role == "key" and "tar_mask" in file:  # as PyBOSARIS writes it
            values = _matrix(file, ("tar_mask",), shape) - _matrix(file, ("non_mask",), shape)
        else:
            values = _matrix(file, ("trial_mask",) if role == "key" else ("scores", "score_mat"), shape)
        masked = role == "scores" and "score_mask" in file
        mask = _matrix(file, ("score_mask",), shape) if masked else np.ones(shape, bool)
    if role == "key":
        invalid = values[~np.isin(values, (-1, 0, 1))]
        if invalid.size:
            raise InputError(f"trial_mask holds {invalid.flat[0]:g}; expected 1, -1 or 0", path=source.name)
        mask = values
    rows, columns = np.nonzero(mask)
    if not len(rows):
        raise InputError("empty: its mask selects no trial; expected at least one", path=source.name)
    selected = values[rows, columns]
    frame = pl.DataFrame({"enrol": pl.Series(models)[rows], "trial": pl.Series(segments)[columns]})
    value = pl.Series("label", selected > 0) if role == "key" else pl.Series("score", selected)
    return Table(source.name, _BOSARIS, frame.with_columns(value), None)


def only_array(source: InputFile) -> Any:
    """Return the only array of an HDF5 file, as bob writes it; None where there are several, or none."""
    h5py = optional("h5py", "hdf5", f"{source.name}: reading an array of HDF5")
    place = source.path if source.held is None else source.stream()
    with reading_file(source.name, "HDF5"), h5py.File(place, "r") as file:
        names = [name for name in file if hasattr(file[name], "nbytes")]
        return np.asarray(_dataset(file, (names[0],))[1]) if len(names) == 1 else None


def _dataset(file: Any, names: tuple[str, ...]) -> tuple[str, Any]:
    """Return name and values of the first of several datasets, unless it is much larger than what the file holds."""
    name = next((name for name in names if name in file), None)
    if name is None:
        raise InputError(f"no dataset {' or '.join(names)}; expected a BOSARIS or SIDEKIT file")
    dataset = file[name]
    if not hasattr(dataset, "nbytes"):
        raise InputError(f"{dataset.name} is a group; expected a dataset")
    if dataset.nbytes > 4 * dataset.id.get_storage_size():
        check_size(int(dataset.nbytes), file.filename)
    return name, dataset[()]


def _ids(file: Any, names: tuple[str, ...]) -> StrArray:
    """Return the identifiers of a side, each once."""
    name, values = _dataset(file, names)
    cells = np.ravel(values).tolist()
    ids = np.array([cell.decode("utf-8") if isinstance(cell, bytes) else str(cell) for cell in cells], np.str_)
    if len(np.unique(ids)) != len(ids):
        raise InputError(f"{name}: identifiers repeat; expected each once")
    if (ids == "").any():
        raise InputError(f"{name}: empty identifier; expected a name")
    return ids


def _matrix(file: Any, names: tuple[str, ...], shape: tuple[int, ...]) -> Any:
    """Return a matrix of numbers, models x segments."""
    name, values = _dataset(file, names)
    values = np.asarray(values)
    if values.shape != shape or values.dtype.kind not in "biuf":
        size = " x ".join(map(str, shape))
        raise InputError(f"{name}: {values.dtype} {values.shape}; expected numbers, models x segments = {size}")
    return values.astype(np.float64)


SCORE_FORMATS.add(
    ScoreFormat(
        name=_LABELLED,
        description="scores and labels in NumPy `.npz` or `.npy`",
        binary=Binary((NPZ, NPY), read_labelled),
        takes=is_labelled,
        place=55,
    ),
    ScoreFormat(
        name=_BOSARIS,
        description="BOSARIS, PyBOSARIS or SIDEKIT, models x segments in HDF5",
        binary=Binary((HDF5,), read_hdf5),
        place=70,
    ),
)
