"""The first lines of text files, however long they are and wherever they begin."""

import pytest

from zeroevidence.data.formats.scores.layout import HEAD
from zeroevidence.data.formats.scores.read import diagnose, read_scores
from zeroevidence.data.formats.text import TOO_LONG
from zeroevidence.errors import InputError

TABLE = b"enrol,trial,score,label\nann,u1,2.0,1\nbob,u1,1.0,0\nann,u2,0.5,0\nbob,u2,3.0,1\n"


@pytest.mark.parametrize("data", [b"0.5 " * 300_000, b"x" * (HEAD + 1), b"\n \n" + b"0.5 " * 300_000 + b"\na b 1\n"])
def test_a_line_without_end_is_refused(tmp_path, data):
    (tmp_path / "s").write_bytes(data)
    line = 1 + data.startswith(b"\n") * 2
    with pytest.raises(InputError) as error:
        read_scores(tmp_path / "s")
    assert str(error.value) == f"{tmp_path}/s:{line}: {TOO_LONG}"


def test_a_later_line_without_end_is_named(tmp_path):
    (tmp_path / "s").write_bytes(TABLE + b"ann,u3,1.0," + b"1" * (2 * HEAD) + b"\nbob,u3,1.0,0\n")
    assert [str(problem) for problem in diagnose(tmp_path / "s")] == [f"{tmp_path}/s:6: {TOO_LONG}"]


@pytest.mark.parametrize("blank", [0, 1, HEAD - len(TABLE), HEAD - 30, HEAD - 1, HEAD, HEAD + 1, 3 * HEAD])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_a_header_below_blank_lines_is_found(tmp_path, blank, mark):
    (tmp_path / "s").write_bytes(mark + blank * b"\n" + TABLE)
    scores = read_scores(tmp_path / "s").data
    assert (scores.target.tolist(), scores.nontarget.tolist()) == ([2.0, 3.0], [1.0, 0.5])
