"""Word errors by a recogniser that had no part in the protection, of words as they are spoken."""

import numpy as np
import pytest

from zeroevidence.auditing.utility.hearing import choose_judge, corpus_transcripts, evaluate_hearing
from zeroevidence.auditing.utility.spoken_words import closest_words, spoken_words, with_spelling_flag
from zeroevidence.data.formats.corpora.read import read_corpus
from zeroevidence.errors import UsageError
from zeroevidence.evaluation import Options
from zeroevidence.evaluation.scores.utility import evaluate_transcripts
from zeroevidence.protect.voices import ProtectorPart
from zeroevidence.protect.voices.recognisers import RECOGNISERS, Recognised, RecogniserKind, load_recogniser

pytest.importorskip("jiwer")
soundfile = pytest.importorskip("soundfile")
SAID = "we call it bear 21"
NONE = Options(intervals=0, null=0)


@pytest.fixture
def corpora(tmp_path):
    """Loud original speech and quiet anonymised speech, heard in two ways; and what a recogniser makes of either."""
    heard = {"loud": "We call it BEAR, twenty-one!", "quiet": "We call him bear, 21."}

    def hear(wave):
        return Recognised(heard["loud" if np.abs(wave).max() > 0.3 else "quiet"], -0.1)

    lines = ["utterance\tspeaker\tpath\ttext"]
    for side, level in (("original", 0.5), ("anonymised", 0.1)):
        (tmp_path / side).mkdir()
        for number in range(4):
            soundfile.write(tmp_path / side / f"u{number}.wav", level * np.sin(np.arange(8_000) / 9.0), 16_000)
    lines += [f"u{number}\ts{number % 2}\tu{number}.wav\t{SAID.upper()}" for number in range(4)]
    (tmp_path / "original" / "utterances.tsv").write_text("\n".join(lines))
    RECOGNISERS.add(RecogniserKind("ear", "An ear", "CC0", "ear 1", "recogniser", -1.0, lambda: hear))
    load_recogniser.cache_clear()
    original = read_corpus(tmp_path / "original", draw=False)
    yield original, original.replaced(tmp_path / "anonymised"), heard
    RECOGNISERS.remove("ear")
    load_recogniser.cache_clear()


def test_the_original_beside_the_protected_speech(corpora, tmp_path):
    original, anonymised, _ = corpora
    said = corpus_transcripts(original, tmp_path / "original")
    assert said == {f"u{number}": SAID.upper() for number in range(4)}
    before, after = evaluate_hearing(original, anonymised, said, "ear", NONE)
    assert (before["wer"].value, after["wer"].value) == (0.0, pytest.approx(1 / 6))
    assert (before.about.speech, after.about.speech) == ("original", "anonymised")
    assert before.labels["recogniser"] == "ear"
    assert "recogniser-weak" not in {each.code for each in before.flags + after.flags}


def test_a_recogniser_that_fails_on_the_original_says_little(corpora, tmp_path):
    original, anonymised, heard = corpora
    heard["loud"] = "he fell"
    rows = evaluate_hearing(original, anonymised, corpus_transcripts(original, tmp_path / "original"), "ear", NONE)
    assert all("recogniser-weak" in {each.code for each in row.flags} for row in rows)


def test_no_system_judges_itself():
    parts = (ProtectorPart("recogniser", "moonshine", "", ""), ProtectorPart("voice", "whisper", "", ""))
    assert choose_judge(parts) == "whisper"
    assert choose_judge(parts, "whisper") == "whisper"
    for role in ("recogniser", "encoder"):
        with pytest.raises(
            UsageError, match="moonshine is a part of the protection and cannot judge it; expected whisper"
        ):
            choose_judge((ProtectorPart(role, "moonshine", "", ""),), "moonshine")
    with pytest.raises(UsageError, match="unknown speech recogniser 'parrot'"):
        choose_judge((), "parrot")


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("It’s 1,021 - isn't it?", "it's one thousand twenty one isn't it"),
        ("'Tis 'twenty-one' %", "tis twenty one percent"),
        ("2000000 007", "two million zero zero seven"),
        ("999", "nine hundred ninety nine"),
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
