"""Speech to words to speech: only words that were said are read, and nothing else of a recording reaches the output."""

from dataclasses import replace

import numpy as np
import pytest

from zeroevidence.errors import InputError, UsageError
from zeroevidence.protect import load_protector
from zeroevidence.protect.anonymise import AnonymiseOptions, anonymise
from zeroevidence.protect.voices.cascade import (
    Cascade,
    recognise_language,
    unclear_reason,
    with_language,
    with_transcripts,
)
from zeroevidence.protect.voices.speech_models import (
    RATE,
    RECOGNISERS,
    SYNTHETIC_VOICES,
    RecogniserKind,
    SyntheticVoice,
    Transcript,
    cut_quietly,
    load_recogniser,
    load_voice,
    recognise,
)
from zeroevidence.run import Run

WORDS = {"quiet": "We call it bear.", "loud": "They are so deep in talent."}


@pytest.fixture(autouse=True)
def _one_process(monkeypatch):
    """Workers that other tests started do not know the parts that are added here."""
    monkeypatch.setattr("zeroevidence.parallel._is_worker", True)


@pytest.fixture
def parts():
    """A recogniser that tells loud from quiet, and a voice that hums each letter; and what they were given."""
    heard, read = [], []

    def hear(wave, language):
        heard.append(len(wave))
        return Transcript(WORDS["loud" if np.abs(wave).max() > 0.5 else "quiet"], -0.1)

    def speak(text, rate):
        read.append(text)
        codes = np.repeat([ord(letter) for letter in text], rate // 20)
        return (0.2 * np.sin(np.cumsum(codes) * 10.0 / rate)).astype(np.float32)

    RECOGNISERS.add(RecogniserKind("ear", "An ear", "CC0", "ear 1", "cascade", -1.0, lambda: hear))
    SYNTHETIC_VOICES.add(SyntheticVoice("hum", "A hum", "MIT", "hum 1", lambda: speak))
    load_recogniser.cache_clear()
    load_voice.cache_clear()
    yield heard, read
    RECOGNISERS.remove("ear")
    SYNTHETIC_VOICES.remove("hum")
    load_recogniser.cache_clear()
    load_voice.cache_clear()


def noise(seconds, level, rate=16_000):
    return np.clip(level * np.random.default_rng(0).normal(size=int(seconds * rate)), -1, 1).astype(np.float32)


def test_the_output_depends_on_the_words_alone(parts, voice):
    protector = load_protector("cascade:ear/hum")
    ada, bob = voice.Spoken("u1", "ada"), voice.Spoken("u2", "bob")
    first = protector(noise(2.0, 0.01), 16_000, ada)
    second = protector(noise(1.0, 0.02, 44_100), 44_100, bob)
    again = protector(noise(3.0, 0.01), 16_000, bob)
    np.testing.assert_array_equal(first, again)
    assert len(second) / 44_100 == pytest.approx(len(first) / 16_000, rel=1e-2)
    assert not np.array_equal(first, protector(noise(2.0, 0.9), 16_000, ada))
    assert parts[0][1] == pytest.approx(16_000, abs=1)  # the recogniser hears 16 kHz
    assert set(parts[1]) == set(WORDS.values())


def test_transcripts_take_the_place_of_the_recogniser(parts, voice):
    protector = with_transcripts(load_protector("cascade:ear/hum"), {"u1": "We bear."})
    protector(noise(1.0, 0.1), 16_000, voice.Spoken("u1", "ada"))
    assert parts == ([], ["We bear."])
    protector(noise(1.0, 0.1), 16_000, voice.Spoken("u2", "ada"))  # not in the file: it is heard
    assert parts == ([16_000], ["We bear.", WORDS["quiet"]])
    assert protector.fingerprint != load_protector("cascade:ear/hum").fingerprint
    chained = with_transcripts(load_protector("cascade:ear/hum+mcadams"), {"u1": "We bear."})
    assert chained.parts[0] == protector
    with pytest.raises(UsageError, match=r"mcadams:0\.8 does not recognise speech"):
        with_transcripts(load_protector("mcadams"), {"u1": "We bear."})


@pytest.mark.parametrize(
    ("recognised", "seconds", "reason"),
    [
        (Transcript("We call it bear.", -1.0), 2.0, ""),
        (
            Transcript("We call it bear.", -1.01),
            2.0,
            "not understood: the recogniser is not sure of the words (mean log-probability -1.01;",
        ),
        (Transcript("", 0.0), 2.0, "no words were recognised"),
        (Transcript("You.", -0.1), 1.0, "only 'You.' was recognised, as where nobody speaks"),
        (Transcript("Yes, no.", -0.1), 6.0, ""),
        (Transcript("Yes, no.", -0.1), 6.1, "only 2 words were recognised in 6.1 s of sound, as in music or noise"),
        (Transcript("We call it bear.", -0.1, "de"), 2.0, "speech in another language (de) was recognised"),
        (Transcript("Au café, naïve Zoë.", -0.1), 2.0, ""),
        (Transcript("خلوق 3 and", -0.1), 2.0, "letters of another language (خ) were recognised"),
        (Transcript("We call it bear.", -0.1, ended=False), 2.0, "the recogniser wrote more than anybody says"),
        (Transcript("592-437-6081.", -0.1), 8.0, ""),
        (Transcript("Well " + "zero " * 7, -0.1), 4.0, ""),
        (Transcript("Well " + "zero " * 8, -0.1), 4.0, "'zero' was recognised again and again"),
        (Transcript("So" + ", what's the ham" * 4, -0.1), 4.0, '"what\'s the ham" was recognised again and again'),
    ],
)
def test_words_that_nobody_said_are_not_read(recognised, seconds, reason):
    found = unclear_reason(recognised, seconds, -1.0)
    assert found.startswith(reason)
    assert bool(found) == bool(reason)


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("0531729648.", "zero five three one seven two nine six four eight."),
        ("437-6081, 7-8-1", "four three seven, six zero eight one, seven eight one"),
        (
            "1-845-329-607, 341-6978",
            "one, eight four five, three two nine, six zero seven, three four one, six nine seven eight",
        ),
        ("3-4 times, 1914-1918, 10-12, 341-697", "3-4 times, 1914-1918, 10-12, 341-697"),
        ("2026, 1,250,000 and 3.14159, 0.0625", "2026, 1,250,000 and 3.14159, 0.0625"),
    ],
)
def test_digits_of_codes_are_read_one_by_one(parts, voice, text, spoken):
    protector = with_transcripts(load_protector("cascade:ear/hum"), {"u1": text})
    protector(noise(1.0, 0.1), 16_000, voice.Spoken("u1", "ada"))
    assert parts[1] == [spoken]


