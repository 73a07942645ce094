"""Lines of text: what separates columns, what is a number or a label, and problems with their lines."""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Iterator
from contextlib import contextmanager

from zeroevidence.data.formats.input_file import TEXT, InputFile
from zeroevidence.data.printable import compose
from zeroevidence.errors import InputError, Problem

LIMIT = 100_000


class FileProblems:
    """Problems of one file in the order in which they occur, up to a limit (a wrong file may have millions of lines).

    Parameters
    ----------
    name
        The file as the user wrote it.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.unlisted = 0  # how many there are beyond the limit
        self._listed: list[Problem] = []

    def __len__(self) -> int:
        return len(self._listed) + self.unlisted

    def add(self, line: int | None, reason: str) -> None:
        """Add a problem of a line, or of the file as a whole."""
        if len(self._listed) < LIMIT:
            self._listed.append(Problem(self.name, line, reason))
        else:
            self.unlisted += 1

    def all(self) -> list[Problem]:
        """The listed problems, and a last one that counts the others."""
        if not self.unlisted:
            return self._listed
        return [*self._listed, Problem(self.name, None, f"{self.unlisted} further problems are not listed")]

    def check(self, lister: str = "zeroevidence doctor") -> None:
        """Raise an error where there are any problems."""
        if len(self):
            raise InputError.of(self.all(), lister)


@contextmanager
def collecting(problems: list[Problem]) -> Iterator[None]:
    """Context in which an error about a file becomes one of the problems."""
    try:
        yield
    except InputError as error:
        problems.append(error.problem)


_LABELS = {  # same-source and different-source, H1 and H2, prosecution and defence as forensic tables have them
    True: "target same-source same_source SS ss H1 Hp 1 1.0 True TRUE true",
    False: "nontarget different-source different_source DS ds H2 Hd 0 0.0 -1 -1.0 False FALSE false",
}
LABELS = {word: target for target, words in _LABELS.items() for word in words.split()}
LABELS_EXPECTED = "expected target or nontarget (or 1 / 0)"

LONGEST_LINE = 1 << 20  # bytes: no line of a list or a table has as many
TOO_LONG = f"a line of more than {LONGEST_LINE} bytes; expected shorter lines"

_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII)
_NOT_FINITE = re.compile(r"[+-]?(?:nan|inf|infinity)", re.IGNORECASE | re.ASCII)
_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f]")
_BLANKS = re.compile(r"[ \t]+")
_RECORDINGS = {
    "WAV": (b"RIFF", b"RIFX", b"RF64", b"riff"),
    "FLAC": (b"fLaC",),
    "Ogg": (b"OggS",),
    "MP3": (b"ID3", b"\xff\xfb", b"\xff\xf3", b"\xff\xf2"),
    "AIFF": (b"FORM",),
    "AU": (b".snd",),
    "NIST": (b"NIST_1A",),
}
_OTHERS = {"MATLAB": b"MATLAB 5.0", "Arrow": b"ARROW1", "Excel": b"\xd0\xcf\x11\xe0"}
_SAMPLE = 4096  # first bytes, by which text is distinguished from other files
_MOST_UNPRINTABLE = 0.2  # share of a text file's characters that may be no text


def is_number(token: str) -> bool:
    """Return whether a cell looks like a score, finite or not."""
    return _NUMBER.fullmatch(token) is not None or _NOT_FINITE.fullmatch(token) is not None


def is_decimal(token: str) -> bool:
    """Return whether a cell looks like a score with a decimal point or a decimal comma."""
    return is_number(token.replace(",", ".", 1))


def parse_score(token: str, *, finite: bool = True, commas: bool = False) -> float | str:
    """Return the number that a token writes, or the reason why it is none.

    Parameters
    ----------
    token
        The cell.
    finite
        Whether infinities and NaN are refused.
    commas
        Whether numbers have decimal commas; points may then separate thousands, and are refused.
    """
    if commas and "." in token:
        return f"score {token!r} has a point where others have a decimal comma; expected one of them in all lines"
    token = token.replace(",", ".", 1) if commas else token
    if not finite and _NOT_FINITE.fullmatch(token):
        return float(token)
    if _NUMBER.fullmatch(token):
        value = float(token)
        if value - value == 0.0:
            return value
    elif not _NOT_FINITE.fullmatch(token):
        return f"score {token!r} is not a number; expected one such as -1.25 or 3e-4"
    return f"score {token!r} is not finite; expected a finite number"


def without_mark(data: bytes) -> bytes:
    """Return the data without a UTF-8 byte order mark."""
    return data.removeprefix(b"\xef\xbb\xbf")


def numbered_lines(data: bytes, first: int = 1) -> Iterator[tuple[int, bytes]]:
    """Yield line numbers and lines without their ends; LF or CRLF ends a line, nothing else does.

    Parameters
    ----------
    data
        A file, or a later part of it.
    first
        The number of the first line; only a part that begins with line 1 may have a byte order mark.
    """
    for number, line in enumerate((without_mark(data) if first == 1 else data).split(b"\n"), first):
        yield number, line.removesuffix(b"\r")


def decode(line: bytes) -> tuple[str, str | None]:
    """Return a line as text, and what is wrong with its length or its characters, if anything."""
    if len(line) > LONGEST_LINE:
        return "", TOO_LONG
    control = _CONTROL.search(line)
    if control:
        byte = control.group()[0]
        what = "a NUL byte" if byte == 0 else f"control character 0x{byte:02x}"
        return "", f"{what}; expected text in UTF-8"
    try:
        return line.decode("utf-8"), None
    except UnicodeDecodeError as error:
        byte = line[error.start]
        return "", f"byte 0x{byte:02x} is not UTF-8 (is the file in Latin-1?); expected text in UTF-8"


def strict_lines(file: InputFile) -> Iterator[tuple[int, str]]:
    """Yield number and text of each line of a file; one that is not text is an error."""
    for number, raw in numbered_lines(file.read()):
        line, wrong = decode(raw)
        if wrong:
            raise InputError(wrong, path=file.name, line=number)
        yield number, line


def is_utf8(data: bytes) -> bool:
    """Return whether bytes are text in UTF-8."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def refuse_binary(file: InputFile, expected: str) -> None:
    """Refuse in one line a file of no known container that is no text, such as a recording.

    Parameters
    ----------
    file
        The file.
    expected
        What should be there.
    """
    if file.kind != TEXT:
        return
    head = file.head(_SAMPLE)
    letters = head.decode("utf-8", "replace")
    unprintable = sum(letter == "\ufffd" or (letter < " " and letter not in "\t\n\r") for letter in letters)
    if unprintable <= _MOST_UNPRINTABLE * len(letters) or head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return
    recording = next((name for name, magic in _RECORDINGS.items() if head.startswith(magic)), None)
    if recording is not None:
        raise InputError(f"is a recording ({recording}), which an audit reads; expected {expected}", path=file.name)
    other = next((name for name, magic in _OTHERS.items() if head.startswith(magic)), None)
    if other is not None:
        raise InputError(f"is a file of {other}; expected {expected} as text, Parquet or NumPy", path=file.name)
    if file.path.suffix in (".hdf5", ".h5"):
        advice = "raw numbers of 8 bytes become a list by np.save('scores.npy', np.fromfile(FILE))"
        raise InputError(f"is no HDF5 file, as its name says; expected {expected}; {advice}", path=file.name)
    for number, line in numbered_lines(head):
        wrong = decode(line)[1]
        if wrong:
            reason = f"{wrong}, but much of this file is no text; expected {expected}"
            raise InputError(reason, path=file.name, line=number)


