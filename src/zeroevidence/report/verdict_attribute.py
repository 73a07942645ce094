"""Plain words on an attribute that should be concealed: what is left of it, and what the protection costs."""

from __future__ import annotations

from collections.abc import Sequence

from zeroevidence.evaluation import Evaluation
from zeroevidence.measure.zebra import D_ECE_MAX
from zeroevidence.report.verdict_rows import (
    attribute_rows,
    beats_chance,
    bound,
    control,
    is_bound,
    number,
    p_value,
    strongest,
)
from zeroevidence.report.verdict_words import Level, Verdict, between, capital, chance_words, kept, percent


def attribute_verdict(rows: Sequence[Evaluation], tested: Sequence[int]) -> Verdict:
    """The finding on the attribute that comes first; `tested` are the numbers of all rows on attributes.

    Against each protection the strongest classifier counts; the protection that leaves least speaks, and every other
    gets a sentence.
    """
    concealed = rows[tested[0]].labels["attribute"]
    own = _strongest_by_system(rows, [i for i in tested if rows[i].labels["attribute"] == concealed])
    protections = [i for i in own.values() if not is_bound(rows[i])]
    best = min(protections or own.values(), key=lambda i: _left(rows[i]))
    row = rows[best]
    level = _level(rows, row)
    paragraph = " ".join(
        (
            _subject(rows, row, protections),
            _finding(rows, row, concealed),
            chance_words(beats_chance(row), p_value(row)),
            *_utility(rows, row),
            *_caution(rows, row),
        )
    )
    others = [_short(rows[i], concealed) for i in protections if i != best]
    others += [_kept_attribute(rows, row, name) for name in _further(rows, tested, concealed)]
    return Verdict(level, _headline(row, level, concealed), kept(paragraph), tuple(map(kept, others)), best)


def _left(row: Evaluation) -> float:
    return number(row, "d_ece") or 0.0


def _share(row: Evaluation) -> str:
    return percent(_left(row) / D_ECE_MAX)


def _strongest_by_system(rows: Sequence[Evaluation], numbers: Sequence[int]) -> dict[str, int]:
    """For each system the row of the classifier, and the class, that tells most."""
    systems: dict[str, list[int]] = {}
    for i in numbers:
        systems.setdefault(rows[i].labels.get("system", ""), []).append(i)
    return {name: own[strongest([rows[i] for i in own])] for name, own in systems.items()}


def _level(rows: Sequence[Evaluation], row: Evaluation) -> Level:
    better = beats_chance(row)
    if better is False:
        return "not-found" if control(rows, row) else "inconclusive"
    return "untested" if better is None else "leaks"


def _headline(row: Evaluation, level: Level, attribute: str) -> str:
    if level == "inconclusive":
        return f"This test cannot say whether the voices conceal {attribute}"
    if level == "not-found":
        return f"No trace of {attribute} was found, which does not prove that there is none"
    away = f"{'may ' if level == 'untested' else ''}give away {attribute}"
    if is_bound(row):
        return f"Unprotected voices {away}; no protection was measured"
    return f"Protected voices {'may still ' if level == 'untested' else 'still '}give away {attribute}"


def _subject(rows: Sequence[Evaluation], row: Evaluation, protections: Sequence[int]) -> str:
    """The protection and the strongest attacker against it."""
    attackers = {other.labels.get("attacker") for other in rows if "attribute" in other.labels}
    name = row.labels.get("attacker", "")
    who = f"the strongest of {len(attackers)} attackers" if len(attackers) > 1 else "the attacker"
    who += f" ({name})" if name else ""
    if is_bound(row):
        return f"{capital(who)}, who learned from recordings of other people,"
    system = row.labels.get("system", "the protection")
    choice = f", which leaves least of {len(protections)} protections" if len(protections) > 1 else ""
    return f"With {system}{choice}, {who}, who learned from recordings of other people protected in the same way,"


def _finding(rows: Sequence[Evaluation], row: Evaluation, attribute: str) -> str:
    one = row.labels.get("class")
    about = f"{attribute} ({one} or not)" if one else attribute
    words = (
        f"loses {_share(row)}{between(row, 'd_ece', 100.0 / D_ECE_MAX, ' %')} of the doubt about {about}, on average "
        "over all beliefs to start from"
    )
    plain = None if is_bound(row) else bound(rows, row, "unprotected")
    if plain is not None:
        words += f"; without protection it is {_share(plain)}"
    return f"{words}. Nothing lost would be perfect privacy."


def _utility(rows: Sequence[Evaluation], row: Evaluation) -> list[str]:
    """Speaker verification before and after, where it was tried."""
    errors = {
        other.labels.get("system"): error
        for other in rows
        if "attribute" not in other.labels
        and other.labels.get("dataset") == row.labels.get("dataset")
        and (error := number(other, "eer")) is not None
    }
    before, after = errors.get("none"), errors.get(row.labels.get("system"))
    if is_bound(row) or after is None:
        return []
    said = "" if before is None else f", and {percent(before)} without"
    errs = f"errs in {percent(after)} of the cases with the protection{said}"
    return [f"Telling people apart, which should go on working, {errs}."]


def _caution(rows: Sequence[Evaluation], row: Evaluation) -> list[str]:
    if is_bound(row):
        return ["This says what the attacker can do, and nothing yet about a protection."]
    if beats_chance(row) is not False:
        return ["Other attackers may learn more, so read this as the least that is given away."]
    works = control(rows, row)
    if works:
        return ["The same attack does succeed on unprotected voices; still, a stronger attacker may succeed."]
    if works is None:
        return [
            "Nobody showed that the attack succeeds without protection, and a weak attack is no evidence of privacy."
        ]
    return ["The attack does not even succeed without protection, so nothing follows from its failure."]


def _short(row: Evaluation, attribute: str) -> str:
    weak = ", no better than chance" if beats_chance(row) is False else ""
    system, name = row.labels.get("system", "unnamed"), row.labels.get("attacker", "")
    by = f" ({name})" if name else ""
    return f"{system}: its strongest attacker{by} loses {_share(row)} of the doubt about {attribute}{weak}."


def _further(rows: Sequence[Evaluation], tested: Sequence[int], concealed: str) -> list[str]:
    return [name for name in dict.fromkeys(rows[i].labels["attribute"] for i in tested) if name != concealed]


def _kept_attribute(rows: Sequence[Evaluation], row: Evaluation, attribute: str) -> str:
    """What the same protection leaves of an attribute that was not to be concealed."""
    own = _strongest_by_system(rows, [i for i in attribute_rows(rows) if rows[i].labels["attribute"] == attribute])
    system = row.labels.get("system", "")
    if system not in own:
        return f"{attribute}: see the table."
    plain = bound(rows, rows[own[system]], "unprotected")
    before = "" if plain is None or is_bound(row) else f"; without protection it is {_share(plain)}"
    return f"{attribute}, with {system}: the attacker loses {_share(rows[own[system]])} of the doubt{before}."
