"""Utility beside privacy: words, emotions and lengths, with intervals by speaker."""

import csv
from pathlib import Path

import numpy as np
import pytest

import zeroevidence as ze
from tests.effort import slow
from zeroevidence.data.formats.lists import read_classes, read_transcripts
from zeroevidence.errors import InputError
from zeroevidence.evaluation import read_results, save_results
from zeroevidence.evaluation.utility import evaluate_classes, evaluate_lengths, evaluate_transcripts
from zeroevidence.report.utility import utility_lines

SPEECHOCEAN = Path(__file__).resolve().parents[3] / "shared" / "data" / "speechocean"


def misheard(words, rate, rng):
    """What a made-up recogniser writes: words are lost, doubled or become others."""
    heard = []
    for word in words.split():
        kind = rng.choice(4, p=[1 - rate, rate / 2, rate / 4, rate / 4])
        heard += ([word], [f"{word}X"], [], [word, word])[kind]
    return " ".join(heard)


def made(people, rng, *, spread=0.1, utterances=4):
    """People who are understood differently well."""
    said, heard, speakers = {}, {}, {}
    for person in range(people):
        rate = float(np.clip(rng.normal(0.2, spread), 0.01, 0.9))
        for number in range(utterances):
            name = f"s{person}-{number}"
            said[name] = " ".join(f"w{n}" for n in range(8))
            heard[name], speakers[name] = misheard(said[name], rate, rng), f"s{person}"
    return said, heard, speakers


def test_errors_by_hand():
    pytest.importorskip("jiwer")
    row = evaluate_transcripts(
        {"u": "a b c d", "v": "e f"}, {"u": "a x c d y", "v": "f"}, options=ze.Options(intervals=0)
    )
    found = {name: float(one) for name, one in row.metrics.items()}
    assert found == pytest.approx(
        {"wer": 3 / 6, "wer_substitutions": 1 / 6, "wer_deletions": 1 / 6, "wer_insertions": 1 / 6, "cer": 5 / 10}
    )
    assert row.counts == {"utterances": 2, "words": 6}
    assert (row.about.role, row.about.speech) == ("utility", "anonymised")


def test_a_sentence_without_blanks_is_one_wrong_word_and_a_few_wrong_characters():
    pytest.importorskip("jiwer")
    row = evaluate_transcripts({"u": "今天天气很好", "v": "我们去公园"}, {"u": "今天天气真好", "v": "我去公园"},
                               options=ze.Options(intervals=0))  # fmt: skip
    assert (float(row["wer"]), float(row["cer"])) == (1.0, pytest.approx(2 / 11))
    spaced = evaluate_transcripts({"u": "a fine day", "v": "we go"}, {"u": "a day", "v": "we go"},
                                  options=ze.Options(intervals=0))  # fmt: skip
    assert [[line.measure for line in utility_lines([each])] for each in (row, spaced)] == [["wer", "cer"], ["wer"]]


def test_agrees_with_jiwer_on_real_transcripts():
    jiwer = pytest.importorskip("jiwer")
    if not SPEECHOCEAN.is_dir():
        pytest.skip("the transcripts of speechocean762 are not here")
    with (SPEECHOCEAN / "utterances.tsv").open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file, delimiter="\t"))
    said = {line["utterance"]: line["text"] for line in lines}
    assert len(said) == 1000
    rng = np.random.default_rng(0)
    heard = {name: misheard(words, 0.2, rng) for name, words in said.items()}
    speakers = {line["utterance"]: line["speaker"] for line in lines}
    row = evaluate_transcripts(said, heard, speakers=speakers)
    names = list(said)
    found = jiwer.process_words([said[name] for name in names], [heard[name] for name in names])
    words = found.hits + found.substitutions + found.deletions
    assert float(row["wer"]) == pytest.approx(found.wer, abs=1e-12)
    for name in ("substitutions", "deletions", "insertions"):
        assert float(row[f"wer_{name}"]) == pytest.approx(getattr(found, name) / words, abs=1e-12)
    assert float(row["cer"]) == pytest.approx(
        jiwer.cer(list(said.values()), [heard[name] for name in names]), abs=1e-12
    )
    assert row.counts["speakers"] == 125
    assert row["wer"].low < float(row["wer"]) < row["wer"].high


@slow
def test_intervals_cover_other_people_like_these():
    """Of people whose error rates differ, the expected rate is the same for every sample of them."""
    pytest.importorskip("jiwer")
    rng = np.random.default_rng(1)
    rates = np.clip(rng.normal(0.2, 0.1, 200_000), 0.01, 0.9)
    covered = 0
    for _ in range(100):
        said, heard, speakers = made(20, rng)
        row = evaluate_transcripts(said, heard, speakers=speakers)
        covered += row["wer"].low <= rates.mean() <= row["wer"].high
    assert covered >= 88


