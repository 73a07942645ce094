"""The verdict on results that are not about privacy: spoofing, anything else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from zeroevidence.evaluation import Evaluation, Finding
from zeroevidence.measure.measures import MEASURES
from zeroevidence.report.verdict.phrases import Verdict, capitalise, percent, unbroken

_SPOOFING = ("tdcf_min", "adcf_min", "teer", "cm_eer")
_COSTS = ("tdcf_min", "adcf_min", "cm_eer")


def other_verdict(rows: Sequence[Evaluation], finding: Finding) -> Verdict:
    """Return the verdict on rows of which none is about privacy."""
    spoofed = [i for i, row in enumerate(rows) if any(row.number(name) is not None for name in _SPOOFING)]
    if spoofed:
        return _spoofing(rows, spoofed, finding)
    paragraph = (
        f"There {'is one row' if len(rows) == 1 else f'are {len(rows)} rows'} of results below, each number with what "
        "it means. None of them says what an attacker learns about people, so nothing follows about privacy."
    )
    headline = "These results are not about privacy"
    return Verdict("described", headline, paragraph, (), finding)


def _spoofing(rows: Sequence[Evaluation], numbers: Sequence[int], finding: Finding) -> Verdict:
    """Each system in a few sentences: all attacks together, and the one that it stops least."""
    systems: dict[str, list[int]] = {}
    for i in numbers:
        systems.setdefault(rows[i].labels.get("system", ""), []).append(i)
    sentences = {}
    for name, places in systems.items():
        whole = next((i for i in places if rows[i].about.attack in (None, "all")), places[0])
        sentences[name] = whole, _sentences([rows[i] for i in places], rows[whole])
    (first, (row, text)), *rest = sentences.items()
    named = f"{first}: " if rest and first else ""
    return Verdict(
        "described",
        "How well spoofed speech is kept out",
        unbroken(f"These results are about keeping spoofed speech out, not about privacy. {named}{text}"),
        tuple(unbroken(f"{name}: {more}") for name, (_, more) in rest),
        replace(finding, strongest=row),
    )


def _sentences(rows: Sequence[Evaluation], row: Evaluation) -> str:
    attack = row.about.attack or ""
    before = f"for {'all attacks together' if attack == 'all' else f'the attack {attack!r}'}, " if attack else ""
    first, *more = (_sentence(name, value) for name, value in _values(row))
    sentences = [f"{before}{first}", *more, *_worst([other for other in rows if other.about.attack != "all"])]
    return " ".join(map(capitalise, sentences))


def _values(row: Evaluation) -> list[tuple[str, float]]:
    values = ((name, row.number(name)) for name in _SPOOFING)
    return [(name, value) for name, value in values if value is not None]


def _sentence(name: str, value: float) -> str:
    if name == "tdcf_min":
        return (
            f"wrong decisions cost at least {percent(value)} of what they cost with a useless countermeasure "
            "(min t-DCF)."
        )
    if name == "adcf_min":
        return f"wrong decisions cost at least {percent(value)} of what blind decisions cost (min a-DCF)."
    if name == "teer":
        return (
            "at the setting where countermeasure and verifier together reject their users as often as they accept "
            f"others and spoofs, this happens in {percent(value)} of the cases (t-EER)."
        )
    return f"the countermeasure alone errs in {percent(value)} of the cases between real and spoofed speech (CM EER)."


def _worst(rows: Sequence[Evaluation]) -> list[str]:
    """The attack that is stopped least, of those with a separate row."""
    measure = next((name for name in _COSTS if rows and all(row.number(name) is not None for row in rows)), None)
    attacks = [row for row in rows if row.about.attack]
    if measure is None or len(attacks) < 2:
        return []
    worst = max(attacks, key=lambda row: row.number(measure) or 0.0)
    reached = percent(worst.number(measure) or 0.0)
    title = MEASURES[measure].title
    return [f"Of {len(attacks)} attacks, {worst.about.attack} is stopped least: {title} is {reached}."]
