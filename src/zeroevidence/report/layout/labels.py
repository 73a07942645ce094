"""Labels of rows in a table: those that differ get columns, those that all rows share are said once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from zeroevidence.evaluation import Evaluation
from zeroevidence.evaluation.rows.frames import used_labels
from zeroevidence.report.layout.formatting import one_line

_SIDES = ("enrolment", "trial")
_LONG = 30  # letters of a label that leaves too little room for numbers
_MOST_VALUES = 6  # of the label that another follows from: more would not fit into a sentence


@dataclass(frozen=True, slots=True)
class RowLabels:
    """The labels of several rows as a table shows them.

    Parameters
    ----------
    shared
        Labels with the one value that all rows have.
    columns
        The other labels with the value of each row.
    threats
        The threat models that the attackers' names stand for.
    implied
        The label that was left out because it follows from another one, as a sentence.
    """

    shared: dict[str, str]
    columns: dict[str, tuple[str, ...]]
    threats: tuple[str, ...] = ()
    implied: str = ""


def row_labels(rows: Sequence[Evaluation]) -> RowLabels:
    """Separate the labels that rows share from those that differ; of a single row every label differs.

    The sides that an attacker compares are part of the threat model, which is said once. They get no columns where the
    attackers' names stand for them.
    """
    short = _names_suffice(rows)
    values = {
        label: tuple(
            one_line(label_text(row, label) if short or label != "attacker" else row.labels.get(label, ""))
            for row in rows
        )
        for label in used_labels(rows)
    }
    differing = {label: texts for label, texts in values.items() if len(rows) == 1 or len(set(texts)) > 1}
    shared = {label: texts[0] for label, texts in values.items() if label not in differing}
    if short and len(rows) > 1 and all(row.about.threat is not None for row in rows):
        differing = {label: texts for label, texts in differing.items() if label not in _SIDES}
    if "attacker" in shared:
        shared["attacker"] = one_line(rows[0].labels["attacker"])
        return RowLabels(shared, differing)
    threats = dict.fromkeys(str(row.about.threat) for row in rows if row.about.threat is not None) if short else ()
    return RowLabels(shared, differing, tuple(threats))


def label_text(row: Evaluation, label: str) -> str:
    """A label for a table: an attacker by name alone, since the threat model is said once elsewhere."""
    if label == "attacker" and row.about.threat is not None:
        return row.about.threat.name + (" with adapter" if row.about.threat.adapter else "")
    return row.labels.get(label, "")


def _names_suffice(rows: Sequence[Evaluation]) -> bool:
    """Whether each attacker's name stands for one threat model in these rows."""
    models = {
        (label_text(row, "attacker"), str(row.about.threat), row.about.threat.trial)
        for row in rows
        if row.about.threat is not None
    }
    return len(models) == len({name for name, *_ in models})


def without_implied(labels: RowLabels) -> RowLabels:
    """The labels without the column of the widest that follows from another, where some label is long.

    Examples
    --------
    >>> attackers = ("none", "lazy", "semi")
    >>> short = without_implied(RowLabels({}, {"system": ("unprotected", *["shift" * 8] * 2), "attacker": attackers}))
    >>> short.implied
    'system, by attacker: unprotected (none), shiftshiftshiftshiftshiftshiftshiftshift (lazy, semi)'
    >>> list(short.columns)
    ['attacker']
    """
    columns = labels.columns
    lengths = {label: max(map(len, texts)) for label, texts in columns.items()}
    if max(lengths.values(), default=0) <= _LONG:
        return labels
    for label in sorted(columns, key=lambda name: -lengths[name]):
        for other, keys in columns.items():
            if other != label and _follows(columns[label], keys):
                rest = {name: texts for name, texts in columns.items() if name != label}
                return replace(labels, columns=rest, implied=_sentence(label, columns[label], other, keys))
    return labels


def _follows(texts: tuple[str, ...], keys: tuple[str, ...]) -> bool:
    fewer = len(set(texts)) < len(set(keys)) <= _MOST_VALUES
    return fewer and len(set(zip(keys, texts, strict=True))) == len(set(keys))


def _sentence(label: str, texts: tuple[str, ...], other: str, keys: tuple[str, ...]) -> str:
    keys_of: dict[str, dict[str, None]] = {}
    for text, key in zip(texts, keys, strict=True):
        keys_of.setdefault(text, {})[key] = None
    return f"{label}, by {other}: " + ", ".join(f"{text} ({', '.join(keys)})" for text, keys in keys_of.items())
