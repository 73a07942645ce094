"""Groups of people that were searched separately."""

from __future__ import annotations

from collections.abc import Sequence

from zeroevidence.evaluation import Evaluation, Finding
from zeroevidence.evaluation.finding.finding import PEOPLE_LABELS


def group_labels(rows: Sequence[Evaluation], finding: Finding) -> list[str]:
    """Labels that tell groups of people apart, where there are several."""
    compared = [rows[i].labels for i in finding.by_system]
    return [name for name in PEOPLE_LABELS if len({labels.get(name) for labels in compared}) > 1]


def system_text(name: str) -> str:
    """The name of a system within a sentence; one without letters, such as that of a folder, gets a noun.

    Examples
    --------
    >>> system_text("mcadams"), system_text("1")
    ('mcadams', 'system 1')
    """
    return name if any(map(str.isalpha, name)) else f"system {name}"


def group_text(row: Evaluation, names: Sequence[str]) -> str:
    """The group of a row, in brackets."""
    group = ", ".join(row.labels[name] for name in names if name in row.labels)
    return f" ({group})" if group else ""
