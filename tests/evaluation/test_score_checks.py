"""Warnings where development people were searched in another way than the evaluated ones, and where not."""

import json
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri

import zeroevidence as ze
from tests.effort import repetitions
from tests.evaluation.made import named_search
from zeroevidence.calibrate.logistic import fit_logistic
from zeroevidence.data.formats.scores.read import read_scores
from zeroevidence.data.matrix import FoldedScores, ScoreMatrix
from zeroevidence.data.scores import Pairs, Scores
from zeroevidence.errors import InputError
from zeroevidence.evaluation import read_result
from zeroevidence.evaluation.results import from_json, to_json
from zeroevidence.evaluation.score_checks import development_flags, threshold
from zeroevidence.report.evaluations import threshold_sentence

QUICK = ze.Options(intervals=0, null=0)
CODES = {"development-size", "development-spread", "development-sex"}


def search(people, prefix, spread=1.0, trials=300):
    rng = np.random.default_rng(people)
    mated = np.arange(trials) % people
    names = np.array([f"{prefix}{number:03d}" for number in range(people)])
    # rows of the same deviation, whatever their level
    scores = rng.normal(size=(trials, people)) + 3.0 * np.eye(people)[mated]
    scores = spread * (scores - scores.mean(axis=1, keepdims=True)) / scores.std(axis=1, keepdims=True)
    return ze.ScoreMatrix(scores + rng.normal(0.0, 9.0, (trials, 1)), mated, None, names, names[mated], names)


def codes(row):
    return {flag.code for flag in row.flags} & CODES


@pytest.mark.parametrize(
    ("people", "spread", "expected"),
    [
        (20, 1.0, set()),
        (14, 1.0, set()),
        (13, 1.0, {"development-size"}),
        (30, 1.0, set()),
        (31, 1.0, {"development-size"}),
        (20, 1.49, set()),
        (20, 1.51, {"development-spread"}),
        (20, 0.67, set()),
        (20, 0.66, {"development-spread"}),
        (40, 3.0, {"development-size", "development-spread"}),
    ],
)
def test_searches_that_differ(people, spread, expected):
    evaluated, dev = search(20, "p"), search(people, "d", spread)
    assert {flag.code for flag in development_flags(evaluated, dev)} == expected
    assert codes(ze.evaluate(evaluated, dev=dev, options=QUICK)) == expected
    assert codes(ze.evaluate(evaluated, options=QUICK)) == set()


def test_many_trials_are_looked_at_in_part():
    assert development_flags(search(5, "p", trials=5000), search(5, "d", trials=40)) == []


ONLY_OF_LLRS = {"devpav", "elub_low", "elub_high"}


def drawn(seed, scale=0.1):
    rng = np.random.default_rng(seed)
    return Scores(rng.normal(0.5, scale, 200), rng.normal(0.2, scale, 400))


def named(seed, people):
    rng, ids = np.random.default_rng(seed), np.array([f"p{one}" for one in people])
    pairs = Pairs(np.arange(4), np.arange(4)), Pairs(np.arange(4), np.arange(4)[::-1].copy())
    return Scores(rng.normal(2.0, 1.0, 4), rng.normal(0.0, 1.0, 4), *pairs, ids, ids, ids, ids)


def calibrated_by_hand(case, dev):
    """LLRs of a logistic regression by Newton's method, in plain NumPy."""
    scores, y = (
        np.concatenate((dev.target, dev.nontarget)),
        np.repeat((1.0, 0.0), (len(dev.target), len(dev.nontarget))),
    )
    x, theta = np.column_stack(((scores - scores.mean()) / scores.std(), np.ones(len(scores)))), np.zeros(2)
    for _ in range(60):
        p = 1.0 / (1.0 + np.exp(-x @ theta))
        theta += np.linalg.solve((x.T * (p * (1.0 - p))) @ x, x.T @ (y - p))
    odds = theta[1] - np.log(len(dev.target) / len(dev.nontarget))
    return [theta[0] * (side - scores.mean()) / scores.std() + odds for side in (case.target, case.nontarget)]


