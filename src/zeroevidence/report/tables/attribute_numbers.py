"""What is left of an attribute that is a number: bits, correlation and error of the attackers' guesses."""

from __future__ import annotations

from collections.abc import Sequence

from zeroevidence.evaluation import Evaluation, joint_signature
from zeroevidence.measure.measures import MEASURES
from zeroevidence.report import check_format, render
from zeroevidence.report.layout.formatting import cell, flagged, heading, number, p_value, row_numbers, under_null
from zeroevidence.report.layout.grid import Grid, grids_to_markdown
from zeroevidence.report.layout.latex import grids_to_latex

_MEASURES = ("attribute_bits", "attribute_correlation", "attribute_rank_correlation", "attribute_error")
NOTES = (
    "Bits are a lower bound on what vectors tell about the number, by the density of an attacker who learned from "
    "vectors protected in the same way, of other people. Below 0 the attacker learned nothing that could be used.",
    "The attacker marked with * was chosen on the people that attackers learned from, by bits when these are held out "
    "in turn; the tested people chose nothing.",
    "Under the null, numbers are dealt to the tested people at random: bits are then below 0, because a density that "
    "is sure of the wrong number is worse than none.",
)


def render_attribute_numbers(rows: Sequence[Evaluation], format: str, signatures: bool = False) -> str:
    """Rows of `zeroevidence.protect.assessment.assess_number`; JSON and CSV hold every attacker."""
    check_format(format)
    if format in ("json", "csv"):
        return render(rows, format)
    tested = [row for row in rows if row.about.question == "attribute"]
    first: dict[str, Evaluation] = {}
    for row in tested:
        first.setdefault(row.labels.get("system", ""), row)
    verified = [row for row in rows if row.about.role == "utility"]
    chosen = list(first.values())
    shown = [*chosen, *verified]
    flags, own, numbers = flagged(shown), [row.signature for row in shown], row_numbers(shown)
    grids = [_guesses(chosen, numbers[: len(chosen)])]
    grids += [_null(chosen), _attackers(tested, first)]
    grids += [_verification(verified, numbers[len(chosen) :])] if verified else []
    grids = [grid for grid in grids if grid.body]
    if format == "text":
        from zeroevidence.report.text import grids_to_text

        return grids_to_text(grids, NOTES, flags, own, all_of_them=signatures, joint=joint_signature(own))
    return {"md": grids_to_markdown, "latex": grids_to_latex}[format](grids, [*NOTES, *map(str, flags)], own)


def _guesses(chosen: Sequence[Evaluation], numbers: tuple[int, ...]) -> Grid:
    attributes = dict.fromkeys(row.about.attribute for row in chosen)
    body = tuple(
        (
            row.labels.get("system", ""),
            row.labels["attacker"],
            "" if row.about.development is None else number(row.about.development, "bit"),
            *(cell(row.metrics.get(name), "\n") for name in _MEASURES),
        )
        for row in chosen
    )
    title = f"What is left of {', '.join(filter(None, attributes))}"
    return Grid(title, ("system", "attacker", "bits, held out", *map(heading, _MEASURES)), body, 2, numbers)


def _null(chosen: Sequence[Evaluation]) -> Grid:
    """Measures when numbers are dealt at random, and how often they are as telling as observed."""
    body = tuple(
        (
            row.labels.get("system", ""),
            *(under_null(row, name) for name in _MEASURES),
            p_value(row.metrics["attribute_bits"]),
        )
        for row in chosen
        if row.metrics["attribute_bits"].null is not None
    )
    titles = tuple(MEASURES[name].title for name in _MEASURES)
    return Grid("The same when numbers are dealt to people at random", ("system", *titles, "p of bits"), body, 1)


def _attackers(tested: Sequence[Evaluation], first: dict[str, Evaluation]) -> Grid:
    found = {(row.labels["attacker"], row.labels.get("system", "")): row for row in tested}
    body = []
    for attacker in sorted({row.labels["attacker"] for row in tested}):
        cells = []
        for system, chosen in first.items():
            row = found.get((attacker, system))
            mark = " *" if chosen.labels["attacker"] == attacker else ""
            cells.append("" if row is None else f"{float(row.metrics['attribute_bits']):.3f}{mark}")
        body.append((attacker, *cells))
    return Grid("Bits of every attacker on the tested people", ("attacker", *first), tuple(body), 1)


def _verification(rows: Sequence[Evaluation], numbers: tuple[int, ...]) -> Grid:
    measures = ("eer", "cllr_min")
    body = tuple((row.labels.get("system", ""), *(cell(row.metrics[name], "\n") for name in measures)) for row in rows)
    title = "Speaker verification, both sides protected"
    return Grid(title, ("system", *map(heading, measures)), body, 1, numbers)
