from __future__ import annotations

import json
from typing import NamedTuple

import numpy as np
import pytest

from zeroevidence.evaluation.reading.results import read_results

pytest.importorskip("torch")
pytest.importorskip("safetensors")

QUICK = ("--intervals", "20", "--null", "20", "--classifier", "logistic")
FEW = ("--set", "epochs=2")


class Done(NamedTuple):
    exit_code: int
    stdout: str
    stderr: str


@pytest.fixture
def zeroevidence(run):
    """A command, as exit code, stdout and stderr."""
    return lambda *arguments: Done(*run(*arguments))


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
        )
    return tmp_path


def test_a_fitted_model_is_replaced_only_with_overwrite(files, zeroevidence):
    asked = ("protect", "fit", str(files / "train.npz"), "--attribute", "sex", "--protector", "linear")
    assert zeroevidence(*asked, "-o", str(files / "m")).exit_code == 0
    again = zeroevidence(*asked, "--set", "shrinkage=0.5", "-o", str(files / "m"))
    assert (again.exit_code, again.stderr) == (2, f"{files / 'm'}: exists and holds a model; --overwrite replaces it\n")
    assert zeroevidence(*asked, "--set", "shrinkage=0.5", "-o", str(files / "m"), "--overwrite").exit_code == 0
    assert json.loads((files / "m" / "model.json").read_text())["parameters"]["shrinkage"] == 0.5
    (files / "m" / "mine.txt").touch()
    assert zeroevidence(*asked, "-o", str(files / "m"), "--overwrite").exit_code == 2


def test_fit_apply_evaluate(files, zeroevidence):
    fitted = zeroevidence(
        *("protect", "fit", str(files / "train.npz"), "--attribute", "sex", "--protector", "flow"),
        *("--set", "epochs=2", "-o", str(files / "m")),
    )
    assert fitted.exit_code == 0
    assert "inversion error" in fitted.stderr
    target = files / "protected.npz"
    assert (
        zeroevidence("protect", "apply", str(files / "m"), str(files / "other.npz"), "-o", str(target)).exit_code == 0
    )
    before, after = np.load(files / "other.npz"), np.load(target)
    assert set(after.files) == {"vectors", "utterance", "speaker"}  # the label is not handed on
    assert after["vectors"].shape == before["vectors"].shape
    assert after["vectors"].dtype == np.float32
    np.testing.assert_array_equal(after["utterance"], before["utterance"])
    result = files / "r.json"
    asked = ("protect", "evaluate", str(files / "other.npz"), "--attribute", "sex")
    assert zeroevidence(*asked, "--model", str(files / "m"), *QUICK, "-f", "json", "-o", str(result)).exit_code == 0
    rows = json.loads(result.read_text())["rows"]
    assert [row["labels"]["system"] for row in rows if row["labels"].get("split") == "test"][::2] == [
        "unprotected",
        "m",
    ]
    shown = zeroevidence("plot", "map", str(result), "--row", "1", "-o", str(files / "map.svg"))
    assert shown.exit_code == 0
    assert zeroevidence("report", str(result), "-o", str(files / "r.html")).exit_code == 0


def test_evidence_can_be_set(files, zeroevidence):
    zeroevidence(
        *("protect", "fit", str(files / "train.npz"), "--attribute", "sex", "--protector", "flow"),
        *("--set", "epochs=1", "-o", str(files / "m")),
    )
    done = zeroevidence(
        "protect", "apply", str(files / "m"), str(files / "other.npz"), "--llr", "2", "-o", str(files / "two.npz")
    )
    assert done.exit_code == 0
    from zeroevidence.protect import load_model

    flow = load_model(files / "m").protector
    np.testing.assert_allclose(flow.llr(np.load(files / "two.npz")["vectors"]), 2.0, atol=1e-3)


