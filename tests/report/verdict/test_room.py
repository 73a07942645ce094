"""Sentences on the room control, on either side of their conditions."""

from dataclasses import replace

import pytest

import zeroevidence as ze
from tests.report.verdict.made import headline, search_row, short, text
from zeroevidence.attack.attackers.attacker import UNPROTECTED_SPEECH, find_attacker

NOT_TESTED = "Whether it is the voice or the room and the microphone that gives people away was not tested."
NOT_FOUND = "Pauses and channel of the recordings, without any voice, are not told apart from guessing"
SHORT = "from pauses and channel, without any voice, the right name follows for"
INFORMED = find_attacker("semi-informed")


def attack(top1=0.9, alid=3.0, chance="beaten", system="s"):
    return search_row(top1, alid, chance, about=ze.About.against(INFORMED), system=system)


def room(alid, chance, *, original=False, system="s", **labels):
    threat = UNPROTECTED_SPEECH if original else INFORMED
    about = replace(ze.About.against(threat), role="room")
    return search_row(0.24, alid, chance, about=about, system="unprotected" if original else system, **labels)


def test_what_the_room_gives_away_is_told_in_bits():
    rows = [attack(), room(2.6, "beaten", original=True), room(1.5, "beaten")]
    said = text(*rows)
    assert "pauses and channel of the recordings give away 1.50 of 4.32 bits after protection (p = " in said
    assert "before protection it is 2.60; so this is about recordings, and not about voices alone." in said
    assert NOT_TESTED not in said
    assert f"{SHORT} 24 % of the protected recordings." in short(*rows)
    assert headline(*rows) == "Protected recordings are still recognised"


def test_a_room_that_protection_hides_is_told_before_it():
    rows = [attack(), room(2.6, "beaten", original=True), room(0.0, "at-chance")]
    said = text(*rows)
    assert "give away 2.60 of 4.32 bits before protection (p = " in said
    assert "after protection they are not told apart from guessing." in said
    assert "about recordings, and not about voices" not in said
    assert SHORT not in short(*rows)


def test_the_room_of_the_recordings_that_were_attacked_counts():
    unprotected = search_row(0.9, 3.0, about=ze.About.against(UNPROTECTED_SPEECH), system="unprotected")
    before = room(2.6, "beaten", original=True)
    assert f"{SHORT} 24 % of the unprotected recordings." in short(unprotected, before)
    assert "so this is about recordings, and not about voices alone." in text(unprotected, before)
    untested = room(2.6, "untested")
    assert SHORT not in short(attack(), before, untested)
    assert "about recordings, and not about voices" not in text(attack(), before, untested)


def test_a_control_that_finds_nobody_proves_nothing():
    rows = [attack(), room(0.0, "at-chance", original=True), room(0.0, "at-chance")]
    assert f"{NOT_FOUND}; that rooms or devices give nobody away does not follow." in text(*rows)
    assert NOT_TESTED not in text(*rows)
    assert SHORT not in short(*rows)
    silent = [attack(0.1, 0.0, "at-chance"), *rows[1:]]
    assert NOT_FOUND not in text(*silent)


@pytest.mark.parametrize(
    "rows", [[], [room(2.0, "untested", original=True), room(2.0, "untested")], [room(2.0, "beaten", system="other")]]
)
def test_without_a_tested_control_of_this_system_nothing_is_known(rows):
    assert NOT_TESTED in text(attack(), *rows)
    assert SHORT not in short(attack(), *rows)


def test_a_room_that_gives_people_away_is_told_even_where_the_attack_fails():
    assert "give away 1.50 of 4.32 bits after protection" in text(
        attack(0.1, 0.0, "at-chance"), room(1.5, "beaten", original=True), room(1.5, "beaten")
    )


def test_controls_of_other_people_do_not_count():
    assert NOT_TESTED in text(attack(), room(2.0, "beaten", dataset="others"))


def test_the_control_is_no_attack():
    found = ze.evaluation.findings([attack(0.3, 0.5), room(4.0, "beaten", original=True), room(4.0, "beaten")])[0]
    assert (found.strongest, found.attempts, found.control) == (0, (0,), None)
