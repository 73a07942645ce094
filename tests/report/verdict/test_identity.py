"""Verdicts about people: each headline and sentence on either side of its condition."""

from dataclasses import replace

import numpy as np
import pytest

import zeroevidence as ze
from tests.report.verdict.made import headline, listed_people, pairs_row, search_row, short, text
from zeroevidence.evaluation import MeasureResult
from zeroevidence.evaluation.rows.trials import Recordings
from zeroevidence.report.verdict import verdict

ROOM = "Whether it is the voice or the room and the microphone that gives people away was not tested."
NO_TEST = "There is no test on unprotected speech to compare with."


def levels(about):
    """Rows of every level, for rows of this kind."""
    return {
        "recognised": [search_row(0.9, 3.0, about=about)],
        "leaks": [search_row(0.3, 0.5, about=about)],
        "untested": [search_row(0.3, 0.5, "untested", about=about)],
        "too-few": [search_row(0.3, 0.5, "at-chance", speakers=5, about=about)],
        "inconclusive": [search_row(0.1, 0.0, "at-chance", about=about)],
    }


ANY = {
    "recognised": "The recordings are recognised",
    "leaks": "The recordings give something away",
    "untested": "The recordings may give something away; chance was not ruled out",
    "too-few": "Too few people to say how private the recordings are",
    "inconclusive": "This test cannot say how private the recordings are",
}
HEADLINES = {
    None: ANY,
    "lazy": ANY
    | {
        "recognised": "Protected recordings are still recognised",
        "leaks": "Protected recordings still give something away",
        "untested": "Protected recordings may still give something away; chance was not ruled out",
    },
    "control": ANY
    | {
        "recognised": "Unprotected recordings are recognised; no protection was measured",
        "leaks": "Unprotected recordings give something away; no protection was measured",
        "untested": (
            "Unprotected recordings may give something away; chance was not ruled out, and no protection was measured"
        ),
    },
    "floor": ANY
    | {
        "recognised": "Noise is recognised, so the test itself is at fault",
        "leaks": "Noise gives something away, so the test itself is at fault",
        "untested": "Noise seems to give something away; chance was not ruled out",
    },
}


@pytest.mark.parametrize("kind", HEADLINES)
def test_every_level_has_its_headline(against, kind):
    about = None if kind is None else getattr(against, kind)
    for level, rows in levels(about).items():
        found = verdict(rows)
        assert (found.level, found.headline) == (level, HEADLINES[kind][level])


def test_no_leak_was_found_only_beside_a_control_that_works(against):
    silent = search_row(0.1, 0.0, "at-chance", about=against.lazy)
    working, failing = (
        search_row(1.0, 4.0, chance, about=against.control, system="unprotected") for chance in ("beaten", "at-chance")
    )
    assert headline(working, silent) == "No leak was found, which does not prove that there is none"
    assert headline(failing, silent) == headline(silent) == "This test cannot say how private the recordings are"


def test_noise_that_is_recognised_is_a_fault_of_the_test(against):
    fault = "Look for the fault in the test: noise gives nobody away."
    assert fault in short(search_row(0.9, 3.0, about=against.floor))
    assert fault not in short(search_row(0.1, 0.0, "at-chance", about=against.floor))
    assert fault not in short(search_row(0.9, 3.0, about=against.control))


def rooms_without_voices(people=24, rooms=3, options=None):
    """Scores of people in three rooms: a trial and an enrolment of the same room are alike, whoever speaks."""
    rng = np.random.default_rng(0)
    mated = np.repeat(np.arange(people), 4)
    room = np.arange(people) % rooms
    scores = rng.normal(size=(len(mated), people)) + 5.0 * (room[mated][:, None] == room[None, :])
    names = np.array([f"p{i:02d}" for i in range(people)])
    matrix = ze.ScoreMatrix(scores, mated, enrolments=names, trial_speakers=names[mated], enrolment_speakers=names)
    return ze.evaluate(matrix, labels={"system": "s"}, options=options or ze.Options(intervals=20, null=39))


def test_rooms_are_not_called_voices(against):
    row = rooms_without_voices()
    for about in (None, against.nameless):
        found = verdict([row if about is None else replace(row, about=about)])
        assert found.level in ("leaks", "recognised")
        assert "recordings" in found.headline
        said = " ".join((found.headline, found.paragraph, *found.summary))
        assert ROOM in said
        assert "voice" not in said.replace(ROOM, "")


def test_the_room_is_spoken_of_where_people_are_given_away():
    named = listed_people([1.0] * 20, named=(True,) * 20)
    assert ROOM in text(search_row(0.9, 3.0))
    assert ROOM in text(search_row(0.3, 0.5))
    assert ROOM in text(search_row(chance="at-chance", people=named))
    for row in (search_row(chance="at-chance"), search_row(chance="untested"), search_row(0.1, 0.0, "at-chance")):
        assert ROOM not in text(row)


def test_two_systems_are_not_attempts_on_one(against):
    first = search_row(0.3, 0.5, about=against.ignorant, system="oa")
    second = search_row(0.6, 2.0, about=against.lazy, system="aa")
    found = verdict([first, second])
    said = " ".join((found.paragraph, *found.summary)).replace("\u00a0", " ")
    assert "attempts" not in said
    assert "Of 2 results, aa gives most away" in said
    assert "Of 2 results, aa gives most away; the attempt against it is that of somebody who" in said
    (other,) = found.others
    assert other.replace("\u00a0", " ") == (
        "oa: the attacker that counts (ignorant) names the right person of 20 for 30 % of the recordings and learns "
        "0.50 bits on average."
    )
    again = search_row(0.5, 1.9, about=against.ignorant, system="aa")
    more = verdict([first, second, again])
    assert more.summary[1].startswith(
        "Of 2 results, aa gives most away. Of 2 attempts against aa, the one that learns most on average counts here"
    )
    assert [row.startswith("oa: ") for row in more.others] == [True]


