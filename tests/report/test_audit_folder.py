"""An audit as a folder of files, and the parts of a report that audits share."""

import json
from dataclasses import replace

import pytest

from zeroevidence.errors import InputError, UsageError
from zeroevidence.evaluation import Options, findings, read_results
from zeroevidence.evaluation.rows.flags import flag
from zeroevidence.protect.card import protector_card, unknown_protector_card
from zeroevidence.protect.voices import VOICE_PROTECTORS
from zeroevidence.report import render
from zeroevidence.report.audit_folder import audit_text, save_audit, summary
from zeroevidence.report.document import document
from zeroevidence.report.inputs import ReportInputs
from zeroevidence.report.verdict import verdict
from zeroevidence.sample.audits import sample_audit

QUICK = Options(intervals=0, null=0, linkability="pav")


@pytest.fixture(scope="module")
def audit():
    return sample_audit(options=QUICK)


def test_the_folder_holds_what_was_found(audit, tmp_path):
    files = save_audit(audit, tmp_path / "a" / "b")
    assert files[-1].name == "result.json"
    assert all(path.is_file() for path in files)
    read = read_results(tmp_path / "a" / "b")
    assert [row.about for row in read] == [row.about for row in audit.rows]
    assert len(json.loads((tmp_path / "a/b/attackers.json").read_text())) == len(audit.rows)
    assert (tmp_path / "a/b/summary.txt").read_text(encoding="utf-8") == summary(audit)


def test_results_are_kept_unless_told(audit, tmp_path):
    (tmp_path / "result.json").write_text("mine")
    with pytest.raises(UsageError, match="--overwrite"):
        save_audit(audit, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"]
    assert (tmp_path / "result.json").read_text() == "mine"
    save_audit(audit, tmp_path, overwrite=True)
    assert read_results(tmp_path)
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(UsageError):
            save_audit(audit, place)


def test_the_text_starts_with_the_finding_and_has_the_strongest_attacker(audit):
    text = audit_text(audit)
    assert " ".join(text.split()).startswith(" ".join(summary(audit).split()))
    flowing = " ".join(text.split())
    assert " ".join(audit.cards[audit.finding.strongest].to_text().split()) in flowing
    assert audit.strongest.about.threat.name in text


def test_bounds_that_audits_share_come_once(audit):
    material = ReportInputs()
    material.add_audit(audit)
    material.add_audit(sample_audit("pitch", options=QUICK))
    bounds = [row.labels["system"] for row in material.rows if row.about.is_bound]
    assert bounds == ["unprotected", "random"]
    assert len(material.rows) == len(material.cards) == 8
    other = ReportInputs()
    other.add_audit(audit)
    other.add_audit(sample_audit("pitch", options=Options(intervals=0, null=0, linkability="histogram")))
    assert len(other.rows) == 10  # measured in another way, they are not the same rows


def test_a_document_in_an_unknown_format_is_refused(audit):
    material = ReportInputs()
    material.add_audit(audit)
    assert "| system |" in document(material, "md")
    with pytest.raises(UsageError, match="expected one of html, md, latex"):
        document(material, "pdf")


def test_the_protector_has_a_card_beside_the_attackers(audit, tmp_path):
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    protected = replace(audit, protector=protector_card("mcadams:0.7+pitch:2"))
    save_audit(protected, tmp_path)
    card = json.loads((tmp_path / "protector.json").read_text())
    assert card == protected.protector.to_dict()
    assert card["method"] == "Moves the resonances of the vocal tract. Then: Moves the pitch; formants stay."
    assert card["utility"].startswith("Words, rate, pitch and pauses; the timbre changes.")
    assert "protector      mcadams:0.7+pitch:2" in audit_text(protected)
    material = ReportInputs()
    material.add_result(str(tmp_path))
    material.add_audit(protected)
    assert material.protectors == [card]
    page = document(material)
    assert "The protector: mcadams:0.7+pitch:2" in page
    assert "Prevent that an utterance is linked to its speaker." in page
    (tmp_path / "protector.json").write_text("[]")
    with pytest.raises(InputError, match=r"protector\.json: card: expected names and values"):
        ReportInputs().add_result(str(tmp_path))


def test_protectors_that_are_not_known_say_so():
    assert unknown_protector_card("b5").utility == "Not known here: the speech was protected elsewhere."
    with pytest.raises(UsageError, match="unknown voice protector 'shout'"):
        protector_card("mcadams+shout")
    assert "Not stated." not in {text for kind in VOICE_PROTECTORS.values() for text in (kind.keeps, kind.needs)}


def test_an_audit_in_a_notebook(audit):
    pytest.importorskip("matplotlib")
    conclusion = verdict(audit.rows)
    assert audit.verdict == conclusion
    assert audit.paragraph == conclusion.assessment
    shown = audit._repr_html_()
    assert f"<strong>{conclusion.headline}</strong>" in shown
    assert "<svg" in shown
    (ax,) = audit.plot().axes
    assert ax.get_xlabel() == "recordings given the right name (%)"
    assert audit.plot("cmc").axes[0].get_xlabel() == "rank"


@pytest.mark.parametrize("level", ["not-found", "recognised"])
def test_what_to_run_next_is_printed_where_no_leak_was_found(audit, search, against, level):
    shift = 0.0 if level == "not-found" else 6.0
    setting = {"dataset": "d", "backend": "cosine"}
    rows = (
        search(6.0, system="unprotected", about=against.control, **setting),
        search(shift, seed=6, system="sys", about=against.lazy, **setting),
    )
    shown = replace(audit, rows=rows, cards=audit.cards[:2], finding=findings(rows)[0])
    for text in (audit_text(shown), summary(shown)):
        commands = [line for line in text.splitlines() if line.startswith("  zeroevidence ")]
        assert [command.split()[1] for command in commands] == (["audit", "plan"] if level == "not-found" else [])
        assert commands == [f"  {command}" for command in verdict(rows).commands]


def test_faults_come_first(audit, without_figures):
    faulty = audit.rows[2].with_flags(flag("control-failed"))
    shown = replace(audit, rows=(*audit.rows[:2], faulty, *audit.rows[3:]))
    for text in (audit_text(shown), summary(shown)):
        (fault,) = [line for line in text.splitlines() if line.startswith("Fault, control-failed (row 3): ")]
        assert text.splitlines().index(fault) == 2
        assert text.count("control-failed") == 1  # not above the table again
    text = render(shown.rows, "text")
    assert text.startswith("fault    control-failed (row 3): ")
    assert "Fault" not in summary(audit)
    inputs = ReportInputs()
    inputs.add_audit(shown)
    assert '<p class="fault"><strong>Fault:</strong>' in document(inputs).split('<div class="first')[0]
