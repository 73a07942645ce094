"""What a protection refused is left out on both sides, and an anonymiser is run again for those who attack."""

import json
from collections import Counter
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest

from tests.auditing.people import changed, corpus
from tests.spectrum import Spectrum
from zeroevidence.auditing import AuditOptions, EmbeddingSets, audit, audit_corpora, read_speech
from zeroevidence.auditing.protected_speech import find_left_out, ignores_speakers, own_draw_is_closer, plan_draws
from zeroevidence.data.formats.corpora import read_corpus
from zeroevidence.errors import InputError, UsageError
from zeroevidence.evaluation import Options
from zeroevidence.evaluation.results import from_json, to_json
from zeroevidence.protect.anonymise import anonymise
from zeroevidence.run import Run

soundfile = pytest.importorskip("soundfile")


@pytest.fixture
def speech(tmp_path):
    """Six recordings of two people, of which ada's enrolment and a trial of bob are silent, and their protection."""
    rows = ["utterance\tspeaker\tpath\trole\tsplit"]
    for name, role, level in (
        ("a1", "enrol", 0.0),
        ("a2", "trial", 0.1),
        ("b1", "enrol", 0.1),
        ("b2", "trial", 0.0),
        ("b3", "trial", 0.1),
        ("c1", "trial", 0.1),
    ):
        wave = level * np.random.default_rng(ord(name[1])).normal(size=8_000)
        (tmp_path / "original").mkdir(exist_ok=True)
        soundfile.write(tmp_path / "original" / f"{name}.wav", wave, 16_000)
        rows.append(f"{name}\t{name[0]}\t{name}.wav\t{role}\teval")
    (tmp_path / "original" / "utterances.tsv").write_text("\n".join(rows))
    anonymise(tmp_path / "original", tmp_path / "anonymised", protect="mcadams")
    return tmp_path


def test_refused_recordings_and_trials_that_lose_their_enrolment(speech):
    found = read_speech(speech / "original", speech / "anonymised")
    usable, left_out = found.corpus, found.left_out
    assert (left_out.refused, left_out.unmatched, left_out.total) == ({"a1", "b2"}, {"a2"}, 6)
    assert {each.id for each in usable} == {"b1", "b3", "c1"}  # c never had an enrolment
    assert {each.id for each in usable.replaced(speech / "anonymised")} == {"b1", "b3", "c1"}
    # what is listed but there is used
    soundfile.write(speech / "anonymised" / "b2.wav", 0.1 * np.random.default_rng(9).normal(size=8_000), 16_000)
    left_out = find_left_out(read_corpus(speech / "original", draw=False), [speech / "anonymised"])
    assert left_out.refused == {"a1"}


def test_what_is_missing_and_not_listed_is_no_refusal(speech):
    (speech / "anonymised" / "b3.wav").unlink()
    found = read_speech(speech / "original", speech / "anonymised")
    usable, left_out = found.corpus, found.left_out
    assert "b3" not in left_out.names
    with pytest.raises(InputError, match="no audio for utterance 'b3'"):
        usable.replaced(speech / "anonymised")


def test_a_card_with_a_number_of_refused_recordings_is_refused(speech):
    card = json.loads((speech / "anonymised" / "protector.json").read_text())
    card["release"]["refused"] = 2
    (speech / "anonymised" / "protector.json").write_text(json.dumps(card))
    with pytest.raises(InputError, match=r"protector\.json: .*refused.*expected a list"):
        read_speech(speech / "original", speech / "anonymised")


FAST = Options(intervals=0, null=0, linkability="pav")
RATE = 16_000
PEOPLE = 60


def drawn(embeddings, draw, per):
    """A protection that turns the space, and adds noise that is drawn for each recording or for each speaker."""
    rng = np.random.default_rng([7, draw])
    _, index = np.unique(embeddings.speakers, return_inverse=True)
    noise = rng.normal(size=embeddings.vectors.shape) if per == "utterance" else rng.normal(size=(PEOPLE, 8))[index]
    return changed(embeddings, 1.5 * noise - embeddings.vectors[:, ::-1])


def audited(per, draws):
    embeddings, split, role = corpus(PEOPLE, each=6, dimension=8, noise=0.3, enrolled=3)
    sides = (EmbeddingSets.from_roles(side, split, role) for side in (embeddings, drawn(embeddings, 0, per)))
    further = [drawn(embeddings, draw, per) for draw in range(1, draws)]
    return audit(*sides, AuditOptions(backends=("cosine",), measuring=FAST), draws=further)


