"""Published tables of the VoicePrivacy Challenges: ``result_for_rank<suffix>`` and ``results<suffix>.csv``.

Tables are read by their columns. The heading above says only whether the attacker was trained on anonymised
speech (``ASV_eval^anon``); which rows it lists differs from year to year (``ASV_eval`` lists original
against original in 2024, anonymised against anonymised in 2026). A CSV file has no heading; the folder that it is in
says it (``asv_anon<suffix>``). What the kits of 2020 and 2022 wrote is read by `collected`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from zeroevidence.data.formats import text
from zeroevidence.data.formats.input_file import TEXT, InputFile, open_input
from zeroevidence.data.formats.voiceprivacy.collected_results import collected, is_collected
from zeroevidence.data.formats.voiceprivacy.result_folders import dataset_and_sex
from zeroevidence.data.threat import UNPROTECTED, ThreatModel, Training, threat_from_sides
from zeroevidence.errors import InputError

_KEYS = ("dataset", "split")
_PRIVACY, _SIDES = "EER", ("enrollment", "trial")
_UTILITY = {"WER": ("wer", "asr"), "UAR": ("uar", "ser")}  # the measure, and the column that says whose speech it is
_OF_ONE_CLASS = "ACC_"
_KITS = ("result_for_rank", "asr_results", "ser_results", "asv_results", "results")
_SPEECH: dict[str, Training] = {
    "original": "original",
    "orig": "original",
    "anon": "anonymised",
    "anonymized": "anonymised",
}
_HEAD = 1 << 16


@dataclass(frozen=True, slots=True)
class SummaryRow:
    """One line of a published table.

    Parameters
    ----------
    labels
        System, dataset, split and sex, as far as it says; ``emotion`` where the line is about one.
    measures
        What it says, rates as fractions: ``eer``, ``wer``, ``uar``, or ``recall`` of one emotion; of 2020 and 2022
        more.
    threat
        The attacker of an equal error rate.
    speech
        Whose utility it is: of original or of anonymised speech.
    line
        Where it stands.
    """

    labels: dict[str, str]
    measures: Mapping[str, float]
    threat: ThreatModel | None
    speech: Training | None
    line: int


@dataclass(frozen=True, slots=True)
class _Line:
    """The cells of a line by their columns, what the attacker was trained on, and the file."""

    cells: dict[str, str]
    training: Training
    system: str
    file: str
    number: int

    def rate(self, column: str, most: float = 100.0) -> float:
        """A percentage as a fraction."""
        value = text.parse_score(self.cells[column])
        if isinstance(value, str) or not 0 <= value <= most:
            expected = "a percentage from 0 to 100" if most == 100.0 else "a percentage"
            raise InputError(f"{column} {self.cells[column]!r}; expected {expected}", path=self.file, line=self.number)
        return value / 100

    def speech(self, column: str) -> Training:
        """Whether a column says original or anonymised."""
        found = _SPEECH.get(self.cells.get(column, ""))
        if found is None:
            reason = f"{column} {self.cells.get(column, '')!r}; expected original or anon"
            raise InputError(reason, path=self.file, line=self.number)
        return found


def is_summary(path: str | Path) -> bool:
    """Whether a file is such a table, by its content; a damaged one that is named like one is, too."""
    file = Path(path)
    try:
        if not file.is_file():
            return False
        with file.open("rb") as stream:
            head = stream.read(_HEAD).decode("utf-8", "replace")
    except (OSError, ValueError):
        return False
    if file.name.startswith("result_for_rank"):
        return True
    lines = head.split("\n")
    if is_collected(lines[0]):
        return True
    # the keys spare looking at each line of a score file
    return all(key in head for key in _KEYS) and any(_columns(line) for line in lines)


def read_summary(path: str | Path) -> list[SummaryRow]:
    r"""What a published table says: equal error rates, word error rates and recall of emotions, in its order.

    Raises
    ------
    InputError
        When there is no such table, or a row does not fit its columns.

    Examples
    --------
    >>> import tempfile
    >>> summary = Path(tempfile.mkdtemp()) / "result_for_rank_x"
    >>> _ = summary.write_text("dataset split gender enrollment trial EER\nlibri dev f original anon 12.5\n")
    >>> [(row.line, row.measures) for row in read_summary(summary)]
    [(2, {'eer': 0.125})]
    """
    source = open_input(path)
    if source.kind != TEXT:
        raise InputError(f"is a {source.kind} file; expected text", path=source.name)
    if is_collected(_first_line(source)):
        return [SummaryRow(*entry) for entry in collected(source)]
    rows = [row for line in _lines(source) for row in _rows(line)]
    if not rows:
        needed = "dataset split and EER, WER or UAR"
        raise InputError(f"no table of results; expected one with the columns {needed}", path=source.name)
    return rows


def _first_line(source: InputFile) -> str:
    return source.read().partition(b"\n")[0].decode("utf-8", "replace")


def _columns(line: str) -> list[str]:
    """The columns that a heading names; none where the line is no heading."""
    cells = [cell.strip() for cell in line.split(",")] if "," in line else line.split()
    measured = {_PRIVACY, *_UTILITY} & set(cells)
    return cells if set(_KEYS) <= set(cells) and measured else []


def _lines(source: InputFile) -> Iterator[_Line]:
    system = _system(source.path.name)
    columns: list[str] = []
    training: Training = "anonymised" if source.path.absolute().parent.name.startswith("asv_anon") else "original"
    for number, raw in text.numbered_lines(source.read()):
        line, wrong = text.decode(raw)
        if wrong:
            raise InputError(wrong, path=source.name, line=number)
        words = [cell.strip() for cell in line.split(",")] if "," in line else line.split()
        if not any(words) or words[0].startswith("----"):
            columns = []
            training = "anonymised" if "^anon" in line else training if not any(words) else "original"
        elif found := _columns(line):
            columns = found
        elif columns and not set(words) <= {"", "mean"}:  # the second line of a heading says how folds were averaged
            yield _Line(_cells(words, columns, source.name, number), training, system, source.name, number)


def _system(name: str) -> str:
    """The suffix of the anonymised speech, which is in the file's name."""
    known = next((kit for kit in _KITS if name.startswith(kit)), "")
    return name.removeprefix(known).removesuffix(".csv").removeprefix("_") if known else ""


