"""Audits from folders of speech: what is refused before any work, and where speech is embedded."""

from dataclasses import replace

import numpy as np
import pytest

from tests.effort import slow
from tests.small_encoder import save_small_encoder
from zeroevidence.attack.extractors.extract import extract_on_device
from zeroevidence.auditing import AuditOptions, audit_corpora, corpus_audit, read_speech
from zeroevidence.errors import InputError
from zeroevidence.evaluation import Options
from zeroevidence.evaluation.results import from_json, to_json
from zeroevidence.evaluation.rows.about import Protection
from zeroevidence.protect.anonymise import anonymise
from zeroevidence.protect.voices import VOICE_PROTECTORS, ProtectorPart, Spelling, register_voice
from zeroevidence.protect.voices.speech_models import RECOGNISERS, RecogniserKind, Transcript, load_recogniser
from zeroevidence.run import Run, silent

soundfile = pytest.importorskip("soundfile")


def speak(path, wave=None, seed=0):
    """Write six thousand samples: a waveform, or noise."""
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, 0.1 * np.random.default_rng(seed).normal(size=6000) if wave is None else wave, 16_000)


def test_a_corpus_without_training_people_is_refused_first(tmp_path):
    rows = ["utterance\tspeaker\tpath\trole"]
    for k in range(6):
        for role in ("enrol", "trial"):
            speak(tmp_path / f"p{k}{role}.wav", seed=k)
            rows.append(f"p{k}{role}\tp{k}\tp{k}{role}.wav\t{role}")
    table = tmp_path / "utterances.tsv"
    table.write_text("\n".join(rows) + "\n")
    with pytest.raises(InputError, match=r"utterances.tsv: every utterance has a role and none is train"):
        audit_corpora(read_speech(table, protector="mcadams"), run=Run(cache=tmp_path / "cache"))
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize(("people", "words"), [(4, "4 speakers, .* expected more speakers"), (5, "needs at least 6")])
def test_too_few_people_are_refused_first(tmp_path, people, words):
    for k in range(people):
        for i in range(4):
            speak(tmp_path / "speech" / f"p{k}" / f"p{k}u{i}.wav", seed=k)
    with pytest.raises(InputError, match=words):
        audit_corpora(read_speech(tmp_path / "speech", protector="mcadams"), run=Run(cache=tmp_path / "cache"))
    assert not (tmp_path / "cache").exists()


@pytest.fixture
def voices(tmp_path):
    """A corpus of people whose recordings have a tone of their own, loud or soft."""
    rng = np.random.default_rng(0)
    for k in range(6):
        for i in range(2):
            tone = np.sin(np.arange(6000) * 0.03 * (k + 2)) * np.sin(np.arange(6000) * 0.002)
            speak(tmp_path / "speech" / f"p{k}" / f"p{k}u{i}.wav", 0.2 * tone + 0.02 * rng.normal(size=6000))
    return tmp_path / "speech"


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    """Audits with a small encoder."""
    pytest.importorskip("torch")
    pytest.importorskip("onnxruntime")
    encoder = save_small_encoder(tmp_path_factory.mktemp("small"))

    plain = AuditOptions(
        extractor=encoder,
        effort="quick",
        backends=("cosine",),
        attackers=("backend-informed",),
        folds=0,
        measuring=Options(intervals=0, null=0),
    )

    def audited(voices, cache, anonymised=(), protector="pitch:2", say=silent, **settings):
        speech = read_speech(voices, anonymised, protector)
        return audit_corpora(speech, replace(plain, **settings), Run(cores=1, cache=cache, say=say))

    return audited


def test_a_gpu_embeds_where_there_is_one(voices, audited, tmp_path, monkeypatch):
    near, devices = audited(voices, tmp_path / "near"), []

    def on_processor(*positional, **named):
        devices.append(named["run"].device)
        return extract_on_device(*positional, **named | {"run": replace(named["run"], device="cpu")})

    monkeypatch.setattr("zeroevidence.auditing.corpus_audit.extract_on_device", on_processor)
    audited(voices, tmp_path / "near")
    assert devices == []
    monkeypatch.setattr("zeroevidence.auditing.corpus_audit.has_gpu", lambda: True)
    far = audited(voices, tmp_path / "far")
    assert set(devices) == {None}  # the first GPU
    for row, other in zip(near.rows, far.rows, strict=True):
        assert other.number("alid") == pytest.approx(row.number("alid"), abs=0.01)
        assert other.number("top1") == row.number("top1")
    assert any((tmp_path / "far" / "features").iterdir())


def test_what_is_protected_here_has_the_numbers_of_what_was_released(voices, audited, tmp_path):
    anonymise(voices, tmp_path / "released", "mcadams")
    here = audited(voices, tmp_path / "here", protector="mcadams")
    there = audited(voices, tmp_path / "there", tmp_path / "released", None)
    assert here.rows
    assert [row.metrics for row in here.rows] == [row.metrics for row in there.rows]


