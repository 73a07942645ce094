"""Single people in a verdict: counted whatever the average says, and named only where that is more than chance."""

from dataclasses import replace

import numpy as np
import pytest

from tests.report.conftest import OPTIONS, named_search
from tests.report.verdict.made import (
    AGAINST,
    check_own_rows,
    check_sides,
    control,
    headline,
    listed_people,
    search_row,
    short,
    text,
)
from zeroevidence.evaluation import MeasureResult, findings
from zeroevidence.evaluation.finding.facts import NamedPeople
from zeroevidence.evaluation.rows.about import TrainingEffort
from zeroevidence.report.verdict.identity import exposed_share, most_exposed, named_for_everybody
from zeroevidence.report.verdict.summary import named_people
from zeroevidence.uncertainty.null import Null

NAMED = listed_people([1.0] * 2 + [0.0] * 18, named=(True,) * 2 + (False,) * 18)
ONE = replace(NAMED, named=(True,) + (False,) * 19)
NOBODY = listed_people([0.0] * 20, named=(False,) * 20)
ROW = search_row(people=NAMED)
SOME = listed_people([0.2, 0.6], named=(False, False), falsely=(0.0, 0.1))


def rare_exposure(exposed, *, people=30):
    """A search in which some people stand out in all of their recordings, and the others in none."""
    rng = np.random.default_rng(exposed)
    mated = np.repeat(np.arange(people), 5)
    scores = rng.normal(size=(len(mated), people))
    scores[np.arange(len(mated)), mated] += np.where(mated < exposed, 12.0, 0.0)
    return named_search(scores, mated, labels={"system": "s"}, about=AGAINST.lazy, options=OPTIONS)


@pytest.mark.parametrize("exposed", [0, 1, 3])
def test_people_who_are_always_named_are_counted_whatever_the_average_says(exposed):
    row = rare_exposure(exposed)
    counted = f"{exposed or 'None'} of 30 people {'are' if exposed > 1 else 'is'} named in at least 80 %"
    assert counted in short(row)
    assert counted in text(row)
    assert ("Those who are named: " in text(row)) == bool(exposed)
    assert all((f"p{i:03d}" in text(row)) == (i < exposed) for i in range(30)) or not exposed


@pytest.mark.parametrize("plain", [[control()], []])
def test_the_headline_counts_the_named_where_nothing_leaks_on_average(plain):
    named, one, nobody = ([*plain, search_row(chance="at-chance", people=people)] for people in (NAMED, ONE, NOBODY))
    check_sides(headline, "2 people are named", [named], [one, nobody, [*plain, search_row(people=NAMED)]])
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
            "none of 19 people with two recordings or more is",
            [search_row(people=replace(NOBODY, trials=(1,) + (5,) * 19))],
            [search_row(people=NOBODY)],
        ),
    ],
)
def test_how_many_people_are_named(sentence, said, unsaid):
    check_sides(lambda row: share_of(row).lower(), sentence, [[row] for row in said], [[row] for row in unsaid])


@pytest.mark.parametrize(("p_value", "chance"), [(0.05, False), (0.051, True)])
def test_people_whom_chance_may_name_are_counted_and_not_called_named(p_value, chance):
    exchanged = MeasureResult(0.1, "rate", null=Null(0.02, 0.1), p_value=p_value)
    row = search_row(chance="at-chance", people=NAMED, about=AGAINST.lazy).with_metrics({"people_named": exchanged})
    assert ("so this may be chance (p = 0.051, 999 permutations)" in short(row)) == chance
    assert "2 of 20 people are named" in short(row)
    assert ("2 people are named" in headline(row)) != chance
    assert ("the recordings of those who are named" in short(row)) != chance
    assert ("Those who are named: p00, p01." in text(row)) != chance
    assert "may be chance" not in short(replace(row, people=NOBODY))


def test_limits_on_exposed_people(search):
    row = search(1.0, seed=2, system="s")

    def exposed(row):
        return " ".join(exposed_share(findings([row])[0]))

    missed, shown = (
        replace(row, people=replace(row.people, named=(True,) * 20, alid=(bits,) * 20)) for bits in (0.1, 1.1)
    )
    few = search(1.0, seed=2, people=9, system="s")
    check_sides(exposed, "more than one bit", [[row], [shown]], [[missed], [few], [search_row()]])
    zero, most = (
        row.with_metrics({"lid_max": replace(row["lid_max"], value=bits)}) for bits in (0.0, float(np.log2(20.0)))
    )
    check_sides(exposed, "The most telling recording", [[row]], [[zero], [most], [few]])


def exposed_text(people, chance="beaten"):
    row = search_row(people=people, chance=chance)
    return " ".join(most_exposed(findings([row])[0]))


def test_who_is_named_or_most_exposed():
    check_own_rows(
        exposed_text,
        {
            "Those who are named: p00, p01.": [NAMED],
            "p04 and 2 more.": [listed_people([1.0] * 7, named=(True,) * 7)],
            "p01, is named in 60 % of 5 recordings, and falsely in 10 %": [SOME],
            "p00, is named in 20 % of 5 recordings": [replace(SOME, trials=(5, 1))],
            "Nobody is named outright.": [NOBODY],
            "Nobody is named more often in their own recordings": [
                listed_people([0.2, 0.1], named=(False, False), falsely=(0.3, 0.1))
            ],
        },
    )
    assert exposed_text(NAMED, "at-chance") == exposed_text(NAMED)
    assert exposed_text(SOME, "at-chance") == ""  # somebody always is, by chance
    assert exposed_text(replace(SOME, trials=(1, 1))) == ""
    assert exposed_text(replace(SOME, linked=(0.0, 1.0), trials=(5, 1))) == "Nobody is named outright."


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
    check_sides(short, used, [split], [folded, uncounted, unknown])
    check_sides(short, "all 36 can be evaluated in turn", [split], [folded, uncounted, unknown])
    check_sides(short, "All 14 people were evaluated, in 3 folds", [folded], [split, uncounted, unknown])
