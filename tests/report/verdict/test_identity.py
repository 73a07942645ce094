"""Verdicts about people, also single ones, rooms and protocols: each sentence on either side of its condition."""

from dataclasses import replace

import numpy as np
import pytest

import zeroevidence as ze
from tests.report.conftest import OPTIONS, named_search
from tests.report.verdict.made import (
    AGAINST,
    check_own_rows,
    check_sides,
    control,
    developed,
    headline,
    listed_people,
    pairs_row,
    paragraph,
    search_row,
    short,
    text,
)
from zeroevidence.evaluation import MeasureResult, findings
from zeroevidence.evaluation.finding.facts import NamedPeople
from zeroevidence.evaluation.rows.about import Protocol, TrainingEffort
from zeroevidence.evaluation.rows.curves import Recordings
from zeroevidence.report.numbers import describe_methods
from zeroevidence.report.verdict import verdict
from zeroevidence.report.verdict.identity import exposed_share, most_exposed, named_for_everybody
from zeroevidence.report.verdict.summary import named_people
from zeroevidence.uncertainty.null import Null

ROOM = "Whether it is the voice or the room and the microphone that gives people away was not tested."
NAMED = listed_people([1.0] * 20, named=(True,) * 20)
LEAK = search_row(about=AGAINST.lazy)
SILENT = search_row(0.1, 0.0, "at-chance", about=AGAINST.lazy)
LEVELS = {
    "recognised": {"top1": 0.9, "alid": 3.0},
    "leaks": {},
    "untested": {"chance": "untested"},
    "too-few": {"chance": "at-chance", "speakers": 5},
    "inconclusive": {"top1": 0.1, "alid": 0.0, "chance": "at-chance"},
}
HEADLINES = {
    None: ("are recognised", "give something away", "may give something away; chance", "Too few", "cannot say"),
    "lazy": ("still recognised", "still give something away", "may still give something", "Too few", "cannot say"),
    "control": (
        "Unprotected recordings are recognised; no protection",
        "give something away; no protection",
        "and no protection was measured",
        "Too few",
        "cannot say",
    ),
    "floor": (
        "Noise is recognised, so the test",
        "the test itself is at fault",
        "Noise seems",
        "Too few",
        "cannot say",
    ),
}


@pytest.mark.parametrize("kind", HEADLINES)
def test_every_level_has_its_headline(kind):
    about = None if kind is None else getattr(AGAINST, kind)
    for (level, settings), words in zip(LEVELS.items(), HEADLINES[kind], strict=True):
        found = verdict([search_row(about=about, **settings)])
        assert found.level == level
        assert words in found.headline


PLAIN_PAIRS = pairs_row(0.7, 0.01, about=AGAINST.control, system="unprotected")
PROTECTED_PAIRS = pairs_row(about=AGAINST.lazy)


UNLIMITED = pairs_row(limits=({}, {}))


def others(*rows):
    return " ".join(verdict(rows).others).replace("\u00a0", " ")


def held(row, numbers, top1, **limits):
    filled = (0.5,) * len(numbers)
    return replace(row, recordings=Recordings(numbers, (20,) * len(numbers), filled, top1, *[filled] * 3, **limits))


