"""Trials find their speakers among the enrolled, and scores are dot products."""

import numpy as np
import pytest

from zeroevidence.data.embeddings import Embeddings
from zeroevidence.errors import InputError, UsageError
from zeroevidence.linkage import plda_vectors
from zeroevidence.linkage.inputs import check_other_people, pair, read_pairing


def drawn(people, each, seed, dim=6):
    rng = np.random.default_rng(seed)
    names = np.repeat(people, each)
    ids = [f"{name}-{seed}{at}" for at, name in enumerate(names)]
    return Embeddings(rng.standard_normal((len(names), dim)), ids, names)


@pytest.mark.parametrize("scoring", ["cosine", "dot"])
def test_several_vectors_of_a_person_become_one(scoring):
    enrol, trial = drawn(["cy", "ada", "bob"], 3, 0), drawn(["bob", "eve", "ada"], 2, 1)
    found = pair(trial, enrol, scoring=scoring)
    assert found.enrol.speakers.tolist() == ["ada", "bob", "cy"]
    assert found.people.tolist() == ["ada", "bob", "cy"]
    vectors = enrol.vectors
    if scoring == "cosine":
        vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    np.testing.assert_allclose(found.enrol.vectors[0], vectors[3:6].mean(axis=0), atol=1e-12)
    assert found.mated.tolist() == [1, 1, 0, 0]
    assert found.trial.ids.tolist() == ["bob-10", "bob-11", "ada-14", "ada-15"]
    np.testing.assert_array_equal(found.trial.vectors, trial.vectors[[0, 1, 4, 5]])
    assert found.not_enrolled == 2


def test_one_vector_each_is_left_alone():
    enrol, trial = drawn(["cy", "ada", "bob"], 1, 0), drawn(["bob", "cy"], 1, 1)
    found = pair(trial, enrol)
    assert found.enrol is enrol
    assert found.trial is trial
    assert found.mated.tolist() == [2, 0]
    unnamed = Embeddings(np.eye(2), ["ada", "bob"])  # people are called by their identifiers
    assert pair(drawn(["bob"], 1, 0, dim=2), unnamed).mated.tolist() == [1]


def test_development_is_of_other_people():
    one, other = (pair(drawn(people, 2, 0), drawn(people, 1, 1)) for people in (["ada", "bob"], ["bob", "cy"]))
    with pytest.raises(InputError, match=r"share 1 speaker.s., among them 'bob'"):
        check_other_people(one, other)
    check_other_people(one, pair(drawn(["cy", "dan"], 2, 0), drawn(["cy", "dan"], 1, 1)))


def save(path, embeddings):
    np.savez(path, vectors=embeddings.vectors, utterance=embeddings.ids, speaker=embeddings.speakers)


def test_files_give_what_their_embeddings_give(tmp_path):
    enrol, trial = drawn(["ada", "bob"], 2, 0), drawn(["bob", "eve"], 2, 1)
    save(tmp_path / "e.npz", enrol)
    save(tmp_path / "t.npz", trial)
    found, expected = read_pairing(tmp_path / "t.npz", tmp_path / "e.npz"), pair(trial, enrol)
    np.testing.assert_array_equal(found.enrol.vectors, expected.enrol.vectors)
    np.testing.assert_array_equal(found.trial.vectors, expected.trial.vectors)
    assert found.mated.tolist() == expected.mated.tolist()
    assert found.not_enrolled == expected.not_enrolled == 2


def test_the_file_with_the_fault_is_named(tmp_path):
    enrol, trial = drawn(["ada", "bob"], 2, 0), drawn(["eve"], 2, 1)
    save(tmp_path / "e.npz", enrol)
    save(tmp_path / "t.npz", trial)
    with pytest.raises(InputError, match="trials without speakers"):
        pair(Embeddings(np.eye(6)), enrol)
    with pytest.raises(InputError, match=r"t\.npz: no trial has its speaker"):
        read_pairing(tmp_path / "t.npz", tmp_path / "e.npz")
    save(tmp_path / "zero.npz", Embeddings(np.zeros((4, 6)), enrol.ids, enrol.speakers))
    with pytest.raises(InputError, match=r"zero\.npz: row 0 .* zero vector"):
        read_pairing(tmp_path / "t.npz", tmp_path / "zero.npz")


def model(dim, rng):
    spread = [rng.standard_normal((dim, dim)) for _ in range(2)]
    return rng.standard_normal(dim), spread[0] @ spread[0].T, spread[1] @ spread[1].T + np.eye(dim)


def log_density(v, covariance):
    sign, logdet = np.linalg.slogdet(covariance)
    assert sign > 0
    return -0.5 * (v @ np.linalg.solve(covariance, v) + logdet + len(v) * np.log(2 * np.pi))


@pytest.mark.parametrize("utterances", [1, 4])
def test_plda_is_the_ratio_of_gaussian_densities(utterances):
    rng = np.random.default_rng(0)
    dim = 5
    mean, between, within = model(dim, rng)
    x, y = rng.standard_normal((6, dim)) + mean, rng.standard_normal((4, dim)) + mean
    a, b = plda_vectors(x, y, mean=mean, between=between, within=within, utterances=utterances)
    assert a.shape == (6, dim + 2)
    one, many = between + within, between + within / utterances
    joint = np.block([[one, between], [between, many]])
    for i in range(6):
        for j in range(4):
            u, v = x[i] - mean, y[j] - mean
            expected = log_density(np.concatenate((u, v)), joint) - log_density(u, one) - log_density(v, many)
            assert a[i] @ b[j] == pytest.approx(expected, abs=1e-9)


def test_plda_refuses_what_is_no_model():
    x = np.ones((2, 3))
    with pytest.raises(InputError, match="between: expected a 3 x 3"):
        plda_vectors(x, x, mean=np.zeros(3), between=np.eye(2), within=np.eye(3))
    with pytest.raises(UsageError, match="at least one utterance"):
        plda_vectors(x, x, mean=np.zeros(3), between=np.eye(3), within=np.eye(3), utterances=0)
