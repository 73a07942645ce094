"""What is said to readers who know no measures, in a few sentences or a paragraph: true in every case."""

import re
from dataclasses import replace
from math import ceil

import pytest

import zeroevidence as ze
from tests.report.verdict.made import (
    AGAINST,
    attribute_row,
    check_own_rows,
    check_sides,
    control,
    listed_people,
    pairs_row,
    paragraph,
    search_row,
    short,
    text,
    too_coarse,
)
from zeroevidence.attack.attackers import ATTACKERS
from zeroevidence.evaluation.rows.about import Protection, TrainingEffort
from zeroevidence.evaluation.rows.evaluation import Curve
from zeroevidence.evaluation.rows.flags import flag
from zeroevidence.report.verdict import verdict
from zeroevidence.report.verdict.summary import short_sentence
from zeroevidence.uncertainty.spread import Spread

JARGON = re.compile(r"\b(bits?|A?LID|EER|D_ECE|Cllr|LLR|null|posterior|calibrat\w*|p-value)\b")
NO_PROOF = "one failure is no proof."
SINGLED_OUT = search_row(chance="at-chance", people=listed_people([1.0, 0.0], named=(True, False)))
SILENT = search_row(chance="at-chance", about=AGAINST.lazy, system="s", backend="a")


def told(rows):
    found = verdict(rows)
    return found, [sentence.replace("\u00a0", " ") for sentence in found.summary]


def test_nothing_leaks(search):
    rows = [
        search(6.0, system="unprotected", about=AGAINST.control),
        search(0.0, seed=6, system="s", about=AGAINST.lazy),
    ]
    found, (learned, sure, after) = told(rows)
    top = rows[1]["top1"]
    assert found.level == "not-found"
    assert learned.startswith("Nothing found here speaks against it: the attacker that counts puts")
    assert f"it is at most {100 * top.bound:.3g} % (95 % confidence)." in sure
    interval = f"(95 % interval {100 * top.low:.3g} % to {100 * top.high:.3g} %)"
    assert f"{100 * top.value:.3g} % {interval} of the recordings" in learned
    assert "guessing does so for 5 %, and without protection it is 100 %" in learned
    assert "None of 20 people is named" in found.paragraph
    assert "the same attempt does work without protection" in sure
    wanted = top.spread.people_for((top.bound - top.value) / 2.0)
    assert after == f"Before release, record {wanted - 20} more people and try stronger attackers: {NO_PROOF}"


@pytest.mark.parametrize("people", [2, 3, 6])
def test_too_few_people_never_means_that_nothing_is_recognised(search, people):
    rows = [
        search(6.0, people=people, system="unprotected", about=AGAINST.control),
        search(6.0, seed=1, people=people, system="s", about=AGAINST.lazy),
    ]
    found, sentences = told(rows)
    assert found.level in ("too-few", "recognised")
    assert (f"the right name to {4 * people} of {4 * people} recordings" in sentences[0]) == (found.level == "too-few")
    for said in (" ".join(sentences), found.paragraph, *(str(raised) for row in rows for raised in row.flags)):
        assert "not told apart from guessing" not in said
        assert "does not recognise even" not in said


@pytest.mark.parametrize(
    ("high", "named", "level"), [(0.52, 0.0, "not-found"), (0.53, 0.0, "too-few"), (0.53, 0.1, "not-found")]
)
def test_people_are_too_few_where_guessing_and_being_recognised_are_not_told_apart(search, high, named, level):
    """With 20 people an attacker who is right in 52.5 % of cases is half-way between guessing and always right."""
    control = search(6.0, system="unprotected", about=AGAINST.control)
    row = search(0.0, seed=1, system="s", about=AGAINST.lazy)
    changed = {"top1": replace(row["top1"], high=high), "people_named": replace(row["people_named"], value=named)}
    found, sentences = told([control, row.with_metrics(changed)])
    assert found.level == level
    assert ("more people, and measure again." in sentences[2]) == (level == "too-few")
    assert (found.headline == "Too few people to say how private the recordings are") == (level == "too-few")


def test_nobody_is_accused_on_the_first_screen(hub):
    found, sentences = told([hub])
    assert "p000" not in " ".join(sentences)
    assert "p000" in found.paragraph