@pytest.mark.parametrize(
    ("part", "sentence", "said", "unsaid"),
    [
        (headline, "No leak was found", [[control(), SILENT]], [[control("at-chance"), SILENT], [SILENT]]),
        (
            text,
            ROOM,
            [[search_row(0.9, 3.0)], [search_row()], [search_row(chance="at-chance", people=NAMED)]],
            [[search_row(chance="at-chance")], [search_row(chance="untested")]],
        ),
        (text, "the attacker errs in 30 % of the cases", [[pairs_row()]], [[pairs_row(eer=None)]]),
        (
            short,
            "removes 13.9 % (95 % interval 6.93 % to 14 %) of the doubt whether two recordings are of one person.",
            [[pairs_row()]],
            [[UNLIMITED], [search_row()]],
        ),
        (
            short,
            "a share of the doubt whether two recordings are of one person that is not given",
            [[UNLIMITED]],
            [[pairs_row()]],
        ),
        (
            others,
            "a share of the doubt that is not given",
            [[search_row(0.9, 3.0, system="t"), UNLIMITED]],
            [[search_row(0.9, 3.0, system="t"), pairs_row()]],
        ),
        (text, "How well one person is found among many was not measured.", [[pairs_row()]], [[search_row()]]),
        (
            text,
            "; without protection it is 97 %.",
            [[PLAIN_PAIRS, PROTECTED_PAIRS]],
            [[PROTECTED_PAIRS], [replace(UNLIMITED, about=AGAINST.control), PROTECTED_PAIRS]],
        ),
        (
            text,
            "From 3 recordings of the same person together, the right name follows in 60 % of cases; guessing does so",
            [[held(search_row(), (1, 3), (0.3, 0.6))]],
            [[held(search_row(chance="at-chance"), (1, 3), (0.3, 0.6))], [held(search_row(), (1,), (0.3,))]],
        ),
        (
            text,
            "follows in 60 % of cases (95 % confidence: 50 % to 70 %); guessing does so in 5 %.",
            [[held(search_row(), (1, 3), (0.3, 0.6), top1_low=(0.2, 0.5), top1_high=(0.4, 0.7))]],
            [[held(search_row(), (1, 3), (0.3, 0.6))]],
        ),
        (text, "no test on unprotected speech", [[LEAK]], [[control(), LEAK], [SILENT]]),
        (text, "nothing yet about a protection", [[control()]], [[control(), LEAK]]),
    ],
)
def test_both_sides(part, sentence, said, unsaid):
    check_sides(part, sentence, said, unsaid)


BITS = "Of the 4.32 bits that single out one of 20 people, a recording gives away"
BETWEEN = search_row(limits=({}, {"low": 0.2, "high": 0.8}))


def test_bits_on_average():
    check_sides(text, f"{BITS} 0.50 (95 % interval 0.20 to 0.80) on average.", [[BETWEEN]], [[search_row()]])
    silent = [search_row(alid=bits) for bits in (0.004, -0.03, -np.inf)]  # beside a leak nothing is said to mislead
    check_sides(text, BITS, [[search_row()], [BETWEEN]], [[SILENT], [pairs_row()], *([row] for row in silent)])
    for row in silent:
        assert "mislead" not in text(row)


BY_BITS = search_row().with_metrics({"top1": replace(search_row()["top1"], p_value=0.06)})
BELOW = search_row(0.04).with_metrics({"d_ece": pairs_row()["d_ece"], "alid": MeasureResult(-0.1, "bit")})


@pytest.mark.parametrize(
    ("sentence", "said", "unsaid"),
    [
        ("so many right names (p = 0.002,", [[search_row()]], [[BY_BITS], [BELOW]]),
        ("learns, on average, 11.6 % of what singles out one of 20 people.", [[BY_BITS]], [[search_row()], [BELOW]]),
        ("so much knowledge (p = 0.002,", [[BY_BITS]], [[search_row()], [BELOW]]),
        ("removes 13.9 %", [[BELOW]], [[search_row()], [BY_BITS]]),
        ("so little doubt (p = 0.002,", [[BELOW]], [[search_row()], [BY_BITS]]),
        ("right name to 30 % of the recordings; guessing does so for 5 %", [[search_row()]], [[BY_BITS], [BELOW]]),
    ],
)
def test_the_verdict_quotes_the_measure_that_is_more_than_chance_with_its_p_value(sentence, said, unsaid):
    for part in (text, short):
        check_sides(part, sentence, said, unsaid)


@pytest.mark.parametrize(("most", "guess"), [(5, "5 %"), (11, "11 %")])
def test_guessing_names_the_commonest_speaker(most, guess):
    row = search_row(0.1)
    row = replace(row, counts={**row.counts, "most_trials": most})
    better = most == 5  # 10 % of the recordings are more than a guess at 5 %, and not at 11 %
    assert (f"guessing does so for {guess}." in short(row)) == better
    assert findings([row])[0].tested.measures == (("alid", "top1") if better else ("alid",))


