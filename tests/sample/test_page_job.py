"""The audit behind the button with sample data."""

import pytest

from tests.effort import slow

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

from zeroevidence.evaluation.finding.finding import findings as find
from zeroevidence.run import Run
from zeroevidence.sample import PROTECTIONS
from zeroevidence.sample.page_job import audit_sample
from zeroevidence.web.request import JobProgress, JobRequest, job_steps


@slow
def test_the_bundled_speech_is_audited_and_compared(tmp_path, capsys):
    progress = JobProgress(job_steps(JobRequest(kind="sample")))
    findings = audit_sample("sample", tmp_path, progress.run(tmp_path))
    assert list(findings.systems) == list(PROTECTIONS.values())
    assert findings.inputs.comparisons[0].paired
    assert {system.system for system in findings.inputs.comparisons[0].ranking} == set(PROTECTIONS.values())
    assert [row.about.role for row in findings.inputs.rows].count("control") == 1  # both have the bound in common
    assert '"step": 1' in capsys.readouterr().out


@slow
def test_the_second_sample_passes(tmp_path):
    findings = audit_sample("cascade", tmp_path, Run())
    (finding, *_) = find(findings.inputs.rows)
    assert finding.level == "not-found"
    assert findings.inputs.rows[0].number("top1") > 0.99  # unprotected
