"""Real scores and embeddings that come with the package; their data card is README.md beside this file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from zeroevidence.audit import EmbeddingSets
from zeroevidence.data.embeddings import Embeddings

_HOME = Path(__file__).parent / "scores"
_EMBEDDINGS = Path(__file__).parent / "audiomnist_ecapa.npz"
EXTRACTOR = "ECAPA-TDNN (VoxCeleb)"
# Name in the file, and the protector as the command line knows it.
PROTECTIONS = {"mcadams": "mcadams-random", "pitch": "pitch:4"}
_CONDITIONS = {
    "oo": ("original", "original", "unprotected (enrolment original, trained on original)"),
    "oa": ("original", "anonymised", "ignorant (enrolment original, trained on original)"),
    "aa": ("anonymised", "anonymised", "lazy-informed (enrolment anonymised, trained on original)"),
}


@dataclass(frozen=True, slots=True)
class SampleRow:
    """One bundled score file with its key and labels."""

    scores: Path
    key: Path
    labels: dict[str, str]


def sample_rows(split: str = "eval") -> list[SampleRow]:
    """The three conditions of one split, ``dev`` or ``eval``."""
    folder = _HOME / split
    return [
        SampleRow(
            folder / f"{condition}.scores",
            folder / "trials",
            {
                "system": "embedding noise",
                "dataset": "audiomnist",
                "split": split,
                "enrolment": enrolment,
                "trial": trial,
                "attacker": attacker,
            },
        )
        for condition, (enrolment, trial, attacker) in _CONDITIONS.items()
    ]


def sample_sets(kind: str) -> EmbeddingSets:
    """Bundled embeddings of AudioMNIST speech: ``original``, or protected by ``mcadams`` or ``pitch``."""
    with np.load(_EMBEDDINGS) as data:
        embeddings = Embeddings(data[kind].astype(np.float32), data["utterance"], data["speaker"], {"sex": data["sex"]})
        return EmbeddingSets.from_roles(embeddings, data["split"], data["role"])
