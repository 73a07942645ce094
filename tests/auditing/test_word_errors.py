"""Word errors by a recogniser that had no part in the protection, of words as they are spoken."""

from dataclasses import replace

import numpy as np
import pytest

from zeroevidence.auditing import AuditOptions, read_speech, word_errors
from zeroevidence.auditing.speech_utility import CachedRecogniser
from zeroevidence.auditing.word_errors import (
    closest_words,
    corpus_transcripts,
    evaluate_word_errors,
    measure_word_errors,
    select_recogniser,
    spoken_words,
    with_spelling_flag,
)
from zeroevidence.data.corpus import Corpus
from zeroevidence.data.formats.corpora import read_corpus
from zeroevidence.data.store import Store
from zeroevidence.errors import InputError, MissingExtra, UsageError
from zeroevidence.evaluation import Options
from zeroevidence.evaluation.utility import evaluate_transcripts
from zeroevidence.protect.voices import ProtectorPart
from zeroevidence.protect.voices.speech_models import RECOGNISERS, RecogniserKind, Transcript, load_recogniser
from zeroevidence.run import Run

pytest.importorskip("jiwer")
soundfile = pytest.importorskip("soundfile")
SAID = "we call it bear 21"
NONE = Options(intervals=0, null=0)


@pytest.fixture
def ears():
    """Recognisers: ``ear`` says what its table says of loud and of quiet speech, ``lost`` is not installed."""
    heard = {"loud": "We call it BEAR, twenty-one!", "quiet": "We call him bear, 21.", "confidence": -0.1, "calls": 0}

    def listen(wave, language):
        heard["calls"] += 1
        return Transcript(heard["loud" if np.abs(wave).max() > 0.3 else "quiet"], heard["confidence"])

    def fail():
        raise MissingExtra("recogniser", "lost")

    for name, make in (("ear", lambda: listen), ("lost", fail)):
        RECOGNISERS.add(RecogniserKind(name, f"An {name}", "CC0", f"{name} 1", "recogniser", -1.0, make))
    load_recogniser.cache_clear()
    yield heard
    for name in ("ear", "lost"):
        RECOGNISERS.remove(name)
    load_recogniser.cache_clear()


@pytest.fixture
def corpora(ears, tmp_path):
    """Loud original speech and quiet anonymised speech, heard in two ways; and what a recogniser makes of either."""
    lines = ["utterance\tspeaker\tpath\ttext"]
    for side, level in (("original", 0.5), ("anonymised", 0.1)):
        (tmp_path / side).mkdir()
        for number in range(4):
            wave = level * np.sin(np.arange(8_000) / (9.0 + number))
            soundfile.write(tmp_path / side / f"u{number}.wav", wave, 16_000)
    lines += [f"u{number}\ts{number % 2}\tu{number}.wav\t{SAID.upper()}" for number in range(4)]
    (tmp_path / "original" / "utterances.tsv").write_text("\n".join(lines))
    original = read_corpus(tmp_path / "original", draw=False)
    return original, original.replaced(tmp_path / "anonymised"), ears


def codes(rows):
    return [{each.code for each in row.flags} for row in rows]


@pytest.fixture
def measured(corpora, tmp_path):
    """Measure word errors against what the corpus says was said."""
    original, anonymised, _ = corpora

    def measure(**settings):
        said = corpus_transcripts(original, tmp_path / "original")
        return evaluate_word_errors(original, anonymised, said, CachedRecogniser("ear"), NONE, **settings)

    return measure


def test_the_original_beside_the_protected_speech(corpora, measured):
    before, after = measured()
    assert (before["wer"].value, after["wer"].value) == (0.0, pytest.approx(1 / 6))
    assert (before.about.speech, after.about.speech) == ("original", "anonymised")
    assert before.labels["recogniser"] == "ear"
    assert not codes([before, after])[0] & {"recogniser-weak", "heard-sample", "reference-heard"}
    corpora[2]["loud"] = "he fell"  # a recogniser that fails on the original says little
    assert all("recogniser-weak" in each for each in codes(measured()))


def test_of_many_recordings_a_sample_is_heard_and_its_number_said(corpora, measured):
    rows = measured(heard=(1, 3))
    assert [row.counts["utterances"] for row in rows] == [3, 3]
    assert corpora[2]["calls"] == 6
    sentence = next(each.sentence for each in rows[1].flags if each.code == "heard-sample")
    assert sentence.startswith("3 of 4 recordings, drawn at random, were heard")
    samples = [measured(heard=(1, 2), run=Run(seed=seed)) for seed in range(8)]
    assert {row.counts["speakers"] for rows in samples for row in rows} == {2}  # nobody twice before everybody once


def test_as_many_are_heard_as_an_interval_of_ten_points_to_either_side_needs(corpora):
    original, anonymised, heard = corpora
    heard["loud"], heard["quiet"] = "bear", "beer"
    loud, quiet = next(iter(original)), next(iter(anonymised))
    names = [f"u{number}" for number in range(400)]
    before = Corpus(tuple(replace(loud, id=name, speaker=name) for name in names))
    wrong = np.random.default_rng(0).random(400) < 0.5
    after = Corpus(tuple(replace(quiet if wrong[at] else loud, id=name, speaker=name) for at, name in enumerate(names)))

    def counts(protected, **settings):
        rows = evaluate_word_errors(
            before, protected, dict.fromkeys(names, "bear"), CachedRecogniser("ear"), **settings
        )
        assert rows[0].counts == rows[1].counts
        return rows[1], rows[1].counts["utterances"]

    row, number = counts(after)
    assert pytest.approx(number, abs=12) == 1.96**2 * 0.25 / 0.1**2  # of a share of one half
    assert (row["wer"].high - row["wer"].low) / 2 <= 0.1
    assert counts(before)[1] == 30  # where nothing is wrong
    assert counts(after, heard=(30, 50))[1] == 50


