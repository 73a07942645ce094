"""`zeroevidence audit` from audio to a folder of results, with a stand-in for the speaker encoder."""

import json
import sys

import numpy as np
import pytest
from scipy.signal import lfilter

from tests.effort import slow
from tests.spectrum import Spectrum
from tests.speech import write_voices
from zeroevidence.attack.training import TrainingSettings
from zeroevidence.data.seals import make_keys
from zeroevidence.errors import UsageError
from zeroevidence.evaluation import read_results
from zeroevidence.report.verdict import verdict

soundfile = pytest.importorskip("soundfile")


@pytest.fixture
def corpus(tmp_path):
    return write_voices(tmp_path / "speech", 18)


@pytest.fixture
def encoder(monkeypatch):
    stand_in = Spectrum()
    monkeypatch.setattr("zeroevidence.auditing.corpus_audit.load_extractor", lambda name, **_: stand_in)
    return stand_in


QUICK = ("--intervals", 5, "--null", 5, "--backend", "cosine", "--splits", 1)


@pytest.mark.parametrize("calibrate_on", [pytest.param("matched", marks=slow), "attacker"])
def test_the_ignorant_calibrate_on_what_they_have_where_asked(
    run, corpus, encoder, tmp_path, without_figures, calibrate_on
):
    given = ("--attacker", "ignorant", "--calibrate-on", calibrate_on)
    run.well("audit", corpus, "--protect", "mcadams", "-o", tmp_path / "out", *QUICK, *given)
    card = json.loads((tmp_path / "out" / "attackers.json").read_text())[-1]
    assert card["name"] == "ignorant (enrolment original, trained on original)"
    tried = "anonymised" if calibrate_on == "matched" else "original"
    assert card["calibrated_on"].startswith(f"original enrolment against {tried} trials of")


def test_who_has_no_trained_encoder_is_refused_before_anything_is_read(run, corpus, encoder, tmp_path):
    asked = ("audit", corpus, "--protect", "mcadams", "-o", tmp_path / "out", *QUICK, "--attacker", "semi-informed")
    run.fails(2, "semi-informed: an attacker with an encoder that was trained on anonymised speech", *asked)


def test_audit_from_audio_to_results(run, corpus, encoder, tmp_path, without_figures):
    out = tmp_path / "out"
    printed, err = run.well("audit", corpus, "--protect", "mcadams", "-o", out, *QUICK)
    document = json.loads((out / "result.json").read_text())
    attackers = [row["about"]["threat"]["name"] for row in document["rows"]]
    assert attackers == ["unprotected", "random", "ignorant", "lazy-informed", "backend-informed"]
    unprotected, random = (row["metrics"]["alid"]["value"] for row in document["rows"][:2])
    assert unprotected > 0.5 > abs(random)
    cards = json.loads((out / "attackers.json").read_text())
    assert len(cards) == 5
    assert {"objective", "opportunity", "resources", "trained_on", "calibrated_on"} <= set(cards[0])
    assert json.loads((out / "protector.json").read_text())["name"] == "mcadams"
    assert len(printed.splitlines()) <= 15
    words = verdict(read_results(out))
    assert (out / "summary.txt").read_text().startswith(f"{words.headline}\n")
    assert [" ".join(words.headline.split()) in " ".join(text.split()) for text in (printed, err)] == [True, False]
    assert all(" ".join(line.split()) in " ".join(printed.split()) for line in words.summary)
    assert (out / "trials.csv").read_text().startswith("row_")
    assert (out / "speakers.csv").exists()
    assert words.headline in (out / "report.html").read_text()
    assert f"wrote {out / 'report.html'}" in err
    size = sum(path.stat().st_size for path in (out / "cache").rglob("*") if path.is_file())
    assert [path.name for path in (out / "cache").iterdir()] == ["vectors"]  # protected speech is gone
    assert f"cache: {size / 1e6:.1f} MB, which `zeroevidence cache {out / 'cache'} --clean` removes" in err
    run.fails(2, "--overwrite", "audit", corpus, "--protect", "mcadams", "-o", out, *QUICK)


