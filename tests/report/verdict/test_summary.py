"""The first screen: sentences that must be true in every case."""

import re
from dataclasses import replace

import pytest

import zeroevidence as ze
from tests.report.verdict.made import pairs_row, search_row, short
from zeroevidence.evaluation.rows.evaluation import Curve
from zeroevidence.evaluation.rows.flags import flag
from zeroevidence.report.verdict import verdict

JARGON = re.compile(r"\b(bits?|A?LID|EER|D_ECE|Cllr|LLR|null|posterior|calibrat\w*|p-value)\b")


def told(rows):
    found = verdict(rows)
    return found, [sentence.replace("\u00a0", " ") for sentence in found.summary]


def unprotected(search, against, **settings):
    return search(6.0, system="unprotected", about=against.control, **settings)


def test_nothing_leaks(search, against):
    rows = [unprotected(search, against), search(0.0, seed=6, system="s", about=against.lazy)]
    found, (tried, whom, learned, people, sure, after) = told(rows)
    assert found.level == "not-found"
    assert people.startswith("None of 20 people is named in at least 80 % of their recordings (95 % confidence: ")
    assert tried == ("Somebody tried to tell which of 20 known people speaks in each of 80 protected recordings.")
    assert whom == "The attempt is that of somebody who knows the protection and applies it to the known voices too."
    assert f"{100 * rows[1].number('top1'):.3g} % of those measured" in learned
    assert f"at most {100 * rows[1]['top1'].bound:.3g} %" in learned
    assert "guessing does so for 5 %, and without protection it is 100 %" in learned
    assert (
        sure == "On average this is not told apart from guessing, while the same attempt does work without protection."
    )
    wanted = rows[1]["top1"].spread.people_for((rows[1]["top1"].bound - rows[1].number("top1")) / 2.0)
    assert after == (
        f"Before release, try stronger attackers and {wanted} people, with whom the limit would be half as far away: "
        "that this one failed is no proof."
    )


def test_everything_leaks(search, against):
    rows = [unprotected(search, against), search(6.0, seed=1, system="s", about=against.lazy)]
    found, (_, _, learned, people, sure, after) = told(rows)
    assert found.level == "recognised"
    assert people.startswith("20 of 20 people are named in at least 80 % of their recordings")
    assert learned.startswith(
        "It puts the right name to 100 % of the recordings (95 % confidence, for people like these: "
    )
    assert "to 100 %);" in learned
    assert sure.startswith("Chance does not explain this")
    assert after.startswith("Do not treat these recordings as anonymous")


@pytest.mark.parametrize("people", [2, 3, 6])
def test_too_few_people_never_means_that_nothing_is_recognised(search, against, people):
    settings = {"people": people}
    rows = [unprotected(search, against, **settings), search(6.0, seed=1, system="s", about=against.lazy, **settings)]
    found, (_, _, learned, _, sure, after) = told(rows)
    assert f"the right name to {4 * people} of {4 * people} recordings" in learned or found.level == "recognised"
    if found.level == "too-few":
        assert found.headline == "Too few people to say how private the recordings are"
        assert sure == f"{people} people are too few to tell this from chance."
        assert after == "Measure again with at least 30 people."
    for text in (" ".join(found.summary), found.paragraph, *(str(raised) for row in rows for raised in row.flags)):
        assert "not told apart from guessing" not in text
        assert "does not recognise even" not in text


def test_two_people_cannot_be_tested(search, against):
    found, _ = told([search(6.0, people=2, system="s", about=against.lazy)])
    assert found.level == "too-few"
    row = search(6.0, people=2, system="s", about=against.lazy)
    assert [flag.code for flag in row.flags if flag.code == "too-few-to-test"]
    assert "evaluate at least 10 people" in next(f.sentence for f in row.flags if f.code == "too-few-to-test")


def test_a_weak_attacker(search, against):
    rows = [search(0.0, seed=1, system="unprotected", about=against.control),
            search(0.0, seed=6, system="s", about=against.lazy)]  # fmt: skip
    found, (*_, sure, after) = told(rows)
    assert found.level == "inconclusive"
    assert "fails even without protection" in sure
    assert after.startswith("First show that the attack works on unprotected speech")
    _, (*_, sure, _) = told(rows[1:])
    assert "nobody showed that this attempt works even without protection" in sure


def test_hubs(hub):
    found, sentences = told([hub])
    top = hub["top1"]
    assert f"at most {100 * top.bound:.3g} % of the recordings of people like these" in sentences[2]
    assert "p000" not in " ".join(sentences)  # nobody is accused on the first screen
    assert "comes up for everybody" in found.paragraph


def test_several_groups(search, against):
    rows = [search(2.0 + k, seed=k, system="s", about=against.lazy, sex=sex, people=12 + 4 * k)
            for k, sex in enumerate("fm")]  # fmt: skip
    found, (tried, whom, *_) = told(rows)
    row = rows[found.finding.strongest]
    assert f"which of {row.counts['identities']} known people" in tried
    assert whom.startswith(
        f"Of 2 results, s ({row.labels['sex']}) gives most away (by the share of what there is to learn"
    )
    assert "; the attempt against it is that of somebody who" in whom


def test_one_file_without_speakers(pairs):
    row = pairs(1.5, system="s")
    _, (tried, whom, learned, sure, after) = told([row])
    assert tried == "Somebody tried to tell of 660 pairs of recordings whether one person speaks in both."
    assert whom == "The attempt is one of which the files do not say what its attacker knows."
    assert f"at least {100 * row['eer'].bound:.3g} %" in learned
    assert f"{100 * row.number('eer'):.3g} % measured" in learned
    assert "where guessing is in 50 %" in learned
    assert sure
    assert after


