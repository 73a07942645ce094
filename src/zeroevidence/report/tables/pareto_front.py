"""Protectors at several strengths: evidence about the attribute, verification, and the Pareto front."""

from __future__ import annotations

from collections.abc import Sequence

from zeroevidence.evaluation import Evaluation
from zeroevidence.evaluation.finding.pareto import front_points
from zeroevidence.report import check_format, render
from zeroevidence.report.layout.formatting import cells, heading, measure_columns, null_cell
from zeroevidence.report.layout.grid import Grid
from zeroevidence.report.tables.attribute_classes import render_attribute

_UTILITY = ("eer", "top1")
_NOTE = (
    "The strongest attacker of each protector and strength is shown, trained on vectors protected in the same way, of "
    "other people. A star marks the Pareto front: no other row leaves less evidence at an EER that is not higher."
)


def render_pareto_front(
    rows: Sequence[Evaluation], format: str, signatures: bool = False, *, estimate: bool = False
) -> str:
    """Return the table of rows from `zeroevidence.protect.tradeoff.strengths.assess_strengths`.

    JSON and CSV hold every classifier.
    """
    check_format(format)
    if format in ("json", "csv"):
        return render(rows, format, estimate=estimate)
    points = front_points(rows)
    evidence = measure_columns([point.attack for point in points], ["d_ece"], estimate=estimate)
    body = tuple(
        (
            *(point.protector, f"{point.strength:g}", point.attack.labels["attacker"], "*" if point.on_front else ""),
            *(column.cell(point.attack) for column in evidence),
            *(null_cell(point.attack, "d_ece"), *cells(point.utility, _UTILITY)),
        )
        for point in points
    )
    columns = ("protector", "strength", "attacker", "front", *(column.heading for column in evidence))
    grid = Grid("Privacy against utility", (*columns, "under the null", *map(heading, _UTILITY)), body, 4)
    shown = [row for point in points for row in (point.attack, point.utility)]
    return render_attribute([grid], format, [_NOTE], shown, each=signatures)
