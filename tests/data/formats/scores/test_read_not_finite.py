"""Scores that are NaN or infinite: refused with the option that counts or takes them, and what these options do."""

import numpy as np
import polars as pl
import pytest

import zeroevidence as ze
from tests.fuzz import oracle
from zeroevidence.data.formats.scores.read import diagnose, diagnose_lists, read_score_lists, read_scores
from zeroevidence.data.formats.scores.score_format import ReadingOptions
from zeroevidence.data.loaded_scores import RelaxedRule
from zeroevidence.errors import InputError
from zeroevidence.evaluation.score_checks import threshold
from zeroevidence.report.evaluations import threshold_sentence

FTA = ReadingOptions(failures="fta")
QUICK = ze.Options(intervals=0, null=0)
PEOPLE, RECORDINGS = 4, 3
SAME = np.repeat(np.eye(PEOPLE, dtype=bool), RECORDINGS, axis=0)  # trials x identities
SCORES = np.random.default_rng(5).normal(SAME * 2.0, 1.0).round(3)
SCORES[1, 0] = SCORES[4, :] = np.nan  # one target alone, and a recording that failed altogether
NAMES = [(f"p{m}", f"p{t // RECORDINGS}-{t % RECORDINGS}") for t in range(len(SAME)) for m in range(PEOPLE)]
KEPT = ~np.isnan(SCORES)
RULES = {RelaxedRule("failures", 2, how="target"), RelaxedRule("failures", 3, how="nontarget")}


def saved(folder, form, table=SCORES):
    path, scores, same = folder / "scores", table.ravel(), SAME.ravel()
    enrol, trial = zip(*NAMES, strict=True)
    if form in ("text", "sre"):
        rows = zip(enrol, trial, scores, np.where(same, "target", "nontarget"), strict=True)
        lines = ["modelid segmentid LLR targettype"] * (form == "sre")
        lines += [f"{m} {t} {'NaN' if s != s else s} {y}" for m, t, s, y in rows]
        path.write_text("\n".join(lines))
    elif form == "csv":
        pl.DataFrame({"enrol": enrol, "trial": trial, "score": scores, "label": same.astype(int)}).write_csv(path)
    elif form == "parquet":
        held = pl.Series(scores).fill_nan(None)  # as pandas writes NaN
        pl.DataFrame({"enrol": enrol, "trial": trial, "score": held, "label": same}).write_parquet(path)
    elif form in ("npz", "matrix"):
        arrays = {"scores": scores, "labels": same.astype(int), "enrolments": enrol, "trials": trial}
        if form == "matrix":
            arrays = {"scores": table, "mated": SAME.argmax(1), "trials": trial[::PEOPLE], "enrolments": enrol[:PEOPLE]}
        with path.open("wb") as stream:
            np.savez(stream, **arrays)
    return path


def hdf5(folder):
    h5py = pytest.importorskip("h5py")
    models, tests = [f"p{m}" for m in range(PEOPLE)], [trial for _, trial in NAMES[::PEOPLE]]
    for name, arrays in (("scores", {"score_mat": SCORES.T}), ("key", {"tar_mask": SAME.T, "non_mask": ~SAME.T})):
        with h5py.File(folder / name, "w") as file:
            file["model_names"], file["test_names"] = models, tests
            for array, values in arrays.items():
                file[array] = values
    return folder / "scores", folder / "key"


@pytest.mark.parametrize("form", ["text", "csv", "parquet", "npz", "matrix", "hdf5"])
def test_failures_in_every_kind_of_file(tmp_path, form):
    path, key = hdf5(tmp_path) if form == "hdf5" else (saved(tmp_path, form), None)
    problems = diagnose(path, key)
    assert len(problems) == (1 if form == "matrix" else 5)
    assert all(problem.reason.endswith("(--failures fta counts NaN as failures to acquire)") for problem in problems)
    loaded = read_scores(path, key, FTA)
    assert sorted(loaded.data.target) == sorted(SCORES[SAME & KEPT])
    assert sorted(loaded.data.nontarget) == sorted(SCORES[~SAME & KEPT])
    assert set(loaded.relaxed) == RULES
    assert "p1-1" not in loaded.data.trials  # the recording that failed
    row = ze.evaluate(loaded, options=QUICK)
    assert float(row["eer"]) == pytest.approx(oracle.eer(SCORES[SAME & KEPT], SCORES[~SAME & KEPT]))
    assert row.counts["failures"] == 5
    assert "|failures:target:2|failures:nontarget:3|" in row.signature
    assert [flag.sentence[:8] for flag in row.flags if flag.code == "failures"] == ["2 target", "3 nontar"]


def test_failures_in_lists(tmp_path):
    lists = [tmp_path / name for name in ("targets", "nontargets")]
    for path, mask in zip(lists, (SAME, ~SAME), strict=True):
        np.savetxt(path, SCORES[mask])
    assert len(diagnose_lists(*lists)) == 5
    loaded = read_score_lists(*lists, FTA)
    assert set(loaded.relaxed) == RULES
    assert sorted(loaded.data.target) == sorted(SCORES[SAME & KEPT])
    np.savetxt(lists[0], np.full(3, np.nan))
    with pytest.raises(InputError, match="all 3 target scores are failures to acquire; expected some that are not"):
        read_score_lists(*lists, FTA)