def test_who_runs_the_anonymiser_more_often_learns_more():
    once, often = audited("utterance", 1), audited("utterance", 10)
    assert often.strongest.number("alid") > once.strongest.number("alid") + 0.2
    use = often.strongest.about.spent.draws
    assert (use.runs, use.enrolment) == (10, 10)
    assert use.level in ("embeddings", "scores")
    assert once.draws_curve is None
    assert often.draws_curve.amount == (1, 2, 5, 10)
    assert often.draws_curve.bits[-1] > often.draws_curve.bits[0] + 0.2
    assert often.strongest.curves["alid_over_draws"].x == (1.0, 2.0, 5.0, 10.0)
    assert from_json(to_json(often.rows))[0].about == often.rows[0].about
    assert "run 10 times on the speech" in often.cards[often.finding.strongest].to_text()
    ignorant = next(i for i, row in enumerate(often.rows) if row.about.threat.name == "ignorant")
    assert "The anonymiser, run" not in often.cards[ignorant].to_text()
    assert often.rows[ignorant].number("alid") == once.rows[ignorant].number("alid")


def test_draws_that_weaken_an_attacker_are_not_used():
    """What is drawn for each speaker is shared by enrolment and trials of the release, and by nothing else."""
    once, often = audited("speaker", 1), audited("speaker", 5)
    assert often.strongest.number("alid") == once.strongest.number("alid")
    assert often.strongest.about.spent.draws.enrolment == 1
    assert often.draws_curve.bits[-1] < often.draws_curve.bits[0]
    assert "draws-pay" not in {flag.code for flag in often.strongest.flags}


@pytest.mark.parametrize(("per", "closer"), [("utterance", False), ("speaker", True)])
def test_trials_are_closer_to_their_own_draw_where_speakers_have_one(per, closer):
    embeddings, split, role = corpus(PEOPLE, each=6, dimension=8, noise=0.3, enrolled=3)
    sets = EmbeddingSets.from_roles(drawn(embeddings, 0, per), split, role)
    assert not own_draw_is_closer(sets)
    assert own_draw_is_closer(sets.with_draws([drawn(embeddings, 1, per), drawn(embeddings, 2, per)])) == closer


def test_further_draws_are_of_the_same_recordings():
    embeddings, split, role = corpus(PEOPLE, each=6, dimension=8, noise=0.3, enrolled=3)
    sets = EmbeddingSets.from_roles(embeddings, split, role)
    enrolled = drawn(embeddings, 1, "utterance").take((split == "train") | (role == "enrol"))
    (draw,) = sets.with_draws([enrolled]).draws
    assert draw["eval_enrol"].ids.tolist() == sets.eval_enrol.ids.tolist()
    with pytest.raises(InputError, match="has no embedding in a further draw"):
        sets.with_draws([enrolled.take(np.arange(5))])
    with pytest.raises(InputError, match="other recordings or dimensions"):
        replace(sets, draws=({**draw, "train": draw["dev_enrol"]},))


def test_how_often_the_anonymiser_is_run(monkeypatch):
    monkeypatch.setattr("zeroevidence.auditing.protected_speech.has_gpu", lambda: False)

    def number(asked, folders, effort):
        options = AuditOptions(draws=asked, effort=effort)
        return plan_draws([f"run{at}" for at in range(folders)], None if folders else "mcadams", options, 0)[0]

    assert [number(None, 0, effort) for effort in ("quick", "standard", "full")] == [1, 2, 10]
    monkeypatch.setattr("zeroevidence.auditing.protected_speech.has_gpu", lambda: True)
    assert number(None, 0, "standard") == 5
    assert number(3, 0, "quick") == 3
    assert [number(asked, 4, "full") for asked in (None, 2)] == [4, 2]
    with pytest.raises(UsageError, match="5 draws of 1 folder of anonymised speech"):
        number(5, 1, "quick")


