"""Process of the jobs behind the buttons with sample data on the page of `serve`.

Run as ``python -m zeroevidence.sample.page_job FOLDER``; the page starts it by this name, as it may not import samples.
"""

from __future__ import annotations

import sys
from pathlib import Path

from zeroevidence.sample import CASCADE, PROTECTIONS
from zeroevidence.sample.audits import DEMO_OPTIONS, cascade_audit, sample_audit
from zeroevidence.web.work.audits import audit_findings
from zeroevidence.web.work.outcome import Findings
from zeroevidence.web.work.process import main
from zeroevidence.web.work.progress import JobProgress
from zeroevidence.web.work.request import Kind


def audit_sample(kind: Kind, home: Path, progress: JobProgress) -> Findings:
    """Attack the bundled speech under two protections, and compare them; or that which another voice reads."""
    progress.work()
    if kind == "cascade":
        audit = cascade_audit(options=DEMO_OPTIONS, progress=progress.counter(f"Attacking {CASCADE}"))
        return audit_findings([audit], [CASCADE], home, progress)
    audits = [
        sample_audit(kind, options=DEMO_OPTIONS, progress=progress.counter(f"Attacking {name}"))
        for kind, name in PROTECTIONS.items()
    ]
    return audit_findings(audits, list(PROTECTIONS.values()), home, progress, DEMO_OPTIONS)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], audit_sample))
