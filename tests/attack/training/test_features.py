"""Features on disk: read once, by one process or several, and never torn."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from zeroevidence.attack.encoders import find_card
from zeroevidence.attack.onnx_cards import FRONT_ENDS
from zeroevidence.attack.training.features import read_features
from zeroevidence.attack.voice_transforms import CachedTransform
from zeroevidence.data.audio import load_audio
from zeroevidence.data.store import Store
from zeroevidence.errors import InputError, OutputError, ZeroEvidenceError
from zeroevidence.parallel import compute_each
from zeroevidence.protect import load_protector
from zeroevidence.run import Run

pytest.importorskip("soundfile")
CARD = find_card("campplus")


@pytest.fixture
def utterances(recordings):
    return recordings([6000 + 100 * number for number in range(20)])


@pytest.fixture
def computed(monkeypatch):
    """The lengths of the waves whose features this process has computed."""
    lengths = []
    front_end = FRONT_ENDS["kaldi-fbank"]
    monkeypatch.setitem(FRONT_ENDS, "kaldi-fbank", lambda wave: lengths.append(len(wave)) or front_end(wave))
    return lengths


def entries(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_processes_and_folders_change_nothing(utterances, tmp_path):
    memory, _ = read_features(utterances, CARD, run=Run(cores=1))
    for cores in (1, 2):
        stored, _ = read_features(utterances, CARD, run=Run(cores=cores, cache=tmp_path / str(cores)))
        assert stored.digest == memory.digest
        assert len(entries(tmp_path / str(cores))) == len(utterances)
        other = pickle.loads(pickle.dumps(stored))  # as another process of the training gets it
        for number in range(len(utterances)):
            np.testing.assert_array_equal(other.utterance(number), memory.utterance(number))
        np.testing.assert_array_equal(other.take(np.array([7])).utterance(0, 5, 9), memory.utterance(7)[5:14])


@pytest.mark.parametrize("front_end", FRONT_ENDS)
def test_features_are_rounded_to_a_255th_of_the_range_of_their_band(utterances, front_end):
    rounded = read_features(utterances, replace(CARD, front_end=front_end), run=Run(cores=1))[0].utterance(7)
    frames = FRONT_ENDS[front_end](load_audio(utterances[7]))
    half = np.abs(frames).max(axis=0) * 2.0**-11  # the least number of a band and what is read have half precision
    assert (np.abs(rounded - frames).max(axis=0) < np.ptp(frames, axis=0) / 510.0 * 1.01 + 3.0 * half).all()
    assert max(len(np.unique(band)) for band in rounded.T) <= 256


def test_a_band_in_which_nothing_changes_stays_as_it_is(utterances, monkeypatch):
    monkeypatch.setitem(FRONT_ENDS, "kaldi-fbank", lambda wave: np.full((7, 80), 0.5, np.float32))
    assert (read_features(utterances, CARD, run=Run(cores=1))[0].utterance(0) == 0.5).all()


def test_reading_that_was_cut_off_goes_on(utterances, tmp_path, computed):
    def interrupt(done, total):
        raise KeyboardInterrupt

    run = Run(cores=1, cache=tmp_path / "cache")
    with pytest.raises(KeyboardInterrupt):
        read_features(utterances, CARD, step=interrupt, run=run)
    assert len(computed) == 1
    read_features(utterances, CARD, run=run)
    assert len(computed) == 20
    torn, damaged = entries(tmp_path / "cache")[:2]
    torn.write_bytes(torn.read_bytes()[:-1])
    damaged.write_bytes(damaged.read_bytes()[:-2] + b"xx")
    stored, _ = read_features(utterances, CARD, run=run)
    assert len(computed) == 22
    assert stored.digest == read_features(utterances, CARD, run=Run(cores=1))[0].digest


def test_protected_speech_has_features_of_its_own(utterances, tmp_path):
    transform = CachedTransform(load_protector("pitch:2", seed=0), Store(tmp_path, "protected"))
    run = Run(cores=2, cache=tmp_path)
    plain, _ = read_features(utterances, CARD, run=run)
    changed, _ = read_features(utterances, CARD, transform=transform, run=run)
    assert changed.digest == read_features(utterances, CARD, transform=transform, run=Run(cores=1))[0].digest
    assert changed.digest != plain.digest


def test_what_cannot_be_read_or_written_is_named(utterances, tmp_path):
    missing = [*utterances, replace(utterances[0], path=tmp_path / "no.wav")]
    with pytest.raises(InputError, match=r"no\.wav: no such file"):
        read_features(missing, CARD, run=Run(cores=2, cache=tmp_path / "cache"))
    (tmp_path / "file").write_text("x")
    with pytest.raises(OutputError, match="file"):
        read_features(utterances, CARD, run=Run(cores=1, cache=tmp_path / "file"))


def test_a_cluster_without_workers_says_so():
    class Empty:
        submit = None

        def nthreads(self):
            return {}

    pytest.importorskip("distributed")
    with pytest.raises(ZeroEvidenceError, match="the cluster has no workers"):
        list(compute_each(abs, [1], Run(scheduler=Empty())))
