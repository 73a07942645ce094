"""Speech with known faults and known protections: what `doctor` and `audit` say of each."""

import json
import shutil

import numpy as np
import pytest

from tests.effort import slow
from tests.spectrum import Spectrum
from zeroevidence.data.audio import load_audio, write_audio
from zeroevidence.errors import MissingExtra
from zeroevidence.evaluation import read_results

pytest.importorskip("soundfile")

RATE = 16_000
PEOPLE, RECORDINGS = 15, 6
QUICK = ("--effort", "quick", "--backend", "cosine", "--intervals", 0, "--null", 0, "--splits", 1)


def speak(rng, pitch, formants, seconds=0.4):
    """Return a recording: the harmonics of a pitch under formants, each a little different every time."""
    time = np.arange(round(RATE * seconds)) / RATE
    frequencies = pitch * rng.normal(1.0, 0.02) * np.arange(1, int(5000 / pitch))
    peaks = formants * rng.normal(1.0, 0.03, len(formants))
    heights = sum(1.0 / (1.0 + ((frequencies - peak) / 120.0) ** 2) for peak in peaks)
    phases = rng.uniform(0.0, 2.0 * np.pi, len(frequencies))
    wave = heights @ np.sin(2.0 * np.pi * frequencies[:, None] * time + phases[:, None])
    return 0.2 * wave / np.abs(wave).max() + rng.normal(0.0, 1e-3, len(time))


@pytest.fixture(scope="module")
def speech(tmp_path_factory):
    """People with a pitch and formants each, and a recording in another voice of every recording."""
    home, rng = tmp_path_factory.mktemp("speech"), np.random.default_rng(0)
    other = rng.uniform(1.0, 1.1) * np.array([500.0, 1500.0, 2500.0])
    for number in range(PEOPLE):
        pitch, formants = rng.uniform(90.0, 230.0), np.array([550.0, 1600.0, 2600.0]) * rng.uniform(0.8, 1.2, 3)
        for folder in ("original", "one-voice"):
            (home / folder / f"p{number:02d}").mkdir(parents=True)
        for recording in range(RECORDINGS):
            place = f"p{number:02d}/p{number:02d}_{recording}.wav"
            write_audio(home / "original" / place, speak(rng, pitch, formants))
            write_audio(home / "one-voice" / place, speak(rng, 150.0, other))
    return home


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """A quick encoder, and no page."""

    def save_report(*_, **__):
        raise MissingExtra("report", "the report")

    monkeypatch.setattr("zeroevidence.auditing.corpus_audit.load_extractor", lambda name, **_: Spectrum())
    monkeypatch.setattr("zeroevidence.report.document.save_report", save_report)


def written(speech, folder, change, suffix="wav"):
    """Write every recording as a function changes it, and return the folder."""
    for path in sorted((speech / "original").rglob("*.wav")):
        (folder / path.parent.name).mkdir(parents=True, exist_ok=True)
        write_audio(folder / path.parent.name / f"{path.stem}.{suffix}", change(load_audio(path)))
    return folder


def flags_of_attacks(out):
    """Return the flags of the attacks of an audit by code, the same on each of them where they are about the files."""
    rows = [row for row in read_results(out) if row.about.role == "attack"]
    assert [row.about.threat.name for row in rows[:3]] == ["ignorant", "lazy-informed", "backend-informed"]
    about_speech = ("same-audio", "waveform-kept", "drawn-per-speaker")
    flags = [{flag.code: flag.sentence for flag in row.flags if flag.code in about_speech} for row in rows]
    assert all(each == flags[0] for each in flags)
    return flags[0]


KNOWS = {"unprotected": False, "random": False, "ignorant": False, "lazy-informed": True, "backend-informed": True}


def who_knows(out):
    """Return for each attacker whether its card says that the attacker can run the protection."""
    cards = json.loads((out / "attackers.json").read_text())
    return {card["name"].split()[0]: "which the attacker can run" in " ".join(card["opportunity"]) for card in cards}


def audited(run, speech, out, *arguments):
    printed, err = run.well("audit", speech / "original", *arguments, *QUICK, "-o", out)
    return printed, err