def actual_by_hand(target, nontarget):
    """Cllr, the actual DCF at a prior of 0.05, and D_ECE over a fine grid of priors, from their definitions."""
    cllr = (np.logaddexp(0.0, -target).mean() + np.logaddexp(0.0, nontarget).mean()) / 2.0 / np.log(2.0)
    dcf = np.mean(target <= np.log(19.0)) + 19.0 * np.mean(nontarget > np.log(19.0))
    prior = (np.arange(4000) + 0.5) / 4000.0
    log_odds = np.log(prior / (1.0 - prior))[:, None]
    ece = prior * np.logaddexp(0.0, -target - log_odds).mean(axis=1)
    ece += (1.0 - prior) * np.logaddexp(0.0, nontarget + log_odds).mean(axis=1)
    default = -prior * np.log(prior) - (1.0 - prior) * np.log(1.0 - prior)
    return {"cllr": cllr, "dcf_act": dcf, "d_ece_actual": (default - ece).mean() / np.log(2.0)}


@pytest.mark.parametrize("given", [("dev",), ("calibrate",), ("dev", "calibrate"), ()])
def test_actual_measures_are_of_the_llrs_where_there_are_other_people(given):
    dev, case, plain = drawn(0), drawn(1), ze.evaluate(drawn(1), options=QUICK)
    others = {"dev": drawn(2) if len(given) == 2 else dev, "calibrate": dev}  # calibration scores come first
    row = ze.evaluate(case, **{name: others[name] for name in given}, options=QUICK)
    llrs = calibrated_by_hand(case, dev) if given else (case.target, case.nontarget)
    for name, value in actual_by_hand(*llrs).items():
        assert float(row[name]) == pytest.approx(value, abs=2e-6), name
        assert row[name].method.endswith("logistic on other people" if given else "scores as LLRs"), name
    assert set(row.metrics) & ONLY_OF_LLRS == (ONLY_OF_LLRS if given else set())
    for name in ("eer", "d_ece", "cllr_min", "linkability"):  # only the order counts
        assert row[name] == plain[name]
    assert ("|llr:logistic:dev|" in row.signature) == (given == ("dev",))
    assert ("|llr:logistic:sha256:" in row.signature) == ("calibrate" in given)


def test_actual_measures_of_published_scores(shared):
    home = shared / "scores" / "vpc2020"
    for folder, name, cllr in (("f0orig", "oo", 0.3614), ("f0orig_retrained", "aa", 0.4311), ("f0orig", "oa", 1.0081)):
        files = [(home / f"samegender_{folder}" / f"{name}_{sex}.scores", home / f"trials_{sex}") for sex in "fm"]
        case, dev = (read_scores(*file).data for file in files)
        row = ze.evaluate(case, dev=dev, options=QUICK)
        by_hand = actual_by_hand(*calibrated_by_hand(case, dev))
        for measure, value in by_hand.items():
            assert float(row[measure]) == pytest.approx(value, abs=2e-5), (name, measure)
        assert float(row["cllr"]) == pytest.approx(cllr, abs=5e-5)


def test_penalty_and_balance_of_the_calibration_are_in_the_signature():
    options = ze.Options(intervals=0, null=0, l2=3.0, balanced=True)
    row = ze.evaluate(drawn(1), dev=drawn(0), options=options)
    assert "|llr:logistic:dev|llr-l2:3|llr-balanced|" in row.signature
    dev = drawn(0)
    fit = fit_logistic(dev.target, dev.nontarget, l2=3.0, balanced=True)
    assert (*row.setup.llr.weights, *row.setup.llr.biases) == pytest.approx((fit.weight, fit.bias))


def test_people_are_left_out_of_the_llrs():
    """The interval of Cllr is that of LLRs, by leaving each person out on both sides by hand."""
    case, dev = decided_search(), ze.ScoreMatrix(decided_search().scores + 0.3, decided_search().mated)
    row = ze.evaluate(case, dev=dev, options=ze.Options(null=0, linkability="pav"))
    (weight,), (bias,), without = row.setup.llr.weights, row.setup.llr.biases, []
    llrs = weight * case.scores + bias
    for person in range(20):
        kept = case.mated != person
        rest, mated = (
            np.delete(llrs[kept], person, axis=1),
            np.delete(np.eye(20, dtype=bool)[case.mated[kept]], person, 1),
        )
        without.append(actual_by_hand(rest[mated], rest[~mated])["cllr"])
    assert row["cllr"].spread.error == pytest.approx(np.sqrt(19.0 * np.var(without)), rel=1e-6)


