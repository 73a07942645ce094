"""Damaged files: the right answer or an error with its place, never a wrong number and never another exception."""

import csv
import math
import random
import re
from functools import lru_cache
from itertools import product
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.effort import repetitions
from zeroevidence.data.formats.input_file import InputFile
from zeroevidence.data.formats.scores.reading import line_reader
from zeroevidence.data.formats.scores.reading.detect import detect
from zeroevidence.data.formats.scores.reading.line_reader import BLOCKS, read_text
from zeroevidence.data.formats.scores.reading.polars_reader import column_types, parse_lines
from zeroevidence.data.formats.scores.reading.read import diagnose, read_scores
from zeroevidence.errors import InputError

# A naive reader, written apart from the package: one format, no detection, None for anything that is not right.

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
COLUMNS = {
    "kaldi": ("enrol", "trial", "score"),
    "voxceleb": ("score", "enrol", "trial"),
    "kaldi key": ("enrol", "trial", "label"),
    "voxceleb key": ("label", "enrol", "trial"),
    "labelled": ("enrol", "trial", "score", "label"),
    "labelled key": ("enrol", "trial", "", "label"),
    "speechbrain": ("enrol", "trial", "label", "score"),
    "speechbrain key": ("enrol", "trial", "label", ""),
    "two-column": ("score", "label"),
}


@lru_cache(maxsize=32)  # of one case, which is read in every pair of formats
def naive_rows(data: bytes, form: str):
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    lines = [line[:-1] if line.endswith("\r") else line for line in text.split("\n")]
    lines = [line for line in lines if line.strip(" \t")]
    if any(ord(letter) < 32 and letter != "\t" for line in lines for letter in line):
        return None
    comma = form == "table" or all("," in line and " " not in line.strip() for line in lines)
    try:
        rows = list(csv.reader(lines, strict=True)) if comma else [line.split(None) for line in lines]
        if not comma:
            rows = [re.split(r"[ \t]+", line.strip(" \t")) for line in lines]
    except csv.Error:
        return None
    rows = [[cell.strip(" \t") for cell in row] for row in rows]
    columns = tuple(rows.pop(0)) if form == "table" and rows else COLUMNS.get(form, ())
    if not rows or "" in columns[:1] or len(set(columns) - {""}) != len([c for c in columns if c]):
        return None
    found = []
    for row in rows:
        if len(row) != len(columns) or "" in row:
            return None
        cells = dict(zip(columns, row, strict=True))
        if "score" in cells:
            if not NUMBER.fullmatch(cells["score"]) or not math.isfinite(float(cells["score"])):
                return None
            cells["score"] = float(cells["score"])
        if "label" in cells:
            if cells["label"] not in ("target", "nontarget", "1", "0", "True", "False"):
                return None
            cells["label"] = cells["label"] in ("target", "1", "True")
        found.append(cells)
    return found


def naive(scores: bytes, form: str, key: bytes | None, key_form: str | None):
    rows = naive_rows(scores, form)
    keys = None if key is None else naive_rows(key, key_form)
    if rows is None or (key is not None and keys is None):
        return None
    if "score" not in rows[0] or ("enrol" in rows[0]) != ("trial" in rows[0]):
        return None
    if key is None:
        if any("label" not in row for row in rows):
            return None
        keys = rows
    if "enrol" not in rows[0] and key is None:
        answer = sorted((row["score"], row["label"]) for row in rows)
        return answer if len({label for _, label in answer}) == 2 else None
    try:
        by_pair = {(row["enrol"], row["trial"]): row for row in rows}
        labels = {(row["enrol"], row["trial"]): row["label"] for row in keys}
    except KeyError:
        return None
    if len(by_pair) != len(rows) or len(labels) != len(keys) or set(by_pair) != set(labels):
        return None
    if any(row.get("label", labels[pair]) != labels[pair] for pair, row in by_pair.items()):
        return None
    if len(set(labels.values())) != 2:
        return None
    return sorted((*pair, row["score"], labels[pair]) for pair, row in by_pair.items())


