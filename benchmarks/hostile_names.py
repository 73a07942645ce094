"""How hostile names of systems and people are written in every output, as a Markdown table.

python benchmarks/hostile_names.py

Each name is that of a system and of a person in a search. The table shows what stands in the output, as it is in the
file; signs that are not seen are shown by their numbers.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Mapping
from functools import cache
from unittest.mock import patch

import numpy as np

from zeroevidence import Evaluation, Options, ScoreMatrix, evaluate
from zeroevidence.report import render

HOSTILE = [
    '=HYPERLINK("http://x","y")',
    "+1+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(1)",
    "\t=1",
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    '" onmouseover="alert(1)',
    "]]><svg onload=alert(1)>",
    "[click](javascript:alert(1))",
    "![x](http://x/y.png)",
    "`code` **bold** | cell",
    r"\input{/etc/passwd} $x^2$ 50% #1 {a}~&_",
    "\u202egnp.exe",
    "a\u2066b\u2069c",
    "line\nbreak\rhere",
    "{{ 7*7 }}{% raw %}",
    "nul\x00l",
    "$(id); `id`",
    "\x1b[31mred\x1b[0m",
    "../../etc/passwd",
]
_OTHER, _MARK = "other", "here"
_AS_IT_IS = "as it is"


@cache
def result(name: str, seed: int = 0, dataset: str | None = None, intervals: int = 12, null: int = 2) -> Evaluation:
    """A search of a system of that name in which the people are called so too."""
    rng = np.random.default_rng(seed)
    mated = np.arange(48) % 12
    scores = rng.normal(size=(48, 12)) + 2.0 * np.eye(12)[mated]
    people = np.array([f"{name} {i}" if i else name for i in range(12)])
    return evaluate(
        ScoreMatrix(scores, mated, trial_speakers=people[mated], enrolment_speakers=people),
        labels={"system": name, "dataset": name if dataset is None else dataset},
        options=Options(intervals=intervals, null=null),
    )


def _rows(name: str) -> list[Evaluation]:
    """The row of a name beside another, so that tables have a column of names and one of data sets."""
    return [result(system, seed, data, 0, 0) for seed, (system, data) in enumerate(((name, _MARK), (_OTHER, "there")))]


def _found(pattern: str, text: str) -> str:
    """What stands in the brackets of a pattern, which must be there: a name that breaks the format is not found."""
    match = re.search(pattern, text, re.DOTALL | re.MULTILINE)
    if match is None:
        raise SystemExit(f"nothing matches {pattern!r}: the name broke the format")
    return match[1]


def _csv(name: str) -> str:
    return _found(rf'^("(?:[^"]|"")*"|[^,"]*),{_MARK},', render(_rows(name), "csv").partition("\n")[2])


def _markdown(name: str) -> str:
    return _found(rf"^\| ([^\n]*) \| {_MARK} \|", render(_rows(name), "md"))


def _latex(name: str) -> str:
    return _found(rf"^([^\n]*?) *& {_MARK} &", render(_rows(name), "latex"))


def _terminal(name: str) -> str:
    with patch.dict(os.environ, {"COLUMNS": "100"}):  # as wide as where there is no terminal, whoever runs it
        text = render(_rows(name), "text")
    return _found(rf"^system +dataset.*?^([^\n]*?) +{_MARK} ", text)


def in_page(name: str) -> tuple[str, str]:
    """The name in a cell of the report, and in the numbers that its script reads."""
    from zeroevidence.report.inputs import ReportInputs
    from zeroevidence.report.page import to_html

    text = to_html(ReportInputs(_rows(name)))
    curves = _found(r'<script type="application/json" id="readoff">(.*?)</script>', text)
    of_det = curves[curves.index('"figure-det"') :]
    lines = re.findall(r'"name":"((?:[^"\\]|\\.)*)"', of_det)[:2]
    return _found(rf"<td>([^<]*)</td>\s*<td>{_MARK}</td>", text), next(system for system in lines if system != _OTHER)


def _figure(name: str) -> str:
    """The name of a person, which stands where another name stands in the same figure."""
    return str(_labels(name)[_labels(_OTHER).index(_OTHER)])


@cache
def _labels(name: str) -> list[str]:
    """The names of people in the figure of a system."""
    from zeroevidence.plot.figures import to_svg

    labels = re.compile(r'ytick_\d+">.*?<text[^>]*>(.*?)</text>', re.DOTALL)
    return labels.findall(to_svg("people", [result(name)]))


QUICK: Mapping[str, Callable[[str], str]] = {
    "CSV": _csv,
    "Markdown": _markdown,
    "LaTeX": _latex,
    "terminal": _terminal,
    "SVG": _figure,
}


def written(name: str) -> dict[str, str]:
    """A name as it stands in each output."""
    html, script = in_page(name)
    return {output: way(name) for output, way in QUICK.items()} | {"HTML": html, "JSON in a script": script}


def code(text: str) -> str:
    """Text as code in a cell of a Markdown table, with numbers for what is not seen."""
    visible = "".join(_sign(letter) for letter in text).replace("|", r"\|")
    fence = "``" if "`" in visible else "`"
    blank = " " if visible.startswith("`") or visible.endswith("`") else ""
    return f"{fence}{blank}{visible}{blank}{fence}"


def _sign(letter: str) -> str:
    seen = unicodedata.category(letter) not in ("Cc", "Cf")
    return letter if seen else letter.encode("unicode_escape").decode()


def cell(name: str, found: str) -> str:
    """How an output writes a name, or that it writes it as it is."""
    return _AS_IT_IS if found == name else code(found)


def main() -> None:
    for place, name in enumerate(HOSTILE):
        outputs = written(name)
        if place == 0:
            print(f"| name | {' | '.join(outputs)} |\n|{' --- |' * (1 + len(outputs))}")
        print(f"| {' | '.join([code(name), *(cell(name, found) for found in outputs.values())])} |", flush=True)


if __name__ == "__main__":
    main()
