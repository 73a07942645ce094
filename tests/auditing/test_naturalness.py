"""Predicted opinion scores of original and protected speech, by people."""

import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from zeroevidence.auditing import naturalness
from zeroevidence.auditing.naturalness import can_judge, evaluate_naturalness, load_judge
from zeroevidence.data.formats.corpora import read_corpus
from zeroevidence.data.store import Store
from zeroevidence.errors import InputError, MissingExtra
from zeroevidence.evaluation import Options
from zeroevidence.evaluation.results import read_results, to_json
from zeroevidence.report import render
from zeroevidence.run import Run

soundfile = pytest.importorskip("soundfile")
NONE = Options(intervals=0, null=0)
PEOPLE, EACH = 12, 2


@pytest.fixture
def judge(monkeypatch):
    """One that scores by loudness, and counts what it is asked."""
    asked = SimpleNamespace(calls=0)

    def score(wave):
        asked.calls += 1
        return 1.0 + 4.0 * float(np.abs(wave).max())

    monkeypatch.setattr(naturalness, "load_judge", lambda: score)
    return asked


@pytest.fixture
def speech(tmp_path):
    """Original speech of one loudness, and protected speech of another for each person."""
    (tmp_path / "original").mkdir()
    (tmp_path / "anonymised").mkdir()
    lines = ["utterance\tspeaker\tpath"]
    for number in range(PEOPLE * EACH):
        wave = np.sin(np.arange(8_000) / (9.0 + number))
        quieter = 0.1 + 0.05 * (number % PEOPLE)
        for side, level in (("original", 0.75), ("anonymised", quieter)):
            wave = level * wave / np.abs(wave).max()
            soundfile.write(tmp_path / side / f"u{number}.wav", wave, 16_000, subtype="FLOAT")
        lines.append(f"u{number}\ts{number % PEOPLE}\tu{number}.wav")
    (tmp_path / "original" / "utterances.tsv").write_text("\n".join(lines))
    original = read_corpus(tmp_path / "original", draw=False)
    return original, original.replaced(tmp_path / "anonymised")


def test_scores_and_their_change_with_intervals_by_people(judge, speech, tmp_path, monkeypatch):
    before, after = evaluate_naturalness(*speech)
    levels = 1.0 + 4.0 * (0.1 + 0.05 * np.arange(PEOPLE))
    assert before["mos"].value == pytest.approx(4.0, abs=1e-5)
    assert after["mos"].value == pytest.approx(levels.mean(), abs=1e-5)
    assert after["mos_change"].value == pytest.approx(levels.mean() - 4.0, abs=1e-5)
    assert "mos_change" not in before
    change = after["mos_change"]
    # people are alike in everything but their level, so the interval is Student's over their means
    half = 2.201 * levels.std(ddof=1) / np.sqrt(PEOPLE)
    assert change.high - change.low == pytest.approx(2 * half, rel=0.15)
    assert change.low < change.value < change.high < 0.0
    assert (after.counts["utterances"], after.counts["speakers"]) == (PEOPLE * EACH, PEOPLE)
    (tmp_path / "result.json").write_text(to_json([before, after]))
    assert read_results(tmp_path / "result.json")[1]["mos_change"].value == change.value
    monkeypatch.setenv("COLUMNS", "120")
    text = render([before, after], "text")
    assert re.search(r"predicted MOS +24 +4\.0+ .* +2\.50+ \[", text)
    assert re.search(r"change of MOS +24 +-1\.50+ \[", text)


def test_a_transform_is_judged_like_a_folder(judge, speech):
    original, _ = speech

    class Half:
        name = fingerprint = "half"

        def __call__(self, wave, rate, utterance):
            return 0.5 * wave

    _, after = evaluate_naturalness(original, Half(), NONE)
    assert after["mos_change"].value == pytest.approx(-4.0 * 0.375, abs=1e-5)


def test_of_many_recordings_a_sample_is_judged_and_nothing_twice(judge, speech, tmp_path):
    rows = evaluate_naturalness(*speech, NONE, most=PEOPLE, store=Store(tmp_path, "judged"))
    assert [row.counts["speakers"] for row in rows] == [PEOPLE, PEOPLE]  # nobody twice before everybody once
    assert all("heard-sample" in {each.code for each in row.flags} for row in rows)
    assert judge.calls == 2 * PEOPLE
    again = evaluate_naturalness(*speech, NONE, most=PEOPLE, store=Store(tmp_path, "judged"), run=Run())
    assert judge.calls == 2 * PEOPLE
    assert [row["mos"] for row in again] == [row["mos"] for row in rows]


def test_without_the_wheel_nothing_is_judged(monkeypatch):
    monkeypatch.setattr(naturalness, "_WHEEL", naturalness.Wheel("nothing==1", "no_such_package", "weights"))
    monkeypatch.setattr(naturalness, "optional", None)  # nor is torch imported
    load_judge.cache_clear()
    assert not can_judge()
    with pytest.raises(MissingExtra, match=r"zeroevidence\[naturalness\]"):
        load_judge()


def test_weights_of_another_version_are_refused(monkeypatch, tmp_path):
    pytest.importorskip("torch")
    package = tmp_path / "other_judge"
    (package / "weights").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "weights" / "distill_mos_v7.pt").write_bytes(b"other")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(naturalness, "_WHEEL", naturalness.Wheel("distillmos==0.9.1", "other_judge", "weights"))
    load_judge.cache_clear()
    with pytest.raises(InputError, match="expected b18b3ac60227"):
        load_judge()


def test_the_model_prefers_clean_speech(shared):
    """On real speech, noise and clipping lower the score, and no torchaudio is left behind."""
    pytest.importorskip("xls_r_sqa", reason="the extra naturalness is not installed")
    load_judge.cache_clear()
    if not can_judge():
        pytest.skip("distillmos is not installed")
    before = set(sys.modules)
    judge, rng = load_judge(), np.random.default_rng(0)
    assert "torchaudio" in before or "torchaudio" not in sys.modules
    scores = []
    for path in sorted((shared / "audiomnist").rglob("*.flac"))[:2]:
        wave = soundfile.read(path, dtype="float32")[0]
        noisy = wave + 0.5 * wave.std() * rng.normal(size=len(wave)).astype(np.float32)
        scores.append([judge(each) for each in (wave, noisy, np.clip(wave, -0.02, 0.02))])
    scores = np.array(scores)
    assert ((scores >= 1.0) & (scores <= 5.0)).all()
    assert scores[:, 0].mean() > scores[:, 1:].mean(axis=0).max()
