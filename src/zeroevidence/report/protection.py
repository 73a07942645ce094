"""What is left of an attribute, in four tables as in [Noé et al. 2022]: classes, tags, information, verification."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from zeroevidence.evaluation import Evaluation, joint_signature
from zeroevidence.report import check_format, render
from zeroevidence.report.cells import cell, flagged, heading, p_value, row_numbers, under_null
from zeroevidence.report.grid import Grid, grids_to_latex, grids_to_markdown

_TAGS = "0ABCDEF"
NOTE = (
    "The strongest of the attackers' classifiers is shown; they were trained on vectors protected in the same way, of "
    "other people. D_ECE under the null is what it is when the attribute is dealt to people at random."
)


def render_protection(rows: Sequence[Evaluation], format: str, signatures: bool = False) -> str:
    """Rows of `zeroevidence.protect.assess`; JSON and CSV hold every classifier, text all signatures where asked to."""
    check_format(format)
    if format in ("json", "csv"):
        return render(rows, format)
    strongest = _strongest(rows)
    verified = [row for row in rows if row.about.role == "utility"]
    shown = [*strongest, *verified]
    flags, own = flagged(shown), [row.signature for row in shown]
    numbers = row_numbers(shown)
    first, rest = numbers[: len(strongest)], numbers[len(strongest) :]
    grids = [_classification(rows, strongest, first), _tags(strongest, first), _information(strongest)]
    grids += [_verification(verified, rest)] if verified else []
    if format == "text":
        from zeroevidence.report.text import grids_to_text

        return grids_to_text(grids, [NOTE], flags, own, all_of_them=signatures, joint=joint_signature(own))
    return {"md": grids_to_markdown, "latex": grids_to_latex}[format](grids, [NOTE, *map(str, flags)], own)


def _key(row: Evaluation) -> tuple[str, ...]:
    return tuple(row.labels.get(name, "") for name in ("system", "attribute", "class"))


def _strongest(rows: Sequence[Evaluation]) -> list[Evaluation]:
    """The test row of the strongest classifier of each system, attribute and class: the first, as they are ordered."""
    found: dict[tuple[str, ...], Evaluation] = {}
    for row in rows:
        if row.about.question == "attribute" and row.about.role != "training":
            found.setdefault(_key(row), row)
    return list(found.values())


def _named(rows: Sequence[Evaluation]) -> tuple[str, ...]:
    """The labels that tell rows apart; the system always does."""
    return ("system", *(name for name in ("attribute", "class") if len({row.labels.get(name) for row in rows}) > 1))


def _cells(row: Evaluation, names: Sequence[str]) -> tuple[str, ...]:
    return tuple(row.labels.get(name, "") for name in names)


def _classification(rows: Sequence[Evaluation], strongest: Sequence[Evaluation], numbers: tuple[int, ...]) -> Grid:
    seen = {(_key(row), row.labels["attacker"]): row for row in rows if row.about.role == "training"}
    names = (*_named(strongest), "attacker")
    body = []
    for row in strongest:
        train = seen.get((_key(row), row.labels["attacker"]))
        own = {} if train is None else train.metrics
        tested = row.metrics["d_ece"]
        shown = (own.get("cllr_min"), own.get("d_ece"), row.metrics["cllr_min"], tested)
        body.append(
            (*_cells(row, names), *(cell(one, "\n") for one in shown), under_null(row, "d_ece"), p_value(tested))
        )
    columns = (
        *("min Cllr, trained on", "D_ECE, trained on", "min Cllr, test", "D_ECE, test"),
        *("D_ECE under the null", "p"),
    )
    attributes = {row.about.attribute for row in strongest}
    title = f"Classification of the attribute {attributes.pop()}" if len(attributes) == 1 else "Classification"
    return Grid(title, (*names, *columns), tuple(body), len(names), numbers)


def _tags(strongest: Sequence[Evaluation], numbers: tuple[int, ...]) -> Grid:
    names = _named(strongest)
    body = []
    for row in strongest:
        counts = row.metrics["tag_counts"].value
        assert isinstance(counts, Mapping)
        body.append((*_cells(row, names), *(str(counts.get(tag, 0)) for tag in _TAGS)))
    return Grid("Test vectors by tag", (*names, *_TAGS), tuple(body), len(names), numbers)


def _information(strongest: Sequence[Evaluation]) -> Grid:
    """Of each system and attribute, whatever the class."""
    names = tuple(name for name in _named(strongest) if name != "class")
    body = {_cells(row, names): cell(row.metrics.get("mutual_information"), "\n") for row in strongest}
    title = heading("mutual_information")
    return Grid("Mutual information", (*names, title), tuple((*k, v) for k, v in body.items()), len(names))


def _verification(rows: Sequence[Evaluation], numbers: tuple[int, ...]) -> Grid:
    measures = ("eer", "cllr_min")
    body = tuple((row.labels.get("system", ""), *(cell(row.metrics[name], "\n") for name in measures)) for row in rows)
    title = "Speaker verification, both sides protected"
    return Grid(title, ("system", *map(heading, measures)), body, 1, numbers)