def test_folds_are_calibrated_one_by_one():
    folds = []
    for seed in range(2):
        names = [f"p{seed}{i}" for i in range(8)]
        mated = np.repeat(np.arange(8), 4)
        scores = np.random.default_rng(seed).normal(size=(32, 8)) + (1.0 + seed) * np.eye(8)[mated]
        trials = [f"{name}-{i}" for i, name in enumerate(np.array(names)[mated])]
        folds.append(ze.ScoreMatrix(scores, mated, trials, names, np.array(names)[mated], names))
    data = FoldedScores.from_folds(folds, folds[::-1])
    row = ze.evaluate(data, options=QUICK)
    llrs = [
        calibrated_by_hand(part.to_scores(), dev.to_scores()) for part, dev in zip(data.parts, data.dev, strict=True)
    ]
    for name, value in actual_by_hand(*map(np.concatenate, zip(*llrs, strict=True))).items():
        assert float(row[name]) == pytest.approx(value, abs=2e-5), name
    assert len(row.setup.llr.weights) == 2
    assert "|llr:logistic:dev|" in row.signature
    with pytest.raises(ze.UsageError, match="one by one"):
        threshold(row)


def test_development_people_who_are_told_apart_the_wrong_way_turn_the_llrs():
    dev, case = drawn(0), drawn(1)
    row = ze.evaluate(case, dev=Scores(dev.nontarget, dev.target), options=QUICK)
    assert row.setup.llr.weights[0] < 0.0
    assert float(row["cllr"]) > 1.0
    assert "llrs-turned" in {flag.code for flag in row.flags}
    assert "llrs-turned" not in {flag.code for flag in ze.evaluate(case, dev=dev, options=QUICK).flags}
    assert float(row["eer"]) == float(ze.evaluate(case, options=QUICK)["eer"])
    low = np.array(row.curves["tippett_nontarget"].x)
    assert (np.diff(low) > 0.0).all()


NO_LLRS = "scores-not-llrs"


@pytest.mark.parametrize(
    ("low", "high", "number", "why"),
    [
        (0.0, 1.0, 10, "all lie between 0 and 1"),
        (0.0, 1.0, 9, None),  # of so few LLRs none may be negative
        (-0.01, 1.0, 10, None),
        (0.0, 1.01, 10, "none is negative"),
        (3.0, 9.0, 10, "none is negative"),
        (0.5, 0.5, 10, None),  # which say nothing on any scale
        (-1.0, 0.0, 10, None),
    ],
)
def test_scores_of_one_side_are_no_llrs(low, high, number, why):
    case = np.linspace(low, high, 7), np.linspace(low, high, number)
    row = ze.evaluate(*case, options=QUICK)
    assert [why in flag.sentence for flag in row.flags if flag.code == NO_LLRS] == ([] if why is None else [True])
    for other in ({"dev": drawn(0)}, {"calibrate": drawn(0)}):  # then they are not taken as LLRs
        assert NO_LLRS not in {flag.code for flag in ze.evaluate(*case, **other, options=QUICK).flags}


@pytest.mark.parametrize(
    ("size", "large", "apart", "named"),
    [(10.0, 50, 0, True), (9.9, 50, 0, False), (10.0, 49, 0, False), (10.0, 50, 17, True), (10.0, 50, 18, False)],
)
def test_large_scores_that_tell_nothing_are_no_llrs(size, large, apart, named):
    nontarget = np.concatenate((np.full(large, -size), np.linspace(-1.0, 1.0, 100 - large)))
    row = ze.evaluate(np.where(np.arange(100) < apart, size, nontarget), nontarget, options=QUICK)
    assert (float(row["cllr_min"]) > 0.9) == (apart < 18)
    codes = {flag.code: flag.sentence for flag in row.flags}
    assert (NO_LLRS in codes) == named
    if named:
        assert f"at least 10 in size, and yet min Cllr is {float(row['cllr_min']):.2f} bits" in codes[NO_LLRS]


