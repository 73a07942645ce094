"""Long recordings are protected in pieces: cut at pauses, nothing lost, nothing original released, resumable."""

import csv
import io
import resource
import subprocess
import sys
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pytest

from tests.effort import slow
from zeroevidence.data.audio import load_audio, load_speech, measure_powers
from zeroevidence.data.corpus import Utterance
from zeroevidence.data.formats.corpora import examine_corpus
from zeroevidence.data.waves import PcmInput, cut_places, faded, first_cut, frame_powers
from zeroevidence.errors import InputError, OutputError
from zeroevidence.protect import McAdams
from zeroevidence.protect.anonymise import AnonymiseOptions, anonymise, journal_of
from zeroevidence.protect.pieces import anonymise_pipe
from zeroevidence.protect.voices import VOICE_PROTECTORS, register_voice
from zeroevidence.run import Run

soundfile = pytest.importorskip("soundfile")
RATE = 16_000


def talk(seconds=12.0, rate=RATE, every=1.0, seed=0):
    """Noise with a pause of 100 ms in each second, in which it is 60 dB quieter."""
    wave = 0.1 * np.random.default_rng(seed).normal(size=int(seconds * rate))
    pause = (np.arange(len(wave)) / rate) % every > every - 0.1
    return np.where(pause, 0.001 * wave, wave)


@pytest.fixture
def speech(tmp_path):
    (tmp_path / "speech" / "ada").mkdir(parents=True)
    soundfile.write(tmp_path / "speech" / "ada" / "talk.wav", talk(), RATE)
    soundfile.write(tmp_path / "speech" / "ada" / "short.wav", talk(3.0), RATE)
    return tmp_path / "speech"


def table(folder):
    with (folder / "pieces.csv").open(newline="") as stream:
        return list(csv.DictReader(stream))


@dataclass
class Recorder:
    """Doubles samples; keeps what it was called with, and refuses or stops at a call."""

    refuse: tuple[int, ...] = ()
    stop: int = -1

    def __post_init__(self):
        self.calls = []
        self.name = self.fingerprint = "recorder"

    def __call__(self, wave, rate, utterance):
        self.calls.append((utterance.id, len(wave)))
        if len(self.calls) == self.stop:
            raise KeyboardInterrupt
        if len(self.calls) in self.refuse:
            raise InputError("no words were recognised", remedy="other words")
        return 2.0 * wave


@pytest.fixture
def recorder():
    made = Recorder()
    register_voice("recorder", "Doubles samples.")(lambda text, seed: made)
    yield made
    VOICE_PROTECTORS.remove("recorder")


