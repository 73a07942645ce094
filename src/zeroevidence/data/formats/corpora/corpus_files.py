"""What the files of a corpus say, line by line: Kaldi data folders, a table, or a tree of folders.

Nothing is decided here beyond one file: each reader gives rows with the line that they came from, and the problems
of the lines that give none.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from zeroevidence.data.files.errors import is_file
from zeroevidence.data.formats import text
from zeroevidence.data.formats.input_file import TEXT, InputFile, locate
from zeroevidence.data.formats.lists.speakers import read_speakers, two_columns
from zeroevidence.data.formats.scores.reading.table import Problems
from zeroevidence.data.speech.audio import conversion_advice
from zeroevidence.data.speech.corpus import SEGMENT_RATE, SUFFIXES, Utterance
from zeroevidence.data.typed import shortened
from zeroevidence.errors import InputError, Problem

_COLUMNS = {
    "utterance": ("utterance", "utt", "utterance_id", "id"),
    "speaker": ("speaker", "spk", "speaker_id"),
    "path": ("path", "file", "wav", "audio"),
    "role": ("role",),
    "split": ("split",),
    "start": ("start",),
    "end": ("end",),
}
_ROLES = {
    **dict.fromkeys(("enrol", "enroll", "enrolls", "enrols", "enrolment", "enrollment"), "enrol"),
    **dict.fromkeys(("trial", "trials"), "trial"),
    **dict.fromkeys(("train", "training"), "train"),
}
_SPLITS = {
    **dict.fromkeys(("dev", "development", "valid", "val"), "dev"),
    **dict.fromkeys(("eval", "evaluation", "test"), "eval"),
}
_SEX = {"f": "F", "female": "F", "m": "M", "male": "M"}
SAMPLES = re.compile("[0-9]{1,15}")  # where something starts or ends in a file
_LONGEST_S = 1e9
_PLAIN_COMMAND = re.compile(r"(?:flac(?:\s+-[a-z-]+)*|cat)\s+(?P<file>\S+)\s*\|")


@dataclass(frozen=True, slots=True)
class Row:
    """One utterance and the line that named it, None for a file of a tree."""

    utterance: Utterance
    name: str
    line: int | None

    def problem(self, reason: str) -> Problem:
        """Something wrong with its audio."""
        if self.line is None:
            return Problem(str(self.utterance.path), None, reason)
        return Problem(self.name, self.line, f"{self.utterance.path}: {reason}")


@dataclass(slots=True)
class Found:
    """What was read so far: rows, what is wrong, what is only worth knowing, and whether trial lists were given."""

    root: Path
    rows: list[Row] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    notes: list[Problem] = field(default_factory=list)
    trial_lists: bool = False


def read_files(path: str | Path) -> Found:
    """The rows of a corpus of any of the three kinds.

    Raises
    ------
    InputError
        When there is nothing of that kind, or a file cannot be opened.
    """
    place = Path(path)
    if not place.is_dir():
        source = locate(path)
        found = Found(source.path.parent)
        read_table(source, found)
        found.root = _common(found, found.root)
        return found
    folders = [place] if (place / "wav.scp").is_file() else sorted(one.parent for one in place.glob("*/wav.scp"))
    found = Found(place)
    if folders:
        for folder in folders:
            read_kaldi(folder, found)
    elif (place / "utterances.tsv").is_file():
        read_table(locate(place / "utterances.tsv"), found)
    else:
        read_tree(place, found)
    found.root = _common(found, place)
    return found


def _common(found: Found, place: Path) -> Path:
    """The folder below which all files lie: that of the corpus where it holds them, else their deepest one."""
    parents = {row.utterance.path.parent for row in found.rows}
    if not parents or all(parent.is_relative_to(place) for parent in parents):
        return place
    first, *rest = (parent.parts for parent in parents)
    depth = next((i for i, part in enumerate(first) if any(other[i : i + 1] != (part,) for other in rest)), len(first))
    return Path(*first[:depth]) if depth else place


def read_table(source: InputFile, found: Found) -> None:
    """A table with a header: utterance, speaker and path, and role, split, start, end, attributes."""
    if source.kind != TEXT:
        raise InputError(f"is a {source.kind} file; expected a table of utterances", path=source.name)
    problems = Problems(source.name)
    people = read_people(found.root / "speakers.tsv", found)
    for number, cells in table_rows(source, ("speaker", "path"), problems):
        role, split = cells.pop("role", "").lower(), cells.pop("split", "").lower()
        span = [cells.pop(name, "") for name in ("start", "end")]
        name, speaker, file = cells.pop("utterance", "") or Path(cells["path"]).stem, cells["speaker"], cells["path"]
        attributes = {key: value for key, value in cells.items() if key not in ("speaker", "path")}
        if not speaker or not file:
            problems.add(number, f"no {'path' if speaker else 'speaker'}; expected utterance, speaker and path")
        elif role and role not in _ROLES:
            problems.add(number, f"unknown role {role!r}; expected enrol, trial or train")
        elif split and split not in _SPLITS:
            problems.add(number, f"unknown split {split!r}; expected dev or eval")
        elif any(value and not SAMPLES.fullmatch(value) for value in span):
            problems.add(number, f"start {span[0]!r}, end {span[1]!r}; expected samples at 16 kHz")
        else:
            start, end = (int(value) if value else None for value in span)
            if end is not None and end <= (start or 0):
                problems.add(number, f"start {span[0]!r}, end {span[1]!r}; expected start < end")
                continue
            words = people.get(speaker, {}) | _attributes(attributes)
            where = Path(os.path.normpath(found.root / file))
            one = Utterance(name, speaker, where, _ROLES.get(role), _SPLITS.get(split), words, start, end)
            found.rows.append(Row(one, source.name, number))
            told = people.get(speaker, {}).get("sex")
            if told and words.get("sex") and told != words["sex"]:
                reason = f"speaker {speaker!r} has sex {words['sex']} here and {told} in speakers.tsv"
                problems.add(number, f"{reason}; are they two speakers with one name?")
    found.problems += problems.all()


def read_people(path: Path, found: Found) -> dict[str, dict[str, str]]:
    """A table of speakers and their attributes, where there is one."""
    if not path.is_file():
        return {}
    people: dict[str, dict[str, str]] = {}
    lines: dict[str, int] = {}
    problems = Problems(str(path))
    for number, cells in table_rows(locate(path), ("speaker",), problems):
        speaker = cells.pop("speaker")
        words = _attributes(cells)
        if speaker in people and people[speaker] != words:
            reason = f"speaker {speaker!r} is described differently on line {lines[speaker]}"
            problems.add(number, f"{reason}; are they two speakers with one name?")
        else:
            people[speaker] = words
            lines.setdefault(speaker, number)
    found.problems += problems.all()
    return people


def table_rows(source: InputFile, needed: tuple[str, ...], problems: Problems) -> Iterator[tuple[int, dict[str, str]]]:
    """Number and cells by column name of each line below the header."""
    columns: list[str] | None = None
    separator = "\t"
    for number, raw in text.numbered_lines(source.read()):
        if text.is_blank(raw):
            continue
        line, wrong = text.decode(raw)
        if columns is None and "\t" not in line:
            separator = ","
        cells = wrong or text.split(line, separator)
        if isinstance(cells, str):
            problems.add(number, cells)
        elif columns is None:
            columns = [_column(cell.lower()) for cell in cells]
            missing = [name for name in needed if name not in columns]
            twice = [name for name in columns if columns.count(name) > 1]
            if missing or twice:
                what = f"no column {missing[0]}" if missing else f"two columns for {twice[0]}"
                problems.add(number, f"{what}; expected a header with {', '.join(needed)}")
                return
        elif len(cells) != len(columns):
            problems.add(number, f"{len(cells)} column(s); expected {len(columns)} as in the header")
        else:
            yield number, dict(zip(columns, cells, strict=True))
    if columns is None and not problems.found:
        problems.add(None, "empty; expected a header and one line per utterance")


def _column(name: str) -> str:
    return next((key for key, names in _COLUMNS.items() if name in names), name)


def _attributes(words: dict[str, str]) -> dict[str, str]:
    """Attributes under one name each: gender is sex, f and female are F."""
    sex = words.pop("gender", "")
    if sex:
        words.setdefault("sex", sex)
    if "sex" in words:
        words["sex"] = _SEX.get(words["sex"].lower(), words["sex"])
    return words


def read_kaldi(folder: Path, found: Found) -> None:
    """A Kaldi data folder: wav.scp and utt2spk, perhaps spk2gender, segments, enrolls and trials."""
    if not (folder / "utt2spk").is_file():
        found.problems.append(Problem(str(folder), None, "no utt2spk; expected one beside wav.scp"))
        return
    speakers, wrong = read_speakers(locate(folder / "utt2spk"))
    found.problems += wrong
    sexes = _pairs(folder / "spk2gender", found)
    recordings = scp_files(folder, found)
    spans = _kaldi_segments(folder / "segments", found)
    lists = _lists(folder, found)
    role, split = _said(folder.name)
    listed = {one for names in lists.values() for one in names}
    unlisted = 0
    entries = spans or {name: (line, name, None, None) for name, (line, _) in recordings.items()}
    source = str(folder / ("segments" if spans else "wav.scp"))
    for name, (line, recording, start, end) in entries.items():
        if lists and name not in listed:
            unlisted += 1
            continue
        if name not in speakers:
            problem = f"no speaker for utterance {name!r} in utt2spk; expected a line for every utterance"
            found.problems.append(Problem(source, line, problem))
        elif recording not in recordings:
            problem = f"no recording {recording!r} in wav.scp; expected a line for every recording"
            found.problems.append(Problem(source, line, problem))
        else:
            sex = sexes.get(speakers[name], "")
            words = _attributes({"sex": sex}) if sex else {}
            roles: list[str | None] = [kind for kind, names in lists.items() if name in names] or [role]
            if len(roles) > 1:
                found.problems.append(
                    Problem(source, line, f"{name!r} is in enrolls and in trials; expected one of them")
                )
            one = Utterance(name, speakers[name], recordings[recording][1], roles[0], split, words, start, end)
            found.rows.append(Row(one, source, line))
    for kind, names in lists.items():
        for name in [one for one in names if one not in entries]:
            problem = f"{kind} utterance {name!r} is not in {Path(source).name}; expected its audio"
            found.problems.append(Problem(str(folder), None, problem))
    if unlisted:
        found.notes.append(Problem(source, None, f"{unlisted} utterances are in neither enrolls nor trials; left out"))


def _said(name: str) -> tuple[str | None, str | None]:
    """Role and split as far as the words of a folder's name say."""
    words = re.split(r"[^a-z]+", name.lower())
    role = next((_ROLES[word] for word in words if word in _ROLES), None)
    split = next((_SPLITS[word] for word in words if word in _SPLITS), None)
    return role, None if role == "train" else split


