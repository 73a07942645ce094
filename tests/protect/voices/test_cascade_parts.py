"""The recognisers and voices of the extras themselves, where they are installed."""

import importlib.util

import numpy as np
import pytest

from zeroevidence.auditing.word_errors import spoken_words
from zeroevidence.errors import InputError
from zeroevidence.protect import load_protector
from zeroevidence.protect.voices.speech_models import RATE, load_voice, recognise

PARTS = ("moonshine_voice", "hibari", "onnxruntime", "soxr")
LACKING = [name for name in PARTS if importlib.util.find_spec(name) is None]
pytestmark = pytest.mark.skipif(bool(LACKING), reason=f"the extra cascade is not installed: no {', '.join(LACKING)}")
PACKAGES = {"hibari": "hibari", "joe": "piper", "espeak-en": "espeakng_loader"}


@pytest.mark.parametrize("name", PACKAGES)
def test_the_recogniser_hears_what_the_voice_reads(voice, name):
    pytest.importorskip(PACKAGES[name])
    wave = load_voice(name)("The weather was very good yesterday.", RATE)
    load_voice(name)("Or something else.", RATE)
    np.testing.assert_array_equal(wave, load_voice(name)("The weather was [very] good yesterday.", RATE))
    with pytest.raises(InputError, match="nothing to say in"):
        load_voice(name)("...", RATE)
    heard = recognise("moonshine", wave)
    assert spoken_words(heard.text) == "the weather was very good yesterday"
    assert heard.confidence > -0.5
    protected = load_protector("cascade")(wave, RATE, voice.Spoken())
    np.testing.assert_array_equal(protected, load_protector("cascade")(wave, RATE, voice.Spoken("u2", "bob")))


@pytest.mark.parametrize("sound", ["hiss", "tone"])
def test_what_is_no_speech_is_refused(voice, sound):
    time = np.arange(4 * RATE) / RATE
    sounds = {"hiss": 0.05 * np.random.default_rng(0).normal(size=len(time)), "tone": 0.2 * np.sin(2764.6 * time)}
    with pytest.raises(InputError, match=r"utterance s1_u1: (no words|not understood|only)"):
        load_protector("cascade")(sounds[sound].astype(np.float32), RATE, voice.Spoken())


def test_a_telephone_number_is_heard_and_read_digit_by_digit(voice):
    wave = load_voice("hibari")("Call five nine two, four three seven, six zero eight one.", RATE)
    loud = np.flatnonzero(np.abs(wave) > 0.01)
    for speech in (wave, wave[: loud[-1]]):  # broken off at the last sound, where the recogniser used to loop
        heard = recognise("moonshine", load_protector("cascade")(speech, RATE, voice.Spoken()))
        said = spoken_words(heard.text, digit_by_digit=True)
        assert said.endswith("five nine two four three seven six zero eight one")
        assert heard.ended


def test_espeak_reads_numbers_and_whisper_hears_the_language():
    """A smoke test: the speech is espeak's own."""
    pytest.importorskip("espeakng_loader", reason="the extra espeak is not installed")
    written, read = (load_voice("espeak-de")(f"Es kamen {text} Leute.", RATE) for text in ("21", "einundzwanzig"))
    assert len(written) == pytest.approx(len(read), rel=0.05)
    pytest.importorskip("ctranslate2", reason="the extra recogniser is not installed")
    heard = recognise("whisper", written, "de")
    assert heard.language == "de"
    assert "Leute" in heard.text
    assert recognise("whisper", load_voice("hibari")("We call it bear.", RATE), "de").language == "en"


def test_whisper_writes_all_of_fluent_speech():
    pytest.importorskip("ctranslate2", reason="the extra recogniser is not installed")
    text = "The quick brown fox was not as quick as people say, and it jumped over the lazy dog in the end, they say"
    heard = recognise("whisper", load_voice("hibari")(text, RATE))
    assert spoken_words(heard.text) == spoken_words(text)
    assert heard.ended
