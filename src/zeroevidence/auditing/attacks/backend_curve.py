"""How strong is strong enough: disclosure over the number of people that the attacker learned from."""

from __future__ import annotations

import numpy as np

from zeroevidence._typing import StrArray
from zeroevidence.attack.backends.backend import Backend, make_backend
from zeroevidence.auditing.attacks.learning_curve import LearningCurve
from zeroevidence.auditing.attacks.step_attack import Sides, disclosed, doubles, scored
from zeroevidence.data.embeddings import require_speakers
from zeroevidence.data.threat import ThreatModel

_SHARES = (0.25, 0.5, 1.0)
_DRAWS = 5
_LEAST_PEOPLE = 4


def learning_curve(model: ThreatModel, backend: Backend, sides: Sides, *, seed: int = 0) -> LearningCurve | None:
    """Fit the same back-end to fewer training people; None where there are too few to take some away."""
    training = sides[model.trained_on].train
    everyone = np.unique(require_speakers(training))
    sizes = [max(2, round(share * len(everyone))) for share in _SHARES]
    if sizes[0] < _LEAST_PEOPLE:
        return None
    bits = []
    for size in sizes:
        draws = 1 if size == len(everyone) else _DRAWS
        found = [_disclosed(model, backend, sides, _some(everyone, size, seed, draw)) for draw in range(draws)]
        bits.append(float(np.mean(found)))
    return LearningCurve(tuple(sizes), tuple(bits))


def _some(everyone: StrArray, size: int, seed: int, draw: int) -> StrArray:
    return np.random.default_rng([seed, size, draw]).permutation(everyone)[:size]


def _disclosed(model: ThreatModel, backend: Backend, sides: Sides, people: StrArray) -> float:
    training = sides[model.trained_on].train
    rows = np.isin(require_speakers(training), people)
    fitted = make_backend(backend).fit(doubles(training)[rows], require_speakers(training)[rows])
    return disclosed(scored(fitted, sides[model.enrolment].eval_enrol, sides[model.trial].eval_trial))