def test_rooms_are_not_called_voices():
    found = verdict([search_row(0.9, 3.0)])
    assert found.level == "recognised"
    said = " ".join((found.headline, found.paragraph, *found.summary))
    assert "recordings" in found.headline
    assert ROOM in said
    assert "voice" not in said.replace(ROOM, "")


def test_two_systems_are_not_attempts_on_one():
    first = search_row(0.3, 0.5, about=AGAINST.ignorant, system="oa")
    second = search_row(0.6, 2.0, about=AGAINST.lazy, system="aa")
    again = search_row(0.5, 1.9, about=AGAINST.ignorant, system="aa")
    check_sides(text, "Of 2 results, aa gives most away", [[first, second], [first, second, again]], [[second, again]])
    check_sides(text, "2 attempts, the one", [[first, second, again], [second, again]], [[first, second]])
    for rows in ([first, second], [first, second, again]):
        assert [sentence.split(":")[0] for sentence in verdict(rows).others] == ["oa"]


def test_systems_without_letters_in_their_names_get_a_noun():
    rows = [search_row(top, bits, about=AGAINST.lazy, system="1") for top, bits in ((0.9, 3.0), (0.8, 2.9))]
    found = verdict([*rows, search_row(0.3, 0.5, about=AGAINST.lazy, system="2")])
    assert "protected with system 1" in found.assessment
    assert "system 1 gives most away" in found.paragraph
    assert found.others[0].startswith("system 2: ")
    assert "system v2" not in paragraph(search_row(about=AGAINST.lazy, system="v2"), search_row(system="v2"))


@pytest.mark.parametrize(
    ("sentence", "said", "unsaid"),
    [
        ("on average not told apart from guessing", search_row(chance="at-chance"), search_row()),
        ("20 of 20 people are named", search_row(people=NAMED), search_row()),
        ("removes 27.7 % (95 % interval 13.9 % to 28 %) of the doubt", pairs_row(0.2), search_row()),
        ("for 30 % of the recordings.", search_row(), pairs_row()),
    ],
)
def test_other_systems_have_a_sentence_each(sentence, said, unsaid):
    best, (said, unsaid) = (
        search_row(0.9, 3.0, system="best"),
        (replace(row, labels={"system": "other"}) for row in (said, unsaid)),
    )
    check_sides(others, sentence, [[best, said]], [[best, unsaid]])


TWO_NAMED = listed_people([1.0] * 2 + [0.0] * 18, named=(True,) * 2 + (False,) * 18)
ONE = replace(TWO_NAMED, named=(True,) + (False,) * 19)
NOBODY = listed_people([0.0] * 20, named=(False,) * 20)
ROW = search_row(people=TWO_NAMED)
SOME = listed_people([0.2, 0.6], named=(False, False), falsely=(0.0, 0.1))


def rare_exposure(exposed, *, people=30):
    """A search in which some people stand out in all of their recordings, and the others in none."""
    shifts, how = 12.0 * (np.arange(people) < exposed), {"about": AGAINST.lazy, "options": OPTIONS}
    return named_search(shifts, 5, seed=exposed, people=people, labels={"system": "s"}, **how)


@pytest.mark.parametrize("exposed", [0, 1, 3])
def test_people_who_are_always_named_are_counted_whatever_the_average_says(exposed):
    row = rare_exposure(exposed)
    counted = f"{exposed or 'None'} of 30 people {'are' if exposed > 1 else 'is'} named in at least 80 %"
    assert (counted in short(row)) == bool(exposed)
    assert counted in text(row)
    assert ("Those who are named: " in text(row)) == bool(exposed)
    assert all((f"p{i:03d}" in text(row)) == (i < exposed) for i in range(30)) or not exposed


@pytest.mark.parametrize("plain", [[control()], []])
def test_the_headline_counts_the_named_where_nothing_leaks_on_average(plain):
    named, one, nobody = (
        [*plain, search_row(chance="at-chance", people=people)] for people in (TWO_NAMED, ONE, NOBODY)
    )
    check_sides(headline, "2 people are named", [named], [one, nobody, [*plain, search_row(people=TWO_NAMED)]])
    check_sides(headline, "1 person is named", [one], [named])
    check_sides(short, "recordings of those who are named", [named], [nobody])