def test_cuts_are_in_the_quietest_frame_of_the_second_half_and_leave_no_scrap():
    power = np.random.default_rng(1).uniform(1.0, 2.0, size=500).astype(np.float32)
    power[[33, 70]] = 0.0
    places = [(place - 400) // 800 for place in cut_places(power, RATE, 2.0)]
    assert places[:2] == [33, 70]
    bounds = [0, *places, 500]
    for first, last in pairwise(bounds):
        assert 10 <= last - first <= 40
        if last < 500:
            window = power[first + 20 : min(first + 40, 500 - 10)]
            assert power[last] == window.min()
    assert cut_places(power[:80], RATE, 2.0) == []
    assert first_cut(power[:40], 40) is None


def test_powers_of_a_file_are_those_of_its_waveform(tmp_path):
    wave = np.random.default_rng(0).uniform(-1, 1, size=(700_000, 2)).astype(np.float32)
    soundfile.write(tmp_path / "a.wav", wave, 44_100, subtype="FLOAT")
    powers, samples = measure_powers(Utterance("a", "ada", tmp_path / "a.wav"))
    frames = wave.mean(axis=1)[: 317 * 2205].reshape(317, 2205)
    np.testing.assert_allclose(powers, (frames.astype(float) ** 2).mean(axis=1), rtol=1e-4)
    assert samples == 700_000
    part, length = measure_powers(Utterance("a", "ada", tmp_path / "a.wav", start=16_000, end=32_000))
    np.testing.assert_allclose(part, frame_powers(wave.mean(axis=1)[44_100:88_200], 44_100), rtol=1e-4)
    assert length == 44_100


def test_pieces_tile_the_recording_and_short_ones_stay_whole(speech, tmp_path, recorder):
    options = AnonymiseOptions(piece=3.0)
    result = anonymise(speech, tmp_path / "out", "recorder", options, run=Run(cores=1))
    rows, lengths = table(tmp_path / "out"), [length for name, length in recorder.calls if name == "talk"]
    assert [row["utterance"] for row in rows] == ["talk"] * len(lengths)
    assert sum(lengths) == 12 * RATE
    assert ("short", 3 * RATE) in recorder.calls
    assert [row["from"] for row in rows[1:]] == [row["to"] for row in rows[:-1]]
    assert (rows[0]["from"], rows[-1]["to"], rows[-1]["anonymised_to"]) == ("0.000", "12.000", "12.000")
    for row in rows[:-1]:  # cut in a pause
        assert 0.9 <= float(row["to"]) % 1.0 <= 1.0
    wave, expected = load_audio(tmp_path / "out" / "ada" / "talk.wav"), 2.0 * talk()
    inside = np.ones(len(wave), bool)
    for row in rows[:-1]:
        at = round(float(row["to"]) * RATE)
        inside[at - 80 : at + 80] = False
        assert abs(wave[at - 1]) < 1e-3
    inside[:80] = inside[-80:] = False
    np.testing.assert_allclose(wave[inside], np.clip(expected, -1, 1)[inside], atol=2**-14)
    assert (result.silenced, result.card.release.silenced) == ((), 0)
    whole = anonymise(speech, tmp_path / "whole", "recorder", run=Run(cores=1))
    assert not (tmp_path / "whole" / "pieces.csv").exists()
    assert whole.card.release.recordings == 2


@pytest.mark.parametrize("rate", [None, 22_050])
def test_the_draw_belongs_to_the_recording(speech, tmp_path, rate):
    options = AnonymiseOptions(piece=3.0, seed=7, rate=rate)
    anonymise(speech, tmp_path / "out", "mcadams:0.5..0.9:utterance", options, run=Run(cores=1))
    utterance = Utterance("talk", "ada", speech / "ada" / "talk.wav")
    protector, rate = McAdams((0.5, 0.9), per="utterance", seed=7), rate or RATE
    original, written = load_audio(utterance, rate), load_audio(tmp_path / "out" / "ada" / "talk.wav", rate)
    assert len(original) == len(written)
    for row in table(tmp_path / "out"):
        first, last = (round(float(row[name]) * rate) for name in ("from", "to"))
        piece = faded(protector(original[first:last], rate, utterance), rate)
        np.testing.assert_allclose(written[first:last], piece, atol=3e-3)


def test_a_refused_piece_is_silent_and_said_never_original(speech, tmp_path, recorder):
    recorder.refuse = (3,)  # the first call is of the short recording
    result = anonymise(speech, tmp_path / "out", "recorder", AnonymiseOptions(piece=3.0), run=Run(cores=1))
    rows = table(tmp_path / "out")
    assert [row["refused"] for row in rows].count("no words were recognised") == 1
    refused = next(row for row in rows if row["refused"])
    first, last = (round(float(refused[name]) * RATE) for name in ("anonymised_from", "anonymised_to"))
    wave = load_audio(tmp_path / "out" / "ada" / "talk.wav")
    assert len(wave) == 12 * RATE
    assert not wave[first:last].any()
    assert wave[:first].any()
    assert wave[last:].any()
    assert result.refused == ()
    assert "no words were recognised; silent there" in str(result.silenced[0])
    assert "1 piece of a long recording was refused and is silent" in result.card.to_text()
    calls = len(recorder.calls)
    again = anonymise(speech, tmp_path / "out", "recorder", AnonymiseOptions(piece=3.0), run=Run(cores=1))
    assert (len(recorder.calls), again.silenced) == (calls, result.silenced)  # transcripts would be read here
    recorder.refuse = tuple(range(100))
    with pytest.raises(InputError, match="no words were recognised"):
        anonymise(speech, tmp_path / "none", "recorder", AnonymiseOptions(piece=3.0), run=Run(cores=1))
    assert not list((tmp_path / "none").rglob("*.wav"))


def test_pieces_in_which_nobody_is_heard_are_silent_without_a_protector(speech, tmp_path, recorder):
    wave = talk(20.0)
    wave[5 * RATE : 15 * RATE] *= 1e-3
    soundfile.write(speech / "ada" / "talk.wav", wave, RATE)
    anonymise(speech, tmp_path / "out", "recorder", AnonymiseOptions(piece=2.0), run=Run(cores=1))
    written, rows = load_audio(tmp_path / "out" / "ada" / "talk.wav"), table(tmp_path / "out")
    quiet = [row for row in rows if float(row["from"]) >= 4.9 and float(row["to"]) <= 15.0]
    assert len(quiet) >= 3
    for row in quiet:
        assert not written[round(float(row["from"]) * RATE) : round(float(row["to"]) * RATE)].any()
    assert len([name for name, _ in recorder.calls if name == "talk"]) == len(rows) - len(quiet)
    assert not any(row["refused"] for row in rows)


def test_an_interrupted_run_continues_at_the_piece(speech, tmp_path, recorder):
    recorder.stop, options, run = 4, AnonymiseOptions(piece=3.0), Run(cores=1)
    with pytest.raises(KeyboardInterrupt):
        anonymise(speech, tmp_path / "out", "recorder", options, run=run)
    assert not (tmp_path / "out" / "ada" / "talk.wav").exists()
    done = len(recorder.calls)
    anonymise(speech, tmp_path / "out", "recorder", options, run=run)
    again = recorder.calls[done:]
    assert again[0] == recorder.calls[done - 1]
    assert not journal_of(tmp_path / "out").folder.exists()
    anonymise(speech, tmp_path / "whole", "recorder", options, run=run)
    for name in ("digests.txt", "pieces.csv"):
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert len(recorder.calls) - done - len(again) == done - 1 + len(again)


def test_a_finished_long_recording_keeps_its_times_when_another_is_done_later(speech, tmp_path, recorder):
    soundfile.write(speech / "ada" / "ulk.wav", talk(8.0, seed=1), RATE)
    options, run = AnonymiseOptions(piece=3.0), Run(cores=1)
    anonymise(speech, tmp_path / "whole", "recorder", options, run=run)
    recorder.stop = 2 * len(recorder.calls)  # the last piece of the last recording
    with pytest.raises(KeyboardInterrupt):
        anonymise(speech, tmp_path / "out", "recorder", options, run=run)
    assert (tmp_path / "out" / "ada" / "talk.wav").exists()
    anonymise(speech, tmp_path / "out", "recorder", options, run=run)
    assert table(tmp_path / "out") == table(tmp_path / "whole")


def test_a_recording_that_changes_meanwhile_is_refused(speech, tmp_path, recorder, monkeypatch):
    call = Recorder.__call__

    def changing(self, wave, rate, utterance):
        if len(self.calls) == 3:
            soundfile.write(speech / "ada" / "talk.wav", talk(seed=5), RATE)
        return call(self, wave, rate, utterance)

    monkeypatch.setattr(Recorder, "__call__", changing)
    result = anonymise(speech, tmp_path / "out", "recorder", AnonymiseOptions(piece=3.0), run=Run(cores=1))
    assert "changed while it was read" in str(result.refused[0])
    assert not (tmp_path / "out" / "ada" / "talk.wav").exists()


def test_a_full_disk_is_an_error_of_writing_and_leaves_no_cut_file(speech, tmp_path, recorder):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, limits[1]))
    try:
        with pytest.raises(OutputError):
            anonymise(speech, tmp_path / "out", "recorder", AnonymiseOptions(piece=3.0), run=Run(cores=1))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not list((tmp_path / "out").rglob("*talk*"))


