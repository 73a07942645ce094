"""Scores as they were read from files: relaxed rules, scale and pooling."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log
from typing import Literal, TypeAlias, get_args

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.data.printable import merge_spellings
from zeroevidence.data.scores import KINDS, Scores, TandemScores, pool_scores
from zeroevidence.errors import InputError

Rule: TypeAlias = Literal[
    "duplicates",
    "missing",
    "no-attack",
    "negated",
    "llr-unit",
    "llr-column",
    "pooled",
    "infinite",
    "failures",
    "people-linked",
    "same-recordings",
    "equal-vectors",
    "names-composed",
]


@dataclass(frozen=True, slots=True)
class RelaxedRule:
    """One rule that was not applied, or one change to the scores.

    Parameters
    ----------
    rule
        "duplicates" (trials that are scored more than once), "missing" (trials that one of two files lacks),
        "no-attack" (bona fide speech with a name where others write a dash), "negated" (higher scores spoke against
        the target), "llr-unit" (likelihood ratios in a unit that was named), "llr-column" (in the unit that their
        column is called by), "pooled" (groups of people taken together), "infinite" (scores that are), "failures" (to
        acquire, which have no score), "people-linked" (nobody was named, and people are the recordings that target
        pairs connect), "same-recordings" (targets that compare a recording with itself), "equal-vectors" (trials with
        the vector of somebody else's enrolment), "names-composed" (names that were written in several ways).
    count
        How many scores were left out, counted again or changed; how many trials were left out, groups pooled, or people
        made of recordings.
    how
        What was done with duplicates, the unit, the label that groups differ by, or the class of trials that failed.
    side
        Whose trials they are where there are several systems: "cm", "asv" or "sasv" of a tandem, or a fused one.
    example
        The ways in which one of the names is written; signatures are without it.

    Examples
    --------
    >>> str(RelaxedRule("duplicates", 12, how="keep-last"))
    'duplicates:keep-last:12'
    >>> str(RelaxedRule("missing", 3, side="cm"))
    'cm-missing:3'
    """

    rule: Rule
    count: int
    how: str | None = None
    side: str | None = None
    example: str | None = None

    def __str__(self) -> str:
        rule = self.rule if self.side is None else f"{self.side}-{self.rule}"
        return ":".join([rule, *([] if self.how is None else [self.how]), str(self.count)])


def composed_rule(names: Iterable[str]) -> tuple[RelaxedRule, ...]:
    """Return the rule that says how many of these names were written in several ways; none where each has one."""
    count, example = merge_spellings(names)
    return (RelaxedRule("names-composed", count, example=example),) if count else ()


def count_failures(relaxed: Sequence[RelaxedRule]) -> int:
    """Return how many trials were failures to acquire; those of fused systems are the same.

    Examples
    --------
    >>> count_failures([RelaxedRule("failures", 2, how="target"), RelaxedRule("failures", 5, how="nontarget")])
    7
    """
    sides = Counter[str | None]()
    for rule in relaxed:
        sides[rule.side] += rule.count if rule.rule == "failures" else 0
    return max(sides.values(), default=0)


@dataclass(frozen=True, slots=True)
class SameSession:
    """What was left out because both sides of a comparison were recorded in one session.

    Parameters
    ----------
    target
        Number of target pairs.
    nontarget
        Number of non-target pairs.
    trials
        Number of trials that still have comparisons, but no longer with every enrolment, so that a search lost them.
    """

    target: int
    nontarget: int
    trials: int = 0

    def __add__(self, other: SameSession) -> SameSession:
        return SameSession(self.target + other.target, self.nontarget + other.nontarget, self.trials + other.trials)

    def apart(self, left_out: Mapping[str, int]) -> dict[str, int]:
        """Return the trials that a search left out, by reason, with those that sessions cost it counted apart.

        Examples
        --------
        >>> SameSession(target=2, nontarget=0, trials=2).apart({"incomplete": 3})
        {'same_session': 2, 'incomplete': 1}
        """
        reasons = {"same_session": self.trials, **left_out, "incomplete": left_out.get("incomplete", 0) - self.trials}
        return {reason: trials for reason, trials in reasons.items() if trials > 0}


@dataclass(frozen=True, slots=True)
class LoadedScores:
    """The scores of a file.

    Parameters
    ----------
    data
        The scores.
    format
        How the file was understood.
    key_format
        How its key was understood, None without a key.
    relaxed
        The rules that were relaxed to read it.
    same_session
        What was left out because it is of one session; None where sessions are not known.
    """

    data: Scores | ScoreMatrix
    format: str
    key_format: str | None
    relaxed: tuple[RelaxedRule, ...]
    same_session: SameSession | None = None


LlrUnit: TypeAlias = Literal["ln", "log10", "log2", "lr"]  # logarithms of likelihood ratios, or the ratios themselves
FACTORS: dict[LlrUnit, float] = {"ln": 1.0, "log10": log(10.0), "log2": log(2.0)}  # to natural logarithms
UNIT_NAMES: dict[str, str] = {
    "ln": "natural-log likelihood ratios",
    "log10": "log10 likelihood ratios",
    "log2": "log2 likelihood ratios",
    "lr": "likelihood ratios",
}
POSITIVE_RATIO = "expected a likelihood ratio from 0 on, or --llr log10 where these are logarithms"


def natural_llrs(values: FloatArray, unit: LlrUnit) -> FloatArray:
    """Return likelihood ratios of a unit as natural-log LLRs; a ratio of 0 is minus infinity, a negative one NaN.

    Examples
    --------
    >>> natural_llrs(np.array([1.0, 0.0]), "log10").round(3), natural_llrs(np.array([1.0, 0.0, -1.0]), "lr")
    (array([2.303, 0.   ]), array([  0., -inf,  nan]))
    """
    if unit != "lr":
        return values * FACTORS[unit]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(values)


@dataclass(frozen=True, slots=True)
class Scale:
    """How scores were written, where that is not as measures take them: natural-log LLRs that are higher for targets.

    Parameters
    ----------
    negate
        Whether higher scores spoke against the target.
    llr
        The unit, where the scores are likelihood ratios.

    Examples
    --------
    >>> scale = Scale(negate=True, llr="log10")
    >>> scale.apply(LoadedScores(Scores([-1.0], [2.0]), "arrays", None, ())).data.target
    array([2.30258509])
    >>> round(scale.written(2.30258509), 6), Scale(llr="lr").written(0.0)
    (-1.0, 1.0)
    """

    negate: bool = False
    llr: LlrUnit | None = None

    @classmethod
    def of(cls, relaxed: Sequence[RelaxedRule]) -> Scale:
        """Return how scores were written that were read by these rules."""
        rules = [rule for rule in relaxed if rule.side is None]
        written = {rule.how for rule in rules if rule.rule in ("llr-unit", "llr-column")}
        units = [unit for unit in get_args(LlrUnit) if unit in written]
        negated = any(rule.rule == "negated" for rule in rules)
        return cls(negated, units[0] if len(units) == 1 else "ln" if units else None)

    def measured(self, scores: FloatArray) -> FloatArray:
        """Return written scores as measures take them."""
        natural = scores if self.llr is None else natural_llrs(scores, self.llr)
        if np.isnan(natural).any():
            raise InputError(f"likelihood ratio {scores[np.isnan(natural)][0]:g}; {POSITIVE_RATIO}")
        return -natural if self.negate else natural

    def written(self, score: float) -> float:
        """Return a score as it would be written."""
        natural = -score if self.negate else score
        if self.llr is None:
            return natural
        return float(np.exp(natural)) if self.llr == "lr" else natural / FACTORS[self.llr]

    def apply(self, loaded: LoadedScores) -> LoadedScores:
        """Return written scores as measures take them, with the rules that say so."""
        data = loaded.data
        if self == Scale():
            return loaded
        if isinstance(data, Scores):
            data = replace(data, target=self.measured(data.target), nontarget=self.measured(data.nontarget))
        else:
            data = replace(data, scores=self.measured(data.scores))
        count = len(data) if isinstance(data, Scores) else data.scores.size
        return replace(loaded, data=data, relaxed=(*loaded.relaxed, *self.relaxed(count)))

    def relaxed(self, count: int, side: str | None = None) -> tuple[RelaxedRule, ...]:
        """Return the rules that were relaxed for `count` scores of a side."""
        negated = (RelaxedRule("negated", count, side=side),) if self.negate else ()
        unit = (RelaxedRule("llr-unit", count, how=self.llr, side=side),) if self.llr is not None else ()
        return negated + unit


def scale_tandem(
    data: TandemScores, negate: Collection[str] = (), llr: LlrUnit | None = None
) -> tuple[TandemScores, tuple[RelaxedRule, ...]]:
    """Return the scores of a tandem on the usual scale, and the rules that were relaxed.

    Parameters
    ----------
    data
        The scores.
    negate
        The sides whose higher scores speak against acceptance.
    llr
        The unit of scores that are likelihood ratios.
    """
    classes = data.classes()
    rules: list[RelaxedRule] = []
    for side, kinds in KINDS.items():
        scale = Scale(side in negate, llr)
        names = [f"{side}_{kind}" for kind in kinds if f"{side}_{kind}" in classes]
        if scale == Scale() or not names:
            continue
        rules += scale.relaxed(sum(len(classes[name]) for name in names), side)
        classes |= {name: replace(classes[name], scores=scale.measured(classes[name].scores)) for name in names}
    return TandemScores(**classes), tuple(rules)


def check_units(*parts: LoadedScores) -> None:
    """Refuse scores that belong together where only some are known to be likelihood ratios."""
    known = {Scale.of(part.relaxed).llr is not None for part in parts}
    if len(known) > 1:
        reason = "some of these scores are likelihood ratios by the name of their column"
        raise InputError(f"{reason}; expected --llr for all")


def pool_groups(parts: Sequence[LoadedScores], label: str) -> LoadedScores:
    """Return the scores of several files as one; identifiers that several files share are the same.

    Parameters
    ----------
    parts
        The scores of each group.
    label
        The label that groups differ by.

    Examples
    --------
    >>> women = LoadedScores(Scores([2.0], [0.0]), "a", None, ())
    >>> men = LoadedScores(Scores([1.0], [0.5]), "a", None, ())
    >>> both = pool_groups([women, men], "sex")
    >>> both.data.target, str(both.relaxed[0])
    (array([2., 1.]), 'pooled:sex:2')
    """
    check_units(*parts)
    scores = [part.data.to_scores() for part in parts]
    relaxed = (RelaxedRule("pooled", len(parts), how=label), *(rule for part in parts for rule in part.relaxed))
    left_out = [part.same_session for part in parts if part.same_session is not None]
    same_session = sum(left_out[1:], left_out[0]) if left_out else None
    return LoadedScores(pool_scores(scores), parts[0].format, parts[0].key_format, relaxed, same_session)