def share_of(row):
    return named_people(NamedPeople.of(row))


def changed(**fields):
    return [ROW.with_metrics({"people_named": replace(ROW["people_named"], **fields)})]


@pytest.mark.parametrize(
    ("sentence", "said", "unsaid"),
    [
        ("whether single people are named in nearly all of their recordings was not counted", [search_row()], [ROW]),
        (
            "nobody has two recordings",
            [search_row(people=listed_people([1.0, 0.0], named=(False, False), trials=1))],
            [ROW],
        ),
        ("2 of 3 people are named", [search_row(people=listed_people([1.0, 0.9, 0.1]))], [ROW]),
        ("whether their names come up for everybody", [search_row(people=listed_people([1.0, 0.9, 0.1]))], [ROW]),
        ("nobody is named in at least", [search_row(people=listed_people([0.1, 0.1]))], [ROW]),
        ("at most 90 % of people like these); guessing would", [ROW, *changed(value=0.5)], changed(bound=1.0)),
        ("at least 2 % of people like these); guessing", [*changed(bound=1.0), *changed(value=0.55)], [ROW]),
        ("names exchanged at random it would be 2 %", changed(null=Null(0.02, 0.1)), [ROW]),
        ("confidence", [ROW], changed(low=None, bound=None)),
        ("10 % of people are named", [replace(ROW, counts={**ROW.counts, "speakers": 2000})], [ROW]),
        (
            "of their recordings, in 4 recordings each, and seldom",
            [search_row(people=replace(TWO_NAMED, trials=(4,) * 20))],
            [ROW, search_row(people=replace(TWO_NAMED, trials=(4,) * 19 + (5,)))],
        ),
        (
            "of their recordings, in 2 to 9 recordings each, and seldom",
            [search_row(people=replace(TWO_NAMED, trials=(1, 2, *(5,) * 17, 9)))],
            [search_row(people=replace(TWO_NAMED, trials=(5,) * 19 + (9,)))],
        ),
        (
            "none of 19 people with two recordings or more is",
            [search_row(people=replace(NOBODY, trials=(1,) + (5,) * 19))],
            [search_row(people=NOBODY)],
        ),
    ],
)
def test_how_many_people_are_named(sentence, said, unsaid):
    check_sides(lambda row: share_of(row).lower(), sentence, [[row] for row in said], [[row] for row in unsaid])


@pytest.mark.parametrize(("adjusted", "chance"), [(0.05, False), (0.051, True)])
def test_people_whom_chance_may_name_are_counted_and_not_called_named(adjusted, chance):
    """The p-value counts that is adjusted for the other measures of the table, here by Holm's rule."""
    row = search_row(chance="at-chance", people=TWO_NAMED, about=AGAINST.lazy)
    others = sum(result.null is not None for name, result in row.metrics.items() if name != "people_named")
    exchanged = MeasureResult(0.1, "rate", null=Null(0.02, 0.1), p_value=adjusted / (others + 1))
    row = row.with_metrics({"people_named": exchanged})
    assert ("so this may be chance (p = 0.051, 999 permutations)" in text(row)) == chance
    assert "2 of 20 people are named" in short(row)
    assert ("others; this may be chance (p = 0.051, 999 permutations)" in short(row)) == chance
    assert ("2 people are named" in headline(row)) != chance
    assert ("Leave out the recordings of the 2 people who are named." in short(row)) != chance
    assert ("Those who are named: p00, p01." in text(row)) != chance
    assert "may be chance" not in text(replace(row, people=NOBODY))


def test_limits_on_exposed_people(search):
    row = search(1.0, seed=2, system="s")

    def exposed(row):
        return " ".join(exposed_share(findings([row])[0]))

    missed, shown = (
        replace(row, people=replace(row.people, named=(True,) * 20, alid=(bits,) * 20)) for bits in (0.1, 1.1)
    )
    few = search(1.0, seed=2, people=9, system="s")
    named = missed.with_metrics({"people_named": MeasureResult(1.0, "rate", p_value=0.001)})
    check_sides(exposed, "more than one bit", [[row], [shown], [missed]], [[named], [few], [search_row()]])


