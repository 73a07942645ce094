"""What rows say beside each other: flags, utility beside privacy, and the front of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from zeroevidence.data.threat import UNPROTECTED
from zeroevidence.evaluation.finding.chance import Chance, chances, same_people, same_setting, with_adjusted
from zeroevidence.evaluation.rows.evaluation import Evaluation
from zeroevidence.evaluation.rows.flags import Flag, flag, is_above_half
from zeroevidence.evaluation.rows.measure_result import MeasureResult
from zeroevidence.uncertainty.compare import Difference, difference, unpaired_difference

_COMPARISONS_PER_PERSON = 4  # that count as independent: scores of people who are not told apart vary about as much
_OF_CHANCE = ("attacker-at-chance", "control-failed", "too-few-to-test")
_OF_OTHER_ROWS = ("no-positive-control", "weaker-than-cheaper", "training-unknown")
_COMPARED = ("top1", "alid", "d_ece")  # the first that both rows have


def flag_row(row: Evaluation) -> Evaluation:
    """Return a row with the flags that follow from it alone."""
    flags = [flag for flag in row.flags if flag.code not in _OF_CHANCE]
    eer = row.metrics.get("eer")
    if eer is not None and row.about.role != "floor" and is_above_half(eer, _independent_comparisons(row)):
        kind = "the class" if row.about.question == "attribute" else "the same speaker"
        flags.insert(0, flag("eer-above-half", measure="EER", kind=kind))
    (row,) = with_adjusted([row])
    return replace(row, flags=(*flags, *_chance_flags(row, chances([row])[0])))


def _independent_comparisons(row: Evaluation) -> int:
    """Return how many comparisons count as independent where there is no interval: a few of each person."""
    fewest = min(row.counts.get(name, 0) for name in ("target", "nontarget"))
    return min(fewest, _COMPARISONS_PER_PERSON * row.counts.get("speakers", fewest))


def flag_rows(rows: Sequence[Evaluation]) -> list[Evaluation]:
    """Return rows with what needs all of them: adjusted p-values, and flags of chance, controls and weak attackers."""
    rows, chance = with_adjusted(rows), chances(rows)
    return [
        replace(
            row,
            flags=(
                *(flag for flag in row.flags if flag.code not in (*_OF_CHANCE, *_OF_OTHER_ROWS)),
                *_chance_flags(row, chance[i]),
                *_flags_beside(row, [other for other in rows if same_people(row, other)]),
            ),
        )
        for i, row in enumerate(rows)
    ]


def _chance_flags(row: Evaluation, chance: Chance) -> list[Flag]:
    if chance.too_few and chance.beaten is None:
        return [flag("too-few-to-test", people=row.counts["speakers"])]
    if chance.p_value is None or chance.beaten is not False or row.about.role not in ("attack", "control"):
        return []
    control = row.about.role == "control" and row.about.question == "identity"
    return [flag("attacker-at-chance"), *([flag("control-failed")] if control else [])]


def _flags_beside(row: Evaluation, other_rows: Sequence[Evaluation]) -> list[Flag]:
    threat = row.about.threat
    if row.about.is_training_unknown:
        return [flag("training-unknown")]
    if threat is None or not threat.is_named_attacker or row.about.question != "identity":
        return []
    if row.about.role in ("room", "protocol"):
        return []
    controlled = any(other.about.role == "control" for other in other_rows)
    cheaper = dict.fromkeys(
        other.about.threat.name
        for other in other_rows
        if other.about.threat is not None
        and other.about.threat.is_named_attacker
        and other.about.role != "protocol"
        and same_setting(other, row)
        and other.about.threat.knowledge < threat.knowledge
        and other.labels.get("system") == row.labels.get("system")
        and learns_less(row, other)
    )
    weaker = (flag("weaker-than-cheaper", cheaper=name) for name in cheaper)
    return [*([] if controlled else [flag("no-positive-control")]), *weaker]


def learns_less(row: Evaluation, other: Evaluation) -> bool:
    """Return whether the attacker of a row learns less than another one, beyond the interval of the difference.

    They are compared by top-1 where both rows have it, else by ALID, else by D_ECE. The difference is paired where the
    same people were left out of both; of results from files it rests on both spreads. Without either it is False.
    """
    name = next((name for name in _COMPARED if all(part.number(name) is not None for part in (row, other))), None)
    if name is None:
        return False
    gap = _paired(row, other, name) or _unpaired(row, other, name)
    return gap is not None and gap.value < 0.0 and gap.high < 0.0


def changes_by_protection(rows: Sequence[Evaluation], name: str) -> list[Difference | None]:
    """Return what protection changes in a measure of verification: the value with it less the value without it.

    The difference is paired where the same people were left out of both. It is None for rows that are no verification
    of protected vectors, and where there is none of unprotected ones; without intervals it has no limits.
    """

    def change(row: Evaluation) -> Difference | None:
        plain = next((other for other in before if same_setting(row, other)), None)
        if row.about.role != "utility" or row.number(name) is None or plain is None or row is plain:
            return None
        paired = _paired(row, plain, name) or _unpaired(row, plain, name)
        return paired or Difference.from_spread(float(row[name]) - float(plain[name]), None)

    before = [
        row
        for row in rows
        if row.about.role == "utility" and row.labels.get("system") == UNPROTECTED and row.number(name) is not None
    ]
    return [change(row) for row in rows]


def _paired(row: Evaluation, other: Evaluation, name: str) -> Difference | None:
    first, second = row.replicates, other.replicates
    if first is None or second is None or any(name not in part.left_out for part in (first, second)):
        return None
    if (row.setup.intervals, row.setup.seed) != (other.setup.intervals, other.setup.seed):
        return None
    people = first.people[name]
    if first.speakers is None or first.speakers != second.speakers:
        return None
    if not np.array_equal(people.shares, second.people[name].shares):
        return None
    measured = first.measured(name, float(row[name])), second.measured(name, float(other[name]))
    return difference(*measured, people.shares, people.effective, row.setup.level)


def _unpaired(row: Evaluation, other: Evaluation, name: str) -> Difference | None:
    first, second = row.metrics[name].spread, other.metrics[name].spread
    if first is None or second is None:
        return None
    return unpaired_difference(float(row[name]), float(other[name]), first, second, row.setup.level)


_DATA = ("dataset", "split")


def utility_beside(rows: Sequence[Evaluation]) -> list[Evaluation]:
    """The rows, those of attackers with the utility of the speech that they attack.

    A row of utility goes to all attackers on speech of the same system, original or anonymised, and of the same data
    where both say which. It stays a row of its own where it fits no attacker, is about one class alone, or where
    several would fit.

    Examples
    --------
    >>> from zeroevidence.data.threat import ThreatModel
    >>> from zeroevidence.evaluation import About, Evaluation, MeasureResult
    >>> threat = ThreatModel("ignorant", "original", "anonymised")
    >>> attack = Evaluation({"eer": MeasureResult(0.3, "rate")}, labels={"system": "x"}, about=About.against(threat))
    >>> about = About(role="utility", speech="anonymised")
    >>> words = Evaluation({"wer": MeasureResult(0.1, "rate")}, labels={"system": "x"}, about=about)
    >>> [list(row) for row in utility_beside([attack, words])]
    [['eer', 'wer']]
    """
    utility = [row for row in rows if row.about.speech is not None and set(row.labels) <= {"system", *_DATA}]
    joined = {place: _fitting(row, utility) for place, row in enumerate(rows) if row.about.threat is not None}
    used = {id(utility_row) for utility_rows in joined.values() for utility_row in utility_rows}
    return [_with(row, joined.get(place, [])) for place, row in enumerate(rows) if id(row) not in used]


def _with(row: Evaluation, utility: Sequence[Evaluation]) -> Evaluation:
    metrics: dict[str, MeasureResult] = {name: result for other in utility for name, result in other.metrics.items()}
    flags = [flag for other in utility for flag in other.flags]
    return row.with_metrics(metrics).with_flags(*flags) if metrics else row


def _fitting(row: Evaluation, utility: Sequence[Evaluation]) -> list[Evaluation]:
    """The rows of utility on the speech of a row of an attacker; none where two have the same measure."""
    threat = row.about.threat
    plain = (UNPROTECTED,) if threat is not None and threat.trial == "original" else ()  # whichever system is attacked
    same = [
        candidate
        for candidate in utility
        if threat is not None
        and candidate.about.speech == threat.trial
        and candidate.labels.get("system") in (row.labels.get("system"), *plain)
        and all(candidate.labels.get(name) in (None, row.labels.get(name)) for name in _DATA)
    ]
    of_system = [candidate for candidate in same if candidate.labels.get("system") == row.labels.get("system")]
    chosen = of_system or same
    names = [name for candidate in chosen for name in candidate.metrics]
    return chosen if len(names) == len(set(names)) else []


def on_front(points: Sequence[tuple[float, float]]) -> list[bool]:
    """For pairs of which less is better, whether no other is as good in both and better in one.

    Examples
    --------
    >>> on_front([(0.0, 3.0), (1.0, 1.0), (1.0, 2.0), (2.0, 1.0)])
    [True, True, False, False]
    """
    return [not any(o[0] <= p[0] and o[1] <= p[1] and o != p for o in points) for p in points]


# whom attackers judge: by one vector, by all vectors of a person, or the attackers of the two who learn more
Judged: TypeAlias = Literal["vector", "person", "either"]


@dataclass(frozen=True, slots=True)
class FrontPoint:
    """A protector at one strength, by the rows of `assess_strengths`: its strongest attackers, and verification."""

    protector: str
    strength: float
    attacks: Mapping[str, Evaluation]  # of a vector, of a person
    attack: Evaluation  # the one that counts
    utility: Evaluation
    on_front: bool = False


def front_points(
    rows: Sequence[Evaluation], *, utility: Literal["eer", "top1"] = "eer", judged: Judged = "either"
) -> list[FrontPoint]:
    """Points of rows, in their order; of several attackers the first counts, as `assess` orders them."""
    attacks: dict[tuple[str, float], dict[str, Evaluation]] = {}
    verified: dict[tuple[str, float], Evaluation] = {}
    for row in rows:
        if row.about.protector is None or row.about.strength is None or row.about.role == "training":
            continue
        key = row.about.protector, row.about.strength
        if row.about.role == "utility":
            verified.setdefault(key, row)
        else:
            attacks.setdefault(key, {}).setdefault("person" if row.about.pooled else "vector", row)
    points = []
    for key, by_judged in attacks.items():
        counted = [row for name, row in by_judged.items() if judged in (name, "either")]
        if counted and key in verified:
            strongest = max(counted, key=lambda row: float(row["d_ece"]))
            points.append(FrontPoint(*key, by_judged, strongest, verified[key]))
    sign = -1.0 if utility == "top1" else 1.0
    best = on_front([(sign * float(point.utility[utility]), float(point.attack["d_ece"])) for point in points])
    return [replace(point, on_front=marked) for point, marked in zip(points, best, strict=True)]
