"""Text formats: what each looks like, how it is recognised, and the exact line of everything that is wrong."""

import io
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.data.trials import put, trials
from zeroevidence.data.formats.scores.read import diagnose, read_scores
from zeroevidence.data.formats.scores.score_format import ReadingOptions, format_names
from zeroevidence.errors import InputError, UsageError

KEY = "1462 1462-1 target\n1462 1462-2 target\n1462 77-1 nontarget\n77 1462-1 nontarget\n77 77-1 target\n"
SCORES = "1462 1462-1 0.5\n1462 1462-2 -1.25\n1462 77-1 1e-3\n77 1462-1 -3\n77 77-1 2.\n"
WANTED = {
    ("1462", "1462-1"): (0.5, True),
    ("1462", "1462-2"): (-1.25, True),
    ("1462", "77-1"): (0.001, False),
    ("77", "1462-1"): (-3.0, False),
    ("77", "77-1"): (2.0, True),
}


def problems(folder: Path, scores: str | bytes, key: str | bytes | None = KEY, **options) -> list[str]:
    path = put(folder, "s", scores)
    key_path = None if key is None else put(folder, "k", key)
    found = diagnose(path, key_path, ReadingOptions(**options))
    with pytest.raises(InputError) as caught:
        read_scores(path, key_path, ReadingOptions(**options))
    assert (caught.value.problem, caught.value.more) == (found[0], len(found) - 1)
    return [str(problem).replace(f"{folder}/", "") for problem in found]


def test_kaldi(tmp_path):
    loaded = read_scores(put(tmp_path, "s", SCORES), put(tmp_path, "k", KEY))
    assert (loaded.format, loaded.key_format, loaded.relaxed) == ("kaldi", "kaldi", ())
    assert trials(loaded.data) == WANTED
    assert loaded.data.enrolments.tolist() == ["1462", "77"]
    assert loaded.data.trials.tolist() == ["1462-1", "1462-2", "77-1"]
    assert diagnose(tmp_path / "s", tmp_path / "k") == []


@pytest.mark.parametrize("separator", [",", "\t", "  "])
def test_table(tmp_path, separator):
    rows = ["Trial Extra SCORE enrollment label", "u1 x 0.5 a target", "u2 y 1 a 0", "u1 z 1e1 b nontarget"]
    path = put(tmp_path, "s.csv", "\n".join(row.replace(" ", separator) for row in rows))
    loaded = read_scores(path)
    assert loaded.format == "table"
    assert trials(loaded.data) == {("a", "u1"): (0.5, True), ("a", "u2"): (1.0, False), ("b", "u1"): (10.0, False)}


def test_table_with_key_and_table_as_key(tmp_path):
    scores = put(tmp_path, "s", "score,trial,enrol\n1,u,a\n2,v,a\n")
    loaded = read_scores(scores, put(tmp_path, "k", "a u target\na v nontarget\n"))
    assert (loaded.format, loaded.key_format) == ("table", "kaldi")
    again = read_scores(scores, put(tmp_path, "k2", "label\tenrol\ttrial\n0\ta\tv\n1\ta\tu\n"))
    assert again.key_format == "table"
    assert trials(loaded.data) == trials(again.data) == {("a", "u"): (1.0, True), ("a", "v"): (2.0, False)}


def test_quoted_cells(tmp_path):
    text = 'enrol,trial,score,label,note\n"a, b","u ""1""",0.5,target,\n"a, b", v ,"1",nontarget,"x"\n'
    data = read_scores(put(tmp_path, "s", text)).data
    assert trials(data) == {("a, b", 'u "1"'): (0.5, True), ("a, b", "v"): (1.0, False)}


