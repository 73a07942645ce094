"""Score files read a second time, by rules of their own, and the equal error rate from its definition."""

from __future__ import annotations

import itertools
import math
import re
from fractions import Fraction

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_LABELS = {
    **dict.fromkeys(("target", "1", "1.0", "true", "True", "TRUE"), True),
    **dict.fromkeys(("nontarget", "0", "0.0", "false", "False", "FALSE"), False),
}


def _rows(data: bytes) -> list[list[str]] | None:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    rows = []
    for line in text.split("\n"):
        plain = line.removesuffix("\r")
        if any(ord(letter) < 32 and letter != "\t" for letter in plain):
            return None
        if plain.strip(" \t"):
            rows.append(re.split(r"[ \t]+", plain.strip(" \t")))
    return rows


def scores_of(scores: bytes, key: bytes) -> tuple[list[float], list[float]] | None:
    """Targets and non-targets of Kaldi files; None where anything is not right."""
    rows, labels = _rows(scores), _rows(key)
    if not rows or not labels or any(len(row) != 3 for row in rows + labels):
        return None
    labelled: dict[tuple[str, str], bool] = {}
    for enrol, trial, label in labels:
        if label not in _LABELS or (enrol, trial) in labelled:
            return None
        labelled[enrol, trial] = _LABELS[label]
    scored: dict[tuple[str, str], float] = {}
    for enrol, trial, score in rows:
        if not _NUMBER.fullmatch(score) or not math.isfinite(float(score)) or (enrol, trial) in scored:
            return None
        scored[enrol, trial] = float(score)
    if scored.keys() != labelled.keys():
        return None
    target = [score for pair, score in scored.items() if labelled[pair]]
    nontarget = [score for pair, score in scored.items() if not labelled[pair]]
    return (target, nontarget) if target and nontarget else None


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