def test_the_card_of_anonymised_speech_is_read(run, corpus, encoder, tmp_path, without_figures):
    pytest.importorskip("cryptography")
    protected = tmp_path / "protected"
    assert run("anonymise", corpus, "-o", protected, "--protect", "mcadams-random")[0] == 0
    least = ("--intervals", 0, "--null", 0, "--backend", "cosine", "--attacker", "ignorant")
    private, public = make_keys(tmp_path)
    sealed = ("-o", tmp_path / "out", "--seal", private, "--verbose")
    printed, _ = run.well("audit", corpus, "--anonymised", protected, *sealed, *least)
    assert run("doctor", "--seal", public, tmp_path / "out") == (0, f"{tmp_path / 'out'}: ok\n", "")
    assert "protector      mcadams-random" in printed
    assert "release        72 recordings" in printed
    card = json.loads((tmp_path / "out" / "protector.json").read_text())
    assert card == json.loads((protected / "protector.json").read_text())
    assert "Drawn by a seed that was not kept." in (tmp_path / "out" / "report.html").read_text()
    (protected / "protector.json").write_text(json.dumps(card | {"surprise": 1}))
    calls = encoder.calls
    code, _, err = run("audit", corpus, "--anonymised", protected, "-o", tmp_path / "other", *least)
    assert code == 3
    assert "protector.json: card: has no field 'surprise'" in err
    assert encoder.calls == calls  # before anything is embedded
    assert not (tmp_path / "other").exists()


@slow
def test_few_people_are_cross_validated_and_embedded_once(run, corpus, encoder, tmp_path, without_figures):
    named = ("-o", tmp_path / "out", "--cache", tmp_path / "kept", "--workers", 1)
    _, err = run.well("audit", corpus, "--protect", "mcadams", *named, *QUICK[:-2])
    assert (tmp_path / "kept" / "protected").is_dir()  # another audit may need it
    assert "18 people in 3 folds, dealt 5 times (--splits), so attackers learn 15 times" in err
    assert encoder.calls == 2 * 18 * 4
    rows = read_results(tmp_path / "out")
    assert {(row.setup.search.folds, row.setup.search.splits) for row in rows} == {((6, 6, 6), 5)}
    assert {row.counts["speakers"] for row in rows} == {18}
    code, _, err = run("audit", corpus, "--protect", "mcadams", "-o", tmp_path / "many", *QUICK, "--folds", 10)
    assert code == 2
    assert "10 folds of 18 people" in err


def test_folder_of_an_external_anonymiser(run, corpus, encoder, tmp_path, without_figures):
    protected, again = tmp_path / "anonymised", tmp_path / "again"
    for path in corpus.rglob("*.wav"):
        wave, rate = soundfile.read(path)
        for home, gain, behind in ((protected, 1.0, "_anon"), (again, 0.5, "")):  # names that it changed are theirs
            target = home / path.relative_to(corpus).with_stem(f"{path.stem}{behind}")
            target.parent.mkdir(parents=True, exist_ok=True)
            soundfile.write(target, gain * wave[::-1], rate)
    folders = "--anonymised", protected, "--anonymised", again
    more = ("-o", tmp_path / "out", "--verbose", *QUICK, "--attacker", "lazy-informed")
    printed, err = run.well("audit", corpus, *folders, *more)
    assert "anonymised: its files have '_anon' behind the names of the originals, and count as theirs" in err
    assert "run 2 times on the speech" in " ".join(printed.split())
    assert any("alid_over_draws" in row.curves for row in read_results(tmp_path / "out"))
    assert "With 2 runs of the anonymiser instead of 1" in (tmp_path / "out" / "report.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "code", "reason"),
    [
        ([], 2, "expected either a folder of anonymised speech or a protector"),
        (["--protect", "mcadams", "--anonymised", "x"], 2, "and not both"),
        (["--protect", "magic"], 2, "magic"),
        (["--anonymised", "x", "--draws", "2"], 2, "2 draws of 1 folder"),
        (["--protect", "mcadams", "--training", "epochs=0"], 2, "0 is not in the range x>0"),
        (["--protect", "mcadams", "--training", "seed=3"], 2, "expected NAME=VALUE with NAME one of scope, epochs"),
        (["--protect", "mcadams"], 3, "nothing"),
    ],
)
def test_wrong_usage_and_a_missing_corpus(run, encoder, tmp_path, arguments, code, reason):
    ended, _, err = run("audit", tmp_path / "nothing", *arguments, "-o", tmp_path / "out")
    assert (ended, reason in " ".join(err.split())) == (code, True)


