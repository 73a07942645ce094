"""Comparisons of systems in a report: tables, and a verdict where there is nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from zeroevidence.evaluation.comparing.comparison import Comparison
from zeroevidence.measure.measures import MEASURES
from zeroevidence.report.html.tables import Cell, HtmlTable, count_cell, number_cell
from zeroevidence.report.layout.formatting import interval, interval_title, number
from zeroevidence.report.tables.comparisons import comparison_title
from zeroevidence.report.verdict.phrases import Verdict


def comparison_tables(comparison: Comparison) -> dict[str, Any]:
    """Title, ranking and pairwise differences of one measure."""
    unit = MEASURES[comparison.measure].unit

    def cells(value: float, low: float | None, high: float | None) -> tuple[Cell, Cell]:
        return number_cell(value, number(value, unit)), Cell(interval(low, high, unit))

    ranking = tuple(
        (Cell(system.system), count_cell(system.group), *cells(system.value, system.low, system.high))
        for system in comparison.ranking
    )
    pairs = tuple(
        (
            Cell(f"{pair.first} − {pair.second}"),
            *cells(pair.difference.value, pair.difference.low, pair.difference.high),
            number_cell(pair.p_holm, f"{pair.p_holm:.2g}"),
        )
        for pair in comparison.pairs
    )
    value, ends = ("value", MEASURES[comparison.measure].meaning), (interval_title(comparison.level), "")
    p = ("p", "Holm-corrected for the number of pairs")
    return {
        "title": comparison_title(comparison),
        "ranking": HtmlTable((("system", ""), ("group", ""), value, ends), ranking, 1),
        "pairs": HtmlTable((("difference", ""), ("value", ""), ends, p), pairs, 1),
    }


def comparison_verdict(comparisons: Sequence[Comparison]) -> Verdict:
    """Which system discloses least, and whether the trials tell it from the others."""
    sentences, least = [], {}
    for comparison in comparisons:
        first, *rest = comparison.ranking
        same = [system.system for system in rest if system.group == first.group]
        least[first.system] = True
        data = ", ".join(comparison.labels.values())
        title = MEASURES[comparison.measure].title + (f" ({data})" if data else "")
        claim = f"By {title}, {first.system} discloses least of {len(comparison.ranking)} systems"
        sentences.append(
            f"{claim}, but these trials do not tell it from {', '.join(same)}."
            if same
            else f"{claim}, and chance does not explain it."
        )
    headline = (
        f"{next(iter(least))} discloses least" if len(least) == 1 else "The measures disagree on which discloses least"
    )
    sentences.append(
        "A system that discloses less than others need not protect well; each system's results say whether it does."
    )
    return Verdict("described", headline, " ".join(sentences))
