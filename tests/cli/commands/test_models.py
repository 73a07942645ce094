"""`zeroevidence models`: what is listed, added and checked, and with which exit code."""

import json
import sys

import pytest

from zeroevidence.attack.encoders import BUNDLED
from zeroevidence.attack.extractors import EXTRACTORS

HOME = BUNDLED / "campplus"
MODEL = HOME / "campplus_zh_en.onnx"


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("ZEROEVIDENCE_HOME", str(tmp_path / "home"))
    return tmp_path / "home" / "encoders"


@pytest.fixture
def runs():
    """What runs encoders."""
    pytest.importorskip("onnxruntime")
    pytest.importorskip("soundfile")


@pytest.fixture
def card(tmp_path):
    words = json.loads((HOME / "card.json").read_text(encoding="utf-8"))

    def write(**change):
        (tmp_path / "card.json").write_text(json.dumps(words | change))
        return tmp_path / "card.json"

    return write


def test_the_list_names_encoders_then_what_others_need(run):
    code, out, err = run("models")
    assert (code, err) == (0, "")
    for words in ("campplus  (bundled, the default)", "CAM++", "Apache-2.0", "192 dimensions", MODEL):
        assert str(words) in out
    for family in EXTRACTORS.values():
        assert f"{family.title}; needs pip install 'zeroevidence[{family.extra}]'" in out
        assert family.needs in out


def test_adding_listing_checking(run, runs, home, card):
    code, out, err = run("models", "add", MODEL, "--card", card(), "--as", "mine")
    assert (code, err) == (0, "")
    assert out == f"added mine: {home / 'mine' / 'mine.onnx'}, sha256 {json.loads(card().read_text())['sha256']}\n"
    assert "mine  (added)" in run("models")[1]
    assert run("models", "check")[:2] == (0, "campplus: ok, cosine 1.000000\nmine: ok, cosine 1.000000\n")
    run.fails(2, "--overwrite replaces it", "models", "add", MODEL, "--card", card(), "--as", "mine")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"dim": None}, "card.json: campplus: has no 'dim'; expected one"),
        ({"dim": 256}, "campplus_zh_en.onnx: output of shape (1, 192); expected (1, 256) as its card says"),
        ({"bytes": 100}, "bytes; its card says 100"),
    ],
)
def test_cards_that_do_not_fit(run, runs, home, card, change, reason):
    code, out, err = run("models", "add", MODEL, "--card", card(**change), "--as", "mine")
    assert (code, out) == (3, "")
    assert reason in err
    assert not home.exists()


def test_wrong_usage(run, runs):
    for words, reason in (
        (("ecapa",), "nothing is downloaded; expected its file, too: models add ecapa FILE"),
        (("a", "b", "c"), "3 arguments; expected a file"),
        ((MODEL,), "'campplus' is an extractor already"),
    ):
        code, _, err = run("models", "add", *words)
        assert code == 2
        assert reason in err
    assert run("models", "add", "gone.onnx")[0] == 3
    assert run("models", "check", "wishful")[0] == 3


def test_a_damaged_encoder_fails_its_check_and_a_broken_card_the_list(run, runs, home, card):
    run("models", "add", MODEL, "--card", card(), "--as", "mine")
    (home / "mine" / "mine.onnx").write_bytes(b"")
    code, out, _ = run("models", "check", "mine")
    assert code == 3
    assert "mine.onnx: has 0 bytes; its card says 14" in out
    (home / "mine" / "card.json").write_text("[]")
    code, out, err = run("models")
    assert (code, "campplus" in out) == (3, True)
    assert "card.json: not a model card" in err


def test_missing_parts_have_their_own_exit_code(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    code, _, err = run("models", "check")
    assert code == 4
    assert "pip install 'zeroevidence[speech]'" in err
