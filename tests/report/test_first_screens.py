"""Every sentence of a first screen is one of those below, and says what the result file says."""

import html
import json
import re
from dataclasses import dataclass

import pytest

import zeroevidence as ze
from zeroevidence.attack.attackers.attacker import ATTACKERS
from zeroevidence.evaluation.reading.results import to_json
from zeroevidence.report.html.page import to_html
from zeroevidence.report.tables.comparisons import render_comparisons
from zeroevidence.uncertainty.spread import Spread

pytest.importorskip("jinja2")
NUMBER = r"([\d.]+(?:e-\d+)?)"


def with_role(document, role):
    """The rows of a result file with this role; it is left out of files where it is that of an attack."""
    return [row for row in document if row["about"].get("role", "attack") == role]


@dataclass(frozen=True)
class Told:
    """The rows of a result file that a first screen is about."""

    best: dict
    plain: dict
    attempts: list

    @classmethod
    def of(cls, rows):
        document = json.loads(to_json(rows))["rows"]
        attempts = with_role(document, "attack")
        best = max(attempts, key=lambda row: row["metrics"]["alid"]["value"])
        return cls(best, with_role(document, "control")[0], attempts)

    def top(self, field="value"):
        return self.best["metrics"]["top1"][field]

    @property
    def largest_bound(self):
        return max(row["metrics"]["top1"]["bound"] for row in self.attempts)

    @property
    def wanted(self):
        spread = Spread(**self.best["metrics"]["top1"]["spread"])
        return spread.people_for((self.largest_bound - self.top()) / 2.0, self.best["setup"].get("level", 0.95))


def same(text, value):
    return text == f"{100 * value:.3g}"


def tried(told, identities, trials):
    counts = told.best["counts"]
    return (int(identities), int(trials)) == (counts["identities"], counts["trials"])


def by_whom(told, attempts, who):
    title = ATTACKERS[told.best["about"]["threat"]["name"]].title
    return who == title and (attempts is None or int(attempts) == len(told.attempts))


def recognised(told, value, low, high, guess, plain):
    return (
        same(value, told.top())
        and same(low, told.top("low"))
        and same(high, told.top("high"))
        and same(guess, 1.0 / told.best["counts"]["identities"])
        and same(plain, told.plain["metrics"]["top1"]["value"])
    )


def at_most(told, bound, value, guess, plain):
    return (
        same(bound, told.largest_bound)
        and same(value, told.top())
        and same(guess, 1.0 / told.best["counts"]["identities"])
        and same(plain, told.plain["metrics"]["top1"]["value"])
    )


def named(told, count, of, limit, share, chance):
    result, people = told.best["metrics"]["people_named"], told.best["people"]
    end = "bound" if limit == "most" else "low"
    return (
        (0 if count == "None" else int(count)) == sum(people["named"])
        and int(of) == len(people["named"])
        and same(share, result[end])
        and same(chance, result["null"]["mean"])
    )


def smallest_p(row):
    return min(result["p_value"] for result in row["metrics"].values() if "p_value" in result)


def beyond_chance(told, p, permutations):
    return smallest_p(told.best) <= float(p) <= 0.05 and int(permutations) == told.best["setup"]["null"]["times"]


def at_chance(told):
    flags = [flag["code"] for flag in told.best["flags"]]
    return "attacker-at-chance" in flags and smallest_p(told.plain) <= 0.05


def next_after_nothing(told, people):
    return int(people) == told.wanted


def is_recognised(told):
    """Half-way from guessing to always."""
    guess = 1.0 / told.best["counts"]["identities"]
    return told.top() >= guess + (1.0 - guess) / 2.0


