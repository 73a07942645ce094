"""Several systems on the same trials: differences, ranking, tie groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, combinations
from typing import Literal, TypeAlias, get_args

from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.data.scores import Scores
from zeroevidence.errors import InputError, UsageError
from zeroevidence.evaluation import comparable
from zeroevidence.evaluation.comparable import ComparedGroup, matched
from zeroevidence.evaluation.rows.evaluation import Evaluation
from zeroevidence.evaluation.rows.measure_result import MeasureResult, Replicates
from zeroevidence.evaluation.rows.setup import Options, joint_signature
from zeroevidence.evaluation.scores import evaluate
from zeroevidence.measure.measures import MEASURES
from zeroevidence.run import LEVEL
from zeroevidence.uncertainty.compare import (
    POWER,
    Difference,
    difference,
    holm,
    holm_levels,
    tie_groups,
    unpaired_difference,
)
from zeroevidence.uncertainty.level import alpha

# what is compared unless measures are named
USUAL = ("eer", "d_ece", "linkability", "alid", "top1", "link_probability")
_MOST_USUAL = 4
COUNTING = "the attacker that counts"  # label of a comparison of audits, in place of the name of an attacker
# Which differences are corrected for their number together: those of one measure (on one data set, against one
# attacker), or those of all measures.
Family: TypeAlias = Literal["measure", "all"]
FAMILIES: tuple[Family, ...] = get_args(Family)


@dataclass(frozen=True, slots=True)
class RankedSystem:
    """One system in the ranking of a measure; systems of one group are not told apart by these trials."""

    system: str
    value: float
    low: float | None
    high: float | None
    group: int


@dataclass(frozen=True, slots=True)
class PairwiseDifference:
    """One pair of systems; `p_holm` and the interval of the difference are corrected for the number of differences.

    The interval is of the level at which Holm's procedure tests the pair, so it excludes 0 exactly where `p_holm` is
    below one minus the level of the comparison.
    """

    first: str
    second: str
    difference: Difference
    p_holm: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """One measure over all systems, the one that discloses least first.

    Parameters
    ----------
    measure
        The measure that was compared.
    ranking
        The systems, the one that discloses least first.
    pairs
        The difference of every pair of systems.
    signature
        One line that makes the numbers reproducible.
    labels
        What the systems were compared on, where there are several such comparisons.
    paired
        Whether the trials were paired.
    level
        Confidence level of the intervals of systems and of groups; where no systems differ, of all differences
        together.
    power
        Probability with which a difference of the size `detectable` of a pair would be seen.
    together
        Number of differences of all measures that were corrected together; None where those of this one alone were.
    training_unknown
        Whether nobody said what the attackers were trained on.

    Examples
    --------
    >>> least = RankedSystem("a", 0.1, 0.05, 0.2, 1)
    >>> Comparison("d_ece", (least, RankedSystem("b", 0.4, 0.3, 0.5, 2)), (), "ZE").ranking[0].system
    'a'
    """

    measure: str
    ranking: tuple[RankedSystem, ...]
    pairs: tuple[PairwiseDifference, ...]
    signature: str
    labels: Mapping[str, str] = field(default_factory=dict)
    paired: bool = True
    level: float = LEVEL
    power: float = POWER
    together: int | None = None
    training_unknown: bool = False

    @property
    def tests(self) -> int:
        """Number of differences that p-values, intervals and groups are corrected for."""
        return len(self.pairs) if self.together is None else self.together

    def tells_apart(self, one: str, other: str) -> bool:
        """Whether the difference of two systems is more than chance explains."""
        pair = self.pair_of(one, other)
        return pair is not None and pair.p_holm < alpha(self.level)

    def pair_of(self, one: str, other: str) -> PairwiseDifference | None:
        """The difference of two systems, in either order; None where there is none."""
        return next((pair for pair in self.pairs if {pair.first, pair.second} == {one, other}), None)

    @property
    def is_first_told_apart(self) -> bool:
        """Whether the system that discloses least is told apart from each of the others."""
        first, *others = (system.system for system in self.ranking)
        return all(self.tells_apart(first, other) for other in others)


def compare(
    results: Sequence[Evaluation | Scores | ScoreMatrix],
    measures: Sequence[str] | None = None,
    *,
    sources: Sequence[str] = (),
    family: Family = "measure",
) -> list[Comparison]:
    """Compare systems on the same data; rows about several data sets, groups of people or attackers group by group.

    Systems that were evaluated on the same trials with the same options and seed are paired: what trials have in
    common cancels. Results from files hold no values without single people, and trials without names cannot be paired:
    differences then rest on both intervals, which finds less, and `Comparison.paired` is False.

    Parameters
    ----------
    results
        Evaluations with intervals, or scores, which are evaluated here; the label ``system`` names each, its number
        where there is none. Other labels and the attacker say which rows belong together.
    measures
        Names of the measures; the usual ones that all results have unless given.
    sources
        Where each result came from, which names systems with one label.
    family
        What is corrected for its number by Holm's procedure: the pairs of systems of each ``measure`` (on one data set,
        against one attacker), or ``all`` pairs in all measures together. P-values, intervals of differences and groups
        follow it.

    Examples
    --------
    >>> import numpy as np
    >>> from zeroevidence import Options, ScoreMatrix, evaluate
    >>> scores = np.random.default_rng(0).normal(size=(40, 8)) + 3.0 * np.eye(8)[np.arange(40) % 8]
    >>> noisy = scores + np.random.default_rng(1).normal(size=(40, 8))
    >>> mated = np.arange(40) % 8
    >>> a, b = (
    ...     evaluate(ScoreMatrix(s, mated), labels={"system": name}, options=Options(intervals=100, null=0))
    ...     for name, s in (("a", scores), ("b", noisy))
    ... )
    >>> (comparison,) = compare([a, b], ["eer"])
    >>> [system.system for system in comparison.ranking]
    ['b', 'a']
    """
    if len(results) < 2:
        raise UsageError(f"expected at least two systems to compare, got {len(results)}")
    rows = [row if isinstance(row, Evaluation) else evaluate(row, options=Options(null=0)) for row in results]
    origins = list(sources) or [""] * len(rows)
    groups = matched([row.labels for row in rows], [row.about for row in rows], origins)
    comparisons = [
        comparison
        for group in groups
        for comparison in compare_group(group, [rows[place] for place in group.places], measures)
    ]
    return correct(comparisons, family)


def compare_group(
    group: ComparedGroup, results: Sequence[Evaluation], measures: Sequence[str] | None
) -> list[Comparison]:
    """The comparisons of one group: paired where trials can be, from intervals where all rows are from files."""
    drawn_values = [row.replicates for row in results if row.replicates is not None]
    unnamed = any(_is_unnamed(values) for values in drawn_values)
    if drawn_values and not unnamed:
        drawn = paired_replicates(results, group.names)
        measured = [set(replicates.left_out) for replicates in drawn]
    else:
        drawn = []
        for row, name in zip(results, group.names, strict=True):
            if not unnamed and dict(row.counts) != dict(results[0].counts):  # they cannot be about the same trials
                raise InputError(
                    f"{name} and {group.names[0]} count other trials; expected the same trials in all systems"
                )
        measured = [{name for name, result in row.metrics.items() if result.spread is not None} for row in results]
    unknown = any(row.about.is_training_unknown for row in results)
    comparisons = (_compared(group, results, drawn, name) for name in measures or usual_measures(measured))
    return [replace(comparison, training_unknown=unknown) for comparison in comparisons]


def _is_unnamed(replicates: Replicates) -> bool:
    """Whether nobody said who was compared with whom."""
    scores = replicates.scores
    return replicates.search is None and (scores is None or scores.enrolments is None or scores.trials is None)


def usual_measures(measured: Sequence[set[str]]) -> list[str]:
    """What is compared unless measures are named, of those that every system can be compared by."""
    names = [name for name in USUAL if all(name in measures for measures in measured)][:_MOST_USUAL]
    if not names:
        raise UsageError(
            "nothing to compare by; expected results with intervals, which published tables do not have: compare the "
            "scores (`zeroevidence compare A B --key KEY`), or show all rows (`zeroevidence evaluate A B`)"
        )
    return names


def paired_replicates(results: Sequence[Evaluation], names: Sequence[str]) -> list[Replicates]:
    """The values on fewer people of each result; refused where they are not paired: other trials, options or seeds."""
    drawn, first = [], results[0].setup
    for row, name in zip(results, names, strict=True):
        if row.replicates is None:
            raise UsageError(
                f"{name}: has no values without single people, which a comparison rests on (a file holds none); "
                "evaluate the scores again, with intervals"
            )
        drawn.append(row.replicates)
        if (row.setup.intervals, row.setup.seed, row.setup.level) != (first.intervals, first.seed, first.level):
            raise UsageError(
                f"{name} and {names[0]} left out other people; expected the same intervals, level and seed"
            )
    named = list(zip(names, drawn, strict=True))
    with_scores = [(name, replicates.scores) for name, replicates in named if replicates.scores is not None]
    searches = [(name, replicates.search) for name, replicates in named if replicates.search is not None]
    if with_scores and searches:
        raise UsageError(f"{with_scores[0][0]} rests on scores and {searches[0][0]} on embeddings; expected one kind")
    comparable.check_same_trials(with_scores)
    comparable.check_same_people(with_scores)
    comparable.check_same_search(searches)
    return drawn


def _compared(
    group: ComparedGroup, results: Sequence[Evaluation], drawn: Sequence[Replicates], name: str
) -> Comparison:
    MEASURES.find(name)
    systems = group.names
    metrics = [value_of(row, name, system) for row, system in zip(results, systems, strict=True)]
    pairs = list(combinations(range(len(results)), 2))
    level = results[0].setup.level
    differences = [
        _paired(metrics, drawn, name, i, j, level) if drawn else _unpaired(metrics, name, i, j, level) for i, j in pairs
    ]
    how = ("holm",) if drawn else ("holm", "unpaired")
    signature = joint_signature([row.signature for row in results], f"compare:{name}", *how)
    placed = [
        RankedSystem(system, float(result), result.low, result.high, 0)
        for system, result in zip(systems, metrics, strict=True)
    ]
    compared = [
        PairwiseDifference(systems[i], systems[j], difference, difference.p_value)
        for (i, j), difference in zip(pairs, differences, strict=True)
    ]
    return ranked(name, placed, compared, signature=signature, labels=group.labels, paired=bool(drawn), level=level)


def value_of(row: Evaluation, name: str, system: str) -> MeasureResult:
    """A measure that a system must have."""
    if name not in row.metrics or row.metrics[name].value != row.metrics[name].value:
        raise UsageError(f"{system} has no {name}")
    return row.metrics[name]


def ranked(
    name: str,
    placed: Sequence[RankedSystem],
    pairs: Sequence[PairwiseDifference],
    *,
    signature: str,
    labels: Mapping[str, str],
    level: float,
    paired: bool = True,
) -> Comparison:
    """Systems in the order of what they disclose, the least first, in groups that are told apart."""
    sign = -1.0 if MEASURES.find(name).discloses == "down" else 1.0
    ranking = tuple(sorted(placed, key=lambda system: sign * system.value))
    return _corrected(Comparison(name, ranking, tuple(pairs), signature, labels, paired, level), pairs)


def correct(comparisons: Sequence[Comparison], family: Family = "measure") -> list[Comparison]:
    """Return comparisons, each corrected for its own differences, corrected for those of a family.

    Examples
    --------
    >>> from zeroevidence.uncertainty.compare import Difference
    >>> pair = PairwiseDifference("a", "b", Difference(-0.1, -0.2, 0.0, 0.04), 0.04)
    >>> ranking = RankedSystem("a", 0.1, None, None, 1), RankedSystem("b", 0.2, None, None, 2)
    >>> by_two_measures = [Comparison(name, ranking, (pair,), "ZE") for name in ("d_ece", "alid")]
    >>> [comparison.pairs[0].p_holm for comparison in correct(by_two_measures, "all")]
    [0.08, 0.08]
    """
    if family not in FAMILIES:
        raise UsageError(f"family: expected one of {', '.join(FAMILIES)}, got {family!r}")
    if family == "measure":
        return list(comparisons)
    tested = [pair for comparison in comparisons for pair in comparison.pairs]
    starts = accumulate((len(comparison.pairs) for comparison in comparisons), initial=0)
    return [
        replace(
            _corrected(comparison, tested, start),
            together=len(tested),
            signature=f"{comparison.signature}|together:{len(tested)}",
        )
        for comparison, start in zip(comparisons, starts, strict=False)
    ]


def _corrected(comparison: Comparison, tested: Sequence[PairwiseDifference], start: int = 0) -> Comparison:
    """A comparison corrected by Holm for all that is tested with it; its own pairs begin at `start`."""
    p_values = [pair.difference.p_value for pair in tested]
    places, level = slice(start, start + len(comparison.pairs)), comparison.level
    adjusted, levels = holm(p_values)[places], holm_levels(p_values, level)[places]
    pairs = tuple(
        replace(pair, p_holm=p, difference=pair.difference.at_level(tested_at))
        for pair, p, tested_at in zip(comparison.pairs, adjusted, levels, strict=True)
    )
    apart = {frozenset((pair.first, pair.second)) for pair in pairs if pair.p_holm < alpha(level)}
    groups = tie_groups([system.system for system in comparison.ranking], apart)
    ranking = (replace(system, group=group) for system, group in zip(comparison.ranking, groups, strict=True))
    return replace(comparison, ranking=tuple(ranking), pairs=pairs)


def _paired(
    metrics: Sequence[MeasureResult], drawn: Sequence[Replicates], name: str, i: int, j: int, level: float
) -> Difference:
    """The difference from values of both systems without the same people."""
    if any(name not in drawn[place].left_out for place in (i, j)):
        raise UsageError(f"{name} is not a measure that can be compared")
    whose = drawn[0].people[name]
    first, second = (drawn[place].measured(name, float(metrics[place])) for place in (i, j))
    return difference(first, second, whose.shares, whose.effective, level)


def _unpaired(metrics: Sequence[MeasureResult], name: str, i: int, j: int, level: float) -> Difference:
    """The difference from the intervals of both systems."""
    first, second = metrics[i].spread, metrics[j].spread
    if first is None or second is None:
        raise UsageError(f"{name} has no interval in these results; expected a measure that can be compared")
    return unpaired_difference(float(metrics[i]), float(metrics[j]), first, second, level)
