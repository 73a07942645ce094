"""Digests of scores for signatures: equal ones mean equal scores of equal names, in whatever order they were given."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from zeroevidence._typing import FloatArray, IntArray, StrArray
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.data.scores import Scores
from zeroevidence.evaluation.rows.setup import digest


def score_digest(*parts: Scores | ScoreMatrix, prior: FloatArray | None = None) -> str:
    """SHA-256 of scores, of who was compared with whom, and of the names, whose order decides about folds and halves.

    Parameters
    ----------
    parts
        Scores in the order of their names; those without names are put in ascending order here.
    prior
        Probability of each identity before the trial is heard, where it is not the same for all.

    Examples
    --------
    >>> from zeroevidence.data.scores import Pairs
    >>> pairs = Pairs([0], [0]), Pairs([1], [0])
    >>> of = lambda *people: score_digest(Scores([2.0], [1.0], *pairs, enrolments=list(people), trials=["t"]))
    >>> of("ann", "bob") == of("ann", "bob"), of("ann", "bob") == of("eve", "bob")
    (True, False)
    """
    return digest(_arrays(parts, prior))


def _arrays(
    parts: tuple[Scores | ScoreMatrix, ...], prior: FloatArray | None
) -> Iterator[FloatArray | IntArray | StrArray | None]:
    yield prior
    for part in parts:
        scores = part.to_scores() if isinstance(part, ScoreMatrix) else part
        for values, pairs in ((scores.target, scores.target_pairs), (scores.nontarget, scores.nontarget_pairs)):
            if pairs is None or scores.trials is None:
                yield np.sort(values)
            else:
                yield values
                yield pairs.enrolment * len(scores.trials) + pairs.trial
        yield from (scores.enrolments, scores.trials, scores.enrolment_speakers, scores.trial_speakers)