def test_failures_are_rejections_in_far_and_frr(tmp_path):
    row = ze.evaluate(read_scores(saved(tmp_path, "text"), options=FTA), options=QUICK)
    chosen = threshold(row, criterion="eer")
    fmr, fnmr = (SCORES[~SAME & KEPT] >= chosen.score).mean(), (SCORES[SAME & KEPT] < chosen.score).mean()
    fta = 5 / SCORES.size
    assert (chosen.false_alarm.value, chosen.miss.value, chosen.fta) == pytest.approx((fmr, fnmr, fta))
    assert (chosen.far, chosen.frr) == pytest.approx((fmr * (1 - fta), fta + fnmr * (1 - fta)))
    shown = f"with failures to acquire (FTA {100 * fta:.3g} %) as rejections FAR {100 * chosen.far:.3g} %, FRR"
    assert shown in threshold_sentence(chosen)
    without = threshold(SCORES[SAME & KEPT], SCORES[~SAME & KEPT], criterion="eer")
    assert (without.fta, without.far, without.frr) == (None, None, None)
    assert "failures" not in threshold_sentence(without)
    assert without.score == chosen.score


@pytest.mark.parametrize(
    ("misses", "false_alarms", "printed"),
    [((28, 451), (31, 495), (6.263, 6.208, 5.924, 11.273)), ((29, 473), (27, 479), (5.637, 6.131, 5.366, 10.637))],
)
def test_rates_that_bob_prints_of_its_own_scores(tmp_path, misses, false_alarms, printed):
    """Counts and rates of dev-1.txt and test-1.txt of bob.measure, 1000 lines each, as its test_m2.txt has them."""
    scores = ["1 -2.5"] * misses[0] + ["1 2.5"] * (misses[1] - misses[0])
    scores += ["-1 2.5"] * false_alarms[0] + ["-1 -2.5"] * (false_alarms[1] - false_alarms[0])
    (tmp_path / "s").write_text("\n".join(scores + ["1 nan", "-1 nan"] * ((1000 - len(scores)) // 2)))
    chosen = threshold(ze.evaluate(read_scores(tmp_path / "s", options=FTA), options=QUICK), criterion="eer")
    rates = chosen.false_alarm.value, chosen.miss.value, chosen.far, chosen.frr
    assert [round(100 * rate, 3) for rate in rates] == list(printed)


LINES = "a u1 inf target\na u2 -1 nontarget\nb u1 -Infinity nontarget\nb u2 2 target\nb u3 x target\n"
ADVICE = "expected a finite number (--infinite accept takes infinite ones)"


@pytest.mark.parametrize("form", ["text", "sre", "csv", "parquet", "npz"])
def test_infinite_scores_in_every_kind_of_file(tmp_path, form):
    scores = SCORES.copy()
    scores[1, 0], scores[4, :] = np.inf, 0.5
    scores[0, 1] = -np.inf
    path = saved(tmp_path, form, scores)
    found = diagnose(path)
    assert len(found) == 2
    assert all(one.reason.startswith("score '") and one.reason.endswith(ADVICE) for one in found)
    loaded = read_scores(path, options=ReadingOptions(infinite="accept"))
    assert (sorted(loaded.data.target), sorted(loaded.data.nontarget)) == (sorted(scores[SAME]), sorted(scores[~SAME]))
    assert loaded.relaxed == (RelaxedRule("infinite", 2),)


def test_lines_are_named_in_order(tmp_path):
    (tmp_path / "s").write_text(LINES)
    assert [one.line for one in diagnose(tmp_path / "s")] == [1, 3, 5]
    (problem,) = diagnose(tmp_path / "s", options=ReadingOptions(infinite="accept"))
    assert problem.line == 5


@pytest.mark.parametrize("number", ["nan", "1e999", "-1e999", "inf1", "infinit"])
def test_what_is_no_infinity_is_refused_all_the_same(tmp_path, number):
    (tmp_path / "s").write_text(LINES.replace("inf ", f"{number} ").replace("b u3 x target\n", ""))
    assert [one.line for one in diagnose(tmp_path / "s", options=ReadingOptions(infinite="accept"))] == [1]


def test_infinite_scores_of_matrices(tmp_path):
    scores = np.array([[np.inf, 0.0], [0.5, 2.0], [0.1, np.inf]])
    np.savez(tmp_path / "m.npz", scores=scores, mated=[0, 1, 1])
    (problem,) = diagnose(tmp_path / "m.npz")
    assert problem.reason.startswith("score inf at trial 0, identity 0 is not finite (and 1 more)")
    assert "--infinite accept" in problem.reason
    loaded = read_scores(tmp_path / "m.npz", options=ReadingOptions(infinite="accept"))
    assert loaded.relaxed == (RelaxedRule("infinite", 2),)
    row = ze.evaluate(loaded, options=QUICK)
    assert "top1" not in row


def test_measures_are_those_of_arrays(tmp_path):
    rng = np.random.default_rng(0)
    target, nontarget = rng.normal(2.0, 2.0, 30), rng.normal(-2.0, 2.0, 40)
    target[:3], nontarget[:4] = np.inf, -np.inf
    text = "".join(f"{x} 1\n" for x in target) + "".join(f"{x} 0\n" for x in nontarget)
    (tmp_path / "s").write_text(text)
    read = read_scores(tmp_path / "s", options=ReadingOptions(infinite="accept"))
    row = ze.evaluate(read, options=QUICK)
    plain = ze.evaluate(target, nontarget, options=QUICK)
    assert (row.metrics, row.curves) == (plain.metrics, plain.curves)
    assert "|infinite:7|" in row.signature
    assert "infinite" in {one.code for one in row.flags}
