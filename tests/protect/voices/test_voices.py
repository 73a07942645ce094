"""Voice protectors: what all have in common, their names, which the documentation lists, and real speech."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import get_args

import numpy as np
import pytest
from scipy.signal import stft

from zeroevidence.errors import InputError, UsageError
from zeroevidence.protect import External, FormantShift, McAdams, PitchShift, load_protector
from zeroevidence.protect.voices import VOICE_PROTECTORS, Leaves, draw_seed, seeded_protectors, spelling_help

PROTECTORS = [McAdams(), McAdams((0.5, 0.9), per="speaker"), PitchShift(4.0), PitchShift(-4.0)]
PROTECTORS += [PitchShift((-4.0, 4.0), per="utterance"), FormantShift(1.2), FormantShift((1.1, 1.3))]
each = pytest.mark.parametrize("protector", PROTECTORS, ids=lambda p: p.name)


def level(wave):
    return 10 * np.log10(np.mean(np.asarray(wave, np.float64) ** 2))


@each
@pytest.mark.parametrize("rate", [8000, 11025, 48000])
def test_any_rate_keeps_length_energy_and_range_and_repeats(protector, rate, utterance, voice):
    wave = voice.vowel((100.0, 130.0), rate, 0.4)
    kept = wave.copy()
    result = protector(wave, rate, utterance)
    np.testing.assert_array_equal(protector(wave, rate, utterance), result)
    np.testing.assert_array_equal(wave, kept)
    assert (result.dtype, result.shape) == (np.float32, wave.shape)
    assert level(result) == pytest.approx(level(wave), abs=0.01)
    assert np.abs(result).max() <= 1.0
    assert not np.allclose(result, wave, atol=1e-3)


@each
def test_silence_and_offset_stay(protector, utterance, voice):
    for constant in (0.0, 0.25, -1.0, 1e-30):
        wave = np.full(5000, constant, np.float32)
        np.testing.assert_allclose(protector(wave, 16000, utterance), wave, rtol=1e-6)
    speech = voice.vowel(120.0, seconds=0.3)
    result = protector(speech + np.float32(0.2), 16000, utterance)
    assert result.mean(dtype=np.float64) == pytest.approx(0.2 + speech.mean(), abs=1e-3)


@each
@pytest.mark.parametrize(
    "hard", ["pulse", "tone", "silence between", "faint", "steps", "nothing", "one sample", "one frame and one sample"]
)
def test_hard_signals_stay_finite(protector, hard, utterance):
    n = np.arange(8000)
    wave = {
        "pulse": np.where(n == 4000, 1.0, 0.0),
        "tone": 0.9 * np.sin(0.3 * n),
        "silence between": np.where((n > 2000) & (n < 6000), 0.0, np.sin(0.1 * n)),
        "faint": 1e-25 * np.sin(0.1 * n**1.1),
        "steps": np.sign(np.sin(0.01 * n)),
        "nothing": np.zeros(0),
        "one sample": np.full(1, 0.1),
        "one frame and one sample": 0.1 * np.random.default_rng(0).normal(size=641),
    }[hard].astype(np.float32)
    result = protector(wave, 16000, utterance)
    assert (result.shape, result.dtype) == (wave.shape, np.float32)
    assert np.isfinite(result).all()
    assert np.abs(result).max(initial=0.0) <= 1.0
    assert result.any() == bool(len(wave))


@each
def test_full_scale_is_scaled_down_and_not_clipped(protector, utterance, voice):
    wave = np.clip(50 * voice.vowel(120.0, seconds=0.3), -1, 1).astype(np.float32)
    result = protector(wave, 16000, utterance)
    assert np.abs(result).max() <= 1.0
    assert (np.abs(result) == 1.0).sum() <= 1
    assert level(result) <= level(wave) + 0.01


@pytest.mark.parametrize("protector", PROTECTORS[:1] + PROTECTORS[2:3], ids=lambda p: p.name)
@pytest.mark.parametrize(
    ("wave", "rate", "words"),
    [
        (np.array([0.0, np.nan], np.float32), 16000, "NaN"),
        (np.zeros((10, 2), np.float32), 16000, "one channel"),
        (np.zeros(10, np.int16), 16000, "int16"),
        (np.zeros(10, np.float32), 4000, "4000 Hz"),
    ],
)
def test_refused_input_names_the_utterance(protector, wave, rate, words, utterance):
    with pytest.raises(InputError, match=f"utterance s1_u1: .*{words}"):
        protector(wave, rate, utterance)


@pytest.mark.parametrize("kind", [McAdams, PitchShift, FormantShift])
def test_draws_are_per_speaker_or_utterance_and_by_seed(kind, voice):
    def drawn(speaker, spoken, **options):
        return kind((0.6, 1.4), **options).value_for(voice.Spoken(spoken, speaker))

    assert drawn("a", "1") == drawn("a", "2") != drawn("b", "1")
    assert drawn("a", "1", per="utterance") != drawn("a", "2", per="utterance")
    assert drawn("a", "1", seed=1) != drawn("a", "1")
    values = np.array([drawn(str(k), "1") for k in range(2000)])
    assert values.min() >= 0.6
    assert values.max() <= 1.4
    assert values.mean() == pytest.approx(1.0, abs=0.02)


def test_draws_do_not_change_between_versions(voice):
    drawn = McAdams((0.5, 0.9)).value_for(voice.Spoken("01_00", "01"))
    assert drawn == pytest.approx(0.6445008476635767, abs=1e-12)


def test_every_draw_has_a_seed_of_its_own():
    seeds = [draw_seed(seed, draw) for seed in range(20) for draw in range(10)]
    assert len(set(seeds)) == len(seeds)
    assert seeds[::10] == list(range(20))
    assert [each.seed for each in seeded_protectors("pitch:-4..4", 3, 2)] == [3, draw_seed(3, 1)]


def test_fingerprints_tell_everything_apart():
    more = [McAdams((0.5, 0.9), seed=1), McAdams((0.5, 0.9), per="utterance"), McAdams(order=16), McAdams(0.8 + 1e-12)]
    fingerprints = [protector.fingerprint for protector in [*PROTECTORS, *more]]
    assert len(set(fingerprints)) == len(fingerprints)
    assert McAdams((0.5, 0.9)).fingerprint == McAdams((0.5, 0.9), per="speaker").fingerprint


@pytest.mark.parametrize(
    ("name", "protector"),
    [
        ("mcadams", McAdams()),
        ("mcadams:0.7", McAdams(0.7)),
        ("mcadams-random", McAdams((0.5, 0.9), per="speaker", seed=3)),
        ("mcadams:0.6..0.8:utterance", McAdams((0.6, 0.8), per="utterance", seed=3)),
        ("pitch:4", PitchShift(4.0)),
        ("pitch:-3.5", PitchShift(-3.5)),
        ("pitch:-4..4", PitchShift((-4.0, 4.0), per="speaker", seed=3)),
        ("formant:1.2", FormantShift(1.2)),
        ("formant:0.8..1.25:speaker", FormantShift((0.8, 1.25), per="speaker", seed=3)),
        ("command:sox {input} {output} pitch 300", External("sox {input} {output} pitch 300")),
    ],
)
def test_names(name, protector):
    loaded = load_protector(name, seed=3)
    assert loaded.fingerprint == protector.fingerprint
    if not isinstance(loaded, External):
        assert load_protector(loaded.name, seed=3).fingerprint == loaded.fingerprint


@pytest.mark.parametrize("name", ["", "mcadams:loud", "mcadams-random:3", "pitch", "pitch:1..2..3", "formant:1..2:day"])
def test_unknown_names_list_the_known(name):
    with pytest.raises(UsageError, match=r"unknown voice protector .*command:.*formant:1\.2.*mcadams-random.*pitch:4"):
        load_protector(name)


@pytest.mark.parametrize("name", ["mcadams:0", "mcadams:nan", "pitch:13", "pitch:4..-4", "formant:inf"])
def test_impossible_parameters(name):
    with pytest.raises(UsageError, match=name.partition(":")[0]):
        load_protector(name)


@pytest.fixture(scope="module")
def spoken(shared, voice):
    soundfile = pytest.importorskip("soundfile")
    found = sorted((shared / "audiomnist").glob("*/*_00.flac"))[::20]
    if not found:
        pytest.skip("no AudioMNIST on this machine")
    return [(voice.Spoken(path.stem, path.parent.name), *soundfile.read(path, dtype="float32")) for path in found]


def loudness_over_time(wave, rate):
    """Log energy every 16 ms in the whole band, lightly floored: the rhythm of syllables."""
    _, _, spectrum = stft(wave, rate, nperseg=512, noverlap=256)
    power = (np.abs(spectrum) ** 2).sum(axis=0)
    return np.log(power + 1e-4 * power.max())


def movement_kept(one, other, rate):
    """Mean over eight bands of the correlation in time of log energies; unrelated speech has about 0.1."""
    edges = np.array([0, 7, 15, 25, 39, 59, 89, 149])
    levels = []
    for wave in (one, other):
        _, _, spectrum = stft(wave, rate, nperseg=512, noverlap=256)
        bands = np.add.reduceat(np.abs(spectrum[1:]) ** 2, edges, axis=0)
        levels.append(np.log(bands + 1e-3 * bands.max(axis=1, keepdims=True)))
    return np.mean([np.corrcoef(a, b)[0, 1] for a, b in zip(*levels, strict=True)])


@each
def test_real_speech_is_changed_but_still_speech(protector, spoken):
    for utterance, wave, rate in spoken:
        result = protector(wave, rate, utterance)
        assert result.shape == wave.shape
        assert level(result) == pytest.approx(level(wave), abs=3.0)
        assert np.corrcoef(result, wave)[0, 1] < 0.999
        rhythm = np.corrcoef(loudness_over_time(result, rate), loudness_over_time(wave, rate))[0, 1]
        assert rhythm > 0.95
        assert movement_kept(result, wave, rate) > 0.6


@pytest.mark.parametrize("protector", [McAdams(1.0), PitchShift(0.0), FormantShift(1.0)], ids=lambda p: p.name)
def test_neutral_parameters_give_the_input_back(protector, voice):
    for rate in (8000, 16000, 44100):
        wave = voice.vowel((90.0, 150.0), rate)
        np.testing.assert_allclose(protector(wave, rate, voice.Spoken()), wave, atol=1e-5 * np.abs(wave).max())


def test_several_protectors_follow_each_other():
    chain = load_protector("mcadams:0.8+formant:1.2", seed=3)
    wave = np.random.default_rng(0).normal(size=4000).astype(np.float32) * 0.1
    one, two = load_protector("mcadams:0.8"), load_protector("formant:1.2")
    speech = SimpleNamespace(id="u", speaker="s")
    np.testing.assert_array_equal(chain(wave, 16000, speech), two(one(wave, 16000, speech), 16000, speech))
    assert chain.name == "mcadams:0.8+formant:1.2"
    assert chain.fingerprint == f"{one.fingerprint} then {two.fingerprint}"
    with pytest.raises(UsageError, match="unknown voice protector 'nonsense'"):
        load_protector("mcadams+nonsense")


DOCS = Path(__file__).resolve().parents[3] / "docs"


def test_spellings_of_voice_protectors_can_be_read_and_are_on_the_page():
    page = (DOCS / "protectors.md").read_text(encoding="utf-8")
    for name, kind in VOICE_PROTECTORS.items():
        assert kind.description.endswith(".")
        for spelling in kind.spellings:
            assert spelling.text.partition(":")[0] == name
            assert str(spelling) in spelling_help()
            written = spelling.text.replace("'", "")
            assert load_protector(written).fingerprint
            assert f"`{written}`" in page


def test_what_protectors_leave_agrees_with_the_audits_on_the_page():
    page = (DOCS / "protectors.md").read_text(encoding="utf-8")
    tables = [block for block in page.split("\n\n") if block.startswith("| protector | ALID [bit] |")]
    with_all = 0
    for table in tables:
        bits = {name: float(text) for name, text in re.findall(r"^\| ([a-z-]+) \| (\S+) \(", table, re.MULTILINE)}
        order = {name: get_args(Leaves).index(VOICE_PROTECTORS[name].leaves) for name in bits.keys() & VOICE_PROTECTORS}
        with_all += {"mcadams", "onevoice", "cascade"} <= set(order)
        assert all(bits[first] > bits[other] for first in order for other in order if order[first] < order[other])
    assert with_all >= 2
