"""From a folder of protected speech to an encoder that an audit takes."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("onnx")
soundfile = pytest.importorskip("soundfile")
pytest.importorskip("onnxruntime")

from tests.small_encoder import DIM  # noqa: E402
from zeroevidence.attack.encoders import find_card  # noqa: E402
from zeroevidence.attack.extractors import load_extractor  # noqa: E402
from zeroevidence.attack.onnx_cards import read_card, shared_people  # noqa: E402
from zeroevidence.attack.training import TrainingSettings  # noqa: E402
from zeroevidence.attack.training.attacker import AttackerOptions, train_attacker  # noqa: E402
from zeroevidence.attack.training.features import read_features  # noqa: E402
from zeroevidence.attack.training.history import ignore_epoch  # noqa: E402
from zeroevidence.data.audio import load_audio  # noqa: E402
from zeroevidence.data.formats.corpora import read_corpus  # noqa: E402
from zeroevidence.errors import InputError, UsageError  # noqa: E402
from zeroevidence.run import Run, no_progress, silent  # noqa: E402


def voices(folder, people, per_person=3, seed=0):
    """Buzzes of different pitch and colour."""
    rng = np.random.default_rng(seed)
    for k in range(people):
        place = folder / f"p{k:02d}"
        place.mkdir(parents=True)
        for i in range(per_person):
            time = np.arange(12_000) / 16_000
            wave = sum(np.sin(2 * np.pi * (90 + 13 * k) * h * time) * (0.5 + 0.05 * k) ** h for h in range(1, 12))
            wave = wave * (1 + 0.3 * np.sin(2 * np.pi * 3 * time + i)) + 0.05 * rng.normal(size=len(time))
            soundfile.write(place / f"u{i}.wav", 0.1 * wave / np.abs(wave).max(), 16_000)
    return folder


QUICK = TrainingSettings(epochs=2, look=1, batch=8, crop=30)


def train(corpus, folder, settings=QUICK, *, on_epoch=ignore_epoch, step=None, cores=2, say=silent, **options):
    progress = no_progress if step is None else lambda *_: step
    run = Run(settings.seed, cores=cores, progress=progress, say=say, device="cpu")
    return train_attacker(corpus, folder, AttackerOptions(settings=settings, **options), on_epoch=on_epoch, run=run)


def interrupt(done, total):
    if done:
        raise KeyboardInterrupt


@pytest.fixture(scope="module")
def speech(tmp_path_factory):
    return voices(tmp_path_factory.mktemp("voices") / "speech", 12)


def test_an_encoder_learns_from_protected_speech(speech, small, tmp_path):
    said, epochs = [], []
    found = train(speech, tmp_path / "attacker", extractor=small, say=said.append, on_epoch=epochs.append)
    assert (found.people, found.development_people, found.utterances) == (9, 3, 36)
    assert re.search(r"pooling and last layers, 2 epochs at most, on cpu: about [\d.]+ s at most", said[0])
    assert len(said) == 1
    assert [one.number for one in epochs] == [1, 2]
    assert all(one.development is not None for one in epochs)
    assert found.after >= found.before
    card = read_card(found.card)
    assert (len(card.training_people), len(card.development_people)) == (9, 3)
    assert json.loads(found.card.read_text())["training"]["scope"] == "last"
    vectors = load_extractor(found.card).embed([np.random.default_rng(0).normal(size=8000).astype(np.float32)])
    assert vectors.shape == (1, DIM)
    # Features and checkpoints are kept only as long as somebody may want to go on.
    assert sorted(path.name for path in (tmp_path / "attacker").iterdir()) == ["attacker.onnx", "card.json"]
    assert shared_people(card, ["p00", "p11", "stranger"]) == ["p00", "p11"]
    other = replace(QUICK, epochs=1, seed=1)
    with pytest.raises(UsageError, match="attacker: holds a trained encoder; --overwrite replaces it"):
        train(speech, tmp_path / "attacker", other, extractor=small)
    assert read_card(found.card) == card
    assert train(speech, tmp_path / "attacker", other, extractor=small, overwrite=True).epochs == 1
    assert read_card(found.card) != card


def test_a_folder_with_part_of_the_features_is_not_refused(speech, tmp_path):
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            train(speech, tmp_path / "out", step=interrupt, cores=1)
    assert 0 < sum(path.is_file() for path in (tmp_path / "out" / "cache" / "features").rglob("*")) < 36


def test_eight_bits_hardly_move_an_embedding(speech):
    model = load_extractor("campplus")
    utterances = list(read_corpus(speech, draw=False))[::12]
    stored, _ = read_features(utterances, find_card("campplus"))
    for number, utterance in enumerate(utterances):
        whole = model.embed([load_audio(utterance)])[0]
        rounded = model.forward(stored.utterance(number).astype(np.float32)[None])[0]
        assert whole @ rounded / np.linalg.norm(whole) / np.linalg.norm(rounded) > 1.0 - 2e-3


def test_too_few_people_and_a_folder_in_use_are_refused(tmp_path):
    with pytest.raises(InputError, match="6 people; expected at least 10, 8 to learn from and 2 to stop on"):
        train(voices(tmp_path / "few", 6), tmp_path / "out")
    used = tmp_path / "used"
    used.mkdir()
    (used / "mine.txt").write_text("x")
    with pytest.raises(UsageError, match="used"):
        train(tmp_path / "few", used)


def test_people_who_will_be_evaluated_are_refused(speech, tmp_path):
    with pytest.raises(InputError, match="2 of its people will be evaluated, among them 'p00'; expected other people"):
        train(speech, tmp_path / "out", evaluation=voices(tmp_path / "evaluated", 2))
    # In a corpus with roles those who are enrolled or tried are left alone.
    rows = ["utterance\tspeaker\tpath\trole\tsplit"]
    for k in range(12):
        for i in range(3):
            role = "train\t" if k else f"{'trial' if i else 'enrol'}\teval"
            rows.append(f"p{k:02d}-{i}\tp{k:02d}\t{speech}/p{k:02d}/u{i}.wav\t{role}")
    table = tmp_path / "corpus.tsv"
    table.write_text("\n".join(rows) + "\n")
    totals = []

    def stop(done, total):
        totals.append(total)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(table, tmp_path / "out", evaluation=table, step=stop)
    assert totals == [33]
    table.write_text("\n".join(row for row in rows if "train" not in row) + "\n")
    with pytest.raises(InputError, match="every utterance is enrolled or tried"):
        train(table, tmp_path / "other")
