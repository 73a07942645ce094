"""Forms as browsers send them: every file goes to disk under a generated name while it arrives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import ClientDisconnect

from zeroevidence.web import MOST_FILES
from zeroevidence.web.guard import Body, TooLarge
from zeroevidence.web.work.request import Upload

FOLDER = "_folder"  # ends the names of fields that take a folder
HEADERS = 1 << 9  # bytes around each file of a form, about
_ENDINGS = (".csv", ".tsv", ".pt")  # of embeddings, which are known by them
_LONGEST_TEXT = 1 << 12
_LONGEST_HEADER = 1 << 13
_MOST_TEXTS = 64


class BadForm(Exception):
    """A form that cannot be read, with a sentence for the person who sent it."""


@dataclass(slots=True)
class SentForm:
    """Texts and files of a form, by field."""

    texts: dict[str, str] = field(default_factory=dict)
    files: dict[str, list[Upload]] = field(default_factory=dict)

    def uploads(self, name: str) -> tuple[Upload, ...]:
        """Return the files of a field, and of the field beside it that takes a folder."""
        chosen, folder = self.files.get(name, []), self.files.get(f"{name}{FOLDER}", [])
        if chosen and folder:
            raise BadForm("A file and a folder were chosen for the same recordings; choose one of them.")
        return tuple(chosen or folder)


async def receive_form(body: Body, content_type: str, folder: Path, max_bytes: int) -> SentForm:
    """Receive a form and store its files.

    Parameters
    ----------
    body
        The body of the request.
    content_type
        Its header.
    folder
        Where files are stored.
    max_bytes
        The most that all files and texts may hold.

    Raises
    ------
    BadForm
        Where it is no form, or one with too many parts.
    TooLarge
        Where it holds more than is allowed.
    """
    kind, options = parse_options_header(content_type.encode("latin-1", "replace"))
    if kind != b"multipart/form-data" or not options.get(b"boundary"):
        raise BadForm("Nothing was chosen.")
    parts = _Parts(folder, max_bytes)
    try:
        parser = MultipartParser(options[b"boundary"], parts.callbacks())  # type: ignore[arg-type]
        more = True
        while more:
            message = await body.receive()
            if message["type"] == "http.disconnect":
                raise ClientDisconnect
            parser.write(message.get("body", b""))
            more = message.get("more_body", False)
        parser.finalize()
    except FormParserError:
        raise BadForm("This form could not be read; open the page again.") from None
    finally:
        parts.close()
    return parts.form


class _Parts:
    """The parts of a form, one after the other; a single file is open at a time."""

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self.form = SentForm()
        self._folder = folder
        self._room = max_bytes
        self._header: tuple[bytearray, bytearray] = bytearray(), bytearray()
        self._field = self._sent_name = self._disposition = ""
        self._text = bytearray()
        self._path: Path | None = None
        self._stream: IO[bytes] | None = None
        self._count = self._size = 0

    def callbacks(self) -> dict[str, Callable[..., None]]:
        """Return what the parser calls."""
        names = ("part_begin", "part_data", "part_end", "header_field", "header_value", "header_end")
        return {f"on_{name}": getattr(self, name) for name in (*names, "headers_finished")}

    def close(self) -> None:
        """Close a file that was left open."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def part_begin(self) -> None:
        """Begin a part; too many are refused."""
        self._count += 1
        if self._count > MOST_FILES + _MOST_TEXTS:
            raise BadForm(f"These are more than {MOST_FILES} files.")
        self._disposition, self._text, self._path, self._size = "", bytearray(), None, 0

    def header_field(self, data: bytes, start: int, end: int) -> None:
        """Take some of the name of a header."""
        self._extend(self._header[0], data[start:end])

    def header_value(self, data: bytes, start: int, end: int) -> None:
        """Take some of a header."""
        self._extend(self._header[1], data[start:end])

    def header_end(self) -> None:
        """Keep the header that names the field and the file."""
        if self._header[0].lower() == b"content-disposition":
            self._disposition = self._header[1].decode("latin-1")
        self._header = bytearray(), bytearray()

    def headers_finished(self) -> None:
        """Open a file where the part is one."""
        _, options = parse_options_header(self._disposition.encode("latin-1"))
        self._field = options.get(b"name", b"").decode("utf-8", "replace")
        if b"filename" in options:
            self._sent_name = options[b"filename"].decode("utf-8", "replace")
            wanted = self._field.removesuffix(FOLDER) in ("original", "anonymised", "second")
            ending = PurePosixPath(self._sent_name).suffix.lower()
            number = sum(map(len, self.form.files.values()))
            self._path = self._folder / f"{number}{ending if wanted and ending in _ENDINGS else '.upload'}"
            self._stream = self._path.open("xb")

    def part_data(self, data: bytes, start: int, end: int) -> None:
        """Take some of a file or of a text."""
        self._size += end - start
        self._room -= end - start
        if self._room < 0:
            raise TooLarge
        if self._stream is not None:
            self._stream.write(data[start:end])
        elif self._size > _LONGEST_TEXT:
            raise BadForm("A text in this form is too long.")
        else:
            self._text += data[start:end]

    def part_end(self) -> None:
        """Keep the text, or the file; browsers send an empty one where none was chosen."""
        if self._path is None:
            self.form.texts[self._field] = self._text.decode("utf-8", "replace")
            return
        self.close()
        if not self._sent_name and not self._size:
            self._path.unlink()
            return
        files = self.form.files.setdefault(self._field, [])
        files.append(Upload(str(self._path), self._name(len(files))))

    def _name(self, number: int) -> str:
        """Return what the user calls the file: its path in a folder, else what follows the last slash."""
        sent = self._sent_name.replace("\x00", "\ufffd")
        name = sent if self._field.endswith(FOLDER) else sent.replace("\\", "/").rpartition("/")[2]
        return name or f"file {number}"

    def _extend(self, header: bytearray, data: bytes) -> None:
        header += data
        if len(header) > _LONGEST_HEADER:
            raise BadForm("This form could not be read; open the page again.")
