"""The journal of an unfinished run: what it has written, and the seed, beside the folder that will be released.

It is a file of its own and not in the folder, because whoever has the seed can undo draws. It is removed when every
recording was written.
"""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from zeroevidence.errors import OutputError

_HEAD = re.compile(r"zeroevidence anonymise 1 seed ([0-9]{1,20}) settings ([0-9a-f]{64})")
_LINE = re.compile("([0-9a-f]{64}) ([0-9a-f]{64}) ([0-9a-f]{64})")  # of identifier, original and anonymised file


@dataclass(frozen=True, slots=True)
class Digests:
    """SHA-256 of an original file and of what was written for one utterance of it."""

    original: str
    anonymised: str


class Journal:
    """The journal of one folder.

    Parameters
    ----------
    folder
        The folder of anonymised speech.
    """

    def __init__(self, folder: str | Path) -> None:
        place = Path(folder).absolute()
        self.path = place.with_name(f".{place.name}.progress")
        self._stream: IO[str] | None = None
        self.seed: int | None = None  # of the unfinished run, None where there is none
        self._settings = ""
        self._done: dict[str, Digests] = {}
        self._read()

    def _read(self) -> None:
        try:
            lines = self.path.read_text(encoding="ascii", errors="replace").splitlines()
        except OSError:
            return
        head = _HEAD.fullmatch(lines[0]) if lines else None
        if head is None:
            return
        self.seed, self._settings = int(head[1]), head[2]
        for line in lines[1:]:
            digests = _LINE.fullmatch(line)  # the last line of a killed process may be a part
            if digests is not None:
                self._done[digests[1]] = Digests(digests[2], digests[3])

    def continues(self, settings: str) -> bool:
        """Return whether the unfinished run had these settings."""
        return self.seed is not None and self._settings == _sha256(settings)

    def begin(self, seed: int, settings: str) -> None:
        """Start a run, or continue the one with these settings."""
        try:
            if not self.continues(settings):
                self._done = {}
                handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
                with os.fdopen(handle, "w", encoding="ascii") as stream:
                    stream.write(f"zeroevidence anonymise 1 seed {seed} settings {_sha256(settings)}\n")
                self.seed, self._settings = seed, _sha256(settings)
            self._stream = self.path.open("a", encoding="ascii")
            self._stream.write("\n")  # ends what a killed process left
        except OSError as error:
            raise OutputError(error, self.path) from None

    def done(self, utterance: str) -> Digests | None:
        """Return the digests of a recording that was written, None where it was not."""
        return self._done.get(_sha256(utterance))

    def add(self, utterance: str, digests: Digests) -> None:
        """Note that a recording was written."""
        assert self._stream is not None
        try:
            self._stream.write(f"{_sha256(utterance)} {digests.original} {digests.anonymised}\n")
            self._stream.flush()
        except OSError as error:
            raise OutputError(error, self.path) from None

    def close(self) -> None:
        """Close the file, which stays."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def remove(self) -> None:
        """Remove the file."""
        self.close()
        self.path.unlink(missing_ok=True)


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
