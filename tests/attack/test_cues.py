"""Cues beside the voice: known answers on signals that were made, invariances, odd waves, and real people."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.signal import lfilter

from tests.effort import slow
from zeroevidence.attack.backends.cosine import Cosine
from zeroevidence.attack.backends.plda import covariances, diagonalise
from zeroevidence.attack.cues import CUES, cue_values
from zeroevidence.attack.cues.recording import EDGES
from zeroevidence.attack.cues.speech_signal import SpeechSignal
from zeroevidence.attack.extractors import load_extractor
from zeroevidence.data.audio import load_audio
from zeroevidence.data.formats.corpora import read_corpus
from zeroevidence.errors import InputError, UsageError

RATE = 16000
DOCS = Path(__file__).resolve().parents[2] / "docs"


def seconds(duration):
    return np.arange(round(duration * RATE)) / RATE


def tone(frequency, duration=1.0, amplitude=0.3):
    return amplitude * np.sin(2 * np.pi * frequency * seconds(duration))


def noise(duration=1.0, amplitude=0.1, seed=0):
    return amplitude * np.random.default_rng(seed).normal(size=round(duration * RATE))


def harmonics(phase, count=12):
    """A buzz like a voice's source."""
    return 0.1 * sum(np.cos(k * phase) / k for k in range(1, count + 1))


def glide(low, high, duration=2.0):
    """Phase of a pitch that rises by the same interval every second, and that pitch."""
    pitch = low * (high / low) ** (seconds(duration) / duration)
    return 2 * np.pi * np.cumsum(pitch) / RATE, pitch


def syllables(per_second, duration=5.0, seed=0):
    """Noise whose level comes and goes."""
    return noise(duration, seed=seed) * (0.02 + 0.5 - 0.5 * np.cos(2 * np.pi * per_second * seconds(duration)))


def silence(duration):
    return noise(duration, 1e-4, seed=9)


class TestTable:
    def test_each_cue_is_an_extractor(self):
        assert list(CUES) == sorted(CUES)
        waves = [tone(150.0), syllables(4.0, 1.0), np.zeros(800)]
        names = ["cues", "cue:pitch+rate", *(f"cue:{name}" for name in CUES)]
        assert len({load_extractor(name).fingerprint for name in names}) == len(names)
        together = load_extractor("cues")
        parts = []
        for name, cue in CUES.items():
            model = load_extractor(f"cue:{name}")
            assert (model.name, model.dim, model.sample_rate) == (f"cue:{name}", len(cue.features), RATE)
            parts.append(model.embed(waves))
            assert parts[-1].shape == (3, model.dim)
            assert parts[-1].dtype == np.float32
        np.testing.assert_array_equal(together.embed(waves), np.concatenate(parts, axis=1))
        np.testing.assert_array_equal(together.embed(waves[1:2]), together.embed(waves)[1:2])
        assert together.embed([]).shape == (0, together.dim)

    def test_several_cues(self):
        assert load_extractor("cue:rate+pitch+rate").name == "cue:pitch+rate"
        assert load_extractor("cue:" + "+".join(CUES)).name == "cues"

    @pytest.mark.parametrize("name", ["cue:", "cue:mood", "cue:rate+", "cue:rate,pitch"])
    def test_unknown_cues(self, name):
        with pytest.raises(UsageError, match=r"unknown cue .*; expected background, band"):
            load_extractor(name)

    def test_vectors_are_values_over_spreads(self):
        wave = syllables(4.0, 2.0)
        values = cue_values(wave, "rate")["rate"]
        vector = load_extractor("cue:rate").embed([wave])[0]
        for number, feature in zip(vector, CUES["rate"].features, strict=True):
            told = not np.isnan(values[feature.name])
            assert number == pytest.approx((values[feature.name] - feature.usual) / feature.spread if told else 0.0)

    def test_the_page_has_each(self):
        page = (DOCS / "cues.md").read_text(encoding="utf-8")
        for cue in CUES.values():
            assert f"| `cue:{cue.name}` | {cue.description} | {len(cue.features)} |" in page
            named = [feature.name for feature in cue.features if " to " not in feature.name]  # the others are bands
            assert all(f"{name} (" in page for name in named)