def _pairs(path: Path, found: Found) -> dict[str, str]:
    if not path.is_file():
        return {}
    problems = Problems(str(path))
    words: dict[str, str] = {}
    for number, speaker, sex in two_columns(locate(path), problems, "speaker f|m"):
        if words.setdefault(speaker, sex) != sex:
            problems.add(number, f"speaker {speaker!r} is {sex} here and {words[speaker]} above; two with one name?")
    found.problems += problems.all()
    return words


def scp_files(folder: Path, found: Found) -> dict[str, tuple[int, Path]]:
    """Line and file of each recording of wav.scp."""
    problems = Problems(str(folder / "wav.scp"))
    recordings: dict[str, tuple[int, Path]] = {}
    for number, line in _lines(folder / "wav.scp", problems):
        name, _, rest = line.replace("\t", " ").partition(" ")
        file = rest.strip()
        command = _PLAIN_COMMAND.fullmatch(file)
        if command:
            file = command["file"]
        if not file:
            problems.add(number, "1 column(s); expected 2: utterance file")
        elif file.endswith("|"):
            problems.add(number, f"{name!r} is the output of a command, which is not run; expected an audio file")
        elif name in recordings:
            problems.add(number, f"{name!r} occurs twice (line {recordings[name][0]}); expected once")
        else:
            recordings[name] = number, _beside(folder, file)
    found.problems += problems.all()
    return recordings


