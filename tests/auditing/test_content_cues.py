"""Cues in what is said and when: words and durations of generated people with habits, and of shuffled ones."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tests.auditing.people import corpus
from zeroevidence.attack.attackers import find_attacker
from zeroevidence.attack.backends.cosine import Cosine
from zeroevidence.auditing import AuditOptions, EmbeddingSets, audit, content_cues
from zeroevidence.auditing.content_cues import (
    CONTENT_CUES,
    WORDS,
    ReleasedSpeech,
    fit_durations,
    fit_words,
    read_contents,
    read_unit_durations,
    read_words,
)
from zeroevidence.auditing.protected_speech import AuditedSpeech, LeftOut
from zeroevidence.auditing.step_attack import FittedBackend, run_step, score_trials
from zeroevidence.data.corpus import Corpus, Utterance
from zeroevidence.data.embeddings import Embeddings
from zeroevidence.errors import InputError, MissingExtra
from zeroevidence.evaluation import Options
from zeroevidence.evaluation.results import from_json, to_json
from zeroevidence.evaluation.rows.about import DrawUse
from zeroevidence.protect.voices.speech_models import Transcript
from zeroevidence.run import Run

PEOPLE, EACH = 36, 8


def voiceless_sets():
    """Everybody sounds alike: vectors are noise."""
    embeddings, split, role = corpus(people=PEOPLE, each=EACH, noise=0.0)
    noise = np.random.default_rng(1).normal(size=embeddings.vectors.shape)
    return EmbeddingSets.from_roles(Embeddings(noise, embeddings.ids, embeddings.speakers), split, role), embeddings


def written_texts(speakers, *, style):
    """A text for each recording, of words that everybody uses, as often as is their style."""
    rng = np.random.default_rng(0)
    vocabulary = np.array(["".join(rng.choice(list("abcdefghij"), 4)) for _ in range(80)])
    habits = {name: rng.dirichlet(np.full(len(vocabulary), style)) for name in np.unique(speakers)}
    return [" ".join(rng.choice(vocabulary, 15, p=habits[name])) for name in speakers]


def spoken_durations(speakers, *, spread):
    rng = np.random.default_rng(0)
    habits = {name: rng.normal(scale=spread, size=12) for name in np.unique(speakers)}
    return [
        {f"unit {u}": np.exp(habits[name][u] + rng.normal(size=rng.integers(0, 5)) - 2.5).tolist() for u in range(12)}
        for name in speakers
    ]


MAKERS = {"words": lambda who: written_texts(who, style=0.3), "durations": lambda who: spoken_durations(who, spread=1)}


@pytest.mark.parametrize("name", CONTENT_CUES)
def test_habits_of_people_are_recognised_and_shuffled_ones_are_not(name):
    sets, embeddings = voiceless_sets()
    contents = MAKERS[name](embeddings.speakers)
    options = AuditOptions(
        backends=("whitened",),
        attackers=("backend-informed",),
        measuring=Options(intervals=0, null=49, linkability="pav"),
    )
    learned = {}
    for shuffled in (False, True):
        order = np.random.default_rng(2).permutation(len(contents)) if shuffled else range(len(contents))
        by_name = {str(recording): contents[k] for recording, k in zip(embeddings.ids, order, strict=True)}
        encoded = CONTENT_CUES[name].encode(by_name, sets)
        assert encoded.original is None
        result = audit(sets, sets, options, encoders=[encoded])
        (row,) = (row for row in result.rows if row.labels["encoder"] == f"cue:{name}" and not row.about.fused)
        attacks = [row for row in result.rows if row.about.role == "attack"]
        flags = {flag.code for row in attacks for flag in row.flags}
        learned[shuffled] = row["alid"].value, result.finding.chance[result.rows.index(row)].beaten, flags
    assert learned[False][0] > 1.0
    assert learned[False][1]
    assert learned[True][0] < 0.2
    assert not learned[True][1]
    assert ("words-disclose" in learned[False][2]) == (name == WORDS.name)
    assert "words-disclose" not in learned[True][2]


def test_words_are_weighted_and_reduced_by_training_texts_alone():
    training = written_texts(np.repeat(["a", "b", "c"], 20), style=0.3)
    vectors = fit_words(training)
    texts = [training[0], "tuv xyz", ""]
    together = vectors(texts)
    assert np.allclose(together, np.vstack([vectors([text]) for text in texts]))  # others do not matter
    assert together.shape == (3, 16 + 2)
    assert np.allclose(together[1:, :16], 0.0)  # nothing of them was learned
    assert together[2, -1] < together[0, -1]  # but their length is seen
    assert fit_words(["one", "two"] * 20)(["three two"]).shape[0] == 1
    assert fit_words(["", ""])(["more"]).shape == (1, 2)


def test_means_and_spreads_of_durations_by_hand():
    training = [{"a": [0.1, 0.2, 0.4]}, {"a": [0.3], "b": [0.5, 0.7]}]
    (vector,) = fit_durations(training)([{"a": [0.3, 0.6], "c": [9.0]}])
    logs = np.log([0.1, 0.2, 0.4, 0.3])
    apart = (np.log([0.3, 0.6]) - logs.mean()) / logs.std()
    assert vector == pytest.approx([apart.sum() / 4.0, (apart**2 - 1.0).sum() / 4.0, 0.0, 0.0])


def released(tmp_path, **options):
    texts = {"u1": "Two bears!", "u2": "it is 2"}
    speech = Corpus(
        tuple(Utterance(name, "ada", Path(name), attributes={"text": said}) for name, said in texts.items())
    )
    audited = AuditedSpeech(tmp_path, None, speech, LeftOut())
    return ReleasedSpeech(audited, {each.id: each for each in speech}, None, AuditOptions(**options), Run())


def test_words_come_from_transcripts_that_have_all_or_from_a_recogniser(tmp_path, monkeypatch):
    given = released(tmp_path)
    assert read_words(given) == {"u1": "two bears", "u2": "it is two"}
    file = tmp_path / "text"
    file.write_text("u1 A B\n")
    partial = released(tmp_path, transcripts=file, recogniser="none")
    with pytest.raises(MissingExtra, match="recogniser"):
        read_words(partial)
    heard = []

    def transcribed(utterances, load, recogniser, title, run):
        heard.extend((each.id, recogniser.name) for each in utterances)
        return {each.id: Transcript(f"{each.id} said", 0.0) for each in utterances}

    monkeypatch.setattr(content_cues, "transcribe", transcribed)
    monkeypatch.setattr(content_cues, "can_recognise", lambda name: name == "whisper")
    assert read_words(released(tmp_path, transcripts=file)) == {"u1": "u one said", "u2": "u two said"}
    assert heard == [("u1", "whisper"), ("u2", "whisper")]  # each recording once, by what is installed
    contents, left_out = read_contents(partial)
    assert "words" not in contents
    assert any(reason.startswith("cue:words: ") for reason in left_out)


def test_units_last_until_another_code_follows(monkeypatch):
    networks = SimpleNamespace(encode=lambda wave, size: np.array([3, 3, 5, 5, 5, 3]))
    monkeypatch.setattr(content_cues, "load_networks", lambda: networks)
    durations = content_cues.hear_durations(np.ones(6 * 384, np.float32))
    assert durations == {"3": pytest.approx([0.048, 0.024]), "5": pytest.approx([0.072])}


def test_phones_of_a_file_have_to_be_those_of_all_recordings(tmp_path):
    file = tmp_path / "ctm"
    file.write_text("u1 1 0.0 0.25 AH\nu2 1 0.0 0.5 S\nu3 1 0.0 0.5 S\n")
    assert read_unit_durations(released(tmp_path, phones=file)) == {"u1": {"AH": [0.25]}, "u2": {"S": [0.5]}}
    file.write_text("u1 1 0.0 0.25 AH\n")
    with pytest.raises(InputError, match="ctm: no phones of 'u2'"):
        read_unit_durations(released(tmp_path, phones=file))
    for line, reason in {"u1 1 0 -1 S": "positive", "u1 1 0 S": "4 columns", "u1 1 0 x S": "x", "": "empty"}.items():
        file.write_text(f"{line}\n")
        with pytest.raises(InputError, match=reason):
            read_unit_durations(released(tmp_path, phones=file))


@pytest.mark.parametrize("level", [None, "embeddings", "scores"])
@pytest.mark.parametrize("compared", ["mean", "closest"])
def test_a_trial_is_compared_with_the_mean_of_recordings_or_with_each_of_them(compared, level):
    rng = np.random.default_rng(0)
    who = np.array(["b", "a", "b", "c", "b", "c"])
    draws = [Embeddings(rng.normal(size=(6, 4)), np.array(list("uvwxyz")), who) for _ in range(3)]
    trial = Embeddings(rng.normal(size=(5, 4)), np.arange(5).astype(str), np.array(list("abcab")))
    number = 1 if level is None else 3
    use = DrawUse(enrolment=number, level=level, compared=compared)
    matrix = score_trials(Cosine(centre=False), draws, trial, use)

    def cosine(vector, other):
        return vector @ other / np.linalg.norm(vector) / np.linalg.norm(other)

    for t, vector in enumerate(trial.vectors):
        for p, person in enumerate("abc"):
            drawn = np.stack([draw.vectors[who == person] for draw in draws[:number]])  # draws x recordings
            drawn = drawn.mean(axis=1, keepdims=True) if compared == "mean" else drawn
            drawn = drawn if level == "scores" else drawn.mean(axis=0, keepdims=True)
            scores = [[cosine(vector, each) for each in draw] for draw in drawn]
            assert matrix.scores[t, p] == pytest.approx(np.max(np.mean(scores, axis=0)), abs=1e-6)


def test_development_people_choose_the_closest_recording_of_people_with_two_voices():
    embeddings, split, role = corpus(people=45, each=8, dimension=16, noise=0.3)
    other_voice = np.random.default_rng(3).normal(size=(45, 16))[np.repeat(np.arange(45), 8)]
    second = np.arange(len(embeddings)) % 2 == 1
    for vectors, compared in (
        (embeddings.vectors, "mean"),
        (np.where(second[:, None], embeddings.vectors + 6.0 * other_voice, embeddings.vectors), "closest"),
    ):
        sets = EmbeddingSets.from_roles(Embeddings(vectors, embeddings.ids, embeddings.speakers), split, role)
        options = AuditOptions(
            backends=("cosine",), attackers=("lazy-informed",), measuring=Options(intervals=0, null=0)
        )
        result = audit(sets, sets, options)
        (row,) = (row for row in from_json(to_json(result.rows)) if row.about.role == "attack")
        assert row.about.spent.draws.compared == compared
        assert ("closest" in result.cards[-1].enrolment) == (compared == "closest")


@pytest.mark.parametrize(("more", "compared"), [(1e-9, "mean"), (1e-3, "closest")])
def test_rounding_chooses_no_attacker(more, compared, monkeypatch):
    bits = iter([1.0, 1.0 + more])
    monkeypatch.setattr("zeroevidence.auditing.step_attack.disclosure_and_error", lambda _: (next(bits), 0.0))
    embeddings, split, role = corpus(people=12, each=8, dimension=4, noise=0.3)
    sets = EmbeddingSets.from_roles(embeddings, split, role)
    candidates = [FittedBackend(Cosine(centre=False))]
    result = run_step(find_attacker("ignorant"), "cosine", "mine", {"original": sets, "anonymised": sets}, candidates)
    assert result.draws.compared == compared
