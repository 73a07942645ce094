"""What is left of an attribute, in four tables as in [Noé et al. 2022]: classes, tags, information, verification."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from zeroevidence.errors import UsageError
from zeroevidence.evaluation import Evaluation
from zeroevidence.report import render
from zeroevidence.report.cells import cell, heading, under_null
from zeroevidence.report.grid import Grid, grids_to_latex, grids_to_markdown, grids_to_text

_WRITERS = {"text": grids_to_text, "md": grids_to_markdown, "latex": grids_to_latex}
_TAGS = "0ABCDEF"
NOTE = (
    "The strongest of the attackers' classifiers is shown; they were trained on vectors protected in the same way, of "
    "other people. D_ECE under the null is what it is when the attribute is dealt to people at random."
)


def render_protection(rows: Sequence[Evaluation], format: str) -> str:
    """Rows of `zeroevidence.protect.assess`; JSON and CSV hold every classifier."""
    if format in ("json", "csv"):
        return render(rows, format)
    if format not in _WRITERS:
        raise UsageError(f"unknown output format {format!r}; expected text, json, md, latex or csv")
    strongest = _strongest(rows)
    grids = [*_classification(rows, strongest), _tags(strongest), _information(strongest)]
    verified = [row for row in rows if "attribute" not in row.labels]
    if verified:
        grids.append(_verification(verified))
    flags = dict.fromkeys(flag for row in (*strongest, *verified) for flag in row.flags)
    return _WRITERS[format](grids, [NOTE, *flags], [row.signature for row in (*strongest, *verified)])


def _key(row: Evaluation) -> tuple[str, ...]:
    return tuple(row.labels.get(name, "") for name in ("system", "attribute", "class"))


def _strongest(rows: Sequence[Evaluation]) -> list[Evaluation]:
    """The test row of the strongest classifier of each system, attribute and class: the first, as they are ordered."""
    found: dict[tuple[str, ...], Evaluation] = {}
    for row in rows:
        if "attribute" in row.labels and row.labels.get("split") == "test":
            found.setdefault(_key(row), row)
    return list(found.values())


def _named(rows: Sequence[Evaluation]) -> tuple[str, ...]:
    return tuple(name for name in ("system", "attribute", "class") if any(name in row.labels for row in rows))


def _cells(row: Evaluation, names: Sequence[str]) -> tuple[str, ...]:
    return tuple(row.labels.get(name, "") for name in names)


def _classification(rows: Sequence[Evaluation], strongest: Sequence[Evaluation]) -> list[Grid]:
    seen = {(_key(row), row.labels["attacker"]): row for row in rows if row.labels.get("split") == "train"}
    names = (*_named(strongest), "attacker")
    body = []
    for row in strongest:
        train = seen.get((_key(row), row.labels["attacker"]))
        own = {} if train is None else train.metrics
        shown = (own.get("cllr_min"), own.get("d_ece"), row.metrics["cllr_min"], row.metrics["d_ece"])
        body.append((*_cells(row, names), *map(cell, shown), under_null(row.metrics["d_ece"])))
    columns = ("min Cllr, trained on", "D_ECE, trained on", "min Cllr, test", "D_ECE, test", "D_ECE under the null")
    return [Grid("Classification of the attribute", (*names, *columns), tuple(body), len(names))]


def _tags(strongest: Sequence[Evaluation]) -> Grid:
    names = _named(strongest)
    body = []
    for row in strongest:
        counts = row.metrics["tag_counts"].value
        assert isinstance(counts, Mapping)
        body.append((*_cells(row, names), *(str(counts.get(tag, 0)) for tag in _TAGS)))
    return Grid("Test vectors by tag", (*names, *_TAGS), tuple(body), len(names))


def _information(strongest: Sequence[Evaluation]) -> Grid:
    names = tuple(name for name in _named(strongest) if name != "class")
    body = {_cells(row, names): cell(row.metrics.get("mutual_information")) for row in strongest}
    title = heading("mutual_information")
    return Grid("Mutual information", (*names, title), tuple((*k, v) for k, v in body.items()), len(names))


def _verification(rows: Sequence[Evaluation]) -> Grid:
    measures = ("eer", "cllr_min")
    body = tuple((row.labels.get("system", ""), *(cell(row.metrics[name]) for name in measures)) for row in rows)
    return Grid("Speaker verification, both sides protected", ("system", *map(heading, measures)), body, 1)
