"""Files with hostile names or contents: what is printed about them, and that none of them is destroyed."""

import bz2
import gzip
import lzma
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import click
import numpy as np
import polars as pl
import pytest

import zeroevidence
from tests.effort import slow
from zeroevidence.cli import cli, printing
from zeroevidence.cli.lazy import READ, placeholders
from zeroevidence.data.files import unreadable_reason
from zeroevidence.data.formats.scores.read import read_scores
from zeroevidence.data.formats.voiceprivacy_folders import find_kit_scores
from zeroevidence.errors import InputError

LATIN = os.fsdecode(b"lat\xe9")  # a name that is not UTF-8
HOSTILE = "x\x1b[31mred\u202e\u200f\x07\nall is well"
ROWS = [
    (f"s{s}", f"u{t}", float(score), "target" if s == t else "nontarget")
    for s in range(12)
    for t, score in enumerate(np.random.default_rng(s).normal(size=12) + 2.0 * (np.arange(12) == s))
]
QUICK = ("--intervals", "0", "--null", "0")


def write_scores(path):
    Path(path).write_text("".join(f"{a} {b} {c!r} {d}\n" for a, b, c, d in ROWS))
    return str(path)


@pytest.mark.parametrize("suffix", [".txt", ".parquet"])
def test_scores_in_a_file_whose_name_is_not_utf8(tmp_path, run, suffix):
    table = pl.DataFrame(ROWS, schema=["enrol", "trial", "score", "label"], orient="row")
    write = {".txt": write_scores, ".parquet": table.write_parquet}[suffix]
    write(tmp_path / f"plain{suffix}")
    (tmp_path / f"plain{suffix}").rename(tmp_path / f"{LATIN}{suffix}")
    (row,) = run.rows("evaluate", tmp_path / f"{LATIN}{suffix}", *QUICK)
    assert row["labels"]["system"] == "lat\ufffd"
    outputs = ["-o", tmp_path / f"{LATIN}.md", "-f", "md", "--per-trial", tmp_path / f"{LATIN}.parquet2"]
    assert run("evaluate", tmp_path / f"{LATIN}{suffix}", *outputs, *QUICK)[0] == 0


