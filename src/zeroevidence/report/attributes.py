"""Evidence left about an attribute with classes, in tables as in [Noé et al. 2022]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from zeroevidence.evaluation import Evaluation, joint_signature
from zeroevidence.evaluation.finding.beside import changes_by_protection, front_points
from zeroevidence.evaluation.rows.measure_result import Column
from zeroevidence.protect.assessment.classifiers import CLASSIFIERS
from zeroevidence.protect.choice import Choice
from zeroevidence.protect.strengths import Tradeoff
from zeroevidence.report import check_format, render
from zeroevidence.report.layout import raised_flags, row_numbers
from zeroevidence.report.table import (
    ADJUSTED,
    ADJUSTED_NOTE,
    Block,
    Cell,
    Table,
    Tables,
    estimate_cell,
    label_columns,
    measure_column,
    measure_columns,
    names_column,
    null_cell,
    numbers_column,
    p_cell,
    result_cell,
)
from zeroevidence.report.writers import write_tables
from zeroevidence.uncertainty.compare import Difference

_TAGS = "0ABCDEF"
_INFORMATION = ("mutual_information", "attribute_bits")  # the second of more than two classes together
_CLASSES_NOTE = (
    "The strongest classifiers of attackers are shown, who judge one vector or all vectors of a person; they were "
    "trained on vectors protected in the same way, of other people. D_ECE under the null is its value when the "
    f"attribute is assigned to people at random. {ADJUSTED_NOTE}"
)
_ONE_VECTOR_NOTE = "No attacker had all vectors of a person, which tell more than one; the classifiers {} have."
_CHANGE_NOTE = (
    "A change is the value with protection less the value without, on the same people. Taking evidence away makes the "
    "EER rise and top-1 fall; the other way round, the protection marks people or removes what blurred them."
)
_CHOSEN = (
    "The strongest were chosen on the people that attackers learned from, by D_ECE when these are held out in turn; "
    "the tested people had no part in the choice. They are marked with *."
)
_NOT_CHOSEN = "The strongest were chosen on the tested people, which favours the attack. They are marked with *."


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
    tables = [_classification(rows, strongest, first, estimate=estimate), attackers, _tags(strongest, first)]
    tables += [_information(strongest), _verification(verified, rest, estimate=estimate)]
    notes = [_CLASSES_NOTE, *([_choice(strongest)] if attackers.rows else []), *_one_vector_notes(strongest)]
    notes += [_CHANGE_NOTE] if len(verified) > 1 else []
    return _render(tables, notes, [*strongest, *verified], format, signatures=signatures)


def _render(
    tables: Sequence[Table], notes: Sequence[str], rows: Sequence[Evaluation], format: str, *, signatures: bool
) -> str:
    """Return the tables that have lines, with the warnings and signatures of their rows."""
    each = [row.signature for row in rows]
    blocks: list[Block] = [*(table for table in tables if table.rows), *notes, *raised_flags(rows)]
    return write_tables(Tables(blocks, each, joint_signature(each)), format, signatures=signatures)


def _one_vector_notes(attacks: Sequence[Evaluation]) -> list[str]:
    """A note where no attacker judges whole people, with the names of those that do."""
    if any(row.about.pooled for row in attacks):
        return []
    return [_ONE_VECTOR_NOTE.format(", ".join(kind.name for kind in CLASSIFIERS.values() if kind.pools))]


def _key(row: Evaluation) -> tuple[str, ...]:
    return _labels(row, ("system", "attribute", "class"))


def _judged(row: Evaluation) -> str:
    return "person" if row.about.pooled else "vector"


def _strongest(rows: Sequence[Evaluation]) -> list[Evaluation]:
    """The test rows of the strongest classifiers of each system, attribute and class, of vectors and of people.

    They are the first, as rows are ordered.
    """
    first: dict[tuple[str, ...], Evaluation] = {}
    for row in rows:
        if row.about.question == "attribute" and row.about.role != "training":
            first.setdefault((*_key(row), _judged(row)), row)
    return list(first.values())


def _differing(rows: Sequence[Evaluation]) -> tuple[str, ...]:
    """The labels that tell rows apart; the system always does."""
    return ("system", *(name for name in ("attribute", "class") if len({row.labels.get(name) for row in rows}) > 1))


def _labels(row: Evaluation, names: Sequence[str]) -> tuple[str, ...]:
    return tuple(row.labels.get(name, "") for name in names)


def _names(rows: Sequence[Evaluation], labels: Sequence[str]) -> list[tuple[Column, Sequence[str]]]:
    """Columns of labels and, where some attackers judge people, of what is judged."""
    columns = label_columns({label: [row.labels.get(label, "") for row in rows] for label in labels})
    judged = list(map(_judged, rows))
    return [*columns, *([(names_column("judges one"), judged)] if "person" in judged else [])]


def _classification(
    rows: Sequence[Evaluation], strongest: Sequence[Evaluation], numbers: tuple[int, ...], *, estimate: bool
) -> Table:
    training = {(_key(row), row.labels["attacker"]): row for row in rows if row.about.role == "training"}
    trained = [training.get((_key(row), row.labels["attacker"])) for row in strongest]
    held_out = [Cell(row.about.development, format=".4f") for row in strongest]
    measures = {"min Cllr": "cllr_min", "D_ECE": "d_ece"}
    columns = [("D_ECE, held out", held_out)] if any(cell.text for cell in held_out) else []
    for title, name in measures.items():
        learned = [None if row is None else row.metrics.get(name) for row in trained]
        columns.append((f"{title}, trained on", list(map(result_cell, learned))))
    for title, name in measures.items():
        columns.append((f"{title}, test", [result_cell(row.metrics.get(name)) for row in strongest]))
    for title, name in measures.items() if estimate else ():
        columns.append((f"{title} estimate, test", [estimate_cell(row.metrics[name]) for row in strongest]))
    columns.append(("D_ECE under the null", [null_cell(row, "d_ece") for row in strongest]))
    columns.append((ADJUSTED, [p_cell(row.metrics["d_ece"].p_adjusted) for row in strongest]))
    attributes = {row.about.attribute for row in strongest}
    return Table.of(
        *_names(strongest, (*_differing(strongest), "attacker")),
        *((numbers_column(title), cells) for title, cells in columns),
        title=f"Classification of the attribute {attributes.pop()}" if len(attributes) == 1 else "Classification",
        numbers=numbers,
    )


def _choice(strongest: Sequence[Evaluation]) -> str:
    return _CHOSEN if all(row.about.development is not None for row in strongest) else _NOT_CHOSEN


def _attackers(rows: Sequence[Evaluation], strongest: Sequence[Evaluation]) -> Table:
    """D_ECE of every attacker on the tested people, a column for each system, attribute and class."""
    tested = [row for row in rows if row.about.question == "attribute" and row.about.role != "training"]
    by_attacker = {(row.labels["attacker"], _key(row)): row for row in tested}
    judges = {row.labels["attacker"]: _judged(row) for row in tested}
    lines = sorted(judges.items(), key=lambda item: (item[1] == "person", item[0])) if len(judges) > 1 else []
    names, columns = _differing(strongest), {_key(row): row for row in strongest}
    chosen = {(row.labels["attacker"], _key(row)) for row in strongest}
    return Table.of(
        (names_column("attacker"), [attacker for attacker, _ in lines]),
        (names_column("judges one"), [judged for _, judged in lines]),
        *(
            (
                numbers_column(", ".join(filter(None, _labels(row, names)))),
                [_d_ece_text(by_attacker.get((name, key)), chosen=(name, key) in chosen) for name, _ in lines],
            )
            for key, row in columns.items()
        ),
        title="D_ECE of every attacker on the tested people",
    )


def _d_ece_text(row: Evaluation | None, *, chosen: bool) -> str:
    """The D_ECE of an attacker, with a star where it is a chosen one."""
    return "" if row is None else f"{float(row.metrics['d_ece']):.3f}{' *' if chosen else ''}"


def _tags(strongest: Sequence[Evaluation], numbers: tuple[int, ...]) -> Table:
    counts: list[Any] = [row.metrics["tag_counts"].value for row in strongest]
    return Table.of(
        *_names(strongest, _differing(strongest)),
        *((numbers_column(tag), [count.get(tag, 0) for count in counts]) for tag in _TAGS),
        title="Tested vectors and people by tag",
        numbers=numbers,
    )


def _information(strongest: Sequence[Evaluation]) -> Table:
    """Mutual information of each system and attribute, whatever the class."""
    names = tuple(name for name in _differing(strongest) if name != "class")
    measures = [name for name in _INFORMATION if any(name in row.metrics for row in strongest)]
    informed = [row for row in strongest if any(name in row.metrics for name in measures)]
    # of several classes the first row counts
    rows = list(reversed({(*_labels(row, names), _judged(row)): row for row in reversed(informed)}.values()))
    return Table.of(*_names(rows, names), *measure_columns(rows, measures), title="Mutual information")


_UTILITY = ("eer", "top1")


def _verification(verified: Sequence[Evaluation], numbers: tuple[int, ...], *, estimate: bool) -> Table:
    """How well people are told apart, and what protection changes in that."""
    columns: list[tuple[Column, Sequence[Cell]]] = []
    for name in _UTILITY:
        columns += measure_columns(verified, [name], estimate=estimate)
        changes = changes_by_protection(verified, name)
        if any(changes):
            column = replace(measure_column(name, ", change"), unit="points")
            columns.append((column, list(map(_change_cell, changes))))
    columns += measure_columns(verified, ["cllr_min"], estimate=estimate)
    systems = [row.labels.get("system", "") for row in verified]
    heading = "Speaker verification, both sides protected"
    return Table.of((names_column("system"), systems), *columns, title=heading, numbers=numbers)


def _change_cell(change: Difference | None) -> Cell:
    if change is None:
        return Cell()
    low, high = (None, None) if change.spread is None else (change.low, change.high)
    return Cell(change.value, "rate", low, high, "+.2f")


_FRONT_NOTE = (
    "The strongest attackers of each protector and strength are shown, who judge one vector or all of a person; they "
    "were trained on vectors protected in the same way, of other people. A star marks the Pareto front: in no other "
    "row the stronger of both learns less at an EER that is not higher."
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
    kept = [point.utility for point in points]
    columns: list[tuple[Column, Sequence[Cell | str]]] = [
        (names_column("protector"), [point.protector for point in points]),
        (names_column("strength"), [f"{point.strength:g}" for point in points]),
        (names_column("front"), ["*" if point.on_front else "" for point in points]),
    ]
    for judged in ("vector", "person"):
        attacks = [point.attacks[judged] for point in points if judged in point.attacks]
        if len(attacks) == len(points):
            columns.append((names_column(f"attacker of a {judged}"), [row.labels["attacker"] for row in attacks]))
            columns += measure_columns(attacks, ["d_ece"], estimate=estimate)
            columns.append((numbers_column("under the null"), [null_cell(row, "d_ece") for row in attacks]))
    table = Table.of(*columns, *measure_columns(kept, _UTILITY), title="Privacy against utility")
    shown = [row for point in points for row in (*point.attacks.values(), point.utility)]
    return _render([table], [_FRONT_NOTE, *_one_vector_notes(shown)], shown, format, signatures=signatures)


def render_protector_choice(choice: Choice, attribute: str) -> str:
    """Return the table as text."""

    def cells(point: Tradeoff) -> list[str]:
        single = f"{point.d_ece:.2f} (at most {point.d_ece_bound:.2f})"
        of_person = f"{point.person_d_ece:.2f} (at most {point.person_d_ece_bound:.2f})"
        rates = (point.eer, point.eer_apart, point.top1, point.top1_apart)
        return [single, of_person, *(f"{100 * rate:.1f} %" for rate in rates)]

    names = (
        f"D_ECE of {attribute}, one vector",
        f"D_ECE of {attribute}, all of a person",
        "kept: EER",
        "kept: EER, two releases",
        f"kept: top-1 of {choice.searched} people",
        "kept: top-1, two releases",
    )
    lines = list(zip(names, cells(choice.unprotected), cells(choice.chosen), strict=True))
    for kept in choice.kept:
        classes = f", {len(kept.boundaries) + 1} classes" if kept.boundaries else ""
        lines.append((f"kept: D_ECE of {kept.name}{classes}", f"{kept.unprotected:.2f}", f"{kept.protected:.2f}"))
    columns = names_column(""), numbers_column("unprotected"), numbers_column("protected")
    title = f"Chosen by cross-validation over people; attackers learn from {choice.attacker_people}"
    return write_tables(Tables([Table(columns, tuple(lines), title)]), "text")


def choice_sentence(choice: Choice) -> str:
    """Return what was chosen within which limit, and how another is asked for."""
    chosen = choice.chosen
    option = "--budget" if choice.limit.measure == "eer" else "--target"
    protector = f"{chosen.protector}, noise {chosen.strength:g}"
    if choice.within:
        return f"{choice.limit}: {protector}, chosen on {choice.people} people ({option} changes the limit)"
    return f"no protector stays within {choice.limit}; {protector}, comes nearest ({option} changes the limit)"
