"""Real scores that come with the package; their data card is README.md beside this file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

_HOME = Path(__file__).parent / "scores"
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