def test_systems_without_letters_in_their_names_get_a_noun(against):
    rows = [search_row(top, bits, about=against.lazy, system="1") for top, bits in ((0.9, 3.0), (0.8, 2.9))]
    found = verdict(rows)
    assert found.summary[1].startswith("Of 2 attempts against system 1, the one")
    assert "were protected with system 1, and" in found.assessment
    other = verdict([*rows, search_row(0.3, 0.5, about=against.lazy, system="2")])
    assert "Of 2 results, system 1 gives most away" in other.paragraph
    assert other.others[0].startswith("system 2: the attacker that counts")
    named = verdict([search_row(about=against.lazy, system="v2"), search_row(about=against.lazy, system="v2")])
    assert "against v2, the one" in named.summary[1]


def test_other_systems_are_told_as_they_are():
    best = search_row(0.9, 3.0, system="best")
    named = listed_people([1.0] * 20, named=(True,) * 20)

    def other(row):
        (sentence,) = verdict([best, replace(row, labels={"system": "other"})]).others
        return sentence.replace("\u00a0", " ")

    weak = ", on average not told apart from guessing."
    assert other(search_row(chance="at-chance")).endswith(weak)
    assert weak not in other(search_row())
    assert "20 of 20 people are named in at least 80 % of their recordings" in other(search_row(people=named))
    assert "people are named" not in other(search_row())
    assert "for 30 % of the recordings and is misled on average." in other(search_row(alid=-0.1))
    without_bits = search_row()
    metrics = {name: result for name, result in without_bits.metrics.items() if name != "alid"}
    assert other(replace(without_bits, metrics=metrics)).endswith("for 30 % of the recordings.")
    compared = pairs_row(0.2, system="other")
    (sentence,) = verdict([best, compared]).others
    assert "other: the attacker that counts removes 27.7\u00a0% of the uncertainty." in sentence


def test_bits_on_average():
    cases = {
        "gives away 0.50 bits of the 4.32 that single out one of 20: it makes the right person about 1.4 times": {},
        "gives away at most 1.00 bits (95 % confidence; 0.50 measured)": {"limits": ({}, {"bound": 1.0})},
        "gives away 0.00 bits of the 4.32 that single out one of 20, next to nothing": {"alid": -0.004},
        "misleads the attacker, by 0.10 bits.": {"alid": -0.1},
        "; for people like these it gives away at most 0.40 bits (95 % confidence).": {
            "alid": -0.1,
            "limits": ({}, {"bound": 0.4}),
        },
    }
    for sentence, settings in cases.items():
        for other, changed in cases.items():
            if sentence.startswith("misleads") and other.startswith("; for"):
                continue
            assert (sentence in text(search_row(**changed))) == (sentence == other), (sentence, other)
        assert "-0.00" not in text(search_row(**settings))


def test_single_comparisons(against):
    row = pairs_row()
    said = text(row)
    assert "the attacker errs in 30 % of the cases, where guessing errs in 50 %." in said
    assert "How well one person is found among many was not measured." in said
    assert "most telling single comparison" not in said
    assert "errs in" not in text(pairs_row(eer=None))
    assert "This removes 13.9 % of the doubt." in short(pairs_row(eer=None))
    assert "was not measured" not in text(search_row())
    worst = row.with_metrics({"worst_case": MeasureResult(2.0, "log10")})
    assert "The most telling single comparison changes the odds by a factor of 100 (" in text(worst)
    assert "so many comparisons support" not in text(worst)
    supported = worst.with_metrics({"worst_case_supported": MeasureResult(1.0, "log10")})
    assert "; so many comparisons support up to 10." in text(supported)
    plain = pairs_row(0.7, 0.01, about=against.control, system="unprotected")
    protected = replace(row, about=against.lazy)
    assert "; without protection it is 97 %." in text(plain, protected)
    assert ", and without protection it is in 1 %." in short(plain, protected)
    assert "without protection it is" not in text(protected) + short(protected)


def held(numbers, top1):
    filled = (0.5,) * len(numbers)
    return Recordings(numbers, (20,) * len(numbers), filled, filled, top1, filled, filled, filled)


def test_several_recordings_are_told_where_they_were_tried_and_more_than_chance():
    sentence = "From 3 recordings of the same person together, the right name follows in 60 % of cases."
    row = replace(search_row(), recordings=held((1, 3), (0.3, 0.6)))
    assert sentence in text(row)
    at_chance = replace(search_row(chance="at-chance"), recordings=held((1, 3), (0.3, 0.6)))
    for other in (at_chance, search_row(), replace(row, recordings=held((1,), (0.3,)))):
        assert "recordings of the same person together" not in text(other)


def test_the_lack_of_a_control_is_said_where_it_matters(against):
    control = search_row(1.0, 4.0, about=against.control, system="unprotected")
    leak = search_row(about=against.lazy)
    assert NO_TEST in text(leak)
    assert NO_TEST not in text(control, leak)
    assert NO_TEST not in text(search_row(chance="at-chance", about=against.lazy))
    bound = "This says what the attacker can do, and nothing yet about a protection."
    assert bound in text(control)
    assert bound not in text(control, leak)
