"""Tables of results that the VoicePrivacy Challenges publish, privacy and utility."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from zeroevidence.data.formats import text
from zeroevidence.data.formats.input_file import InputFile, open_input, uncompressed_name
from zeroevidence.data.formats.voiceprivacy_folders import (
    SummaryRow,
    collected_results,
    data_files,
    is_collected,
    kit_files,
    set_labels,
)
from zeroevidence.data.threat import UNPROTECTED, Training, threat_from_sides
from zeroevidence.errors import InputError

_KEYS = ("dataset", "split")
_PRIVACY, _SIDES = "EER", ("enrollment", "trial")
_UTILITY = {"WER": ("wer", "asr"), "UAR": ("uar", "ser")}  # the measure, and the column for the kind of speech
_OF_ONE_CLASS = "ACC_"
_RANKING = "result_for_rank"
_KITS = (_RANKING, "asr_results", "ser_results", "asv_results", "results")
# of ZEBRA's table: the measure of each column, and its unit
_ZEBRA = {
    "ROCCH-EER [%]": ("eer_rocch", 100.0),
    "ZEBRA Population [bit]": ("d_ece", 1.0),
    "ZEBRA Individual": ("worst_case", 1.0),
    "Cllr": ("cllr", 1.0),
    "min Cllr": ("cllr_min", 1.0),
}
_TASK = "Task"
_ZEBRA_LABELS = {"System": "system", "Dataset": "dataset", "Gender": "sex"}
_ZEBRA_TASKS: dict[str, Training] = {"o": "original", "a": "anonymised"}
_SPEECH: dict[str, Training] = {"original": "original", "orig": "original"}
_SPEECH |= {"anon": "anonymised", "anonymized": "anonymised"}
_HEAD = 1 << 16


@dataclass(frozen=True, slots=True)
class _Line:
    """The cells of a line by column, the training of the attacker, the system, and file and line."""

    cells: dict[str, str]
    training: Training | None
    system: str
    file: str
    number: int

    def unexpected(self, column: str, expected: str) -> InputError:
        """Return the error about a cell."""
        return InputError(
            f"{column} {self.cells.get(column, '')!r}; expected {expected}", path=self.file, line=self.number
        )

    def rate(self, column: str, most: float | None = 100.0, unit: float = 100.0) -> float:
        """Return a percentage as a fraction, or a number of another unit; None for `most` allows any number."""
        value = text.parse_score(self.cells[column])
        if isinstance(value, str) or (most is not None and not 0 <= value <= most):
            kinds = {None: "a number", 100.0: "a percentage from 0 to 100"}
            raise self.unexpected(column, kinds.get(most, "a percentage"))
        return value / unit

    def speech(self, column: str) -> Training:
        """Return whether a column is original or anonymised."""
        if self.cells.get(column, "") not in _SPEECH:
            raise self.unexpected(column, "original or anon")
        return _SPEECH[self.cells[column]]


def is_summary(path: str | Path) -> bool:
    """Return whether a file is such a table, by its content, or by its name where it is damaged."""
    file = Path(path)
    try:
        if not file.is_file():
            return False
        with file.open("rb") as stream:
            head = stream.read(_HEAD).decode("utf-8", "replace")
    except (OSError, ValueError):
        return False
    if file.name.startswith(_RANKING):
        return True
    lines = head.split("\n")
    if is_collected(lines[0]) or _columns(lines[0].strip()):
        return True
    # the search for keys avoids a look at each line of a score file
    return all(key in head for key in _KEYS) and any(_columns(line) for line in lines)


def summaries(path: str | Path) -> list[Path]:
    """Return the tables behind a path: the file itself, or those under a folder without scores; else none."""
    place = Path(path)
    try:
        if place.is_dir() and (place / "result.json").exists():
            return []
        if place.is_dir():
            return [] if any(file.name == "scores" for file in kit_files(place)) else find_tables(place)
    except (InputError, OSError, ValueError):
        return []
    return [place] if is_summary(place) else []


def read_summary(path: str | Path) -> list[SummaryRow]:
    r"""Return the rows of a published table: equal error rates, word error rates and recall of emotions, in its order.

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
    source.check_text()
    if is_collected(source.read().partition(b"\n")[0].decode("utf-8", "replace")):
        return list(collected_results(source))
    rows = [row for line in _lines(source) for row in _rows(line)]
    if not rows:
        needed = "dataset split and EER, WER or UAR"
        raise InputError(f"no table of results; expected one with the columns {needed}", path=source.name)
    return rows


def _zebra_row(line: _Line) -> SummaryRow:
    """Return the row of a line of a table of ZEBRA."""
    rates = {name: line.rate(column, None, unit) for column, (name, unit) in _ZEBRA.items()}
    enrolment, _, trial = line.cells[_TASK].partition("-")
    if not {enrolment, trial} <= set(_ZEBRA_TASKS):
        raise line.unexpected(_TASK, "o-o, o-a or a-a")
    labels = {label: line.cells[column] for column, label in _ZEBRA_LABELS.items() if line.cells[column]}
    threat = threat_from_sides(_ZEBRA_TASKS[enrolment], _ZEBRA_TASKS[trial], None)
    return SummaryRow(labels, rates, threat, None, line.number)


