"""Speaker encoders that are installed: those there are, one more, and whether each still gives its embeddings."""

from __future__ import annotations

import hashlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from zeroevidence.attack.extractors import EXTRACTORS
from zeroevidence.attack.onnx_cards import BANDS, CARD, EncoderCard, card_parts, card_text, read_card
from zeroevidence.attack.onnx_runtime import EXTRA, OnnxExtractor, check_wave, examine, open_model
from zeroevidence.data.files import is_file, unreadable_reason
from zeroevidence.data.json_values import read_json
from zeroevidence.data.programs import run_program
from zeroevidence.data.writing import lock_folder
from zeroevidence.errors import InputError, OutputError, Problem, UsageError
from zeroevidence.optional import optional
from zeroevidence.registry import Registry

Source = Literal["bundled", "added"]
BUNDLED = Path(__file__).resolve().parent / "bundled"
HOME_VARIABLE = "ZEROEVIDENCE_HOME"
_SECONDS, _MEMORY = 30, 6 << 30  # of processor time, and bytes of addresses, that an encoder may take to be examined
_CHILD = "import sys, zeroevidence.attack.encoders as e; e.examine_here(sys.argv[1], *map(int, sys.argv[2:]))"
_PART = ".adding-"  # begins the names of folders that are not whole yet
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True)
class Encoder:
    """An encoder that has a name: its card, and whether it was bundled or added."""

    card: EncoderCard
    source: Source

    @property
    def name(self) -> str:
        """The name that `load_extractor` takes."""
        return self.card.name


@dataclass(frozen=True, slots=True)
class Inventory:
    """The encoders that can be used, and the problems of the others."""

    encoders: tuple[Encoder, ...]
    problems: tuple[Problem, ...]


def inventory() -> Inventory:
    """Return the installed encoders; no model is loaded.

    Examples
    --------
    >>> first = inventory().encoders[0]
    >>> first.name, first.source, first.card.dim
    ('campplus', 'bundled', 192)
    """
    encoders: list[Encoder] = []
    problems: list[Problem] = []
    folders: dict[Source, Path] = {"bundled": BUNDLED, "added": added_folder()}
    for source, folder in folders.items():
        for card in sorted(folder.glob(f"*/{CARD}")):
            if not is_encoder_name(card.parent.name):
                continue
            try:
                encoders.append(Encoder(replace(read_card(card), name=card.parent.name), source))
            except InputError as error:
                problems.append(error.problem)
    return Inventory(tuple(encoders), tuple(problems))


def find_encoder(name: str) -> Encoder:
    """Return the encoder of a name.

    Raises
    ------
    InputError
        When there is none, or its card cannot be used.

    Examples
    --------
    >>> find_encoder("campplus").card.licence
    'Apache-2.0'
    """
    installed = inventory()
    for encoder in installed.encoders:
        if encoder.name == name.lower():
            return encoder
    broken = [problem for problem in installed.problems if Path(problem.path).parent.name == name.lower()]
    if broken:
        raise InputError.of(broken, lister="zeroevidence models")
    names = ", ".join(encoder.name for encoder in installed.encoders)
    raise InputError(f"no such encoder; expected one of {names}", path=name)


def find_card(name: str) -> EncoderCard:
    """Return the card of an encoder by its name, or in a file: a card, or an ONNX model with one beside it.

    Raises
    ------
    InputError
        When there is none, or its card cannot be used.
    """
    file, chosen = card_parts(name)
    installed = any(encoder.name == str(name).lower() for encoder in inventory().encoders)
    return find_encoder(name).card if installed or not is_file(file) else read_card(file, chosen)


def added_folder() -> Path:
    """Return the folder of added encoders, which need not exist.

    ``$ZEROEVIDENCE_HOME/encoders`` where that variable is set, else where the system keeps data of its users.

    Examples
    --------
    >>> import os
    >>> os.environ["ZEROEVIDENCE_HOME"] = "/data/voices"
    >>> added_folder().as_posix()
    '/data/voices/encoders'
    >>> del os.environ["ZEROEVIDENCE_HOME"]
    """
    home = os.environ.get(HOME_VARIABLE)
    return (Path(home) if home else _user_data() / "zeroevidence") / "encoders"


def is_encoder_name(name: str) -> bool:
    """Return whether a name is valid: small letters, digits, dots, dashes; no path to another folder.

    Examples
    --------
    >>> is_encoder_name("ecapa-2.0"), is_encoder_name("../ecapa"), is_encoder_name("ECAPA")
    (True, False, False)
    """
    return _NAME.fullmatch(name) is not None


def added_card(name: str) -> Path | None:
    """Return the card of an added encoder, or None where there is none of that name."""
    card = added_folder() / name.lower() / CARD
    return card if is_encoder_name(name.lower()) and card.is_file() else None