def test_without_transcripts_the_original_as_it_is_heard_is_the_reference(corpora):
    original, anonymised, heard = corpora
    (row,) = evaluate_word_errors(original, anonymised, {}, CachedRecogniser("ear"), NONE)
    assert (row["wer"].value, row.about.speech) == (pytest.approx(1 / 6), "anonymised")
    assert "reference-heard" in codes([row])[0]
    heard["confidence"] = -1.1  # not understood
    with pytest.raises(InputError, match="no words to compare with"):
        evaluate_word_errors(original, anonymised, {}, CachedRecogniser("ear"), NONE)


def test_nothing_is_heard_twice(corpora, tmp_path):
    original, anonymised, heard = corpora
    recogniser = CachedRecogniser("ear", Store(tmp_path, "heard"))
    first = evaluate_word_errors(original, anonymised, {}, recogniser, NONE)
    assert heard["calls"] == 8
    file = next(path for path in tmp_path.rglob("*") if path.is_file())
    file.write_bytes(file.read_bytes()[:-1])  # cut off
    again = evaluate_word_errors(original, anonymised, {}, recogniser, NONE)
    assert heard["calls"] == 9
    assert again[0]["wer"] == first[0]["wer"]


def test_no_system_judges_itself(ears, monkeypatch):
    def selected(*parts, asked=None):
        return select_recogniser(asked, [ProtectorPart(*part, "", "") for part in parts])

    parts = (("recogniser", "moonshine"), ("voice", "ear"))
    monkeypatch.setattr(word_errors, "PREFERRED", ("moonshine", "lost", "ear"))
    assert selected(*parts) == selected(*parts, asked="ear") == "ear"
    for role in ("recogniser", "encoder"):
        assert selected((role, "ear"), parts[0]) is None
        with pytest.raises(UsageError, match="ear is a part of the protection and cannot judge it; expected lost"):
            selected((role, "ear"), asked="ear")
    with pytest.raises(UsageError, match="unknown speech recogniser 'parrot'"):
        selected(asked="parrot")
    with pytest.raises(MissingExtra, match=r"zeroevidence\[recogniser\]"):
        selected(asked="lost")
    monkeypatch.setattr(word_errors, "PREFERRED", ("lost",))
    lines = []
    for asked in (None, "none"):
        assert select_recogniser(asked, (), Run(say=lines.append)) is None
    assert len(lines) == 1
    assert "pip install 'zeroevidence[recogniser]'" in lines[0]
    with pytest.raises(MissingExtra, match=r"against --transcripts needs .*give --hypotheses or --recogniser COMMAND"):
        select_recogniser(None, (), Run(say=lines.append), needed=True)
    assert select_recogniser("none", (), needed=True) is None


def test_what_cannot_be_measured_stops_only_who_asked(corpora, tmp_path):
    _, anonymised, heard = corpora
    heard["confidence"] = -2.0
    (tmp_path / "nobody").write_text("other a b\n")
    lines = []

    def measure(asked, transcripts=None):
        options = AuditOptions(recogniser=asked, transcripts=transcripts, measuring=NONE)
        speech = read_speech(tmp_path / "original")
        return measure_word_errors(speech, anonymised, CachedRecogniser("ear"), options, Run(say=lines.append))

    for asked in ("ear", None):
        with pytest.raises(InputError, match="nobody: no words to compare with"):
            measure(asked, tmp_path / "nobody")
    table = tmp_path / "original" / "utterances.tsv"
    table.write_text(table.read_text().replace(SAID.upper(), ""))
    assert measure(None) == []
    assert len(lines) == 1
    assert lines[0].startswith("note: word errors are not measured: no words to compare with")


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("It’s 1,021 - isn't it?", "it's one thousand twenty one isn't it"),
        ("'Tis 'twenty-one' %", "tis twenty one percent"),
        ("2000000 007", "two million zero zero seven"),
        ("...", ""),
    ],
)
def test_words_are_written_as_they_are_spoken(text, spoken):
    assert spoken_words(text) == spoken


def test_numbers_are_read_in_the_way_that_differs_least():
    assert closest_words("zero three five", "035") == ("zero three five", "zero three five")
    assert closest_words("thirty five", "35") == ("thirty five", "thirty five")
    assert closest_words("three five", "35") == ("three five", "three five")


def test_errors_of_spelling_are_told_from_others():
    said = {"u1": "we call it bear", "u2": "so deep in talent"}
    for heard, flagged in (
        ({"u1": "We call it bear.", "u2": "So deep in talent."}, True),
        ({"u1": "we fell it bear", "u2": "so deep in town"}, False),
    ):
        row = with_spelling_flag(evaluate_transcripts(said, heard, options=NONE), said, heard)
        assert ("spelling-counts" in {each.code for each in row.flags}) == flagged
