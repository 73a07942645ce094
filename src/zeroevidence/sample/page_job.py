"""Process of the jobs behind the buttons with sample data on the page of `serve`.

Run as ``python -m zeroevidence.sample.page_job FOLDER``; the page starts it by this name, as it may not import samples.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from zeroevidence.run import Run
from zeroevidence.sample import CASCADE, DEMO_OPTIONS, PROTECTIONS, cascade_audit, sample_audit
from zeroevidence.web.audits import audit_findings
from zeroevidence.web.outcome import Findings
from zeroevidence.web.process import main
from zeroevidence.web.request import WORK, Kind


def audit_sample(kind: Kind, home: Path, run: Run) -> Findings:
    """Attack the bundled speech under two protections, and compare them; or that which another voice reads."""
    run.progress(WORK[kind], "systems")
    attacking = replace(run, progress=lambda title, units: run.progress(f"Attacking {title}", units))
    if kind == "cascade":
        return audit_findings([cascade_audit(options=DEMO_OPTIONS, run=attacking)], [CASCADE], home, run)
    audits = [sample_audit(kind, options=DEMO_OPTIONS, run=attacking) for kind in PROTECTIONS]
    return audit_findings(audits, list(PROTECTIONS.values()), home, run, DEMO_OPTIONS)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], bundled=audit_sample))