SHARES = rf"guessing does so for {NUMBER} %, and without protection it is {NUMBER} %\."
SENTENCES = {
    rf"Somebody tried to tell which of {NUMBER} known people speaks in each of {NUMBER} protected recordings\.": tried,
    r"(?:The attempt is|Of 6 results, \w+ gives most away(?:, leaving out those that are not told apart from "
    r"guessing)?; the attempt against it is|Of (\d+) attempts against \w+, the one that learns most on average(?:, "
    r"leaving out those that are not told apart from guessing)? counts here:) that of somebody who (.*)\.": by_whom,
    rf"It puts the right name to {NUMBER} % of the recordings \(95 % confidence, for people like these: {NUMBER} % to "
    rf"{NUMBER} %\); {SHARES}": recognised,
    rf"It puts the right name to at most {NUMBER} % of the recordings of people like these \(95 % confidence(?:, the "
    rf"largest limit of \d+ attempts)?; {NUMBER} % of those measured\); {SHARES}": at_most,
    rf"(None|\d+) of (\d+) people (?:is|are) named in at least 80 % of their recordings \(95 % confidence: at "
    rf"(most|least) {NUMBER} % of people like these\); with names exchanged at random it would be {NUMBER} % of "
    r"them\.": named,
    rf"Chance does not explain this \(p = {NUMBER}, (\d+) permutations\)\.": beyond_chance,
    r"On average this is not told apart from guessing, while the same attempt does work without protection\.": (
        at_chance
    ),
    r"Do not treat these recordings as anonymous; a stronger protection is needed, measured in the same way\.": (
        is_recognised
    ),
    r"Weigh this against your purpose, knowing that a better attacker may learn more, or protect more strongly\.": (
        lambda told: not is_recognised(told)
    ),
    r"Before release, try stronger attackers and (\d+) people, with whom the limit would be half as far away: that "
    r"this one failed is no proof\.": next_after_nothing,
}
HEADLINES = {
    "Protected recordings are still recognised": is_recognised,
    "Protected recordings still give something away": lambda told: not is_recognised(told) and not at_chance(told),
    "No leak was found, which does not prove that there is none": at_chance,
}


def first_screen(page):
    """The headline, the sentences and the commands that stand beside the picture."""
    section = page.split('<section id="verdict"')[1].split("</section>")[0]
    headline = re.search(r"</span> (.*?)</h2>", section)[1]
    summary = section.split('<div class="summary">')[1].split("</div>")[0]
    text = " ".join(re.findall(r"<p>(?:<strong>)?(.*?)(?:</strong>)?</p>", summary)[:2])
    text = html.unescape(text).replace("\u00a0", " ")
    commands = html.unescape("".join(re.findall(r"<code>(.*?)</code>", summary, re.DOTALL))).splitlines()
    return headline, re.split(r"(?<=[.])\s(?=[A-Z\d])", text), commands


@pytest.fixture
def rows_of(search, against, audit_rows):
    setting = {"dataset": "d", "backend": "cosine"}
    weak = search(1.6, seed=8, system="sys", about=against.lazy, **setting)
    nothing = search(0.0, seed=6, system="sys", about=against.lazy, **setting)
    return {"fails": audit_rows, "leaks": [audit_rows[0], weak], "passes": [audit_rows[0], nothing]}


def check_sentence(told, sentence):
    """One of the sentences there may be, and true of the result file."""
    ((check, match),) = [(check, match) for form, check in SENTENCES.items() if (match := re.fullmatch(form, sentence))]
    assert check(told, *match.groups()), sentence


@pytest.mark.parametrize("case", ["fails", "leaks", "passes"])
def test_every_sentence_is_true_of_the_result_file(case, rows_of, without_figures):
    rows = rows_of[case]
    told = Told.of(rows)
    headline, sentences, commands = first_screen(to_html(rows))
    assert HEADLINES[headline](told)
    assert len(sentences) == 6
    for sentence in sentences:
        check_sentence(told, sentence)
    assert bool(commands) == (case == "passes")
    if commands:
        tried_names = {row["about"]["threat"]["name"] for row in told.attempts}
        assert tried_names.isdisjoint(re.findall(r"--attacker (\S+)", commands[0]))
        assert commands[1].endswith(f"--people {told.wanted}")


