"""A cache of finished rows in a folder, so that interrupted or extended work computes only what is new."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from zeroevidence._version import __version__
from zeroevidence.data.files.errors import is_file, is_folder
from zeroevidence.data.files.writing import write_atomically
from zeroevidence.errors import InputError
from zeroevidence.evaluation.reading.results import from_json, result_text, to_json
from zeroevidence.evaluation.rows.evaluation import Evaluation

_DIGITS = 24
_BESIDE = ("trials", "utt2spk")  # files of a Kaldi data folder that a key is read from


@dataclass(frozen=True, slots=True)
class KeptResults:
    """A folder with a result file for each row, named by a digest of all that the row depends on.

    Parameters
    ----------
    folder
        The folder; made when the first row is kept.

    Examples
    --------
    >>> import tempfile
    >>> from zeroevidence import evaluate
    >>> with tempfile.TemporaryDirectory() as home:
    ...     kept = KeptResults(Path(home) / "results")
    ...     before = kept.find("a")
    ...     kept.add("a", evaluate([2.0, 3.0], [0.0, 2.5], intervals=0, null=0))
    ...     before, float(kept.find("a")["eer"])
    (None, 0.5)
    """

    folder: Path

    def find(self, name: str) -> Evaluation | None:
        """Return the row of that name; None where it is not kept."""
        file = self._file(name)
        if not is_file(file):
            return None
        rows = from_json(result_text(file)[1], path=str(file))
        if len(rows) != 1:
            raise InputError(f"has {len(rows)} rows; expected one, so remove it", path=file)
        return rows[0]

    def add(self, name: str, row: Evaluation) -> None:
        """Keep a row under a name."""
        self.folder.mkdir(parents=True, exist_ok=True)
        text = to_json([row])
        write_atomically(self._file(name), lambda temporary: temporary.write_text(text, encoding="utf-8"))

    def _file(self, name: str) -> Path:
        return self.folder / f"{name}.json"


def digest_of(paths: Sequence[str], settings: object) -> str:
    """Return a digest of files, of this version, and of how they are evaluated.

    Parameters
    ----------
    paths
        The files, or folders of a key and its speakers.
    settings
        Everything else that a result depends on, as values whose text tells them apart.
    """
    hasher = hashlib.sha256(f"{__version__}\n{settings!r}\n".encode())
    for path in paths:
        parts = [Path(path, name) for name in _BESIDE] if is_folder(path) else [Path(path)]
        for part in filter(Path.is_file, parts):
            try:
                with part.open("rb") as stream:
                    hasher.update(hashlib.file_digest(stream, "sha256").digest())
            except OSError as error:
                raise InputError(f"cannot be read: {error.strerror}", path=part) from None
    return hasher.hexdigest()[:_DIGITS]
