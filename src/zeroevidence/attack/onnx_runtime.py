"""ONNX files as extractors: opened only when they are safe and complete, and run by onnxruntime."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zeroevidence._typing import IntArray
from zeroevidence.attack.onnx_cards import FRONT_ENDS, EncoderCard
from zeroevidence.data.audio import load_audio
from zeroevidence.data.files import is_file, naming_file
from zeroevidence.data.json_values import load_json, shortened
from zeroevidence.data.waves import Wave
from zeroevidence.errors import InputError, UsageError
from zeroevidence.optional import optional

# Fields of ONNX messages by number that hold messages in which a tensor may lie.
_INSIDE: dict[str, dict[int, str]] = {
    "model": {7: "graph", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "function": {7: "node", 11: "attribute"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
    "tensor": {13: "external"},
}
_KEY, _VALUE = 1, 2
_VARINT, _EIGHT, _LENGTH, _FOUR = 0, 1, 2, 5  # how protobuf marks what follows


def checked_bytes(file: Path, *, sha256: str | None = None, size: int | None = None) -> bytes:
    """Return the content of a model file, if its size and its digest are those of its card.

    Raises
    ------
    InputError
        Naming the file, when it cannot be read or is another; one of another size is not read.
    """
    try:
        actual = file.stat().st_size
        if size is not None and actual != size:
            raise InputError(f"has {actual} bytes; its card says {size}", path=file)
        data = file.read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=file) from None
    digest = hashlib.sha256(data).hexdigest()
    if sha256 is not None and digest != sha256:
        raise InputError(f"its sha256 is {digest}; its card says {sha256}", path=file)
    return data


def external_files(data: bytes, path: Path) -> tuple[Path, ...]:
    """Return the files besides the model itself that hold its weights, each once.

    Parameters
    ----------
    data
        Content of the model file.
    path
        Its path; names of other files are relative to its folder.

    Raises
    ------
    InputError
        Naming the model, when it is not ONNX, or when a file is missing or lies outside the model's folder, also by
        a link.

    Examples
    --------
    >>> from zeroevidence.attack.encoders import find_encoder
    >>> file = find_encoder("campplus").card.file
    >>> external_files(file.read_bytes(), file)
    ()
    """
    folder = path.absolute().parent.resolve()
    try:
        locations = sorted(set(_locations(data)))
        places = {name: (folder / name).resolve() for name in locations}
    except ValueError as error:
        raise InputError(f"cannot be loaded as ONNX: {error}", path=path) from None
    for name, place in places.items():
        if not place.is_relative_to(folder):
            raise InputError(f"its weights are in {name!r}, outside its folder; expected them beside it", path=path)
        if not is_file(place):
            raise InputError(f"its weights are in {name!r}; no such file beside it", path=path)
    return tuple(places.values())


def _locations(data: bytes) -> Iterator[str]:
    """Yield the paths that tensors name, anywhere in a model."""
    waiting = [("model", memoryview(data))]
    while waiting:
        kind, message = waiting.pop()
        if kind == "external":
            fields = list(_fields(message))
            if any(bytes(value) == b"location" for number, value in fields if number == _KEY):
                yield from (bytes(value).decode() for number, value in fields if number == _VALUE)
            continue
        inside = _INSIDE[kind]
        waiting += [(inside[number], value) for number, value in _fields(message) if number in inside]


def _fields(message: memoryview) -> Iterator[tuple[int, memoryview]]:
    """Yield numbers and contents of the fields of a protobuf message that may be messages or text themselves."""
    at, end = 0, len(message)
    while at < end:
        mark, at = _number(message, at)
        kind = mark & 7
        if kind == _VARINT:
            _, at = _number(message, at)
        elif kind in (_EIGHT, _FOUR):
            at += 8 if kind == _EIGHT else 4
        elif kind == _LENGTH:
            size, at = _number(message, at)
            yield mark >> 3, message[at : at + size]
            at += size
        else:
            raise ValueError("not a protobuf message")
        if at > end:
            raise ValueError("cut off, or not a protobuf message")


def _number(message: memoryview, at: int) -> tuple[int, int]:
    """Return a number of seven bits per byte, and the place behind it."""
    value = 0
    for place, byte in enumerate(message[at : at + 10]):
        value |= (byte & 127) << (7 * place)
        if byte < 128:
            return value, at + place + 1
    raise ValueError("cut off, or not a protobuf message")


EXTRA = "speech"
FRAMES, STEP = 200, 100  # of a crop, and from one to the next: two seconds, every second
SUFFIX = "-crops"
_CHECK = Path(__file__).parent / "encoders/check"
UTTERANCE, EMBEDDINGS = _CHECK / "utterance.flac", _CHECK / "embeddings.json"
ALIKE = 0.9999  # cosine above which an embedding is the expected one: other processors and runtimes round otherwise
_SAME = 1e-5  # relative difference of embeddings that are the same but for rounding
_VERSION = "1"  # of the front ends and of how models are fed; raised whenever vectors would change


@dataclass(frozen=True, slots=True)
class OnnxModel:
    """An opened ONNX file: its session, its digest, and other files that hold its weights."""

    session: Any
    sha256: str
    external: tuple[Path, ...]


def open_model(file: Path, *, sha256: str | None = None, size: int | None = None) -> OnnxModel:
    """Check an ONNX file and open it, on one thread.

    Raises
    ------
    InputError
        When it is not ONNX, its digest is not `sha256`, it has other than `size` bytes, or it wants files from outside
        its folder.
    MissingExtra
        Without onnxruntime.
    """
    optional("onnxruntime", EXTRA, "an ONNX speaker encoder")
    data = checked_bytes(file, sha256=sha256, size=size)
    external = external_files(data, file)
    try:
        # What was checked is what is run; other files are found from where the model lies.
        session = open_session(str(file) if external else data)
    except Exception as error:  # the runtime has its own family of errors
        raise InputError(f"cannot be loaded as ONNX: {str(error).splitlines()[0]}", path=file) from None
    return OnnxModel(session, hashlib.sha256(data).hexdigest(), external)


def open_session(model: bytes | str) -> Any:
    """Return the session of a model, which was checked, or of its file."""
    runtime = optional("onnxruntime", EXTRA, "an ONNX speaker encoder")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.add_session_config_entry("session.load_model_format", "ONNX")
    return runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


class OnnxExtractor:
    """A speaker encoder run by onnxruntime on the CPU.

    Utterances of the same number of frames are computed together where the model takes batches of any size; nothing is
    ever padded, so a vector does not depend on its neighbours.
    """

    def __init__(self, card: EncoderCard) -> None:
        model = open_model(card.file, sha256=card.sha256, size=card.bytes)
        inputs = {node.name: node for node in model.session.get_inputs()}
        outputs = [node.name for node in model.session.get_outputs()]
        if set(inputs) != {card.input} or card.output not in outputs:
            names = f"inputs {', '.join(inputs)} and outputs {', '.join(outputs)}"
            raise InputError(f"has {names}; its card says {card.input} and {card.output}", path=card.file)
        self.card, self.model = card, model
        self.batched = not isinstance(inputs[card.input].shape[0], int)
        self.name, self.sample_rate, self.dim = card.name, card.sample_rate, card.dim
        digest = model.sha256  # of all weights
        if model.external:
            parts = [digest, *(hashlib.sha256(file.read_bytes()).hexdigest() for file in model.external)]
            digest = hashlib.sha256("".join(parts).encode()).hexdigest()
        self.fingerprint = f"onnx:{digest}:{card.front_end}:{card.output}:{_VERSION}"

    def __reduce__(self) -> tuple[Any, ...]:
        """Send the card to another process, which opens the file there."""
        return _reopen, (self.card, self.fingerprint)

    def features(self, wave: Wave) -> NDArray[np.float32]:
        """Return the input of the model for a waveform."""
        front_end: Callable[[Wave], NDArray[np.float32]] | None = FRONT_ENDS.get(self.card.front_end)
        return np.asarray(wave, np.float32) if front_end is None else front_end(wave)

    def forward(self, features: NDArray[np.float32]) -> NDArray[np.float32]:
        """Run the model on features with a leading dimension of utterances."""
        try:
            vectors = np.asarray(self.model.session.run([self.card.output], {self.card.input: features})[0])
        except Exception as error:  # the runtime has its own family of errors
            reason = f"cannot be run on features of shape {features.shape}: {str(error).splitlines()[0]}"
            raise InputError(reason, path=self.card.file) from None
        if vectors.shape != (len(features), self.dim):
            expected = f"({len(features)}, {self.dim}) as its card says"
            raise InputError(f"output of shape {vectors.shape}; expected {expected}", path=self.card.file)
        return vectors.astype(np.float32, copy=False)

    def embed(self, waves: Sequence[Wave]) -> NDArray[np.float32]:
        """Return one vector per waveform."""
        return self.embed_features([self.features(wave) for wave in waves])

    def embed_features(self, inputs: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
        """Return one vector for the features of each utterance."""
        result = np.empty((len(inputs), self.dim), np.float32)
        groups: dict[int, list[int]] = {}
        for at, features in enumerate(inputs):
            groups.setdefault(len(features) if self.batched else at, []).append(at)
        for rows in groups.values():
            result[rows] = self.forward(np.stack([inputs[at] for at in rows]))
        return result


@lru_cache(maxsize=8)
def _reopen(card: EncoderCard, fingerprint: str) -> OnnxExtractor:
    """Return an extractor of another process, opened once in this one."""
    extractor = OnnxExtractor(card)
    if extractor.fingerprint != fingerprint:
        raise InputError("has changed since it was opened", path=card.file)
    return extractor


def crop_starts(frames: int) -> list[int]:
    """Return where the crops of a recording begin; the last one ends where the recording does.

    Examples
    --------
    >>> crop_starts(150), crop_starts(200), crop_starts(201), crop_starts(430)
    ([0], [0], [0, 1], [0, 100, 200, 230])
    """
    last = max(frames - FRAMES, 0)
    return [*range(0, last, STEP), last]


class CropExtractor:
    """A speaker encoder of features whose vectors are means over crops; a short recording is one crop.

    Parameters
    ----------
    whole
        The encoder.
    """

    def __init__(self, whole: OnnxExtractor) -> None:
        if whole.card.front_end not in FRONT_ENDS:
            raise UsageError(f"{whole.name}: takes waveforms; expected an encoder of features, of which crops are cut")
        self.whole, self.card = whole, whole.card
        self.name, self.sample_rate, self.dim = whole.name + SUFFIX, whole.sample_rate, whole.dim
        self.fingerprint = f"{whole.fingerprint}:crops:{FRAMES}:{STEP}"

    def embed(self, waves: Sequence[Wave]) -> NDArray[np.float32]:
        """Return one vector per waveform."""
        return self.embed_features([self.whole.features(wave) for wave in waves])

    def embed_features(self, inputs: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
        """Return one vector for the features of each utterance."""
        crops = [features[start : start + FRAMES] for features in inputs for start in crop_starts(len(features))]
        owners = np.repeat(np.arange(len(inputs)), [len(crop_starts(len(features))) for features in inputs])
        return mean_by_owner(self.whole.embed_features(crops), owners)


def mean_by_owner(vectors: NDArray[np.floating[Any]], owners: IntArray) -> NDArray[np.float32]:
    """Return the mean of the vectors of each owner; owners are counted from 0.

    Examples
    --------
    >>> mean_by_owner(np.array([[1.0], [3.0], [5.0]], np.float32), np.array([0, 0, 1])).tolist()
    [[2.0], [5.0]]
    """
    sums = np.zeros((int(owners.max()) + 1, vectors.shape[1]))
    np.add.at(sums, owners, vectors)
    return (sums / np.bincount(owners)[:, None]).astype(np.float32)


def examine(model: OnnxExtractor) -> float | None:
    """Return the cosine of a model's embedding of the check utterance to the reference of its card.

    Raises
    ------
    InputError
        Naming the model's file, when shapes are not as its card says, numbers are not finite, a second run differs,
        the embedding is zero, that of other speech or not the expected one.
    """
    wave = check_wave(model.sample_rate)
    vector, again = model.embed([wave])[0], model.embed([wave])[0]
    if not np.isfinite(vector).all():
        raise InputError("its embedding of the check utterance is not finite", path=model.card.file)
    if not np.array_equal(vector, again):
        raise InputError("gives another embedding of the same utterance each time", path=model.card.file)
    if not vector.any():
        raise InputError("its embedding of the check utterance is zero", path=model.card.file)
    if np.allclose(vector, model.embed([wave[: len(wave) // 2]])[0], rtol=_SAME, atol=0.0):
        raise InputError("gives the same embedding of different speech", path=model.card.file)
    if model.card.reference is None:
        return None
    with naming_file(model.card.file):
        expected = reference(model.card.reference)
    if len(expected) != model.dim:
        reason = f"{model.dim} dimensions; expected {len(expected)} of {model.card.reference}"
        raise InputError(reason, path=model.card.file)
    x, y = np.asarray(vector, np.float64), np.asarray(expected, np.float64)
    cosine = float(x @ y / np.sqrt((x @ x) * (y @ y)))
    if not cosine > ALIKE:
        raise InputError(
            f"its embedding of the check utterance has cosine {cosine:.4f} to that of {model.card.reference}; "
            f"expected more than {ALIKE}",
            path=model.card.file,
        )
    return cosine


def check_wave(rate: int) -> Wave:
    """Return the check utterance."""
    return load_audio(UTTERANCE, rate)


def reference(name: str) -> NDArray[np.float32]:
    """Return the embedding of the check utterance by an encoder.

    Raises
    ------
    InputError
        When there is none of that name.

    Examples
    --------
    >>> reference("campplus").shape
    (192,)
    """
    embeddings = load_json(EMBEDDINGS)
    if name not in embeddings:
        raise InputError(f"no reference {shortened(name)!r}; expected one of {', '.join(embeddings)}")
    return np.array(embeddings[name], np.float32)
