"""Comparisons of systems in a report: tables, and a verdict where there is nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from zeroevidence.evaluation.comparing.comparison import Comparison
from zeroevidence.measure.measures import MEASURES
from zeroevidence.report.html.tables import Cell, HtmlTable, count_cell, number_cell
from zeroevidence.report.layout.formatting import interval, interval_title, number
from zeroevidence.report.tables.comparisons import comparison_title
from zeroevidence.report.verdict.comparison import comparison_sentence
from zeroevidence.report.verdict.phrases import Verdict, unbroken
from zeroevidence.uncertainty.level import percent


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
            Cell("") if (size := pair.difference.detectable) is None else number_cell(size, number(size, unit)),
        )
        for pair in comparison.pairs
    )
    value, ends = ("value", MEASURES[comparison.measure].meaning), (interval_title(comparison.level), "")
    corrected = "Holm-corrected for the number of pairs"
    of_pairs = ends if len(pairs) < 2 else ("interval", f"{corrected}: excludes 0 where p is small enough")
    seen = (f"seen in {percent(comparison.power)}", "the true difference that would be found so often")
    return {
        "title": comparison_title(comparison),
        "sentence": unbroken(comparison_sentence(comparison)),
        "ranking": HtmlTable((("system", ""), ("group", ""), value, ends), ranking, 1),
        "pairs": HtmlTable((("difference", ""), ("value", ""), of_pairs, ("p", corrected), seen), pairs, 1),
    }


def comparison_verdict(comparisons: Sequence[Comparison]) -> Verdict:
    """Which system discloses least, and whether the trials tell it from the others."""
    sentences = [comparison_sentence(comparison) for comparison in comparisons]
    least = list(dict.fromkeys(comparison.ranking[0].system for comparison in comparisons))
    systems = list(dict.fromkeys(system.system for comparison in comparisons for system in comparison.ranking))
    of_two, other = len(systems) == 2, systems[-1]
    if len(least) > 1:
        headline = f"The measures disagree on which discloses {'less' if of_two else 'least'}"
    elif told := [comparison for comparison in comparisons if comparison.is_first_told_apart]:
        headline = f"{least[0]} discloses {f'less than {other}' if of_two else 'least'}"
        if len(told) < len(comparisons):
            measures = list(dict.fromkeys(MEASURES[comparison.measure].title for comparison in told))
            headline += f", though it is told apart only by {' and '.join(measures)}"
    else:
        headline = "Neither system is shown to disclose less" if of_two else "No system is shown to disclose least"
    sentences.append(
        "A system that discloses less than others need not protect well; each system's results say whether it does."
    )
    return Verdict("described", headline, unbroken(" ".join(sentences)))
