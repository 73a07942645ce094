"""Verdicts about people: each headline and sentence on either side of its condition."""

from dataclasses import replace

import numpy as np
import pytest

from tests.report.verdict.made import (
    AGAINST,
    check_own_rows,
    check_sides,
    control,
    headline,
    listed_people,
    pairs_row,
    search_row,
    short,
    text,
)
from zeroevidence.evaluation import MeasureResult
from zeroevidence.evaluation.rows.curves import Recordings
from zeroevidence.report.verdict import verdict

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


WORST = pairs_row().with_metrics({"worst_case": MeasureResult(2.0, "log10")})
SUPPORTED = WORST.with_metrics({"worst_case_supported": MeasureResult(1.0, "log10")})
PLAIN_PAIRS = pairs_row(0.7, 0.01, about=AGAINST.control, system="unprotected")
PROTECTED_PAIRS = pairs_row(about=AGAINST.lazy)


def held(row, numbers, top1):
    filled = (0.5,) * len(numbers)
    return replace(row, recordings=Recordings(numbers, (20,) * len(numbers), filled, filled, top1, *[filled] * 3))


@pytest.mark.parametrize(
    ("part", "sentence", "said", "unsaid"),
    [
        (headline, "No leak was found", [[control(), SILENT]], [[control("at-chance"), SILENT], [SILENT]]),
        (
            short,
            "Look for the fault in the test",
            [[search_row(0.9, 3.0, about=AGAINST.floor)]],
            [[search_row(0.1, 0.0, "at-chance", about=AGAINST.floor)], [search_row(0.9, 3.0, about=AGAINST.control)]],
        ),
        (
            text,
            ROOM,
            [[search_row(0.9, 3.0)], [search_row()], [search_row(chance="at-chance", people=NAMED)]],
            [[search_row(chance="at-chance")], [search_row(chance="untested")]],
        ),
        (text, "the attacker errs in 30 % of the cases", [[pairs_row()]], [[pairs_row(eer=None)]]),
        (short, "This removes 13.9 % of the doubt.", [[pairs_row(eer=None)]], [[pairs_row()]]),
        (text, "How well one person is found among many was not measured.", [[pairs_row()]], [[search_row()]]),
        (text, "changes the odds by a factor of 100 (", [[WORST]], [[pairs_row()]]),
        (text, "; so many comparisons support up to 10.", [[SUPPORTED]], [[WORST]]),
        (text, "; without protection it is 97 %.", [[PLAIN_PAIRS, PROTECTED_PAIRS]], [[PROTECTED_PAIRS]]),
        (short, "without protection it is in 1 %.", [[PLAIN_PAIRS, PROTECTED_PAIRS]], [[PROTECTED_PAIRS]]),
        (
            text,
            "From 3 recordings of the same person together, the right name follows in 60 %",
            [[held(search_row(), (1, 3), (0.3, 0.6))]],
            [[held(search_row(chance="at-chance"), (1, 3), (0.3, 0.6))], [held(search_row(), (1,), (0.3,))]],
        ),
        (text, "no test on unprotected speech", [[LEAK]], [[control(), LEAK], [SILENT]]),
        (text, "nothing yet about a protection", [[control()]], [[control(), LEAK]]),
        (
            text,
            "by a factor of more than 10^15",
            [[pairs_row().with_metrics({"worst_case": MeasureResult(1e20, "")})]],
            [[WORST]],
        ),
        (text, "more than 10^15 times as likely", [[search_row(alid=1e20)]], [[search_row()]]),
    ],
)
def test_both_sides(part, sentence, said, unsaid):
    check_sides(part, sentence, said, unsaid)


def test_bits_on_average():
    check_own_rows(
        text,
        {
            "gives away 0.50 bits of the 4.32 that single out one of 20: it makes the": [search_row()],
            "gives away at most 1.00 bits (95 % confidence; 0.50": [search_row(limits=({}, {"bound": 1.0}))],
            "gives away 0.00 bits of the 4.32 that single out one of 20, next to nothing": [search_row(alid=-0.004)],
            "misleads the attacker, by 0.10 bits.": [search_row(alid=-0.1)],
            "; for people like these it gives away at most 0.40": [search_row(alid=-0.1, limits=({}, {"bound": 0.4}))],
            "at least once the attacker ruled out the right person": [search_row(alid=-np.inf)],
        },
    )


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
    check_sides(short, "aa gives most away; the attempt against it is", [[first, second]], [[second, again]])
    check_sides(short, "Of 2 attempts against aa", [[first, second, again], [second, again]], [[first, second]])
    for rows in ([first, second], [first, second, again]):
        assert [sentence.split(":")[0] for sentence in verdict(rows).others] == ["oa"]


def test_systems_without_letters_in_their_names_get_a_noun():
    rows = [search_row(top, bits, about=AGAINST.lazy, system="1") for top, bits in ((0.9, 3.0), (0.8, 2.9))]
    found = verdict([*rows, search_row(0.3, 0.5, about=AGAINST.lazy, system="2")])
    assert "against system 1" in found.summary[1]
    assert "protected with system 1" in found.assessment
    assert "system 1 gives most away" in found.paragraph
    assert found.others[0].startswith("system 2: ")
    assert "system v2" not in short(search_row(about=AGAINST.lazy, system="v2"), search_row(system="v2"))


def others(row):
    (sentence,) = verdict([search_row(0.9, 3.0, system="best"), replace(row, labels={"system": "other"})]).others
    return sentence.replace("\u00a0", " ")


@pytest.mark.parametrize(
    ("sentence", "said", "unsaid"),
    [
        ("on average not told apart from guessing", search_row(chance="at-chance"), search_row()),
        ("20 of 20 people are named", search_row(people=NAMED), search_row()),
        ("is misled on average", search_row(alid=-0.1), search_row()),
        ("removes 27.7 % of the uncertainty", pairs_row(0.2), search_row()),
        ("learns 0.50 bits", search_row(), replace(search_row(), metrics={"top1": MeasureResult(0.3, "rate")})),
    ],
)
def test_other_systems_have_a_sentence_each(sentence, said, unsaid):
    check_sides(others, sentence, [[said]], [[unsaid]])
