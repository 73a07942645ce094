"""Text files: their first lines, however long and wherever they begin; blocks of lines; memory for large files."""

import importlib.util
from pathlib import Path

import pytest

from tests.effort import slow
from zeroevidence.data.formats.input_file import InputFile
from zeroevidence.data.formats.scores.layout import HEAD, Layout
from zeroevidence.data.formats.scores.read import diagnose, read_scores
from zeroevidence.data.formats.scores.text_reader import read_text
from zeroevidence.data.formats.text import TOO_LONG
from zeroevidence.errors import InputError

LAYOUT = Layout("table", ("enrol", "trial", "score"), ",", 1)
SCRIPT = Path(__file__).parents[4] / "benchmarks" / "big_file.py"
MOST = 4.0  # times the arrays
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


@pytest.mark.parametrize("end", [b"", b"\n"])
@pytest.mark.parametrize("blocks", [(1,), (14, 3), (1 << 20,)])
def test_lines_are_counted_from_the_start_of_the_file(end, blocks):
    data = "\ufeffenrol,trial,score\nann,ä,1.0\nbob,b,2.0\n\neve,c,x".encode() + end
    table = read_text(InputFile.holding("s", data), LAYOUT, blocks)
    assert [table.line(row) for row in range(3)] == [2, 3, 5]
    assert table.frame["trial"].to_list() == ["ä", "b", "c"]
    assert [problem.line for problem in table.problems] == [5]


@slow
def test_memory_of_a_large_file(tmp_path):
    pytest.importorskip("resource")
    spec = importlib.util.spec_from_file_location("big_file", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = []
    for name, size in (("small", 100_000_000), ("large", 300_000_000)):
        module.write_scores(tmp_path / name, size, 200)
        found.append(module.reading(tmp_path / name))
    small, large = found  # the first tells what is there for any file: buffers of polars, which grow up to this size
    assert large["peak"] - small["peak"] < MOST * (large["arrays"] - small["arrays"]), found
