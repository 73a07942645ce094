"""Matrices of rows that nothing is compared with are computed only where they become a picture."""

from __future__ import annotations

import numpy as np
import pytest

from zeroevidence import ScoreMatrix, evaluate
from zeroevidence.evaluation.scores import similarity
from zeroevidence.evaluation.scores.similarity import add_similarity


@pytest.mark.parametrize(("most", "drawn"), [(4, True), (3, False)])
def test_a_matrix_of_many_speakers_is_no_picture(most, drawn, monkeypatch):
    computed = []
    whole = similarity.similarity_matrix
    monkeypatch.setattr(similarity, "similarity_matrix", lambda scores: computed.append(scores) or whole(scores))
    monkeypatch.setattr(similarity, "_DRAWN_SPEAKERS", most)
    people = ["ann", "bob", "cy", "dee"]
    rows = ScoreMatrix(np.random.default_rng(0).normal(size=(8, 4)), np.arange(8) % 4, None, people, people * 2, people)
    (row,) = add_similarity([(evaluate(rows, intervals=0, null=0), rows.to_scores())])
    assert ("similarity" in row.surfaces) == drawn
    assert len(computed) == drawn