def test_a_recording_that_is_not_understood_is_refused_with_a_line(parts, tmp_path):
    soundfile = pytest.importorskip("soundfile")
    original = tmp_path / "original"
    for name, seconds in (("ada", 2.0), ("bob", 30.0)):  # a hissing half minute is no speech of four words
        (original / name).mkdir(parents=True)
        soundfile.write(original / name / f"{name}1.wav", noise(seconds, 0.01), 16_000)
    result = anonymise(original, tmp_path / "out", protect="cascade:ear/hum")
    assert [problem.reason.split(":")[0] for problem in result.refused] == ["utterance 'bob1'"]
    assert "only 8 words were recognised in 30.0 s of sound" in result.refused[0].reason
    assert [part.name for part in result.card.parts] == ["ear", "hum"]
    text = tmp_path / "text"
    text.write_text("ada1 we call\nbob1 it bear\n")
    again = anonymise(original, tmp_path / "known", "cascade:ear/hum", AnonymiseOptions(transcripts=text))
    assert again.refused == ()
    assert parts[1][-2:] == ["we call", "it bear"]
    assert [part.name for part in again.card.parts] == ["hum"]
    assert [problem.remedy.split(",")[0] for problem in result.refused] == ["--transcripts FILE"]
    assert [problem.heard for problem in result.refused] == [" ".join([WORDS["quiet"]] * 2)]
    assert not any(WORDS["quiet"] in file.read_text() for file in (tmp_path / "out").glob("*.*"))  # not released
    text.write_text("bob1 it bear\n")  # corrects what was heard; the rest is kept
    corrected = anonymise(original, tmp_path / "out", "cascade:ear/hum", AnonymiseOptions(transcripts=text))
    assert corrected.refused == ()
    assert (parts[1][-1], parts[1].count(WORDS["quiet"])) == ("it bear", 1)
    assert [part.name for part in corrected.card.parts] == ["ear", "hum"]
    (original / "ada" / "ada1.wav").unlink()
    with pytest.raises(InputError, match=r"bob1.*30\.0 s of sound.*; what helps: --transcripts FILE, whose words"):
        anonymise(original, tmp_path / "none", protect="cascade:ear/hum")


def test_long_speech_is_cut_where_it_is_quiet(parts):
    wave = noise(60.0, 0.1)
    wave[20 * RATE : 20 * RATE + 800] = 0.0
    cuts = cut_quietly(wave)
    assert len(cuts[0]) == 20 * RATE + 800
    assert max(map(len, cuts)) <= 28 * RATE
    np.testing.assert_array_equal(np.concatenate(cuts), wave)
    assert recognise("ear", wave).text == " ".join([WORDS["quiet"]] * len(cuts))


