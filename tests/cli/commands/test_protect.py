import json
from functools import partial
from typing import NamedTuple

import numpy as np
import pytest

from zeroevidence.evaluation.results import read_results
from zeroevidence.protect import load_model
from zeroevidence.protect.quick_attackers import held_out_attacks

pytest.importorskip("torch")
pytest.importorskip("safetensors")

QUICK = ("--intervals", "0", "--null", "0", "--classifier", "lda", "--no-verification")
SEX = ("--attribute", "sex")


class Done(NamedTuple):
    exit_code: int
    stdout: str
    stderr: str


def arrays(path):
    with np.load(path) as loaded:
        return dict(loaded)


@pytest.fixture
def protect(run, files, monkeypatch):
    """A command of `protect` in the folder of the files, as exit code, stdout and stderr."""
    monkeypatch.chdir(files)
    attacks = partial(held_out_attacks, names=("logistic", "qda"))  # how many there are is not what is tested here
    monkeypatch.setattr("zeroevidence.protect.choice.held_out_attacks", attacks)
    return lambda *arguments: Done(*run("protect", *arguments))


@pytest.fixture
def files(tmp_path):
    """Embeddings of two groups of people, and of another dimension."""
    rng = np.random.default_rng(0)
    for name, start, d in (("train", 0, 6), ("other", 100, 6), ("wide", 100, 7)):
        sex = np.arange(18) % 2
        who = np.repeat(np.arange(18), 6)
        vectors = rng.standard_normal((18, d))[who] + 0.4 * rng.standard_normal((len(who), d))
        vectors[:, 0] += 3.0 * sex[who]
        np.savez(
            tmp_path / f"{name}.npz",
            vectors=vectors.astype(np.float32),
            utterance=np.array([f"{name}{i}" for i in range(len(who))]),
            speaker=np.array([f"p{start + i}" for i in who]),
            sex=np.array(["F", "M"])[sex[who]],
            accent=np.array(["n", "s"])[who // 2 % 2],
        )
    return tmp_path


def described(folder):
    return json.loads((folder / "model.json").read_text())


def test_a_fitted_model_is_replaced_only_with_overwrite(files, protect):
    asked = ("fit", "train.npz", *SEX, "--protector", "linear", "-o", "m")
    assert protect(*asked).exit_code == 0
    again = protect(*asked, "--set", "shrinkage=0.5")
    assert (again.exit_code, again.stderr) == (2, "m: exists and holds a model; --overwrite replaces it\n")
    assert protect(*asked, "--set", "shrinkage=0.5", "--overwrite").exit_code == 0
    assert described(files / "m")["parameters"]["shrinkage"] == 0.5
    (files / "m" / "mine.txt").touch()
    assert protect(*asked, "--overwrite").exit_code == 2


def test_what_a_release_says(files, protect):
    data = arrays(files / "other.npz")
    np.savez(files / "unnamed.npz", vectors=data["vectors"])
    for noise in ("0", "1"):
        model = f"noise{noise}"
        fit = ("fit", "train.npz", *SEX, "--protector", "leace", "--set", f"noise={noise}", "-o", model)
        assert protect(*fit).exit_code == 0
        named = protect("apply", model, "other.npz", "-o", f"named{noise}.npz").stderr
        people = len(np.unique(data["speaker"]))
        assert (f"noise was drawn once for each of {people} people" in named) == (noise == "1")
        assert "tell more" not in named
        unnamed = protect("apply", model, "unnamed.npz", "-o", f"unnamed{noise}.npz").stderr
        words = "people are not named: each vector is protected by itself, and many vectors of one person tell more"
        assert words in unnamed


def test_fit_apply_evaluate_plot_and_report(files, protect, run, without_figures):
    fitted = protect("fit", "train.npz", *SEX, "--protector", "flow", "--set", "epochs=2", "-o", "m")
    assert fitted.exit_code == 0
    assert "inversion error" in fitted.stderr
    assert protect("apply", "m", "other.npz", "-o", "protected.npz").exit_code == 0
    before, after = arrays(files / "other.npz"), arrays(files / "protected.npz")
    assert set(after) == {"vectors", "utterance", "speaker", "accent"}  # the label is not handed on
    assert after["vectors"].shape == before["vectors"].shape
    assert after["vectors"].dtype == np.float32
    np.testing.assert_array_equal(after["utterance"], before["utterance"])
    set_to_two = protect("apply", "m", "other.npz", "--set-llr", "2", "-o", "two.npz")
    assert "--set-llr sets single vectors: each vector is protected by itself" in set_to_two.stderr
    flow = load_model(files / "m").protector
    np.testing.assert_allclose(flow.llr(arrays(files / "two.npz")["vectors"]), 2.0, atol=1e-3)
    out = ("-f", "json", "-o", "r.json")
    assert protect("evaluate", "other.npz", *SEX, "--model", "m", *QUICK, *out).exit_code == 0
    tested = [row.labels["system"] for row in read_results(files / "r.json") if row.about.role in ("attack", "control")]
    assert tested == ["unprotected", "m"]
    assert run("plot", "map", "r.json", "--row", "1", "-o", "map.svg")[0] == 0
    assert run("report", "r.json", "-o", "r.html")[0] == 0
    done = protect("evaluate", "train.npz", *SEX, "--protector", "linear", *QUICK, "--classifier", "fusion")
    assert (done.exit_code, "D_ECE of every attacker on the tested" in " ".join(done.stdout.split())) == (0, True)


def test_the_published_flow_is_evaluated_beside_a_second_attribute(files, protect):
    asked = ("evaluate", "train.npz", *SEX, "--protector", "flow", "--set", "epochs=2", *QUICK, "-f", "json")
    assert protect(*asked, "--keep", "accent", "-o", "usual.json").exit_code == 0
    assert protect(*asked, "--paper", "-o", "paper.json").exit_code == 0
    usual, paper = (read_results(files / f"{name}.json") for name in ("usual", "paper"))
    assert {row.about.attribute for row in usual} == {"sex", "accent"}
    drawn = ([row.curves.get("mu_over_epochs") for row in rows] for rows in (usual, paper))
    curves = [next(filter(None, each)).y for each in drawn]
    assert curves[0][0] != curves[1][0] == 10.0
    assert len(curves[1]) == 3


def test_labels_from_a_file(files, protect):
    loaded = arrays(files / "train.npz")
    np.savez(files / "bare.npz", **{name: loaded[name] for name in ("vectors", "utterance", "speaker")})
    lines = {f"{who} {sex}\n" for who, sex in zip(loaded["speaker"], loaded["sex"], strict=True)}
    (files / "spk2gender").write_text("".join(sorted(lines)))
    asked = ("evaluate", "bare.npz", "--attribute", "gender", "--protector", "linear", *QUICK)
    missing = protect(*asked)
    assert (missing.exit_code, "no attribute 'gender'" in missing.stderr) == (3, True)
    assert protect(*asked, "--labels", "spk2gender").exit_code == 0
    (files / "spk2gender").write_text("p0 F\n")
    short = protect(*asked, "--labels", "spk2gender")
    assert (short.exit_code, "no label for" in short.stderr) == (3, True)


def test_a_number_is_cut_into_classes(files, protect):
    for name, start in (("young", 0), ("old", 500)):
        rng = np.random.default_rng(start)
        age = 20 + rng.permutation(60)
        vectors = np.repeat(2.0 * rng.normal(size=(60, 5)) + 0.2 * np.outer(age, np.eye(5)[0]), 3, axis=0)
        vectors += 0.3 * rng.normal(size=vectors.shape)
        people = np.repeat([f"p{start + i:03d}" for i in range(60)], 3)
        np.savez(files / f"{name}.npz", vectors=vectors, speaker=people, age=np.repeat(age, 3))
    fitted = protect("fit", "young.npz", "--attribute", "age", "-o", "m")
    assert fitted.exit_code == 0
    assert "age is a number and was cut into classes at quantiles of the training people: below 35, 35" in fitted.stderr
    assert described(files / "m")["boundaries"] == [35.0, 50.0, 65.0] == list(load_model(files / "m").boundaries)
    assert protect("apply", "m", "old.npz", "-o", "protected.npz").exit_code == 0
    assert "age" not in arrays(files / "protected.npz")
    asked = ("evaluate", "old.npz", "--attribute", "age", *QUICK)
    text = protect(*asked, "--protector", "leace", "--classes", "3")
    assert (text.exit_code, "number-classes" in text.stdout) == (0, True)
    # the boundaries of a model are those of the people that it was trained on
    assert protect(*asked, "--model", "m", "-f", "json", "-o", "r.json").exit_code == 0
    assert {row.about.boundaries for row in read_results(files / "r.json")} == {(35.0, 50.0, 65.0)}
    both = protect(*asked, "--model", "m", "--classes", "3")
    assert (both.exit_code, both.stderr) == (2, "--model goes without --classes\n")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("fit", "train.npz", *SEX, "--set", "epochs", "-o", "n"), 2, "NAME=VALUE"),
        (("fit", "train.npz", *SEX, "--protector", "linear", "--set", "depth=3", "-o", "n"), 2, "no parameter"),
        (("fit", "train.npz", *SEX, "--set", "depth=3", "-o", "n"), 2, "name the --protector"),
        (("fit", "train.npz", "--attribute", "age", "-o", "n"), 3, "no attribute 'age'"),
        (("fit", "train.npz", *SEX, "--protector", "linear", "--paper", "-o", "n"), 2, "no preset"),
        (("fit", "train.npz", *SEX, "--classes", "3", "-o", "n"), 2, "sex is no column of more than 10 different"),
        (("fit", "train.npz", *SEX, "--budget", "d_ece=0.1", "-o", "n"), 2, "--budget d_ece=0.1: expected eer=..."),
        (("fit", "train.npz", *SEX, "--budget", "eer=1%", "--target", "d_ece=0", "-o", "n"), 2, "one of them"),
        (("apply", "m", "wide.npz", "-o", "o.npz"), 3, "vectors of 6 entries"),
        (("apply", "m", "other.npz", "-o", "o.csv"), 2, ".npz"),
        (("apply", "m", "other.npz", "--set-llr", "1", "-o", "o.npz"), 2, "only a flow"),
        (("apply", "nowhere", "other.npz", "-o", "o.npz"), 3, "no model"),
        (("apply", "m", "other.npz", "-o", "train.npz"), 2, "exists"),
        (("evaluate", "train.npz", *SEX, "--model", "m"), 3, "was trained on"),
        (("evaluate", "other.npz", *SEX, "--model", "m", "--protector", "flow", "--paper"), 2, "--protector and --p"),
        (("evaluate", "other.npz", *SEX, "--set", "epochs=1"), 2, "--protector"),
        (("evaluate", "other.npz", *SEX, "--front", "--no-verification"), 2, "--front goes without --no-verification"),
        (("evaluate", "train.npz", *SEX, "--protector", "linear", "--paper"), 2, "none of linear"),
        (("evaluate", "other.npz", *SEX, "--classifier", "fusion"), 2, "fusion combines"),
    ],
)
def test_one_clear_message(protect, arguments, code, words):
    if "m" in arguments:
        protect("fit", "train.npz", *SEX, "--protector", "linear", "-o", "m")
    done = protect(*arguments)
    assert done.exit_code == code
    assert words in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_strength_by_a_budget_or_a_target(files, protect):
    asked = ("fit", "train.npz", *SEX, "--protector", "leace")
    done = protect(*asked, "--budget", "eer=+20%", "-o", "m")
    assert done.exit_code == 0
    assert f"eer=+20%: leace, noise {described(files / 'm')['parameters']['noise']:g}," in done.stderr
    unreached = protect(*asked, "--target", "d_ece=0", "-o", "n")
    assert unreached.exit_code == 3
    assert "no protector stays within d_ece=0; the nearest is leace at strength" in unreached.stderr
    assert not (files / "n").exists()


