"""Learning curves of back-ends: disclosure over the number of training people."""

from __future__ import annotations

import numpy as np

from zeroevidence._typing import StrArray
from zeroevidence.attack.backends.backend import Backend, make_backend
from zeroevidence.auditing.attacks.step_attack import Sides, as_doubles, disclosure, score_trials
from zeroevidence.auditing.learning_curve import LearningCurve
from zeroevidence.data.embeddings import require_speakers
from zeroevidence.data.threat import ThreatModel

_SHARES = (0.25, 0.5, 1.0)
_DRAWS = 5
_LEAST_PEOPLE = 4


def learning_curve(model: ThreatModel, backend: Backend, sides: Sides, *, seed: int = 0) -> LearningCurve | None:
    """Return the disclosure to the same back-end fitted to fewer people; None where there are too few of them."""
    training = sides[model.trained_on].train
    everyone = np.unique(require_speakers(training))
    sizes = [max(2, round(share * len(everyone))) for share in _SHARES]
    if sizes[0] < _LEAST_PEOPLE:
        return None
    bits = []
    for size in sizes:
        draws = 1 if size == len(everyone) else _DRAWS
        samples = [np.random.default_rng([seed, size, draw]).permutation(everyone)[:size] for draw in range(draws)]
        bits.append(float(np.mean([_disclosure(model, backend, sides, people) for people in samples])))
    return LearningCurve(tuple(sizes), tuple(bits))


def _disclosure(model: ThreatModel, backend: Backend, sides: Sides, people: StrArray) -> float:
    training = sides[model.trained_on].train
    rows = np.isin(require_speakers(training), people)
    fitted = make_backend(backend).fit(as_doubles(training)[rows], require_speakers(training)[rows])
    return disclosure(score_trials(fitted, sides[model.enrolment].eval_enrol, sides[model.trial].eval_trial))