def test_quotes_are_ordinary_between_blanks(tmp_path):
    loaded = read_scores(put(tmp_path, "s", '"a u 1 target\n"a v" 2 nontarget\n'))
    assert trials(loaded.data) == {('"a', "u"): (1.0, True), ('"a', 'v"'): (2.0, False)}


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\ufeff" + text,
        lambda text: text.replace(" ", "\t"),
        lambda text: text.replace(" ", " \t  "),
        lambda text: "\n \n" + text.replace("\n", " \t\n\n  "),
        lambda text: text.rstrip("\n"),
        lambda text: text.rstrip("\n") + "\r",
        lambda text: "".join(reversed(text.splitlines(keepends=True))),
    ],
)
def test_tolerated(tmp_path, change):
    assert trials(read_scores(put(tmp_path, "s", change(SCORES)), put(tmp_path, "k", change(KEY))).data) == WANTED


def test_identifiers_stay_as_they_are(tmp_path):
    ids = ["NA", "null", "1e5", "007", "7", "True", "#x", "nan", "é", "\u00a0", "-", "a\u2028b", "'", "1_000"]
    scores = "".join(f"{one} {one}{one} {i}\n" for i, one in enumerate(ids))
    key = "".join(f"{one} {one}{one} {'target' if i % 2 else 'nontarget'}\n" for i, one in enumerate(ids))
    loaded = read_scores(put(tmp_path, "s", scores), put(tmp_path, "k", key))
    assert trials(loaded.data) == {(one, one + one): (float(i), bool(i % 2)) for i, one in enumerate(ids)}


def test_standard_input(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(SCORES.encode())))
    assert trials(read_scores("-", put(tmp_path, "k", KEY)).data) == WANTED
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"1 target\nx nontarget\n")))
    with pytest.raises(InputError, match=r"^<stdin>:2: score 'x' is not a number"):
        read_scores("-")
    with pytest.raises(UsageError):
        read_scores("-", "-")


def test_unknown_options(tmp_path):
    with pytest.raises(UsageError, match="unknown format"):
        read_scores(put(tmp_path, "s", SCORES), options=ReadingOptions(format="nist"))
    with pytest.raises(UsageError, match="duplicates"):
        read_scores(put(tmp_path, "s", SCORES), options=ReadingOptions(duplicates="mean"))  # type: ignore[arg-type]
    assert format_names()[0] == "auto"


# Detection


@pytest.mark.parametrize(("form", "scores"), [("kaldi", "1 11 0.5\n2 11 3\n"), ("voxceleb", "0.5 1 11\n3 2 11\n")])
def test_numeric_both_ways_is_what_the_key_says(tmp_path, form, scores):
    loaded = read_scores(put(tmp_path, "s", scores), put(tmp_path, "k", "1 11 target\n2 11 nontarget\n"))
    assert loaded.format == form
    assert trials(loaded.data) == {("1", "11"): (0.5, True), ("2", "11"): (3.0, False)}


def test_forced(tmp_path):
    scores, key = put(tmp_path, "s", "0.5 1 11\n3 2 11\n"), put(tmp_path, "k", "1 1 11\n0 2 11\n")
    assert read_scores(scores, key, ReadingOptions(format="voxceleb")).format == "voxceleb"
    assert diagnose(scores, key, ReadingOptions(format="kaldi"))
    assert diagnose(scores, options=ReadingOptions(format="table"))[0].reason.startswith("no header")
    assert diagnose(scores, options=ReadingOptions(format="matrix"))[0].reason.startswith("is a text file")
    assert diagnose(scores, options=ReadingOptions(format="bosaris"))[0].reason.startswith("is a text file")


@pytest.mark.parametrize("line", range(5))
def test_one_bad_line_does_not_change_the_format(tmp_path, line):
    lines = SCORES.splitlines()
    lines[line] = lines[line].rsplit(" ", 1)[0] + " oops"
    said = f"s:{line + 1}: score 'oops' is not a number; expected one such as -1.25 or 3e-4"
    assert problems(tmp_path, "\n".join(lines)) == [said]


