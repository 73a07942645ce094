"""What the page refuses as embeddings."""

import pytest

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

from zeroevidence.errors import InputError
from zeroevidence.run import Run
from zeroevidence.web.audits import audit_embeddings
from zeroevidence.web.request import JobRequest, Upload


def test_lists_of_archives_are_refused(tmp_path):
    """They could name any file of this machine."""
    (tmp_path / "0.upload").write_text("u1 /etc/passwd:0\n")
    file = (Upload(str(tmp_path / "0.upload"), "xvector.scp"),)
    request = JobRequest(kind="embeddings", original=file, anonymised=file)
    with pytest.raises(InputError, match="a list of archives, which may lie anywhere"):
        audit_embeddings(request, tmp_path, Run())
