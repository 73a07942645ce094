"""The bundled example of a protection that passes."""

import numpy as np
import pytest

from zeroevidence.sample import cascade_sets, sentence_sets


@pytest.mark.parametrize("kind", ["protected", "trained"])
def test_both_sides_have_the_same_recordings(kind):
    original, protected = cascade_sets("original").parts(), cascade_sets(kind).parts()
    assert list(original) == list(protected)
    for name, part in original.items():
        assert part.ids.tolist() == protected[name].ids.tolist()
        assert not np.array_equal(part.vectors, protected[name].vectors)


def test_what_was_not_understood_is_missing():
    assert len(cascade_sets("original").eval_trial.ids) < len(sentence_sets("original").eval_trial.ids)
