"""Systems in files of their own, compared from Python as by the command."""

import json
from pathlib import Path

import pytest

from zeroevidence.errors import InputError, UsageError
from zeroevidence.evaluation import Options
from zeroevidence.evaluation.compared_files import compare_files, compare_results
from zeroevidence.evaluation.results import save_results
from zeroevidence.evaluation.score_files import (
    ScoreFile,
    ScorePaths,
    distinct_names,
    evaluate_files,
    pool_files,
    score_files,
)
from zeroevidence.report.comparisons import comparisons_from_json, render_comparisons
from zeroevidence.sample import sample_rows

QUICK = Options(intervals=20, null=0)


def files():
    rows = sample_rows()
    return score_files(ScorePaths([row.scores for row in rows], [rows[0].key]))


def test_files_are_compared_by_the_usual_measures():
    found = compare_files(files(), options=QUICK)
    assert [one.measure for one in found] == ["eer", "d_ece", "linkability", "alid"]
    assert [one.system for one in found[1].ranking] == ["aa", "oa", "oo"]


def test_other_trials_are_refused(tmp_path):
    first = files()[0]
    scores, key = (tmp_path / name for name in ("fewer.scores", "trials"))
    for source, target in ((first.scores, scores), (first.key, key)):
        target.write_text("".join(Path(source).read_text().splitlines(keepends=True)[:-30]))
    with pytest.raises(InputError, match="expected the same trials in all systems"):
        compare_files([first, ScoreFile(str(scores), str(key))], options=QUICK)


def test_too_little_to_compare():
    with pytest.raises(UsageError, match="at least two systems"):
        compare_files(files()[:1], options=QUICK)
    with pytest.raises(UsageError, match="unknown measure"):
        compare_files(files(), measures=["nonsense"], options=QUICK)
    with pytest.raises(UsageError, match="one name for each of the 2 systems"):
        compare_results(["a", "b"], ["a"])


def test_a_result_without_intervals_is_refused(tmp_path):
    rows = {"schema": "zeroevidence/evaluation/3", "rows": [{"labels": {}, "about": {}, "counts": {}, "metrics": {},
            "flags": [], "setup": {}, "signature": "ZE"}]}  # fmt: skip
    (tmp_path / "result.json").write_text(json.dumps(rows))
    with pytest.raises(UsageError, match="nothing to compare by; expected results with intervals"):
        compare_results([tmp_path, tmp_path], ["a", "b"], options=QUICK)


def challenge(home, system, change):
    """A result folder of a challenge with a row for each sex and attacker, made of the bundled scores."""
    for sex, own in (("f", 0), ("m", 1)):
        data = home / "data" / f"digits_eval_trials_{sex}"
        data.mkdir(parents=True)
        (data / "trials").write_text(Path(files()[0].key).read_text())
        for enrolment, row in (("", 1), (f"_{system}", 2)):
            folder = home / "exp" / "asv_orig" / f"digits_eval_enrolls{enrolment}-digits_eval_trials_{sex}_{system}"
            folder.mkdir(parents=True)
            lines = [line.split() for line in Path(files()[row].scores).read_text().splitlines()]
            (folder / "scores").write_text(
                "".join(
                    f"{e} {t} {float(s) + (change * (own + number % 7))}\n" for number, (e, t, s) in enumerate(lines)
                )
            )
    return str(home)


@pytest.fixture(scope="module")
def challenges(tmp_path_factory):
    home = tmp_path_factory.mktemp("challenges")
    return [challenge(home / name, "noise", change) for name, change in (("ours", 0.0), ("theirs", 0.005))]


@pytest.fixture(scope="module")
def paired(challenges):
    return compare_files(score_files(ScorePaths(challenges)), measures=["eer"], options=QUICK)


def test_rows_of_challenge_folders_are_compared_where_they_match(paired):
    assert {tuple(one.labels.items()) for one in paired} == {
        (("sex", sex), ("attacker", attacker)) for sex in "fm" for attacker in ("ignorant", "lazy-informed")
    }
    for one in paired:
        assert {placed.system for placed in one.ranking} == {"ours", "theirs"}
        assert one.paired
        assert one.ranking[0].group == 1


def test_finished_results_are_compared_by_their_intervals(challenges, paired, tmp_path):
    paths = [str(tmp_path / f"{name}.json") for name in ("ours", "theirs")]
    for folder, path in zip(challenges, paths, strict=True):
        save_results(evaluate_files(score_files(ScorePaths([folder])), options=QUICK), path)
    found = compare_results(paths, ["ours", "theirs"], measures=["eer"])
    assert len(found) == 4
    assert not any(one.paired for one in found)
    for one, other in zip(found, paired, strict=True):
        assert one.labels == other.labels
        mine, its = one.pairs[0].difference, other.pairs[0].difference
        assert mine.high - mine.low > its.high - its.low  # what the trials have in common does not cancel
    assert "The trials are not paired" in render_comparisons(found, "text")
    assert comparisons_from_json(render_comparisons(found, "json")) == found
    assert render_comparisons(found, "csv").splitlines()[0].startswith("measure,sex,attacker,first,second")


def test_development_people_of_another_sex_are_flagged():
    here, there = (sample_rows(split)[1] for split in ("eval", "dev"))
    for sex, flagged in (("m", True), ("f", False)):
        dev = ScoreFile(str(there.scores), str(there.key), labels={"sex": sex})
        file = ScoreFile(str(here.scores), str(here.key), labels={"sex": "f"}, dev=dev)
        (row,) = evaluate_files([file], options=Options(intervals=0, null=0))
        assert ("development-sex" in {flag.code for flag in row.flags}) == flagged


def test_women_and_men_are_pooled_on_request(challenges):
    apart = evaluate_files(score_files(ScorePaths(challenges[:1])), options=Options(intervals=0, null=0))
    together = evaluate_files(
        pool_files(score_files(ScorePaths(challenges[:1])), "sex"), options=Options(intervals=0, null=0)
    )
    assert [row.labels["sex"] for row in apart] == ["f", "m", "f", "m"]
    assert [row.labels["sex"] for row in together] == ["f+m", "f+m"]
    assert [row.about.threat.name for row in together] == [row.about.threat.name for row in apart[::2]]
    for row, own in zip(together, apart[::2], strict=True):
        assert row.counts["target"] == 2 * own.counts["target"]
        assert "pooled:sex:2" in row.signature
        (told,) = (one.sentence for one in row.flags if one.code == "pooled")
        assert told.startswith("2 groups (sex) were pooled")
    with pytest.raises(UsageError, match="no file has the label 'accent'"):
        pool_files(score_files(ScorePaths(challenges[:1])), "accent")


def test_the_folder_that_one_is_in_has_a_name(challenges, monkeypatch):
    monkeypatch.chdir(challenges[0])
    assert distinct_names(["."]) == ["ours"]
    assert distinct_names(["..", "-"]) == [Path(challenges[0]).parent.name, "stdin"]
    assert {file.source for file in score_files(ScorePaths(["."]))} == {"ours"}
