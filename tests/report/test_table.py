"""One table of typed cells, and what each writer makes of it."""

import csv
import io

import pytest

from zeroevidence.report.page import templates
from zeroevidence.report.table import Cell, Sheet, Table, Tables, names_column, numbers_column
from zeroevidence.report.writers import to_csv, write_tables

TABLE = Table.of(
    (names_column("system"), [Cell("a_b", note="What a is."), "c"]),
    (numbers_column("EER", unit="%"), [Cell(0.25, "rate", 0.2, 0.3), Cell(0.5, "rate")]),
    (numbers_column("p"), [Cell(0.0321, format=".2g"), None]),
    title="Some numbers",
    numbers=(1, 3),
)


def test_a_cell_is_written_by_its_unit_or_its_format():
    assert Cell(0.25, "rate").text == "25.00"
    assert Cell(0.25, "rate", format=".0f").text == "25"
    assert Cell({"A": 2, "B": 0.5}, "bit").text == "A: 2, B: 0.5000"
    assert Cell(float("nan"), "bit").flat == "–"
    assert Cell(0.25, "bit", 0.2, 0.3).below == "[0.2000, 0.3000]"
    assert (Cell(0.123456789).sort_key, Cell("3 + 4", order=7).sort_key, Cell("x").sort_key) == ("0.123456789", "7", "")


def test_markdown_and_latex_leave_out_sentences_on_rows():
    lines = write_tables(Tables([TABLE, "A note."]), "md").splitlines()
    assert lines[2:6] == [
        "| # | system | EER [%] | p |",
        "| ---: | --- | ---: | ---: |",
        r"| 1 | a\_b | 25.00 [20.00, 30.00] | 0.032 |",
        "| 3 | c | 50.00 |  |",
    ]
    latex = write_tables(Tables([TABLE, "A note."]), "latex")
    assert latex.startswith("% A note.\n")
    assert r"a\_b & $25$ $[20, 30]$ & $0.032$ \\ % row 1" in latex
    assert "What a is" not in latex


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (Cell(0.16634, "rate", 0.12131, 0.21022), "$16.6$ $[12.1, 21.0]$"),
        (Cell(0.16634, "rate", 0.16612, 0.16661), "$16.63$ $[16.61, 16.66]$"),  # no more digits than elsewhere
        (Cell(-0.0312, "bit", -0.0512, 0.0211), "$-0.031$ $[-0.051, 0.021]$"),
        (Cell(-0.03, "bit", -0.1, 0.95), "$0.0$ $[-0.1, 0.9]$"),  # no minus before 0
        (Cell(123.4, "bit", 100.0, 150.0), "$123$ $[100, 150]$"),
        (Cell(float("inf"), "bit", 3.0, float("inf")), r"$\infty$ $[3.0000, \infty]$"),
        (Cell(2e-6, format=".2g"), r"$2 \times 10^{-6}$"),
        (Cell(0.25, "rate"), "$25.00$"),
        (Cell(0.5, "bit", 0.5, 0.5), "$0.5000$ $[0.5000, 0.5000]$"),
        (Cell("A_1", "category"), r"A\_1"),
        (Cell(float("nan"), "bit"), "–"),
        (Cell(None), ""),
    ],
)
def test_latex_writes_numbers_in_mathematics_with_the_digits_of_the_interval(cell, text):
    table = Table.of((names_column("system"), ["x"]), (numbers_column("D_ECE [log10 LR]"), [cell]))
    lines = write_tables(Tables([table]), "latex").splitlines()
    assert r"system & $D_{\mathrm{ECE}}$ [$\log_{10}$ LR] \\" in lines
    assert rf"x & {text} \\" in lines


def test_text_has_each_sentence_once(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    twice = TABLE.choose([0, 0])
    assert write_tables(Tables([twice]), "text").count("a_b: What a is.") == 1
    assert twice.numbers == (1, 1)


def test_csv_holds_values_at_full_precision():
    lines = list(csv.DictReader(io.StringIO(to_csv(TABLE))))
    assert lines == [{"system": "a_b", "EER": "0.25", "p": "0.0321"}, {"system": "c", "EER": "0.5", "p": ""}]


def test_a_page_sorts_by_values():
    pytest.importorskip("jinja2")
    macro = templates().get_template("macros.html").module.data_table
    page = str(macro("t", TABLE, "Numbers"))
    assert '<td class="num" data-order="0.25">25.00 <small>[20.00, 30.00]</small></td>' in page
    assert "<td>a_b <small>What a is.</small></td>" in page
    assert '<th scope="row" data-order="3">3</th>' in page


def test_records_show_declared_columns_that_they_have():
    columns = (names_column("name"), numbers_column("n"), numbers_column("m"))
    table = Table.of_records([{"name": "a", "n": 1}, {"name": "b"}], columns)
    assert [column.name for column in table.columns] == ["name", "n"]
    assert Sheet.of(table).rows == (("name", "n"), ("a", "1"), ("b", ""))
    assert len(Table.of_records([], columns).columns) == 3