def test_evaluate_fits_what_it_is_asked_to(files, zeroevidence):
    done = zeroevidence(
        "protect", "evaluate", str(files / "train.npz"), "--attribute", "sex", "--protector", "linear", *QUICK
    )
    assert done.exit_code == 0
    assert "Classification of the attribute" in done.stdout
    assert "adversarial" not in done.stdout


def test_the_published_flow_is_evaluated(files, zeroevidence):
    pytest.importorskip("torch")
    asked = ("protect", "evaluate", str(files / "train.npz"), "--attribute", "sex", "--protector", "flow", *QUICK)
    rows = []
    for more in ((), ("--paper",)):
        out = files / f"flow{len(more)}.json"
        done = zeroevidence(*asked, "--set", "epochs=2", *more, "-f", "json", "-o", str(out))
        assert done.exit_code == 0, done.stderr
        rows.append(next(row for row in read_results(out) if "mu_over_epochs" in row.curves))
    usual, paper = (row.curves["mu_over_epochs"].y for row in rows)
    assert paper[0] == 10.0
    assert usual[0] != 10.0
    assert len(paper) == 3


def test_fewer_people_and_all_attackers(files, zeroevidence):
    asked = ("protect", "evaluate", str(files / "train.npz"), "--attribute", "sex", "--protector", "linear")
    more = ("--classifier", "qda", "--classifier", "fusion", "--people-curve", "--people-for", "0.2")
    done = zeroevidence(*asked, *QUICK, *more)
    assert done.exit_code == 0
    text = " ".join(done.stdout.split())
    assert "D_ECE of every attacker on the tested people" in text
    assert "the tested people had no part in the choice" in text
    assert "D_ECE by the number of people fitted on" in text
    assert "cannot be said from these data: there are too few people" in text  # six people


