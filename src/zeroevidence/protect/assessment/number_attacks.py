"""Every regressor against every protector's output, beside unprotected vectors: what is left of a number."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from zeroevidence._typing import IntArray
from zeroevidence.data.embeddings import Embeddings
from zeroevidence.data.threat import UNPROTECTED
from zeroevidence.errors import UsageError
from zeroevidence.evaluation import About, Evaluation, MeasureResult, Options, together
from zeroevidence.evaluation.rows.about import Role
from zeroevidence.evaluation.rows.flags import Flag, resampling_flags
from zeroevidence.evaluation.rows.setup import Resampling, Setup, digest
from zeroevidence.measure.attribute.number import Guesses, NumberView
from zeroevidence.measure.measures import Measure, measures_of
from zeroevidence.protect.assessment.choice import add_choice_flags, order_by_strength
from zeroevidence.protect.assessment.class_attacks import ProgressCounter, protected, zero_entry_flags
from zeroevidence.protect.assessment.intervals import HEADLINE, negative_bits_flags, with_interval
from zeroevidence.protect.assessment.maps import FigureData, MapMethod, drawn
from zeroevidence.protect.assessment.number_learning import NumberSample, train_regressors
from zeroevidence.protect.assessment.numbers import people_numbers, with_bands
from zeroevidence.protect.assessment.regressors.regressor import REGRESSORS, RegressorKind
from zeroevidence.protect.assessment.roles import Roles
from zeroevidence.protect.assessment.verification import verification as verified
from zeroevidence.protect.attributes.shared.bands import Bands
from zeroevidence.uncertainty.null import Null, permutation_p_value
from zeroevidence.uncertainty.resampling.draws import generator


def assess_number(
    protectors: Mapping[str, Any],
    roles: Roles,
    attribute: str,
    *,
    regressors: Sequence[str] | None = None,
    verification: bool = True,
    map_method: MapMethod = "none",
    options: Options | None = None,
    seed: int = 0,
    dataset: str = "",
    progress: Callable[[int, int], None] | None = None,
) -> list[Evaluation]:
    """Attack an attribute that is a number in every protector's output, beside unprotected vectors.

    Parameters
    ----------
    protectors, roles
        Transformers by name, fitted on other people than those who attack and are tested; who is used for what.
    attribute, regressors
        The number that should be concealed; names of registered regressors, all unless given.
    verification, map_method, options, seed, dataset, progress
        As in `assess`; a map shows quarters of the tested people.

    Each system (``unprotected`` first) gets a row for each regressor, the one first that tells most of the attack
    people when these are held out; then a row of verification. Bits may be negative: then the attacker's densities are
    worse than knowing nothing, and nothing was learned.

    Examples
    --------
    >>> from zeroevidence import Embeddings
    >>> from zeroevidence.protect.assessment.numbers import split_by_number
    >>> rng = np.random.default_rng(0)
    >>> age = np.repeat(rng.integers(20, 70, 90), 2)
    >>> vectors = rng.normal(size=(180, 3)) + np.outer(age, [0.2, 0.0, 0.0])
    >>> data = Embeddings(vectors, None, np.repeat(np.arange(90), 2), {"age": age})
    >>> rows = assess_number({}, split_by_number(data, "age"), "age", regressors=["ridge"], verification=False)
    >>> rows[0]["attribute_bits"].low > 0.5, rows[0]["attribute_correlation"].value > 0.8
    (True, True)
    """
    kinds, options = _chosen(protectors, regressors), options or Options(seed=seed)
    systems: dict[str, Any] = {UNPROTECTED: None, **protectors}
    done = ProgressCounter(len(systems) * (len(kinds) + verification), progress)
    rows: list[Evaluation] = []
    groups: list[tuple[slice, FigureData]] = []
    for name, protector in systems.items():
        sides = {side: protected(getattr(roles, side), protector) for side in ("attack", "test")}
        words = {"system": name, **({"dataset": dataset} if dataset else {})}
        start = len(rows)
        for row in _attacked(kinds, sides, attribute, options, seed, words):
            rows.append(row)
            done.advance()
        maps = drawn(_quarters(sides["test"], attribute), attribute, map_method, seed, None, roles.test)
        groups.append((slice(start, len(rows)), maps))
        if verification:
            rows.append(verified(roles.train, sides, options, words))
            done.advance()
    return add_choice_flags(together(order_by_strength(rows, groups)), [place for place, _ in groups], HEADLINE)


def _attacked(
    kinds: Sequence[RegressorKind],
    sides: Mapping[str, Embeddings],
    attribute: str,
    options: Options,
    seed: int,
    words: Mapping[str, str],
) -> Iterator[Evaluation]:
    """A row for each regressor on one system's vectors."""
    attack, test = (NumberSample.of(sides[side], attribute) for side in ("attack", "test"))
    role: Role = "control" if words["system"] == UNPROTECTED else "attack"
    counts = {"vectors": len(test.x), "speakers": len(test.numbers)}
    for one in train_regressors(kinds, attack, seed):
        row = number_row(one.told(test), options, {**words, "split": "test", "attacker": one.kind.name})
        about = About("attribute", role, attribute=attribute, development=one.bits)
        yield replace(row, about=about, counts=counts).with_flags(*zero_entry_flags(attack.x))


