"""Rows of an assessment: protected vectors, bits about classes, data of figures, and the order by strength."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.data.embeddings import Embeddings
from zeroevidence.evaluation import Curve, Evaluation, Flag, Options, Points, flag_rows
from zeroevidence.evaluation.finding.beside import changes_by_protection
from zeroevidence.evaluation.finding.chance import chances, clearly_stronger_row, row_chosen_on_development
from zeroevidence.evaluation.rows.flags import flag
from zeroevidence.evaluation.rows.measure_result import MeasureResult, with_limits
from zeroevidence.measure.attribute import ClassView
from zeroevidence.measure.measures import MEASURES
from zeroevidence.optional import optional
from zeroevidence.protect.assessment.class_learning import ClassSample
from zeroevidence.protect.assessment.labels import attribute_labels
from zeroevidence.run import Run
from zeroevidence.uncertainty.groups import draw_groups
from zeroevidence.uncertainty.level import LEAST_PEOPLE
from zeroevidence.uncertainty.spread import estimate_spread

_POINT_MASS = 0.01  # share of zeros from which a protector cannot do its work


def protect(embeddings: Embeddings, protector: Any) -> Embeddings:
    """Return embeddings through a fitted protector; as they are if it is None."""
    vectors = np.asarray(embeddings.vectors, dtype=np.float64)
    if protector is not None:
        vectors = np.asarray(protector.transform(vectors, speakers=embeddings.speakers), dtype=np.float64)
    return Embeddings(vectors, embeddings.ids, embeddings.speakers, embeddings.attributes)


def zero_entry_flags(vectors: FloatArray) -> tuple[Flag, ...]:
    """Return a warning where many entries are exactly zero, as after a ReLU."""
    share = float(np.mean(np.asarray(vectors) == 0.0))
    return (flag("zeros", percent=100 * share),) if share >= _POINT_MASS else ()


_BITS = "attribute_bits"
_ROUNDING = 1e-6


def measure_class_bits(
    rows: ClassSample, log_posteriors: FloatArray, options: Options, run: Run
) -> dict[str, MeasureResult]:
    """Return the bits about more than two classes together; nothing for two, of which D_ECE says enough.

    The interval is that of a jackknife over groups of people; there is none where people are too few.
    """
    classes = log_posteriors.shape[1]
    if classes < 3:
        return {}
    measure = MEASURES[_BITS]
    view = ClassView(log_posteriors, rows.y, rows.weights)
    value = MeasureResult.of(_BITS, measure.compute(view), measure.method_of(view))
    people = int(rows.people.max()) + 1
    if not options.intervals or people < LEAST_PEOPLE:
        return {_BITS: value}
    groups = draw_groups(people, options.intervals, run.seed)
    left_out = []
    for group in range(int(groups.max()) + 1):
        members = groups[rows.people] != group
        rest = rows.take(members)
        complete = len(np.unique(rest.y)) == classes
        fewer = ClassView(log_posteriors[members], rest.y, rest.weights)
        left_out.append(measure.compute(fewer) if complete else np.nan)
    spread = estimate_spread(float(value), np.array(left_out), np.bincount(groups) / people, float(people))
    return {_BITS: with_limits(value, _BITS, spread, run.level, method=value.method)}


def negative_bits_flags(metrics: Mapping[str, MeasureResult]) -> list[Flag]:
    """Return a note where an attacker's bits are negative: nothing was learned."""
    bits = metrics.get(_BITS)
    return [flag("bits-negative")] if bits is not None and float(bits) < -_ROUNDING else []


MapMethod: TypeAlias = Literal["pca", "umap", "none"]
Figures: TypeAlias = tuple[Mapping[str, Points], Mapping[str, Curve]]  # maps of vectors, and training curves
MU_OVER_EPOCHS = "mu_over_epochs"
_MAPPED_POINTS = 2000


