"""Headline numbers of an HTML report, and the methods that they were computed with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite, log2
from typing import Any

from zeroevidence.evaluation import Evaluation, Finding, MeasureResult
from zeroevidence.evaluation.rows.measure_result import RESULT_COLUMNS, Column
from zeroevidence.measure.measures import MEASURES, headline_measures
from zeroevidence.report.layout import chance_value, chosen_measures, meaning, number, p_text, title, unit_sign
from zeroevidence.report.table import null_cell, result_cell
from zeroevidence.report.verdict.phrases import unbroken
from zeroevidence.uncertainty.level import alpha, percent

REPORT_COLUMNS = tuple(column for column in RESULT_COLUMNS if column.in_report)
# What people ask first, first; measures that are not here follow in the order of the tables.
_FIRST = ("top1", "link_probability", "alid", "lid_max", "singling_out", "d_ece", "worst_case", "tag", "linkability")


_TILES = {
    "top1": "recordings that get the right name",
    "people_named": "people named in nearly all recordings",
    "eer": "errors about pairs of recordings",
    "d_ece": "evidence of one comparison, at most 0.72",
}


def report_measures(rows: Sequence[Evaluation], measures: Sequence[str] | None = None) -> list[str]:
    """Measures to show: those asked for, else the usual ones, most asked for first, or all numbers of other results."""
    if measures is not None:
        return [name for name in chosen_measures(rows, measures) if any(name in row.metrics for row in rows)]
    present = {name for row in rows for name in row.metrics}
    usual = [name for name in dict.fromkeys((*_FIRST, *headline_measures())) if name in present]
    if usual:
        return usual
    scalars = [n for row in rows for n, result in row.metrics.items() if isinstance(result.value, (str, int, float))]
    return list(dict.fromkeys(scalars))


def headline_number(name: str, finding: Finding) -> dict[str, Any]:
    """A measure of the strongest attacker as the page shows it, beside unprotected voices and noise.

    It has the fields that `MeasureResult` declares for reports as `columns`, by their titles, and its place between
    nothing learned and everything as `strip`, None where its range is not such a line.
    """
    row, result = finding.row, finding.row.metrics[name]
    cell = result_cell(result)
    return {
        "name": name,
        "title": title(name),
        "value": cell.text,
        "unit": unit_sign(result.unit),
        "bounds": cell.below,
        "null": null_cell(row, name).flat,
        "p_adjusted": "" if result.p_adjusted is None else unbroken(p_text(result.p_adjusted)),
        "plain": _value(finding.unprotected, name),
        "noise": _value(finding.noise, name),
        "meaning": meaning(row, name),
        "strip": strip_of(name, row, finding.unprotected),
        "columns": {column.title: text for column in REPORT_COLUMNS if (text := _column_text(result, column))},
    }


@dataclass(frozen=True, slots=True)
class Tile:
    """A number of the first screen, of the attacker that counts, with its interval and that of unprotected speech."""

    title: str
    value: str
    unit: str
    bounds: str
    plain: str


def tiles(finding: Finding) -> tuple[Tile, ...]:
    """Three numbers for the first screen; fewer where a row has fewer of them."""
    names = [name for name in _TILES if name in finding.row.metrics and finding.question != "spoofing"][:3]
    numbers = [headline_number(name, finding) for name in names]
    return tuple(
        Tile(_TILES[each["name"]], *(each[part] for part in ("value", "unit", "bounds", "plain"))) for each in numbers
    )


def _column_text(result: MeasureResult, column: Column) -> str:
    field = getattr(result, column.name)
    if field is None or column.format == "text":
        return field or ""
    return percent(field) if column.format == "share" else number(field, result.unit)


def _value(row: Evaluation | None, name: str) -> str:
    return "" if row is None else result_cell(row.metrics.get(name)).text


def strip_of(name: str, row: Evaluation, plain: Evaluation | None) -> dict[str, float | None] | None:
    """The place of a number on a line from nothing to everything, in percent of its length; None where it has none."""
    result = row.metrics[name]
    ends, observed = _range(name, result, row), row.number(name)
    if ends is None or observed is None or not isfinite(observed):
        return None
    nothing, everything = ends

    def place(x: float | None) -> float | None:
        if x is None or not isfinite(x):
            return None
        return round(100.0 * min(1.0, max(0.0, (x - nothing) / (everything - nothing))), 2)

    at = place(observed)
    assert at is not None
    interval = sorted(x for x in (place(result.low), place(result.high)) if x is not None)
    low, high = interval if len(interval) == 2 else (None, None)
    null = None if result.null is None else place(result.null.quantile)
    unprotected = place(None if plain is None else plain.number(name))
    return {"value": at, "low": low, "high": high, "null": null, "plain": unprotected}


def _range(name: str, result: MeasureResult, row: Evaluation) -> tuple[float, float] | None:
    """The values of a measure at nothing learned and at everything; None where its range is not such a line."""
    measure = MEASURES.get(name)
    if measure is None or measure.family == "tandem" or measure.discloses == "none":
        return None
    if measure.high_note == "log2 N":
        people = row.counts.get("identities", 0)
        return (0.0, log2(people)) if people > 1 else None
    if name == "eer":  # half is guessing; beyond it the scores point the wrong way
        return 0.5, 0.0
    chance = chance_value(row, name)
    if chance is not None:
        return chance, measure.high
    if not (isfinite(measure.low) and isfinite(measure.high)) or result.unit == "relative cost":
        return None
    return (measure.low, measure.high) if measure.discloses == "up" else (measure.high, measure.low)


_ATTRIBUTES = (
    "Attributes: classifiers learned to tell the classes from recordings protected in the same way, of people "
    "whom the protection had not seen, and were tested on yet other people. Their scores for one class against the "
    "rest are turned into likelihood ratios by the calibration that suits the attacker best (pool adjacent "
    "violators). Expected disclosure (D_ECE) is the evidence of a recording about the class, averaged over all prior "
    "beliefs."
)
_CHOICE = (
    "The attacker whose numbers are reported was chosen on the people that attackers learned from, each of whom was "
    "held out in turn; so were the settings of each attacker. The tested people had no part in any choice. Stronger "
    "attackers than these may exist."
)
_PAIRS = (
    "Comparisons one at a time: scores of pairs of one person (target) and of two (nontarget) are turned into "
    "likelihood ratios by the calibration that suits the attacker best (pool adjacent violators), equal scores "
    "always taken together. Expected disclosure (D_ECE) is the evidence of a comparison, averaged over all prior "
    "beliefs; the worst case and its tag are about the comparison with the strongest evidence."
)
_LLRS = (
    "Likelihood ratios: {how}. Cllr, the actual DCF and D_ECE, devPAV, rates of misleading evidence and the bounds "
    "within which they are supported by the data (ELUB) are about these; Tippett curves show them as they are."
)
_CALIBRATED = "scores were turned into them by a logistic calibration that was fitted on other people"
_SPOOFING = (
    "Spoofing: a countermeasure decides first which speech is real, a verifier then who speaks. The tandem cost "
    "(t-DCF) weighs the errors of both by their priors and costs. In the constrained form 1 is the cost of a fixed "
    "verifier with a useless countermeasure. In the unconstrained form 1 is the cost of deciding blindly, so that its "
    "minima with the verifier's threshold fixed and with both thresholds free can be compared."
)
_NULL = (  # with the level and how often a test may be wrong
    "The value if nothing leaked (the null) is that of the same measure after permuting the identities of speakers, "
    "many times: its mean, and the value that {level} of these repetitions stay below. p is adjusted over the table: "
    "the share of repetitions in which any measure of any attacker is as unusual as the observed value. So the chance "
    "that anything is called a leak where nothing leaks is at most {alpha}."
)
_BOUNDS = {
    "control": "unprotected speech shows that the attack works at all",
    "floor": "noise in the place of voices shows the result of the same search where there is nothing to find",
    "room": "pauses and channel alone show how much is found in the recordings without any voice",
}
_PROTOCOLS = (
    "Protocols: unless a row names another one, all enrolled recordings of a person make a profile, a trial is one "
    "recording, and it is searched among everybody. Rows with a protocol are the strongest attacker once more, who "
    "enrols fewer recordings, tries recordings together that are known to be of one person, or searches for people of "
    "the same sex; development people chose. The released recordings are the same."
)
_CORRECTED = (
    " Measures after the best calibration favour the attacker on few people: their intervals are corrected for it, and "
    "where they would leave the value out, they are widened to reach it."
)


def describe_methods(rows: Sequence[Evaluation], names: Sequence[str]) -> Iterator[str]:
    """Yield paragraphs on the methods that the rows were computed with."""
    if any(row.about.question == "attribute" for row in rows):
        yield _ATTRIBUTES
        if any(row.about.question == "attribute" and row.about.development is not None for row in rows):
            yield _CHOICE
    paired = {name for row in rows for name in row.metrics if row.about.question == "identity"} if rows else set(names)
    if any(MEASURES[name].family == "one-to-one" for name in paired if name in MEASURES):
        yield _PAIRS
    given = {row.setup.llr.is_given for row in rows if row.setup.llr is not None}
    if given:
        how = (_CALIBRATED, "scores are these already")
        yield _LLRS.format(how="; elsewhere ".join(how[is_given] for is_given in sorted(given)))
    if any(MEASURES[name].family == "search" for name in names if name in MEASURES):
        yield _search(rows)
    if "tdcf_min" in names:
        yield _SPOOFING
    results = [result for row in rows for result in row.metrics.values()]
    if any(result.low is not None for result in results):
        yield _intervals(rows)
    if any(result.null is not None for result in results):
        levels = sorted({row.setup.level for row in rows})
        yield _NULL.format(level=_listed(levels), alpha=_listed([alpha(level) for level in levels]))
    bounds = [text for role, text in _BOUNDS.items() if any(row.about.role == role for row in rows)]
    if bounds:
        yield f"Bounds: {', '.join(bounds)}."
    if any(row.about.role == "protocol" for row in rows):
        yield _PROTOCOLS
    seeds = sorted({row.setup.seed for row in rows if row.setup.recorded is None})
    if seeds:
        named = ", ".join(f"seed {seed}" for seed in seeds)
        yield f"Random choices are fixed ({named}); the same input gives the same numbers."


def _listed(levels: Sequence[float]) -> str:
    return " or ".join(map(percent, levels))


def _search(rows: Sequence[Evaluation]) -> str:
    how = sorted({str(row.setup.search) for row in rows if row.setup.search is not None})
    calibration = f" (calibration: {'; '.join(how)})" if how else ""
    return (
        "Search: each recording is compared with every known person, its scores become probabilities over these "
        f"people{calibration}, and Local Information Disclosure is how many bits the right person's probability "
        "gained over what it was before. A negative value misleads the attacker."
    )


def _intervals(rows: Sequence[Evaluation]) -> str:
    units = sorted({row.setup.intervals.unit for row in rows if row.setup.intervals is not None})
    by = f" by {' or '.join(unit.replace('-', ' ') for unit in units)}" if units else ""  # older files do not say
    return (
        f"Intervals cover {_listed(sorted({row.setup.level for row in rows}))} and come from resampling{by}: "
        "recordings of one person are alike, so where people are known, people are drawn and not single scores."
        + (_CORRECTED if any(result.estimate is not None for row in rows for result in row.metrics.values()) else "")
    )
