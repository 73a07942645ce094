"""Protectors at several strengths as a table: what is left of the attribute and of verification, and the front."""

from __future__ import annotations

from collections.abc import Sequence

from zeroevidence.evaluation import Evaluation, joint_signature
from zeroevidence.evaluation.finding.pareto import front_points
from zeroevidence.report import check_format, render
from zeroevidence.report.layout.formatting import cell, flagged, heading, under_null
from zeroevidence.report.layout.grid import Grid, grids_to_markdown
from zeroevidence.report.layout.latex import grids_to_latex

_MEASURES = ("eer", "top1")
NOTE = (
    "The strongest attacker of each protector and strength is shown, trained on vectors protected in the same way, of "
    "other people. A star marks the front: no other row leaves less evidence at an EER that is not higher."
)


def render_pareto_front(rows: Sequence[Evaluation], format: str, signatures: bool = False) -> str:
    """Rows of `zeroevidence.protect.tradeoff.strengths.assess_strengths`; JSON and CSV hold every classifier."""
    check_format(format)
    if format in ("json", "csv"):
        return render(rows, format)
    points = front_points(rows)
    body = []
    for point in points:
        told, verified = point.attack["d_ece"], point.utility.metrics
        named = (point.protector, f"{point.strength:g}", point.attack.labels["attacker"], "*" if point.on_front else "")
        numbers = (
            cell(told, "\n"),
            under_null(point.attack, "d_ece"),
            *(cell(verified.get(name), "\n") for name in _MEASURES),
        )
        body.append((*named, *numbers))
    columns = ("protector", "strength", "attacker", "front", heading("d_ece"), "under the null")
    grid = Grid("Privacy against utility", (*columns, *map(heading, _MEASURES)), tuple(body), 4)
    shown = [row for point in points for row in (point.attack, point.utility)]
    flags, own = flagged(shown), [row.signature for row in shown]
    if format == "text":
        from zeroevidence.report.text import grids_to_text

        return grids_to_text([grid], [NOTE], flags, own, all_of_them=signatures, joint=joint_signature(own))
    return {"md": grids_to_markdown, "latex": grids_to_latex}[format]([grid], [NOTE, *map(str, flags)], own)
