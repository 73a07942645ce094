"""Checks of a kit's speech: one good kit, and every way to break it."""

import shutil

import numpy as np
import pytest

from zeroevidence.data.formats.speech_pairs import check_kit
from zeroevidence.errors import InputError

soundfile = pytest.importorskip("soundfile")

RATE = 16_000
SETS = {
    "libri_dev_enrolls": ["s1-e", "s2-e"],
    "libri_dev_trials_f": ["s1-t", "s2-t"],
    "train-clean-360": ["s3-a", "s4-a"],
}


def write_wave(path, seconds=0.5, rate=RATE, gain=0.1, channels=1, pitch=220.0):
    time = np.arange(int(seconds * rate)) / rate
    wave = gain * np.sin(2 * np.pi * pitch * time)
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, np.repeat(wave[:, None], channels, axis=1), rate)


@pytest.fixture
def kit(tmp_path):
    data = tmp_path / "kit" / "data"
    for name, ids in SETS.items():
        for one in ids:
            write_wave(data / name / "wav" / f"{one}.wav")
            write_wave(data / f"{name}_x" / "wav" / f"{one}.wav", pitch=180.0)
        (data / name / "wav.scp").write_text("".join(f"{one} data/{name}/wav/{one}.wav\n" for one in ids))
        (data / name / "utt2spk").write_text("".join(f"{one} {one.split('-')[0]}\n" for one in ids))
    key = "s1 s1-t target\ns1 s2-t nontarget\ns2 s2-t target\n"
    (data / "libri_dev_trials_f" / "trials").write_text(key)
    return data.parent


def told(kit):
    return [str(one).replace(f"{kit}/", "") for one in check_kit(kit, "_x").problems]


def test_a_good_kit(kit):
    report = check_kit(kit, "_x")
    assert report.problems == ()
    assert str(report) == "3 sets, 1 lists of trials, 6 anonymised utterances"
    assert check_kit(kit / "data", "_x") == report


def test_lists_of_files_instead_of_folders(kit):
    for name, ids in SETS.items():
        home = kit / "data" / f"{name}_x"
        (home / "wav").rename(home / "elsewhere")
        (home / "wav.scp").write_text("".join(f"{one} {home}/elsewhere/{one}.wav\n" for one in ids))
    assert told(kit) == []
    (kit / "data/libri_dev_trials_f_x/wav.scp").write_text("s1-t nowhere.wav\ns2-t\n")
    assert told(kit) == [
        "data/libri_dev_trials_f_x/wav.scp:2: 1 column(s); expected 2: utterance file",
        "data/libri_dev_trials_f/wav.scp:2: 's2-t' is not in data/libri_dev_trials_f_x; expected its anonymised speech",
        "nowhere.wav: no such file",
    ]


def test_other_systems_and_joined_sets_are_left_alone(kit):
    for name in ("libri_dev_trials_f_other", "libri_dev_asr"):
        shutil.copytree(kit / "data/libri_dev_trials_f", kit / "data" / name)
    assert check_kit(kit, "_x").sets == 3


BREAKS = {
    "wav/s1-t.wav: silent: no sample above -80 dB": {"gain": 0.0},
    "wav/s1-t.wav: 0.10 s of sound; expected at least 0.2 s to hear a voice in": {"seconds": 0.1},
    "wav/s1-t.wav: 0.90 s; expected about 0.50 s, as its original has": {"seconds": 0.9},
    "wav/s1-t.wav: 8000 Hz; expected 16000 Hz, as its original has": {"rate": 8000},
    "wav/s1-t.wav: 2 channels; expected one": {"channels": 2},
    "wav/s1-t.wav: the same samples as its original; expected anonymised speech": {},
}


@pytest.mark.parametrize("reason", BREAKS)
def test_one_bad_file(kit, reason):
    write_wave(kit / "data/libri_dev_trials_f_x/wav/s1-t.wav", **BREAKS[reason])
    assert told(kit) == [f"data/libri_dev_trials_f_x/{reason}"]


def test_damaged_missing_and_additional_files(kit):
    home = kit / "data/libri_dev_trials_f_x/wav"
    (home / "s1-t.wav").write_bytes(b"RIFF")
    (home / "s2-t.wav").rename(home / "s9-t.wav")
    first, second, third = told(kit)
    assert first.startswith("data/libri_dev_trials_f/wav.scp:2: 's2-t' is not in")
    assert second == "data/libri_dev_trials_f_x: 's9-t' is not in libri_dev_trials_f; expected the same utterances"
    assert third.startswith("data/libri_dev_trials_f_x/wav/s1-t.wav: cannot be read as audio")


def test_a_missing_set(kit):
    shutil.rmtree(kit / "data/train-clean-360_x")
    assert told(kit) == ["data/train-clean-360_x: no such folder; expected the anonymised speech of train-clean-360"]


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        ("s1 s1-t\n", "trials:1: 2 column(s); expected speaker utterance target|nontarget"),
        ("s1 s1-t maybe\n", "trials:1: unknown label 'maybe'; expected target or nontarget (or 1 / 0)"),
        ("s7 s1-t target\n", "trials:1: 's7' is not enrolled in libri_dev_enrolls; expected one of its people"),
    ],
)
def test_keys(kit, key, reason):
    (kit / "data/libri_dev_trials_f/trials").write_text(f"{key}s2 s2-t target\ns1 s1-t target\n")
    assert f"data/libri_dev_trials_f/{reason}" in told(kit)


def test_attackers_learn_from_others(kit):
    (kit / "data/train-clean-360/utt2spk").write_text("s3-a s3\ns4-a s1\n")
    (problem,) = told(kit)
    assert problem.endswith(": speaker 's1' is in train-clean-360, too; expected other people")


def test_nothing_to_check(tmp_path):
    with pytest.raises(InputError, match="no sets of speech"):
        check_kit(tmp_path, "_x")
    with pytest.raises(InputError, match="empty suffix"):
        check_kit(tmp_path, "")