def answer_of(data):
    both = ((data.target, data.target_pairs, True), (data.nontarget, data.nontarget_pairs, False))
    if data.trials is None:
        return sorted((float(score), label) for scores, _, label in both for score in scores)
    return sorted(
        (str(data.enrolments[e]), str(data.trials[t]), float(score), label)
        for scores, pairs, label in both
        for score, e, t in zip(scores, pairs.enrolment, pairs.trial, strict=True)
    )


# Valid files to start from


def valid(form: str, rng: random.Random) -> tuple[bytes, bytes | None, str, str | None]:
    speakers = ["1462", "77", "p225"] if rng.random() < 0.5 else ["1462", "77", "251"]
    trials = [f"{speaker}-{n}" if rng.random() < 0.8 else f"{n}{speaker}" for speaker in speakers for n in range(3)]
    rows = [(s, t, rng.choice(["%.3f", "%.6e", "%g"]) % rng.gauss(0, 3), s in t) for s in speakers for t in trials]
    label = {True: "target", False: "nontarget"} if rng.random() < 0.7 else {True: "1", False: "0"}
    rng.shuffle(rows)
    if form == "two-column":
        return "".join(f"{x} {label[y]}\n" for _, _, x, y in rows).encode(), None, form, None
    if form == "labelled":
        return "".join(f"{s} {t} {x} {label[y]}\n" for s, t, x, y in rows).encode(), None, form, None
    if form == "speechbrain":
        return "".join(f"{s} {t} {label[y]} {x}\n" for s, t, x, y in rows).encode(), None, form, None
    if form == "table":
        lines = ["trial,score,label,enrol", *(f"{t},{x},{label[y]},{s}" for s, t, x, y in rows)]
        return "\n".join(lines).encode(), None, form, None
    order = rows if rng.random() < 0.5 else rng.sample(rows, len(rows))
    if form == "kaldi":
        key = "".join(f"{s} {t} {label[y]}\n" for s, t, _, y in order)
        return "".join(f"{s} {t} {x}\n" for s, t, x, _ in rows).encode(), key.encode(), form, "kaldi key"
    key = "".join(f"{int(y)} {s} {t}\n" for s, t, _, y in order)
    return "".join(f"{x} {s} {t}\n" for s, t, x, _ in rows).encode(), key.encode(), form, "voxceleb key"


# Damage

BYTES = [bytes([code]) for code in b'\0\n\r \t\xe9,"0e-.#'] + [b"\xc3\xa9", b"\xef\xbb\xbf", b"\r\n"]
WORDS = b"nan inf 1e999 1_0 0x1 target nontarget spoof 1 0 NA null '' 1,5 Target".split()


def damage(data: bytes, rng: random.Random) -> bytes:
    kind = rng.randrange(13)
    lines = data.split(b"\n")
    at, line = rng.randrange(len(data) + 1), rng.randrange(len(lines))
    other = rng.randrange(len(lines))
    cells = lines[line].split(b" ")
    cell = rng.randrange(len(cells))
    if kind == 0:
        return data[:at] + data[at + 1 :]
    if kind == 1:
        return data[:at] + rng.choice(BYTES) + data[at:]
    if kind == 2:
        return data[:at] + rng.choice(BYTES) + data[at + 1 :]
    if kind == 3:
        lines.insert(other, lines[line])
    elif kind == 4:
        del lines[line]
    elif kind == 5:
        lines[line], lines[other] = lines[other], lines[line]
    elif kind == 6:
        rng.shuffle(cells)
        lines[line] = b" ".join(cells)
    elif kind == 7:
        cells[cell] = rng.choice(WORDS)
        lines[line] = b" ".join(cells)
    elif kind == 8:
        cells.insert(cell, rng.choice(WORDS))
        lines[line] = b" ".join(cells)
    elif kind == 9:
        lines[line] = rng.choice([b"", b" ", b"\t", b" \t "])
    elif kind == 10:
        return data[:at]
    elif kind == 11:
        lines = [one.replace(b" ", b"\t") + b"\r" for one in lines]
    else:
        return data.decode("utf-8", "replace").encode(rng.choice(["utf-16", "utf-16-le", "utf-8-sig"]))
    return b"\n".join(lines)