def _beside(folder: Path, file: str) -> Path:
    """A path of wav.scp: as written, or below the data folder or one of those above it."""
    for home in (folder, *list(folder.absolute().parents)[:3]):
        if is_file(home / file):
            return Path(os.path.normpath(home / file))
    return Path(file)


def _kaldi_segments(path: Path, found: Found) -> dict[str, tuple[int, str, int | None, int | None]]:
    """Line, recording, start and end of each utterance of a segments file, whose times are in seconds."""
    if not path.is_file():
        return {}
    problems = Problems(str(path))
    spans: dict[str, tuple[int, str, int | None, int | None]] = {}
    for number, line in _lines(path, problems):
        cells = line.split()
        times = [text.parse_score(cell) for cell in cells[2:]]
        if len(cells) != 4 or not all(isinstance(time, float) and abs(time) < _LONGEST_S for time in times):
            problems.add(number, f"{shortened(line)!r}; expected utterance recording start end")
            continue
        start, end = (round(float(time) * SEGMENT_RATE) for time in times)
        if start < 0 or (end <= start and times[1] != -1.0):
            problems.add(number, f"from {cells[2]} to {cells[3]} seconds; expected 0 <= start < end")
        elif cells[0] in spans:
            problems.add(number, f"{cells[0]!r} occurs twice (line {spans[cells[0]][0]}); expected once")
        else:
            spans[cells[0]] = number, cells[1], start, end if end > start else None
    found.problems += problems.all()
    return spans