def test_a_name_that_is_not_ascii_where_the_locale_is(tmp_path):
    file = write_scores(tmp_path / "müller.txt")
    ascii_locale = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, "-m", "zeroevidence", "evaluate", file, *QUICK]
    done = subprocess.run(command, env={**os.environ, **ascii_locale}, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("system: müller\n".encode())


@pytest.mark.parametrize("command", ["evaluate", "doctor", "compare", pytest.param("report", marks=slow)])
def test_names_of_files_do_not_reach_the_terminal_raw(tmp_path, run, monkeypatch, command, without_figures):
    monkeypatch.chdir(tmp_path)
    write_scores(HOSTILE)
    inputs = [HOSTILE, write_scores(f"other{HOSTILE}"), "--intervals", "20"] if command == "compare" else [HOSTILE]
    outputs = ["-o", f"{HOSTILE}.html"] if command == "report" else []
    _, out, err = run(command, *inputs, *outputs, *([] if command in ("doctor", "compare") else QUICK))
    assert "[31mred" in out + err
    assert not re.search("[\x1b\x07\u202e\u200f]", out + err)
    assert not any(line.startswith("all is well") for line in (out + err).splitlines())


@pytest.mark.parametrize(
    "arguments",
    [
        ("evaluate", f"absent{HOSTILE}"),
        ("doctor", "--corpus", HOSTILE),
        ("evaluate", "a", f"--{HOSTILE}"),
        (HOSTILE,),
        ("plot", "det", HOSTILE, "-o", "a.svg"),
        ("kit", "check", HOSTILE, "--suffix", "_x"),
        ("metrics", HOSTILE),
    ],
)
def test_messages_about_hostile_names_are_escaped(tmp_path, run, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    (tmp_path / HOSTILE / "ann").mkdir(parents=True)
    (tmp_path / HOSTILE / "ann" / f"{HOSTILE}.wav").write_bytes(b"no audio")
    code, out, err = run(*arguments)
    assert code > 0
    assert "red" in out + err
    assert not re.search("[\x1b\x07\u202e\u200f]", out + err)


def test_nothing_but_the_module_of_printing_prints():
    home = Path(zeroevidence.__file__).parent / "cli"
    printing_calls = re.compile(r"\b(click\.(echo|secho|style)|print)\(|sys\.std(out|err)\.write")
    found = {file.name for file in home.rglob("*.py") if printing_calls.search(file.read_text(encoding="utf-8"))}
    assert found == {Path(printing.__file__).name}


@pytest.mark.parametrize("again", ["a", "link", "./a"])
def test_an_output_that_is_an_input_is_refused(tmp_path, run, again):
    scores, output = write_scores(tmp_path / "a"), f"{tmp_path}/{again}"
    (tmp_path / "link").symlink_to("a")
    before = Path(scores).read_bytes()
    for arguments in (
        ("evaluate", scores, "-o", output, "--overwrite"),
        ("evaluate", scores, "--per-trial", output, "--overwrite"),
        ("compare", scores, scores, "-o", output, "--overwrite"),
        ("report", scores, "-o", output, "--overwrite"),
    ):
        code, _, err = run(*arguments)
        assert (code, err) == (2, f"{output}: is read by this command, too; expected another name for the output\n")
        assert Path(scores).read_bytes() == before


def test_other_outputs_that_are_inputs_are_refused(tmp_path, run):
    scores, data = write_scores(tmp_path / "a"), tmp_path / "data"
    data.mkdir()
    (data / "trials").write_text("".join(f"{a} {b} {d}\n" for a, b, _, d in ROWS))
    assert run("evaluate", scores, "-o", tmp_path / "r.json", "-f", "json", *QUICK)[0] == 0
    np.savez(tmp_path / "v.npz", vectors=np.eye(4), sex=["f", "m", "f", "m"])
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "trials.csv").write_text("utterance,f1\nu1,2.0\n")
    vectors = str(tmp_path / "v.npz")
    for arguments in (
        ("plot", "det", tmp_path / "r.json", "-o", tmp_path / "r.json", "--overwrite"),
        ("report", tmp_path / "r.json", "-o", tmp_path / "r.json", "--overwrite"),
        ("protect", "apply", tmp_path / "model", vectors, "-o", vectors, "--overwrite"),
        ("link", "--enrol", vectors, "--trial", tmp_path / "out" / "trials.csv", "-o", tmp_path / "out", "--overwrite"),
    ):
        run.fails(2, "is read by this command, too", *arguments)
    arguments = ("evaluate", scores, "--key", data, "-o", data / "trials", "--overwrite")
    run.fails(2, f"lies in {data}, which this command reads", *arguments)


@pytest.mark.parametrize("output", ["read/new", "read/ann/x/y", "link/new"])
def test_an_output_inside_a_folder_that_is_read_is_refused(tmp_path, run, monkeypatch, output):
    monkeypatch.chdir(tmp_path)
    Path("read/ann").mkdir(parents=True)
    Path("link").symlink_to("read/ann")
    write_scores("a")
    before = sorted(Path("read").rglob("*"))
    for arguments in (
        ("evaluate", "a", "--key", "read", "-o", output),
        ("evaluate", "a", "--key", "read", "-o", output, "--overwrite"),
        ("evaluate", "read", "--per-speaker", output),
        ("report", "read", "-o", output),
        ("compare", "read", "a", "-o", output),
        ("audit", "read", "--protect", "mcadams", "-o", output),
        ("audit", "elsewhere", "--anonymised", "read", "-o", output),
        ("audit", "read", "--protect", "mcadams", "--cache", output, "-o", "out"),
        ("train-attacker", "read", "-o", output),
        ("protect", "apply", "read", "v.npz", "-o", output),
        ("plot", "det", "read", "-o", f"{output}.svg"),
        ("utility", "--corpus", "read", "-o", output),
    ):
        code, _, err = run(*arguments)
        wanted = f"{output}{'.svg' if 'det' in arguments else ''}: lies in read, which this command reads"
        assert (code, err) == (2, f"{wanted}; expected an output outside of it\n"), arguments
        assert sorted(Path("read").rglob("*")) == before


def test_every_parameter_with_text_is_known_to_be_read_or_not():
    """A new name in a command's help is added to `READ` or here, so that no input is left out of the rule."""
    not_read = {"ADDRESS", "CODE", "COLUMN", "COMMAND", "CONDITION", "KIND", "LABEL", "MEASURE", "NAME", "NAMES"}
    not_read |= {"NUMBER", "OUT", "REGEX", "SUFFIX", "TEXT", "VALUE"}

    def parameters(command):
        context = click.Context(command)
        if isinstance(command, click.Group):
            for name in command.list_commands(context):
                yield from parameters(command.get_command(context, name))
        yield from command.params

    for parameter in parameters(cli):
        if isinstance(parameter.type, click.types.StringParamType):
            assert placeholders(parameter) <= READ | not_read, parameter.opts


@pytest.mark.parametrize(("magic", "method"), [(b"\x28\xb5\x2f\xfd", "zstd"), (b"\x78\x9c", "zlib")])
def test_compressed_files_are_named(tmp_path, run, magic, method):
    (tmp_path / "a.zst").write_bytes(magic + bytes(50))
    code, _, err = run("evaluate", tmp_path / "a.zst")
    assert (code, err.startswith(f"{tmp_path}/a.zst:1: compressed with {method}; expected it unpacked")) == (3, True)
    _, _, err = run("link", "--enrol", tmp_path / "a.zst", "--trial", tmp_path / "a.zst", "-o", tmp_path / "out")
    assert f"a.zst:1: compressed with {method}" in err


@pytest.mark.parametrize("method", ["gzip", "xz", "bzip2"])
def test_compressed_files_are_read_as_they_are_unpacked(tmp_path, run, method):
    pack = {"gzip": gzip.compress, "xz": lzma.compress, "bzip2": bz2.compress}[method]
    write_scores(tmp_path / "a")
    (tmp_path / "packed").write_bytes(pack((tmp_path / "a").read_bytes()))
    assert run("evaluate", tmp_path / "packed", *QUICK)[0] == 0
    plain, packed = (read_scores(tmp_path / name).data for name in ("a", "packed"))
    assert (packed.target.tolist(), packed.trials.tolist()) == (plain.target.tolist(), plain.trials.tolist())
    data = (tmp_path / "packed").read_bytes()
    (tmp_path / "cut").write_bytes(data[: len(data) // 2])
    assert "cut: damaged: it does not unpack" in run("evaluate", tmp_path / "cut")[2]
    (tmp_path / "twice").write_bytes(pack(data))
    assert "twice: compressed twice" in run("evaluate", tmp_path / "twice")[2]


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="takes root, to become somebody who may not read")
def test_what_nobody_may_read_is_not_called_missing():
    with tempfile.TemporaryDirectory() as name:
        inner = Path(name, "kit", "exp")
        inner.mkdir(parents=True)
        (inner / "a.wav").touch()
        Path(name).chmod(0o755)
        inner.chmod(0o700)
        os.seteuid(65534)
        try:
            with pytest.raises(InputError, match="exp: cannot be read: Permission denied"):
                find_kit_scores(Path(name, "kit"))
            assert unreadable_reason(inner, folder=True) == "cannot be read: Permission denied"
            assert unreadable_reason(inner / "a.wav") == "cannot be read: Permission denied"
        finally:
            os.seteuid(0)