def test_the_picture_has_the_numbers_of_the_result_file(audit_rows):
    pytest.importorskip("matplotlib")
    ax = ze.plot.attackers(audit_rows)
    document = json.loads(to_json(audit_rows))["rows"]
    attempts = with_role(document, "attack")
    shown = [text.get_text() for text in ax.texts]
    assert sorted(shown) == sorted(f"{100 * row['metrics']['top1']['value']:.3g} %" for row in attempts)
    lines = {line.get_label(): line.get_xdata()[0] for line in ax.get_lines() if not line.get_label().startswith("_")}
    assert lines["guessing"] == pytest.approx(100.0 / attempts[0]["counts"]["identities"])
    (plain,) = with_role(document, "control")
    assert lines["without protection"] == pytest.approx(100.0 * plain["metrics"]["top1"]["value"])


OTHER = (
    rf"(\w+): the attacker that counts \(lazy-informed\) names the right person of (\d+) for {NUMBER} % of the "
    rf"recordings and (?:learns {NUMBER} bits|is misled) on average"
    r"(, on average not told apart from guessing)?\.(?: (\d+ of .*))?"
)


def test_six_systems(search, against, without_figures):
    setting = {"about": against.lazy, "dataset": "d", "backend": "cosine"}
    shifts = {"a": 3.0, "b": 2.0, "c": 1.0, "d": 0.0, "e": 0.0, "f": 1.5}
    rows = [search(shift, seed=seed, system=name, **setting) for seed, (name, shift) in enumerate(shifts.items())]
    rows.insert(0, search(6.0, system="unprotected", **{**setting, "about": against.control}))
    told = Told.of(rows)
    page = to_html(rows)
    headline, sentences, _ = first_screen(page)
    assert HEADLINES[headline](told)
    assert told.best["labels"]["system"] == "a"
    assert sentences[1].startswith("Of 6 results, a gives most away, leaving out those that are not told apart")
    assert len(sentences) == 6
    for sentence in sentences:
        check_sentence(told, sentence)
    section = page.split('<section id="verdict"')[1].split("</section>")[0]
    others = re.findall(r"<li>(.*?)</li>", section)
    by_system = {row["labels"]["system"]: row for row in told.attempts}
    at_chance_systems = set()
    for other in others:
        text = html.unescape(other).replace("\u00a0", " ")
        system, identities, top, bits, at_guessing, people = re.fullmatch(OTHER, text).groups()
        row = by_system.pop(system)
        assert int(identities) == row["counts"]["identities"]
        assert same(top, row["metrics"]["top1"]["value"])
        alid = row["metrics"]["alid"]["value"]
        assert bits == f"{alid:.2f}" if alid > -0.005 else bits is None
        assert bool(at_guessing) == ("attacker-at-chance" in [flag["code"] for flag in row["flags"]])
        at_chance_systems |= {system} if at_guessing else set()
        shown_to_be_named = row["metrics"]["people_named"]["p_value"] <= 0.05
        assert bool(people) == (shown_to_be_named and any(row["people"]["named"]))
        if people:
            check_sentence(Told(row, told.plain, told.attempts), people)
    assert list(by_system) == ["a"]
    assert 0 < len(at_chance_systems) < len(others)


@pytest.mark.parametrize(("shift", "seed", "told_apart"), [(3.5, 0, True), (1.0, 5, False)])
def test_two_systems(search, shift, seed, told_apart, without_figures):
    found = ze.compare([search(1.0, system="a"), search(shift, seed=seed, system="b")], ["top1"])
    document = json.loads(render_comparisons(found, "json"))["comparisons"][0]
    page = to_html([], comparisons=found)
    section = re.search(r'<section id="verdict".*?</section>', page, re.DOTALL)[0]
    text = html.unescape(re.sub(r"<.*?>", " ", section)).replace("\u00a0", " ")
    (pair,) = document["pairs"]
    assert ("more than chance explains" in text) == told_apart == (pair["p_holm"] < 0.05)
    if told_apart:
        size = re.search(rf"a gives away less than b by {NUMBER} percentage points", text)[1]
        assert same(size, abs(pair["difference"]["value"]))
        small = pair["p_holm"] < 0.001
        assert ("p < 0.001)" if small else f"p = {pair['p_holm']:.2g})") in text
        assert "a discloses less than b" in text
    else:
        size = re.search(rf"a difference of {NUMBER} percentage points would be seen in 80 %", text)[1]
        assert same(size, pair["difference"]["detectable"])
        assert "Neither system is shown to disclose less" in text
