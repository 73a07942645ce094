"""Text files in blocks: which lines polars may parse, and that lines are known wherever blocks end."""

import pytest

from zeroevidence.data.formats.input_file import InputFile
from zeroevidence.data.formats.scores.reading.layout import Layout
from zeroevidence.data.formats.scores.reading.line_reader import read_text
from zeroevidence.data.formats.scores.reading.polars_reader import column_types, parse_lines

KALDI = Layout("kaldi", ("enrol", "trial", "score"))
TABLE = Layout("table", ("enrol", "trial", "score"), ",", 1)


def parsed(data, layout=KALDI):
    return parse_lines(data, layout, column_types(layout))


@pytest.mark.parametrize(
    "data",
    [
        b"a b 1.0\n\nc d 2.0\n",  # an empty line
        b"a b\x0bx 1.0\n",
        b"a b\x00x 1.0\n",
        b"a b 1.0\nc d\n",  # too short
        b"a b 1.0\nc d 2.0 3.0\n",  # too long
        b"a b 1.0 c\nd 2.0\n",  # one of each
        b"a b 1.0\nc d inf\n",
        b"a b 1.0\nc d x\n",
        b"a \xff 1.0\n",
        b"a b 1.0\nc d\xc3",  # half a character
        b"\xef\xbb\xbfa b 1.0\n",
    ],
)
def test_unusual_lines_are_left_to_the_line_reader(data):
    assert parsed(data) is None


@pytest.mark.parametrize("data", [b'a,"b",1.0\n', b"a, b,1.0\n", b"a,,1.0\n"])
def test_unusual_lines_of_a_table_are_left_to_the_line_reader(data):
    assert parsed(data, TABLE) is None


@pytest.mark.parametrize("data", [b"a b 1.0\r\nc d 2.0\r\n", b" a  b 1.0\nc\td 2.0 ", "ä b 1.0\nc d 2.0".encode()])
def test_blanks_and_line_ends_are_tidied(data):
    assert parsed(data)["trial"].to_list() == ["b", "d"]


@pytest.mark.parametrize("end", [b"", b"\n"])
@pytest.mark.parametrize("blocks", [(1,), (14, 3), (1 << 20,)])
def test_lines_are_counted_from_the_start_of_the_file(end, blocks):
    data = "\ufeffenrol,trial,score\nann,ä,1.0\nbob,b,2.0\n\neve,c,x".encode() + end
    table = read_text(InputFile.holding("s", data), TABLE, blocks)
    assert [table.line(row) for row in range(3)] == [2, 3, 5]
    assert table.frame["trial"].to_list() == ["ä", "b", "c"]
    assert [problem.line for problem in table.problems] == [5]
