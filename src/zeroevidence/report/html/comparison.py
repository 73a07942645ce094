"""Comparisons of systems in a report: tables, and a verdict where there is nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from zeroevidence.evaluation.comparing.comparison import Comparison
from zeroevidence.measure.measures import MEASURES
from zeroevidence.report.html.content import Cell, Table
from zeroevidence.report.layout.formatting import number
from zeroevidence.report.tables.comparisons import comparison_title
from zeroevidence.report.verdict.phrases import Verdict


def comparison_tables(comparison: Comparison) -> dict[str, Any]:
    """Title, ranking and pairwise differences of one measure."""
    unit = MEASURES[comparison.measure].unit

    def cell(value: float) -> Cell:
        return Cell(number(value, unit), order=repr(value))

    def bounds(low: float | None, high: float | None) -> Cell:
        return Cell("" if low is None or high is None else f"[{number(low, unit)}, {number(high, unit)}]")

    ranking = [
        (Cell(one.system), Cell(str(one.group), order=str(one.group)), cell(one.value), bounds(one.low, one.high))
        for one in comparison.ranking
    ]
    pairs = [
        (
            Cell(f"{one.first} − {one.second}"),
            cell(one.difference.value),
            bounds(one.difference.low, one.difference.high),
            Cell(f"{one.p_holm:.2g}", order=repr(one.p_holm)),
        )
        for one in comparison.pairs
    ]
    return {
        "title": comparison_title(comparison),
        "ranking": Table(
            (("system", ""), ("group", ""), ("value", MEASURES[comparison.measure].meaning), ("95 % interval", "")),
            tuple(ranking),
            1,
        ),
        "pairs": Table(
            (
                ("difference", ""),
                ("value", ""),
                ("95 % interval", ""),
                ("p", "Holm-corrected for the number of pairs"),
            ),
            tuple(pairs),
            1,
        ),
    }


def comparison_verdict(comparisons: Sequence[Comparison]) -> Verdict:
    """Which system discloses least, and whether the trials tell it from the others."""
    sentences, least = [], {}
    for one in comparisons:
        first = [entry.system for entry in one.ranking if entry.group == one.ranking[0].group]
        least[one.ranking[0].system] = True
        on = ", ".join(one.labels.values())
        title, count = MEASURES[one.measure].title + (f" ({on})" if on else ""), len(one.ranking)
        if len(first) == 1:
            sentences.append(
                f"By {title}, {first[0]} discloses least of {count} systems, and chance does not explain it."
            )
        else:
            sentences.append(
                f"By {title}, {first[0]} discloses least of {count} systems, but these trials do not tell it from "
                f"{', '.join(first[1:])}."
            )
    headline = (
        f"{next(iter(least))} discloses least" if len(least) == 1 else "The measures disagree on which discloses least"
    )
    sentences.append(
        "To disclose less than others is not yet to protect: that is for the results of each system to say."
    )
    return Verdict("described", headline, " ".join(sentences))
