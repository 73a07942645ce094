"""What is left of an attribute, in tables as in [Noé et al. 2022]: classes, tags, information, verification.

Beside them stand all attackers, and the curve over the people that a protector was fitted on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from zeroevidence.evaluation import Evaluation, joint_signature
from zeroevidence.report import check_format, render
from zeroevidence.report.layout.formatting import cell, flagged, heading, p_value, row_numbers, under_null
from zeroevidence.report.layout.grid import Grid, grids_to_markdown
from zeroevidence.report.layout.latex import grids_to_latex

_TAGS = "0ABCDEF"
_INFORMATION = ("mutual_information", "attribute_bits")  # the second of more than two classes together
_CURVE = "d_ece_over_people"
NOTE = (
    "The strongest of the attackers' classifiers is shown; they were trained on vectors protected in the same way, of "
    "other people. D_ECE under the null is what it is when the attribute is dealt to people at random."
)
_CHOSEN = (
    "The strongest was chosen on the people that attackers learned from, by D_ECE when these are held out in turn; the "
    "tested people chose nothing. It is marked with *."
)
_NOT_CHOSEN = "The strongest is that of the tested people, which flatters the attack. It is marked with *."


def render_attribute_classes(rows: Sequence[Evaluation], format: str, signatures: bool = False) -> str:
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
    attackers, over_people = _attackers(rows, strongest), _over_people(strongest)
    grids[1:1] = [grid for grid in (attackers, over_people) if grid.body]
    notes = [NOTE, *([_choice(strongest)] if attackers.body else [])]
    if format == "text":
        from zeroevidence.report.text import grids_to_text

        return grids_to_text(grids, notes, flags, own, all_of_them=signatures, joint=joint_signature(own))
    return {"md": grids_to_markdown, "latex": grids_to_latex}[format](grids, [*notes, *map(str, flags)], own)


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
    developed = any(row.about.development is not None for row in strongest)
    body = []
    for row in strongest:
        train = seen.get((_key(row), row.labels["attacker"]))
        own = {} if train is None else train.metrics
        tested = row.metrics["d_ece"]
        shown = (own.get("cllr_min"), own.get("d_ece"), row.metrics["cllr_min"], tested)
        held_out = (_held_out(row),) if developed else ()
        numbers_shown = (*(cell(one, "\n") for one in shown), under_null(row, "d_ece"), p_value(tested))
        body.append((*_cells(row, names), *held_out, *numbers_shown))
    columns = (
        *(("D_ECE, held out",) if developed else ()),
        *("min Cllr, trained on", "D_ECE, trained on", "min Cllr, test", "D_ECE, test"),
        *("D_ECE under the null", "p"),
    )
    attributes = {row.about.attribute for row in strongest}
    title = f"Classification of the attribute {attributes.pop()}" if len(attributes) == 1 else "Classification"
    return Grid(title, (*names, *columns), tuple(body), len(names), numbers)


def _held_out(row: Evaluation) -> str:
    return "" if row.about.development is None else f"{row.about.development:.4f}"


def _choice(strongest: Sequence[Evaluation]) -> str:
    return _CHOSEN if all(row.about.development is not None for row in strongest) else _NOT_CHOSEN


def _attackers(rows: Sequence[Evaluation], strongest: Sequence[Evaluation]) -> Grid:
    """D_ECE of every attacker on the tested people, a column for each system, attribute and class."""
    tested = [row for row in rows if row.about.question == "attribute" and row.about.role != "training"]
    found = {(row.labels["attacker"], _key(row)): row for row in tested}
    first = {_key(row): row.labels["attacker"] for row in strongest}
    judges = {row.labels["attacker"]: "person" if row.about.pooled else "vector" for row in tested}
    names = _named(strongest)
    columns = {_key(row): ", ".join(filter(None, _cells(row, names))) for row in strongest}
    body = tuple(
        (attacker, judged, *(_marked(found.get((attacker, key)), attacker == first[key]) for key in columns))
        for attacker, judged in sorted(judges.items(), key=lambda item: (item[1] == "person", item[0]))
    )
    title = "D_ECE of every attacker on the tested people"
    return Grid(title, ("attacker", "judges one", *columns.values()), body if len(body) > 1 else (), 2)


def _marked(row: Evaluation | None, first: bool) -> str:
    return "" if row is None else f"{float(row.metrics['d_ece']):.3f}{' *' if first else ''}"


def _over_people(strongest: Sequence[Evaluation]) -> Grid:
    """What protectors leave that were fitted on fewer people."""
    curves = [(row, row.curves[_CURVE]) for row in strongest if _CURVE in row.curves]
    sizes = sorted({int(size) for _, curve in curves for size in curve.x})
    names = _named(strongest)
    body = []
    for row, curve in curves:
        left = dict(zip(curve.x, curve.y, strict=True))
        body.append((*_cells(row, names), *(f"{left[size]:.3f}" if size in left else "" for size in sizes)))
    title = "D_ECE after fitting on so many people"
    return Grid(title, (*names, *map(str, sizes)), tuple(body), len(names))


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
    measures = [name for name in _INFORMATION if any(name in row.metrics for row in strongest)]
    body = {
        _cells(row, names): tuple(cell(row.metrics.get(name), "\n") for name in measures)
        for row in reversed(strongest)  # of several classes the first row counts
    }
    lines = tuple((*key, *cells) for key, cells in reversed(body.items()))
    return Grid("Mutual information", (*names, *map(heading, measures)), lines, len(names))


def _verification(rows: Sequence[Evaluation], numbers: tuple[int, ...]) -> Grid:
    measures = ("eer", "cllr_min")
    body = tuple((row.labels.get("system", ""), *(cell(row.metrics[name], "\n") for name in measures)) for row in rows)
    title = "Speaker verification, both sides protected"
    return Grid(title, ("system", *map(heading, measures)), body, 1, numbers)