class TestPitch:
    @pytest.mark.parametrize("frequency", [65.0, 110.0, 155.5, 220.0, 330.0, 490.0])
    @pytest.mark.parametrize("rich", [False, True])
    def test_tones(self, frequency, rich):
        wave = harmonics(2 * np.pi * frequency * seconds(1.0)) if rich else tone(frequency)
        track = SpeechSignal(wave).pitch[5:-5]
        np.testing.assert_allclose(track, frequency, rtol=0.01)
        values = cue_values(wave, "pitch")["pitch"]
        assert np.exp(values["mean"]) == pytest.approx(frequency, rel=0.01)
        assert np.exp(values["median"]) == pytest.approx(frequency, rel=0.005)
        assert values["range"] < 0.02
        assert values["mean slope"] == pytest.approx(0.0, abs=0.05)

    @pytest.mark.parametrize(("low", "high"), [(90.0, 180.0), (260.0, 130.0), (200.0, 400.0)])
    def test_glides(self, low, high):
        phase, pitch = glide(low, high)
        for wave in (harmonics(phase), 0.2 * np.sin(phase)):
            track = SpeechSignal(wave).pitch
            middles = np.arange(len(track)) * 160 + 80
            np.testing.assert_allclose(track[5:-5], pitch[middles][5:-5], rtol=0.01)
            values = cue_values(wave, "pitch")["pitch"]
            assert values["mean"] == pytest.approx(np.log(pitch).mean(), abs=0.01)
            assert values["deviation"] == pytest.approx(np.log(pitch).std(), rel=0.03)
            assert values["range"] == pytest.approx(0.9 * abs(np.log(high / low)), rel=0.03)
            assert values["mean slope"] == pytest.approx(np.log(high / low) / 2.0, rel=0.03)
            assert values["rising share"] == pytest.approx(float(high > low), abs=0.02)

    @pytest.mark.parametrize("f0", [95.0, 140.0, 230.0, 320.0])
    def test_strong_formants_and_noise_do_not_move_it_by_an_octave(self, f0):
        wave = harmonics(2 * np.pi * f0 * seconds(1.0), 30)
        for formant in (500.0, 1500.0):
            radius = np.exp(-np.pi * 80.0 / RATE)
            wave = lfilter([1.0], [1.0, -2 * radius * np.cos(2 * np.pi * formant / RATE), radius**2], wave)
        wave = wave / wave.std() + noise(amplitude=0.1) + 0.5 * np.sin(2 * np.pi * 10.0 * seconds(1.0))
        track = SpeechSignal(0.1 * wave).pitch[5:-5]
        assert np.isfinite(track).mean() > 0.95
        assert np.nanmedian(track) == pytest.approx(f0, rel=0.005)
        assert np.nanmax(np.abs(np.log2(track / f0))) < 0.1

    def test_noise_has_no_voice(self):
        assert np.isnan(SpeechSignal(noise(3.0)).pitch).all()
        values = cue_values(noise(3.0), "pitch", "rate")
        assert all(np.isnan(value) for value in values["pitch"].values())
        assert values["rate"]["voiced share"] == 0.0
        assert not load_extractor("cue:pitch").embed([noise(3.0)]).any()

    def test_voiced_share_and_runs(self):
        wave = np.concatenate([tone(150.0, 0.6, 0.14), noise(0.4)] * 3)
        values = cue_values(wave, "rate")["rate"]
        assert values["voiced share"] == pytest.approx(0.6, abs=0.04)
        assert values["voiced run"] == pytest.approx(0.6, abs=0.04)


class TestRate:
    @pytest.mark.parametrize("per_second", [2.0, 4.0, 7.0])
    def test_syllables(self, per_second):
        values = cue_values(syllables(per_second), "rate")["rate"]
        assert values["articulation rate"] == pytest.approx(per_second, rel=0.06)
        assert values["syllable gap deviation"] < 0.03

    def test_pauses(self):
        phrase = syllables(4.0, 1.0) + noise(1.0, 0.02, seed=3)
        wave = np.concatenate([silence(0.4), phrase, silence(0.5), phrase, silence(0.3), phrase, silence(0.7)])
        values = cue_values(wave, "rate", "length")
        rate = values["rate"]
        assert rate["pause length"] == pytest.approx(0.4, abs=0.02)
        assert rate["pause share"] == pytest.approx(0.8 / 3.8, abs=0.01)
        assert rate["pauses"] == pytest.approx(2 / 3.8, rel=0.02)
        assert rate["speech rate"] == pytest.approx(rate["articulation rate"] * 3.0 / 3.8, rel=0.02)
        length = values["length"]
        assert np.exp(length["duration"]) == pytest.approx(4.9)
        assert np.exp(length["leading silence"]) - 0.05 == pytest.approx(0.4, abs=0.02)
        assert np.exp(length["trailing silence"]) - 0.05 == pytest.approx(0.7, abs=0.02)

    def test_short_gaps_are_no_pauses_and_clicks_no_speech(self):
        wave = np.concatenate([noise(0.5), silence(0.1), noise(0.5), silence(1.0), noise(0.02, 0.3), silence(1.0)])
        values = cue_values(wave, "rate", "length")
        assert (values["rate"]["pauses"], values["rate"]["pause length"]) == (0.0, 0.0)
        assert np.exp(values["length"]["trailing silence"]) - 0.05 == pytest.approx(2.02, abs=0.02)
        steady = cue_values(noise(2.0), "rate", "length")
        assert steady["rate"]["pause share"] == 0.0
        for side in ("leading silence", "trailing silence"):
            assert steady["length"][side] == pytest.approx(np.log(0.05))


