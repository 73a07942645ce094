"""Encoders that learn within an audit: what they learn from, what is kept, and why they may not."""

import json
from dataclasses import replace

import numpy as np
import pytest

from tests.effort import slow
from tests.small_encoder import DIM, save_small_encoder
from zeroevidence.attack.extractors import load_extractor
from zeroevidence.attack.onnx_cards import person_digest
from zeroevidence.attack.training import TrainingSettings
from zeroevidence.auditing import AuditOptions, audit_corpora, read_speech
from zeroevidence.auditing import fine_tuning as finetuning
from zeroevidence.auditing.fine_tuning import FineTuner
from zeroevidence.data.corpus import Utterance
from zeroevidence.errors import InputError, MissingExtra
from zeroevidence.evaluation import Options
from zeroevidence.run import Run

pytest.importorskip("torch")
pytest.importorskip("onnxruntime")
soundfile = pytest.importorskip("soundfile")

RATE = 16_000
TRAIN, DEV = 16, 3
P03 = person_digest("p03")


def voice(speaker, utterance):
    rng = np.random.default_rng([speaker, utterance])
    time = np.arange(RATE // 2) / RATE
    tilt = 0.5 + 0.02 * speaker
    tones = sum(tilt**h * np.sin(2 * np.pi * (90 + 9 * speaker) * h * time + rng.uniform(0, 6)) for h in range(1, 9))
    return 0.1 * tones + 0.01 * rng.normal(size=len(time))


@pytest.fixture(scope="module")
def utterances(tmp_path_factory):
    home = tmp_path_factory.mktemp("speech")
    found = []
    for speaker in range(TRAIN + DEV):
        for number in range(2):
            path = home / f"p{speaker:02d}_{number}.wav"
            soundfile.write(path, voice(speaker, number), RATE)
            role, split = ("train", None) if speaker < TRAIN else (("enrol", "trial")[number], "dev")
            found.append(Utterance(path.stem, f"p{speaker:02d}", path, role, split))
    return found


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """The card of an encoder with few weights."""
    return save_small_encoder(tmp_path_factory.mktemp("small"))


# Enough to see what is kept; weights are random, and far from what can be learned.
SHORT = TrainingSettings(epochs=2, look=1, crop=30, batch=32, learning_rate=3e-3)


@pytest.mark.parametrize("effort", ["full", pytest.param("standard", marks=slow)])
def test_an_encoder_learns_once_and_is_kept(utterances, small, tmp_path, monkeypatch, effort):
    said = []
    tuning = FineTuner(utterances, None, effort, Run(cache=tmp_path, say=said.append), SHORT)
    encoder = load_extractor(small)
    found = tuning(encoder)
    assert found.reason == ""
    assert (found.learned.people, found.learned.recordings, found.learned.epochs) == (TRAIN, 2 * TRAIN, 2)
    assert said
    vectors = load_extractor(found.card).embed([voice(0, 0).astype(np.float32)])
    assert vectors.shape == (1, DIM)
    if effort == "full":  # it learns again from less
        assert found.further == ""
        assert found.learned.over_people.amount == (8, 16)
        assert found.learned.over_epochs.amount == (1, 2)
        assert not list(tmp_path.rglob("training.safetensors"))  # nothing is left to train
    else:
        assert "every weight" in found.further
        assert not np.allclose(vectors, encoder.embed([voice(0, 0).astype(np.float32)]))
    monkeypatch.setattr(finetuning, "fine_tune", None)  # it must not be trained again
    kept = tuning(encoder)
    assert (kept.card, kept.learned) == (found.card, found.learned)


@pytest.mark.parametrize(("draws", "epochs"), [(1, 30), (2, 22), (5, 14), (10, 10)])
def test_there_are_fewer_epochs_over_more_draws(utterances, tmp_path, draws, epochs):
    tuner = FineTuner(utterances, None, "full", Run(cache=tmp_path), draws=draws)
    assert tuner._filled("all").epochs == epochs
    assert replace(tuner, settings=TrainingSettings(epochs=7))._filled("all").epochs == 7


def test_what_prevents_it_is_said(utterances, small, tmp_path, monkeypatch):
    few = [one for one in utterances if one.speaker < "p07" or one.split == "dev"]
    assert FineTuner(few, None, "full", Run(cache=tmp_path))(load_extractor(small)).reason == (
        "7 training people; an encoder needs at least 8 to learn"
    )
    assert "no ONNX file" in FineTuner(utterances, None, "full", Run(cache=tmp_path))(load_extractor("cues")).reason

    def missing(_):
        raise MissingExtra("torch", "training")

    monkeypatch.setattr(finetuning, "training_loop", missing)
    assert (
        "zeroevidence[torch]" in FineTuner(utterances, None, "full", Run(cache=tmp_path))(load_extractor(small)).reason
    )


def test_an_encoder_that_knows_the_evaluated_people_is_refused(utterances, small, tmp_path):
    known = small.with_name("known.json")
    known.write_text(json.dumps(json.loads(small.read_text()) | {"name": "retrained", "training_people": [P03]}))
    lines = ["utterance\tspeaker\tpath\trole\tsplit"]
    for number, each in enumerate(utterances):
        split = "eval" if each.speaker < "p06" else each.split
        role = ("enrol", "trial")[number % 2] if split else "train"
        lines.append(f"{each.id}\t{each.speaker}\t{each.path}\t{role}\t{split or ''}")
    (tmp_path / "utterances.tsv").write_text("\n".join(lines) + "\n")
    options = AuditOptions(extractor=small, extractor_anonymised=known, measuring=Options(intervals=0, null=0))
    speech = read_speech(tmp_path / "utterances.tsv", protector="mcadams")
    with pytest.raises(InputError, match="retrained was trained with 1 of the evaluated people, among them 'p03'"):
        audit_corpora(speech, options, Run(cache=tmp_path / "cache"))
