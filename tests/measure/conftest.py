"""Published scores for measures, read without the toolkit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest


class PublishedScores(NamedTuple):
    """Trials of VoicePrivacy 2020: who is enrolled, the recording on trial, whether both are one, the score."""

    enrolled: np.ndarray
    trial: np.ndarray
    mated: np.ndarray
    score: np.ndarray

    @property
    def classes(self) -> tuple[np.ndarray, np.ndarray]:
        return self.score[self.mated], self.score[~self.mated]


@pytest.fixture(scope="session")
def published(shared: Path) -> Callable[[str], PublishedScores]:
    home = shared / "scores" / "vpc2020"

    def read(name: str) -> PublishedScores:
        key = {(model, trial): label for model, trial, label in np.loadtxt(home / f"trials_{name[-1]}", dtype=str)}
        model, trial, score = np.loadtxt(home / "samegender_f0orig" / f"{name}.scores", dtype=str).T
        mated = np.array([key[pair] == "target" for pair in zip(model, trial, strict=True)])
        return PublishedScores(model, trial, mated, score.astype(float))

    return read