MEMORY = """
import resource, sys
from zeroevidence.protect.anonymise import anonymise
from zeroevidence.run import Run
anonymise(sys.argv[1], sys.argv[2], "formant:1.2", run=Run(cores=1))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10)
"""


@slow
def test_memory_does_not_grow_with_the_length(tmp_path):
    peaks = []
    for minutes in (2, 20):
        folder = tmp_path / str(minutes) / "ada"
        folder.mkdir(parents=True)
        soundfile.write(folder / "talk.wav", talk(60.0 * minutes), RATE)
        command = [sys.executable, "-c", MEMORY, folder.parent, tmp_path / f"out{minutes}"]
        peaks.append(int(subprocess.run(command, capture_output=True, check=True).stdout))
    assert peaks[1] < peaks[0] + 20  # MB; the recording alone would take 150


def test_an_audit_refuses_what_it_would_have_to_hold_and_doctor_says_so_before(tmp_path, monkeypatch):
    monkeypatch.setattr("zeroevidence.data.audio.MOST_MINUTES", 0.1)
    (tmp_path / "ada").mkdir()
    soundfile.write(tmp_path / "ada" / "talk.wav", talk(7.0), RATE)
    utterance = Utterance("talk", "ada", tmp_path / "ada" / "talk.wav")
    message = "0 min in one recording; expected at most 0.1 min, or its parts in a table with start and end"
    with pytest.raises(InputError, match=message):
        load_speech(utterance)
    assert len(load_speech(replace(utterance, end=6 * RATE)).wave) == 6 * RATE
    report = examine_corpus(tmp_path, run=Run(cores=1))
    assert [note.reason for note in report.notes if message in note.reason]
    soundfile.write(tmp_path / "ada" / "talk.wav", talk(5.0), RATE)
    assert not [note for note in examine_corpus(tmp_path, run=Run(cores=1)).notes if "in one recording" in note.reason]