@pytest.mark.parametrize("strength", [0.01, 1.0, 30.0, 200.0])
def test_calibrated_llrs_are_llrs(strength):
    rng = np.random.default_rng(0)
    target, nontarget = (rng.normal(side * strength / 2.0, np.sqrt(strength), 2000) for side in (1.0, -1.0))
    assert NO_LLRS not in {flag.code for flag in ze.evaluate(target, nontarget, options=QUICK).flags}


def test_published_scores_that_are_no_llrs(shared, vectors):
    for name, (target, nontarget, _) in vectors.items():
        assert NO_LLRS not in {flag.code for flag in ze.evaluate(target, nontarget, options=QUICK).flags}, name
    cosines = shared / "scores" / "voxsrc2021_dev"
    row = ze.evaluate(read_scores(cosines / "scores.txt", cosines / "trials.txt"), options=QUICK)
    assert ["all lie between 0 and 1" in flag.sentence for flag in row.flags if flag.code == NO_LLRS] == [True]
    home = shared / "scores" / "vpc2020" / "samegender_f0orig"
    named = {}
    for name in ("oo_f", "oo_m", "aa_f", "aa_m", "oa_f", "oa_m"):
        row = ze.evaluate(read_scores(home / f"{name}.scores", home.parent / f"trials_{name[-1]}"), options=QUICK)
        named[name] = NO_LLRS in {flag.code for flag in row.flags}
    assert named == {"oo_f": False, "oo_m": False, "aa_f": False, "aa_m": True, "oa_f": True, "oa_m": True}


@pytest.mark.parametrize("given", ["dev", "calibrate"])
def test_curves_are_those_of_the_llrs(given):
    dev, case = drawn(0), drawn(1)
    row = ze.evaluate(case, **{given: dev}, options=QUICK)
    target, nontarget = calibrated_by_hand(case, dev)
    curve = row.curves["tippett_target"]
    assert curve.y == pytest.approx([np.mean(target / np.log(10.0) > x) for x in curve.x], abs=0.0051)
    assert min(row.curves["pav"].x) == min(case.target.min(), case.nontarget.min())
    profile = ze.ece_profile(target, nontarget).actual
    assert row.curves["ece_actual"].y == pytest.approx(profile, abs=1e-6)
    pytest.importorskip("matplotlib")
    assert ze.plot.tippett(row).get_xlabel() == "log10 LR"
    assert ze.plot.tippett(ze.evaluate(case, options=QUICK)).get_xlabel() == "log10 LR after PAV"


def test_the_signature_says_so_and_files_keep_it(tmp_path):
    row = ze.evaluate(drawn(1), calibrate=drawn(0), options=QUICK)
    assert f"|llr:logistic:sha256:{row.setup.llr.data[:16]}|" in row.signature
    other = ze.evaluate(drawn(1), calibrate=drawn(2), options=QUICK)
    assert other.setup.llr.data != row.setup.llr.data
    row.save(tmp_path / "row.json")
    assert read_result(tmp_path / "row.json") == row


RANKED = ("eer", "eer_rocch", "d_ece", "cllr_min", "top1", "link_probability", "singling_out", "mean_rank_disclosure")


def calibrated_search(rng, people, trials, *, high=0):
    """A search whose scores are whole numbers: no increasing map of these makes two of them equal."""
    mated = rng.permutation(np.arange(trials) % people)
    return ScoreMatrix(rng.integers(-50, 50, (trials, people)) + high * np.eye(people, dtype=int)[mated], mated)


@given(st.integers(0, 2**32 - 1), st.integers(2, 9), st.integers(2, 9), st.floats(0.05, 20.0), st.floats(-30.0, 30.0))
@settings(max_examples=repetitions(5, 60))
def test_an_increasing_calibration_changes_no_search(seed, people, dev_people, scale, shift):
    rng = np.random.default_rng(seed)
    case, dev = calibrated_search(rng, people, 24, high=60), calibrated_search(rng, dev_people, 20, high=60)
    others = Scores(*(scale * rng.normal(mean, 1.0, 99) + shift for mean in (2.0, 0.0)))
    rows = [ze.evaluate(case, dev=dev, calibrate=calibrate, options=QUICK) for calibrate in (None, dev, others)]
    for row in rows[1:]:
        for name in RANKED:
            assert float(row[name]) == pytest.approx(float(rows[0][name]), abs=1e-12), name
        assert row.curves["singling_out_over_identities"] == rows[0].curves["singling_out_over_identities"]
        assert row.trials.lid == pytest.approx(rows[0].trials.lid, abs=1e-9)