def test_doctor_looks_at_a_corpus(run, corpus):
    assert run("doctor", "--corpus", corpus) == (0, f"{corpus}: ok\n", "")
    lonely = corpus / "zz"
    lonely.mkdir()
    soundfile.write(lonely / "zz_0.wav", np.zeros(4000), 16_000)
    (corpus / "p00" / "p00_0.wav").write_bytes(b"no audio")
    soundfile.write(corpus / "p01" / "p01_0.wav", 0.1 * np.random.default_rng(0).normal(size=(4000, 2)), 8000)
    code, out, err = run("doctor", "--corpus", corpus)
    assert code == 3
    assert all(words in out for words in ("zz", "p00_0.wav", "note: "))
    assert "problems found" in err


@slow
def test_utility_of_the_speech_itself(run, corpus, encoder, tmp_path, without_figures):
    pytest.importorskip("jiwer")
    names = sorted(path.stem for path in corpus.glob("*/*.wav"))
    (tmp_path / "text").write_text("".join(f"{name} ONE TWO\n" for name in names))
    (tmp_path / "hear.py").write_text("import sys\nfor line in open(sys.argv[1]):\n    print(line.split()[0], 'ONE')\n")
    for path in corpus.rglob("*.wav"):  # another waveform with the same pitch and length
        wave, rate = soundfile.read(path)
        for _ in range(20):
            wave = lfilter([0.9, 1.0], [1.0, 0.9], wave)
        (tmp_path / "anonymised" / path.parent.name).mkdir(parents=True, exist_ok=True)
        soundfile.write(tmp_path / "anonymised" / path.parent.name / path.name, wave, rate)
    quick = ("--effort", "quick", "--folds", 0, "--intervals", 20, "--null", 0, "-o", tmp_path / "out")
    heard = ("--transcripts", tmp_path / "text", "--recogniser", f"{sys.executable} {tmp_path / 'hear.py'} {{list}}")
    printed, _ = run.well(
        "audit", corpus, "--anonymised", tmp_path / "anonymised", "--pitch", *heard, *quick, "--verbose"
    )
    assert {"WER [%]", "length difference [%]"} <= {line.split("  ")[0] for line in printed.splitlines()}
    words = {row.about.speech: float(row["wer"]) for row in read_results(tmp_path / "out") if "wer" in row}
    assert words == {"original": 0.5, "anonymised": 0.5}
    useful = {name: row[name] for row in read_results(tmp_path / "out") if row.about.speech for name in row}
    assert float(useful["length_difference"]) == 0.0
    assert float(useful["pitch_correlation"]) == pytest.approx(1.0, abs=0.02)
    code, _, err = run("audit", corpus, "--protect", "pitch:2", "--pitch", "-o", tmp_path / "b")
    assert code == 2
    assert "expected --anonymised" in err


def test_training_settings_reach_the_audit(run, tmp_path, monkeypatch):
    settings = []

    def stop(_speech, options, _run):
        settings.append((options.training, options.recogniser, options.transcripts))
        raise UsageError("stopped")

    monkeypatch.setattr("zeroevidence.cli.commands.audit.read_speech", lambda *_: None)
    monkeypatch.setattr("zeroevidence.cli.commands.audit.audit_corpora", stop)
    words = ("audit", tmp_path / "speech", "--protect", "mcadams", "-o", tmp_path / "out")
    code, _, err = run(*words, "--training", "epochs=3", "--training", "scope=last", "--training", "band_mask=0.3")
    assert (code, err.splitlines()) == (2, ["auditing speech", "stopped"])
    assert settings == [(TrainingSettings(epochs=3, scope="last", band_mask=0.3), None, None)]
    for recogniser in (None, "moonshine", "none"):  # whichever is installed, where only transcripts are given
        run(*words, "--transcripts", "text", *(() if recogniser is None else ("--recogniser", recogniser)))
        assert settings[-1] == (TrainingSettings(), recogniser, "text")
