"""Attacks on an attribute that is a number: every regressor against every protector's output."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from zeroevidence._typing import IntArray
from zeroevidence.data.embeddings import Embeddings
from zeroevidence.evaluation import About, Evaluation, MeasureResult, Options
from zeroevidence.evaluation.rows.flags import Flag, resampling_flags
from zeroevidence.evaluation.rows.setup import Resampling, Setup, digest
from zeroevidence.measure.attribute.number import Guesses, NumberView
from zeroevidence.measure.measures import Measure, measures_of
from zeroevidence.protect.assessment.intervals import HEADLINE, negative_bits_flags, with_interval
from zeroevidence.protect.assessment.maps import MapMethod, figure_data
from zeroevidence.protect.assessment.number_learning import NumberSample, train_regressors
from zeroevidence.protect.assessment.numbers import people_numbers, with_bands
from zeroevidence.protect.assessment.regressors.regressor import REGRESSORS
from zeroevidence.protect.assessment.roles import Roles
from zeroevidence.protect.assessment.systems import (
    AttackedSystem,
    AttackGroup,
    assess_systems,
    find_attackers,
    zero_entry_flags,
)
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
    protectors
        Transformers by name, fitted on other people than those who attack and are tested.
    roles
        Who is used for what.
    attribute
        The number that should be concealed.
    regressors
        Names of registered regressors; all unless given.
    verification
        Whether to verify speakers too.
    map_method
        How to map test vectors to a plane; the map shows quarters of the tested people.
    options
        How to measure.
    seed
        Seed of the attackers.
    dataset
        A label of all rows.
    progress
        Called with the number of attacks done and to be done.

    Returns
    -------
    For each system (``unprotected`` first) a row for each regressor, that first which has the most bits about the
    attack people when these are held out; then a row of verification. Negative bits mean that the attacker's densities
    are worse than the marginal distribution: nothing was learned.

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
    kinds, options = find_attackers(REGRESSORS, "regressor", regressors), options or Options(seed=seed)

    def attack(system: AttackedSystem) -> Iterator[AttackGroup]:
        learned, tested = (NumberSample.of(side, attribute) for side in (system.attack, system.test))
        rows = []
        for attacker in train_regressors(kinds, learned, seed):
            labels = {**system.labels, "split": "test", "attacker": attacker.kind.name}
            row = number_row(attacker.guesses(tested), options, labels)
            about = About("attribute", system.role, attribute=attribute, development=attacker.bits)
            counts = {"vectors": len(tested.x), "speakers": len(tested.numbers)}
            rows.append(replace(row, about=about, counts=counts).with_flags(*zero_entry_flags(learned.x)))
            system.done(1)
        quarters = _quarters(system.test, attribute)
        yield rows, figure_data(quarters, attribute, map_method, seed, None, roles.test)

    return assess_systems(
        protectors,
        roles,
        attack,
        attacks=len(kinds),
        verify=verification,
        options=options,
        dataset=dataset,
        progress=progress,
        measure=HEADLINE,
    )


def _quarters(test: Embeddings, attribute: str) -> Embeddings:
    """Return the tested vectors with quarters of the people as labels in place of their numbers, for a map."""
    numbers, _ = people_numbers(test, attribute)
    limits = np.unique(np.quantile(numbers, [0.25, 0.5, 0.75], method="higher"))
    return with_bands(test, attribute, Bands(tuple(map(float, limits[limits > numbers.min()]))))


def number_row(guesses: Guesses, options: Options, labels: Mapping[str, str]) -> Evaluation:
    """Return the measures of an attacker's guesses, with intervals and nulls by person."""
    whole = NumberView.whole(guesses)
    values = {measure: value for measure in measures_of("attribute") if (value := measure.compute(whole)) is not None}
    metrics = {
        measure.name: MeasureResult(value, measure.unit, measure.method_of(whole)) for measure, value in values.items()
    }
    people = len(guesses.numbers)
    flags: list[Flag] = []
    intervals, null = None, None
    if options.intervals:
        for measure in values:
            part = partial(_of_people, measure, guesses)
            metrics[measure.name] = with_interval(measure, metrics[measure.name], people, options, part)
        intervals = Resampling("speaker", min(people, options.intervals))
        flags += resampling_flags("speaker", people, float(people))
    if options.null:
        orders = _orders(people, options)
        metrics = {
            measure.name: _with_null(measure, metrics[measure.name], guesses, orders, options.level)
            for measure in values
        }
        null = Resampling("speaker", options.null)
    flags += negative_bits_flags(metrics)
    setup = Setup(
        families=("attribute",),
        intervals=intervals,
        null=null,
        level=options.level,
        seed=options.seed,
        data=digest([guesses.slope, guesses.curve, guesses.total, guesses.numbers]),
    )
    return Evaluation(metrics, setup=setup, labels=labels, flags=tuple(flags))


def _of_people(measure: Measure, guesses: Guesses, people: IntArray) -> float | None:
    """Return a measure of some people alone."""
    value: float | None = measure.compute(NumberView(guesses, people, np.arange(len(guesses.numbers))))
    return value


def _orders(people: int, options: Options) -> IntArray:
    """Return permutations of people, the same for all attackers of the same people."""
    rng = generator(options.seed, 1, 0)
    return np.stack([rng.permutation(people) for _ in range(options.null)])


def _with_null(
    measure: Measure, value: MeasureResult, guesses: Guesses, orders: IntArray, level: float
) -> MeasureResult:
    """Return a measure with its null: its values when numbers are assigned to people at random."""
    everyone = np.arange(len(guesses.numbers))
    permuted = np.array([measure.compute(NumberView(guesses, everyone, order)) for order in orders])
    # where less is more evidence, the quantile is the one that values under permutation stay above
    sign = 1.0 if measure.discloses == "up" else -1.0
    null = Null.from_draws(sign * permuted, level, keep=measure.tested and sign > 0.0)
    p_value = permutation_p_value(sign * float(value), sign * permuted)
    return replace(value, p_value=p_value, null=replace(null, mean=sign * null.mean, quantile=sign * null.quantile))