@pytest.fixture
def table(tmp_path, monkeypatch):
    """Eighteen people in a table with roles: two recordings enrolled, one tried, or three to train on."""
    monkeypatch.setattr("zeroevidence.auditing.corpus_audit.load_extractor", lambda name, **_: Spectrum())
    rng = np.random.default_rng(0)
    time = np.arange(RATE // 4) / RATE
    lines = ["utterance\tspeaker\tpath\trole\tsplit"]
    (tmp_path / "speech").mkdir()
    for speaker in range(18):
        split = ("", "dev", "eval")[speaker % 3]
        for number in range(3):
            tones = [0.6**h * np.sin(2 * np.pi * (90 + 9 * speaker) * h * time) for h in range(1, 9)]
            name = f"p{speaker:02d}_{number}"
            wave = 0.1 * sum(tones) + 0.01 * rng.normal(size=len(time))
            soundfile.write(tmp_path / "speech" / f"{name}.wav", wave, RATE)
            role = ("enrol", "enrol", "trial")[number] if split else "train"
            lines.append(f"{name}\tp{speaker:02d}\tspeech/{name}.wav\t{role}\t{split}")
    path = tmp_path / "utterances.tsv"
    path.write_text("\n".join(lines) + "\n")
    return path


class Noise:
    """A protector that adds noise, and counts whom it was asked for."""

    fingerprint = "noise"
    asked: ClassVar[Counter[tuple[str, int]]] = Counter()

    def __init__(self, seed, level=0.02):
        self.seed, self.level = seed, level

    def __call__(self, wave, rate, utterance):
        self.asked[utterance.id, self.seed] += 1
        words = [ord(letter) for letter in utterance.id]
        noise = np.random.default_rng([self.seed if self.level else 0, *words]).normal(size=len(wave))
        return (0.8 * wave + max(self.level, 0.01) * noise).astype(np.float32)


def draws_of(monkeypatch, table, level, say=lambda _: None, **settings):
    """An audit with a protector of noise, and how often it was asked for each recording and seed."""
    monkeypatch.setattr("zeroevidence.protect.voices.load_protector", lambda name, *, seed: Noise(seed, level))
    Noise.asked.clear()
    cache = table.parent / f"cache-{level}"
    options = AuditOptions(backends=("cosine",), measuring=FAST, **settings)
    result = audit_corpora(read_speech(table, protector="mcadams"), options, Run(cores=1, cache=cache, say=say))
    return result, dict(Noise.asked)


def test_trials_are_never_drawn_again(table, monkeypatch):
    result, asked = draws_of(monkeypatch, table, 0.02, draws=3)
    assert sum(asked.values()) == len(asked) + 1  # whose second draw is looked at first
    per_recording = Counter(name for name, _ in asked)
    trials = {f"p{k:02d}_2" for k in range(18) if k % 3}
    assert {name for name, number in per_recording.items() if number == 1} == trials
    assert {name for name, number in per_recording.items() if number == 3} == set(per_recording) - trials
    assert {seed for name, seed in asked if name in trials} == {0}
    seeds = list(dict.fromkeys(seed for name, seed in asked))
    assert result.draws_curve.amount == (1, 2, 3)
    again, asked = draws_of(monkeypatch, table, 0.02, draws=3)
    assert {seed for _, seed in asked} == {seeds[1]}  # what is computed of draws is kept
    assert sum(asked.values()) == 1
    assert len(list((table.parent / "cache-0.02" / "protected").glob("*/*"))) == 54  # and the release
    assert again.strongest.metrics == result.strongest.metrics


def test_a_deterministic_protection_is_run_once(table, monkeypatch):
    said = []
    result, asked = draws_of(monkeypatch, table, 0.0, say=said.append, draws=4)
    assert "the anonymiser gives the same speech again, so it is run once" in said
    assert Counter(seed for _, seed in asked)[0] == 54
    assert sum(seed != 0 for _, seed in asked) == 5
    assert result.draws_curve is None
    assert all(row.about.spent.draws.runs == 1 for row in result.rows if row.about.role == "attack")
    assert "run once: a second run gives the same speech" in result.cards[-1].to_text()
    once, _ = draws_of(monkeypatch, table, 0.0, draws=1)
    assert once.strongest.metrics == result.strongest.metrics


@pytest.mark.parametrize(
    ("change", "ignored"),
    [
        (lambda wave, who: -wave, True),
        (lambda wave, who: wave[:: 1 + (who.speaker == "c")], False),  # by the speaker, though nothing is drawn
        (lambda wave, who: wave[: 4_000 + 100 * int(who.id[1])], True),
    ],
    ids=["fixed", "by speaker", "by recording"],
)
def test_what_depends_on_who_speaks(speech, change, ignored):
    class Change:
        fingerprint = "change"

        def __call__(self, wave, rate, utterance):
            return change(wave, utterance)

    heard = read_speech(speech / "original", speech / "anonymised").corpus
    assert ignores_speakers(heard, Change(), 16_000) == ignored
    assert not ignores_speakers(heard, None, 16_000)
    assert not ignores_speakers(heard, lambda *_: np.zeros(9), 16_000)  # refused, so nothing is known