def _user_data() -> Path:
    try:
        home = Path.home()
    except RuntimeError:  # a user without a home has added nothing; adding fails with a message
        home = Path(os.sep)
    if sys.platform == "darwin":
        return home / "Library" / "Application Support"
    return Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")


@dataclass(frozen=True, slots=True)
class EncoderCheck:
    """The cosine to the expected embedding, where there is one, and the problem, if any."""

    name: str
    cosine: float | None
    problem: Problem | None


def check_encoders(names: Sequence[str] = ()) -> list[EncoderCheck]:
    """Check encoders by name, or all that are installed.

    Raises
    ------
    InputError
        When there is no encoder of a name.
    MissingExtra
        When what runs encoders or reads audio is not installed.

    Examples
    --------
    >>> check_encoders(["wishful"])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    zeroevidence.errors.InputError: wishful: no such encoder; expected one of campplus...
    """
    if names:
        return [_check(find_encoder(name).card) for name in names]
    installed = inventory()
    broken = [EncoderCheck(Path(problem.path).parent.name, None, problem) for problem in installed.problems]
    return [_check(encoder.card) for encoder in installed.encoders] + broken


def examine_apart(card: EncoderCard) -> float | None:
    """Examine an encoder in a process of its own, which may take little time and memory: files come from anybody.

    Raises
    ------
    InputError
        As `examine`, and when the process did not end by itself.
    MissingExtra
        When what runs encoders or reads audio is not installed.
    """
    optional("onnxruntime", EXTRA, "an ONNX speaker encoder")
    check_wave(card.sample_rate)
    content = asdict(replace(card, training_people=(), development_people=())) | {"file": str(card.file)}
    arguments = [sys.executable, "-P", "-c", _CHILD, json.dumps(content), str(_SECONDS), str(_MEMORY)]
    with tempfile.TemporaryFile() as errors, tempfile.TemporaryFile() as output:
        try:
            status = run_program(arguments, errors, 10.0 * _SECONDS, output)
        except subprocess.TimeoutExpired:
            status = -signal.SIGXCPU
        output.seek(0)
        answer = read_json(output.read().decode() or "null", card.file)
    if status == InputError.exit_code:
        raise InputError(answer, path=card.file)
    if status:
        ended = "takes too long" if status == -signal.SIGXCPU else f"ends the process with status {status}"
        limits = f"{_SECONDS} s of processor time and {_MEMORY >> 30} GiB"
        raise InputError(f"{ended}; expected an encoder that embeds some seconds within {limits}", path=card.file)
    return None if answer is None else float(answer)


def examine_here(card: str, seconds: int, memory: int) -> None:
    """Examine the encoder of a card within limits of this process, and print its cosine, or the reason against it."""
    values = read_json(card, "card")
    source = EncoderCard(**values | {"file": Path(values["file"])})
    size = source.file.stat().st_size
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))  # the first ends it with SIGXCPU
    resource.setrlimit(resource.RLIMIT_AS, (memory + 8 * size, memory + 8 * size))
    try:
        print(json.dumps(examine(OnnxExtractor(source if source.input else published_card(source)))))
    except (InputError, MemoryError) as error:
        print(json.dumps(getattr(error, "reason", f"needs more than {memory >> 30} GiB for some seconds of speech")))
        sys.exit(InputError.exit_code)


def _check(card: EncoderCard) -> EncoderCheck:
    try:
        return EncoderCheck(card.name, examine_apart(card), None)
    except InputError as error:
        return EncoderCheck(card.name, None, error.problem)


# Published encoders that can be added without a card, whoever exported the file: it is recognised by the inputs and
# outputs of its graph, and by its embedding of the check utterance. None is fetched.
PUBLISHED_ENCODERS: Registry[EncoderCard] = Registry("published encoder")
PUBLISHED_ENCODERS.add(
    EncoderCard(
        "ecapa",
        Path(),
        sample_rate=16_000,
        dim=192,
        front_end="speechbrain-fbank",
        input="",
        output="",
        architecture="ECAPA-TDNN (VoxCeleb 1 and 2)",
        licence="Apache-2.0",
        origin="SpeechBrain, speechbrain/spkrec-ecapa-voxceleb",
        reference="ecapa",
    )
)


