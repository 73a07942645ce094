"""Linkability: local linkability over score densities, a relation that no threshold sees, measure against measure.

In the second figure mated scores lie on both sides of the others: linkability is high although min Cllr is, too. The
scatter plots set linkability against EER, min Cllr, ROCCH-EER and D_ECE, one point for each system, group of speakers
and attacker. Source: Maouche's talk on linkability in the VoicePrivacy challenge, 2020.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from _shared import Sheet, evaluated, number, run

import zeroevidence as ze


def make(sheet: Sheet, data: Path | None) -> None:
    """Evaluate everything and draw it."""
    rows = evaluated(data)
    protected = [row for row in rows if row.labels["trial"] == "anonymised"]
    sheet.figure("linkability-local", "linkability", protected[-1])
    both_sides = ze.evaluate(
        _both_sides(), labels={"system": "mated on both sides"}, options=ze.Options(intervals=0, null=0)
    )
    sheet.figure("linkability-both-sides", "linkability", both_sides)
    for measure in ("eer", "cllr_min", "eer_rocch", "d_ece"):
        sheet.figure(f"linkability-over-{measure.replace('_', '-')}", "scatter", rows, x=measure, y="linkability")
    sheet.figure("linkability-bars", "bars", rows, y="linkability", sort="oa", width=7.0)
    marker = "split" if data is None else "sex"  # the label by which rows of one system and attacker differ
    pair, labels = {"x": "cllr_min", "y": "linkability"}, {"colour": "attacker", "marker": marker}
    sheet.figure("linkability-labels", "scatter", rows, **pair, **labels, width=5.0)
    names = ("linkability", "linkability_nonmated", "eer", "eer_rocch", "cllr_min", "d_ece")
    sheet.table(
        "linkability-results",
        ("row", *names),
        [(_words(row), *(number(row, name, 3) for name in names)) for row in (*rows, both_sides)],
    )


def _words(row: ze.Evaluation) -> str:
    """System, group of speakers and attacker."""
    return ", ".join(row.labels[name] for name in ("system", "split", "sex", "attacker") if name in row.labels)


def _both_sides() -> ze.Scores:
    """Two thirds of the mated scores far below the others, one third far above."""
    rng = np.random.default_rng(0)
    low, high = rng.normal(-4.5, 0.5, 2000), rng.normal(4.5, 0.5, 1000)
    return ze.Scores(np.concatenate((low, high)), rng.normal(0.0, 1.0, 20_000))


if __name__ == "__main__":
    run(__doc__ or "", make)
