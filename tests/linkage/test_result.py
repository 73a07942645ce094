"""A result knows whose trials it is about."""

import pickle

import numpy as np
import pytest

from zeroevidence.data.embeddings import Embeddings
from zeroevidence.linkage import CalibrationFacts, LinkResult, LinkSummary, TrialEvidence, link
from zeroevidence.linkage import result as linked


@pytest.fixture
def search(draw):
    return draw(trials=12, identities=9)


def test_arrays_have_numbers_for_names(search):
    x, y, mated = search
    found = link(x, y, mated, weight=2.0, ddof=1)
    assert found.trial.tolist() == [str(at) for at in range(12)]
    assert found.speaker.tolist() == [str(at) for at in mated]
    assert (found.scoring, found.ddof, found.not_enrolled) == ("dot", 1, 0)
    assert found.calibration == CalibrationFacts("given", cross_fitted=False)


def test_embeddings_have_names(search):
    x, y, mated = search
    people = np.array([f"p{at}" for at in range(9)])
    ids = np.array([f"u{at}" for at in range(12)])
    enrol = Embeddings(y, [f"e{at}" for at in range(9)], people)
    whole = link(Embeddings(x, ids, people[mated]), enrol, mated, weight=2.0)
    assert whole.trial.tolist() == ids.tolist()
    assert whole.speaker.tolist() == people[mated].tolist()
    # what the trials do not say, the enrolment knows
    assert link(Embeddings(x, ids), enrol, mated, weight=2.0).speaker.tolist() == people[mated].tolist()
    assert link(x, Embeddings(y, people), mated, weight=2.0).speaker.tolist() == people[mated].tolist()
    np.testing.assert_array_equal(whole.lid, link(x, y, mated, weight=2.0).lid)


def test_nothing_is_digested_before_it_is_asked_for_and_then_once(search, monkeypatch):
    x, y, mated = search
    calls = []
    real = linked.array_digest
    monkeypatch.setattr(linked, "array_digest", lambda *arrays: calls.append(1) or real(*arrays))
    found = link(x, y, mated, weight=2.0)
    assert not calls
    assert found.digest == found.digest
    assert len(found.digest) == 64
    assert len(calls) == 1


def test_the_digest_is_of_vectors_names_and_calibration(search):
    x, y, mated = search
    changed = x.copy()
    changed[3, 2] += 1e-9
    same = [link(x, y, mated, weight=2.0, chunk=chunk, threads=1).digest for chunk in (None, 5)]
    others = [
        link(changed, y, mated, weight=2.0),
        link(x, y[::-1], mated, weight=2.0),
        link(x, y, mated[::-1], weight=2.0),
        link(x, y, mated, weight=2.1),
        link(x, y, mated, weight=2.0, bias=0.1),
        link(Embeddings(x, [f"u{at}" for at in range(12)]), y, mated, weight=2.0),
    ]
    assert same[0] == same[1]
    assert len({same[0], *(one.digest for one in others)}) == 7


def test_a_class_with_more_methods_takes_a_result_over(search):
    x, y, mated = search

    class Judged(LinkResult):
        def mean_lid(self):
            return float(self.lid.mean())

    found = link(x, y, mated, weight=2.0)
    judged = Judged.of(found)
    assert judged.mean_lid() == found.lid.mean()
    assert judged.digest == found.digest
    assert judged.trial.tolist() == found.trial.tolist()


def test_it_is_still_plain_evidence(search):
    x, y, mated = search
    found = link(x, y, mated, weight=2.0)
    assert len(found) == 12
    assert found.identities == 9
    halves = [found.take(slice(0, 5)), found.take(slice(5, 12))]
    np.testing.assert_array_equal(TrialEvidence.join(halves).lid, found.lid)
    np.testing.assert_array_equal(found.evidence.greater, found.greater)
    assert LinkSummary.of(found).trials == 12
    copy = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(copy.lid, found.lid)
    assert copy.digest == found.digest


def test_a_result_cannot_be_changed(search):
    x, y, mated = search
    with pytest.raises(AttributeError):
        link(x, y, mated, weight=2.0).ddof = 1


def test_digests_of_large_arrays_go_by_blocks(monkeypatch):
    from zeroevidence.linkage.inputs import digests

    vectors = np.random.default_rng(0).standard_normal((100, 4))
    whole = digests.array_digest(vectors, None)
    monkeypatch.setattr(digests, "_BLOCK_BYTES", 320)
    cut = digests.array_digest(vectors, None)
    assert cut == digests.array_digest(np.asfortranarray(vectors), None) != whole
    for row in (0, 57, 99):
        changed = vectors.copy()
        changed[row, 3] += 1.0
        assert digests.array_digest(changed, None) != cut
    assert digests.array_digest(vectors[::-1], None) != cut