def _chosen(protectors: Mapping[str, Any], regressors: Sequence[str] | None) -> list[RegressorKind]:
    """The regressors; their names are checked, as are those of the protectors."""
    names = tuple(REGRESSORS) if regressors is None else tuple(regressors)
    if not names:
        raise UsageError(f"expected at least one regressor of {', '.join(REGRESSORS)}")
    if UNPROTECTED in protectors:
        raise UsageError(f"{UNPROTECTED!r} is the name of unprotected vectors; call the protector something else")
    return [REGRESSORS.find(name) for name in dict.fromkeys(names)]


def _quarters(test: Embeddings, attribute: str) -> Embeddings:
    """The tested vectors with quarters of the people in the place of their numbers, for a map."""
    numbers, _ = people_numbers(test, attribute)
    limits = np.unique(np.quantile(numbers, [0.25, 0.5, 0.75], method="higher"))
    return with_bands(test, attribute, Bands(tuple(map(float, limits[limits > numbers.min()]))))


def number_row(told: Guesses, options: Options, labels: Mapping[str, str]) -> Evaluation:
    """Measures of what an attacker says of people, with intervals and nulls by person."""
    whole = NumberView.whole(told)
    found = {one: value for one in measures_of("attribute") if (value := one.compute(whole)) is not None}
    metrics = {one.name: MeasureResult(value, one.unit, one.method_of(whole)) for one, value in found.items()}
    people = len(told.numbers)
    flags: list[Flag] = []
    intervals, null = None, None
    if options.intervals:
        for one in found:
            metrics[one.name] = with_interval(one, metrics[one.name], people, options, partial(_of_people, one, told))
        intervals = Resampling("speaker", min(people, options.intervals))
        flags += resampling_flags("speaker", people, float(people))
    if options.null:
        orders = _orders(people, options)
        metrics = {one.name: _with_null(one, metrics[one.name], told, orders, options.level) for one in found}
        null = Resampling("speaker", options.null)
    flags += negative_bits_flags(metrics)
    setup = Setup(
        families=("attribute",),
        intervals=intervals,
        null=null,
        level=options.level,
        seed=options.seed,
        data=digest([told.slope, told.curve, told.total, told.numbers]),
    )
    return Evaluation(metrics, setup=setup, labels=labels, flags=tuple(flags))


def _of_people(one: Measure, told: Guesses, people: IntArray) -> float | None:
    """A measure of some people alone."""
    found: float | None = one.compute(NumberView(told, people, np.arange(len(told.numbers))))
    return found


def _orders(people: int, options: Options) -> IntArray:
    """Permutations of people, the same for all attackers of the same people."""
    rng = generator(options.seed, 1, 0)
    return np.stack([rng.permutation(people) for _ in range(options.null)])


def _with_null(one: Measure, value: MeasureResult, told: Guesses, orders: IntArray, level: float) -> MeasureResult:
    """A measure beside what it is when numbers are assigned to people at random."""
    everyone = np.arange(len(told.numbers))
    permuted = np.array([one.compute(NumberView(told, everyone, order)) for order in orders])
    # where less is more evidence, the quantile is the one that values under permutation stay above
    sign = 1.0 if one.discloses == "up" else -1.0
    null = Null.from_draws(sign * permuted, level, keep=one.tested and sign > 0.0)
    p_value = permutation_p_value(sign * float(value), sign * permuted)
    return replace(value, p_value=p_value, null=replace(null, mean=sign * null.mean, quantile=sign * null.quantile))
