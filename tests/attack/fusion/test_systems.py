"""Scores of several systems as those of one attacker."""

import numpy as np
import pytest

import zeroevidence as ze
from zeroevidence.attack.fusion.systems import evaluate_fused, fuse
from zeroevidence.attack.fusion.weights import Fusion
from zeroevidence.calibrate.rows import standardise
from zeroevidence.errors import InputError, UsageError
from zeroevidence.evaluation.reading.score_files import score_files


def matrix(seed, gap, prefix="p", order=None):
    rng = np.random.default_rng(seed)
    mated = np.repeat(np.arange(12), 5)
    scores = rng.normal(size=(60, 12)) + gap * np.eye(12)[mated]
    names = np.array([f"{prefix}{i:02d}" for i in range(12)])
    trials = np.array([f"{prefix}t{i:02d}" for i in range(60)])
    order = np.arange(60) if order is None else order
    return ze.ScoreMatrix(
        scores[order],
        mated[order],
        trials=trials[order],
        enrolments=names,
        trial_speakers=names[mated][order],
        enrolment_speakers=names,
    )


def test_a_weighted_sum_of_standardised_rows_whatever_the_order():
    shuffled = np.random.default_rng(5).permutation(60)
    here = [matrix(0, 2.0), matrix(1, 1.0, order=shuffled)]
    dev = [matrix(2, 2.0, "d"), matrix(3, 1.0, "d")]
    found = fuse(here, dev)
    weights = Fusion().fit([one.scores for one in dev], dev[0].mated).weights_
    by_hand = weights[0] * standardise(here[0].scores) + weights[1] * standardise(matrix(1, 1.0).scores)
    assert found.scores.scores == pytest.approx(by_hand)
    assert found.weights == pytest.approx(weights / weights.sum())
    assert found.weights[0] > found.weights[1] > 0.0


def test_two_attackers_learn_more_than_either():
    here = [matrix(seed, 1.5) for seed in (0, 1)]
    dev = [matrix(seed, 1.5, "d") for seed in (2, 3)]
    options = ze.Options(intervals=0, null=0)
    apart = [ze.evaluate(one, dev=other, options=options)["alid"].value for one, other in zip(here, dev, strict=True)]
    for found in (fuse(here, dev), fuse(here)):
        both = ze.evaluate(found.scores, dev=found.dev, options=options)["alid"].value
        assert both > max(apart) + 0.3


def test_systems_must_have_the_same_trials():
    with pytest.raises(UsageError, match="at least two systems"):
        fuse([matrix(0, 1.0)])
    with pytest.raises(UsageError, match="development scores of each of the 2"):
        fuse([matrix(0, 1.0)] * 2, [matrix(1, 1.0, "d")])
    with pytest.raises(InputError, match="systems 1 and 2 differ in 120 trial name"):
        fuse([matrix(0, 1.0), matrix(0, 1.0, "q")])
    with pytest.raises(InputError, match="do not form rows"):
        fuse([matrix(0, 1.0), ze.Scores([1.0], [0.0])])


def written(folder, name, data):
    lines = [
        f"{enrolment} {trial} {data.scores[i, j]}"
        for i, trial in enumerate(data.trials)
        for j, enrolment in enumerate(data.enrolments)
    ]
    (folder / name).write_text("\n".join(lines))
    return str(folder / name)


def test_files(tmp_path):
    here, dev = matrix(0, 1.5), matrix(2, 1.5, "d")
    keys = []
    for name, data in (("key", here), ("dev.key", dev)):
        lines = [
            f"{enrolment} {trial} {'target' if data.mated[i] == j else 'nontarget'}"
            for i, trial in enumerate(data.trials)
            for j, enrolment in enumerate(data.enrolments)
        ]
        (tmp_path / name).write_text("\n".join(lines))
        keys.append(str(tmp_path / name))
    systems = [written(tmp_path, "voice.scores", here), written(tmp_path, "rhythm.scores", matrix(1, 1.0))]
    others = [written(tmp_path, "v.dev", dev), written(tmp_path, "r.dev", matrix(3, 1.0, "d"))]
    files = score_files(systems, keys[:1], dev=others, dev_keys=keys[1:])
    row = evaluate_fused(files, options=ze.Options(intervals=0, null=0))
    assert row.labels["system"] == "voice + rhythm"
    (note,) = [one for one in row.flags if one.code == "fused"]
    assert "2 systems were added with weights that were fitted on development people: voice 0." in note.sentence
    expected = fuse([here, matrix(1, 1.0)], [dev, matrix(3, 1.0, "d")])
    alid = ze.evaluate(expected.scores, dev=expected.dev, intervals=0, null=0)["alid"].value
    assert row["alid"].value == pytest.approx(alid)
