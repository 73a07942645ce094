"""Which column is what: decided by the majority of lines, so that one bad line changes nothing.

The first thousand lines vote. Where the third and the first column both hold numbers (LibriSpeech speakers
are numbers), the Kaldi reading wins unless only the VoxCeleb reading finds its trials in the key.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Literal, NoReturn

from zeroevidence.data.formats import text
from zeroevidence.errors import InputError

SAMPLE = 1000

Role = Literal["scores", "key"]


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of a text file by position ("" is ignored), what separates them, the header's line."""

    format: str
    columns: tuple[str, ...]
    separator: str = " "
    header: int | None = None

    @property
    def expected(self) -> str:
        """The columns in words."""
        return " ".join(column or "..." for column in self.columns)


PLAIN: dict[Role, dict[str, tuple[str, ...]]] = {
    "scores": {
        "kaldi": ("enrol", "trial", "score"),
        "voxceleb": ("score", "enrol", "trial"),
        "two-column": ("score", "label"),
        "labelled": ("enrol", "trial", "score", "label"),
    },
    "key": {
        "kaldi": ("enrol", "trial", "label"),
        "voxceleb": ("label", "enrol", "trial"),
        "labelled": ("enrol", "trial", "", "label"),
    },
}
_MANY = {
    "scores": "`enrol trial score`, `score enrol trial`, `score label` or `enrol trial score label`",
    "key": "`enrol trial target|nontarget` or `1|0 enrol trial`",
}
_NAMES = {
    **dict.fromkeys(("enrol", "enroll", "enrolment", "enrollment", "enrol_id", "enroll_id"), "enrol"),
    **dict.fromkeys(("enrolment_id", "enrollment_id", "model"), "enrol"),
    **dict.fromkeys(("trial", "trial_id", "test", "utterance", "utterance_id"), "trial"),
    **dict.fromkeys(("enrol_speaker", "enroll_speaker", "enrolment_speaker", "enrollment_speaker"), "enrol_speaker"),
    "trial_speaker": "trial_speaker",
    "score": "score",
    "label": "label",
}


def detect(
    data: bytes,
    name: str,
    role: Role,
    *,
    forced: str = "auto",
    matches: Callable[[list[str], list[str]], bool] | None = None,
) -> Layout:
    """The layout of a text file.

    Parameters
    ----------
    forced
        A format that the user named, or "auto".
    matches
        Whether any of these (enrolments, trials) is in the key; decides between Kaldi and VoxCeleb scores.

    Raises
    ------
    InputError
        When the file is empty, in another encoding, or fits no layout.
    """
    sample = sampled(data, name)
    if forced in ("auto", "table"):
        header = _header(*sample[0], name)
        if header:
            return header
        if forced == "table":
            raise InputError(
                "no header; expected column names such as enrol,trial,score,label",
                path=name,
                line=sample[0][0],
            )
    blank = sum(" " in line.strip(" \t") or "\t" in line.strip(" \t") for _, line in sample)
    comma = sum("," in line for _, line in sample)
    separator = "," if comma > len(sample) / 2 >= blank else " "
    rows = [cells for _, line in sample if not isinstance(cells := text.split(line, separator), str)]
    if forced != "auto":
        return Layout(forced, PLAIN[role][forced], separator)
    width = _width(rows, role, name, sample[0][0])
    rows = [cells for cells in rows if len(cells) == width]
    names = [format for format, columns in PLAIN[role].items() if len(columns) == width]
    format = names[0] if len(names) == 1 else _three(rows, role, name, sample[0][0], matches)
    return Layout(format, PLAIN[role][format], separator)


def sampled(data: bytes, name: str) -> list[tuple[int, str]]:
    """The first full lines, numbered, that decide about a layout; other encodings and empty files are refused."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise InputError("encoded in UTF-16; expected text in UTF-8", path=name, line=1)
    if data[:2] == b"\x1f\x8b":
        raise InputError("compressed with gzip; expected text (unpack it first)", path=name, line=1)
    sample = _sample(data)
    if not sample:
        raise InputError("empty; expected one trial per line", path=name)
    return sample


def _sample(data: bytes) -> list[tuple[int, str]]:
    # Cutting a head off first spares splitting millions of lines that nobody looks at.
    head = data[: data.rfind(b"\n", 0, 1 << 20) + 1] if len(data) > 1 << 20 else data
    full = ((number, line) for number, line in text.lines_of(head) if not text.is_blank(line))
    sample = [(number, line.decode("utf-8", "replace")) for number, line in islice(full, SAMPLE)]
    return sample or ([] if head is data else _sample(data.lstrip(b" \t\r\n")))


def _width(rows: list[list[str]], role: Role, name: str, line: int) -> int:
    allowed = {len(columns) for columns in PLAIN[role].values()}
    counts = Counter(len(cells) for cells in rows)
    if not counts:
        raise InputError(f"no columns found; expected {_MANY[role]}", path=name, line=line)
    width = max(counts, key=lambda n: (counts[n], n in allowed, n))
    if width not in allowed:
        raise InputError(f"{width} column(s); expected {_MANY[role]}", path=name, line=line)
    return width


def _three(
    rows: list[list[str]],
    role: Role,
    name: str,
    line: int,
    matches: Callable[[list[str], list[str]], bool] | None,
) -> str:
    """Kaldi or VoxCeleb, by the column that holds what the role asks for."""

    def share(column: int, test: Callable[[str], bool]) -> bool:
        return 2 * sum(test(cells[column]) for cells in rows) >= len(rows)

    wanted, other = (
        (text.is_number, text.LABELS.__contains__) if role == "scores" else (text.LABELS.__contains__, text.is_number)
    )
    last, first = share(2, wanted), share(0, wanted)
    if last and first and matches is not None:
        kaldi = matches([cells[0] for cells in rows], [cells[1] for cells in rows])
        if not kaldi and matches([cells[1] for cells in rows], [cells[2] for cells in rows]):
            return "voxceleb"
    if not last and share(2, other) and (role == "scores" or not first):
        _swapped(role, name, line)
    return "kaldi" if last or not first else "voxceleb"


def _swapped(role: Role, name: str, line: int) -> NoReturn:
    found = {
        "scores": "labels, not scores: is this the key?",
        "key": "numbers, not labels: are these scores?",
    }
    raise InputError(f"column 3 holds {found[role]} (expected {_MANY[role]})", path=name, line=line)


def _header(number: int, line: str, name: str) -> Layout | None:
    """A first line that names at least two known columns and holds no number is a header."""
    for separator in (",", "\t", " "):
        cells = text.split(line, separator)
        if isinstance(cells, str):
            continue
        known = [_NAMES.get(cell.lower(), "") for cell in cells]
        if len({column for column in known if column}) >= 2 and not any(map(text.is_number, cells)):
            return Layout("table", named_columns(cells, name, number), separator, number)
    return None


def named_columns(cells: list[str], name: str, line: int | None) -> tuple[str, ...]:
    """The columns of a table by their names, the plain name winning over its aliases.

    Raises
    ------
    InputError
        When two columns claim the same meaning.
    """
    meaning = [_NAMES.get(cell.strip().lower(), "") for cell in cells]
    for column in {column for column in meaning if column}:
        at = [i for i, found in enumerate(meaning) if found == column]
        plain = [i for i in at if cells[i].strip().lower() == column]
        if len(at) > 1 and len(plain) != 1:
            both = " and ".join(repr(cells[i]) for i in at)
            raise InputError(f"columns {both} both mean {column}; expected one", path=name, line=line)
        for i in at:
            if len(at) > 1 and i != plain[0]:
                meaning[i] = ""
    return tuple(meaning)