def _lists(folder: Path, found: Found) -> dict[str, list[str]]:
    """Utterances that enrolls and trials name, by role."""
    lists: dict[str, list[str]] = {}
    for file, role, column in (("enrolls", "enrol", 0), ("trials", "trial", 1)):
        if not (folder / file).is_file():
            continue
        problems = Problems(str(folder / file))
        names: dict[str, None] = {}
        for number, line in _lines(folder / file, problems):
            cells = line.split()
            if len(cells) <= column:
                problems.add(number, f"{len(cells)} column(s); expected {'speaker utterance target|nontarget'}")
            else:
                names[cells[column]] = None
        found.problems += problems.all()
        found.trial_lists |= role == "trial"
        lists[role] = list(names)
    return lists


def _lines(path: Path, problems: Problems) -> Iterator[tuple[int, str]]:
    for number, raw in text.numbered_lines(locate(path).read()):
        if text.is_blank(raw):
            continue
        line, wrong = text.decode(raw)
        if wrong:
            problems.add(number, wrong)
        else:
            yield number, line.strip(" \t")


def _below(folder: Path, found: Found, above: tuple[Path, ...]) -> Iterator[Path]:
    """All files below a folder, through links too; a link back to a folder above it is a problem."""
    for entry in folder.iterdir():
        if not entry.is_dir():
            yield entry
            continue
        real = entry.resolve()
        if real in above:
            reason = f"is a link back to {real.name or real}, which it is in; expected folders of speakers"
            found.problems.append(Problem(str(entry), None, reason))
        else:
            yield from _below(entry, found, (*above, real))


def read_tree(folder: Path, found: Found) -> None:
    """Folders of speakers with audio files in them, at any depth; speakers.tsv beside them describes the people."""
    found_files = sorted(_below(folder, found, (folder.resolve(),)))
    files = [file for file in found_files if file.suffix.lower() in SUFFIXES]
    found.problems += [Problem(str(file), None, what) for file in found_files if (what := conversion_advice(file))]
    loose = [file for file in files if file.parent == folder]
    if len(loose) == len(files) and not found.problems:
        what = "audio files without a speaker's folder" if loose else "no audio"
        raise InputError(f"{what}; expected wav.scp, a table of utterances, or speaker/utterance.wav", path=folder)
    found.problems += [Problem(str(file), None, "no speaker; expected speaker/utterance.wav") for file in loose]
    people = read_people(folder / "speakers.tsv", found)
    below = [file.relative_to(folder) for file in files if file.parent != folder]
    unique = len({file.stem for file in below}) == len(below)
    for file in below:
        name = file.stem if unique else file.with_suffix("").as_posix()
        one = Utterance(name, file.parts[0], folder / file, attributes=people.get(file.parts[0], {}))
        found.rows.append(Row(one, str(folder), None))
    missing = sorted({file.parts[0] for file in below} - set(people)) if people else []
    if missing:
        where = str(folder / "speakers.tsv")
        found.notes += [Problem(where, None, f"speaker {name!r} is not described") for name in missing]