def test_silence_is_listed_by_doctor_and_refused_by_audit(run, speech, tmp_path):
    corpus, other = speech / "original", tmp_path / "anonymised"
    shutil.copytree(speech / "one-voice", other)
    silent = [other / place for place in ("p03/p03_1.wav", "p07/p07_4.wav")]
    for path in silent:
        write_audio(path, np.zeros(RATE // 2))
    code, listed, _ = run("doctor", "--corpus", corpus, "--anonymised", other)
    assert code == 3
    shown = [line for line in listed.splitlines() if "silent" in line]
    assert shown == [f"{path}: silent: no sample above -80 dB" for path in silent]
    code, _, err = run("audit", corpus, "--anonymised", other, *QUICK, "-o", tmp_path / "out")
    assert code == 3
    first = f"{silent[0]}: silent: no sample above -80 dB (and 1 more; `zeroevidence doctor --corpus`"
    assert err.startswith(f"auditing speech\n{first}")


@pytest.mark.parametrize(("suffix", "gain", "words"), [("flac", 1.0, "by sample"), ("wav", 0.5, "correlate by 1.0000")])
def test_a_copy_is_listed_by_doctor_and_refused_by_audit(run, speech, tmp_path, suffix, gain, words):
    corpus, copy = speech / "original", written(speech, tmp_path / "copy", lambda wave: gain * wave, suffix)
    code, listed, _ = run("doctor", "--corpus", corpus, "--anonymised", copy, "--limit", 1000)
    assert code == 3
    lines = [line for line in listed.splitlines() if "is the original of" in line]
    assert len(lines) == PEOPLE * RECORDINGS
    assert all(words in line for line in lines)
    code, _, err = run("audit", corpus, "--anonymised", copy, *QUICK, "-o", tmp_path / "out")
    assert code == 3
    assert err.startswith(f"auditing speech\n{lines[0]}")
    assert f"(and {PEOPLE * RECORDINGS - 1} more; `zeroevidence doctor --corpus` lists them)" in err


@pytest.mark.parametrize(
    ("case", "note", "code"),
    [
        ("encoded with loss", "has nearly the waveform of the original of", "waveform-kept"),
        ("the same file for all", "the same audio stands for 90 utterances of 15 speakers", "same-audio"),
        ("one voice", None, None),
    ],
)
def test_what_is_noted_by_doctor_and_flagged_by_audit(run, speech, tmp_path, case, note, code):
    said = speak(np.random.default_rng(1), 150.0, np.array([500.0, 1500.0, 2500.0]))
    folder = {
        "encoded with loss": lambda: written(speech, tmp_path / "copy", lambda wave: wave, "ogg"),
        "the same file for all": lambda: written(speech, tmp_path / "same", lambda wave: said),
        "one voice": lambda: speech / "one-voice",
    }[case]()
    ended, listed, _ = run("doctor", "--corpus", speech / "original", "--anonymised", folder, "--limit", 1000)
    assert (ended, listed.count("note: ") > 0) == (0, note is not None)
    _, err = audited(run, speech, tmp_path / "out", "--anonymised", folder)
    flags = flags_of_attacks(tmp_path / "out")
    assert list(flags) == [name for name in (code,) if name]
    if note:
        assert note in listed
        assert note in err
        assert flags[code].startswith("90 of 90 protected recordings")


@pytest.mark.parametrize(
    ("protector", "released", "drawn"),
    [
        pytest.param("pitch:4", False, False, marks=slow),
        ("pitch:4", True, False),
        pytest.param("mcadams:0.5..0.9:utterance", False, False, marks=slow),
        ("mcadams:0.5..0.9", False, True),
        pytest.param("mcadams:0.5..0.9", True, True, marks=slow),
        pytest.param("formant:0.75..1.35", False, True, marks=slow),
    ],
)
def test_what_is_drawn_for_each_speaker(run, speech, tmp_path, protector, released, drawn):
    protection = ("--protect", protector)
    if released:
        run.well("anonymise", speech / "original", "-o", tmp_path / "released", *protection, "--seed", 0)
        protection = ("--anonymised", tmp_path / "released")
    audited(run, speech, tmp_path / "out", *protection)
    assert released or who_knows(tmp_path / "out") == KNOWS
    flags = flags_of_attacks(tmp_path / "out")
    assert list(flags) == (["drawn-per-speaker"] if drawn else [])
    assert all("something may be drawn per speaker" in sentence for sentence in flags.values())
