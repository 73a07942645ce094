"""Single people in a verdict: counted whatever the average says, and named only where that is more than chance."""

from dataclasses import replace

import numpy as np
import pytest

import zeroevidence as ze
from tests.report.verdict.made import headline, listed_people, search_row, short, text
from zeroevidence.evaluation import MeasureResult
from zeroevidence.evaluation.rows.about import TrainingEffort
from zeroevidence.report.verdict import verdict
from zeroevidence.report.verdict.people import exposed_share, most_exposed, named_for_everybody, named_people
from zeroevidence.uncertainty.null import Null

NOT_COUNTED = "Whether single people are named in nearly all of their recordings was not counted."


def rare_exposure(exposed, *, people=30, about=None):
    """A search in which some people stand out in all of their recordings, and the others in none."""
    rng = np.random.default_rng(exposed)
    mated = np.repeat(np.arange(people), 5)
    scores = rng.normal(size=(len(mated), people))
    scores[np.arange(len(mated)), mated] += np.where(mated < exposed, 12.0, 0.0)
    names = np.array([f"p{i:02d}" for i in range(people)])
    matrix = ze.ScoreMatrix(scores, mated, enrolments=names, trial_speakers=names[mated], enrolment_speakers=names)
    return ze.evaluate(matrix, labels={"system": "s"}, about=about, options=ze.Options(intervals=20, null=19))


@pytest.mark.parametrize("exposed", [0, 1, 2, 3])
def test_people_who_are_always_named_are_counted_whatever_the_average_says(exposed, against):
    found = verdict([rare_exposure(exposed, about=against.lazy)])
    first = " ".join(found.summary[:5]).replace("\u00a0", " ")
    paragraph = found.paragraph.replace("\u00a0", " ")
    if exposed:
        counted = f"{exposed} of 30 people {'is' if exposed == 1 else 'are'} named in at least 80 % of their recordings"
        assert counted in first
        assert counted in paragraph
        listed = paragraph.split("Those who are named: ")[1].split(".")[0].split(", ")
        assert sorted(listed) == [f"p{i:02d}" for i in range(exposed)]
        assert found.headline.startswith(("On average no leak was found, but", "Protected recordings still"))
    else:
        assert "None of 30 people is named in at least 80 % of their recordings" in first
        assert "Those who are named" not in paragraph
    for sentence in ("no better than chance", "guessing does as well"):
        assert sentence not in f"{found.headline} {first} {paragraph}"


NAMED = listed_people([1.0] * 2 + [0.0] * 18, named=(True,) * 2 + (False,) * 18)
NOBODY = listed_people([0.0] * 20, named=(False,) * 20)


@pytest.mark.parametrize("control", [True, False])
def test_the_headline_counts_the_named_where_nothing_leaks_on_average(against, control):
    plain = [search_row(1.0, 4.0, about=against.control, system="unprotected")] if control else []
    one = replace(NAMED, named=(True,) + (False,) * 19)
    counted = "On average no leak was found, but 2 people are named in nearly all of their recordings"
    assert headline(*plain, search_row(chance="at-chance", people=NAMED)) == counted
    assert "but 1 person is named" in headline(*plain, search_row(chance="at-chance", people=one))
    assert "named" not in headline(*plain, search_row(chance="at-chance", people=NOBODY))
    assert "named" not in headline(*plain, search_row(chance="beaten", people=NAMED))
    advice = "Do not treat the recordings of those who are named as anonymous; a stronger protection is needed."
    assert advice in short(*plain, search_row(chance="at-chance", people=NAMED))
    assert advice not in short(*plain, search_row(chance="at-chance", people=NOBODY))


def test_what_is_not_known_about_people_is_not_counted():
    assert named_people(search_row()).text == NOT_COUNTED
    assert NOT_COUNTED not in text(search_row(people=NOBODY))
    single = listed_people([1.0, 0.0], named=(False, False), trials=1)
    assert named_people(search_row(people=single)).text.startswith("Nobody has two recordings")
    assert "Nobody has two recordings" not in named_people(search_row(people=NOBODY)).text


def test_results_of_older_files_lack_false_names():
    older = named_people(search_row(people=listed_people([1.0, 0.9, 0.1]))).text
    assert older == (
        "2 of 3 people are named in at least 80 % of their recordings; whether their names come up for everybody was "
        "not counted."
    )
    assert named_people(search_row(people=listed_people([0.1, 0.1]))).text.startswith("Nobody is named in at least")
    assert "was not counted" not in named_people(search_row(people=NAMED)).text


def test_the_count_of_the_named_has_limit_and_chance():
    row = search_row(people=NAMED)
    guessed = named_people(row)
    assert "2 of 20 people are named" in guessed.text
    assert "(95 % confidence: at most 90 % of people like these); guessing would do so to" in guessed.text
    assert guessed.limits == 1
    vague = row.with_metrics({"people_named": replace(row["people_named"], bound=1.0)})
    assert "(95 % confidence: at least 2 % of people like these); guessing" in named_people(vague).text
    for share, end in ((0.5, "at most 90 %"), (0.55, "at least 2 %")):
        most = row.with_metrics({"people_named": replace(row["people_named"], value=share)})
        assert f"(95 % confidence: {end} of people like these)" in named_people(most).text
    exchanged = MeasureResult(0.1, "rate", null=Null(0.02, 0.1))
    permuted = named_people(row.with_metrics({"people_named": exchanged}))
    assert permuted.text.endswith("; with names exchanged at random it would be 2 % of them.")
    assert "confidence" not in permuted.text
    assert permuted.limits == 0
    listed_in_part = replace(row, counts={**row.counts, "speakers": 2000})
    assert named_people(listed_in_part).text.startswith("10 % of people are named in at least")


