"""A tandem as a whole, and in the parts that a column of its key tells apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zeroevidence.data.formats.asvspoof.read import LoadedTandem
from zeroevidence.evaluation.rows.evaluation import Evaluation
from zeroevidence.evaluation.tandem.evaluate import evaluate_tandem


def evaluate_conditions(
    loaded: LoadedTandem, by: str | None = None, *, labels: Mapping[str, str] | None = None, **how: Any
) -> list[Evaluation]:
    """The row of all trials and, where they were read by a column, a row for each of its values.

    Parameters
    ----------
    loaded
        What `read_tandem` gave.
    by
        The column, which labels the rows of its values; ``attack`` gives a row for each attack.
    labels
        As in `evaluate_tandem`.
    **how
        As in `evaluate_tandem`.
    """
    settings = {"relaxed": loaded.relaxed, "phase": loaded.phase, **how}
    rows = evaluate_tandem(loaded.data, by_attack=by == "attack", labels=labels, **settings)
    for value, scores in loaded.parts.items():
        rows += evaluate_tandem(scores, labels={**(labels or {}), str(by): value}, **settings)
    return rows