def test_a_second_attribute_is_reported(files, zeroevidence):
    loaded = dict(np.load(files / "train.npz"))
    people = np.unique(loaded["speaker"], return_inverse=True)[1]
    loaded["accent"] = np.array(["n", "s"])[people // 2 % 2]
    np.savez(files / "two.npz", **loaded)
    asked = ("--attribute", "sex", "--keep", "accent", "--protector", "flow", *FEW, *QUICK)
    done = zeroevidence("protect", "evaluate", files / "two.npz", *asked, "-f", "csv")
    assert done.exit_code == 0
    assert {line.split(",")[2] for line in done.stdout.splitlines()[1:]} == {"", "sex", "accent"}


def test_labels_from_a_file(files, zeroevidence):
    loaded = np.load(files / "train.npz")
    np.savez(files / "bare.npz", **{name: loaded[name] for name in ("vectors", "utterance", "speaker")})
    lines = {f"{who} {sex}\n" for who, sex in zip(loaded["speaker"], loaded["sex"], strict=True)}
    (files / "spk2gender").write_text("".join(sorted(lines)))
    asked = ("protect", "evaluate", str(files / "bare.npz"), "--attribute", "gender", "--protector", "linear", *QUICK)
    missing = zeroevidence(*asked)
    assert missing.exit_code == 3
    assert "no attribute 'gender'" in missing.stderr
    assert zeroevidence(*asked, "--labels", str(files / "spk2gender")).exit_code == 0
    (files / "spk2gender").write_text("p0 F\n")
    short = zeroevidence(*asked, "--labels", str(files / "spk2gender"))
    assert short.exit_code == 3
    assert "no label for" in short.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("fit", "train.npz", "--attribute", "sex", "--set", "epochs", "-o", "n"), 2, "NAME=VALUE"),
        (
            ("fit", "train.npz", "--attribute", "sex", "--protector", "linear", "--set", "depth=3", "-o", "n"),
            2,
            "no parameter",
        ),
        (("fit", "train.npz", "--attribute", "sex", "--set", "depth=3", "-o", "n"), 2, "name the --protector"),
        (("fit", "train.npz", "--attribute", "age", "-o", "n"), 3, "no attribute 'age'"),
        (("fit", "train.npz", "--attribute", "sex", "-o", "m"), 2, "exists"),
        (("fit", "train.npz", "--attribute", "sex", "--protector", "linear", "--paper", "-o", "n"), 2, "no preset"),
        (("fit", "train.npz", "--attribute", "sex", "--protector", "linear", "--keep", "sex", "-o", "n"), 2, "keep"),
        (("apply", "m", "wide.npz", "-o", "o.npz"), 3, "vectors of 6 entries"),
        (("apply", "m", "other.npz", "-o", "o.csv"), 2, ".npz"),
        (("apply", "m", "other.npz", "--llr", "1", "-o", "o.npz"), 2, "only a flow"),
        (("apply", "nowhere", "other.npz", "-o", "o.npz"), 3, "no model"),
        (("apply", "m", "other.npz", "-o", "train.npz"), 2, "exists"),
        (("evaluate", "train.npz", "--attribute", "sex", "--model", "m"), 3, "was trained on"),
        (("evaluate", "other.npz", "--attribute", "sex", "--model", "m", "--protector", "flow"), 2, "--model"),
        (("evaluate", "other.npz", "--attribute", "sex", "--set", "epochs=1"), 2, "--protector"),
        (("evaluate", "other.npz", "--attribute", "sex", "--model", "m", "--paper"), 2, "--paper"),
        (("evaluate", "other.npz", "--attribute", "sex", "--front", "--paper"), 2, "--paper"),
        (
            ("evaluate", "train.npz", "--attribute", "sex", "--protector", "linear", "--paper"),
            2,
            "none of linear",
        ),
        (("evaluate", "other.npz", "--attribute", "sex", "--model", "m", "--people-curve"), 2, "--people-curve"),
        (("evaluate", "other.npz", "--attribute", "sex", "--classifier", "fusion"), 2, "fusion combines"),
    ],
)
def test_one_clear_message(files, zeroevidence, monkeypatch, arguments, code, words):
    monkeypatch.chdir(files)
    zeroevidence("protect", "fit", "train.npz", "--attribute", "sex", "--protector", "linear", "-o", "m")
    done = zeroevidence("protect", *arguments)
    assert done.exit_code == code
    assert words in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_strength_by_a_budget_or_a_target(files, zeroevidence):
    asked = ("protect", "fit", str(files / "train.npz"), "--attribute", "sex", "--protector", "classmeans")
    done = zeroevidence(*asked, "--budget", "eer=+20%", "-o", str(files / "m"))
    assert done.exit_code == 0
    assert "eer=+20%: classmeans, noise " in done.stderr
    noise = json.loads((files / "m" / "model.json").read_text())["parameters"]["noise"]
    assert f"noise {noise:g}," in done.stderr
    wrong = zeroevidence(*asked, "--budget", "d_ece=0.1", "-o", str(files / "n"))
    assert (wrong.exit_code, wrong.stderr.strip()) == (2, "--budget d_ece=0.1: expected eer=...")
    both = zeroevidence(*asked, "--budget", "eer=1%", "--target", "d_ece=0.1", "-o", str(files / "n"))
    assert "expected one of them" in both.stderr
    unreached = zeroevidence(*asked, "--target", "d_ece=0", "-o", str(files / "n"))
    assert "no protector stays within d_ece=0" in unreached.stderr
    assert not (files / "n").exists()