@pytest.mark.parametrize(("p_value", "chance"), [(0.05, False), (0.051, True)])
def test_people_whom_chance_may_name_are_counted_and_not_called_named(against, p_value, chance):
    exchanged = MeasureResult(0.1, "rate", null=Null(0.02, 0.1), p_value=p_value)
    row = search_row(chance="at-chance", people=NAMED, about=against.lazy).with_metrics({"people_named": exchanged})
    doubt = "it would be 2 % of them, so this may be chance (p = 0.051, 999 permutations)."
    assert (doubt in short(row)) == chance
    assert "2 of 20 people are named in at least 80 % of their recordings" in short(row)
    assert ("2 people are named" in headline(row)) != chance
    assert ("the recordings of those who are named" in short(row)) != chance
    assert ("Those who are named: p00, p01." in text(row)) != chance
    nobody = replace(row, people=NOBODY)
    assert "may be chance" not in short(nobody)


def test_people_with_one_recording_are_not_counted():
    people = replace(NOBODY, trials=(1,) + (5,) * 19)
    assert named_people(search_row(people=people)).text.startswith("None of 19 people with two recordings or more is")
    assert named_people(search_row(people=NOBODY)).text.startswith("None of 20 people is")
    named = replace(NAMED, trials=(1,) + (5,) * 19)
    assert named_people(search_row(people=named)).text.startswith("2 of 19 people with two recordings or more are")


def test_limits_on_exposed_people_take_ten_people(search):
    said = exposed_share(search(1.0, seed=2, system="s"))
    assert "give away more than one bit on average" in said[0].text
    assert said[1].text.startswith("The most telling recording gives away")
    assert exposed_share(search(1.0, seed=2, people=9, system="s")) == []
    assert exposed_share(search_row()) == []


def test_bits_of_a_calibration_that_misses_the_named_give_no_limit(search):
    row = search(1.0, seed=2, system="s")
    people = row.people
    missed = replace(people, named=(True,) * 20, alid=(0.1,) * 20)
    assert not any("more than one bit" in part.text for part in exposed_share(replace(row, people=missed)))
    shown = replace(people, named=(True,) * 20, alid=(1.1,) * 20)
    assert any("more than one bit" in part.text for part in exposed_share(replace(row, people=shown)))


def test_the_most_telling_recording_is_told_where_it_is_not_the_most_there_is(search):
    row = search(1.0, seed=2, system="s")
    for bits, said in ((1.0, True), (0.0, False), (np.log2(20.0), False)):
        largest = row.with_metrics({"lid_max": replace(row["lid_max"], value=float(bits))})
        assert any("most telling recording" in part.text for part in exposed_share(largest)) == said


def exposed_text(people, chance="beaten"):
    row = search_row(people=people, chance=chance)
    (sentence,) = most_exposed(row, verdict([row]).finding) or [""]
    return sentence


def test_the_named_are_listed_and_at_most_five_of_them():
    assert exposed_text(NAMED) == exposed_text(NAMED, "at-chance") == "Those who are named: p00, p01."
    many = listed_people([1.0] * 7, named=(True,) * 7)
    assert exposed_text(many) == "Those who are named: p00, p01, p02, p03, p04 and 2 more."


def test_where_nobody_is_named_the_most_exposed_person_is_told():
    some = listed_people([0.2, 0.6], named=(False, False), falsely=(0.0, 0.1))
    assert exposed_text(some) == (
        "The most exposed person, p01, is named in 60 % of 5 recordings, and falsely in 10 % of those of others."
    )
    assert exposed_text(some, "at-chance") == ""  # somebody always is, by chance
    assert "p00, is named in 20 % of 5 recordings" in exposed_text(replace(some, trials=(5, 1)))
    assert exposed_text(replace(some, trials=(1, 1))) == ""
    assert exposed_text(replace(some, linked=(0.0, 1.0), trials=(5, 1))) == "Nobody is named outright."
    assert exposed_text(NOBODY) == "Nobody is named outright."
    false_names = listed_people([0.2, 0.1], named=(False, False), falsely=(0.3, 0.1))
    assert exposed_text(false_names) == "Nobody is named more often in their own recordings than in those of others."


def test_names_that_come_up_for_everybody():
    none = listed_people([0.5, 0.5], falsely=(0.05, 0.14))
    assert named_for_everybody(search_row(people=none)) == []
    assert named_for_everybody(search_row(people=listed_people([0.5, 0.5]))) == []
    (alone,) = named_for_everybody(search_row(people=listed_people([0.5, 0.0], falsely=(0.05, 0.2))))
    assert alone == (
        "The name of p01 comes up for everybody: it is put to 20 % of other people's recordings, which accuses the "
        "wrong person, and to none of the person's own."
    )
    (several,) = named_for_everybody(search_row(people=listed_people([0.5, 0.5], falsely=(0.3, 0.2))))
    assert several.startswith("The names of 2 people come up for everybody, most often that of p00: it is put to 30 %")
    assert "which therefore says less than it seems to" in several


def test_how_people_were_used_is_said_where_it_is_known(against):
    row = search_row(about=against.lazy, speakers=14)
    spent = TrainingEffort(12, development_people=10)
    used = "Of 36 people, 14 were evaluated: the attackers learned from 12 others and chose their settings on 10 more"
    split = short(replace(row, about=replace(row.about, spent=spent)))
    assert used in split
    assert "all 36 can be evaluated in turn, for 3 times the work (--folds 3)." in split
    folded = short(replace(row, about=replace(row.about, spent=replace(spent, folds=3))))
    assert "All 14 people were evaluated, in 3 folds: those of each by attackers who learned from the others." in folded
    assert used not in folded
    for unknown in (None, TrainingEffort(12)):
        assert "were evaluated" not in short(replace(row, about=replace(row.about, spent=unknown)))
