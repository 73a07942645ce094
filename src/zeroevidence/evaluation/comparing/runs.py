"""Several trainings of each system, compared by their means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, takewhile

import numpy as np

from zeroevidence.errors import UsageError
from zeroevidence.evaluation.comparing.comparison import (
    Comparison,
    PairwiseDifference,
    RankedSystem,
    Sources,
    paired_replicates,
    ranked,
    usual_measures,
    value_of,
)
from zeroevidence.evaluation.comparing.matching import matched
from zeroevidence.evaluation.reading.score_files import distinct_names
from zeroevidence.evaluation.rows.evaluation import Evaluation
from zeroevidence.evaluation.rows.limits import with_limits
from zeroevidence.evaluation.rows.measure_result import MeasureResult
from zeroevidence.evaluation.rows.replicates import SampledPeople
from zeroevidence.evaluation.rows.setup import joint_signature
from zeroevidence.measure.measures import MEASURES
from zeroevidence.uncertainty.compare import Difference, is_rounding
from zeroevidence.uncertainty.level import LEAST_PEOPLE
from zeroevidence.uncertainty.runs import SpreadSources, TrainingRuns, training_spread


def compare_runs(
    results: Sequence[Evaluation], systems: Sequence[str], measures: Sequence[str] | None = None
) -> list[Comparison]:
    """Compare systems that were trained several times, by the means over their trainings.

    Intervals have the spread of other people and that of other trainings, and say how much of either.

    Parameters
    ----------
    results
        Evaluations with intervals, one for each training, on the same trials with the same options and seed. Rows about
        several data sets, groups of people or attackers are compared group by group.
    systems
        The system that each is a training of.
    measures
        As in `compare`.

    Examples
    --------
    >>> import numpy as np
    >>> from zeroevidence import ScoreMatrix, evaluate
    >>> mated = np.arange(48) % 12
    >>> def trained(seed, strength):
    ...     scores = np.random.default_rng(seed).normal(size=(48, 12)) + strength * np.eye(12)[mated]
    ...     return evaluate(ScoreMatrix(scores, mated), intervals=12, null=0)
    >>> runs = [trained(seed, strength) for strength in (1.0, 3.0) for seed in (0, 1)]
    >>> (found,) = compare_runs(runs, ["a", "a", "b", "b"], ["eer"])
    >>> [(one.system, one.runs) for one in found.ranking]
    [('a', 2), ('b', 2)]
    """
    if len(systems) != len(results):
        raise UsageError(f"expected one system for each of the {len(results)} results, got {len(systems)}")
    names = list(dict.fromkeys(systems))
    if len(names) < 2:
        raise UsageError(f"expected at least two systems to compare, got {len(names)}")
    comparisons = []
    for group in matched([row.labels for row in results], [row.about for row in results], [""] * len(results)):
        trained = {name: [results[i] for i in group.places if systems[i] == name] for name in names}
        few = next((name for name, rows in trained.items() if len(rows) < 2), None)
        if few is not None:
            raise UsageError(f"{few} has {len(trained[few])} training(s); expected at least two of every system")
        comparisons += _within(trained, group.labels, measures)
    return comparisons


def runs_systems(scores: Sequence[str], sizes: Sequence[int], systems: Sequence[str] = ()) -> dict[str, str]:
    """The system of each file, by the name that `score_files` gives it as its source.

    Parameters
    ----------
    scores
        Files of the trainings, those of one system after the other.
    sizes
        Number of trainings of each system.
    systems
        A name for each system; what the names of its files begin with, or their first, unless given.

    Examples
    --------
    >>> runs_systems(["a1.scores", "a2.scores", "b1.scores", "b2.scores"], [2, 2])
    {'a1': 'a', 'a2': 'a', 'b1': 'b', 'b2': 'b'}
    """
    if sum(sizes) != len(scores):
        raise UsageError("SCORES and --runs do not go together; expected every score file after a --runs")
    if systems and len(systems) != len(sizes):
        raise UsageError(f"expected one name for each of the {len(sizes)} systems, got {len(systems)}")
    titles, systems_of_files, start = distinct_names(scores), dict[str, str](), 0
    for place, size in enumerate(sizes):
        titles_of_system = titles[start : start + size]
        name = systems[place] if systems else _beginning(titles_of_system) or titles_of_system[0]
        if name in systems_of_files.values():
            name = f"{name} ({place + 1})"
        systems_of_files |= dict.fromkeys(titles_of_system, name)
        start += size
    if len(systems_of_files) != len(scores):
        raise UsageError("a file is given twice; expected each training once")
    return systems_of_files


def _beginning(names: Sequence[str]) -> str:
    """What names have in common at their beginning, without what separates it from the rest."""
    letters = takewhile(lambda column: len(set(column)) == 1, zip(*names, strict=False))
    return "".join(column[0] for column in letters).rstrip("-_./ ")


def _within(
    trained: Mapping[str, Sequence[Evaluation]], labels: Mapping[str, str], measures: Sequence[str] | None
) -> list[Comparison]:
    rows = [row for system_rows in trained.values() for row in system_rows]
    named = [f"{name}, training {n}" for name, system_rows in trained.items() for n in range(1, len(system_rows) + 1)]
    drawn = paired_replicates(rows, named)
    chosen = measures or usual_measures([set(replicates.left_out) for replicates in drawn])
    return [_compared(trained, labels, name, drawn[0].people.get(name)) for name in chosen]


def _compared(
    trained: Mapping[str, Sequence[Evaluation]], labels: Mapping[str, str], name: str, people: SampledPeople | None
) -> Comparison:
    MEASURES.find(name)
    if people is None:
        raise UsageError(f"{name} is not a measure that can be compared")
    level = next(iter(trained.values()))[0].setup.level
    runs = {system: _runs(rows, name, system) for system, rows in trained.items()}
    pairs = [_pair(first, second, runs, people, level) for first, second in combinations(trained, 2)]
    sizes = "+".join(str(len(rows)) for rows in trained.values())
    signatures = [row.signature for rows in trained.values() for row in rows]
    return ranked(
        name,
        [_placed(system, rows, runs[system], name, people) for system, rows in trained.items()],
        pairs,
        signature=joint_signature(signatures, f"compare:{name}", "holm", f"runs:{sizes}"),
        labels=labels,
        level=level,
    )


def _runs(rows: Sequence[Evaluation], name: str, system: str) -> TrainingRuns:
    metrics = [value_of(row, name, system) for row in rows]
    drawn = [row.replicates for row in rows if row.replicates is not None and name in row.replicates.left_out]
    if len(drawn) < len(rows):
        raise UsageError(f"{name} is not a measure that can be compared")
    return TrainingRuns(
        np.array([float(result) for result in metrics]), np.stack([replicates.left_out[name] for replicates in drawn])
    )


def _sources(spread: SpreadSources | None) -> Sources | None:
    return None if spread is None else Sources(spread.people.error, spread.trainings.error)


def _corrected(rows: Sequence[Evaluation], name: str) -> float | None:
    """The mean over trainings of the values corrected for few people; None where they are not corrected."""
    values = [row.replicates.corrected(name, float(row[name])) for row in rows if row.replicates is not None]
    corrected = [value for value in values if value is not None]
    return float(np.mean(corrected)) if len(corrected) == len(rows) else None


def _placed(
    system: str, rows: Sequence[Evaluation], runs: TrainingRuns, name: str, people: SampledPeople
) -> RankedSystem:
    """The mean of one system, within the range of the measure."""
    mean = MeasureResult.of(name, runs.mean)
    changes = [row.replicates.unseen.get(name, ()) for row in rows if row.replicates is not None]
    spread = None
    if people.clusters >= LEAST_PEOPLE:
        spread = training_spread([runs], people.shares, people.effective, np.mean(changes, axis=0).tolist())
    if spread is None:
        return RankedSystem(system, runs.mean, None, None, 0, len(rows))
    level = rows[0].setup.level
    result = with_limits(mean, name, spread.both, level, centre=_corrected(rows, name), most_bits=people.most_bits)
    return RankedSystem(system, runs.mean, result.low, result.high, 0, len(rows), _sources(spread))


def _pair(
    first: str, second: str, runs: Mapping[str, TrainingRuns], people: SampledPeople, level: float
) -> PairwiseDifference:
    value = runs[first].mean - runs[second].mean
    spread = training_spread([runs[first], runs[second]], people.shares, people.effective)
    alike = is_rounding(value, runs[first].mean, runs[second].mean)
    difference = Difference.from_spread(value, None if spread is None else spread.both, level, alike=alike)
    return PairwiseDifference(first, second, difference, difference.p_value, _sources(spread))