PLACE = re.compile(r"(?:scores|key)(?::\d+)?: ", re.DOTALL)


def judge(folder: Path, scores: bytes, key: bytes | None, form: str, key_form: str | None) -> bool:
    (folder / "scores").write_bytes(scores)
    if key is not None:
        (folder / "key").write_bytes(key)
    files = (folder / "scores", None if key is None else folder / "key")
    found = diagnose(*files)
    answer, raised = None, None
    try:
        answer = answer_of(read_scores(*files).data)
    except InputError as error:
        raised = error.problem
    if raised is not None:
        assert raised == found[0]
        assert all(PLACE.match(str(problem).replace(f"{folder}/", "")) for problem in found)
        assert naive(scores, form, key, key_form) is None, found
        return False
    assert not found
    # The package may have understood the damaged file as another format; then that format must give this answer.
    forms = [one for one in (*COLUMNS, "table") if not one.endswith(" key")]
    key_forms = [None] if key is None else [*(one for one in COLUMNS if one.endswith(" key")), "table"]
    answers = [naive(scores, one, key, two) for one, two in product([form, *forms], [key_form, *key_forms])]
    assert answer in answers
    if answers[0] is not None:
        assert answer == answers[0]
    return True


@pytest.mark.parametrize("form", ["kaldi", "voxceleb", "labelled", "speechbrain", "table", "two-column"])
def test_damaged_files(tmp_path, form):
    rng = random.Random(form)
    read = 0
    for _ in range(250):
        scores, key, *forms = valid(form, rng)
        for _ in range(rng.choice([0, 1, 1, 1, 2, 4])):
            if key is not None and rng.random() < 0.5:
                key = damage(key, rng)
            else:
                scores = damage(scores, rng)
        read += judge(tmp_path, scores, key, *forms)
    assert 40 < read < 220  # both outcomes were seen often


@pytest.mark.parametrize("form", ["kaldi", "voxceleb", "labelled", "table", "two-column"])
def test_blocks_parsed_by_polars_are_what_the_line_reader_reads(form, monkeypatch):
    rng = random.Random(form)
    clean = 0
    for _ in range(150):
        scores = valid(form, rng)[0]
        scores += 2 * (scores.partition(b"\n")[2] if form == "table" else scores)
        for _ in range(rng.choice([0, 1, 2])):
            scores = damage(scores, rng)
        try:
            layout = detect(scores, "s", "scores")
        except InputError:
            continue
        file = InputFile.holding("s", scores)
        found = read_text(file, layout, rng.choice([BLOCKS, (1,), (20,), (60,), (100, 20), (200, 1)]))
        with monkeypatch.context() as patch:
            patch.setattr(line_reader, "parse_lines", lambda *_: None)
            expected = read_text(file, layout)
        assert found.problems == expected.problems
        assert found.frame.cast({pl.Categorical: pl.String}).equals(expected.frame.cast({pl.Categorical: pl.String}))
        assert list(found.lines) == list(expected.lines)
        clean += parse_lines(scores, layout, column_types(layout)) is not None
    assert 20 < clean < 140 or form == "table"  # whose header is no row


@settings(max_examples=repetitions(15, 60), deadline=None)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_numbers_come_back_exactly(values):
    data = "".join(f"{value!r} 1\n" for value in values).encode()
    layout = detect(data, "s", "scores")
    frame = parse_lines(data, layout, column_types(layout))
    assert frame is not None
    assert frame["score"].to_list() == values
    assert frame.schema == {"score": pl.Float64, "label": pl.Boolean}