def test_people_must_be_others():
    with pytest.raises(InputError, match="share 1 speaker"):
        ze.evaluate(named(0, range(4)), calibrate=named(1, range(3, 7)), options=QUICK)
    codes = {one.code for one in ze.evaluate(named(0, range(4)), calibrate=named(1, range(4, 8)), options=QUICK).flags}
    assert "overlap-unchecked" not in codes
    assert "overlap-unchecked" in {one.code for one in ze.evaluate(drawn(1), calibrate=drawn(0), options=QUICK).flags}


RNG = np.random.default_rng(0)
TARGET, NONTARGET = RNG.normal(2.0, 2.0, 4000), RNG.normal(-2.0, 2.0, 4000)  # LLRs: variance is twice the mean


def decided_search(people=20, each=5):
    mated = np.repeat(np.arange(people), each)
    scores = np.random.default_rng(1).normal(size=(len(mated), people)) + 2.0 * np.eye(people)[mated]
    return named_search(scores, mated)


@pytest.mark.parametrize(("prior", "c_miss", "c_fa"), [(0.5, 1.0, 1.0), (0.1, 1.0, 1.0), (0.5, 10.0, 1.0)])
def test_of_llrs_it_is_that_of_bayes(prior, c_miss, c_fa):
    expected = np.log((1.0 - prior) * c_fa / (prior * c_miss))
    given = threshold(ze.Scores(TARGET, NONTARGET), prior=prior, c_miss=c_miss, c_fa=c_fa, llr="ln")
    assert given.score == given.llr == pytest.approx(expected)
    fitted = threshold(TARGET, NONTARGET, prior=prior, c_miss=c_miss, c_fa=c_fa)
    assert fitted.score == pytest.approx(expected, abs=0.15)
    assert fitted.miss.value == np.mean(fitted.score > TARGET)
    assert fitted.false_alarm.value == np.mean(fitted.score <= NONTARGET)
    blind = min(prior * c_miss, (1.0 - prior) * c_fa)
    cost = prior * c_miss * fitted.miss.value + (1.0 - prior) * c_fa * fitted.false_alarm.value
    assert fitted.dcf == pytest.approx(cost / blind)
    assert ze.dcf_min(TARGET, NONTARGET, prior=prior, c_miss=c_miss, c_fa=c_fa) <= fitted.dcf + 1e-12


def test_other_scores_may_calibrate():
    shifted = ze.Scores(TARGET + 1.0, NONTARGET + 1.0)
    given = threshold(TARGET, NONTARGET, calibrate=shifted)
    assert given.score == pytest.approx(threshold(TARGET, NONTARGET).score + 1.0)
    assert given.fitted_on == "other people"
    assert "calibrated on other people" in threshold_sentence(given)
    assert "calibrated on these scores themselves" in threshold_sentence(threshold(TARGET, NONTARGET))


WRITTEN = {  # how scores are written in a file: name of the column, number, options
    "plain": ("score", lambda x: x, ()),
    "negated": ("score", lambda x: -x, ("--negate",)),
    "log10": ("log10_lr", lambda x: x / np.log(10.0), ()),
    "ratios": ("LR", np.exp, ()),
    "named ratios": ("x_score", np.exp, ("--llr", "lr")),
}


def written(path, data, way):
    """Write scores as a table, and return what it has of targets and of non-targets."""
    column, number, _ = WRITTEN[way]
    target, nontarget = (number(side).tolist() for side in (data.target, data.nontarget))
    rows = [*(f"{score!r},SS" for score in target), *(f"{score!r},DS" for score in nontarget)]
    path.write_text("\n".join([f"{column},label", *rows]))
    return np.array(target), np.array(nontarget)


