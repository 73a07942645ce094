"""Audits of the same speech are compared trial by trial; an unfinished one is refused by name."""

from dataclasses import replace

import numpy as np
import pytest

import zeroevidence as ze
from zeroevidence.cli import main
from zeroevidence.data.formats.attack_scores import AttackScores, read_attack_scores, write_attack_scores
from zeroevidence.errors import InputError, UsageError
from zeroevidence.evaluation.compared_files import compare_audits, compare_results
from zeroevidence.evaluation.comparison import COUNTING
from zeroevidence.report.comparisons import render_comparisons
from zeroevidence.report.document import save_audit

OPTIONS = ze.Options(intervals=12, null=19)
PEOPLE, EACH = 36, 2


def voices(strength, seed):
    """Embeddings of people of whom so much is left."""
    rng = np.random.default_rng(seed)
    people = np.repeat(np.arange(PEOPLE), 2 * EACH)
    centres = np.random.default_rng(7).normal(size=(PEOPLE, 8))
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


@pytest.fixture
def run(capsys):
    """Run a command in this process: exit code, stdout, stderr."""

    def runner(*args):
        with pytest.raises(SystemExit) as stop:
            main([str(a) for a in args])
        return (stop.value.code, *capsys.readouterr())

    return runner


def test_an_audit_keeps_the_scores_of_every_attacker(audited, folders):
    for name, audit in audited.items():
        kept = read_attack_scores(folders / name)
        assert len(kept) == len(audit.rows) == len(audit.scores)
        number = audit.finding.strongest
        again = ze.evaluate(kept[number].scores, dev=kept[number].dev, options=OPTIONS)
        assert again.number("alid") == audit.strongest.number("alid")
        assert again["alid"].low == audit.strongest["alid"].low


def test_audits_are_paired_and_start_with_the_attackers_that_count(audited, folders):
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


def test_other_trials_are_refused(folders, tmp_path, audited):
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
