"""What speech is still good for: a line for each measure, the original beside the protected speech."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from zeroevidence.evaluation import Evaluation
from zeroevidence.evaluation.rows.measure_result import Column
from zeroevidence.report.layout import chosen_measures, heading, meaning, one_line, raised_flags
from zeroevidence.report.table import Cell, Content, Table, label_columns, names_column, numbers_column, result_cell
from zeroevidence.report.verdict.phrases import percent

USELESS = 0.9  # word error rate of original speech from which nothing follows from a recogniser's errors
_UNSPACED = 1.5  # words of an utterance below which it is written without blanks, or hardly has any
_SIDES = ("original", "protected")
_TITLE = "What the speech is still good for"


@dataclass(frozen=True, slots=True)
class UtilityLine:
    """One measure of original and of protected speech.

    Parameters
    ----------
    measure
        Its name.
    original
        Place of the row of the original speech among all rows; None where there is none.
    protected
        Place of the row of the protected speech; None where there is none.
    """

    measure: str
    original: int | None
    protected: int | None

    @property
    def places(self) -> list[int]:
        """Places of the rows that there are, protected speech last."""
        return [place for place in (self.original, self.protected) if place is not None]


def is_utility(row: Evaluation) -> bool:
    """Return whether a row is about what speech is still good for."""
    return row.about.speech is not None


def is_utility_table(rows: Sequence[Evaluation], measures: Sequence[str] | None) -> bool:
    """Return whether rows are all about utility, and have some of the measures where these are named."""
    return all(map(is_utility, rows)) and bool(utility_lines(rows, measures))


def utility_lines(rows: Sequence[Evaluation], measures: Sequence[str] | None = None) -> list[UtilityLine]:
    """Return a line for each measure of each row of utility, original and protected speech of the same data in one.

    Parameters
    ----------
    rows
        All rows; those that are not about utility are passed over.
    measures
        Names of the measures; the usual ones unless given, and all of a row that has none of these.
    """
    usable = [place for place, row in enumerate(rows) if is_utility(row)]
    originals = [place for place in usable if rows[place].about.speech == "original"]
    lines: list[UtilityLine] = []
    for place in usable:
        if place in originals:
            continue
        for name in _shown(rows[place], measures):
            beside = next((i for i in originals if name in rows[i] and _same_data(rows[i], rows[place])), None)
            lines.append(UtilityLine(name, beside, place))
    paired = {(line.measure, line.original) for line in lines}
    for place in originals:
        lines += [
            UtilityLine(name, place, None) for name in _shown(rows[place], measures) if (name, place) not in paired
        ]
    return lines


def _shown(row: Evaluation, measures: Sequence[str] | None) -> list[str]:
    if measures is not None:
        return [name for name in chosen_measures([row], measures) if name in row]
    usual = chosen_measures([row], None) or list(row.metrics)
    unspaced = row.counts.get("words", 0) < _UNSPACED * row.counts.get("utterances", 0)
    return [*usual, "cer"] if unspaced and "cer" in row and "cer" not in usual else usual


def _same_data(original: Evaluation, protected: Evaluation) -> bool:
    """Return whether two rows agree in all labels but the system, as far as both have them."""
    shared = (original.labels.keys() & protected.labels.keys()) - {"system"}
    return all(original.labels[name] == protected.labels[name] for name in shared)


def utility_table(
    rows: Sequence[Evaluation], measures: Sequence[str] | None = None, *, numbered: bool = False
) -> Table:
    """Return the table of rows of utility, with the meaning of each measure.

    The numbers of its rows stand in it where it is `numbered` or where warnings name some of them.
    """
    lines = utility_lines(rows, measures)
    described = [rows[line.places[-1]] for line in lines]
    texts, shared = _labels(described)
    names = [
        Cell(heading(line.measure), note=meaning(row, line.measure)) for row, line in zip(described, lines, strict=True)
    ]
    columns: list[tuple[Column, Sequence[Content]]] = [(names_column("measure"), names), *label_columns(texts)]
    if numbered or any(not raised.everywhere for raised in raised_flags(rows)):
        places = [", ".join(str(place + 1) for place in line.places) for line in lines]
        columns.append((names_column("row", "Numbers of the rows"), places))
    sizes = [
        " / ".join(dict.fromkeys(str(rows[i].counts.get("utterances", "")) for i in line.places)) for line in lines
    ]
    columns.append((numbers_column("recordings", "How many were measured"), sizes))
    for side in _SIDES:
        places_of_side = [getattr(line, side) for line in lines]
        if any(place is not None for place in places_of_side):
            results = [
                None if place is None else rows[place].metrics[line.measure]
                for place, line in zip(places_of_side, lines, strict=True)
            ]
            columns.append((numbers_column(side), list(map(result_cell, results))))
    return Table.of(*columns, title="; ".join([_TITLE, *(f"{label}: {text}" for label, text in shared.items())]))


def _labels(rows: Sequence[Evaluation]) -> tuple[dict[str, list[str]], dict[str, str]]:
    """Return the labels that differ between rows, with the text of each, and those that all rows share."""
    names = dict.fromkeys(label for row in rows for label in row.labels)
    texts = {label: [one_line(row.labels.get(label, "")) for row in rows] for label in names}
    shared = {label: column[0] for label, column in texts.items() if len(set(column)) == 1}
    return {label: column for label, column in texts.items() if label not in shared}, shared


def utility_notes(rows: Sequence[Evaluation]) -> list[str]:
    """Return whether recognisers are of any use, which the words of the original speech say."""
    sentences = []
    for line in utility_lines(rows, ["wer"]):
        row = rows[line.places[-1]]
        judge = f"recogniser {one_line(row.labels['recogniser'])}" if "recogniser" in row.labels else "recogniser"
        error = None if line.original is None else rows[line.original].number("wer")
        if error is not None and error >= USELESS:
            sentences.append(
                f"The {judge} is useless here: it errs in {percent(error)} of the words of the original speech, so "
                "nothing follows from its errors about the protection."
            )
        elif error is None and not any(flag.code == "reference-heard" for flag in row.flags):
            sentences.append(
                f"How often the {judge} errs in the original speech is not known, so what the protection costs does "
                "not follow from its errors."
            )
    return list(dict.fromkeys(sentences))
