"""``zeroevidence utility`` as a user meets it."""

import pytest


@pytest.fixture
def files(tmp_path):
    (tmp_path / "text").write_text("".join(f"u{n} one two three four\n" for n in range(24)))
    (tmp_path / "hyp").write_text("".join(f"u{n} one two {'three' if n % 3 else 'tree'} four\n" for n in range(24)))
    (tmp_path / "utt2spk").write_text("".join(f"u{n} s{n % 12}\n" for n in range(24)))
    (tmp_path / "utt2emo").write_text("".join(f"u{n} {('ang', 'sad')[n % 2]}\n" for n in range(24)))
    return tmp_path


def test_words(run, files):
    pytest.importorskip("jiwer")
    asked = ("utility", "--transcripts", files / "text", "--hypotheses", files / "hyp", "--speakers", files / "utt2spk")
    (row,) = run.rows(*asked, "--system", "mine")
    assert row["metrics"]["wer"]["value"] == pytest.approx(1 / 12)
    assert row["metrics"]["wer"]["low"] < 1 / 12 < row["metrics"]["wer"]["high"]
    assert (row["labels"]["system"], row["about"]["speech"]) == ("mine", "anonymised")
    code, out, _ = run(*asked, "--speech", "original", "--fail-if", "wer>0.05")
    assert code == 1
    assert "unprotected" in out


def test_emotions(run, files):
    out, _ = run.well("utility", "--emotions", files / "utt2emo", "--recognised", files / "utt2emo")
    assert "UAR" in out
    assert "ang" in out


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((), "nothing to measure; expected --transcripts and --hypotheses, or --emotions"),
        (("--transcripts", "text"), "expected --hypotheses or --recogniser"),
        (("--hypotheses", "text"), "expected --transcripts, too"),
        (("--emotions", "utt2emo"), "--emotions and --recognised belong together"),
        (("--transcripts", "text", "--recogniser", "whisper"), "whisper is for `audit`; expected a command"),
        (("--transcripts", "text", "--recogniser", "none"), "--recogniser none is for `audit`"),
    ],
)
def test_wrong_usage(run, files, monkeypatch, arguments, reason):
    monkeypatch.chdir(files)
    run.fails(2, reason, "utility", *arguments)


def test_without_jiwer(run, files, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "jiwer", None)
    code, _, err = run("utility", "--transcripts", files / "text", "--hypotheses", files / "hyp")
    assert code == 4
    assert "zeroevidence[utility]" in err