def test_ambiguous_header(tmp_path):
    (problem,) = problems(tmp_path, "score,label,utterance,test\n1,1,a,b\n", None)
    assert problem == "s:1: columns 'utterance' and 'test' both mean trial; expected one"
    plain = read_scores(put(tmp_path, "p", "score,label,utterance,trial,enrol\n1,1,a,b,c\n2,0,a,d,c\n"))
    assert plain.data.trials.tolist() == ["b", "d"]


# Errors, each with its line


@pytest.mark.parametrize(
    ("scores", "key", "wanted"),
    [
        ("\n" + SCORES.replace("1e-3", "nan"), KEY, "s:4: score 'nan' is not finite"),
        (SCORES.replace("0.5", "0,5"), KEY, "s:1: score '0,5' is not a number"),
        (SCORES.replace("0.5", "1_000"), KEY, "s:1: score '1_000' is not a number"),
        (SCORES.replace("0.5", "٣"), KEY, "s:1: score '٣' is not a number"),
        (SCORES.replace("-1.25", "-1.25 7"), KEY, "s:2: 4 column(s); expected 3: enrol trial score"),
        (SCORES.replace(" -3", ""), KEY, "s:4: 2 column(s); expected 3: enrol trial score"),
        (SCORES, KEY.replace("77 77-1 target", "77 77-1 Target"), "k:5: unknown label 'Target'; expected target or"),
        (SCORES, KEY + "77 77-1 nontarget\n", "k:6: '77 77-1' is nontarget here but target before (first on line 5)"),
        (SCORES, KEY + "77 77-1 target\n", "k:6: duplicate of '77 77-1' (first on line 5); expected each pair once"),
        (SCORES + "77 77-1 2\n", KEY, "s:6: duplicate of '77 77-1' (first on line 5); expected each pair once"),
        (SCORES + "9 77-1 2\n", KEY, "s:6: '9 77-1' is not in the key"),
        (SCORES, KEY + "\n9 77-1 target\n", "k:7: '9 77-1' has no score in"),
        (SCORES, SCORES, "k:1: column 3 holds numbers, not labels: are these scores?"),
        (KEY, KEY, "s:1: column 3 holds labels, not scores: is this the key?"),
        (SCORES, "a b target\nc d nontarget\n", "s:1: no trial of this file is in the key"),
        ("", KEY, "s: empty; expected one trial per line"),
        (SCORES, KEY.replace("nontarget", "target"), "k: all 5 trials are target; expected both"),
        ("1 0\n2 0\n", None, "s: all 2 trials are nontarget; expected both target and nontarget trials"),
        (SCORES, None, "s: no labels; expected a key (--key KEY) or a label column"),
        ("1 target\n2 nontarget\n", KEY, "s: no enrol and trial columns to join with"),
        ("a\nb\n", KEY, "s:1: 1 column(s); expected `enrol trial score`"),
        ("score,label,enrol\n1,1,a\n", None, "s: enrol without trial, or trial without enrol"),
        ("label,enrol,trial\n1,a,b\n", None, "s: no column named score (found: label, enrol, trial)"),
        (SCORES, "enrol,trial\n1,2\n", "k: not a key (found columns: enrol, trial)"),
        ("score,label\n", None, "s: empty below its header"),
        ("enrol,trial,score,label\na,,1,1\n", None, "s:2: empty trial; expected enrol trial score label"),
        ('score,label\n"1,1\n2,0\n', None, "s:2: quotes do not match"),
        (SCORES.encode("utf-16"), KEY, "s:1: encoded in UTF-16; expected text in UTF-8"),
        (SCORES.replace(" -3", " -3\x0b"), KEY, "s:4: control character 0x0b; expected text in UTF-8"),
        (SCORES.replace("77-1", "é").encode("latin-1"), KEY, "s:3: byte 0xe9 is not UTF-8 (is the file in Latin-1?)"),
        (b"\x1f\x8b\x08\0", KEY, "s: damaged: it does not unpack with gzip to its end"),
    ],
)
def test_first_problem(tmp_path, scores, key, wanted):
    found = problems(tmp_path, scores, key)
    assert found[0].startswith(wanted), found


