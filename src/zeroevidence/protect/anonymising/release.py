"""The card and the digests of a folder of anonymised speech.

``digests.txt`` has the form of ``sha256sum``, which can check it; the card names its digest. So a card is believed only
where the recordings are those that it describes.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from zeroevidence.data.files.errors import is_file
from zeroevidence.data.files.json_values import load_typed
from zeroevidence.data.files.writing import write_atomically
from zeroevidence.errors import InputError
from zeroevidence.protect.card import ProtectorCard, RefusedRecording, unknown_protector_card

CARD = "protector.json"
DIGESTS = "digests.txt"
_LINE = re.compile(r"(\\?)([0-9a-f]{64})  (.+)")
_ESCAPES = {"\\": "\\\\", "\n": "\\n", "\r": "\\r"}
_UNESCAPED = {escaped: character for character, escaped in _ESCAPES.items()}


def digest_list(digests: Mapping[str, str]) -> str:
    r"""Return the lines of a list of digests by name.

    Examples
    --------
    >>> digest_list({"b.wav": "00", "a\\.wav": "ff"})
    '\\ff  a\\\\.wav\n00  b.wav\n'
    """
    lines = []
    for name, digest in sorted(digests.items()):
        escaped = re.sub(r"[\\\n\r]", lambda match: _ESCAPES[match[0]], name)
        lines.append(f"{'' if escaped == name else chr(92)}{digest}  {escaped}\n")
    return "".join(lines)


def text_digest(text: str) -> str:
    """Return the SHA-256 of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=path) from None


def write_release(folder: Path, card: ProtectorCard, digests: str) -> None:
    """Write the list of digests, and last the card."""
    data = digests.encode("utf-8", "surrogateescape")
    write_atomically(folder / DIGESTS, lambda temporary: temporary.write_bytes(data))
    text = json.dumps(card.to_dict(), indent=1, ensure_ascii=False) + "\n"
    write_atomically(folder / CARD, lambda temporary: temporary.write_text(text, encoding="utf-8", newline=""))


def read_card(folder: str | Path) -> ProtectorCard | None:
    """Return the card in a folder of anonymised speech or of an audit, None where there is none."""
    file = Path(folder) / CARD
    if not is_file(file):
        return None
    return load_typed(ProtectorCard, file, "card")


def refused_recordings(folder: str | Path) -> tuple[RefusedRecording, ...]:
    """Return the recordings that the card in a folder of anonymised speech lists as refused."""
    card = read_card(folder)
    return () if card is None or card.release is None else card.release.refused


def release_card(folder: str | Path, recordings: Sequence[Path], say: Callable[[str], None]) -> ProtectorCard:
    """Return the card of anonymised speech: the one in its folder, where it describes these recordings.

    Parameters
    ----------
    folder
        The folder of anonymised speech.
    recordings
        Its recordings that are used.
    say
        Called with a message where a card describes others.
    """
    unknown, card = unknown_protector_card(Path(folder).name), read_card(folder)
    if card is None:
        return unknown
    changed = changed_recording(folder, card, recordings)
    if changed is None:
        return card
    say(f"note: {changed}: is not the recording that {CARD} describes; the card is left out")
    return unknown


def changed_recording(folder: str | Path, card: ProtectorCard, recordings: Iterable[Path]) -> Path | None:
    """Return the first recording that is not as the card's release wrote it; None where all are.

    A card without a release describes no recordings, so the first one is returned.
    """
    home, digests = Path(folder), {}
    file = home / DIGESTS
    if card.release is not None and is_file(file):
        data = file.read_bytes()
        if hashlib.sha256(data).hexdigest() == card.release.digests:
            digests = _read_digests(data.decode("utf-8", "surrogateescape"))
    for path in dict.fromkeys(recordings):  # parts may share a file
        if digests.get(path.relative_to(home).as_posix()) != file_digest(path):
            return path
    return None


def _read_digests(text: str) -> dict[str, str]:
    digests = {}
    for line in text.split("\n"):
        match = _LINE.fullmatch(line)
        if match is not None:
            name = re.sub(r"\\[\\nr]", lambda found: _UNESCAPED[found[0]], match[3]) if match[1] else match[3]
            digests[name] = match[2]
    return digests