@pytest.mark.parametrize("other", [None, "--dev", "--calibrate"])
@pytest.mark.parametrize("way", WRITTEN)
def test_the_printed_threshold_applied_to_the_file_gives_the_printed_rates(way, other, run, tmp_path):
    target, nontarget = written(tmp_path / "case.csv", drawn(1, 0.2), way)
    written(tmp_path / "other.csv", drawn(0, 0.2), way)
    arguments = [tmp_path / "case.csv", *([other, tmp_path / "other.csv"] if other else []), *WRITTEN[way][2]]
    arguments += ["--threshold", "--intervals", "0", "--null", "0"]
    shown = [run("evaluate", *arguments, "-f", form)[1] for form in ("text", "json")]
    (row,) = from_json(shown[1])
    sentence = " ".join(shown[0].split())
    at = float(re.search(r"accept scores (?:from|up to) (\S+?)(?: on)?,", sentence)[1])
    assert ("accept scores up to" in sentence) == row.threshold.up_to == (way == "negated")
    sign = -1.0 if row.threshold.up_to else 1.0
    miss, alarm = np.mean(sign * target < sign * at), np.mean(sign * nontarget >= sign * at)
    assert f"misses {100 * miss:.3g} %, false alarms {100 * alarm:.3g} %" in sentence
    assert (row.threshold.miss.value, row.threshold.false_alarm.value) == (miss, alarm)
    assert row.threshold.score == pytest.approx(at, rel=1e-5)
    assert row.threshold.llr == pytest.approx(np.log(19.0))
    ratios = way not in ("plain", "negated")
    given = ratios and other != "--calibrate"
    assert row.threshold.fitted_on == ("nothing" if given else "these scores" if other is None else "other people")
    if given:
        assert row.threshold.score == pytest.approx(WRITTEN[way][1](np.log(19.0)))
    if given or other is not None:
        assert row.threshold.dcf == pytest.approx(float(row["dcf_act"]))
    assert ("devpav" in row) == (given or other is not None)


def test_a_threshold_needs_scores(tmp_path):
    row = ze.evaluate(drawn(1), options=QUICK)
    row.save(tmp_path / "row.json")
    with pytest.raises(ze.UsageError, match="not kept"):
        threshold(read_result(tmp_path / "row.json"))


LLRS = [mean + np.sqrt(2.0) * ndtri((np.arange(300) + 0.5) / 300) for mean in (1.0, -1.0)]  # calibrated by construction


def test_ratios_that_nobody_calls_so_are_suspected():
    """Cllr by an integral over the normal densities of the LLRs, and of the ratios taken as LLRs."""

    def cost(scale):
        x = np.linspace(-16.0, 16.0, 200_001)
        softplus = lambda y: np.logaddexp(0.0, y) / np.log(2.0)  # noqa: E731
        density = lambda mean: np.exp(-((x - mean) ** 2) / 4.0) / np.sqrt(4.0 * np.pi)  # noqa: E731
        loss = density(1.0) * softplus(-scale(x)) + density(-1.0) * softplus(scale(x))
        return float(0.5 * loss.sum() * (x[1] - x[0]))

    llrs = [mean + np.sqrt(2.0) * ndtri((np.arange(9000) + 0.5) / 9000) for mean in (1.0, -1.0)]
    ratios = ze.evaluate(*np.exp(llrs), options=QUICK)
    (suspicion,) = [flag.sentence for flag in ratios.flags if flag.code == "lrs-suspected"]
    assert NO_LLRS not in {flag.code for flag in ratios.flags}
    assert float(ratios["cllr"]) == pytest.approx(cost(np.exp), abs=0.005)
    read = ze.evaluate(*np.exp(llrs), llr="lr", options=QUICK)
    assert float(read["cllr"]) == pytest.approx(cost(lambda x: x), abs=0.0005)
    assert f"they would cost {float(read['cllr']):.2f} bits instead of {float(ratios['cllr']):.2f} (Cllr)" in suspicion
    low, middle, high = np.quantile(np.exp(llrs[1]), (0.25, 0.5, 0.75))
    assert f"skewness between quartiles {(high + low - 2.0 * middle) / (high - low):.2f}," in suspicion