def test_what_is_left_out_in_any_fold_is_named(voices, audited, tmp_path, monkeypatch):
    reasons = {0: ["fewer people"]}  # in the first of several
    monkeypatch.setattr(corpus_audit, "_fine_tune", lambda encoder, fold, options: ([], reasons.get(fold.number, [])))
    settings = {"folds": 3, "attackers": ("backend-informed", "semi-informed"), "backends": None}
    assert "fewer people" in audited(voices, tmp_path, **settings).left_out


def flagged(audit):
    """Whether each row says that refused recordings were left out."""
    return ["refused-left-out" in {flag.code for flag in row.flags} for row in audit.rows]


@pytest.fixture
def listener():
    """A voice protector that recognises words, and does not understand what is soft."""
    part = ProtectorPart("recogniser", "listener", "Hears loud voices", "CC0")

    class Listener:
        name, fingerprint = "listener", "listener:1"

        def __call__(self, wave, rate, utterance):
            if np.abs(wave).max() < 0.1:
                raise InputError(f"utterance '{utterance.id}': not understood")
            return wave[::-1].astype(np.float32)

    register_voice("listener", "Reverses.", Spelling("listener"), parts=lambda _: (part,))(
        lambda text, seed: Listener()
    )
    yield
    VOICE_PROTECTORS._entries.pop("listener")


@pytest.mark.parametrize("soft", [0, 2])
def test_what_a_protector_refuses_within_an_audit_is_left_out(voices, audited, tmp_path, listener, soft):
    for k in range(soft):
        speak(voices / f"p{k}" / f"p{k}soft.wav", 0.01 * np.random.default_rng(k).normal(size=6000))
    lines = []
    audit = audited(voices, tmp_path / "cache", protector="listener", say=lines.append, recogniser="none")
    assert audit.utility == ()
    note = f"note: {soft} of {12 + soft} recordings were refused by the protection and are left out on both sides"
    assert (note in lines) == bool(soft)
    assert flagged(audit) == [bool(soft) and row.about.role == "attack" for row in audit.rows]
    protection = Protection("listener", soft, 12 + soft, recognises=True)
    rows = from_json(to_json(audit.rows))
    assert {(row.about.role == "attack", row.about.protection) for row in rows} == {(True, protection), (False, None)}


@pytest.mark.parametrize("folder", [pytest.param(False, marks=slow), True])
def test_an_audit_measures_word_errors_unasked(voices, audited, tmp_path, monkeypatch, folder):
    pytest.importorskip("jiwer")
    RECOGNISERS.add(
        RecogniserKind("ear", "An ear", "CC0", "1", "recogniser", -1.0, lambda: lambda *_: Transcript("a b", 0.0))
    )
    load_recogniser.cache_clear()
    monkeypatch.setattr("zeroevidence.auditing.word_errors.PREFERRED", ("ear",))
    try:
        given = {}
        if folder:
            for k in (0, 1):
                speak(voices / f"p{k}" / f"p{k}still.wav", np.zeros(6000))
            assert len(anonymise(voices, tmp_path / "released", protect="pitch:2").refused) == 2
            given = {"anonymised": tmp_path / "released", "protector": None}
        audit = audited(voices, tmp_path / "cache", **given)
        assert flagged(audit) == [folder and row.about.role == "attack" for row in audit.rows]
        (row,) = audit.utility
        assert (row["wer"].value, row.labels["recogniser"], row.counts["utterances"]) == (0.0, "ear", 12)
    finally:
        RECOGNISERS.remove("ear")
        load_recogniser.cache_clear()


@pytest.mark.parametrize("effort", ["quick", pytest.param("standard", marks=slow)])
def test_words_and_durations_are_attacked_from_standard_on(voices, audited, tmp_path, effort):
    names = [f"p{k}u{i}" for k in range(6) for i in range(2)]
    (voices / "text").write_text("".join(f"{name} all say {'this' if name < 'p3' else 'that'}\n" for name in names))
    phones, rng = tmp_path / "ctm", np.random.default_rng(0)
    phones.write_text("".join(f"{name} 1 0 {rng.uniform(0.1, 0.3):.3f} {phone}\n" for name in names for phone in "AS"))
    result = audited(voices, tmp_path / "cache", effort=effort, backends=None, phones=phones, recogniser="none")
    cues = {"cue:words", "cue:durations"}
    attacked = {each.encoder for each in result.failed} | {row.labels.get("encoder") for row in result.rows}
    assert cues & attacked == (cues if effort == "standard" else set())
    assert not any(line.startswith("cue:") for line in result.left_out)
    assert {row.people.seconds for row in result.rows if row.about.role == "attack"} == {(6000 / 16000,) * 2}