def test_no_case_uses_jargon(search, against, pairs, hub, audit_rows):
    cases = [
        [search(0.0, seed=6, system="s", about=against.lazy)],
        [search(6.0, system="s")],
        [search(6.0, people=2, system="s")],
        [pairs(1.5)],
        [hub],
        audit_rows,
        [search(1.0, options=ze.Options(intervals=0, null=0))],
    ]
    for rows in cases:
        _, sentences = told(rows)
        assert len(sentences) == (6 if rows[0].is_search else 5)
        for sentence in sentences:
            assert not JARGON.search(sentence), sentence
            assert sentence.endswith(".")


def test_a_limit_that_rules_nothing_out_is_said_with_the_people_needed(search):
    row = search(1.0, seed=2, people=12, system="s")
    top = row["top1"]
    vague = row.with_metrics({"top1": replace(top, bound=1.0, spread=replace(top.spread, error=0.6))})
    text = verdict([vague]).paragraph
    assert "So few people rule nothing out" in text
    needed = int(re.search(r"about (\d+) people would bring", text)[1])
    reach = (1.0 - float(top)) / 2.0
    spread = vague["top1"].spread
    assert spread.of_people(needed).at_most(0.0) <= reach < spread.of_people(needed - 1).at_most(0.0)


def test_an_attacker_who_was_still_learning_has_no_limit(search, against):
    row = search(1.0, system="s", about=against.lazy)
    curve = Curve((15.0, 30.0, 60.0), (0.2, 0.5, 1.0))
    rising = replace(row, curves={**row.curves, "alid_over_training_people": curve}).with_flags(
        flag("still-rising", gain=0.5)
    )
    assert "at most" in verdict([row]).summary[2]
    assert "at most" not in verdict([rising]).summary[2]


def test_what_to_do_next_follows_from_the_level(against):
    control = search_row(1.0, 4.0, about=against.control, system="unprotected")
    coarse = [
        row.with_metrics({"alid": replace(row["alid"], p_value=0.03)})
        for row in (search_row(system="s"), search_row(system="t"))
    ]
    cases = {
        "Measure again with at least 30 people.": [search_row(chance="at-chance", speakers=5)],
        "repeat this with the test against chance switched on.": [search_row(chance="untested")],
        "repeat this with more permutations in the test against chance.": coarse,
        "Next, measure a protection against the same attacker.": [control],
        "Do not treat these recordings as anonymous": [search_row(0.9, 3.0)],
        "Weigh this against your purpose": [search_row(0.3, 0.5)],
        "Before release, try stronger attackers": [control, search_row(chance="at-chance", about=against.lazy)],
        "First show that the attack works on unprotected speech": [search_row(chance="at-chance")],
    }
    for sentence in cases:
        for other, rows in cases.items():
            assert (sentence in short(*rows)) == (sentence == other), (sentence, other)


def test_how_sure_it_is_follows_from_the_test(against):
    silent = search_row(chance="at-chance", about=against.lazy, system="s", backend="a")

    def control(chance, backend="a"):
        return search_row(1.0, 4.0, chance, about=against.control, system="unprotected", backend=backend)

    coarse = [
        row.with_metrics({"alid": replace(row["alid"], p_value=0.03)})
        for row in (search_row(system="s"), search_row(system="t"))
    ]
    cases = {
        "5 people are too few to tell this from chance.": [search_row(chance="at-chance", speakers=5)],
        "Whether chance alone could do as well was not tested.": [search_row(chance="untested")],
        "for all these results together the test is too coarse to say.": coarse,
        "Chance does not explain this (p = 0.001, 999 permutations).": [search_row()],
        "guessing, but nobody showed that this attempt works even without protection.": [silent],
        "guessing, while the same attempt does work without protection.": [control("beaten"), silent],
        "guessing, while another attempt does work without protection.": [control("beaten", "b"), silent],
        "guessing, but the attempt fails even without protection": [control("at-chance"), silent],
        "On average this is not told apart from guessing.": [control("at-chance")],
    }
    for sentence in cases:
        for other, rows in cases.items():
            assert (sentence in short(*rows)) == (sentence == other), (sentence, other)


def test_whose_recordings_were_tried_and_by_whom(against):
    speech = {
        "made-up recordings": against.floor,
        "unprotected recordings": against.control,
        "protected recordings": against.lazy,
    }
    for said, about in speech.items():
        assert f" {said}" in short(search_row(about=about)).split(".")[0]
    assert "each of 100 recordings." in short(search_row())
    whose = {
        "is one on noise, where there is nothing to learn.": against.floor,
        "is that of somebody who knows the protection": against.lazy,
        "is one on speech without protection.": against.control,
        "is called 'patient'.": against.own,
        "is one of which the files do not say what its attacker knows.": None,
    }
    for said in whose:
        for other, about in whose.items():
            assert (said in short(search_row(about=about))) == (said == other), (said, other)


def test_whose_recordings_are_counted_where_others_are_known():
    assert "recordings." in short(search_row(speakers=20)).split("speaks")[1]
    assert "of 12 people." in short(search_row(speakers=12)).split("speaks")[1]
    assert "of 660 pairs of recordings whether one person speaks in both." in short(pairs_row())
    assert "known people" not in short(pairs_row())
