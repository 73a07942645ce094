"""Tables as Markdown, LaTeX and CSV, and with notes, warnings and signatures around them.

A table for LaTeX fits the width of a page. Widths are those of Computer Modern in ten points, near enough: what does
not fit in one line gets its interval below the value, and what does not fit then is continued in a second table with
the same rows.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import replace
from math import isnan

from zeroevidence.data.printable import escape_cell, printable
from zeroevidence.report.layout import one_line
from zeroevidence.report.table import Cell, Sheet, Table, Tables

TEXT_WIDTH = 345.0  # points: the text of an article in ten points, the narrowest of the usual pages
_GAP = 12.0  # points between two columns
_SMALL = 0.8  # width of the second line's letters
_NARROW, _WIDE, _INVISIBLE = "ijlftrI.,:;'|!()[] -", "mwMW", "$\\{}"


def write_tables(content: Tables, format: str, *, signatures: bool = False) -> str:
    """Return tables as ``text``, ``md`` or ``latex``; text holds each of several `signatures` only where asked to."""
    if format == "text":
        from zeroevidence.report.text import tables_to_text  # brings rich

        return tables_to_text(content, signatures=signatures)
    return tables_to_latex(content) if format == "latex" else tables_to_markdown(content)


def to_csv(table: Table) -> str:
    """Return a table as CSV, values at full precision."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(column.name for column in table.columns)
    writer.writerows(
        [escape_cell(content.value if isinstance(content, Cell) else content) for content in row] for row in table.rows
    )
    return buffer.getvalue()


def tables_to_markdown(content: Tables) -> str:
    """Return tables and paragraphs in Markdown, signatures as code."""
    parts = []
    for block in content.blocks:
        if isinstance(block, Table):
            parts += [f"**{_markdown_escape(block.title)}**"] if block.title else []
            sheet = Sheet.of(block).numbered(block.numbers)
            headings, *rows = (tuple(map(_markdown_escape, row)) for row in sheet.rows)
            rule = ["---"] * sheet.n_names + ["---:"] * (len(headings) - sheet.n_names)
            rule[0] = "---:" if block.numbers else rule[0]
            parts.append("\n".join(f"| {' | '.join(line)} |" for line in (headings, rule, *rows)))
        elif block:
            parts.append(_markdown_escape(str(block)))
    if content.signatures:
        parts.append("\n".join(f"`{printable(signature).replace('`', '_')}`  " for signature in content.signatures))
    return "\n\n".join(parts) + "\n"


_MARKDOWN = {"<": "&lt;", **{c: "\\" + c for c in "\\|_`*"}}


def _markdown_escape(text: str) -> str:
    """One line of text without emphasis, code, tags, links or images; brackets alone do no harm."""
    return "".join(_MARKDOWN.get(c, c) for c in one_line(text)).replace("](", "]\\(")


def tables_to_latex(content: Tables) -> str:
    """Return booktabs tables; paragraphs, numbers of rows and signatures as comments."""
    comments = [str(block) for block in content.blocks if block and not isinstance(block, Table)]
    lines = [f"% {one_line(text)}" for text in (*comments, *content.signatures)]
    for table in (block for block in content.blocks if isinstance(block, Table)):
        lines += [line for sheet in fitting_sheets(table) for line in _tabular(table, sheet)]
    return "\n".join(lines) + "\n"


def text_width(text: str, *, small: bool = False) -> float:
    """The width of a text in points, estimated without LaTeX."""
    width = sum(
        0.0 if c in _INVISIBLE else 3.2 if c in _NARROW else 8.5 if c in _WIDE else 7.3 if c.isupper() else 5.1
        for c in text
    )
    return width * (_SMALL if small else 1.0)


