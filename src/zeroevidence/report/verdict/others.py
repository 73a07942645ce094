"""The verdicts that are not about who somebody is: attributes, and spoofing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from zeroevidence.data.threat import UNPROTECTED
from zeroevidence.evaluation import Evaluation, Finding
from zeroevidence.measure.measures import MEASURES
from zeroevidence.measure.pairs.zebra import D_ECE_MAX
from zeroevidence.report.verdict.phrases import (
    Statement,
    Verdict,
    capitalise,
    caution_sentence,
    chance_sentence,
    chosen_attacker,
    limited_value,
    paragraph,
    percent,
    removed_share,
    unbroken,
    vacuous_limit,
)
from zeroevidence.report.verdict.summary import summary


def attribute_verdict(rows: Sequence[Evaluation], finding: Finding, further: Sequence[Finding] = ()) -> Verdict:
    """Return the verdict on an attribute; `further` are findings on attributes that were not to be concealed."""
    row = rows[finding.strongest]
    removed = _removed(rows, finding)
    text = paragraph(
        [
            Statement(f"{_subject(rows, finding)} {removed.text}", removed.limits),
            chance_sentence(row, finding.chance[finding.strongest]),
            *_other_attackers(rows, finding),
            *_together(rows, finding),
            *_utility(rows, row),
            _caution(rows, finding),
        ],
        row.setup.level,
    )
    others = [_short(rows[i], finding, i) for i in finding.by_system if i != finding.strongest]
    others += [_other_attribute(rows, row, other) for other in further]
    short = summary(rows, finding)
    return Verdict(finding.level, _headline(row, finding), text, tuple(map(unbroken, others)), finding, short)


def _share(row: Evaluation) -> str:
    return percent((row.number("d_ece") or 0.0) / D_ECE_MAX)


def _headline(row: Evaluation, finding: Finding) -> str:
    attribute, level = finding.attribute, finding.level
    if level == "too-few":
        return f"Too few people to say whether the recordings conceal {attribute}"
    if level == "inconclusive":
        return f"This test cannot say whether the recordings conceal {attribute}"
    if level == "not-found":
        return f"No trace of {attribute} was found, which does not prove that there is none"
    if row.about.is_bound:
        away = "may give away" if level == "untested" else "give away"
        return f"Unprotected recordings {away} {attribute}; no protection was measured"
    return f"Protected recordings {'may still' if level == 'untested' else 'still'} give away {attribute}"


def _subject(rows: Sequence[Evaluation], finding: Finding) -> str:
    """The protection and the strongest attacker against it."""
    row = rows[finding.strongest]
    name = row.labels.get("attacker", "")
    who = chosen_attacker(finding) + (f" ({name})" if name else "")
    if row.about.is_bound:
        return f"{capitalise(who)}, who learned from recordings of other people,"
    system = row.labels.get("system", "the protection")
    number = len(finding.by_system)
    choice = f", which leaves least of {number} protections" if number > 1 else ""
    return f"With {system}{choice}, {who}, who learned from recordings of other people protected in the same way,"


def _removed(rows: Sequence[Evaluation], finding: Finding) -> Statement:
    row = rows[finding.strongest]
    of_class = row.about.of_class
    about = f"{finding.attribute} ({of_class} or not)" if of_class else finding.attribute
    before = "" if finding.control is None else f"; without protection it is {_share(rows[finding.control])}"
    limited = limited_value(rows, finding, "d_ece", D_ECE_MAX)
    share = removed_share(limited)
    removed = f"removes {share.text} of the uncertainty about {about}, averaged over all prior beliefs"
    sentences = [f"{removed}{before}.", *vacuous_limit(limited), "Nothing removed would be perfect privacy."]
    return Statement(" ".join(sentences), share.limits)


def _other_attackers(rows: Sequence[Evaluation], finding: Finding) -> list[str]:
    """The attackers that do better than chance where the chosen one does not."""
    row = rows[finding.strongest]
    if finding.level != "leaks" or finding.chance[finding.strongest].beaten is not False:
        return []
    names = dict.fromkeys(
        other.labels.get("attacker", "")
        for other, chance in zip(rows, finding.chance, strict=True)
        if chance.beaten
        and other.about.role == row.about.role  # not on the people that it was trained on
        and other.about.attribute == finding.attribute
        and other.labels.get("system") == row.labels.get("system")
    )
    return [f"But other attackers found more than chance: {' and '.join(names)}."]


def _together(rows: Sequence[Evaluation], finding: Finding) -> list[str]:
    """The sentence on all recordings of one person together."""
    if finding.pooled is None:
        return []
    return [f"From all recordings of one person together it is {_share(rows[finding.pooled])}."]


def _utility(rows: Sequence[Evaluation], row: Evaluation) -> list[str]:
    """Speaker verification before and after, where it was tried."""
    errors = {
        other.labels.get("system"): error
        for other in rows
        if other.about.role == "utility"
        and other.labels.get("dataset") == row.labels.get("dataset")
        and (error := other.number("eer")) is not None
    }
    before, after = errors.get(UNPROTECTED), errors.get(row.labels.get("system"))
    if row.about.is_bound or after is None:
        return []
    without = "" if before is None else f", and {percent(before)} without"
    return [
        f"Speaker verification, which should still work, errs in {percent(after)} of the cases with the "
        f"protection{without}."
    ]


def _caution(rows: Sequence[Evaluation], finding: Finding) -> str:
    if rows[finding.strongest].about.is_bound:
        return "This says what the attacker can do, and nothing yet about a protection."
    return caution_sentence(rows, finding)


def _short(row: Evaluation, finding: Finding, number: int) -> str:
    weak = ", on average not told apart from guessing" if finding.chance[number].beaten is False else ""
    system, name = row.labels.get("system", "unnamed"), row.labels.get("attacker", "")
    by = f" ({name})" if name else ""
    removed = f"removes {_share(row)} of the uncertainty about {finding.attribute}"
    return f"{system}: the attacker that counts{by} {removed}{weak}."


def _other_attribute(rows: Sequence[Evaluation], row: Evaluation, finding: Finding) -> str:
    """The evidence that the same protection leaves about an attribute that was not to be concealed."""
    system = row.labels.get("system", "")
    same = next((rows[i] for i in finding.by_system if rows[i].labels.get("system", "") == system), None)
    if same is None:
        return f"{finding.attribute}: see the table."
    before = "" if finding.control is None else f"; without protection it is {_share(rows[finding.control])}"
    return f"{finding.attribute}, with {system}: the attacker removes {_share(same)} of the uncertainty{before}."


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
