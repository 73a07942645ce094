"""The door of a file: whatever a library says about what is damaged becomes one error that names the file."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from zeroevidence.errors import InputError, ZeroEvidenceError

_LONGEST = 200


@contextmanager
def reading_file(path: str | Path, kind: str) -> Iterator[None]:
    """Read a file within; what fails is said as ``path: cannot be read as KIND: reason``.

    Libraries fail on damaged files in as many ways as there are damages, so that every error is taken here; only what
    this package raises itself, and a lack of memory, passes. Nothing but reading belongs within.

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
            warnings.simplefilter("ignore")  # what a library thinks of a file that it can read is of no use to anybody
            yield
    except InputError as error:
        raise error if error.path is not None else InputError(error.reason, path=path, line=error.line) from None
    except (ZeroEvidenceError, MemoryError, KeyboardInterrupt, GeneratorExit, SystemExit, TimeoutError):
        raise
    except BaseException as error:  # libraries written in Rust panic with something that is no Exception
        raise InputError(f"cannot be read as {kind}: {error_reason(error)}", path=path) from None


@contextmanager
def naming_file(path: str | Path) -> Iterator[None]:
    """Say which file it was that something is wrong with, where the error does not say it itself."""
    try:
        yield
    except InputError as error:
        raise error if error.path is not None else InputError(error.reason, path=path) from None


def is_folder(path: str | Path) -> bool:
    """Whether a name is a folder; False for names that no file can have."""
    try:
        return Path(path).is_dir()
    except (OSError, ValueError):
        return False


def is_file(path: str | Path) -> bool:
    """Whether a name is a file; False for names that no file can have."""
    try:
        return Path(path).is_file()
    except (OSError, ValueError):
        return False


def error_reason(error: BaseException) -> str:
    """The first line of what an error says; the kind of error where the line alone would not be a sentence."""
    lines = str(getattr(error, "strerror", None) or error).strip().splitlines()
    first = lines[0][:_LONGEST] if lines else ""
    named = f"{type(error).__name__}: {first}" if isinstance(error, KeyError) else first
    return named or type(error).__name__