class TestLevel:
    def test_levels_of_a_tone(self):
        values = cue_values(tone(200.0, amplitude=0.1), "level")["level"]
        assert values["level"] == pytest.approx(-23.01, abs=0.01)
        assert values["crest"] == pytest.approx(3.01, abs=0.01)
        assert values["dynamic range"] < 0.1
        assert values["clipping"] == -6.0

    def test_noise_and_signal(self):
        quiet = 10.0 ** (-60.0 / 20.0)
        hiss = noise(3.0, quiet)
        wave = hiss + np.pad(tone(200.0, 1.0, 0.1), (RATE, RATE))
        values = cue_values(wave, "level")["level"]
        assert values["noise floor"] == pytest.approx(-60.0, abs=0.5)
        assert values["signal to noise"] == pytest.approx(37.0, abs=1.0)
        assert values["dynamic range"] == pytest.approx(37.0, abs=1.0)
        assert values["level"] == pytest.approx(-23.01 - 10 * np.log10(3.0), abs=0.05)

    def test_clipping_and_offset(self):
        wave = np.clip(2.0 * tone(200.0, amplitude=1.0), -1.0, 1.0)
        share = np.mean(np.abs(wave) >= 0.999)
        assert cue_values(wave, "level")["level"]["clipping"] == pytest.approx(np.log10(share))
        for offset in (-0.01, 0.0, 2e-4):
            value = cue_values(tone(200.0) + offset, "level")["level"]["offset"]
            assert 1e-4 * np.sinh(value) == pytest.approx(offset, rel=1e-3, abs=1e-9)


class TestBand:
    @pytest.mark.parametrize("edge", [2000.0, 3400.0, 5000.0, 7000.0])
    def test_band_limited_noise(self, edge):
        bins = np.fft.rfft(noise(10.0))
        wave = np.fft.irfft(np.where(np.arange(len(bins)) < 10.0 * edge, bins, 0.0))
        values = cue_values(wave, "band")["band"]
        assert values["bandwidth 99 %"] == pytest.approx(0.99 * edge, rel=0.02)
        assert values["bandwidth 90 %"] == pytest.approx(0.90 * edge, rel=0.02)
        assert values["centroid"] == pytest.approx(edge / 2, rel=0.03)
        assert values["cut-off"] == pytest.approx(edge, abs=150.0)
        assert values["steepest fall"] > 15.0

    def test_white_noise_is_flat(self):
        values = cue_values(noise(5.0), "band", "spectrum")
        assert values["band"]["tilt"] == pytest.approx(0.0, abs=0.1)
        assert values["band"]["cut-off"] == 8000.0
        assert values["band"]["steepest fall"] < 2.0
        shares = 10.0 ** (np.array(list(values["spectrum"].values())) / 10.0)
        assert shares.sum() == pytest.approx(1.0)
        np.testing.assert_allclose(shares, np.diff(EDGES) / 8000.0, rtol=0.15)

    @pytest.mark.parametrize("order", [1, 2])
    def test_tilt(self, order):
        bins = np.fft.rfft(noise(5.0))
        bins[1:] /= np.arange(1, len(bins)) ** (order / 2.0)  # -3 dB an octave, and -6
        bins[0] = 0.0
        wave = np.fft.irfft(bins)
        assert cue_values(0.1 * wave / wave.std(), "band")["band"]["tilt"] == pytest.approx(-3.01 * order, abs=0.2)

    @pytest.mark.parametrize("frequency", [150.0, 700.0, 3000.0, 7500.0])
    def test_a_tone_is_in_its_band(self, frequency):
        values = np.array(list(cue_values(tone(frequency), "spectrum")["spectrum"].values()))
        assert values.argmax() == np.searchsorted(EDGES, frequency) - 1
        assert values.max() > -1.0


def spoken(voice, hiss):
    """A voice between pauses, over a hiss."""
    wave = np.concatenate([np.zeros(8000), voice, np.zeros(8000), voice, np.zeros(8000)])
    return wave + hiss[: len(wave)]


