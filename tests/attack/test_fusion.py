"""Scores of several systems as those of one attacker."""

from dataclasses import replace

import numpy as np
import pytest

import zeroevidence as ze
from zeroevidence.attack.fusion import evaluate_fused, fit_weights, fuse
from zeroevidence.data.formats.scores.read import read_scores
from zeroevidence.errors import InputError, UsageError
from zeroevidence.evaluation.score_files import ScorePaths, score_files


def matrix(seed, gap, prefix="p", order=None):
    rng = np.random.default_rng(seed)
    mated = np.repeat(np.arange(12), 5)
    scores = rng.normal(size=(60, 12)) + gap * np.eye(12)[mated]
    names = np.array([f"{prefix}{i:02d}" for i in range(12)])
    trials = np.array([f"{prefix}t{i:02d}" for i in range(60)])
    order = np.arange(60) if order is None else order
    return ze.ScoreMatrix(scores[order], mated[order], trials[order], names, names[mated][order], names)


QUICK = ze.Options(intervals=0, null=0)


def scaled(scores, like):
    return (scores - like.mean()) / like.std()


def test_a_weighted_sum_of_scores_on_one_scale_whatever_the_order():
    shuffled = np.random.default_rng(5).permutation(60)
    here = [matrix(0, 2.0), matrix(1, 1.0, order=shuffled)]
    dev = [matrix(2, 2.0, "d"), matrix(3, 1.0, "d")]
    found = fuse(here, dev)
    x = np.stack([scaled(one.scores, one.scores) for one in dev], axis=-1)
    mated = np.eye(12, dtype=bool)[dev[0].mated]
    weights = fit_weights(x[mated], x[~mated], balanced=False, penalty=0.0)
    parts = zip(weights, (here[0], matrix(1, 1.0)), dev, strict=True)
    by_hand = sum(weight * scaled(one.scores, other.scores) for weight, one, other in parts)
    assert found.scores.scores == pytest.approx(by_hand)
    assert found.weights == pytest.approx(weights)
    assert found.weights[0] > found.weights[1] > 0.0
    assert fit_weights(np.zeros((5, 2)), np.ones((9, 2))).tolist() == [0.5, 0.5]  # both point the wrong way


def with_strangers(seed, prefix):
    """A search of people who are enrolled, and of others; trials differ in level and spread."""
    data, rng = matrix(seed, 1.5, prefix), np.random.default_rng(seed + 100)
    level, spread = rng.normal(0.0, 3.0, (60, 1)), rng.uniform(0.5, 2.0, (60, 1))
    return replace(data.with_scores(level + spread * data.scores), mated=np.where(data.mated < 9, data.mated, -1))


@pytest.mark.parametrize("copies", [2, 3])
@pytest.mark.parametrize("form", ["matrix", "list"])
@pytest.mark.parametrize("developed", [True, False])
def test_a_system_that_is_fused_with_itself_stays_what_it_is(copies, form, developed):
    here, dev = with_strangers(0, "p"), with_strangers(2, "d")
    if form == "list":
        here, dev = here.to_scores(), dev.to_scores()
    found = fuse([here] * copies, [dev] * copies if developed else (), [dev] * copies)
    assert found.weights == pytest.approx([1.0 / copies] * copies)
    alone = ze.evaluate(here, dev=dev if developed else None, calibrate=dev, options=QUICK)
    fused = ze.evaluate(found.scores, dev=found.dev, calibrate=found.calibrate, options=QUICK)
    assert fused.counts == alone.counts
    assert alone.counts["not_enrolled"] == 15
    values = {name: result.value for name, result in alone.metrics.items() if isinstance(result.value, float)}
    assert {name: fused[name].value for name in values} == pytest.approx(values, abs=1e-5)


def test_published_systems_are_fused_on_the_footing_of_single_ones(shared):
    home = shared / "scores" / "vpc2020"

    def read(set_up, sex):
        return read_scores(home / set_up / f"aa_{sex}.scores", home / f"trials_{sex}").data

    names = ("samegender_f0orig", "samegender_f0mod")
    found = fuse([read(name, "f") for name in names], [read(name, "m") for name in names])
    fused = ze.evaluate(found.scores, dev=found.dev, options=QUICK)
    first = ze.evaluate(read(names[0], "f"), dev=read(names[0], "m"), options=QUICK)
    assert float(first["eer"]) == pytest.approx(0.312, abs=5e-4)
    # the second system gets no weight; standardised rows would have an EER of 0.237
    assert found.weights == pytest.approx((1.0, 0.0))
    assert float(fused["eer"]) == pytest.approx(float(first["eer"]))