@pytest.mark.parametrize("chance", ["at-chance", "beaten"])
def test_bits_that_hide_who_is_named_give_way_to_ranks(chance):
    """A calibration on other people, of whom nothing leaks, takes no notice of the one who stands out."""
    hidden, shown, two = (
        search_row(people=people, chance=chance) for people in (ONE, replace(ONE, alid=(1.1,) * 20), TWO_NAMED)
    )
    tested = replace(hidden["people_named"], null=Null(0.02, 0.1), p_value=0.2)
    by_chance = hidden.with_metrics({"people_named": tested})
    others = [[shown], [by_chance], [search_row(people=NOBODY, chance=chance)]]
    check_sides(text, "This person comes first in 5 of 5 recordings, among 20 people", [[hidden]], [[two], *others])
    check_sides(text, "One of them comes first in 5 of 5 recordings", [[two]], [[hidden], *others])
    check_sides(text, "a recording gives away", others if chance == "beaten" else [], [[hidden], [two]])


def exposed_text(people, chance="beaten"):
    row = search_row(people=people, chance=chance)
    return " ".join(most_exposed(findings([row])[0]))


def test_who_is_named():
    check_own_rows(
        exposed_text,
        {
            "Those who are named: p00, p01.": [TWO_NAMED],
            "p04 and 2 more.": [listed_people([1.0] * 7, named=(True,) * 7)],
            "Those who are named, of people with 5 recordings or more: p01.": [
                replace(TWO_NAMED, trials=(4,) + (5,) * 19)
            ],
        },
    )
    assert exposed_text(replace(TWO_NAMED, trials=(4,) * 20)) == ""  # so few recordings accuse nobody
    assert exposed_text(TWO_NAMED, "at-chance") == exposed_text(TWO_NAMED)
    assert exposed_text(NOBODY) == exposed_text(SOME) == ""  # nobody is called the most exposed


@pytest.mark.parametrize(
    ("falsely", "words"),
    [
        ((0.05, 0.14), ()),
        (None, ()),
        ((0.05, 0.2), ("The name of p01 comes up for everybody", "20 %", "says less than it seems to")),
        ((0.2, 0.05), ("none of the person's own",)),
        ((0.3, 0.2), ("The names of 2 people", "most often that of p00", "30 %")),
    ],
)
def test_names_that_come_up_for_everybody(falsely, words):
    people = listed_people([0.0 if falsely == (0.2, 0.05) else 0.5, 0.5], falsely=falsely)
    sentences = named_for_everybody(findings([search_row(people=people)])[0])
    assert bool(sentences) == bool(words)
    assert all(word in sentences[0] for word in words)


def test_how_people_were_used_is_said_where_it_is_known():
    row = search_row(about=AGAINST.lazy, speakers=14)
    spent = TrainingEffort(12, development_people=10)
    split, folded, uncounted, unknown = (
        [replace(row, about=replace(row.about, spent=effort))]
        for effort in (spent, replace(spent, folds=3), TrainingEffort(12), None)
    )
    used = "Of 36 people, 14 were evaluated: the attackers learned from 12 others and chose their settings on 10 more"
    check_sides(text, used, [split], [folded, uncounted, unknown])
    check_sides(text, "all 36 can be evaluated in turn", [split], [folded, uncounted, unknown])
    check_sides(
        text,
        "All 14 people were evaluated, each by attackers who learned from other people only (3 folds).",
        [folded],
        [split, uncounted, unknown],
    )


NOT_FOUND = "without any voice, are not told apart from guessing"
WITHOUT_VOICE = "Without any voice, pauses and channel put the right name to 24 % of the"
ALONE = "so this is about recordings, and not about voices alone."


def attack(top1=0.9, alid=3.0, chance="beaten"):
    return search_row(top1, alid, chance, about=AGAINST.informed, system="s")


def room(alid, chance, *, original=False, system="s", **labels):
    about = replace(AGAINST.control if original else AGAINST.informed, role="room")
    return search_row(0.24, alid, chance, about=about, system="unprotected" if original else system, **labels)