def test_no_case_uses_jargon(search, pairs, hub, audit_rows):
    cases = [[search(6.0, people=2, system="s")], [pairs(1.5)], [hub], audit_rows, [SILENT], too_coarse()]
    for rows in [*cases, [search(1.0, options=ze.Options(intervals=0, null=0))]]:
        _, sentences = told(rows)
        assert len(sentences) == 3
        for sentence in sentences:
            assert not JARGON.search(sentence), sentence
            assert sentence.endswith(".")


def test_an_attacker_who_was_still_learning_has_no_limit():
    row = search_row(chance="at-chance", limits=({"bound": 0.5}, {}))
    curve = Curve((15.0, 30.0, 60.0), (0.2, 0.5, 1.0))
    rising = replace(row, curves={"alid_over_training_people": curve}).with_flags(flag("still-rising", gain=0.5))
    check_sides(short, "at most 50 %", [[row]], [[rising]])


def test_what_to_do_next_follows_from_the_level():
    check_own_rows(
        short,
        {
            "Record at least 25 more people, and measure again.": [search_row(chance="at-chance", speakers=5)],
            "repeat this with the test against chance switched on.": [search_row(chance="untested")],
            "repeat this with more permutations": too_coarse(),
            "Next, measure a protection against the same attacker.": [control()],
            "Look for the fault in the test": [search_row(about=AGAINST.floor)],
            "Protect them with cascade (English unless --language names another), which leaves only the words": [
                search_row(0.9, 3.0)
            ],
            "Weigh this against your purpose": [attribute_row("flow", 0.1)],
            f"Before release, try stronger attackers: {NO_PROOF}": [control(), SILENT],
            "First show that the attack works on unprotected speech": [search_row(chance="at-chance")],
            "Leave out the recordings of the person who is named.": [SINGLED_OUT],
        },
    )


def by(name, row, **facts):
    """A row whose speech was protected by a protector."""
    return [replace(row, about=replace(row.about, protection=Protection(name, **facts)))]


def test_a_leak_is_answered_by_the_protector_that_leaves_least_and_then_by_what_is_left():
    leak, singled = search_row(0.9, 3.0), search_row(0.9, 3.0, people=SINGLED_OUT.people)
    weaker = [
        by(name, row)
        for name in ("mcadams-random+pitch:-4..4", "onevoice", "command:x", "b5")
        for row in (leak, singled)
    ]
    cascade = by("cascade:whisper/joe", leak, recognises=True)
    transcribed, named = by("cascade", leak), by("mcadams+cascade", singled, recognises=True)
    check_sides(short, "Protect them with cascade", [[leak], *weaker], [cascade, transcribed, named])
    check_sides(short, "leaves less", [cascade, transcribed, named], weaker)
    check_sides(short, "give it transcripts (anonymise --transcripts FILE)", [cascade], [transcribed, named])
    contract = "so share these recordings under contract only"
    check_sides(short, contract, [transcribed], [cascade, named])
    read, guessed = (
        replace(row, about=replace(row.about, words=True)) for row in (leak, search_row(chance="at-chance"))
    )
    check_sides(short, contract, [[*cascade, read]], [[*cascade, guessed]])  # of what transcripts would not change
    check_sides(short, "leave out the recordings of the person who is named,", [named], [cascade, transcribed])


def test_what_was_refused_needs_transcripts_where_words_are_recognised(against):
    row = silent(against.lazy)
    sides = {3: True, 1: True, 0: False}
    for refused, said in sides.items():
        result = found(against, *by("cascade", row, refused=refused, recordings=40, recognises=True))
        count = "recording needs a transcript" if refused == 1 else "recordings need transcripts"
        assert (f"The {refused} refused {count}." in result.summary[-1]) == said
        assert (f", which refused {refused} of 40. " in result.assessment) == said
        asked = "zeroevidence anonymise ORIGINAL -o ANONYMISED --protect cascade --transcripts FILE"
        assert (asked in result.commands) == said
    result = found(against, *by("onevoice", row, refused=3, recordings=40))
    assert "transcripts" not in " ".join((*result.summary, *result.commands))
    assert "protected with onevoice, which refused 3 of 40." in result.assessment