@pytest.mark.parametrize(
    ("scores", "suspected"),
    [
        (np.exp(LLRS), True),
        (np.exp([llrs / 1.8 for llrs in LLRS]), True),
        (np.exp([llrs / 2.0 for llrs in LLRS]), False),  # hardly lean to one side
        (np.add(LLRS, 7.0), False),  # positive, but symmetric
        (LLRS, False),
        (np.exp(LLRS) / np.exp(LLRS).max(), False),  # none above 1
        (np.exp([llrs[:9] for llrs in LLRS]), False),  # too few to tell
        (np.exp([-llrs for llrs in LLRS]), False),  # of the other hypothesis: worse than no evidence
    ],
)
def test_other_scores_are_not_taken_for_ratios(scores, suspected):
    assert ("lrs-suspected" in {flag.code for flag in ze.evaluate(*scores, options=QUICK).flags}) == suspected


@pytest.mark.parametrize("unit", ["ln", "log10", "log2", "lr"])
def test_llrs_of_every_unit_are_measured_alike(unit):
    base = {"ln": 1.0, "log10": np.log(10.0), "log2": np.log(2.0)}
    scores = np.exp(LLRS) if unit == "lr" else np.divide(LLRS, base[unit])
    row, natural = (ze.evaluate(*given, llr=name, options=QUICK) for given, name in ((scores, unit), (LLRS, "ln")))
    for name in ("cllr", "devpav", "elub_low", "elub_high", "invariance_low", "invariance_high", "llr_overestimation"):
        assert float(row[name]) == pytest.approx(float(natural[name]), abs=1e-9), name
    assert row["cllr"].method == "LLRs as given"
    assert not {"scores-not-llrs", "llr-base-suspected", "lrs-suspected"} & {flag.code for flag in row.flags}
    assert f"|llr-unit:{unit}:600|" in row.signature
    assert "devpav" not in ze.evaluate(*LLRS, options=QUICK)


def test_units_belong_together(tmp_path):
    written(tmp_path / "a.csv", drawn(1), "ratios")
    written(tmp_path / "b.csv", drawn(0), "plain")
    ratios, plain = read_scores(tmp_path / "a.csv"), read_scores(tmp_path / "b.csv")
    with pytest.raises(InputError, match="some of these scores are likelihood ratios"):
        ze.evaluate(ratios, calibrate=plain, options=QUICK)
    with pytest.raises(ze.UsageError, match="read as likelihood ratios already"):
        ze.evaluate(ratios, llr="log10", options=QUICK)
    with pytest.raises(InputError, match=r"likelihood ratio -1; expected a likelihood ratio from 0 on"):
        ze.evaluate([2.0, 3.0], [0.5, -1.0], llr="lr", options=QUICK)
    calibrated = ze.evaluate(ratios, calibrate=ratios, options=QUICK)
    assert calibrated["cllr"].method == "logistic on other people"


def test_rates_have_intervals_where_ten_people_are_known():
    given = threshold(decided_search(), prior=0.5)
    for rate in (given.miss, given.false_alarm):
        assert 0.0 <= rate.low <= rate.value <= rate.high <= 1.0
    assert given.miss.high - given.miss.low < 0.5
    wide = threshold(decided_search(), prior=0.5, run=ze.Run(level=0.99))
    assert wide.miss.high >= given.miss.high
    for unknown in (threshold(decided_search(9), prior=0.5), threshold(TARGET, NONTARGET)):
        assert unknown.miss.low is None
        assert "whose intervals need ten known speakers" in threshold_sentence(unknown)


@pytest.mark.parametrize("wrong", [{"prior": 0.0}, {"prior": 1.0}, {"c_miss": 0.0}, {"c_fa": -1.0}])
def test_impossible_costs_are_refused(wrong):
    with pytest.raises(ze.UsageError, match="expected a prior between 0 and 1 and positive costs"):
        threshold(TARGET, NONTARGET, **wrong)


def test_scores_that_point_the_wrong_way_are_refused():
    turned = Scores(NONTARGET, TARGET)
    for wrong in (threshold, lambda scores: ze.evaluate(drawn(1), calibrate=scores, options=QUICK)):
        with pytest.raises(InputError, match="scores of the same speaker are no higher"):
            wrong(turned)
    with pytest.raises(ze.InputError, match="expected nontarget scores beside the target scores"):
        threshold(TARGET)


