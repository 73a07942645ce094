"""The bundled data as files in a folder, to try every command on."""

from __future__ import annotations

import shutil
from pathlib import Path

from zeroevidence.data.formats.vectors.write import write_embeddings
from zeroevidence.errors import UsageError
from zeroevidence.sample import PROTECTIONS, SPLITS, sample_rows, sample_sets

ORIGINAL = "original"


def write_sample(folder: str | Path, *, overwrite: bool = False) -> list[str]:
    """Write the bundled scores with their keys, and the embeddings of each part; return lines that describe the files.

    A folder that holds anything is refused unless `overwrite`; then the bundled files in it are replaced, others stay.
    """
    home = Path(folder)
    if home.exists() and not home.is_dir():
        raise UsageError(f"{folder}: is a file; expected a folder")
    if home.is_dir() and any(home.iterdir()) and not overwrite:
        raise UsageError(f"{folder}: is not empty; --overwrite replaces the bundled files in it")
    try:
        _scores(home)
        parts = _embeddings(home)
    except OSError as error:
        raise UsageError(f"{folder}: cannot be written: {error.strerror or error}") from None
    conditions = ", ".join(Path(row.scores).stem for row in sample_rows())
    kinds = ",".join((ORIGINAL, *PROTECTIONS))
    return [
        f"{home}/scores/{{{','.join(SPLITS)}}}: trials (the key) and the scores {conditions} "
        "(original or anonymised enrolment against original or anonymised trials)",
        f"{home}/embeddings/{{{kinds}}}: {', '.join(parts)} (.npz with vectors, utterance, speaker, sex)",
    ]


def _scores(home: Path) -> None:
    for split in SPLITS:
        target = home / "scores" / split
        target.mkdir(parents=True, exist_ok=True)
        for row in sample_rows(split):
            for path in (row.scores, str(row.key)):
                shutil.copyfile(path, target / Path(path).name)


def _embeddings(home: Path) -> list[str]:
    """Write the embeddings, and return the names of their parts."""
    for kind in (ORIGINAL, *PROTECTIONS):
        target = home / "embeddings" / kind
        target.mkdir(parents=True, exist_ok=True)
        parts = sample_sets(kind).parts()
        for name, part in parts.items():
            write_embeddings(part, target / f"{name}.npz", overwrite=True)
    return list(parts)