def test_the_default_is_within_one_point_of_eer(files, protect):
    done = protect("fit", "train.npz", *SEX, "-o", "m")
    assert done.stderr.startswith("choosing the strongest protection within eer=+1%\n")
    assert "kept: EER" in done.stderr
    assert described(files / "m")["protector"] != "flow"
    loaded = arrays(files / "train.npz")
    np.savez(files / "unnamed.npz", vectors=loaded["vectors"], sex=loaded["sex"])
    unnamed = protect("fit", "unnamed.npz", *SEX, "-o", "u")
    assert "no people are named, so no EER can be computed: transport without noise" in unnamed.stderr


def test_front(files, protect, run):
    asked = ("evaluate", "train.npz", *SEX, "--front", "--protector", "leace", "--classifier", "lda", "--null", "0")
    assert protect(*asked, "--intervals", "0", "-f", "json", "-o", "front.json").exit_code == 0
    abouts = [row.about for row in read_results(files / "front.json")]
    assert {about.protector for about in abouts} == {"unprotected", "leace"}
    assert len({about.strength for about in abouts}) > 5
    for utility in ("eer", "top1"):
        assert run("plot", "front", "front.json", "--utility", utility, "-o", f"{utility}.svg")[0] == 0
    nobody = run("plot", "front", "front.json", "--judged", "person", "-o", "person.svg")
    assert (nobody[0], "no attacker judges a person" in nobody[2]) == (2, True)