def add_encoder(
    file: str | Path,
    *,
    card: str | Path | None = None,
    published: str | None = None,
    name: str | None = None,
    overwrite: bool = False,
) -> Encoder:
    """Copy an ONNX encoder into the user's folder, where `load_extractor` finds it by its name.

    Parameters
    ----------
    file
        The model; a card beside it names it, or this is the card (``cards.json#model`` for one of several).
    card
        The card, where it lies elsewhere.
    published
        The name of a published encoder in `PUBLISHED_ENCODERS` instead of a card.
    name
        Its name; by default the card's.
    overwrite
        Replace an added encoder of that name.

    Raises
    ------
    InputError
        Naming the file, when model and card do not fit, digest or size are not the card's, the weights lie in other
        files, or the embedding of the check utterance is not what it should be.
    UsageError
        When the name is taken, or is not a valid name.
    MissingExtra
        When what runs encoders or reads audio is not installed.

    Examples
    --------
    >>> add_encoder(find_encoder("campplus").card.file)
    Traceback (most recent call last):
    ...
    zeroevidence.errors.UsageError: 'campplus' is an extractor already; expected another name
    """
    source = _find_card(str(file), card, published)
    if name is None and not is_encoder_name(source.name):
        raise UsageError(f"{file}: its name {source.name!r} cannot name an encoder; expected another, with --as")
    chosen = name or source.name
    if not is_encoder_name(chosen):
        raise UsageError(f"{chosen!r} cannot name an encoder; expected small letters, digits, dots and dashes")
    existing = added_card(chosen)
    if existing is None and any(family.takes(chosen) for family in EXTRACTORS.values() if not family.files):
        raise UsageError(f"{chosen!r} is an extractor already; expected another name")
    if existing is not None and not overwrite:
        raise UsageError(f"{chosen!r} was added already, in {existing.parent}; --overwrite replaces it")
    examine_apart(source)
    if not source.input:
        source = published_card(source)
    source = replace(source, name=chosen)
    encoder = OnnxExtractor(source)
    if encoder.model.external:
        names = ", ".join(path.name for path in encoder.model.external)
        reason = f"its weights are in other files ({names}); expected one file that holds all"
        raise InputError(reason, path=source.file)
    copied = replace(source, sha256=encoder.model.sha256, bytes=source.file.stat().st_size)
    return Encoder(_store(copied, overwrite=overwrite), "added")


def published_card(encoder: EncoderCard) -> EncoderCard:
    """Return the card of a published encoder with the names that the graph of its file has.

    Raises
    ------
    InputError
        Naming the file, when inputs or outputs of its graph are not those of that encoder.
    """
    file, model = encoder.file, open_model(encoder.file)
    inputs, outputs = model.session.get_inputs(), model.session.get_outputs()
    ends = (
        ("inputs", inputs, (None, None, BANDS), f"utterances x frames x {BANDS}"),
        ("outputs", outputs, (None, encoder.dim), f"utterances x {encoder.dim}"),
    )
    for title, nodes, shape, text in ends:
        if len(nodes) != 1 or not _fits(nodes[0].shape, shape):
            listing = ", ".join(f"{node.name} {node.shape}" for node in nodes) or "none"
            raise InputError(f"has {title} {listing}; expected one of {text}, as {encoder.name} has it", path=file)
    return replace(encoder, input=inputs[0].name, output=outputs[0].name, sha256=model.sha256)


def _fits(shape: list[Any], expected: tuple[int | None, ...]) -> bool:
    """Return whether a shape can be the expected one; a graph need not name the length of each dimension."""
    return len(shape) == len(expected) and all(
        size == length or length is None or not isinstance(size, int)
        for size, length in zip(shape, expected, strict=True)
    )


def _find_card(file: str, card: str | Path | None, published: str | None) -> EncoderCard:
    if published is not None and card is not None:
        raise UsageError(f"{published}: a published encoder has a card already; expected either its name or a card")
    encoder = None if published is None else PUBLISHED_ENCODERS.find(published.lower())
    path, chosen = (file, None) if encoder else card_parts(file)
    reason = unreadable_reason(path)
    if reason:
        raise InputError(reason, path=path)
    if encoder is not None:
        return replace(encoder, file=Path(file))
    return read_card(path, chosen) if card is None else read_card(*card_parts(str(card)), model=Path(file))


def _store(card: EncoderCard, *, overwrite: bool) -> EncoderCard:
    """Copy model and card into a folder of their own, completely or not at all."""
    folder = added_folder()
    home = folder / card.name
    with lock_folder(folder):
        if home.exists() and not overwrite:  # another process was quicker
            raise UsageError(f"{card.name!r} was added already, in {folder}; --overwrite replaces it")
        for leftover in folder.glob(f"{_PART}*"):  # of a killed process
            shutil.rmtree(leftover)
        _copy(card, home)
    return find_encoder(card.name).card


def _copy(card: EncoderCard, home: Path) -> None:
    try:
        home.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=_PART, dir=home.parent) as part:
            fresh, old = Path(part) / "fresh", Path(part) / "old"
            fresh.mkdir()
            copy = replace(card, file=Path(shutil.copyfile(card.file, fresh / f"{card.name}.onnx")))
            if hashlib.sha256(copy.file.read_bytes()).hexdigest() != card.sha256:
                raise InputError("changed while it was copied", path=card.file)
            (fresh / CARD).write_text(card_text(copy), encoding="utf-8")
            if home.exists():
                home.rename(old)
            try:
                fresh.rename(home)
            except OSError:
                if old.exists():
                    old.rename(home)
                raise
    except OSError as error:
        raise OutputError(error, home.parent) from None
