"""Text files in blocks: which lines polars may parse, and that lines are known wherever blocks end."""

import pytest

from zeroevidence.data.formats.input_file import InputFile
from zeroevidence.data.formats.scores.layout import Layout
from zeroevidence.data.formats.scores.text_reader import read_text

TABLE = Layout("table", ("enrol", "trial", "score"), ",", 1)


@pytest.mark.parametrize("end", [b"", b"\n"])
@pytest.mark.parametrize("blocks", [(1,), (14, 3), (1 << 20,)])
def test_lines_are_counted_from_the_start_of_the_file(end, blocks):
    data = "\ufeffenrol,trial,score\nann,ä,1.0\nbob,b,2.0\n\neve,c,x".encode() + end
    table = read_text(InputFile.holding("s", data), TABLE, blocks)
    assert [table.line(row) for row in range(3)] == [2, 3, 5]
    assert table.frame["trial"].to_list() == ["ä", "b", "c"]
    assert [problem.line for problem in table.problems] == [5]
