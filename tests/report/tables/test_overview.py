"""Audits at a glance, checked against the result file."""

import json

from zeroevidence.evaluation.results import to_json
from zeroevidence.report.audit_folder import overview_text
from zeroevidence.report.verdict import verdict


def test_every_number_is_that_of_the_result_file(demo_audits, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")  # a line for each system
    text = overview_text(demo_audits, ["Next: more."])
    lines = text.splitlines()
    assert len(lines) <= 40
    assert lines[-1] == "Next: more."
    for audit in demo_audits:
        rows = {row["about"]["threat"]["name"]: row for row in json.loads(to_json(audit.rows))["rows"]}
        system = rows["semi-informed"]["labels"]["system"]
        assert f"{system}: {verdict(audit.rows).headline}." in lines
        table = next(line for line in lines if line.startswith(f"{system} "))
        compares = max(("ignorant", "lazy-informed"), key=lambda name: rows[name]["about"]["development"])
        for name in (compares, "semi-informed", "unprotected"):
            top = rows[name]["metrics"]["top1"]
            assert f"{100 * top['value']:.2f}" in table
            assert f"{100 * top['low']:.2f}" in table
        assert table.endswith(f"{100 / rows['semi-informed']['counts']['identities']:.3g}")
