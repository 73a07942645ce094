"""Several systems on the same trials: differences, ranking, tie groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from zeroevidence._typing import StrArray
from zeroevidence._version import __version__
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.data.scores import Pairs, Scores
from zeroevidence.errors import InputError, UsageError
from zeroevidence.evaluation.results import Evaluation
from zeroevidence.evaluation.signature import joint_signature
from zeroevidence.evaluation.trust import Replicates
from zeroevidence.measure.catalogue import measure
from zeroevidence.uncertainty.compare import Difference, difference, holm, tie_groups

ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class Ranked:
    """One system in the ranking of a measure; systems of one group are not told apart by these trials."""

    system: str
    value: float
    low: float | None
    high: float | None
    group: int


@dataclass(frozen=True, slots=True)
class PairwiseDifference:
    """One pair of systems; `p_holm` is corrected for the number of pairs."""

    first: str
    second: str
    difference: Difference
    p_holm: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """One measure over all systems, the one that discloses least first."""

    measure: str
    ranking: tuple[Ranked, ...]
    pairs: tuple[PairwiseDifference, ...]
    signature: str


def check_same_trials(systems: Sequence[tuple[str, Scores | ScoreMatrix]]) -> None:
    """Refuse systems that were scored on other trials, saying which."""
    reference_name, reference = systems[0][0], _trials(*systems[0])
    for name, data in systems[1:]:
        trials = _trials(name, data)
        for kind in ("target", "nontarget"):
            here, there = reference[kind], trials[kind]
            for one, one_name, other, other_name in (
                (here, reference_name, there, name),
                (there, name, here, reference_name),
            ):
                missing = np.setdiff1d(one, other)
                if len(missing):
                    example = " ".join(str(missing[0]).split("\x1f"))
                    raise InputError(
                        f"{len(missing)} {kind} trial(s) of {one_name} are not {kind} trials of {other_name}, among "
                        f"them {example!r}; expected the same trials in all systems"
                    )


def _trials(name: str, data: Scores | ScoreMatrix) -> dict[str, StrArray]:
    scores = data.to_scores() if isinstance(data, ScoreMatrix) else data
    if scores.enrolments is None or scores.trials is None:
        raise InputError(
            f"{name}: nobody said who was compared with whom, so trials cannot be paired with other systems"
        )

    def identifiers(pairs: Pairs | None) -> StrArray:
        assert pairs is not None
        assert scores.enrolments is not None
        assert scores.trials is not None
        first = np.char.add(scores.enrolments, "\x1f")[pairs.enrolment]
        joined: StrArray = np.char.add(first, scores.trials[pairs.trial])
        return joined

    return {"target": identifiers(scores.target_pairs), "nontarget": identifiers(scores.nontarget_pairs)}


def compare(rows: Sequence[tuple[Evaluation, Replicates]], names: Sequence[str]) -> list[Comparison]:
    """Compare systems by the named measures; their replicates must come from the same trials, options and seed."""
    if len(rows) < 2:
        raise UsageError(f"expected at least two systems to compare, got {len(rows)}")
    return [_compared(rows, name) for name in names]


def _compared(rows: Sequence[tuple[Evaluation, Replicates]], name: str) -> Comparison:
    entry = measure(name)
    systems = [row.labels.get("system", str(number)) for number, (row, _) in enumerate(rows, 1)]
    values = []
    for (row, replicates), system in zip(rows, systems, strict=True):
        if name not in row.metrics:
            raise UsageError(f"{system} has no {name}")
        value = row.metrics[name].value
        if not isinstance(value, float) or name not in replicates.values:
            raise UsageError(f"{name} is not a measure that can be compared")
        values.append(value)
    pairs = list(combinations(range(len(rows)), 2))
    found = [difference(values[i], values[j], (rows[i][1].values[name], rows[j][1].values[name])) for i, j in pairs]
    adjusted = holm([one.p_value for one in found])
    sign = -1.0 if entry.discloses == "down" else 1.0
    order = sorted(range(len(rows)), key=lambda i: sign * values[i])
    significant = {frozenset(pair) for pair, p in zip(pairs, adjusted, strict=True) if p < ALPHA}
    groups = tie_groups(order, significant)
    metrics = [row.metrics[name] for row, _ in rows]
    together, version = joint_signature([row for row, _ in rows]), f"|v:{__version__}"
    return Comparison(
        name,
        tuple(
            Ranked(systems[i], values[i], metrics[i].low, metrics[i].high, group)
            for i, group in zip(order, groups, strict=True)
        ),
        tuple(
            PairwiseDifference(systems[i], systems[j], one, p)
            for (i, j), one, p in zip(pairs, found, adjusted, strict=True)
        ),
        f"{together.removesuffix(version)}|compare:{name}|holm{version}",
    )
