"""Tables of what speech is still good for, and of several recordings of one person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from zeroevidence.evaluation import Evaluation, MeasureResult, findings
from zeroevidence.evaluation.resampling import SHOWN
from zeroevidence.measure.measures import MEASURES
from zeroevidence.report.layout import (
    cell,
    chosen_measures,
    heading,
    meaning,
    one_line,
    raised_flags,
    row_labels,
    row_numbers,
)
from zeroevidence.report.table import Grid
from zeroevidence.report.verdict.phrases import percent

USELESS = 0.9  # word error rate of original speech from which nothing follows from a recogniser's errors
_SIDES = ("original", "protected")
_UTILITY_TITLE = "What the speech is still good for"


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
    return chosen_measures([row], None) or list(row.metrics)


def _same_data(original: Evaluation, protected: Evaluation) -> bool:
    """Return whether two rows agree in all labels but the system, as far as both have them."""
    shared = (original.labels.keys() & protected.labels.keys()) - {"system"}
    return all(original.labels[name] == protected.labels[name] for name in shared)


def utility_grid(rows: Sequence[Evaluation], measures: Sequence[str] | None = None) -> Grid:
    """Return the table of rows of utility, with the meaning of each measure."""
    lines = utility_lines(rows, measures)
    columns, shared = label_columns(rows, lines)
    names = {"measure": [heading(line.measure) for line in lines], **columns}
    if any(not raised.everywhere for raised in raised_flags(rows)):
        names["row"] = [", ".join(str(place + 1) for place in line.places) for line in lines]
    values = side_results(rows, lines)
    body = tuple(
        (
            *(texts[i] for texts in names.values()),
            size_text(rows, line),
            *(cell(side[i], "\n") for side in values.values()),
        )
        for i, line in enumerate(lines)
    )
    title = "; ".join([_UTILITY_TITLE, *(f"{label}: {text}" for label, text in shared.items())])
    explained = [line.measure for line in lines]
    sentences = tuple(
        meaning(rows[line.places[-1]], line.measure) if explained.index(line.measure) == i else ""
        for i, line in enumerate(lines)
    )
    return Grid(title, (*names, "recordings", *values), body, len(names), sentences=sentences)


def label_columns(
    rows: Sequence[Evaluation], lines: Sequence[UtilityLine]
) -> tuple[dict[str, list[str]], dict[str, str]]:
    """Return the labels that differ between lines, with the text of each, and those that all lines share."""
    of_lines = [rows[line.places[-1]].labels for line in lines]
    every = list(dict.fromkeys(label for labels in of_lines for label in labels))
    texts = {label: [one_line(labels.get(label, "")) for labels in of_lines] for label in every}
    shared = {label: column[0] for label, column in texts.items() if len(set(column)) == 1}
    return {label: column for label, column in texts.items() if label not in shared}, shared


def side_results(rows: Sequence[Evaluation], lines: Sequence[UtilityLine]) -> dict[str, list[MeasureResult | None]]:
    """Return the results of original and protected speech; a side that no line has is left out."""
    sides: dict[str, list[MeasureResult | None]] = {
        side: [None if (place := getattr(line, side)) is None else rows[place].metrics[line.measure] for line in lines]
        for side in _SIDES
    }
    return {side: results for side, results in sides.items() if any(result is not None for result in results)}


def size_text(rows: Sequence[Evaluation], line: UtilityLine) -> str:
    """Return how many recordings a line rests on; of two sides that differ both numbers."""
    return " / ".join(dict.fromkeys(str(rows[place].counts.get("utterances", "")) for place in line.places))


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


MEASURES_SHOWN = ("top1", "alid")
_RECORDINGS_TITLE = "Several recordings of one person"
NOTE = (
    "Recordings of one person have much in common, so the scores of several are added with less weight; how much less "
    "was fitted on other people. With more recordings an attacker never learns less, since some can be left out."
)


def places_held(row: Evaluation) -> dict[int, int]:
    """Numbers of recordings that tables show and that could be tried, with their places in the result."""
    held = () if row.recordings is None else row.recordings.held
    return {k: held.index(k) for k in SHOWN if k in held}


def with_recordings(row: Evaluation, name: str, place: int) -> MeasureResult:
    """A measure at one number of recordings."""
    recordings = row.recordings
    assert recordings is not None
    low, high = (getattr(recordings, f"{name}_{end}") for end in ("low", "high"))
    return MeasureResult(
        getattr(recordings, name)[place],
        MEASURES[name].unit,
        low=None if low is None else low[place],
        high=None if high is None else high[place],
    )


def recordings_grid(rows: Sequence[Evaluation]) -> Grid | None:
    """A line for each number of recordings of a single result, else for the strongest attacker on each system.

    The control stands beside them. None where nobody has several recordings.
    """
    tried = [k for k in SHOWN if any(k in places_held(row) for row in rows)]
    if len(tried) < 2:
        return None
    if len(rows) == 1:
        return _single_grid(rows[0])
    columns = row_labels(rows).columns
    headings = (*columns, *(f"{heading(name)} of {k}" for name in MEASURES_SHOWN for k in tried))
    chosen = [place for place in _strongest(rows) if len(places_held(rows[place])) > 1]
    body = tuple((*(texts[place] for texts in columns.values()), *_cells(rows[place], tried)) for place in chosen)
    numbers = row_numbers(rows)
    return Grid(
        _RECORDINGS_TITLE, headings, body, len(columns), tuple(numbers[place] for place in chosen) if numbers else ()
    )


def _strongest(rows: Sequence[Evaluation]) -> list[int]:
    """Places of the strongest attackers and of the control."""
    places: set[int] = set()
    for finding in findings(rows):
        places |= {*finding.by_system, finding.strongest}
        places |= set() if finding.control is None else {finding.control}
    return sorted(places)


def _single_grid(row: Evaluation) -> Grid:
    recordings = row.recordings
    assert recordings is not None
    held = places_held(row)
    body = tuple((str(k), f"{recordings.worth[place]:.1f}", *_cells(row, [k])) for k, place in held.items())
    return Grid(_RECORDINGS_TITLE, ("recordings", "worth as independent", *map(heading, MEASURES_SHOWN)), body, 0)


def _cells(row: Evaluation, tried: Sequence[int]) -> list[str]:
    places = places_held(row)
    pairs = ((name, k) for name in MEASURES_SHOWN for k in tried)
    return [cell(with_recordings(row, name, places[k]), "\n") if k in places else "" for name, k in pairs]


def untried_numbers(rows: Sequence[Evaluation]) -> str:
    """Which numbers of recordings nobody could try, and why; empty where all were."""
    searched = [row for row in rows if row.recordings is not None]
    left = [k for k in SHOWN if not any(k in places_held(row) for row in searched)]
    if not searched or not left:
        return ""
    return (
        f"Attackers who hold {' or '.join(map(str, left))} recordings of one person could not be tried: fewer than "
        "half of the people have as many."
    )
