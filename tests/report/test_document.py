"""An audit as a folder of files, and the parts of a report that audits share."""

import json
from dataclasses import replace

import pytest

from zeroevidence.errors import InputError, OutputError, UsageError
from zeroevidence.evaluation import Options, findings, read_results
from zeroevidence.evaluation.results import to_json
from zeroevidence.evaluation.rows.flags import flag
from zeroevidence.protect.release import protector_card, unknown_protector_card
from zeroevidence.report import render
from zeroevidence.report.document import audit_text, document, overview_text, save_audit, summary
from zeroevidence.report.inputs import ReportInputs
from zeroevidence.report.verdict import verdict
from zeroevidence.sample import sample_audit


def inputs_of(*audits):
    inputs = ReportInputs()
    for audit in audits:
        inputs.add_audit(audit)
    return inputs


def test_the_folder_holds_what_was_found(audit, tmp_path):
    home = tmp_path / "a" / "b"
    files = save_audit(audit, home)
    assert files[-1].name == "result.json"
    assert all(path.is_file() for path in files)
    assert [row.about for row in read_results(home)] == [row.about for row in audit.rows]
    assert len(json.loads((home / "attackers.json").read_text())) == len(audit.rows)
    assert (home / "summary.txt").read_text(encoding="utf-8") == summary(audit)


def test_results_are_kept_unless_told(audit, tmp_path):
    (tmp_path / "result.json").write_text("mine")
    with pytest.raises(UsageError, match="--overwrite"):
        save_audit(audit, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"]
    save_audit(audit, tmp_path, overwrite=True)
    assert read_results(tmp_path)
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises((UsageError, OutputError)):
            save_audit(audit, place)


def test_an_audit_is_a_few_lines_and_all_of_it_where_asked_for(audit, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    short, text = audit_text(audit), " ".join(audit_text(audit, verbose=True).split())
    assert len(short.splitlines()) <= 15
    conclusion = verdict(audit.rows)
    for line in (conclusion.headline, *conclusion.summary):
        assert " ".join(line.split()) in " ".join(short.split())
    assert summary(audit).splitlines()[0] == short.splitlines()[0] == conclusion.headline
    card = " ".join(audit.cards[audit.finding.strongest].to_text().split())
    assert (card in text, card in " ".join(short.split())) == (True, False)
    assert "EER [%]" in text
    for asked in ({"measures": ["eer"]}, {"signatures": True}, {"estimate": True}):
        assert "EER [%]" in audit_text(audit, **asked)
    assert "EER [%]" not in short
    codes = {raised.code for row in audit.rows for raised in row.flags}
    assert codes
    assert all(code in short for code in codes)


def test_bounds_that_audits_share_come_once(demo_audits):
    inputs = inputs_of(*demo_audits)
    assert [row.labels["system"] for row in inputs.rows if row.about.is_bound] == ["unprotected", "random"]
    assert len(inputs.rows) == len(inputs.cards) == 8
    other = inputs_of(demo_audits[0], sample_audit("pitch", options=Options(intervals=0, null=0)))
    assert len(other.rows) == 10  # measured in another way, they are not the same rows


def test_a_document_in_an_unknown_format_is_refused(audit):
    assert "| system |" in document(inputs_of(audit), "md")
    with pytest.raises(UsageError, match="expected one of html, md, latex"):
        document(inputs_of(audit), "pdf")


def test_the_protector_has_a_card_beside_the_attackers(audit, tmp_path, without_figures):
    pytest.importorskip("jinja2")
    protected = replace(audit, protector=protector_card("mcadams:0.7+pitch:2"))
    save_audit(protected, tmp_path)
    card = json.loads((tmp_path / "protector.json").read_text())
    assert card == protected.protector.to_dict()
    assert "protector      mcadams:0.7+pitch:2" in audit_text(protected, verbose=True)
    inputs = inputs_of(protected)
    inputs.add_results([str(tmp_path)], ["a"])
    assert inputs.protectors == [card]
    assert "The protector: mcadams:0.7+pitch:2" in document(inputs)
    (tmp_path / "protector.json").write_text("[]")
    with pytest.raises(InputError, match=r"protector\.json: card: expected names and values"):
        ReportInputs().add_results([str(tmp_path)], ["a"])
    assert "Not known" in unknown_protector_card("b5").utility
    with pytest.raises(UsageError, match="unknown voice protector 'shout'"):
        protector_card("mcadams+shout")


def test_an_audit_in_a_notebook(audit):
    pytest.importorskip("matplotlib")
    conclusion = verdict(audit.rows)
    assert audit.verdict == conclusion
    assert audit.paragraph == conclusion.assessment
    assert f"<strong>{conclusion.headline}</strong>" in audit._repr_html_()
    assert "<svg" in audit._repr_html_()
    assert [audit.plot(*kind).axes[0].get_xlabel() for kind in ((), ("cmc",))] == [
        "recordings given the right name (%)",
        "rank",
    ]


@pytest.mark.parametrize("level", ["not-found", "recognised"])
def test_what_to_run_next_is_printed_where_no_leak_was_found(audit, search, against, level, monkeypatch):
    shift = 0.0 if level == "not-found" else 6.0
    rows = (
        search(6.0, system="unprotected", about=against.control),
        search(shift, seed=6, system="sys", about=against.lazy),
    )
    shown = replace(audit, rows=rows, cards=audit.cards[:2], finding=findings(rows)[0])
    monkeypatch.setenv("COLUMNS", "100")
    assert "  zeroevidence " not in audit_text(shown)
    for text in (audit_text(shown, verbose=True), summary(shown)):
        commands = [line for line in text.splitlines() if line.startswith("  zeroevidence ")]
        assert commands == [f"  {command}" for command in verdict(rows).commands]
        assert bool(commands) == (level == "not-found")


def test_faults_come_first(audit, without_figures):
    faulty = audit.rows[2].with_flags(flag("control-failed"))
    shown = replace(audit, rows=(*audit.rows[:2], faulty, *audit.rows[3:]))
    for text in (audit_text(shown), summary(shown)):
        assert list(filter(None, text.splitlines()))[1].startswith("Fault, control-failed (row 3): ")
        assert text.count("control-failed") == 1
    assert render(shown.rows, "text").startswith("fault    control-failed (row 3): ")
    assert "Fault" not in summary(audit)
    assert "<strong>Fault:</strong>" in document(inputs_of(shown)).split('<div class="first')[0]


def test_every_number_at_a_glance_is_that_of_the_result_file(demo_audits, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")  # a line for each system
    text = overview_text(demo_audits, ["Next: more."])
    lines = text.splitlines()
    assert len(lines) <= 40
    assert lines[-1] == "Next: more."
    for audit in demo_audits:
        rows = {row["about"]["threat"]["name"]: row for row in json.loads(to_json(audit.rows))["rows"]}
        system = rows["backend-informed"]["labels"]["system"]
        assert f"{system}: {verdict(audit.rows).headline}." in lines
        table = next(line for line in lines if line.startswith(f"{system} "))
        compares = max(("ignorant", "lazy-informed"), key=lambda name: rows[name]["about"]["development"])
        for name in (compares, "backend-informed", "unprotected"):
            top = rows[name]["metrics"]["top1"]
            assert f"{100 * top['value']:.2f}" in table
            assert f"{100 * top['low']:.2f}" in table
        assert table.endswith(f"{100 / rows['backend-informed']['counts']['identities']:.3g}")
