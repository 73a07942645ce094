"""Sentences on the room control, on either side of their conditions."""

from dataclasses import replace

import pytest

import zeroevidence as ze
from tests.report.verdict.made import AGAINST, check_sides, search_row, short, text

NOT_TESTED = "Whether it is the voice or the room and the microphone that gives people away was not tested."
NOT_FOUND = "without any voice, are not told apart from guessing"
SHORT = "from pauses and channel, without any voice, the right name follows for 24 % of the"
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
            "give away 1.50 of 4.32 bits after protection (p = ",
            [[attack(), BEFORE, AFTER], [FAILED, BEFORE, AFTER]],
            [HIDDEN],
        ),
        (text, "before protection it is 2.60", [[attack(), BEFORE, AFTER]], [[attack(), AFTER]]),
        (text, "give away 2.60 of 4.32 bits before protection (p = ", [HIDDEN], [[attack(), BEFORE, AFTER]]),
        (text, "after protection they are not told apart from guessing.", [HIDDEN], [[attack(), BEFORE, UNTESTED]]),
        (text, ALONE, [[attack(), BEFORE, AFTER], [UNPROTECTED, BEFORE]], [HIDDEN, [attack(), BEFORE, UNTESTED]]),
        (short, f"{SHORT} protected recordings.", [[attack(), BEFORE, AFTER]], [HIDDEN, [attack()]]),
        (short, f"{SHORT} unprotected recordings.", [[UNPROTECTED, BEFORE]], [[UNPROTECTED, NOTHING[0]]]),
        (text, NOT_FOUND, [[attack(), *NOTHING]], [[FAILED, *NOTHING], [attack(), BEFORE, AFTER]]),
        (
            text,
            NOT_TESTED,
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
def test_both_sides(part, sentence, said, unsaid):
    check_sides(part, sentence, said, unsaid)


def test_the_control_is_no_attack():
    found = ze.evaluation.findings([attack(0.3, 0.5), room(4.0, "beaten", original=True), room(4.0, "beaten")])[0]
    assert (found.strongest, found.attempts, found.control) == (0, (0,), None)
