"""Evidence left about an attribute that is a number: bits, correlation and error of the attackers' guesses."""

from __future__ import annotations

from collections.abc import Sequence

from zeroevidence.evaluation import Evaluation
from zeroevidence.measure.measures import MEASURES
from zeroevidence.report import check_format, render
from zeroevidence.report.layout.flags import row_numbers
from zeroevidence.report.layout.formatting import cells, heading, null_cell, number, p_value
from zeroevidence.report.layout.grid import Grid
from zeroevidence.report.tables.attribute_classes import marked, render_attribute, verification_grid

_MEASURES = ("attribute_bits", "attribute_correlation", "attribute_rank_correlation", "attribute_error")
_NOTES = (
    "Bits are a lower bound on what vectors disclose about the number, by the density of an attacker who learned from "
    "vectors protected in the same way, of other people. Below 0 the attacker learned nothing that could be used.",
    "The attacker marked with * was chosen on the people that attackers learned from, by bits when these are held out "
    "in turn; the tested people had no part in the choice.",
    "Under the null, numbers are dealt to the tested people at random: bits are then below 0, because a density that "
    "is sure of the wrong number is worse than none.",
)


def render_attribute_numbers(
    rows: Sequence[Evaluation], format: str, signatures: bool = False, *, estimate: bool = False
) -> str:
    """Return the tables of rows from `zeroevidence.protect.assessment.assess_number`.

    JSON and CSV hold every attacker.
    """
    check_format(format)
    if format in ("json", "csv"):
        return render(rows, format, estimate=estimate)
    tested = [row for row in rows if row.about.question == "attribute"]
    first: dict[str, Evaluation] = {}
    for row in tested:
        first.setdefault(row.labels.get("system", ""), row)
    verified = [row for row in rows if row.about.role == "utility"]
    chosen = list(first.values())
    numbers = row_numbers([*chosen, *verified])
    grids = [_guesses(chosen, numbers[: len(chosen)]), _null(chosen), _attackers(tested, first)]
    grids.append(verification_grid(verified, numbers[len(chosen) :], estimate=estimate))
    return render_attribute(grids, format, _NOTES, [*chosen, *verified], each=signatures)


def _guesses(chosen: Sequence[Evaluation], numbers: tuple[int, ...]) -> Grid:
    attributes = dict.fromkeys(row.about.attribute for row in chosen)
    body = tuple(
        (
            row.labels.get("system", ""),
            row.labels["attacker"],
            "" if row.about.development is None else number(row.about.development, "bit"),
            *cells(row, _MEASURES),
        )
        for row in chosen
    )
    title = f"Evidence left about {', '.join(filter(None, attributes))}"
    return Grid(title, ("system", "attacker", "bits, held out", *map(heading, _MEASURES)), body, 2, numbers)


def _null(chosen: Sequence[Evaluation]) -> Grid:
    """Measures when numbers are dealt at random, and how often they are as large as observed."""
    body = tuple(
        (
            row.labels.get("system", ""),
            *(null_cell(row, name) for name in _MEASURES),
            p_value(row.metrics["attribute_bits"]),
        )
        for row in chosen
        if row.metrics["attribute_bits"].null is not None
    )
    titles = tuple(MEASURES[name].title for name in _MEASURES)
    return Grid("The same when numbers are dealt to people at random", ("system", *titles, "p of bits"), body, 1)


def _attackers(tested: Sequence[Evaluation], first: dict[str, Evaluation]) -> Grid:
    by_attacker = {(row.labels["attacker"], row.labels.get("system", "")): row for row in tested}
    chosen = {system: row.labels["attacker"] for system, row in first.items()}
    body = tuple(
        (attacker, *(marked(by_attacker.get((attacker, key)), "attribute_bits", chosen[key]) for key in chosen))
        for attacker in sorted({row.labels["attacker"] for row in tested})
    )
    return Grid("Bits of every attacker on the tested people", ("attacker", *first), body, 1)