class TestBackground:
    def test_voices_are_not_heard_and_noises_are(self):
        white, dull = noise(4.0, 1e-3), lfilter([1.0], [1.0, -0.9], noise(4.0, 3e-4, seed=1))
        deep, high = harmonics(2 * np.pi * 110.0 * seconds(0.8)), tone(300.0, 0.8)
        sounds = (deep, white), (high, white), (deep, dull)
        measured = [cue_values(spoken(*sound), "background")["background"] for sound in sounds]
        before, other_voice, other_noise = (np.array(list(values.values())) for values in measured)
        np.testing.assert_allclose(other_voice, before, atol=0.6)
        assert np.abs(other_noise - before).max() > 5.0

    def test_level_and_spectrum_of_the_pauses(self):
        values = cue_values(spoken(tone(200.0, 0.8), noise(4.0, 1e-3)), "background")["background"]
        assert values["level"] == pytest.approx(-60.0, abs=0.5)
        shares = 10.0 ** (np.array(list(values.values())[2:]) / 10.0)
        np.testing.assert_allclose(shares, np.diff(EDGES) / 8000.0, rtol=0.35)

    def test_without_pauses_nothing_is_measured(self):
        for wave in (noise(2.0), tone(200.0), spoken(tone(200.0, 0.8), np.zeros(64000))):
            assert all(np.isnan(value) for value in cue_values(wave, "background")["background"].values())
            assert not load_extractor("cue:background").embed([wave]).any()


class TestChannel:
    @pytest.mark.parametrize("mains", [50.0, 60.0])
    def test_hum(self, mains):
        hiss = noise(4.0, 1e-3)
        hum = 10.0 ** (-60.0 / 20.0) * np.sqrt(2.0) * np.sin(2 * np.pi * mains * seconds(4.0))
        quiet, humming = (cue_values(spoken(tone(200.0, 0.8), x), "channel")["channel"] for x in (hiss, hiss + hum))
        this, other = (f"hum of {frequency:.0f} Hz" for frequency in (mains, 110.0 - mains))
        assert humming[this] == pytest.approx(-3.0, abs=1.0)
        assert quiet[this] < -20.0
        assert humming[other] < -10.0

    def test_steps_of_samples_and_digital_silence(self):
        wave = spoken(tone(200.0, 0.8), noise(4.0, 1e-3))
        for bits in (8, 12, 16):
            coarse = np.round(wave * 2.0 ** (bits - 1)) / 2.0 ** (bits - 1)
            assert cue_values(coarse, "channel")["channel"]["sample step"] == 1 - bits
        gated = np.where(np.abs(wave) < 0.01, 0.0, wave)
        assert cue_values(gated, "channel")["channel"]["digital silence"] > 0.95
        assert cue_values(wave, "channel")["channel"]["digital silence"] == 0.0

    def test_band_of_the_pauses(self):
        bins = np.fft.rfft(noise(4.0, 1e-2))
        narrow = np.fft.irfft(np.where(np.arange(len(bins)) < 4.0 * 3400.0, bins, 0.0))
        wide, cut = (cue_values(spoken(tone(200.0, 0.8), x), "channel")["channel"] for x in (noise(4.0, 1e-2), narrow))
        assert wide["cut-off"] == 8000.0
        assert cut["cut-off"] == pytest.approx(3400.0, abs=150.0)
        assert cut["steepest fall"] > 15.0 > 6.0 > wide["steepest fall"]


def phrase():
    """Something with pauses, syllables, voice and noise."""
    course, _ = glide(110.0, 170.0, 1.0)
    voiced = harmonics(course) * (0.1 + np.sin(2 * np.pi * 2.0 * seconds(1.0)) ** 2)
    wave = np.concatenate([voiced, noise(0.3, 0.02), np.zeros(4000), voiced[::-1], np.zeros(3000)])
    return wave + noise(len(wave) / RATE, 1e-3) + 5e-4


class TestInvariances:
    @pytest.mark.parametrize("gain", [0.1, 0.5, 2.0])
    def test_gain(self, gain):
        before, after = cue_values(phrase()), cue_values(gain * phrase())
        decibels = 20 * np.log10(gain)
        for cue, features in before.items():
            for name, value in features.items():
                moved = decibels if name in ("level", "noise floor", "speech level") else 0.0
                if name not in ("offset", "sample step"):
                    assert after[cue][name] == pytest.approx(value + moved, abs=1e-6), (cue, name)
        assert np.sinh(after["level"]["offset"]) == pytest.approx(gain * np.sinh(before["level"]["offset"]))

    def test_offset_and_sign_touch_nothing_else(self):
        before = cue_values(phrase())
        for changed in (phrase() + 0.1, -phrase()):
            after = cue_values(changed)
            for cue, features in before.items():
                for name, value in features.items():
                    if name != "offset":
                        assert after[cue][name] == pytest.approx(value, abs=1e-6), (cue, name)

    def test_silence_around_it_is_length_and_not_rate_or_pitch(self):
        quiet = noise(0.5, 1e-3, seed=5)
        before, after = cue_values(phrase()), cue_values(np.concatenate([quiet, phrase(), quiet]))
        for cue in ("rate", "pitch"):
            for name, value in before[cue].items():
                assert after[cue][name] == pytest.approx(value, rel=0.03, abs=0.02), (cue, name)
        assert np.exp(after["length"]["leading silence"]) - 0.05 == pytest.approx(0.5, abs=0.06)


