"""Forms as browsers send them: Starlette parses them, and their files are stored under generated names."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import Message, Receive

from zeroevidence.web import MOST_FILES
from zeroevidence.web.work.request import Upload

FOLDER = "_folder"  # ends the names of fields that take a folder
_ENDINGS = (".csv", ".tsv", ".pt")  # formats of embeddings that are recognised by the file name
_MOST_TEXTS = 64
_LONGEST_TEXT = 1 << 12  # bytes


@dataclass(slots=True)
class SentForm:
    """Texts and files of a form, by field."""

    texts: dict[str, str] = field(default_factory=dict)
    files: dict[str, list[Upload]] = field(default_factory=dict)

    def uploads(self, name: str) -> tuple[Upload, ...]:
        """Return the files of a field, or of the field beside it that takes a folder."""
        chosen, folder = self.files.get(name, []), self.files.get(f"{name}{FOLDER}", [])
        if chosen and folder:
            raise HTTPException(400, "A file and a folder were chosen for the same recordings; choose one of them.")
        return tuple(chosen or folder)


async def receive_form(request: Request, folder: Path, max_bytes: int) -> SentForm:
    """Receive a form and store its files in a folder.

    Raises
    ------
    HTTPException
        Where it cannot be parsed, has too many parts, or holds more than `max_bytes`.
    """
    limited = Request(request.scope, _limited(request.receive, max_bytes))
    async with limited.form(max_files=MOST_FILES, max_fields=_MOST_TEXTS, max_part_size=_LONGEST_TEXT) as form:
        return await run_in_threadpool(_store, form, folder)


def _limited(receive: Receive, max_bytes: int) -> Receive:
    """Return `receive` with a limit on the bytes of the body, which are counted whatever its header claims."""
    received = 0

    async def receive_part() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > max_bytes:  # the server reads and drops the rest, so that a browser still shows the answer
            raise HTTPException(413, f"These files are larger than {max_bytes / 1e6:g} MB together.")
        return message

    return receive_part


def _store(form: FormData, folder: Path) -> SentForm:
    """Copy the files of a form to a folder; browsers send an empty one without a name where none was chosen."""
    sent = SentForm()
    for number, (name, value) in enumerate(form.multi_items()):
        if isinstance(value, str):
            sent.texts[name] = value
        elif value.filename or value.size:
            path = folder / f"{number}{_ending(name, value.filename or '')}"
            with path.open("xb") as target:
                shutil.copyfileobj(value.file, target)
            files = sent.files.setdefault(name, [])
            files.append(Upload(str(path), _user_name(name, value.filename or "") or f"file {len(files)}"))
    return sent


def _ending(field_name: str, file_name: str) -> str:
    """Return the ending of a stored file."""
    ending = PurePosixPath(file_name).suffix.lower()
    is_embeddings = field_name.removesuffix(FOLDER) in ("original", "anonymised", "second")
    return ending if is_embeddings and ending in _ENDINGS else ".upload"


def _user_name(field_name: str, file_name: str) -> str:
    """Return what the user calls a file: its path in a folder, else what follows the last slash."""
    name = file_name.replace("\x00", "\ufffd")
    return name if field_name.endswith(FOLDER) else name.replace("\\", "/").rpartition("/")[2]