def figure_data(
    test: Embeddings, attribute: str, method: MapMethod, seed: int, protector: Any, original: Embeddings
) -> Figures:
    """Return test vectors in two dimensions and, of a flow, its first two latent coordinates and its training."""
    curves = training_curves(protector)
    if method == "none":
        return {}, curves
    some = np.random.default_rng(seed).permutation(len(test))[:_MAPPED_POINTS]
    labels = tuple(str(label) for label in attribute_labels(test, attribute)[some])

    def points(plane: FloatArray, mu: float | None = None) -> Points:
        return Points(tuple(float(v) for v in plane[:, 0]), tuple(float(v) for v in plane[:, 1]), labels, mu)

    maps = {"vectors": points(project_to_plane(np.asarray(test.vectors)[some], method, seed))}
    if hasattr(protector, "to_latent"):
        plane = protector.to_latent(np.asarray(original.vectors, dtype=np.float64)[some])[:, :2]
        maps["latent"] = points(plane, getattr(protector, "llr_mean_", None))
    return maps, curves


def training_curves(protector: Any) -> dict[str, Curve]:
    """Return the mean evidence before training and after each epoch, of a flow that was just trained."""
    mus = getattr(getattr(protector, "history_", None), "mus", ())
    return {MU_OVER_EPOCHS: Curve(tuple(map(float, range(len(mus)))), mus)} if mus else {}


def project_to_plane(vectors: FloatArray, method: MapMethod = "pca", seed: int = 0) -> FloatArray:
    """Return vectors in two dimensions: first principal components, or UMAP (30 neighbours, as in the paper)."""
    if method == "umap":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            umap = optional("umap", "umap", "a map by UMAP")
            reducer = umap.UMAP(n_neighbors=min(30, len(vectors) - 1), random_state=seed, n_jobs=1)
            return np.asarray(reducer.fit_transform(vectors), dtype=np.float64)
    u, s, _ = np.linalg.svd(vectors - vectors.mean(axis=0), full_matrices=False)
    u = u[:, :2] * s[:2]
    signs = np.sign(u[np.abs(u).argmax(axis=0), np.arange(u.shape[1])])  # the library's signs are arbitrary
    return np.asarray(u * np.where(signs == 0.0, 1.0, signs))


def ordered_rows(rows: Sequence[Evaluation], groups: Sequence[tuple[slice, Figures]]) -> list[Evaluation]:
    """Return the rows of each group by attacker, the strongest first, with flags, and figures with the first row.

    The rows of one attacker stay together, and attackers that judge all vectors of a person together come last. Chance
    is that of all rows, so that the finding names the same attackers.
    """
    result, chance = list(rows), chances(rows)
    for place, (maps, curves) in groups:
        ordered: list[int] = []
        for pooled in (False, True):
            remaining: dict[str, list[int]] = {}
            for i in range(place.start, place.stop):
                if rows[i].about.pooled == pooled:
                    remaining.setdefault(rows[i].labels["attacker"], []).append(i)
            while remaining:
                tested = [i for members in remaining.values() for i in members if rows[i].about.role != "training"]
                ordered += remaining.pop(rows[row_chosen_on_development(rows, tested, chance)].labels["attacker"])
        first, *rest = (rows[i] for i in ordered)
        result[place] = [replace(first, maps=maps, curves={**first.curves, **curves}), *rest]
    return add_marking_flags(add_choice_flags(flag_rows(result), [place for place, _ in groups]))


def add_marking_flags(rows: Sequence[Evaluation]) -> list[Evaluation]:
    """Return rows, with a warning on those of verification whose EER is below that without protection.

    It must be so beyond the interval of the paired difference: with the same people left out of both.
    """
    result = []
    for row, change in zip(rows, changes_by_protection(rows, "eer"), strict=True):
        if change is not None and change.high < 0.0:
            after = float(row["eer"])
            row = row.with_flags(flag("people-marked", before=after - change.value, after=after, change=change))
        result.append(row)
    return result


def add_choice_flags(rows: Sequence[Evaluation], groups: Sequence[slice]) -> list[Evaluation]:
    """Return ordered rows, with a warning on the chosen attacker's where another is clearly stronger when tested."""
    chance, result = chances(rows), list(rows)
    for place in groups:
        tested = [i for i in range(place.start, place.stop) if rows[i].about.development is not None]
        for i in tested:
            of_class, pooled = rows[i].about.of_class, rows[i].about.pooled
            same = [j for j in tested if (rows[j].about.of_class, rows[j].about.pooled) == (of_class, pooled)]
            if rows[i].labels["attacker"] != rows[same[0]].labels["attacker"]:
                continue
            better = clearly_stronger_row(rows, i, same, "d_ece", chance)
            if better is not None:
                result[i] = rows[i].with_flags(flag("headline-beaten", better=rows[better].labels["attacker"]))
    return result