def test_fewer_than_ten_people_give_no_interval():
    pytest.importorskip("jiwer")
    said, heard, speakers = made(5, np.random.default_rng(2))
    row = evaluate_transcripts(said, heard, speakers=speakers)
    assert row["wer"].low is None
    assert "no-intervals" in {one.code for one in row.flags}
    row = evaluate_transcripts(said, heard)
    assert row["wer"].low is not None
    assert "speakers-unknown" in {one.code for one in row.flags}


def test_recall_of_emotions():
    truth = {"a": "sad", "b": "sad", "c": "ang", "d": "ang", "e": "ang", "f": "ang"}
    recognised = {**truth, "b": "ang", "f": "hap"}
    uar, ang, sad = evaluate_classes(truth, recognised, options=ze.Options(intervals=0))
    assert float(uar["uar"]) == (0.75 + 0.5) / 2
    assert (ang.labels["emotion"], float(ang["recall"]), ang.counts["utterances"]) == ("ang", 0.75, 4)
    assert float(sad["recall"]) == 0.5
    assert "recall" not in uar
    rng = np.random.default_rng(3)
    truth = {f"s{n % 15}-{n}": ("ang", "sad")[n % 2] for n in range(150)}
    recognised = {name: one if rng.random() < 0.7 else "hap" for name, one in truth.items()}
    rows = evaluate_classes(truth, recognised, speakers={name: name.split("-")[0] for name in truth})
    for row, name in zip(rows, ("uar", "recall", "recall"), strict=True):
        assert 0.0 <= row[name].low < float(row[name]) < row[name].high <= 1.0


def test_results_are_results(tmp_path):
    rows = evaluate_classes({"a": "sad", "b": "ang"}, {"a": "sad", "b": "sad"}, labels={"system": "x"})
    save_results(rows, tmp_path / "rows.json")
    assert read_results(tmp_path / "rows.json") == rows
    assert "|utterances:2|" in rows[0].signature


@pytest.mark.parametrize(
    ("said", "heard", "speakers", "reason"),
    [
        ({"a": "x"}, {}, None, "no recognised transcript for utterance 'a'; expected the same"),
        ({"a": "x"}, {"a": "x", "b": "y", "c": "z"}, None, r"no transcript for utterance 'b' \(and 1 more\)"),
        ({"a": " "}, {"a": "x"}, None, "no words in the transcript of 'a'"),
        ({"a": "x"}, {"a": "x"}, {"b": "s"}, "no speaker for utterance 'a'"),
        ({}, {}, None, "no utterances"),
    ],
)
def test_what_does_not_fit(said, heard, speakers, reason):
    pytest.importorskip("jiwer")
    with pytest.raises(InputError, match=reason):
        evaluate_transcripts(said, heard, speakers=speakers)


@pytest.mark.parametrize(
    ("read", "content", "message"),
    [
        (read_transcripts, b"u1 a\nu1 b\n", r"text:2: 'u1' occurs twice; expected each utterance once"),
        (read_transcripts, b"u1 \xe9\n", r"text:1: byte 0xe9 is not UTF-8"),
        (read_transcripts, b"", "empty; expected one utterance per line"),
        (read_classes, b"u1 sad\nu2 ang or so\n", r"text:2: 4 column\(s\); expected 2: utterance class"),
        (read_classes, b"", "empty; expected one utterance per line"),
    ],
)
def test_files(tmp_path, read, content, message):
    path = tmp_path / "text"
    path.write_text("u1 we call it  bear\n\nu2\n")
    assert read_transcripts(path) == {"u1": "we call it bear", "u2": ""}
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        read(path)


@pytest.mark.parametrize(("start", "end", "expected"), [(None, None, 0.1), (8_000, 28_000, 0.25)])
def test_lengths(tmp_path, start, end, expected):
    """Of whole recordings, and of segments, whose files may be longer."""
    soundfile = pytest.importorskip("soundfile")
    from zeroevidence.data.corpus import Corpus, Utterance

    for name, length in (("short", 16_000), ("long", 32_000 if end else 17_600)):
        soundfile.write(tmp_path / f"{name}.wav", 0.1 * np.sin(np.arange(length) / 9), 16_000)
    before = Corpus([Utterance("u", "s", tmp_path / "short.wav")])
    after = Corpus([Utterance("u", "s", tmp_path / "long.wav", start=start, end=end)])
    assert float(evaluate_lengths(before, after)["length_difference"]) == pytest.approx(expected)


