"""Score files read a second time, by rules of their own, and the equal error rate from its definition."""

import csv
import itertools
import math
import re
from fractions import Fraction
from functools import lru_cache
from typing import Any

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_LABELS = {
    **dict.fromkeys(("target", "1", "1.0", "true", "True", "TRUE"), True),
    **dict.fromkeys(("same-source", "same_source", "SS", "ss", "H1", "Hp"), True),
    **dict.fromkeys(("nontarget", "0", "0.0", "-1", "-1.0", "false", "False", "FALSE"), False),
    **dict.fromkeys(("different-source", "different_source", "DS", "ds", "H2", "Hd"), False),
}
COLUMNS = {
    "kaldi": ("enrol", "trial", "score"),
    "voxceleb": ("score", "enrol", "trial"),
    "kaldi key": ("enrol", "trial", "label"),
    "voxceleb key": ("label", "enrol", "trial"),
    "labelled": ("enrol", "trial", "score", "label"),
    "labelled key": ("enrol", "trial", "", "label"),
    "speechbrain": ("enrol", "trial", "label", "score"),
    "speechbrain key": ("enrol", "trial", "label", ""),
    "two-column": ("score", "label"),
}


@lru_cache(maxsize=32)  # of one case, which is read in every pair of formats
def _rows(data: bytes, form: str) -> list[dict[str, Any]] | None:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    lines = [line[:-1] if line.endswith("\r") else line for line in text.split("\n")]
    lines = [line for line in lines if line.strip(" \t")]
    if any(ord(letter) < 32 and letter != "\t" for line in lines for letter in line):
        return None
    comma = form == "table" or all("," in line and " " not in line.strip() for line in lines)
    try:
        blanks = re.compile(r"[ \t]+")
        rows = list(csv.reader(lines, strict=True)) if comma else [blanks.split(line.strip(" \t")) for line in lines]
    except csv.Error:
        return None
    rows = [[cell.strip(" \t") for cell in row] for row in rows]
    columns = tuple(rows.pop(0)) if form == "table" and rows else COLUMNS.get(form, ())
    if not rows or "" in columns[:1] or len(set(columns) - {""}) != len([c for c in columns if c]):
        return None
    found = []
    for row in rows:
        if len(row) != len(columns) or "" in row:
            return None
        cells = dict(zip(columns, row, strict=True))
        if "score" in cells:
            if not _NUMBER.fullmatch(cells["score"]) or not math.isfinite(float(cells["score"])):
                return None
            cells["score"] = float(cells["score"])
        if "label" in cells:
            if cells["label"] not in _LABELS:
                return None
            cells["label"] = _LABELS[cells["label"]]
        found.append(cells)
    return found


def naive(scores: bytes, form: str, key: bytes | None, key_form: str | None) -> list[tuple[Any, ...]] | None:
    """Trials of files whose formats are known, sorted; None where anything is not right."""
    rows = _rows(scores, form)
    keys = None if key is None else _rows(key, key_form)
    if rows is None or (key is not None and keys is None):
        return None
    if "score" not in rows[0] or ("enrol" in rows[0]) != ("trial" in rows[0]):
        return None
    if key is None:
        if any("label" not in row for row in rows):
            return None
        keys = rows
    if "enrol" not in rows[0] and key is None:
        answer = sorted((row["score"], row["label"]) for row in rows)
        return answer if len({label for _, label in answer}) == 2 else None
    try:
        by_pair = {(row["enrol"], row["trial"]): row for row in rows}
        labels = {(row["enrol"], row["trial"]): row["label"] for row in keys}
    except KeyError:
        return None
    if len(by_pair) != len(rows) or len(labels) != len(keys) or set(by_pair) != set(labels):
        return None
    if any(row.get("label", labels[pair]) != labels[pair] for pair, row in by_pair.items()):
        return None
    if len(set(labels.values())) != 2:
        return None
    return sorted((*pair, row["score"], labels[pair]) for pair, row in by_pair.items())


def scores_of(scores: bytes, key: bytes) -> tuple[list[float], list[float]] | None:
    """Targets and non-targets of Kaldi files; None where anything is not right."""
    rows = naive(scores, "kaldi", key, "kaldi key")
    if rows is None:
        return None
    return [score for *_, score, mated in rows if mated], [score for *_, score, mated in rows if not mated]


def eer(target: list[float], nontarget: list[float]) -> float:
    """Where straight lines between the points of the ROC cross the diagonal, in exact fractions."""
    points = [(Fraction(0), Fraction(1))]
    for threshold in sorted({*target, *nontarget}):
        miss = Fraction(sum(score <= threshold for score in target), len(target))
        alarm = Fraction(sum(score > threshold for score in nontarget), len(nontarget))
        points.append((miss, alarm))
    for (miss, alarm), (next_miss, next_alarm) in itertools.pairwise(points):
        if next_miss >= next_alarm:
            gap, next_gap = alarm - miss, next_alarm - next_miss
            share = gap / (gap - next_gap)
            return float(miss + share * (next_miss - miss))
    raise AssertionError("misses outnumber false alarms at last")
