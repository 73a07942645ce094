"""How the numbers of a report were computed, in sentences that follow from the results themselves."""

from __future__ import annotations

from collections.abc import Sequence

from zeroevidence.evaluation import Evaluation
from zeroevidence.report.verdict_rows import attribute_rows
from zeroevidence.report.verdict_words import outside

_OUTSIDE = (
    " Some values lie outside their intervals: measures after the best calibration are too favourable to the attacker "
    "on few people, and their intervals are corrected for it."
)


def methods_of(rows: Sequence[Evaluation], names: Sequence[str]) -> list[str]:
    """Paragraphs on what was done; only on what the rows say was done."""
    words = []
    parts = {part for row in rows for part in row.signature.split("|")}
    if attribute_rows(rows):
        words.append(
            "Attributes: classifiers learned to tell the classes from recordings protected in the same way, of people "
            "whom the protection had not seen, and were tested on others again. Their scores for one class against the "
            "rest are turned into likelihood ratios by the calibration that suits the attacker best (pool adjacent "
            "violators). Expected disclosure (D_ECE) is what a recording tells about the class on average over all "
            "beliefs that an attacker may start from."
        )
    paired = {name for row in rows for name in row.metrics if "attribute" not in row.labels} if rows else set(names)
    if paired & {"eer", "d_ece", "cllr_min", "linkability"}:
        words.append(
            "Comparisons one at a time: scores of pairs of one person (target) and of two (nontarget) are turned into "
            "likelihood ratios by the calibration that suits the attacker best (pool adjacent violators), equal scores "
            "always taken together. Expected disclosure (D_ECE) is what a comparison tells on average over all beliefs "
            "that an attacker may start from; the worst case and its tag are about the most telling comparison."
        )
    if any(name in names for name in ("alid", "top1")):
        how = sorted({part.removeprefix("rows:") for part in parts if part.startswith("rows:")})
        calibration = (
            f" (calibration: {', '.join(one.replace('+', ', ').replace('-', ' ') for one in how)})" if how else ""
        )
        words.append(
            "Search: each recording is compared with every known person, its scores become probabilities over these "
            f"people{calibration}, and Local Information Disclosure is how many bits the right person's probability "
            "gained over what it was before. A negative value misleads the attacker."
        )
    if "tdcf_min" in names:
        words.append(
            "Spoofing: a countermeasure decides first which speech is real, a verifier then who speaks. The tandem "
            "cost (t-DCF) weighs the errors of both by their priors and costs; its minimum is over the "
            "countermeasure's threshold, and 1 is the cost with a countermeasure that is of no use."
        )
    units = sorted(
        {part.removeprefix("ci:").partition(":")[0].rstrip("0123456789") for part in parts if part.startswith("ci:")}
    )
    units = [unit for unit in units if unit and unit != "none"]
    if units:
        words.append(
            "Intervals cover 95 % and come from resampling by "
            f"{' or '.join(unit.replace('-', ' ') for unit in units)}: "
            "recordings of one person are alike, so people are drawn and not single scores where they are known."
            + (_OUTSIDE if any(outside(metric) for row in rows for metric in row.metrics.values()) else "")
        )
    if any(part.startswith("null:") for part in parts):
        words.append(
            "What shows if nothing leaked (the null) is the same measure after exchanging who is who, many times; its "
            "mean, the level that 95 % of these repetitions stay below, and p, the share that reach the observed value."
        )
    if any("unprotected" in row.labels.get("attacker", "") for row in rows):
        words.append(
            "Bounds: unprotected voices show that the attack works at all, noise in the place of voices shows what the "
            "same search finds where there is nothing to find."
        )
    seeds = sorted({part for part in parts if part.startswith("seed:")})
    if seeds:
        words.append(f"Random choices are fixed ({', '.join(seeds)}); the same input gives the same numbers.")
    return words
