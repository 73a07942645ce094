"""Files of models in installed wheels, checked by their digests. Nothing is downloaded, and no wheel is imported."""

from __future__ import annotations

import hashlib
import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zeroevidence.errors import InputError, MissingExtra
from zeroevidence.linkage.optional import optional


@dataclass(frozen=True, slots=True)
class Wheel:
    """A wheel with files of a model.

    Parameters
    ----------
    version
        Name and version, such as ``moonshine-voice==0.0.62``: the one whose digests are known.
    package
        The package that it installs.
    folder
        Folder of the files in that package.
    """

    version: str
    package: str
    folder: str

    def file(self, name: str, digest: str, *, extra: str, needed_for: str) -> Path:
        """Return a file, checked by its SHA-256.

        Raises
        ------
        MissingExtra
            Where the wheel is not installed; names the extra that installs it, and what needs it.
        InputError
            Where the file is not that of the version whose digest is known.
        """
        spec = importlib.util.find_spec(self.package)
        places = [] if spec is None else list(spec.submodule_search_locations or [])
        if not places:
            raise MissingExtra(extra, needed_for)
        path = Path(places[0]) / self.folder / name
        try:
            with path.open("rb") as stream:
                actual = hashlib.file_digest(stream, "sha256").hexdigest()
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}; expected {self.version}", path=path) from None
        if actual != digest:
            raise InputError(f"SHA-256 {actual[:12]}...; expected {digest[:12]}... of {self.version}", path=path)
        return path


def one_thread_session(model: str | bytes, *, extra: str, needed_for: str) -> Any:
    """Return the session of an ONNX model that computes with the calling thread alone."""
    onnxruntime = optional("onnxruntime", extra, needed_for)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
