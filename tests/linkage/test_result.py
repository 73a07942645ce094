"""A result knows whose trials it is about."""

import pickle

import numpy as np
import pytest

from tests.linkage.searches import draw, same
from zeroevidence.data.embeddings import Embeddings
from zeroevidence.linkage import LinkOptions, SearchCalibration, TrialEvidence, link


@pytest.fixture
def search():
    return draw(trials=12, identities=9)


def test_arrays_have_numbers_for_names(search):
    x, y, mated = search
    found = link(x, y, mated, LinkOptions("dot", weight=2.0, ddof=1))
    assert found.trial.tolist() == [str(at) for at in range(12)]
    assert found.speaker.tolist() == [str(at) for at in mated]
    assert (found.options.scoring, found.options.ddof, found.not_enrolled) == ("dot", 1, 0)
    assert (found.calibration.method, found.calibration.cross_fitted) == ("given", False)


def test_embeddings_have_names(search):
    x, y, mated = search
    people = np.array([f"p{at}" for at in range(9)])
    ids = np.array([f"u{at}" for at in range(12)])
    enrol = Embeddings(y, [f"e{at}" for at in range(9)], people)
    whole = link(Embeddings(x, ids, people[mated]), enrol, mated, LinkOptions("dot", weight=2.0))
    assert whole.trial.tolist() == ids.tolist()
    assert whole.speaker.tolist() == people[mated].tolist()
    # what the trials do not say, the enrolment knows
    assert (
        link(Embeddings(x, ids), enrol, mated, LinkOptions("dot", weight=2.0)).speaker.tolist()
        == people[mated].tolist()
    )
    assert (
        link(x, Embeddings(y, people), mated, LinkOptions("dot", weight=2.0)).speaker.tolist() == people[mated].tolist()
    )
    np.testing.assert_array_equal(whole.lid, link(x, y, mated, LinkOptions("dot", weight=2.0)).lid)


def test_the_digest_is_of_data_and_options_not_of_engines(search):
    pytest.importorskip("torch")
    x, y, mated = search
    changed = x.copy()
    changed[3, 2] += 1e-9
    same = [{}, {"block": 5}, {"engine": "torch"}, {"engine": "rows"}]
    assert len({link(x, y, mated, LinkOptions("dot", **{"weight": 2.0, **options})).digest for options in same}) == 1
    others = [
        link(changed, y, mated, LinkOptions("dot", weight=2.0)),
        link(x, y[::-1], mated, LinkOptions("dot", weight=2.0)),
        link(x, y, mated[::-1], LinkOptions("dot", weight=2.0)),
        link(Embeddings(x, [f"u{at}" for at in range(12)]), y, mated, LinkOptions("dot", weight=2.0)),
    ]
    different = [{"weight": 2.1}, {"precision": 32}, {}]
    others += [link(x, y, mated, LinkOptions("dot", **{"weight": 2.0, **options})) for options in different]
    calibrations = [SearchCalibration(2.0, bias=0.1), SearchCalibration(2.0, threshold=1.0)]
    others += [link(x, y, mated, LinkOptions("dot"), calibration) for calibration in calibrations]
    assert len({other.digest for other in others}) == len(others)


def test_it_is_still_plain_evidence(search):
    x, y, mated = search
    found = link(x, y, mated, LinkOptions("dot", weight=2.0))
    assert (len(found), found.identities) == (12, 9)
    same(TrialEvidence.join([found.take(slice(0, 5)), found.take(slice(5, 12))]), found, 0.0)
    np.testing.assert_array_equal(found.evidence.greater, found.greater)
    copy = pickle.loads(pickle.dumps(found))
    same(copy, found, 0.0)
    assert copy.digest == found.digest
