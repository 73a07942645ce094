"""What a protection refused is left out on both sides; what is merely missing stops an audit."""

import json

import numpy as np
import pytest

from zeroevidence.auditing.protected_speech import find_left_out, read_speech
from zeroevidence.data.formats.corpora import read_corpus
from zeroevidence.errors import InputError
from zeroevidence.protect.anonymise import anonymise

soundfile = pytest.importorskip("soundfile")


@pytest.fixture
def speech(tmp_path):
    """Six recordings of two people, of which ada's enrolment and a trial of bob are silent, and their protection."""
    rows = ["utterance\tspeaker\tpath\trole\tsplit"]
    for name, role, level in (
        ("a1", "enrol", 0.0),
        ("a2", "trial", 0.1),
        ("b1", "enrol", 0.1),
        ("b2", "trial", 0.0),
        ("b3", "trial", 0.1),
        ("c1", "trial", 0.1),
    ):
        wave = level * np.random.default_rng(ord(name[1])).normal(size=8_000)
        (tmp_path / "original").mkdir(exist_ok=True)
        soundfile.write(tmp_path / "original" / f"{name}.wav", wave, 16_000)
        rows.append(f"{name}\t{name[0]}\t{name}.wav\t{role}\teval")
    (tmp_path / "original" / "utterances.tsv").write_text("\n".join(rows))
    anonymise(tmp_path / "original", tmp_path / "anonymised", protect="mcadams")
    return tmp_path


def test_refused_recordings_and_trials_that_lose_their_enrolment(speech):
    found = read_speech(speech / "original", speech / "anonymised")
    usable, left_out = found.corpus, found.left_out
    assert (left_out.refused, left_out.unmatched, left_out.total) == ({"a1", "b2"}, {"a2"}, 6)
    assert {each.id for each in usable} == {"b1", "b3", "c1"}  # c never had an enrolment
    assert {each.id for each in usable.replaced(speech / "anonymised")} == {"b1", "b3", "c1"}
    # what is listed but there is used
    soundfile.write(speech / "anonymised" / "b2.wav", 0.1 * np.random.default_rng(9).normal(size=8_000), 16_000)
    left_out = find_left_out(read_corpus(speech / "original", draw=False), [speech / "anonymised"])
    assert left_out.refused == {"a1"}


def test_what_is_missing_and_not_listed_is_no_refusal(speech):
    (speech / "anonymised" / "b3.wav").unlink()
    found = read_speech(speech / "original", speech / "anonymised")
    usable, left_out = found.corpus, found.left_out
    assert "b3" not in left_out.names
    with pytest.raises(InputError, match="no audio for utterance 'b3'"):
        usable.replaced(speech / "anonymised")


def test_a_card_with_a_number_of_refused_recordings_is_refused(speech):
    card = json.loads((speech / "anonymised" / "protector.json").read_text())
    card["release"]["refused"] = 2
    (speech / "anonymised" / "protector.json").write_text(json.dumps(card))
    with pytest.raises(InputError, match=r"protector\.json: .*refused.*expected a list"):
        read_speech(speech / "original", speech / "anonymised")
