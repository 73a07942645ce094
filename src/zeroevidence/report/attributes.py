"""Evidence left about an attribute with classes, in tables as in [Noé et al. 2022]."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from zeroevidence.evaluation import Evaluation, joint_signature
from zeroevidence.evaluation.finding.beside import front_points
from zeroevidence.protect.choice import Choice
from zeroevidence.report import check_format, render
from zeroevidence.report.layout import (
    cells,
    estimate_text,
    heading,
    measure_columns,
    null_cell,
    p_value,
    raised_flags,
    row_numbers,
)
from zeroevidence.report.rendering import render_grids
from zeroevidence.report.table import Grid

_TAGS = "0ABCDEF"
_INFORMATION = ("mutual_information", "attribute_bits")  # the second of more than two classes together
_CLASSES_NOTE = (
    "The strongest of the attackers' classifiers is shown; they were trained on vectors protected in the same way, of "
    "other people. D_ECE under the null is its value when the attribute is assigned to people at random."
)
_CHOSEN = (
    "The strongest was chosen on the people that attackers learned from, by D_ECE when these are held out in turn; the "
    "tested people had no part in the choice. It is marked with *."
)
_NOT_CHOSEN = "The strongest was chosen on the tested people, which favours the attack. It is marked with *."


def render_attribute_classes(
    rows: Sequence[Evaluation], format: str, signatures: bool = False, *, estimate: bool = False
) -> str:
    """Return the tables of rows from `zeroevidence.protect.assess`; JSON and CSV hold every classifier."""
    check_format(format)
    if format in ("json", "csv"):
        return render(rows, format, estimate=estimate)
    strongest = _strongest(rows)
    verified = [row for row in rows if row.about.role == "utility"]
    numbers = row_numbers([*strongest, *verified])
    first, rest = numbers[: len(strongest)], numbers[len(strongest) :]
    attackers = _attackers(rows, strongest)
    grids = [_classification(rows, strongest, first, estimate=estimate), attackers, _tags(strongest, first)]
    grids += [_information(strongest), _verification(verified, rest, estimate=estimate)]
    notes = [_CLASSES_NOTE, *([_choice(strongest)] if attackers.body else [])]
    return render_attribute(grids, format, notes, [*strongest, *verified], each=signatures)


def render_attribute(
    grids: Sequence[Grid], format: str, notes: Sequence[str], rows: Sequence[Evaluation], *, each: bool
) -> str:
    """Return the tables that have lines, with the warnings and signatures of their rows."""
    signatures = [row.signature for row in rows]
    return render_grids(
        [grid for grid in grids if grid.body],
        format,
        notes=notes,
        flags=raised_flags(rows),
        signatures=signatures,
        each=each,
        joint=joint_signature(signatures),
    )


def _verification(rows: Sequence[Evaluation], numbers: tuple[int, ...], *, estimate: bool = False) -> Grid:
    """Speaker verification with protected vectors, a line for each system."""
    columns = measure_columns(rows, ("eer", "cllr_min"), estimate=estimate)
    body = tuple((row.labels.get("system", ""), *(column.cell(row) for column in columns)) for row in rows)
    headings = ("system", *(column.heading for column in columns))
    return Grid("Speaker verification, both sides protected", headings, body, 1, numbers)


def _key(row: Evaluation) -> tuple[str, ...]:
    return _labels(row, ("system", "attribute", "class"))


def _strongest(rows: Sequence[Evaluation]) -> list[Evaluation]:
    """The test row of the strongest classifier of each system, attribute and class: the first, as they are ordered."""
    first: dict[tuple[str, ...], Evaluation] = {}
    for row in rows:
        if row.about.question == "attribute" and row.about.role != "training":
            first.setdefault(_key(row), row)
    return list(first.values())


def _differing(rows: Sequence[Evaluation]) -> tuple[str, ...]:
    """The labels that tell rows apart; the system always does."""
    return ("system", *(name for name in ("attribute", "class") if len({row.labels.get(name) for row in rows}) > 1))


def _labels(row: Evaluation, names: Sequence[str]) -> tuple[str, ...]:
    return tuple(row.labels.get(name, "") for name in names)


def _classification(
    rows: Sequence[Evaluation], strongest: Sequence[Evaluation], numbers: tuple[int, ...], *, estimate: bool
) -> Grid:
    training = {(_key(row), row.labels["attacker"]): row for row in rows if row.about.role == "training"}
    names = (*_differing(strongest), "attacker")
    developed = any(row.about.development is not None for row in strongest)
    body = []
    for row in strongest:
        trained = training.get((_key(row), row.labels["attacker"]))
        held_out = "" if row.about.development is None else f"{row.about.development:.4f}"
        on_training = ("", "") if trained is None else cells(trained, ("cllr_min", "d_ece"))
        estimates = [estimate_text(row.metrics[name]) for name in ("cllr_min", "d_ece")] if estimate else []
        tested = (
            *cells(row, ("cllr_min", "d_ece")),
            *estimates,
            null_cell(row, "d_ece"),
            p_value(row.metrics["d_ece"]),
        )
        body.append((*_labels(row, names), *([held_out] if developed else []), *on_training, *tested))
    columns = (
        *(("D_ECE, held out",) if developed else ()),
        *("min Cllr, trained on", "D_ECE, trained on", "min Cllr, test", "D_ECE, test"),
        *(("min Cllr estimate, test", "D_ECE estimate, test") if estimate else ()),
        *("D_ECE under the null", "p"),
    )
    attributes = {row.about.attribute for row in strongest}
    title = f"Classification of the attribute {attributes.pop()}" if len(attributes) == 1 else "Classification"
    return Grid(title, (*names, *columns), tuple(body), len(names), numbers)


def _choice(strongest: Sequence[Evaluation]) -> str:
    return _CHOSEN if all(row.about.development is not None for row in strongest) else _NOT_CHOSEN


def _attackers(rows: Sequence[Evaluation], strongest: Sequence[Evaluation]) -> Grid:
    """D_ECE of every attacker on the tested people, a column for each system, attribute and class."""
    tested = [row for row in rows if row.about.question == "attribute" and row.about.role != "training"]
    by_attacker = {(row.labels["attacker"], _key(row)): row for row in tested}
    first = {_key(row): row.labels["attacker"] for row in strongest}
    judges = {row.labels["attacker"]: "person" if row.about.pooled else "vector" for row in tested}
    names = _differing(strongest)
    columns = {_key(row): ", ".join(filter(None, _labels(row, names))) for row in strongest}
    body = tuple(
        (attacker, judged, *(_d_ece_text(by_attacker.get((attacker, key)), first[key]) for key in columns))
        for attacker, judged in sorted(judges.items(), key=lambda item: (item[1] == "person", item[0]))
    )
    title = "D_ECE of every attacker on the tested people"
    return Grid(title, ("attacker", "judges one", *columns.values()), body if len(body) > 1 else (), 2)


def _d_ece_text(row: Evaluation | None, chosen: str) -> str:
    """The D_ECE of an attacker, with a star where it is the chosen one."""
    if row is None:
        return ""
    return f"{float(row.metrics['d_ece']):.3f}{' *' if row.labels['attacker'] == chosen else ''}"


def _tags(strongest: Sequence[Evaluation], numbers: tuple[int, ...]) -> Grid:
    names = _differing(strongest)
    body = []
    for row in strongest:
        counts = row.metrics["tag_counts"].value
        assert isinstance(counts, Mapping)
        body.append((*_labels(row, names), *(str(counts.get(tag, 0)) for tag in _TAGS)))
    return Grid("Test vectors by tag", (*names, *_TAGS), tuple(body), len(names), numbers)


def _information(strongest: Sequence[Evaluation]) -> Grid:
    """Mutual information of each system and attribute, whatever the class."""
    names = tuple(name for name in _differing(strongest) if name != "class")
    measures = [name for name in _INFORMATION if any(name in row.metrics for row in strongest)]
    # of several classes the first row counts
    body = {_labels(row, names): cells(row, measures) for row in reversed(strongest)}
    lines = tuple((*key, *texts) for key, texts in reversed(body.items()))
    return Grid("Mutual information", (*names, *map(heading, measures)), lines, len(names))


_UTILITY = ("eer", "top1")
_FRONT_NOTE = (
    "The strongest attacker of each protector and strength is shown, trained on vectors protected in the same way, of "
    "other people. A star marks the Pareto front: no other row leaves less evidence at an EER that is not higher."
)


def render_pareto_front(
    rows: Sequence[Evaluation], format: str, signatures: bool = False, *, estimate: bool = False
) -> str:
    """Return the table of rows from `zeroevidence.protect.strengths.assess_strengths`.

    JSON and CSV hold every classifier.
    """
    check_format(format)
    if format in ("json", "csv"):
        return render(rows, format, estimate=estimate)
    points = front_points(rows)
    evidence = measure_columns([point.attack for point in points], ["d_ece"], estimate=estimate)
    body = tuple(
        (
            *(point.protector, f"{point.strength:g}", point.attack.labels["attacker"], "*" if point.on_front else ""),
            *(column.cell(point.attack) for column in evidence),
            *(null_cell(point.attack, "d_ece"), *cells(point.utility, _UTILITY)),
        )
        for point in points
    )
    columns = ("protector", "strength", "attacker", "front", *(column.heading for column in evidence))
    grid = Grid("Privacy against utility", (*columns, "under the null", *map(heading, _UTILITY)), body, 4)
    shown = [row for point in points for row in (point.attack, point.utility)]
    return render_attribute([grid], format, [_FRONT_NOTE], shown, each=signatures)


def render_protector_choice(choice: Choice, attribute: str) -> str:
    """Return the table as text."""
    before, after = choice.unprotected, choice.chosen
    rows = [
        (f"D_ECE of {attribute}, one vector", f"{before.d_ece:.2f}", f"{after.d_ece:.2f}"),
        (f"D_ECE of {attribute}, all of a person", f"{before.person_d_ece:.2f}", f"{after.person_d_ece:.2f}"),
        ("kept: EER", f"{100 * before.eer:.1f} %", f"{100 * after.eer:.1f} %"),
        (f"kept: top-1 of {choice.searched} people", f"{100 * before.top1:.1f} %", f"{100 * after.top1:.1f} %"),
    ]
    for kept in choice.kept:
        classes = f", {len(kept.boundaries) + 1} classes" if kept.boundaries else ""
        rows.append((f"kept: D_ECE of {kept.name}{classes}", f"{kept.unprotected:.2f}", f"{kept.protected:.2f}"))
    grid = Grid("Chosen by cross-validation over people", ("", "unprotected", "protected"), tuple(rows), 1)
    return render_grids([grid], "text")


def choice_sentence(choice: Choice) -> str:
    """Return what was chosen within which limit, and how another is asked for."""
    chosen = choice.chosen
    option = "--budget" if choice.limit.measure == "eer" else "--target"
    protector = f"{chosen.protector}, noise {chosen.strength:g}"
    if choice.within:
        return f"{choice.limit}: {protector}, chosen on {choice.people} people ({option} changes the limit)"
    return f"no protector stays within {choice.limit}; {protector}, comes nearest ({option} changes the limit)"
