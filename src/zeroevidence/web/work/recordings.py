"""Recordings that were sent, as a zip file or as the files of a folder, put into a folder that an audit reads.

A name is used only after every part of it was checked, links and other special files are refused, and what is unpacked
is counted against a limit whatever a zip file announces. Lists of files, such as ``wav.scp``, are refused: they could
name any file of this machine.
"""

from __future__ import annotations

import stat
import unicodedata
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

from zeroevidence.data.speech.corpus import SUFFIXES, UNDECODED
from zeroevidence.errors import InputError
from zeroevidence.protect.anonymising.release import CARD, DIGESTS
from zeroevidence.web import MOST_FILES
from zeroevidence.web.work.request import Upload

_LISTS = ("wav.scp", "utterances.tsv")
_TABLES = ("speakers.tsv", CARD, DIGESTS)
_LONGEST_PART = 200  # bytes of the name of a file or folder
_DEEPEST = 12  # folders in each other
_PORTION = 1 << 20
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_UNNAMED = "recordings"


@dataclass(frozen=True, slots=True)
class _Member:
    """A file to be put into the folder: the parts of its name, and how to open it."""

    parts: tuple[str, ...]
    open: Callable[[], IO[bytes]]


@dataclass(frozen=True, slots=True)
class PlacedRecordings:
    """Recordings in a folder of their own.

    Parameters
    ----------
    folder
        The folder, called as the user's.
    size
        Bytes of all files.
    left_out
        Number of files that are neither audio nor a table about the speech.
    """

    folder: Path
    size: int
    left_out: int


def place_recordings(files: Sequence[Upload], folder: Path, room: int, most_bytes: int) -> PlacedRecordings:
    """Put the recordings of one side into a new folder.

    Folders around those of the speakers are taken away; the last one gives the new folder its name. Files that are
    neither audio nor a table about the speech are left out.

    Parameters
    ----------
    files
        One zip file, or the files of a folder, whose names are paths.
    folder
        Where the new folder is made; created where it is missing.
    room
        Bytes that may be written.
    most_bytes
        The limit that messages name, on the recordings of all sides together.

    Raises
    ------
    InputError
        For a file that is no zip file, and for names, links, lists and sizes that are not taken.
    """
    packed = len(files) == 1 and _is_zip(files[0])
    if len(files) == 1 and not packed and "/" not in files[0].name:
        raise InputError("is no zip file; expected one, or a folder of recordings", path=files[0].path)
    with ExitStack() as stack:
        everything = list(_unzipped(files[0], stack)) if packed else [_sent(file) for file in files]
        chosen = [member for member in everything if _is_wanted(member.parts)]
        if len(chosen) > MOST_FILES:
            raise InputError(f"{len(chosen)} files; expected at most {MOST_FILES}", path=files[0].path)
        around = _folders_around([member.parts for member in chosen if _is_audio(member.parts[-1])])
        name = around[-1] if around else _checked_name(files[0].stem) if packed else _UNNAMED
        home = folder / name
        home.mkdir(parents=True, mode=0o700)
        inside = [member for member in chosen if member.parts[: len(around)] == tuple(around)]
        size = 0
        for member in inside:
            size += _write(member, home, member.parts[len(around) :], room - size, most_bytes)
    return PlacedRecordings(home, size, len(everything) - len(inside))


def _is_zip(file: Upload) -> bool:
    with Path(file.path).open("rb") as stream:
        return stream.read(4) in _ZIP


def _sent(file: Upload) -> _Member:
    return _Member(_parts(file.name), lambda: Path(file.path).open("rb"))


def _unzipped(file: Upload, stack: ExitStack) -> Iterator[_Member]:
    """Yield the files of an archive, which stays open until the stack is closed."""
    try:
        archive = stack.enter_context(zipfile.ZipFile(file.path))
    except (zipfile.BadZipFile, OSError, ValueError, EOFError, NotImplementedError):
        raise InputError("a damaged zip file; expected it to be whole", path=file.path) from None
    for item in archive.infolist():
        if item.is_dir():
            continue
        kind = stat.S_IFMT(item.external_attr >> 16)
        if kind not in (0, stat.S_IFREG):
            what = "a link" if kind == stat.S_IFLNK else "no ordinary file"
            raise InputError(f"{item.filename}: is {what}; expected files and folders alone", path=file.path)
        if item.flag_bits & 1:
            raise InputError(f"{item.filename}: is encrypted; expected a zip file without a password", path=file.path)
        if item.compress_type not in _METHODS:
            raise InputError(f"{item.filename}: is compressed in an unusual way; expected deflate", path=file.path)
        yield _Member(_parts(item.filename), partial(archive.open, item))


def _parts(name: str) -> tuple[str, ...]:
    """Return the folders and the file of a name, in the spelling of any system."""
    return tuple(name.replace("\\", "/").split("/"))


def _checked_name(name: str) -> str:
    """Return the name where it is safe as that of a file, another one where it is not."""
    ordinary = name not in ("", ".", "..") and ":" not in name and len(name.encode("utf-8", "replace")) <= _LONGEST_PART
    return name if ordinary and not any(unicodedata.category(letter)[0] == "C" for letter in name) else _UNNAMED


def _is_audio(name: str) -> bool:
    return name.lower().endswith((*SUFFIXES, *UNDECODED))


def _is_wanted(parts: Sequence[str]) -> bool:
    """Return whether a file is audio or about it; lists of files, and names that could lead elsewhere, are refused."""
    name = "/".join(parts)
    if parts[-1] in _LISTS:
        raise InputError(
            f"{name}: a list of files, which may lie anywhere; expected folders of speakers with audio files "
            "(`zeroevidence audit` reads such a list)"
        )
    if not _is_audio(parts[-1]) and parts[-1] not in _TABLES:
        return False
    if len(parts) > _DEEPEST or any(_checked_name(part) != part for part in parts):
        shown = name if len(name) < 100 else f"{name[:100]}..."
        raise InputError(f"{shown!r} is not taken as the name of a file; expected speaker/utterance.wav")
    return not any(part.startswith(".") or part == "__MACOSX" for part in parts)


def _folders_around(recordings: Sequence[tuple[str, ...]]) -> list[str]:
    """Return the folders that hold all speakers: those that all recordings have in common, above the speaker's own."""
    around: list[str] = []
    while recordings and all(len(parts) > 2 for parts in recordings) and len({parts[0] for parts in recordings}) == 1:
        around.append(recordings[0][0])
        recordings = [parts[1:] for parts in recordings]
    return around


def _write(member: _Member, home: Path, parts: Sequence[str], room: int, most_bytes: int) -> int:
    """Write one file, and return its size; refused as soon as it is larger than the room that is left."""
    path, size = home.joinpath(*parts), 0
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with member.open() as source, path.open("xb") as target:
            while part := source.read(_PORTION):
                size += len(part)
                if size > room:
                    raise InputError(f"these recordings hold more than {most_bytes / 1e6:g} MB; expected fewer")
                target.write(part)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError):
        raise InputError("damaged: it does not unpack to its end", path=path) from None
    except FileExistsError:
        raise InputError("is there twice; expected each name once", path=path) from None
    except OSError as error:  # a name that is a file and a folder
        raise InputError(f"cannot be written: {error.strerror}", path=path) from None
    return size
