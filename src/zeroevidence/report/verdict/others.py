"""The verdicts that are not about who somebody is: attributes, spoofing, comparisons of systems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from zeroevidence.evaluation import Comparison, Evaluation, Finding
from zeroevidence.measure.measures import MEASURES
from zeroevidence.report.layout import one_line, p_text, unit_sign
from zeroevidence.report.verdict import phrases
from zeroevidence.report.verdict.summary import summary
from zeroevidence.uncertainty.level import percent as level_text

_SPOOFING = {
    "tdcf_min": "wrong decisions cost at least {} of what they cost with a useless countermeasure (min t-DCF).",
    "adcf_min": "wrong decisions cost at least {} of what blind decisions cost (min a-DCF).",
    "teer": "at the setting where countermeasure and verifier together reject their users as often as they accept "
    "others and spoofs, this happens in {} of the cases (t-EER).",
    "cm_eer": "the countermeasure alone errs in {} of the cases between real and spoofed speech (CM EER).",
}
_COSTS = ("tdcf_min", "adcf_min", "cm_eer")


def attribute_verdict(finding: Finding, further: Sequence[Finding] = ()) -> phrases.Verdict:
    """Return the verdict on an attribute; `further` are findings on attributes that were not to be concealed."""
    row, rows, pooled = finding.row, finding.rows, finding.pooled
    of_class = row.about.of_class
    about = f"{finding.attribute} ({of_class} or not)" if of_class else finding.attribute
    share = f"removes {phrases.removed(row, f'the uncertainty about {about}')}"
    together = "" if pooled is None else phrases.removed(rows[pooled], "it")
    others_found = []
    if finding.level == "leaks" and finding.tested.beaten is False:
        others_found = [f"But other attackers found more than chance: {' and '.join(finding.others_beyond_chance)}."]
    sentences = [
        f"{_subject(finding)} {share}, averaged over all prior beliefs{phrases.removed_before(finding)}.",
        phrases.chance_sentence(finding),
        *phrases.allowance(finding),
        "Nothing removed would be perfect privacy.",
        *others_found,
        *([f"From all recordings of one person together, {together} is removed."] if together else []),
        *_utility(finding),
        phrases.caution_sentence(finding),
    ]
    others = [_short(finding, i) for i in finding.by_system if i != finding.strongest]
    others += [_other_attribute(row, other) for other in further]
    text = phrases.paragraph(sentences, row.setup.level)
    return phrases.Verdict(finding.level, _headline(finding), text, tuple(others), finding, summary(finding))


def _headline(finding: Finding) -> str:
    attribute, level = finding.attribute, finding.level
    if level == "too-few":
        return f"Too few people to say whether the recordings conceal {attribute}"
    if level == "inconclusive":
        return f"This test cannot say whether the recordings conceal {attribute}"
    if level == "not-found":
        return f"No trace of {attribute} was found, which does not prove that there is none"
    if finding.row.about.is_bound:
        away = "may give away" if level == "untested" else "give away"
        return f"Unprotected recordings {away} {attribute}; no protection was measured"
    return f"Protected recordings {'may still' if level == 'untested' else 'still'} give away {attribute}"


def _subject(finding: Finding) -> str:
    """The protection and the strongest attacker against it."""
    row, attempts, number = finding.row, len(finding.attempts), len(finding.by_system)
    name = row.labels.get("attacker", "")
    who = "the attacker" if attempts < 2 else f"the attacker of {attempts} {phrases.how_chosen(finding)}"
    who += f" ({name})" if name else ""
    if row.about.is_bound:
        return f"{phrases.capitalise(who)}, who learned from recordings of other people,"
    choice = f", which leaves least of {number} protections" if number > 1 else ""
    against = f"With {row.labels.get('system', 'the protection')}{choice}"
    return f"{against}, {who}, who learned from recordings of other people protected in the same way,"


def _utility(finding: Finding) -> list[str]:
    """Speaker verification before and after, where it was tried."""
    before, after = finding.verification_errors
    if finding.row.about.is_bound or after is None:
        return []
    without = "" if before is None else f", and {phrases.percent(before)} without"
    return [
        f"Speaker verification, which should still work, errs in {phrases.percent(after)} of the cases with the "
        f"protection{without}."
    ]


def _short(finding: Finding, number: int) -> str:
    labels = finding.rows[number].labels
    weak = ", on average not told apart from guessing" if finding.chance[number].beaten is False else ""
    by = f" ({labels['attacker']})" if labels.get("attacker") else ""
    doubt = f"the uncertainty about {finding.attribute}"
    removed = f"removes {phrases.removed(finding.rows[number], doubt)}{weak}"
    return f"{labels.get('system', 'unnamed')}: the attacker that counts{by} {removed}."


def _other_attribute(row: Evaluation, finding: Finding) -> str:
    """The evidence that the protection of a row leaves about an attribute that was not to be concealed."""
    system = row.labels.get("system", "")
    rows = [finding.rows[i] for i in finding.by_system]
    same = next((other for other in rows if other.labels.get("system", "") == system), None)
    if same is None:
        return f"{finding.attribute}: see the table."
    share = f"{phrases.removed(same, 'the uncertainty')}{phrases.removed_before(finding)}"
    return f"{finding.attribute}, with {system}: the attacker removes {share}."


def other_verdict(finding: Finding) -> phrases.Verdict:
    """Return the verdict on rows of which none is about privacy: spoofing, anything else."""
    systems: dict[str, list[int]] = {}
    for i, row in enumerate(finding.rows):
        if any(row.number(name) is not None for name in _SPOOFING):
            systems.setdefault(row.labels.get("system", ""), []).append(i)
    if not systems:
        count = len(finding.rows)
        text = (
            f"There {'is one row' if count == 1 else f'are {count} rows'} of results below, each number with what "
            "it means. None of them says what an attacker learns about people, so nothing follows about privacy."
        )
        return phrases.Verdict("described", "These results are not about privacy", text, (), finding)
    sentences = {}
    for name, places in systems.items():
        whole = next((i for i in places if finding.rows[i].about.attack in (None, "all")), places[0])
        sentences[name] = whole, _system_sentences([finding.rows[i] for i in places], finding.rows[whole])
    (first, (number, text)), *rest = sentences.items()
    named = f"{first}: " if rest and first else ""
    return phrases.Verdict(
        "described",
        "How well spoofed speech is kept out",
        f"These results are about keeping spoofed speech out, not about privacy. {named}{text}",
        tuple(f"{name}: {more}" for name, (_, more) in rest),
        replace(finding, strongest=number),
    )


def _system_sentences(rows: Sequence[Evaluation], row: Evaluation) -> str:
    """A system in a few sentences: a row of all attacks together, or the only one, and the attack it stops least."""
    attack = row.about.attack or ""
    before = f"for {'all attacks together' if attack == 'all' else f'the attack {attack!r}'}, " if attack else ""
    first, *more = (
        sentence.format(phrases.percent(value))
        for name, sentence in _SPOOFING.items()
        if (value := row.number(name)) is not None
    )
    sentences = [f"{before}{first}", *more, *_worst([other for other in rows if other.about.attack != "all"])]
    return " ".join(map(phrases.capitalise, sentences))


def _worst(rows: Sequence[Evaluation]) -> list[str]:
    """The attack that is stopped least, of those with a separate row."""
    measure = next((name for name in _COSTS if rows and all(row.number(name) is not None for row in rows)), None)
    attacks = [row for row in rows if row.about.attack]
    if measure is None or len(attacks) < 2:
        return []
    worst = max(attacks, key=lambda row: row.number(measure) or 0.0)
    reached = f"{MEASURES[measure].title} is {phrases.percent(worst.number(measure) or 0.0)}"
    return [f"Of {len(attacks)} attacks, {worst.about.attack} is stopped least: {reached}."]


def comparison_sentence(comparison: Comparison) -> str:
    """Which system gives away less by a measure, or that it is not told apart and what difference would be seen."""
    data = ", ".join(map(one_line, comparison.labels.values()))
    by = f"By {MEASURES[comparison.measure].title}" + (f" ({data})" if data else "")
    first, *others = (system.system for system in comparison.ranking)
    if not others:
        return f"{by}, there is nothing to compare {one_line(first)} with."
    close = [other for other in others if not comparison.tells_apart(first, other)]
    if close:
        return f"{by}, {_not_told(comparison, first, close)}."
    pairs = [comparison.pair_of(first, other) for other in others]
    largest = max(pair.p_holm for pair in pairs if pair is not None)
    chance = f"{p_text(largest)}{correction(comparison)}"
    return f"{by}, {_told(comparison, first, others)}, more than chance explains ({chance})."


def correction(comparison: Comparison) -> str:
    """What p-values are corrected for, to be read after a comma; nothing where a single difference is tested."""
    if comparison.tests < 2:
        return ""
    family = "of systems" if comparison.together is None else "in all measures"
    return f", corrected for {comparison.tests} pairs {family}"


def _told(comparison: Comparison, first: str, others: Sequence[str]) -> str:
    """Who gives away less than whom, and of two systems by how much."""
    if len(others) > 1:
        return f"{one_line(first)} {_least(comparison)} of {len(comparison.ranking)} systems"
    less = "gives away less" if MEASURES[comparison.measure].discloses != "none" else "is lower"
    size = _amount(comparison, comparison.pairs[0].difference.value)
    return f"{one_line(first)} {less} than {one_line(others[0])} by {size}"


def _least(comparison: Comparison) -> str:
    return "gives away least" if MEASURES[comparison.measure].discloses != "none" else "is the lowest"


def _not_told(comparison: Comparison, first: str, close: Sequence[str]) -> str:
    """Whom the first system is not told apart from, and which difference would be seen."""
    names = " and ".join(part for part in (", ".join(map(one_line, close[:-1])), one_line(close[-1])) if part)
    if len(comparison.ranking) == 2:
        claim = f"{one_line(first)} and {names} are not told apart"
    else:
        least = f"{_least(comparison)} of {len(comparison.ranking)} systems"
        claim = f"{one_line(first)} {least}, but is not told apart from {names}"
    pairs = [comparison.pair_of(first, other) for other in close]
    sizes = [size for pair in pairs if pair is not None and (size := pair.difference.detectable) is not None]
    if not sizes:
        return claim
    seen = f"a difference of {_amount(comparison, max(sizes))} would be seen in {level_text(comparison.power)}"
    return f"{claim}; with these people {seen} of such comparisons"


def _amount(comparison: Comparison, difference: float) -> str:
    """A difference without its sign, in the unit of the measure."""
    unit = MEASURES[comparison.measure].unit
    if unit == "rate":
        return f"{100 * abs(difference):.3g} percentage points"
    return f"{abs(difference):.3g} {unit_sign(unit)}".rstrip()


def comparison_verdict(comparisons: Sequence[Comparison]) -> phrases.Verdict:
    """Which system discloses least, and whether the trials tell it from the others."""
    sentences = [comparison_sentence(comparison) for comparison in comparisons]
    least = list(dict.fromkeys(comparison.ranking[0].system for comparison in comparisons))
    systems = list(dict.fromkeys(system.system for comparison in comparisons for system in comparison.ranking))
    of_two, other = len(systems) == 2, systems[-1]
    if len(least) > 1:
        headline = f"The measures disagree on which discloses {'less' if of_two else 'least'}"
    elif separated := [comparison for comparison in comparisons if comparison.is_first_told_apart]:
        headline = f"{least[0]} discloses {f'less than {other}' if of_two else 'least'}"
        if len(separated) < len(comparisons):
            measures = list(dict.fromkeys(MEASURES[comparison.measure].title for comparison in separated))
            headline += f", though it is told apart only by {' and '.join(measures)}"
    else:
        headline = "Neither system is shown to disclose less" if of_two else "No system is shown to disclose least"
    sentences.append(
        "A system that discloses less than others need not protect well; each system's results say whether it does."
    )
    return phrases.Verdict("described", headline, phrases.unbroken(" ".join(sentences)))