def _cells(words: list[str], columns: list[str], name: str, number: int) -> dict[str, str]:
    if columns[0] and words[0].isdigit():  # the index that pandas prints in front, without a heading
        words = words[1:]
    if len(words) != len(columns):
        shown = " ".join(filter(None, columns))
        raise InputError(f"{len(words)} columns; expected {len(columns)}: {shown}", path=name, line=number)
    return dict(zip(columns, words, strict=True))


def _rows(line: _Line) -> Iterator[SummaryRow]:
    """What one line says; recall of each emotion is a row of its own."""
    sex, _, part = line.cells.get("gender", "").partition("_")
    people = dataset_and_sex(line.cells["dataset"], sex or None, part or None)
    data = {"dataset": people.pop("dataset"), "split": line.cells["split"], **people}
    if "fold" in line.cells:
        data["fold"] = line.cells["fold"]
    if _PRIVACY in line.cells:
        enrolment, trial = (line.speech(side) for side in _SIDES)
        labels = {"system": line.system, **data} if line.system else data
        threat = threat_from_sides(enrolment, trial, line.training)
        yield SummaryRow(labels, {"eer": line.rate(_PRIVACY)}, threat, None, line.number)
    for column, (name, side) in _UTILITY.items():
        if column not in line.cells:
            continue
        speech = line.speech(side)
        system = UNPROTECTED if speech == "original" else line.system
        labels = {"system": system, **data} if system else data
        most = float("inf") if column == "WER" else 100.0
        yield SummaryRow(labels, {name: line.rate(column, most)}, None, speech, line.number)
        for one in line.cells if column == "UAR" else ():
            if one.startswith(_OF_ONE_CLASS):
                emotion = {"emotion": one.removeprefix(_OF_ONE_CLASS)}
                yield SummaryRow({**labels, **emotion}, {"recall": line.rate(one)}, None, speech, line.number)