def fitting_sheets(table: Table) -> list[Sheet]:
    """The table, or several with the same names that fit the page; only names themselves may be too wide for it."""
    sheet = Sheet.of(table, _mathematics)
    if sum(_widths(sheet.flat())) - _GAP <= TEXT_WIDTH:
        return [sheet.flat()]
    headings, *body = sheet.rows
    sheet = replace(sheet, rows=(tuple(text.replace(" [", "\n[") for text in headings), *body))
    widths, names = _widths(sheet), range(sheet.n_names)
    used = sum(widths[: len(names)]) - _GAP
    places = range(len(names), len(widths))
    for count in range(1, len(places) + 1):
        share = -(-len(places) // count)
        parts = [places[i : i + share] for i in range(0, len(places), share)]
        if all(used + sum(widths[i] for i in part) <= TEXT_WIDTH for part in parts):
            break
    else:
        parts = [places[i : i + 1] for i in range(len(places))]
    return [sheet.columns((*names, *part)) for part in parts]


def _widths(sheet: Sheet) -> list[float]:
    """The width of each column, with the gap beside it."""
    return [_GAP + max(map(_cell_width, column)) for column in zip(*sheet.rows, strict=True)]


def _cell_width(text: str) -> float:
    first, *rest = text.split("\n")
    return max(text_width(first), *(text_width(line, small=True) for line in rest), 0.0)


def _tabular(table: Table, sheet: Sheet) -> list[str]:
    headings, *rows = sheet.rows
    width, body = len(headings), []
    for place, cells in enumerate(rows):
        first, *rest = _lines([*map(_latex_escape, cells[: sheet.n_names]), *cells[sheet.n_names :]])
        if place in table.parts:
            body += [r"\midrule"] * (place > 0) + [_across(width, table.parts[place])]
        body += [first + (f" % row {table.numbers[place]}" if table.numbers else ""), *rest]
    fits = text_width(table.title) <= TEXT_WIDTH
    title = [_across(width, table.title) if fits else f"% {one_line(table.title)}"] if table.title else []
    return [
        rf"\begin{{tabular}}{{@{{}}{'l' * sheet.n_names + 'r' * (width - sheet.n_names)}@{{}}}}",
        *title,
        r"\toprule",
        *_lines(list(map(_heading, headings))),
        r"\midrule",
        *body,
        r"\bottomrule",
        r"\end{tabular}",
    ]


def _across(width: int, text: str) -> str:
    """A line of text over all columns."""
    return rf"\multicolumn{{{width}}}{{l}}{{{_latex_escape(text)}}} \\"


def _lines(cells: Sequence[str]) -> list[str]:
    """The lines of one row, those behind the first in a smaller size."""
    parts = [cell.split("\n") for cell in cells]
    height = max(map(len, parts))
    first = [part[0] for part in parts]
    rest = [[rf"{{\scriptsize {part[i]}}}" if i < len(part) else "" for part in parts] for i in range(1, height)]
    return [" & ".join(line) + r" \\" for line in (first, *rest)]


def _mathematics(cell: Cell) -> str:
    r"""Return a number and its interval in mathematics, where a hyphen is a minus; text as it is.

    Examples
    --------
    >>> _mathematics(Cell(-0.0312, "bit", -0.0512, 0.0211)), _mathematics(Cell(2e-6, format=".2g"))
    ('$-0.031$\n$[-0.051, 0.021]$', '$2 \\times 10^{-6}$\n')
    """
    cell = cell.fitted()
    value = cell.value
    single = isinstance(value, (int, float)) and not isnan(value)
    below = f"${_symbols(cell.below)}$" if cell.low is not None and cell.high is not None else _latex_escape(cell.below)
    return f"{f'${_symbols(cell.text)}$' if single else _latex_escape(cell.text)}\n{below}"


def _heading(text: str) -> str:
    r"""Return a heading with its indices in mathematics.

    Examples
    --------
    >>> print(_heading("actual D_ECE [bit]"), _heading("worst case [log10 LR]"), _heading("a_b"))
    actual $D_{\mathrm{ECE}}$ [bit] worst case [$\log_{10}$ LR] a\_b
    """
    escaped = re.sub(r"\b([A-Z])\\_([A-Z]+)\b", r"$\1_{\\mathrm{\2}}$", _latex_escape(text))
    return re.sub(r"\blog10\b", r"$\\log_{10}$", escaped)


def _symbols(numbers: str) -> str:
    """Return numbers with the signs of mathematics for infinity and powers of ten."""
    powers = re.sub(r"e([+-]?)0*([0-9]+)", lambda power: rf" \times 10^{{{power[1].strip('+')}{power[2]}}}", numbers)
    return powers.replace("inf", r"\infty")


_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{c: "\\" + c for c in "&%$#_{}"},
}


def _latex_escape(text: str) -> str:
    """Cells keep their line ends, which say where they may be broken."""
    return "\n".join("".join(_LATEX.get(c, c) for c in one_line(line)) for line in text.split("\n"))
