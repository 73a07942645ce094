"""Systems in files of their own, compared from Python as by the command."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import zeroevidence as ze
from zeroevidence.data.formats.attack_scores import AttackScores, read_attack_scores, write_attack_scores
from zeroevidence.errors import InputError, UsageError
from zeroevidence.evaluation import Options
from zeroevidence.evaluation.compared_files import compare_audits, compare_files, compare_results
from zeroevidence.evaluation.comparison import COUNTING
from zeroevidence.evaluation.results import save_results
from zeroevidence.evaluation.score_files import (
    ScoreFile,
    ScorePaths,
    distinct_names,
    evaluate_files,
    parse_label,
    pool_files,
    score_files,
)
from zeroevidence.report.comparisons import comparisons_from_json, render_comparisons
from zeroevidence.report.document import save_audit
from zeroevidence.sample import sample_rows

QUICK = Options(intervals=12, null=0)


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
    ze.Evaluation({}).save(tmp_path / "result.json")
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


def test_labels_are_given_for_all_files_or_for_each(challenges):
    scores = [row.scores for row in sample_rows()]
    given = [("sex", "f"), *(("attacker", Path(path).stem) for path in scores)]
    files = score_files(ScorePaths(scores, [sample_rows()[0].key], labels=given))
    assert [file.labels for file in files] == [
        {"system": Path(path).stem, "sex": "f", "attacker": Path(path).stem} for path in scores
    ]
    lists = ScorePaths(
        targets=["a", "b"], nontargets=["c", "c"], labels=[("system", "x"), ("split", "s"), ("split", "t")]
    )
    assert [file.labels for file in score_files(lists)] == [{"system": "x", "split": split} for split in "st"]
    for wrong, reason in (
        (
            replace(lists, labels=[("split", "s")] * 3),
            "label split: expected one value, or one for each of 2 SCORES, got 3",
        ),
        (replace(lists, systems=["y", "z"]), "--system and --label system name the same"),
        (ScorePaths(challenges, labels=[("attacker", "x")]), "label attacker: ours says itself what it is"),
        (ScorePaths(challenges, labels=[("sex", "f")]), "label sex: ours says itself what it is"),
    ):
        with pytest.raises(UsageError, match=reason):
            score_files(wrong)
    assert {file.labels["system"] for file in score_files(ScorePaths(challenges, labels=[("system", "x")]))} == {"x"}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("speaker=ann", "expected NAME=VALUE with NAME one of system, dataset, split, sex, enrolment, trial, attacker"),
        ("attacker", "expected NAME=VALUE"),
        ("attacker=", "expected NAME=VALUE"),
        ("trial=anon", "expected original or anonymised"),
    ],
)
def test_labels_have_names_and_values(text, reason):
    with pytest.raises(UsageError, match=f"label '{text}': {reason}"):
        parse_label(text)
    assert parse_label("system=a=b") == ("system", "a=b")
    assert parse_label("trial=anonymised") == ("trial", "anonymised")


def test_the_folder_that_one_is_in_has_a_name(challenges, monkeypatch):
    monkeypatch.chdir(challenges[0])
    assert distinct_names(["."]) == ["ours"]
    assert distinct_names(["..", "-"]) == [Path(challenges[0]).parent.name, "stdin"]
    assert {file.source for file in score_files(ScorePaths(["."]))} == {"ours"}


OPTIONS = ze.Options(intervals=12, null=19)
PEOPLE_AUDITS, EACH = 36, 2


def voices(strength, seed):
    """Embeddings of people of whom so much is left."""
    rng = np.random.default_rng(seed)
    people = np.repeat(np.arange(PEOPLE_AUDITS), 2 * EACH)
    centres = np.random.default_rng(7).normal(size=(PEOPLE_AUDITS, 8))
    vectors = strength * centres[people] + rng.normal(size=(len(people), 8))
    names = [f"p{i:02d}-{k}" for k, i in enumerate(people)]
    return ze.Embeddings(vectors, names, [f"p{i:02d}" for i in people])


@pytest.fixture(scope="module")
def audited():
    """Audits of a weaker and of a stronger protection of the same people."""
    original = voices(3.0, 0)
    return {
        name: ze.audit(
            original,
            voices(strength, 1),
            ze.AuditOptions(backends=("cosine",), measuring=OPTIONS, system=name, dataset="d"),
        )
        for name, strength in (("weak", 2.0), ("strong", 0.3))
    }


@pytest.fixture(scope="module")
def folders(audited, tmp_path_factory):
    home = tmp_path_factory.mktemp("audits")
    for name, audit in audited.items():
        save_audit(audit, home / name)
    return home


def test_an_audit_keeps_the_scores_of_every_attacker(audited, folders):
    for name, audit in audited.items():
        kept = read_attack_scores(folders / name)
        assert len(kept) == len(audit.rows) == len(audit.scores)
        number = audit.finding.strongest
        again = ze.evaluate(kept[number].scores, dev=kept[number].dev, options=OPTIONS)
        assert again.number("alid") == audit.strongest.number("alid")
        assert again["alid"].low == audit.strongest["alid"].low


def test_audits_are_paired_and_start_with_the_attackers_that_count(audited, folders, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    paths = [folders / name for name in audited]
    comparisons = compare_results(paths, list(audited), options=OPTIONS)
    first = comparisons[0]
    assert all(comparison.paired for comparison in comparisons)
    assert (first.measure, first.labels) == ("alid", {"attacker": COUNTING})
    values = {system.system: system.value for system in first.ranking}
    assert values == {name: audit.strongest.number("alid") for name, audit in audited.items()}
    assert first.ranking[0].system == "strong"
    text = render_comparisons(comparisons, "text")
    assert text.startswith(f"By ALID ({COUNTING}), strong gives away less than weak by ")
    assert "more than chance explains" in " ".join(text.splitlines()[:2])
    assert len(text.splitlines()) <= 40


def test_results_of_audits_without_their_scores_are_compared_alike(audited, folders):
    files = [folders / name / "result.json" for name in audited]
    comparisons = compare_results(files, list(audited), options=OPTIONS)
    paired = compare_results([folders / name for name in audited], list(audited), options=OPTIONS)
    assert not any(comparison.paired for comparison in comparisons)
    for comparison, other in zip(comparisons, paired, strict=True):
        assert (comparison.measure, comparison.labels) == (other.measure, other.labels)
        assert [system.value for system in comparison.ranking] == [system.value for system in other.ranking]


def test_a_kind_that_only_one_audit_has_is_left_out(folders, tmp_path, audited):
    audit = audited["strong"]
    kept = [i for i, row in enumerate(audit.rows) if row.about.threat.name != "ignorant"]
    rows = tuple(audit.rows[i] for i in kept)
    few = replace(
        audit,
        rows=rows,
        cards=tuple(audit.cards[i] for i in kept),
        scores=tuple(audit.scores[i] for i in kept),
        finding=ze.findings(rows)[0],
    )
    save_audit(few, tmp_path / "few")
    comparisons = compare_audits([folders / "weak", tmp_path / "few"], ["weak", "few"], options=OPTIONS)
    assert "ignorant" not in {comparison.labels["attacker"] for comparison in comparisons}


def test_other_trials_are_refused_audits(folders, tmp_path, audited):
    audit = audited["strong"]
    renamed = [
        AttackScores(replace(attack.scores, trials=np.char.add(attack.scores.trials, "x")), attack.dev)
        for attack in audit.scores
    ]
    save_audit(replace(audit, scores=tuple(renamed)), tmp_path / "other")
    with pytest.raises(InputError, match="expected the same trials"):
        compare_audits([folders / "weak", tmp_path / "other"], ["weak", "other"], options=OPTIONS)


def test_scores_of_another_number_of_attackers_are_refused(folders, tmp_path, audited):
    save_audit(audited["strong"], tmp_path / "cut")
    write_attack_scores(audited["strong"].scores[:-1], tmp_path / "cut")
    with pytest.raises(InputError, match="attackers, and"):
        compare_audits([folders / "weak", tmp_path / "cut"], ["weak", "cut"], options=OPTIONS)
    with pytest.raises(UsageError, match="at least two systems"):
        compare_audits([folders / "weak"], ["weak"])


@pytest.mark.parametrize("command", ["compare", "report"])
def test_an_unfinished_audit_says_so(run, folders, tmp_path, command):
    (tmp_path / "running" / "cache").mkdir(parents=True)
    code, _, err = run(command, folders / "weak", tmp_path / "running")
    assert code == 3
    assert "running: is the folder of an audit that has not finished" in err
    (tmp_path / "other").mkdir()
    (tmp_path / ".other.lock").touch()
    assert "has not finished" in run(command, folders / "weak", tmp_path / "other")[2]
    (tmp_path / ".other.lock").unlink()
    assert "has not finished" not in run(command, folders / "weak", tmp_path / "other")[2]