FAILED = attack(0.1, 0.0, "at-chance")
BEFORE, AFTER = room(2.6, "beaten", original=True), room(1.5, "beaten")
NOTHING = [room(0.0, "at-chance", original=True), room(0.0, "at-chance")]
HIDDEN = [attack(), BEFORE, NOTHING[1]]
UNTESTED = room(2.6, "untested")
UNPROTECTED = search_row(0.9, 3.0, about=AGAINST.control, system="unprotected")


@pytest.mark.parametrize(
    ("part", "sentence", "said", "unsaid"),
    [
        (
            text,
            f"{WITHOUT_VOICE} protected recordings (guessing 5 %; p = 0.004, 999 permutations)",
            [[attack(), BEFORE, AFTER], [FAILED, BEFORE, AFTER]],
            [HIDDEN],
        ),
        (
            text,
            f"{WITHOUT_VOICE} unprotected recordings (guess",
            [HIDDEN, [UNPROTECTED, BEFORE]],
            [[attack(), BEFORE, AFTER], [UNPROTECTED, NOTHING[0]]],
        ),
        (text, "after protection they are not told apart from guessing.", [HIDDEN], [[attack(), BEFORE, UNTESTED]]),
        (text, ALONE, [[attack(), BEFORE, AFTER], [UNPROTECTED, BEFORE]], [HIDDEN, [attack(), BEFORE, UNTESTED]]),
        (text, NOT_FOUND, [[attack(), *NOTHING]], [[FAILED, *NOTHING], [attack(), BEFORE, AFTER]]),
        (
            text,
            ROOM,
            [
                [attack()],
                [attack(), room(2.0, "untested", original=True), UNTESTED],
                [attack(), room(2.0, "beaten", system="other")],
                [attack(), room(2.0, "beaten", dataset="others")],
            ],
            [[attack(), BEFORE, AFTER], [attack(), *NOTHING]],
        ),
    ],
)
def test_what_is_given_away_without_a_voice(part, sentence, said, unsaid):
    check_sides(part, sentence, said, unsaid)


def test_the_control_is_no_attack():
    found = ze.evaluation.findings([attack(0.3, 0.5), room(4.0, "beaten", original=True), room(4.0, "beaten")])[0]
    assert (found.strongest, found.attempts, found.control) == (0, (0,), None)


def under(protocol, development, *, top1=0.3, alid=0.5, system="s"):
    role = "attack" if protocol == Protocol(4) else "protocol"
    about = replace(AGAINST.informed, role=role, protocol=protocol)
    return developed(search_row(top1, alid, about=about, system=system), development)


ATTACK = under(Protocol(4), 1.5)
BETTER = under(Protocol(4, tried=3, sex="told"), 2.5, top1=0.6, alid=2.0)
WORSE, ELSEWHERE = under(Protocol(2), 1.5), replace(BETTER, labels={"system": "other"})


def test_what_other_protocols_promised():
    promised = "3 of one person tried together, people of the same sex searched for, the sex being told), which is not"
    check_sides(text, promised, [[ATTACK, BETTER, WORSE]], [[ATTACK, WORSE], [ATTACK], [ATTACK, ELSEWHERE]])
    check_sides(text, "to 60 % of 100 trials, and a trial gives away 2.00 bits.", [[ATTACK, BETTER]], [[ATTACK]])
    check_sides(text, "No other protocol that was tried", [[ATTACK, WORSE]], [[ATTACK, BETTER, WORSE], [ATTACK]])


def test_the_method_is_described_where_it_was_used():
    described = [any(part.startswith("Protocols: ") for part in describe_methods(rows, ["alid"]))
                 for rows in ([ATTACK, BETTER], [ATTACK])]  # fmt: skip
    assert described == [True, False]


def test_the_main_number_does_not_change():
    alone, beside = findings([ATTACK])[0], findings([ATTACK, BETTER])[0]
    assert (alone.strongest, alone.attempts) == (beside.strongest, beside.attempts) == (0, (0,))
    assert alone.chance[0] == beside.chance[0]