def speak(path, melody, seconds=1.2):
    """A voice with ten harmonics whose pitch follows a melody in Hz."""
    import soundfile

    time = np.arange(int(seconds * 16_000)) / 16_000
    phase = 2 * np.pi * np.cumsum(melody(time)) / 16_000
    wave = sum(np.sin(n * phase) / n for n in range(1, 11))
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, 0.1 * wave * np.hanning(len(wave)) ** 0.1, 16_000)


@pytest.fixture
def voices(tmp_path):
    """Twelve people who are raised by a third, and for every third of them turned upside down."""
    pytest.importorskip("soundfile")
    for person in range(12):
        for number in range(2):
            name = f"p{person:02d}/p{person:02d}-{number}.wav"
            speed = 4.0 + person / 3 + number

            def melody(time, speed=speed):
                return 140.0 + 25.0 * np.sin(speed * time)

            def turned(time, speed=speed, sign=-1.0 if person % 3 == 0 else 1.0):
                return 4 / 3 * (140.0 + sign * 25.0 * np.sin(speed * time))

            speak(tmp_path / "original" / name, melody)
            speak(tmp_path / "anonymised" / name, turned)
    return tmp_path


def test_the_melody_is_kept_or_turned(voices):
    from zeroevidence.auditing.speech_utility import evaluate_pitch
    from zeroevidence.data.formats.corpora import read_corpus

    original = read_corpus(voices / "original", draw=False)
    same = evaluate_pitch(original, original)
    assert float(same["pitch_correlation"]) == pytest.approx(1.0)
    row = evaluate_pitch(original, original.replaced(voices / "anonymised"))
    found = row["pitch_correlation"]
    assert float(found) == pytest.approx(8 / 12 - 4 / 12, abs=0.03)  # a third is turned round
    assert -0.4 < found.low < float(found) < found.high < 1.0
    assert (row.counts["utterances"], row.counts["speakers"]) == (24, 12)


def test_pitch_of_real_speech():
    """Noise leaves the melody, raising the voice leaves most of it, and another sentence has another."""
    if not SPEECHOCEAN.is_dir():
        pytest.skip("the speech of speechocean762 is not here")
    pytest.importorskip("soundfile")
    from zeroevidence.attack.cues.speech_signal import SpeechSignal
    from zeroevidence.auditing.speech_utility import pitch_correlation
    from zeroevidence.data.audio import load_audio
    from zeroevidence.data.corpus import Utterance
    from zeroevidence.protect import PitchShift

    rng, tracks, noisy, raised = np.random.default_rng(0), [], [], []
    for path in sorted(SPEECHOCEAN.glob("*/*.flac"))[::400]:
        wave = load_audio(path)
        tracks.append(SpeechSignal(wave).pitch)
        noisy.append(SpeechSignal(wave + 1e-3 * rng.normal(size=len(wave))).pitch)
        raised.append(SpeechSignal(PitchShift(3)(wave, 16_000, Utterance(path.stem, "s", path))).pitch)
    other = [*tracks[1:], tracks[0]]
    means = [np.nanmean([pitch_correlation(*both) for both in zip(tracks, changed, strict=True)])
             for changed in (noisy, raised, other)]  # fmt: skip
    assert means[0] > 0.95
    assert 0.6 < means[1] < means[0]
    assert means[2] < 0.4


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("{python} -c pass", "has to name {wav} or {list}"),
        ("no-such-program {wav}", "no-such-program cannot be run"),
        ("{python} -c 'import sys; sys.exit(\"out of cheese\")' {wav}", "ended with status 1: out of cheese"),
        ("{python} -c pass {list}", "cannot be read: empty"),
        ("{python} -c 'print(\"u2 A\")' {list}", "wrote no line for 'u1'"),
        ("{python} -c 'import os; os.write(1, bytes([233]))' {wav}", "is not UTF-8"),
        ("'", "cannot be split into arguments"),
    ],
)
def test_a_program_that_fails(tmp_path, command, reason):
    pytest.importorskip("soundfile")
    import sys

    from zeroevidence.auditing.speech_utility import run_recogniser
    from zeroevidence.data.corpus import Utterance
    from zeroevidence.errors import ZeroEvidenceError

    speak(tmp_path / "u1.wav", lambda time: 140.0 + 0.0 * time)
    with pytest.raises(ZeroEvidenceError) as error:
        run_recogniser([Utterance("u1", "s", tmp_path / "u1.wav")], command.replace("{python}", sys.executable))
    assert reason in str(error.value)
