"""README: every line is run on files of the names that it uses; what installs is checked against the project."""

import re
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.effort import slow
from tests.spectrum import Spectrum
from tests.speech import write_voices
from zeroevidence.auditing import audit_corpora
from zeroevidence.cli import cli, main
from zeroevidence.protect.assessment.classifiers import CLASSIFIERS
from zeroevidence.protect.attributes import ATTRIBUTE_PROTECTORS
from zeroevidence.protect.voices import VOICE_PROTECTORS
from zeroevidence.sample import sample_rows, sample_sets

pytest.importorskip("soundfile")

ROOT = Path(__file__).resolve().parents[2]
INSTALLS = "python3 -m venv"
README = (ROOT / "README.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def write_tandem(folder):
    rng = np.random.default_rng(0)
    kinds = {"- bonafide": 1.5, "A07 spoof": -1.5, "A08 spoof": -0.5}
    cm = [f"u{i}_{at} {kind} {rng.normal(at):.3f}" for kind, at in kinds.items() for i in range(30)]
    kinds = {"- target": 2.0, "- nontarget": -2.0, "A07 spoof": 1.0, "A08 spoof": 1.5}
    asv = [f"{kind} {rng.normal(at):.3f}" for kind, at in kinds.items() for _ in range(30)]
    (folder / "cm.txt").write_text("\n".join(cm) + "\n")
    (folder / "asv.txt").write_text("\n".join(asv) + "\n")


def write_embeddings(path):
    rng = np.random.default_rng(0)
    speaker = np.repeat([f"p{n:02d}" for n in range(18)], 6)
    sex = np.repeat(["f", "m"] * 9, 6)
    vectors = np.repeat(rng.normal(size=(18, 4)), 6, axis=0) + 0.3 * rng.normal(size=(108, 4))
    vectors[:, 0] += np.where(sex == "f", 1.5, -1.5)
    np.savez(path, vectors=vectors, speaker=speaker, sex=sex)


@pytest.fixture
def files(tmp_path, monkeypatch, few_replicates):
    """What the commands of README name."""
    monkeypatch.setattr("zeroevidence.auditing.corpus_audit.load_extractor", lambda name, **_: Spectrum())
    few = {"attackers": ("lazy-informed",), "backends": ("cosine",), "splits": 1}  # one of each is enough
    monkeypatch.setattr(
        "zeroevidence.cli.commands.audit.audit_corpora",
        lambda speech, options, run: audit_corpora(speech, replace(options, **few), run),
    )
    logistic, linear = {"logistic": CLASSIFIERS["logistic"]}, ATTRIBUTE_PROTECTORS["linear"]
    monkeypatch.setattr(CLASSIFIERS, "_entries", logistic)
    monkeypatch.setattr("zeroevidence.protect.fitting.ATTRIBUTE_PROTECTORS._entries", {"linear": linear})
    tones = replace(VOICE_PROTECTORS["cascade"], make=VOICE_PROTECTORS["mcadams"].make)  # in which nobody hears words
    monkeypatch.setattr(VOICE_PROTECTORS, "_entries", {**VOICE_PROTECTORS, "cascade": tones})
    _, ignorant, informed = sample_rows("eval")
    dev = sample_rows("dev")[1]
    copies = {
        ("scores.txt", "f.scores", "a.scores"): ignorant.scores,
        ("b.scores",): informed.scores,
        ("trials", "trials_f", "data/digits_eval_trials/trials"): ignorant.key,
        ("m.scores",): dev.scores,
        ("trials_m",): dev.key,
        ("exp/asv_orig/digits_eval_enrolls-digits_eval_trials_anon/scores",): ignorant.scores,
    }
    for names, source in copies.items():
        for name in names:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_bytes(Path(source).read_bytes())
    sets = sample_sets("mcadams")
    for name, part in (("E.npz", sets.eval_enrol), ("T.npz", sets.eval_trial)):
        np.savez(tmp_path / name, vectors=part.vectors, utterance=part.ids, speaker=part.speakers)
    write_voices(tmp_path / "original", 12)
    write_tandem(tmp_path)
    write_embeddings(tmp_path / "voices.npz")
    return tmp_path


def test_every_line_runs(page, parse_blocks, files):
    blocks = [block for block in parse_blocks(README) if INSTALLS not in block.text]
    assert len(blocks) >= 2
    page("README.md").run(blocks)
    assert (files / "report.html").stat().st_size > 10_000
    assert (files / "out" / "result.json").exists()


def shares(text):
    return re.findall(r"puts the right name to ([\d.]+ %) \(95", text.replace("\u00a0", " "))


def test_the_shares_are_those_of_the_demo(shared_demo, capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["demo"])
    assert shares(capsys.readouterr().out) == shares(README)


@slow
def test_the_first_lines_are_those_of_the_demo(shared_demo, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    shown = re.search(r"zeroevidence demo\n```\n\n```text\n(.*?)```", README, re.DOTALL)[1]
    with pytest.raises(SystemExit, match="0"):
        main(["demo"])
    assert capsys.readouterr().out.replace("\u00a0", " ").startswith(shown)


def test_what_is_named_exists(parse_blocks):
    assert [path for path in re.findall(r"\]\((?!http)([^)#]+)", README) if not (ROOT / path).exists()] == []
    parts = set(PROJECT["optional-dependencies"]) - {"test", "lint", "docs", "release"}
    assert parts <= set(re.findall(r"`(\w+)`", README.split("Optional parts:")[1].split("##")[0]))
    installs = "".join(block.text for block in parse_blocks(README) if INSTALLS in block.text)
    extras = {extra for names in re.findall(r"\.\[([\w,]+)\]", README) for extra in names.split(",")}
    assert extras
    assert extras <= set(PROJECT["optional-dependencies"])
    assert all((ROOT / name).is_file() for name in re.findall(r"-c (\S+)", installs))
    assert set(re.findall(r"bin/zeroevidence (\w+)", installs)) <= set(cli.list_commands(None))
    assert PROJECT["scripts"]["zeroevidence"] == "zeroevidence.__main__:main"


def test_the_picture_shows_the_numbers_of_the_text():
    picture = (ROOT / "docs/_static/demo-attackers.svg").read_text(encoding="utf-8")
    assert len(shares(README)) == 4
    assert all(f">{share}<" in picture for share in shares(README))
    assert "docs/_static/demo-attackers.svg" in README