def piped(data, transform, rate=None, piece=3.0):
    said, sink = [], io.BytesIO()
    speech = PcmInput.of(io.BytesIO(data), rate, "standard input")
    try:
        return sink, said, anonymise_pipe(speech, sink, transform, piece, said.append)
    except InputError as error:
        return sink, said, str(error)


def wav(wave, rate=RATE, **settings):
    buffer = io.BytesIO()
    soundfile.write(buffer, wave, rate, format="WAV", **settings)
    return buffer.getvalue()


def pcm(wave):
    return np.rint(wave * 32768).astype("<i2").tobytes()


@pytest.mark.parametrize("raw", [False, True])
def test_what_is_piped_comes_out_in_pieces_of_the_same_length(raw):
    recorder, wave = Recorder(), talk(12.3)
    data = pcm(wave) if raw else wav(np.stack([wave, wave], axis=1))
    sink, said, summary = piped(data, recorder, RATE if raw else None)
    if raw:
        written = np.frombuffer(sink.getvalue(), "<i2") / 32768
    else:
        sink.seek(0)
        written, rate = soundfile.read(sink)
        assert rate == RATE
    assert said == []
    lengths = [length for _, length in recorder.calls]
    assert sum(lengths) == len(wave) == len(written)
    assert max(lengths) <= 3 * RATE
    assert min(lengths) >= 0.75 * RATE
    assert summary.seconds == tuple(length / RATE for length in lengths)
    assert summary.waited == 3.75
    inside = np.ones(len(wave), bool)
    for border in [0, *np.cumsum(lengths)]:
        inside[max(border - 80, 0) : border + 80] = False
    np.testing.assert_allclose(written[inside], np.clip(2 * wave, -1, 1)[inside], atol=2e-4)
    assert np.abs(np.diff(written)[np.cumsum(lengths)[:-1] - 1]).max() < 2e-3  # no click


def test_a_refused_piece_of_a_pipe_is_silence_of_its_length():
    recorder = Recorder(refuse=(2,))
    sink, said, summary = piped(pcm(talk()), recorder, RATE)
    first, second = (length for _, length in recorder.calls[:2])
    written = np.frombuffer(sink.getvalue(), "<i2")
    assert len(written) == 12 * RATE
    assert not written[first : first + second].any()
    assert written[first + second :].any()
    assert summary.silenced == len(said) == 1
    assert said[0].endswith("s: no words were recognised; silent there")


@pytest.mark.parametrize(
    ("data", "rate", "message"),
    [
        (b"", None, "empty; expected a WAV file or 16-bit PCM"),
        (b"\1\2" * 99, None, "no WAV file; expected one, or --rate"),
        (wav(talk(1.0), subtype="FLOAT"), None, "format 3 with 32 bits; expected 16-bit PCM"),
        (wav(talk(1.0), subtype="PCM_24"), None, "with 24 bits; expected 16-bit PCM"),
        (wav(talk(1.0)), 8_000, "a WAV file of 16000 Hz; expected the 8000 Hz of --rate"),
        (wav(talk(1.0))[:30], None, "its header is damaged"),
        (wav(talk(1.0))[:44], None, "32000 bytes of samples are missing"),
    ],
)
def test_what_cannot_be_piped_is_one_line_and_no_sample(data, rate, message):
    sink = io.BytesIO()
    with pytest.raises(InputError, match=message):
        anonymise_pipe(PcmInput.of(io.BytesIO(data), rate, "standard input"), sink, Recorder(), 3.0, print)
    assert len(sink.getvalue()) <= 44


@pytest.mark.parametrize("end", [-1, -1_000])
def test_what_came_before_a_stream_was_cut_off_is_written(end):
    sink, _, error = piped(wav(talk())[:end], Recorder())
    assert "cut off" in error
    assert len(sink.getvalue()) == 44 + 24_000 * 16 + (end if end % 2 == 0 else end - 1)
