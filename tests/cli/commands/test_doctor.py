"""Seals of results: keys, `evaluate --seal`, `audit --seal` and `doctor --seal`, and what is refused."""

import json
import stat
from pathlib import Path

import pytest

pytest.importorskip("cryptography")
EVALUATED = ("evaluate", "scores.txt", "--intervals", "0", "--null", "0", "-f", "json", "-o", "r.json")


@pytest.fixture(autouse=True)
def _home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = (
        f"p{e} u{t} {(e == t % 3) + 0.1 * t} {'target' if e == t % 3 else 'nontarget'}"
        for t in range(9)
        for e in range(3)
    )
    Path("scores.txt").write_text("\n".join(lines) + "\n")


@pytest.fixture
def sealed(run):
    assert run("doctor", "--new-key")[::2] == (0, "wrote private.pem\nwrote public.pem\n")
    code, _, err = run(*EVALUATED, "--seal", "private.pem")
    assert (code, err) == (0, "wrote r.json\nwrote r.json.seal\n")
    return json.loads(Path("r.json").read_text())


def verify(run, key="public.pem", file="r.json"):
    code, out, err = run("doctor", "--seal", key, file)
    assert "signature" not in out + err
    return code, out


def test_a_seal_holds_for_the_result_however_it_is_indented(run, sealed):
    assert stat.S_IMODE(Path("private.pem").stat().st_mode) == 0o600
    assert Path("public.pem").read_text().startswith("-----BEGIN PUBLIC KEY-----\n")
    assert verify(run) == (0, "r.json: ok\n")
    Path("r.json").write_text(json.dumps(dict(reversed(sealed.items()))))
    assert verify(run) == (0, "r.json: ok\n")
    assert set(json.loads(Path("r.json.seal").read_text())) == {"schema", "public_key", "seal"}


def test_the_library_alone_verifies_a_seal(run, sealed):
    """As an authority would without this package."""
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    seal = bytes.fromhex(json.loads(Path("r.json.seal").read_text())["seal"])
    text = json.dumps(sealed, sort_keys=True, separators=(",", ":"))
    load_pem_public_key(Path("public.pem").read_bytes()).verify(seal, text.encode())


def test_whatever_was_changed_or_is_missing_is_named(run, sealed):
    sealed["rows"][0]["labels"] = {"system": "better"}  # agrees with all else
    Path("r.json").write_text(json.dumps(sealed))
    assert run("doctor", "r.json")[0] == 0
    assert verify(run) == (3, "r.json: is not what was sealed: the file or its seal was changed afterwards\n")
    seal = json.loads(Path("r.json.seal").read_text())
    for change, reason in (
        ({"seal": "x"}, "r.json: is not what was sealed"),
        ({"public_key": "0" * 64}, "r.json.seal: is by the owner of another key"),
        ({"schema": "other"}, "r.json.seal: schema: expected 'zeroevidence/seal/1', got 'other'"),
        ({"more": 1}, "r.json.seal: seal: has no field 'more'"),
    ):
        Path("r.json.seal").write_text(json.dumps(seal | change))
        code, out = verify(run)
        assert (code, out.startswith(reason)) == (3, True), out
    Path("r.json.seal").unlink()
    assert verify(run) == (3, "r.json.seal: cannot be read: No such file or directory\n")


def test_keys_that_are_none_and_other_keys(run, sealed):
    Path("other").mkdir()
    code, _, err = run("doctor", "--new-key")
    assert (code, "private.pem: exists" in err) == (2, True)
    for key, words in (
        ("private.pem", "expected a public Ed25519 key"),
        ("r.json", "expected a public"),
        ("gone", "No such"),
    ):
        code, _, err = run("doctor", "--seal", key, "r.json")
        assert (code, f"{key}: " in err, words in err) == (3, True, True)
    code, _, err = run(*EVALUATED, "--overwrite", "--seal", "public.pem")
    assert (code, "public.pem: expected a private Ed25519 key as PEM" in err) == (3, True)


@pytest.mark.parametrize(
    "arguments",
    [
        ("evaluate", "scores.txt", "--seal", "private.pem", "-f", "json"),
        ("evaluate", "scores.txt", "--seal", "private.pem", "-o", "t.txt"),
        ("doctor", "--seal", "public.pem", "scores.txt"),
        ("doctor", "--seal", "public.pem", "--corpus", "."),
    ],
)
def test_what_cannot_be_sealed_is_refused(run, sealed, arguments):
    code, _, err = run(*arguments)
    assert (code, "--seal " in err) == (2, True)


def test_a_seal_needs_the_extra(run, monkeypatch):
    for name in ("hazmat.primitives.asymmetric.ed25519", "hazmat.primitives.serialization"):
        monkeypatch.setitem(__import__("sys").modules, f"cryptography.{name}", None)
    code, _, err = run("doctor", "--new-key")
    assert (code, "pip install 'zeroevidence[seal]'" in err) == (4, True)