def test_the_paragraph_names_the_protector_and_has_at_most_120_words(against, audit_rows):
    kinds = (against.ignorant, against.lazy, against.backend, against.informed)
    limits = ({"low": 0.0123, "high": 0.0789, "bound": 0.345, "spread": SPREAD}, {})
    worst = []
    for top, chance in ((0.945, "beaten"), (0.0345, "at-chance"), (0.0345, "untested")):
        rows = [
            search_row(top, 3.0 * top, chance, about=about, speakers=7, limits=limits, dataset="d", system="s")
            for about in kinds
        ]
        for row in (*by("cascade", rows[-1], refused=9, recordings=140, recognises=True), rows[-1]):
            attacks = [replace(each, about=replace(each.about, protection=row.about.protection)) for each in rows]
            for known in ([control(dataset="d")], []):
                worst.append(paragraph(*known, *attacks))
    for said in (
        *worst,
        paragraph(*audit_rows),
        paragraph(pairs_row(about=against.informed)),
        paragraph(*too_coarse()),
    ):
        assert len(said.split()) <= 120, said
    assert worst[0].startswith(
        "Recordings (d) were protected with cascade, which refused 9 of 140. Attackers, up to one"
    )
    assert worst[2].startswith(
        "Recordings (d) were protected with s. Attackers, up to one who knows the protection and"
    )


def test_how_sure_it_is_follows_from_the_test():
    check_own_rows(
        short,
        {
            "People are too few to test whether chance shows": [search_row(chance="at-chance", speakers=5)],
            "Whether chance alone could show as much was not tested.": [search_row(chance="untested")],
            "By its 95 % interval this is more than chance.": [
                search_row(chance="untested", limits=({}, {"low": 0.2, "high": 0.8}))
            ],
            "the test is too coarse to say.": too_coarse(),
            "Chance does not explain so many right names (p = 0.002, 999 permutations).": [search_row()],
            "guessing, but nobody showed that this attempt works even without protection.": [SILENT],
            "guessing, while the same attempt does work without protection.": [control(backend="a"), SILENT],
            "guessing, while another attempt does work without protection.": [control(backend="b"), SILENT],
            "guessing, but the attempt fails even without protection": [control("at-chance", backend="a"), SILENT],
            "On average this is not told apart from guessing.": [control("at-chance")],
        },
    )


def test_whose_recordings_were_tried_and_by_whom():
    speech = {"made-up": AGAINST.floor, "unprotected": AGAINST.control, "protected": AGAINST.lazy}
    check_own_rows(text, {f"100 {word} recordings": [search_row(about=about)] for word, about in speech.items()})
    one, two = [search_row(about=AGAINST.lazy)], [search_row(about=about) for about in (AGAINST.ignorant, AGAINST.lazy)]
    unnamed = [[search_row(about=about)] for about in (AGAINST.floor, AGAINST.control, AGAINST.own, None)]
    check_sides(paragraph, "Somebody who knows the protection and applies it", [one], [two, *unnamed])
    check_sides(paragraph, "Attackers, up to one who knows the protection and applies it", [two], [one, *unnamed])
    check_sides(paragraph, "Somebody tried to tell which of 20", unnamed, [one, two])
    check_own_rows(
        text,
        {
            "each of 100 recordings.": [search_row(speakers=20)],
            "recordings of 12 people.": [search_row(speakers=12)],
            "of 660 pairs of recordings whether one person speaks in both.": [pairs_row()],
        },
    )


def test_whether_the_recordings_may_be_published():
    named = search_row(0.3, 0.5, "at-chance", people=listed_people([1.0, 0.0], named=(True, False)))
    check_own_rows(
        short,
        {
            "Not as anonymous recordings: the attacker": [search_row(0.9, 3.0)],
            "Not yet: the attacker": [search_row(chance="untested")],
            "Nothing found here speaks against it: the attacker": [control(), SILENT],
            "No protection was measured: the attacker": [control()],
            "Not the recordings of those who are named: the attacker": [named],
        },
    )
    for rows in ([search_row(0.3, 0.5)], [attribute_row("flow", 0.1)]):
        assert short(*rows).startswith("Not as anonymous recordings")
    for rows in ([search_row(chance="at-chance")], [search_row(chance="at-chance", speakers=5)]):
        assert short(*rows).startswith("Not yet")


def test_the_short_sentence_of_single_comparisons(pairs):
    rows = [pairs(1.5, system="s")]
    said = short_sentence(verdict(rows).finding).replace("\u00a0", " ")
    result = rows[0].metrics["d_ece"]
    value, low, high = (f"{100 * bits / 0.7213475:.3g} %" for bits in (result.value, result.low, result.high))
    doubt = "the doubt whether two recordings are of one person"
    assert said == f"The attacker that counts removes {value} (95 % interval {low} to {high}) of {doubt}."


