"""Evaluations as Markdown, LaTeX and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence

from zeroevidence.evaluation import Evaluation
from zeroevidence.report.cells import cell, heading, used_headline, used_labels


def _grid(rows: Sequence[Evaluation]) -> tuple[list[str], list[list[str]], int]:
    """Headings, cells, and how many of the columns are text."""
    labels, names = used_labels(rows), used_headline(rows)
    body = [
        [row.labels.get(label, "") for label in labels]
        + [f"{row.counts['target']} + {row.counts['nontarget']}"]
        + [cell(row.metrics.get(name)) for name in names]
        for row in rows
    ]
    return [*labels, "n", *(heading(name) for name in names)], body, len(labels)


def to_markdown(rows: Sequence[Evaluation]) -> str:
    """A table of the headline measures, with signatures below."""
    headings, body, n_text = _grid(rows)
    rule = ["---"] * n_text + ["---:"] * (len(headings) - n_text)
    lines = [_joined(line, _markdown_escape) for line in (headings, *body)]
    lines.insert(1, "| " + " | ".join(rule) + " |")
    return "\n".join(lines) + "\n\n" + "\n".join(f"`{row.signature}`  " for row in rows) + "\n"


def _joined(line: Sequence[str], escape: Callable[[str], str]) -> str:
    return "| " + " | ".join(escape(text) for text in line) + " |"


def _markdown_escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("\n", " ").replace("_", "\\_")


def to_latex(rows: Sequence[Evaluation]) -> str:
    """A booktabs table of the headline measures, with signatures as comments."""
    headings, body, n_text = _grid(rows)
    lines = [" & ".join(_latex_escape(text) for text in line) + r" \\" for line in (headings, *body)]
    columns = "l" * n_text + "r" * (len(headings) - n_text)
    return "\n".join(
        [
            *(f"% {row.signature}".replace("\n", " ") for row in rows),
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            lines[0],
            r"\midrule",
            *lines[1:],
            r"\bottomrule",
            r"\end{tabular}",
            "",
        ]
    )


_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{c: "\\" + c for c in "&%$#_{}"},
}


def _latex_escape(text: str) -> str:
    return "".join(_LATEX.get(c, c) for c in text).replace("\n", " ")


def to_csv(rows: Sequence[Evaluation]) -> str:
    """One line per row and measure, at full precision; a measure with several values gets a line for each."""
    labels = used_labels(rows)
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow([*labels, "measure", "key", "value", "low", "high", "p_value", "unit", "method", "signature"])
    for row in rows:
        for name, metric in row.metrics.items():
            several = metric.value if isinstance(metric.value, Mapping) else {"": metric.value}
            for key, value in several.items():
                writer.writerow(
                    [
                        *(row.labels.get(label, "") for label in labels),
                        *(name, key, value, metric.low, metric.high, metric.p_value),
                        *(metric.unit, metric.method, row.signature),
                    ]
                )
    return buffer.getvalue()