def test_a_key_that_is_kept_rotates_the_vectors_of_people(files, zeroevidence):
    asked = ("protect", "fit", str(files / "train.npz"), "--attribute", "sex", "--protector", "leace")
    assert zeroevidence(*asked, "--set", "noise=0.1", "-o", str(files / "m")).exit_code == 0

    def apply(name, *options, data="other"):
        done = zeroevidence(
            *("protect", "apply", str(files / "m"), str(files / f"{data}.npz"), "-o", str(files / f"{name}.npz")),
            *("--noise-seed", "1", *options),
        )
        assert done.exit_code == 0, done.stderr
        return np.load(files / f"{name}.npz")["vectors"], done.stderr

    first, words = apply("first")
    assert f"wrote {files / 'm.key'}" in words
    assert "keep it from whoever gets them" in words
    assert "each person has one direction; compare those of one speaker by their cosine" in words
    second, words = apply("second")
    assert "wrote " + str(files / "m.key") not in words
    np.testing.assert_array_equal(first, second)
    plain, words = apply("plain", "--no-rotation")
    assert "cosine" not in words
    np.testing.assert_allclose(np.linalg.norm(first, axis=1), 1.0, rtol=1e-5)
    (files / "key").write_text("secret")
    chosen, _ = apply("chosen", "--rotation-key", str(files / "key"))
    assert np.abs(chosen - first).max(axis=1).min() > 1e-3  # another key, other rotations
    np.testing.assert_allclose(first, np.repeat(first[::6], 6, axis=0), rtol=1e-5)
    claims, words = apply("claims", "--claims")
    assert "each vector was rotated as one of its speaker" in words
    assert np.einsum("nd,nd->n", claims, first).min() > 0.5
    back, _ = apply("back", "--rotate-back", "--rotation-key", str(files / "m.key"), data="claims")
    assert np.corrcoef(back.ravel(), plain.ravel())[0, 1] > 0.8 > abs(np.corrcoef(first.ravel(), plain.ravel())[0, 1])
    for options, message in (
        (("--rotate-back",), "name the --rotation-key"),
        (("--no-rotation", "--rotation-key", "k"), "goes without --no-rotation"),
        (("--no-rotation", "--claims"), "name the --rotation-key that enrolled people"),
    ):
        wrong = zeroevidence(
            *("protect", "apply", str(files / "m"), str(files / "first.npz"), *options, "-o", str(files / "x.npz"))
        )
        assert (wrong.exit_code, message in wrong.stderr) == (2, True)


def test_the_default_is_within_one_point_of_eer(files, zeroevidence):
    asked = ("protect", "fit", str(files / "train.npz"), "--attribute", "sex")
    done = zeroevidence(*asked, "-o", str(files / "m"))
    assert done.exit_code == 0
    first, *_ = done.stderr.splitlines()
    assert first == "choosing the strongest protection within eer=+1%"
    assert "--budget changes" in done.stderr
    assert "kept: EER" in done.stderr
    assert json.loads((files / "m" / "model.json").read_text())["protector"] != "flow"
    loaded = dict(np.load(files / "train.npz"))
    np.savez(files / "unnamed.npz", vectors=loaded["vectors"], sex=loaded["sex"])
    unnamed = zeroevidence("protect", "fit", str(files / "unnamed.npz"), "--attribute", "sex", "-o", str(files / "u"))
    assert "no people are named, so no EER can be computed: transport without noise" in unnamed.stderr


def test_front(files, zeroevidence):
    asked = ("protect", "evaluate", str(files / "train.npz"), "--attribute", "sex", "--front", "--protector", "leace")
    shown = zeroevidence(*asked, *QUICK)
    assert shown.exit_code == 0
    assert "Privacy against utility" in shown.stdout
    result = files / "front.json"
    assert zeroevidence(*asked, *QUICK, "-f", "json", "-o", str(result)).exit_code == 0
    about = [row["about"] for row in json.loads(result.read_text())["rows"]]
    assert {one["protector"] for one in about} == {"unprotected", "leace"}
    strengths = {one["strength"] for one in about}
    assert 0.0 in strengths
    assert len(strengths) > 5
    for utility in ("eer", "top1"):
        drawn = zeroevidence("plot", "front", str(result), "--utility", utility, "-o", str(files / f"{utility}.svg"))
        assert drawn.exit_code == 0
    refused = zeroevidence(*asked, "--no-verification")
    assert refused.exit_code == 2