def test_what_was_not_tested_is_said(against):
    alone = search_row(about=against.lazy)
    assert "Not tested: somebody who does not know that the voices are protected; somebody who knows the" in text(alone)
    trained = f"somebody who {ATTACKERS['semi-informed'].title}"
    assert trained in text(alone).split("Not tested: ")[1]
    backend = [search_row(about=about) for about in (against.ignorant, against.lazy, against.backend)]
    assert f"Not tested: {trained}; " in text(*backend)
    everybody = [*backend, search_row(about=against.informed)]
    assert "somebody who" not in text(*everybody).split("Not tested: ")[1].split(".")[0]
    rooms = "what rooms and microphones give away"
    assert rooms in text(alone)
    assert rooms not in text(alone, search_row(about=replace(against.lazy, role="room")))
    words = search_row(about=replace(against.informed, words=True))
    assert "what is said" in text(*everybody).split("Not tested: ")[1]
    assert "what is said" not in text(*everybody, words).split("Not tested: ")[1]


def test_bounds_and_unnamed_systems(against):
    bound = [search_row(1.0, 4.0, about=against.control, system="unprotected", dataset="d")]
    protected, unnamed = [search_row(about=against.lazy)], [search_row(dataset="d")]
    check_sides(paragraph, "Recordings (d) were tested without protection.", [bound], [protected, unnamed])
    scores = [search_row(dataset="d", system="oo")]
    check_sides(paragraph, "were protected with s", [protected], [bound, unnamed, scores])
    check_sides(paragraph, "The recordings (d) of oo were tested by attacking them.", [scores], [protected, unnamed])


SPREAD = Spread(error=0.05, people=20.0, freedom=19.0, below=0.1, above=0.1)


def silent(about, *, spread=SPREAD, **effort):
    row = search_row(0.06, 0.01, "at-chance", about=about, system="s", limits=({"bound": 0.3, "spread": spread}, {}))
    spent = TrainingEffort(10, **effort)
    return replace(row, about=replace(about, spent=spent))


def found(against, *rows):
    control = search_row(1.0, 4.0, about=against.control, system="unprotected")
    return verdict([control, *rows])


def test_attackers_that_were_not_tried_come_next(against):
    result = found(against, silent(against.lazy))
    assert result.level == "not-found"
    assert result.commands[0] == (
        "zeroevidence audit ORIGINAL --anonymised ANONYMISED -o OUT --attacker ignorant --attacker backend-informed "
        "--attacker semi-informed --effort standard"
    )


@pytest.mark.parametrize(
    ("trained", "options"), [(False, "--attacker semi-informed --effort standard"), (True, "--effort full")]
)
def test_encoders_are_trained_next_and_then_every_one(against, trained, options):
    rows = [silent(about) for about in (against.ignorant, against.lazy, against.backend)]
    rows += [silent(against.informed)] if trained else []
    assert found(against, *rows).commands[0] == (
        f"zeroevidence audit ORIGINAL --anonymised ANONYMISED -o OUT {options}"
    )


def test_one_number_of_people_is_wanted(against):
    wide = replace(SPREAD, error=0.2)
    people = wide.people_for((0.3 - 0.06) / 2.0)
    for effort, all_people in (({"development_people": 30}, 60), ({"development_people": 30, "folds": 3}, 20)):
        result = found(against, silent(against.lazy, spread=wide, **effort))
        assert result.commands[1] == f"zeroevidence plan --pilot OUT/result.json --people {people}"
        more = ceil((people - 20) * all_people / 20)  # attackers learn from people who are not evaluated
        assert f"record {more} more people and try stronger attackers:" in result.summary[-1]
    unknown = found(against, silent(against.lazy, spread=None))
    assert len(unknown.commands) == 1
    enough = found(against, silent(against.lazy))
    assert SPREAD.people_for((0.3 - 0.06) / 2.0) < 20
    for result in (unknown, enough):
        assert result.summary[-1] == f"Before release, try stronger attackers: {NO_PROOF}"


def test_nothing_comes_next_where_a_leak_was_found_or_nobody_knows_the_attacker(against):
    assert found(against, search_row(0.9, 3.0, about=against.lazy)).commands == ()
    assert found(against, search_row(0.06, 0.01, "at-chance")).commands == ()
    assert "zeroevidence" not in short(search_row(0.9, 3.0, about=against.lazy))
