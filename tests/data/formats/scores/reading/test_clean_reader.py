"""Clean text files, which are read whole: what counts as clean, and that lines are known without a second look."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tests.data.formats.scores.reading.test_fuzz import damage, valid
from zeroevidence.data.formats.input_file import InputFile, open_input
from zeroevidence.data.formats.scores.reading import join, tables
from zeroevidence.data.formats.scores.reading.clean_reader import begins_clean, read_clean
from zeroevidence.data.formats.scores.reading.detect import detect
from zeroevidence.data.formats.scores.reading.layout import HEAD, Layout
from zeroevidence.data.formats.scores.reading.line_reader import read_lines
from zeroevidence.data.formats.scores.reading.read import diagnose, read_scores
from zeroevidence.errors import InputError

KALDI = Layout("kaldi", ("enrol", "trial", "score"))
TABLE = Layout("table", ("enrol", "trial", "score"), ",", 1)


def whole(data, layout=KALDI):
    return read_clean(InputFile.holding("s", data), layout)


@pytest.mark.parametrize("form", ["kaldi", "voxceleb", "labelled", "table", "two-column"])
def test_it_only_ever_agrees_with_the_careful_reader(form, tmp_path):
    rng = random.Random(form)
    clean = 0
    for _ in range(150):
        scores = valid(form, rng)[0]
        for _ in range(rng.choice([0, 1, 2])):
            scores = damage(scores, rng)
        try:
            layout = detect(scores, "s", "scores")
        except InputError:
            continue
        (tmp_path / "s").write_bytes(scores)
        for file in (InputFile.holding("s", scores), open_input(tmp_path / "s")):
            table = read_clean(file, layout)
            if table is not None:
                clean += 1
                careful = read_lines(scores, "s", layout)
                assert careful.problems == ()
                assert careful.frame.equals(table.frame)
                assert careful.lines.tolist() == list(table.lines)
    assert clean > 40


@pytest.mark.parametrize(
    "data",
    [
        b"a b 1.0\n\nc d 2.0\n",  # an empty line
        b"a b 1.0\r\nc d 2.0\r\n",
        b"a  b 1.0\n",
        b"a b 1.0 \n",
        b" a b 1.0\n",
        b"a\tb 1.0\n",
        b"a b\x0bx 1.0\n",
        b"a b\x00x 1.0\n",
        b"a b 1.0\nc d\n",  # too short
        b"a b 1.0\nc d 2.0 3.0\n",  # too long
        b"a b 1.0\nc d inf\n",
        b"a b 1.0\nc d x\n",
        b"a \xff 1.0\n",
        b"a b 1.0\nc d\xc3",  # half a character
        b"\xef\xbb\xbfa b 1.0\n",
        b"",
    ],
)
def test_anything_unusual_is_left_to_others(data):
    assert whole(data) is None


@pytest.mark.parametrize("data", [b'e,t,s\na,"b",1.0\n', b"e,t,s\na, b,1.0\n", b"e,t,s\na,,1.0\n", b"e,t,s\n"])
def test_anything_unusual_in_a_table_is_left_to_others(data):
    assert whole(data, TABLE) is None


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_lines_are_counted_from_the_start_of_the_file(end):
    table = whole(b"a b 1.0\nc d 2.0" + end)
    assert table.located
    assert [table.line(row) for row in range(2)] == [1, 2]
    below = whole("enrol,trial,score\nann,ä,1.0\nbob,b,2.0".encode() + end, TABLE)
    assert [below.line(row) for row in range(2)] == [2, 3]
    assert below.frame["trial"].to_list() == ["ä", "b"]


def test_a_character_may_lie_across_two_blocks(monkeypatch):
    monkeypatch.setattr("zeroevidence.data.formats.scores.reading.clean_reader.CACHED", 4)
    data = "ä öü 1.0\nß é 2.0\n".encode()
    assert whole(data).frame["trial"].to_list() == ["öü", "é"]
    assert whole(data.replace(b"\xc3\xa9", b"\xc3")) is None


def test_whether_a_file_begins_clean():
    assert begins_clean(b"a b 1.0\nc d 2.0\ne f", KALDI)
    assert begins_clean(b"enrol,trial,score\na,b,1.0\nc", TABLE)
    assert not begins_clean(b"a b 1.0\nc  d 2.0\ne f", KALDI)
    assert not begins_clean(b"a b", KALDI)


def test_problems_of_clean_files_are_found_in_one_reading(tmp_path, monkeypatch):
    (tmp_path / "s").write_text("ann u1 1.0\nbob u1 0.5\nbob u1 0.4\neve u1 0.1\n")
    (tmp_path / "k").write_text("ann u1 target\nbob u1 nontarget\nbob u2 nontarget\n")
    monkeypatch.setattr(tables, "read_blocks", None)
    found = diagnose(tmp_path / "s", tmp_path / "k")
    assert [(one.path.rpartition("/")[2], one.line) for one in found] == [("s", 3), ("s", 4), ("k", 3)]


def test_a_bad_line_of_a_long_file_is_named_without_tidying_the_rest(tmp_path, monkeypatch):
    lines = [f"e{at % 7} t{at} {at}.5" for at in range(HEAD // 10)]
    (tmp_path / "k").write_text(
        "".join(f"e{at % 7} t{at} {'target' if at % 2 else 'nontarget'}\n" for at in range(len(lines)))
    )
    lines[-10] = "two words"
    (tmp_path / "s").write_text("\n".join(lines) + "\n")
    monkeypatch.setattr(tables, "read_by_polars", None)
    found = diagnose(tmp_path / "s", tmp_path / "k")
    assert [one.line for one in found] == [len(lines) - 9, len(lines) - 9]
    assert found[0].reason.startswith("2 column(s); expected 3")


@pytest.mark.parametrize("room", [join._ROOM, 0])
def test_any_order_gives_the_same_scores(tmp_path, monkeypatch, room):
    monkeypatch.setattr(join, "_ROOM", room)
    monkeypatch.setattr(join, "_BLOCK", 7)
    rng = np.random.default_rng(0)
    pairs = [(f"e{e}", f"t{t}") for e in range(5) for t in range(9)]
    value = {pair: at / 8 for at, pair in enumerate(pairs)}
    (tmp_path / "k").write_text(
        "".join(f"{e} {t} {'target' if int(t[1:]) % 5 == int(e[1:]) else 'nontarget'}\n" for e, t in pairs)
    )
    for order in (np.arange(45), rng.permutation(45)):
        (tmp_path / "s").write_text("".join(f"{pairs[at][0]} {pairs[at][1]} {value[pairs[at]]}\n" for at in order))
        data = read_scores(tmp_path / "s", tmp_path / "k").data
        for scores, who in ((data.target, data.target_pairs), (data.nontarget, data.nontarget_pairs)):
            names = zip(data.enrolments[who.enrolment], data.trials[who.trial], strict=True)
            assert scores.tolist() == [value[pair] for pair in names]
    assert len(data.target) == 9
