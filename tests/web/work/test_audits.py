"""Audits of the page: the bundled one, and what is refused as embeddings."""

import pytest

from tests.effort import slow

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

from zeroevidence.errors import InputError
from zeroevidence.sample import PROTECTIONS
from zeroevidence.web.work.audits import audit_embeddings, audit_sample
from zeroevidence.web.work.progress import JobProgress, job_steps
from zeroevidence.web.work.request import JobRequest, Upload


@slow
def test_the_bundled_speech_is_audited_and_compared(tmp_path, capsys):
    progress = JobProgress(job_steps(JobRequest(kind="sample")))
    findings = audit_sample(tmp_path, progress)
    assert list(findings.systems) == list(PROTECTIONS.values())
    assert findings.inputs.comparisons[0].paired
    assert {system.system for system in findings.inputs.comparisons[0].ranking} == set(PROTECTIONS.values())
    assert [row.about.role for row in findings.inputs.rows].count("control") == 1  # both have the bound in common
    assert '"step": 1' in capsys.readouterr().out


def test_lists_of_archives_are_refused(tmp_path, capsys):
    """They could name any file of this machine."""
    (tmp_path / "0.upload").write_text("u1 /etc/passwd:0\n")
    file = (Upload(str(tmp_path / "0.upload"), "xvector.scp"),)
    request = JobRequest(kind="embeddings", original=file, anonymised=file)
    with pytest.raises(InputError, match="a list of archives, which may lie anywhere"):
        audit_embeddings(request, tmp_path, JobProgress(job_steps(request)))