def test_parts_are_found_by_name():
    with pytest.raises(UsageError, match="unknown speech recogniser 'parrot'; expected moonshine"):
        load_protector("cascade:parrot/joe")
    with pytest.raises(UsageError, match=r"unknown synthetic voice 'x'; expected espeak-af, .*, hibari, joe"):
        load_protector("cascade:moonshine/x")
    assert load_protector("cascade") == load_protector(f"cascade:{Cascade().recogniser}") == Cascade()
    with pytest.raises(UsageError, match="moonshine does not understand 'de'; expected whisper"):
        load_protector("cascade:moonshine/espeak-de")


def test_a_language_names_recogniser_and_voice():
    assert with_language("cascade", "en") == load_protector("cascade").name
    assert with_language("cascade+pitch:2", "zh") == "cascade:whisper/espeak-zh+pitch:2"
    assert with_language("cascade:whisper/espeak-fr", "fr") == "cascade:whisper/espeak-fr"
    for name, language, reason in (
        ("cascade", "tl", "no synthetic voice speaks 'tl'; expected one of af, am"),
        ("cascade:whisper/hibari", "de", "the voice hibari speaks 'en'; expected one of the language 'de'"),
        ("mcadams", "de", "mcadams does not recognise speech"),
    ):
        with pytest.raises(UsageError, match=reason):
            with_language(name, language)


@pytest.fixture
def listener(parts):
    """A recogniser of more languages than any other: all that is loud it takes for Latin."""

    def hear(wave, language):
        return Transcript(f"Salve {language}", -0.1, "la" if np.abs(wave).max() > 0.5 else None)

    languages = ("la", *RECOGNISERS["whisper"].languages)
    RECOGNISERS.add(RecogniserKind("listener", "", "", "1", "x", -1.0, lambda: hear, languages))
    SYNTHETIC_VOICES.add(replace(SYNTHETIC_VOICES["hum"], name="toga", language="la"))
    yield
    RECOGNISERS.remove("listener")
    SYNTHETIC_VOICES.remove("toga")


def test_other_languages_are_heard_and_read(parts, listener, voice):
    protector = load_protector("cascade:listener/toga")
    protector(noise(1.0, 0.9), 16_000, voice.Spoken())
    assert parts[1] == ["Salve la"]
    with pytest.raises(InputError, match=r"speech in another language \(la\) was recognised; expected en"):
        load_protector("cascade:listener/hum")(noise(1.0, 0.9), 16_000, voice.Spoken())
    half_sure = np.concatenate([noise(20.0, 0.9), noise(20.0, 0.01)])
    with pytest.raises(InputError, match=r"speech in another language \(la\) was recognised; expected en"):
        load_protector("cascade:listener/hum")(half_sure, 16_000, voice.Spoken())
    assert recognise_language([noise(1.0, 0.9), noise(1.0, 0.9), noise(1.0, 0.01)]) == {"la": 2}


@pytest.mark.parametrize(
    ("recognised", "seconds", "language", "reason"),
    [
        (Transcript("Привет мир", -0.1), 2.0, "ru", ""),
        (Transcript("Привет мир", -0.1, "en"), 2.0, "ru", "speech in another language (en)"),
        (Transcript("今天天气很好", -0.1), 9.0, "zh", ""),
        (Transcript("今天天气很好", -0.1), 9.1, "zh", "only 3 words were recognised"),
        (Transcript("今天天气很好", -0.1), 9.0, "ru", "only 1 word was recognised"),
    ],
)
def test_words_of_other_languages_are_counted_as_they_are_written(recognised, seconds, language, reason):
    found = unclear_reason(recognised, seconds, -1.0, language)
    assert found.startswith(reason)
    assert bool(found) == bool(reason)


def test_a_language_is_recognised_and_said(parts, listener, tmp_path):
    soundfile = pytest.importorskip("soundfile")
    for name, level in (("ada", 0.9), ("bob", 0.9), ("eve", 0.01)):
        (tmp_path / "original" / name).mkdir(parents=True)
        soundfile.write(tmp_path / "original" / name / f"{name}1.wav", noise(1.0, level), 16_000)
    (tmp_path / "original" / "ada" / "ada2.wav").write_bytes(b"RIFF")
    soundfile.write(tmp_path / "original" / "ada" / "long.flac", np.tile(noise(61.0, 0.01, 8_000), 10), 8_000)
    notes = []
    auto, folder = AnonymiseOptions(language="auto"), tmp_path / "out"
    result = anonymise(tmp_path / "original", folder, "cascade:listener/toga", auto, run=Run(say=notes.append))
    assert notes == ["note: the language is la, as recognised in 2 of 5 recordings"]
    assert result.card.name == "cascade:listener/toga"
    for file in (tmp_path / "original").glob("[ab]*/*"):
        file.unlink()
    with pytest.raises(InputError, match="no language is sure in 1 recordings; expected --language"):
        anonymise(tmp_path / "original", tmp_path / "none", "cascade:listener/toga", auto)
