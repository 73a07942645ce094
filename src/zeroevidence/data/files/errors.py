"""Errors that name the file: whatever a library raises about a damaged file becomes an `InputError`."""

from __future__ import annotations

import stat
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from zeroevidence.errors import InputError, ZeroEvidenceError

_LONGEST = 200


@contextmanager
def reading_file(path: str | Path, kind: str) -> Iterator[None]:
    """Context in which a file is read: an error becomes ``path: cannot be read as KIND: reason``.

    Libraries fail on damaged files in as many ways as there are damages, so every error is taken here; only errors of
    this package and a lack of memory pass. Nothing but reading belongs within.

    Parameters
    ----------
    path
        The file.
    kind
        What it was read as, such as "a model".

    Examples
    --------
    >>> with reading_file("model.bin", "a model"):
    ...     {}["weights"]
    Traceback (most recent call last):
        ...
    zeroevidence.errors.InputError: model.bin: cannot be read as a model: KeyError: 'weights'
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about a file that can be read
            yield
    except InputError as error:
        raise error if error.path is not None else InputError(error.reason, path=path, line=error.line) from None
    except (ZeroEvidenceError, MemoryError, KeyboardInterrupt, GeneratorExit, SystemExit, TimeoutError):
        raise
    except BaseException as error:  # libraries written in Rust panic with something that is no Exception
        raise InputError(f"cannot be read as {kind}: {error_reason(error)}", path=path) from None


@contextmanager
def naming_file(path: str | Path) -> Iterator[None]:
    """Context that adds the name of a file to an `InputError` that names none."""
    try:
        yield
    except InputError as error:
        raise error if error.path is not None else InputError(error.reason, path=path) from None


def is_folder(path: str | Path) -> bool:
    """Return whether a path is a folder; False for names that no file can have."""
    try:
        return Path(path).is_dir()
    except (OSError, ValueError):
        return False


def is_file(path: str | Path) -> bool:
    """Return whether a path is a file; False for names that no file can have."""
    try:
        return Path(path).is_file()
    except (OSError, ValueError):
        return False


def unreadable_reason(path: str | Path, expected: str = "", *, folder: bool = False) -> str:
    """Return why there is no file, or no folder, of that name that could be read; empty where there is one.

    Parameters
    ----------
    path
        The name.
    expected
        What should be there, for a message about something else; left out where empty.
    folder
        Whether a folder should be there.

    Examples
    --------
    >>> unreadable_reason("absent.wav"), unreadable_reason("absent", folder=True)
    ('no such file', 'no such folder')
    """
    noun = "folder" if folder else "file"
    try:
        place = Path(path)
        mode = place.stat().st_mode
        if folder and stat.S_ISDIR(mode):
            next(place.iterdir(), None)
    except (FileNotFoundError, NotADirectoryError):
        return f"no such {noun}"
    except (OSError, ValueError) as error:
        return f"cannot be read: {error_reason(error)}"
    if stat.S_ISDIR(mode) if folder else stat.S_ISREG(mode):
        return ""
    kind = "folder" if stat.S_ISDIR(mode) else "file" if stat.S_ISREG(mode) else "device or a pipe"
    return f"is a {kind}; expected {expected}" if expected else f"is a {kind}"


def error_reason(error: BaseException) -> str:
    """Return the first line of an error's message; with the type of the error where the line alone is no sentence.

    The message of a panic of Rust is about the code of a library, and no reason.
    """
    if type(error).__name__ == "PanicException":
        return "it is damaged"
    first = str(getattr(error, "strerror", None) or error).strip().partition("\n")[0][:_LONGEST]
    return first if first and not isinstance(error, KeyError) else f"{type(error).__name__}: {first}".removesuffix(": ")
