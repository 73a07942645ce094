"""Published scores for measures, read without the toolkit."""

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

    @property
    def llrs(self) -> np.ndarray:
        """Pool adjacent violators, with a dummy of each class at either end, the target first; natural logarithm."""
        order = np.lexsort((~self.mated, self.score))
        pools: list[list[int]] = []
        for label in (1, 0, *self.mated[order].tolist(), 1, 0):
            pools.append([int(label), 1])
            while len(pools) > 1 and pools[-2][0] * pools[-1][1] >= pools[-1][0] * pools[-2][1]:
                hits, size = pools.pop()
                pools[-1] = [pools[-1][0] + hits, pools[-1][1] + size]
        share = np.concatenate([np.full(size, hits / size) for hits, size in pools])[2:-2]
        llrs = np.empty(len(order))
        llrs[order] = np.log(share / (1.0 - share)) - np.log(self.mated.sum() / (~self.mated).sum())
        return llrs


@pytest.fixture(scope="session")
def published(shared: Path) -> Callable[[str], PublishedScores]:
    home = shared / "scores" / "vpc2020"

    def read(name: str) -> PublishedScores:
        key = {(model, trial): label for model, trial, label in np.loadtxt(home / f"trials_{name[-1]}", dtype=str)}
        model, trial, score = np.loadtxt(home / "samegender_f0orig" / f"{name}.scores", dtype=str).T
        mated = np.array([key[pair] == "target" for pair in zip(model, trial, strict=True)])
        return PublishedScores(model, trial, mated, score.astype(float))

    return read
