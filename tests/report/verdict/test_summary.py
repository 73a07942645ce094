"""The first screen: sentences that must be true in every case."""

import re
from dataclasses import replace

import pytest

import zeroevidence as ze
from tests.report.verdict.made import (
    AGAINST,
    attribute_row,
    check_own_rows,
    check_sides,
    control,
    pairs_row,
    search_row,
    short,
    too_coarse,
)
from zeroevidence.evaluation.rows.evaluation import Curve
from zeroevidence.evaluation.rows.flags import flag
from zeroevidence.report.verdict import verdict

JARGON = re.compile(r"\b(bits?|A?LID|EER|D_ECE|Cllr|LLR|null|posterior|calibrat\w*|p-value)\b")
SILENT = search_row(chance="at-chance", about=AGAINST.lazy, system="s", backend="a")


def told(rows):
    found = verdict(rows)
    return found, [sentence.replace("\u00a0", " ") for sentence in found.summary]


def test_nothing_leaks(search):
    rows = [
        search(6.0, system="unprotected", about=AGAINST.control),
        search(0.0, seed=6, system="s", about=AGAINST.lazy),
    ]
    found, (tried, whom, learned, people, sure, after) = told(rows)
    top = rows[1]["top1"]
    assert found.level == "not-found"
    assert "which of 20 known people speaks in each of 80 protected recordings" in tried
    assert "knows the protection" in whom
    assert f"at most {100 * top.bound:.3g} %" in learned
    assert f"{100 * top.value:.3g} % of those measured" in learned
    assert "guessing does so for 5 %, and without protection it is 100 %" in learned
    assert people.startswith("None of 20 people is named")
    assert "the same attempt does work without protection" in sure
    assert f"{top.spread.people_for((top.bound - top.value) / 2.0)} people" in after


@pytest.mark.parametrize("people", [2, 3, 6])
def test_too_few_people_never_means_that_nothing_is_recognised(search, people):
    rows = [
        search(6.0, people=people, system="unprotected", about=AGAINST.control),
        search(6.0, seed=1, people=people, system="s", about=AGAINST.lazy),
    ]
    found, sentences = told(rows)
    assert found.level in ("too-few", "recognised")
    assert (f"the right name to {4 * people} of {4 * people} recordings" in sentences[2]) == (found.level == "too-few")
    for text in (" ".join(sentences), found.paragraph, *(str(raised) for row in rows for raised in row.flags)):
        assert "not told apart from guessing" not in text
        assert "does not recognise even" not in text


def test_nobody_is_accused_on_the_first_screen(hub):
    found, sentences = told([hub])
    assert "p000" not in " ".join(sentences)
    assert "p000" in found.paragraph


def test_no_case_uses_jargon(search, pairs, hub, audit_rows):
    cases = [[search(6.0, people=2, system="s")], [pairs(1.5)], [hub], audit_rows, [SILENT], too_coarse()]
    for rows in [*cases, [search(1.0, options=ze.Options(intervals=0, null=0))]]:
        _, sentences = told(rows)
        assert len(sentences) == (6 if rows[0].is_search else 5)
        for sentence in sentences:
            assert not JARGON.search(sentence), sentence
            assert sentence.endswith(".")


def test_an_attacker_who_was_still_learning_has_no_limit():
    row = search_row(limits=({"bound": 0.5}, {}))
    curve = Curve((15.0, 30.0, 60.0), (0.2, 0.5, 1.0))
    rising = replace(row, curves={"alid_over_training_people": curve}).with_flags(flag("still-rising", gain=0.5))
    check_sides(short, "at most 50 %", [[row]], [[rising]])


def test_what_to_do_next_follows_from_the_level():
    check_own_rows(
        short,
        {
            "Measure again with at least 30 people.": [search_row(chance="at-chance", speakers=5)],
            "repeat this with the test against chance switched on.": [search_row(chance="untested")],
            "repeat this with more permutations": too_coarse(),
            "Next, measure a protection against the same attacker.": [control()],
            "Do not treat these recordings as anonymous": [search_row(0.9, 3.0)],
            "Weigh this against your purpose": [search_row(0.3, 0.5)],
            "Before release, try stronger attackers": [control(), SILENT],
            "First show that the attack works on unprotected speech": [search_row(chance="at-chance")],
        },
    )


def test_how_sure_it_is_follows_from_the_test():
    check_own_rows(
        short,
        {
            "People are too few to test whether chance shows": [search_row(chance="at-chance", speakers=5)],
            "Whether chance alone could show as much was not tested.": [search_row(chance="untested")],
            "the test is too coarse to say.": too_coarse(),
            "Chance does not explain this (p = 0.001, 999 permutations).": [search_row()],
            "guessing, but nobody showed that this attempt works even without protection.": [SILENT],
            "guessing, while the same attempt does work without protection.": [control(backend="a"), SILENT],
            "guessing, while another attempt does work without protection.": [control(backend="b"), SILENT],
            "guessing, but the attempt fails even without protection": [control("at-chance", backend="a"), SILENT],
            "On average this is not told apart from guessing.": [control("at-chance")],
        },
    )


def test_whose_recordings_were_tried_and_by_whom():
    speech = {"made-up": AGAINST.floor, "unprotected": AGAINST.control, "protected": AGAINST.lazy}
    check_own_rows(short, {f"100 {word} recordings": [search_row(about=about)] for word, about in speech.items()})
    check_own_rows(
        short,
        {
            "is one on noise, where there is nothing to learn.": [search_row(about=AGAINST.floor)],
            "is that of somebody who knows the protection": [search_row(about=AGAINST.lazy)],
            "is one on speech without protection.": [search_row(about=AGAINST.control)],
            "is called 'patient'.": [search_row(about=AGAINST.own)],
            "the files do not say what its attacker knows.": [search_row()],
        },
    )
    check_own_rows(
        short,
        {
            "each of 100 recordings.": [search_row(speakers=20)],
            "recordings of 12 people.": [search_row(speakers=12)],
            "of 660 pairs of recordings whether one person speaks in both.": [pairs_row()],
            "Somebody tried to tell sex from protected recordings.": [attribute_row("flow", 0.1)],
        },
    )
