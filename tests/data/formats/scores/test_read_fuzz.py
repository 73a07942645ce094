"""Damaged files: the right answer or an error with its place, never a wrong number and never another exception."""

import random
import re
from itertools import product
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.data.trials import trials
from tests.effort import repetitions, spread
from tests.fuzz.damage.anything import damaged
from tests.fuzz.oracle import COLUMNS, naive
from zeroevidence.data.formats.input_file import InputFile
from zeroevidence.data.formats.scores import text_reader
from zeroevidence.data.formats.scores.detect import detect
from zeroevidence.data.formats.scores.read import diagnose, read_scores
from zeroevidence.data.formats.scores.text_reader import BLOCKS, column_types, parse_lines, read_text
from zeroevidence.errors import InputError


def answer_of(data):
    if data.trials is None:
        classes = data.nontarget.tolist(), data.target.tolist()
        return sorted((score, bool(label)) for label in (0, 1) for score in classes[label])
    return sorted((*names, *answer) for names, answer in trials(data).items())


# Valid files to start from


def valid(form: str, rng: random.Random) -> tuple[bytes, bytes | None, str, str | None]:
    speakers = ["1462", "77", "p225"] if rng.random() < 0.5 else ["1462", "77", "251"]
    tried = [f"{speaker}-{n}" if rng.random() < 0.8 else f"{n}{speaker}" for speaker in speakers for n in range(3)]
    rows = [(s, t, rng.choice(["%.3f", "%.6e", "%g"]) % rng.gauss(0, 3), s in t) for s in speakers for t in tried]
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
    cases = repetitions(30, 250)
    for _ in range(cases):
        scores, key, *forms = valid(form, rng)
        for _ in range(rng.choice([0, 1, 1, 1, 2, 4])):
            if key is not None and rng.random() < 0.5:
                key = damaged(key, "key", rng)
            else:
                scores = damaged(scores, "scores", rng)
        read += judge(tmp_path, scores, key, *forms)
    assert 0.15 * cases < read < 0.9 * cases  # both outcomes were seen often


@pytest.mark.parametrize("form", spread(["kaldi", "voxceleb", "labelled", "two-column", "table"], 3))
def test_blocks_parsed_by_polars_are_what_the_line_reader_reads(form, monkeypatch):
    rng = random.Random(form)
    clean = 0
    cases = repetitions(20, 150)
    for _ in range(cases):
        scores = valid(form, rng)[0]
        scores += 2 * (scores.partition(b"\n")[2] if form == "table" else scores)
        for _ in range(rng.choice([0, 1, 2])):
            scores = damaged(scores, "scores", rng)
        try:
            layout = detect(scores, "s", "scores")
        except InputError:
            continue
        file = InputFile.holding("s", scores)
        found = read_text(file, layout, rng.choice([BLOCKS, (1,), (20,), (60,), (100, 20), (200, 1)]))
        with monkeypatch.context() as patch:
            patch.setattr(text_reader, "parse_lines", lambda *_: None)
            expected = read_text(file, layout)
        assert found.problems == expected.problems
        assert found.frame.cast({pl.Categorical: pl.String}).equals(expected.frame.cast({pl.Categorical: pl.String}))
        assert list(found.lines) == list(expected.lines)
        clean += parse_lines(scores, layout, column_types(layout)) is not None
    assert 0.1 * cases < clean < 0.95 * cases or form == "table"  # whose header is no row


@settings(max_examples=repetitions(15, 60), deadline=None)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_numbers_come_back_exactly(values):
    data = "".join(f"{value!r} 1\n" for value in values).encode()
    layout = detect(data, "s", "scores")
    frame = parse_lines(data, layout, column_types(layout))
    assert frame is not None
    assert frame["score"].to_list() == values
    assert frame.schema == {"score": pl.Float64, "label": pl.Boolean}
