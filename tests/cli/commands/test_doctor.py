"""Seals of results: keys, `evaluate --seal`, `audit --seal` and `doctor --seal`, and what is refused."""

import errno
import json
import os
import stat
from pathlib import Path

import pytest

from zeroevidence.evaluation.results import is_result

pytest.importorskip("cryptography")
EVALUATED = ("evaluate", "scores.txt", "--intervals", "0", "--null", "0", "-f", "json", "-o", "r.json")


@pytest.fixture(autouse=True)
def _home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = (f"p{e} u{t} {(e == t % 3) + 0.1 * t} {'non' * (e != t % 3)}target" for t in range(9) for e in range(3))
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
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    seal = bytes.fromhex(json.loads(Path("r.json.seal").read_text())["seal"])
    text = json.dumps(sealed, sort_keys=True, separators=(",", ":"))
    public = load_pem_public_key(Path("public.pem").read_bytes())
    assert public.verify(seal, text.encode()) is None
    with pytest.raises(InvalidSignature):
        public.verify(seal, text.encode() + b" ")


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
    run.fails(2, "private.pem: exists", "doctor", "--new-key")
    for key, words in (
        ("private.pem", "expected a public Ed25519 key"),
        ("r.json", "expected a public"),
        ("gone", "No such"),
    ):
        code, _, err = run("doctor", "--seal", key, "r.json")
        assert (code, f"{key}: " in err, words in err) == (3, True, True)
    run.fails(3, "public.pem: expected a private Ed25519 key as PEM", *EVALUATED, "--overwrite", "--seal", "public.pem")


@pytest.mark.parametrize("calls", range(1, 4))
def test_a_sealed_result_that_disappears_is_never_passed_over(run, sealed, monkeypatch, calls):
    asked = []

    def ask(path):
        asked.append(path)
        answer = is_result(path)
        if len(asked) == calls:
            Path(path).unlink()
        return answer

    monkeypatch.setattr("zeroevidence.cli.score_files.is_result", ask)
    code, out, err = run("doctor", "--seal", "public.pem", "r.json")
    assert (code, (out + err).startswith("r.json: ")) == (3 if len(asked) >= calls else 0, True)


@pytest.mark.parametrize("whole", range(3))
def test_keys_are_written_both_and_whole_or_not_at_all(run, monkeypatch, tmp_path, whole):
    Path("scores.txt").unlink()
    write, written = Path.write_bytes, []

    def write_until_full(path, data):
        written.append(path)
        write(path, data if len(written) <= whole else data[:20])
        if len(written) > whole:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_bytes", write_until_full)
    code, _, err = run("doctor", "--new-key")
    names = sorted(path.name for path in tmp_path.iterdir())
    if whole < 2:
        assert (code, names, "No space left on device" in err) == (6, [], True)
    else:
        assert (code, names, Path("private.pem").stat().st_mode & 0o777) == (0, ["private.pem", "public.pem"], 0o600)


@pytest.mark.parametrize(
    "arguments",
    [
        ("evaluate", "scores.txt", "--seal", "private.pem", "-f", "json"),
        ("evaluate", "scores.txt", "--seal", "private.pem", "-o", "t.txt"),
        ("doctor", "--seal", "public.pem", "--corpus", "."),
        ("doctor", "--seal", "public.pem", "--targets", "scores.txt", "--nontargets", "scores.txt"),
    ],
)
def test_what_cannot_be_sealed_is_refused(run, sealed, arguments):
    run.fails(2, "--seal ", *arguments)
    no_result = "is no result; expected one that was sealed\n"
    assert run("doctor", "--seal", "public.pem", "r.json", "scores.txt")[::2] == (3, f"scores.txt: {no_result}")
    Path("r.json").unlink()  # perhaps while the key is read
    assert run("doctor", "--seal", "public.pem", "r.json")[::2] == (3, "r.json: no such file\n")
    Path("r.json").mkdir()
    assert run("doctor", "--seal", "public.pem", "r.json")[::2] == (3, f"r.json: {no_result}")


def test_a_seal_needs_the_extra(run, monkeypatch):
    for name in ("hazmat.primitives.asymmetric.ed25519", "hazmat.primitives.serialization"):
        monkeypatch.setitem(__import__("sys").modules, f"cryptography.{name}", None)
    run.fails(4, "pip install 'zeroevidence[seal]'", "doctor", "--new-key")