def _columns(line: str) -> list[str]:
    """Return the columns that a heading names; none where the line is no heading."""
    cells = _split(line)
    of_kit = set(_KEYS) <= set(cells) and not {_PRIVACY, *_UTILITY}.isdisjoint(cells)
    return cells if of_kit or {_TASK, *_ZEBRA_LABELS, *_ZEBRA} <= set(cells) else []


def _split(line: str) -> list[str]:
    return [cell.strip() for cell in line.split(",")] if "," in line else line.split()


def _lines(source: InputFile) -> Iterator[_Line]:
    system = _system(uncompressed_name(source.path.name))
    columns: list[str] = []
    training = _training(source.path.resolve().parent.name)
    for number, line in text.strict_lines(source):
        cells = _split(line)
        if not any(cells) or cells[0].startswith("----"):
            columns = []
            training = training if not any(cells) else _training(line)
        elif heading := _columns(line):
            columns = heading
        elif columns and not set(cells) <= {"", "mean"}:  # the second line of a heading is about averages over folds
            if columns[0] and cells[0].isdigit():  # the index that pandas prints in front, without a heading
                cells = cells[1:]
            if len(cells) != len(columns):
                reason = f"{len(cells)} columns; expected {len(columns)}: {' '.join(filter(None, columns))}"
                raise InputError(reason, path=source.name, line=number)
            yield _Line(dict(zip(columns, cells, strict=True)), training, system, source.name, number)


def _training(text: str) -> Training | None:
    """Return what the attacker was trained on by a title or the name of a folder: ``ASV_eval^anon``, ``asv_orig``."""
    if match := re.search("asv_(anon)?|ASV_eval(\\^anon)?", text):
        return "anonymised" if any(match.groups()) else "original"
    return None


def _system(name: str) -> str:
    """Return the suffix of the anonymised speech, which is in the file's name."""
    prefix = next((kit for kit in _KITS if name.startswith(kit)), "")
    return name.removeprefix(prefix).removesuffix(".csv").removeprefix("_") if prefix else ""


def _rows(line: _Line) -> Iterator[SummaryRow]:
    """Yield the rows of one line; the recall of each emotion is a row of its own."""
    if _TASK in line.cells:
        yield _zebra_row(line)
        return
    sex, _, part = line.cells.get("gender", "").partition("_")
    data = set_labels(line.cells["dataset"], line.cells["split"], sex, part)
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
        for cell in line.cells if column == "UAR" else ():
            if cell.startswith(_OF_ONE_CLASS):
                emotion = {"emotion": cell.removeprefix(_OF_ONE_CLASS)}
                yield SummaryRow({**labels, **emotion}, {"recall": line.rate(cell)}, None, speech, line.number)


_SET = re.compile(r"(?P<set>(?P<dataset>[^_]+)_(?P<split>[^_]+)(?:_asr)?)(?P<suffix>(?:_.+)?)")
_TABLE = re.compile(r"result_for_rank.*|results.*\.csv|results\.txt|results\.(?:orig|anon)_.+|RESULTS_.+")


@dataclass(frozen=True, slots=True)
class KitTranscripts:
    """Transcripts of one set.

    Parameters
    ----------
    heard
        What the recogniser wrote.
    said
        The reference transcripts.
    speakers
        ``utt2spk`` beside the reference, None where there is none.
    labels
        System, data set and split, from the names of folders.
    speech
        Whether the speech is original or anonymised.
    """

    heard: Path
    said: Path
    speakers: Path | None
    labels: dict[str, str]
    speech: Training


def find_kit_transcripts(folder: str | Path, *, key: str | Path | None = None) -> list[KitTranscripts]:
    """Return the recogniser's transcripts under a kit's folder whose references are there.

    Parameters
    ----------
    folder
        The folder of the kit.
    key
        The ``data`` folder; otherwise ``data`` is looked for upwards.
    """
    transcripts = []
    for heard in kit_files(Path(folder)):
        if heard.name != "text" or not heard.parent.parent.name.startswith("asr"):
            continue
        match = _SET.fullmatch(heard.parent.name)
        if match is None:
            continue
        files = data_files(heard, key, (heard.parent.name, match["set"]), "text")
        said = next((file for file in files if file.is_file()), None)
        if said is None:
            continue
        speakers = said.parent / "utt2spk"
        system = match["suffix"].removeprefix("_") or UNPROTECTED
        labels = {"system": system, "dataset": match["dataset"], "split": match["split"]}
        speech: Training = "anonymised" if match["suffix"] else "original"
        transcripts.append(KitTranscripts(heard, said, speakers if speakers.is_file() else None, labels, speech))
    return transcripts


def find_tables(folder: str | Path) -> list[Path]:
    """Return the tables of results under a kit's folder."""
    return [file for file in kit_files(Path(folder)) if _TABLE.fullmatch(file.name) and is_summary(file)]
