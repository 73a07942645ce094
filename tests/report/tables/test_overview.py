"""Audits at a glance, checked against the result file."""

import json

import pytest

from zeroevidence import Options
from zeroevidence.evaluation.reading.results import to_json
from zeroevidence.report.tables.overview import overview_text
from zeroevidence.report.verdict import verdict
from zeroevidence.sample.audits import sample_audit


@pytest.fixture(scope="module")
def audits():
    return [sample_audit(kind, options=Options(intervals=20, null=0)) for kind in ("mcadams", "pitch")]


def test_every_number_is_that_of_the_result_file(audits, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")  # a line for each system
    text = overview_text(audits, ["Next: more."])
    lines = text.splitlines()
    assert len(lines) <= 40
    assert lines[-1] == "Next: more."
    for audit in audits:
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