def split(line: str, separator: str) -> list[str] | str:
    """Return the columns of a line, or the reason why it has none.

    Between blanks quotes are ordinary characters; elsewhere they hold a cell together.
    """
    if separator == " ":
        return _BLANKS.split(line.strip(" \t"))
    if '"' not in line:
        return [cell.strip(" \t") for cell in line.split(separator)]
    try:
        cells = next(csv.reader([line], delimiter=separator, strict=True, skipinitialspace=separator != "\t"))
    except (csv.Error, StopIteration):
        return "quotes do not match; expected each quoted cell to end on its line"
    return [cell.strip(" \t") for cell in cells]


def is_plain(data: bytes) -> bool:
    """Return whether every line is ASCII without control characters, so that ``str.split`` obeys these rules."""
    return data.isascii() and not _CONTROL.search(data.replace(b"\r\n", b"\n").replace(b"\n", b" "))


def is_blank(line: bytes) -> bool:
    """Return whether a line holds nothing but blanks and tabs."""
    return not line.strip(b" \t")


def full_lines(data: bytes, problems: FileProblems) -> Iterator[tuple[int, str]]:
    """Yield number and text of each line that is not blank; lines that are not text become problems."""
    for number, raw in numbered_lines(data):
        if is_blank(raw):
            continue
        line, wrong = decode(raw)
        if wrong:
            problems.add(number, wrong)
        else:
            yield number, line


def two_columns(file: InputFile, problems: FileProblems, columns: str) -> Iterator[tuple[int, str, str]]:
    """Yield number and both cells, composed, of each line of a text file; `columns` names them in messages."""
    file.check_text(f"text: {columns}")
    for number, line in full_lines(file.read(), problems):
        cells = split(compose(line), " ")
        if len(cells) == 2:
            yield number, cells[0], cells[1]
        else:
            problems.add(number, f"{len(cells)} column(s); expected 2: {columns}")