NOISE = np.random.default_rng(0).integers(0, 256, 3000).astype(np.uint8).tobytes()  # has many lines


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        (b"RIFF" + (3000).to_bytes(4, "little") + b"WAVEfmt " + NOISE, "is a recording (WAV), which an audit reads"),
        (b"fLaC" + NOISE, "is a recording (FLAC), which an audit reads"),
        (b"%PNG\r\n" + NOISE, "but much of this file is no text; expected"),
        (SCORES.encode("utf-16-le") * 20, "but much of this file is no text; expected"),
    ],
)
def test_a_binary_file_is_one_problem(tmp_path, content, wanted):
    for number, expected in enumerate(("scores", "a key")):
        (problem,) = problems(tmp_path, *((content, KEY) if number == 0 else (SCORES, content)))
        assert wanted in problem
        assert problem.endswith(f"expected {expected}")


def test_every_problem_is_listed(tmp_path):
    scores = SCORES.replace("0.5", "x").replace("1e-3", "inf") + "77 77-1 4\n8 8 1\n"
    key = KEY.replace("77 1462-1 nontarget", "77 1462-1 no") + "5 5 target\n"
    places = [line.split(" ", 1)[0] for line in problems(tmp_path, scores, key)]
    assert places == ["s:1:", "s:3:", "k:4:", "s:6:", "s:7:", "k:6:"]


def test_own_labels_must_agree_with_the_key(tmp_path):
    own = "a u 1 target\na v 2 nontarget\n"
    assert read_scores(put(tmp_path, "o", own), put(tmp_path, "ok", "a u target\na v nontarget\n")).format == "labelled"
    found = problems(tmp_path, own, "a v nontarget\na u nontarget\n")
    assert found[0].startswith("s:1: 'a u' is target here but nontarget in k:2; expected the same label")


def test_files_that_cannot_be_read(tmp_path):
    key = put(tmp_path, "k", KEY)
    assert str(diagnose(tmp_path / "no", key)[0]) == f"{tmp_path}/no: no such file"
    assert str(diagnose(tmp_path, key)[0]) == f"{tmp_path}: is a folder; expected a file"
    assert "cannot be read" in str(diagnose("a\0b", key)[0])
    both = diagnose(tmp_path / "no", tmp_path / "neither")
    assert [problem.path for problem in both] == [f"{tmp_path}/no", f"{tmp_path}/neither"]


def test_a_wrong_file_of_many_lines_stays_readable(tmp_path, monkeypatch):
    monkeypatch.setattr("zeroevidence.data.formats.text.LIMIT", 3)
    found = problems(tmp_path, SCORES, KEY.replace("target", "tgt"))
    assert found[-1] == "k: 2 further problems are not listed"
    assert len(found) == 4


@pytest.mark.parametrize("others", [0, 40])
def test_scores_that_nobody_asked_for_are_no_repetitions(tmp_path, others):
    """The first line is in no key, and the last trial of the key must not be taken for the same; dense or sparse."""
    asked = [f"e{i} t{i} {'target' if i % 2 else 'nontarget'}" for i in range(4 + others)]
    (tmp_path / "k").write_text("\n".join(asked) + "\n")
    (tmp_path / "s").write_text("x y 9\n" + "".join(f"e{i} t{i} {i}\n" for i in range(4 + others)) + "x z 9\n")
    loaded = read_scores(tmp_path / "s", tmp_path / "k", ReadingOptions(allow_missing=True))
    assert sorted([*loaded.data.target, *loaded.data.nontarget]) == list(range(4 + others))
    assert [str(one) for one in loaded.relaxed] == ["missing:2"]
