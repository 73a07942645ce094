"""The view of all scores."""

import numpy as np
import pytest

from zeroevidence.calibrate.pav import rank
from zeroevidence.measure.pairs.linkability import ScoreView
from zeroevidence.measure.pairs.zebra import LLRS_LIMIT


@pytest.mark.parametrize(("more", "computed"), [(0, True), (1, False)])
def test_costs_are_computed_up_to_a_number_of_scores(more, computed):
    target, nontarget = np.zeros(LLRS_LIMIT // 2, np.float32), np.zeros(LLRS_LIMIT // 2 + more, np.float32)
    means = ScoreView(rank(target, nontarget)).class_means("d_ece_actual")
    assert means == ((0.0, 0.0) if computed else None)