@pytest.mark.parametrize(("developed", "calibrated"), [(True, False), (True, True), (False, False)])
def test_fused_scores_are_calibrated_where_there_are_other_people(shared, developed, calibrated):
    home = shared / "scores" / "vpc2020"
    folders = [home / name for name in ("samegender_f0orig", "samegender_f0orig_retrained")]
    systems, others = ([str(folder / f"aa_{sex}.scores") for folder in folders] for sex in "fm")
    paths = ScorePaths(systems, [str(home / "trials_f")])
    if developed:
        paths = replace(paths, dev=others, dev_keys=[str(home / "trials_m")])
    if calibrated:
        paths = replace(paths, calibrate=others, calibrate_keys=[str(home / "trials_m")])
    row = evaluate_fused(score_files(paths), options=QUICK)
    codes = {flag.code for flag in row.flags}
    if not developed:
        assert row.setup.llr is None
        assert "scores-not-llrs" in codes  # sums of standardised scores
        return
    assert "scores-not-llrs" not in codes
    assert "|llr:logistic:sha256:" in row.signature
    # plain logistic fusion by Newton's method
    (target, nontarget), (dev_target, dev_nontarget) = (
        [
            np.column_stack([getattr(read_scores(path, home / f"trials_{sex}").data, side) for path in names])
            for side in ("target", "nontarget")
        ]
        for names, sex in ((systems, "f"), (others, "m"))
    )
    both = np.concatenate((dev_target, dev_nontarget)) / 100.0
    x = np.column_stack((both, np.ones(len(both))))
    y, w = np.repeat((1.0, 0.0), (len(dev_target), len(dev_nontarget))), np.zeros(3)
    for _ in range(40):
        p = 1.0 / (1.0 + np.exp(-x @ w))
        w += np.linalg.solve((x.T * (p * (1.0 - p))) @ x, x.T @ (y - p))
    llrs = [scores / 100.0 @ w[:2] + w[2] - np.log(y.sum() / (1.0 - y).sum()) for scores in (target, nontarget)]
    cllr = (np.log2(1.0 + np.exp(-llrs[0])).mean() + np.log2(1.0 + np.exp(llrs[1])).mean()) / 2.0
    assert cllr == pytest.approx(0.4303, abs=5e-5)
    assert row["cllr"].value == pytest.approx(cllr, abs=1e-5)


def test_two_attackers_learn_more_than_either():
    here = [matrix(seed, 1.5) for seed in (0, 1)]
    dev = [matrix(seed, 1.5, "d") for seed in (2, 3)]
    apart = [ze.evaluate(one, dev=other, options=QUICK)["alid"].value for one, other in zip(here, dev, strict=True)]
    for found in (fuse(here, dev), fuse(here)):
        both = ze.evaluate(found.scores, dev=found.dev, options=QUICK)["alid"].value
        assert both > max(apart) + 0.3


def test_systems_must_have_the_same_trials():
    with pytest.raises(UsageError, match="at least two systems"):
        fuse([matrix(0, 1.0)])
    with pytest.raises(UsageError, match="development scores of each of the 2"):
        fuse([matrix(0, 1.0)] * 2, [matrix(1, 1.0, "d")])
    with pytest.raises(InputError, match="of scores of system 1 are not target trials of scores of system 2"):
        fuse([matrix(0, 1.0), matrix(0, 1.0, "q")])
    with pytest.raises(InputError, match="system 2: nobody said who was compared with whom"):
        fuse([matrix(0, 1.0), ze.Scores([1.0], [0.0])])
    data = matrix(0, 1.0)
    infinite = data.with_scores(np.where(data.scores == data.scores.max(), np.inf, data.scores))
    with pytest.raises(InputError, match="fusion needs finite scores"):
        fuse([data, infinite])


def written(folder, name, data, values):
    """Write a line with one of the values for each trial of a matrix, and return the path."""
    pairs = [(i, j) for i in range(len(data.trials)) for j in range(len(data.enrolments))]
    lines = [f"{data.enrolments[j]} {data.trials[i]} {values[i, j]}" for i, j in pairs]
    (folder / name).write_text("\n".join(lines))
    return str(folder / name)


def test_files(tmp_path):
    sets = {"voice": matrix(0, 1.5), "v": matrix(2, 1.5, "d"), "rhythm": matrix(1, 1.0), "r": matrix(3, 1.0, "d")}
    here, dev, *_ = sets.values()
    keys = []
    for name, data in (("key", here), ("dev.key", dev)):
        labels = np.where(np.eye(12, dtype=bool)[data.mated], "target", "nontarget")
        keys.append(written(tmp_path, name, data, labels))
    files = [written(tmp_path, f"{name}.scores", data, data.scores) for name, data in sets.items()]
    systems, others = files[::2], files[1::2]
    files = score_files(ScorePaths(systems, keys[:1], dev=others, dev_keys=keys[1:]))
    row = evaluate_fused(files, options=QUICK)
    assert row.labels["system"] == "voice + rhythm"
    (note,) = [one for one in row.flags if one.code == "fused"]
    assert "fitted on development people: voice 0." in note.sentence
    expected = fuse([here, sets["rhythm"]], [dev, sets["r"]])
    alid = ze.evaluate(expected.scores, dev=expected.dev, options=QUICK)["alid"].value
    assert row["alid"].value == pytest.approx(alid)
