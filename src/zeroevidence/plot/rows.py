"""Rows of a figure: results or two arrays of scores, and a choice among them by number and label."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from numpy.typing import ArrayLike

from zeroevidence.errors import UsageError
from zeroevidence.evaluation import Evaluation, evaluate

Results = Evaluation | Sequence[Evaluation]


def evaluate_scores(target: ArrayLike, nontarget: ArrayLike) -> Evaluation:
    """Two arrays of scores as a result; figures need no intervals and no null."""
    return evaluate(target, nontarget, intervals=0, null=0)


def as_rows(results: Any, nontarget: Any = None) -> list[Evaluation]:
    """Return the argument of a figure as a list of rows."""
    if nontarget is not None:
        if any(_holds_results(argument) for argument in (results, nontarget)):
            raise UsageError("expected several results as one list, as in ece([a, b])")
        return [evaluate_scores(results, nontarget)]
    if isinstance(results, Evaluation):
        return [results]
    rows = list(results) if isinstance(results, Iterable) else [results]
    if not rows:
        raise UsageError("expected at least one result, got none")
    other = next((row for row in rows if not isinstance(row, Evaluation)), None)
    if other is not None:
        raise UsageError(f"expected results of `evaluate`, or target and non-target scores, got {type(other).__name__}")
    return rows


def _holds_results(argument: Any) -> bool:
    items = argument if isinstance(argument, Sequence) else [argument]
    return any(isinstance(item, Evaluation) for item in items)


def choose_rows(
    rows: Sequence[Evaluation], *, numbers: Sequence[int] = (), where: Iterable[tuple[str, str]] = ()
) -> list[Evaluation]:
    """Rows by number, counted from 1, and by label.

    Parameters
    ----------
    rows
        Rows to choose from.
    numbers
        Numbers of the rows, in the order of the result; all rows unless given.
    where
        Labels and the value that each must have; attackers can also be chosen by the name of their threat model.

    Examples
    --------
    >>> from zeroevidence import evaluate
    >>> result = evaluate([2.0, 3.0, 1.5], [0.0, 1.0, 1.7], intervals=0, null=0, labels={"system": "mine"})
    >>> len(choose_rows([result, result], where=[("system", "mine")])), len(choose_rows([result, result], numbers=[2]))
    (2, 1)
    """
    beyond = [number for number in numbers if not 1 <= number <= len(rows)]
    if beyond:
        raise UsageError(f"there is no row {beyond[0]}; the results have {len(rows)}")
    chosen = [rows[number - 1] for number in numbers] if numbers else list(rows)
    for label, value in where:
        values = sorted({row.labels[label] for row in chosen if label in row.labels})
        chosen = [row for row in chosen if label_matches(row, label, value)]
        if not chosen:
            there = f"it is {', '.join(map(repr, values))}" if values else "no row has that label"
            raise UsageError(f"no row has {label}={value}; {there}")
    return chosen


def label_matches(row: Evaluation, label: str, value: str) -> bool:
    """Whether a label of a row has this value; an attacker may also be named by its threat model."""
    threat = row.about.threat
    return value in (row.labels.get(label), None if label != "attacker" or threat is None else threat.name)