ODD = {
    "nothing": np.zeros(0),
    "one sample": np.ones(1),
    "silence": np.zeros(16000),
    "constant": np.full(8000, 0.3, np.float32),
    "0.1 s of noise": noise(0.1),
    "a click": np.where(np.arange(16000) == 8000, 1.0, 0.0),
    "a step": np.where(np.arange(16000) < 8000, -1.0, 1.0),
    "rounding": 1e-12 * noise(1.0),
    "beyond full scale": 1e6 * noise(1.0),
    "all at Nyquist": np.tile([0.5, -0.5], 4000),
}


@pytest.mark.parametrize("name", ODD)
def test_any_wave_has_a_finite_vector(name):
    vector = load_extractor("cues").embed([ODD[name]])
    assert np.isfinite(vector).all()
    assert np.abs(vector).max() <= 10.0


@given(arrays(np.float32, st.integers(0, 3000), elements=st.floats(-1.0, 1.0, width=32)))
def test_any_samples_have_a_finite_vector(wave):
    assert np.isfinite(load_extractor("cues").embed([wave])).all()


@pytest.mark.parametrize("name", ["silence", "constant", "rounding"])
def test_what_is_not_told_has_its_usual_value(name):
    values = cue_values(ODD[name])
    for cue in ("background", "band", "pitch", "rate", "spectrum"):
        assert all(np.isnan(value) for value in values[cue].values())
        assert not load_extractor(f"cue:{cue}").embed([ODD[name]]).any()
    assert np.exp(values["length"]["duration"]) == pytest.approx(len(ODD[name]) / RATE)
    assert np.isnan(values["length"]["leading silence"])
    assert values["level"]["level"] == values["level"]["noise floor"] == -100.0


@pytest.mark.parametrize("sample", [np.nan, np.inf])
def test_waves_that_are_no_waves_are_refused(sample):
    with pytest.raises(InputError, match="NaN or infinite"):
        load_extractor("cues").embed([np.array([0.0, sample, 0.1])])


@pytest.fixture(scope="module")
def people(shared):
    """Vectors of all cues of real read sentences, speakers, and which are evaluated and which of these enrolled."""
    pytest.importorskip("soundfile")
    corpus = list(read_corpus(shared / "speechocean"))
    utterances = [one for number, one in enumerate(corpus) if one.split == "eval" or number % 2]
    vectors = np.stack([load_extractor("cues").embed([load_audio(one)])[0] for one in utterances])
    facts = [(one.speaker, one.split == "eval", one.role == "enrol") for one in utterances]
    return vectors.astype(np.float64), *map(np.array, zip(*facts, strict=True))


@slow
@pytest.mark.parametrize(("name", "at_least"), [*((name, 0.04) for name in CUES), ("level", 0.3), ("cues", 0.6)])
def test_real_people_are_recognised_by_cues(people, name, at_least):
    """Top-1 by the cosine after whitening with what other people's utterances differ by; chance is 1.4 %."""
    vectors, speakers, evaluated, enrols = people
    columns = np.concatenate([np.full(len(cue.features), name in (cue.name, "cues")) for cue in CUES.values()])
    x = vectors[:, columns]
    spread = covariances(x[~evaluated], speakers[~evaluated], shrinkage="auto")
    axes, _ = diagonalise(spread.between, spread.within)
    backend = Cosine().fit(x[~evaluated] @ axes, speakers[~evaluated])
    sought = np.unique(speakers[evaluated])
    assert len(sought) > 60
    profiles = np.stack([x[enrols & (speakers == one)].mean(axis=0) for one in sought])
    tried = evaluated & ~enrols
    found = sought[backend.score(profiles @ axes, x[tried] @ axes).argmax(axis=1)]
    share, chance = np.mean(found == speakers[tried]), 1.0 / len(sought)
    assert share > max(at_least, chance + 5.0 * np.sqrt(chance / tried.sum()))