def test_half_total_error_is_of_a_threshold_that_others_chose():
    other = ze.Scores(TARGET[::2], NONTARGET[::2])
    chosen = threshold(TARGET[1::2], NONTARGET[1::2], prior=0.5, calibrate=other)
    wrong = (np.asarray(TARGET[1::2]) < chosen.score).mean(), (np.asarray(NONTARGET[1::2]) >= chosen.score).mean()
    assert chosen.hter == pytest.approx(sum(wrong) / 2)
    assert f"; HTER {100 * chosen.hter:.3g} %; calibrated on other people." in threshold_sentence(chosen)
    same = threshold(TARGET, NONTARGET, prior=0.5)
    assert same.hter is None
    assert "HTER" not in threshold_sentence(same)


def bob_threshold(negatives, positives, criterion):
    """The definition of bob.measure: every midpoint between neighbouring scores, the last of the best ones."""
    scores = np.unique(np.concatenate((negatives, positives)))
    levels = [scores[0], *((scores[1:] + scores[:-1]) / 2), np.nextafter(scores[-1], np.inf)]
    rates = [((negatives >= level).mean(), (positives < level).mean()) for level in levels]
    costs = [round(abs(far - frr) if criterion == "eer" else far + frr, 12) for far, frr in rates]
    return levels[max(i for i, cost in enumerate(costs) if cost == min(costs))]


@pytest.mark.parametrize("criterion", ["eer", "min-hter"])
def test_thresholds_and_half_total_error_are_those_of_bob(criterion, run, tmp_path):
    rng = np.random.default_rng(11)
    sets = {name: (rng.normal(1.0, 1.0, 90).round(1), rng.normal(-1.0, 1.0, 110).round(1)) for name in ("dev", "eval")}
    for name, (positives, negatives) in sets.items():
        lines = [f"1 {score}" for score in positives] + [f"-1 {score}" for score in negatives]
        (tmp_path / name).write_text("\n".join(lines))
    expected = bob_threshold(*reversed(sets["dev"]), criterion)
    positives, negatives = sets["eval"]
    hter = ((negatives >= expected).mean() + (positives < expected).mean()) / 2
    common = ["evaluate", tmp_path / "eval", "--threshold", criterion, "--intervals", "0", "--null", "0"]
    _, document, _ = run(*common, "--dev", tmp_path / "dev", "-f", "json")
    kept = json.loads(document)["rows"][0]["threshold"]
    assert (kept["score"], kept["hter"]) == pytest.approx((expected, hter))
    assert (kept["criterion"], kept["fitted_on"]) == (criterion, "other people")
    row = ze.evaluate(ze.Scores(*sets["eval"]), dev=ze.Scores(*sets["dev"]), options=QUICK)
    assert threshold(row, criterion=criterion).score == pytest.approx(expected)
    _, text, _ = run(*common)
    place = "both error rates are closest" if criterion == "eer" else "the mean of both error rates is lowest"
    assert f"Threshold (where {place}; prior" in " ".join(text.split())
    assert "chosen on these scores themselves" in " ".join(text.split())
    code, _, errors = run("evaluate", "--threshold", tmp_path / "eval")
    assert code == 2
    assert "is not one of 'bayes', 'eer', 'min-hter'" in errors


def test_the_command_prints_and_keeps_it(run, tmp_path):
    lines = [f"{score} 1" for score in TARGET[:60]] + [f"{score} 0" for score in NONTARGET[:60]]
    (tmp_path / "a.txt").write_text("\n".join(lines))
    common = ["evaluate", tmp_path / "a.txt", "--intervals", "0", "--null", "0"]
    options = ["--threshold", "--dcf-prior", "0.2", "--c-miss", "2"]
    expected = threshold(TARGET[:60], NONTARGET[:60], prior=0.2, c_miss=2.0)
    (code, text, _), (_, document, _) = (run(*common, *options, *form) for form in ((), ("-f", "json")))
    shown = " ".join(text.split())
    assert code == 0
    assert "Threshold (prior 0.2, cost of a miss 2, of a false alarm 1): accept scores from " in shown
    assert f"accept scores from {expected.score:.6g} on" in shown
    assert json.loads(document)["rows"][0]["threshold"]["score"] == pytest.approx(expected.score)
    (row,) = from_json(document)
    assert from_json(to_json([row]))[0].threshold == row.threshold
    assert "Threshold (" not in run(*common)[1]
