"""Small results that have everything a figure may need."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import zeroevidence as ze
from tests.evaluation.made import named_search
from zeroevidence.data.scores import TandemScores, TrialScores
from zeroevidence.evaluation import Evaluation, Options, Points, add_similarity
from zeroevidence.evaluation.tandem import evaluate_tandem


def searched(shift: float, seed: int, **labels: str) -> Evaluation:
    """Twelve speakers with four trials each."""
    rng = np.random.default_rng(seed)
    mated = np.repeat(np.arange(12), 4)
    scores = rng.normal(size=(48, 12))
    scores[np.arange(48), mated] += shift
    matrix = named_search(scores, mated, "s{:02d}", "t{:02d}")
    row = ze.evaluate(matrix, labels=labels, options=Options(intervals=40, null=0))
    return add_similarity([(row, matrix.to_scores())])[0]


@pytest.fixture(scope="session")
def rows() -> list[Evaluation]:
    return [searched(2.5, 0, system="strong"), searched(0.5, 1, system="weak")]


@pytest.fixture(scope="session")
def tandem() -> Evaluation:
    rng = np.random.default_rng(0)
    trials = {
        "asv_target": rng.normal(3, 1, 200),
        "asv_nontarget": rng.normal(0, 1, 300),
        "asv_spoof": rng.normal(2, 1, 250),
        "cm_bonafide": rng.normal(2, 1, 300),
        "cm_spoof": rng.normal(0, 1, 300),
    }
    scores = TandemScores(**{kind: TrialScores(values) for kind, values in trials.items()})
    return evaluate_tandem(scores, intervals=0, labels={"system": "cm"})[0]


def with_nothing(**fields: Any) -> Evaluation:
    """A row that has nothing but what is given."""
    return Evaluation(**{"metrics": {}, **fields})


@pytest.fixture(scope="session")
def bare() -> Callable[..., Evaluation]:
    return with_nothing


@pytest.fixture(scope="session")
def mapped() -> Evaluation:
    points = Points((0.0, 1.0, 2.0, 3.0), (1.0, 0.0, 1.0, 0.0), ("f", "m", "f", "m"))
    return with_nothing(labels={"system": "flow"}, maps={"before": points, "after": points})
