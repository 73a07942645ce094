"""Groups of commands: a new command is one file, libraries are loaded when used, or refused where addresses lack."""

import os
import resource
import subprocess
import sys
from functools import partial

import click
import numpy as np
import pytest

from tests.effort import slow
from zeroevidence.cli import cli, commands, lazy

LEAST = lazy._LIBRARIES + lazy._PER_CORE * (os.cpu_count() or 1)  # addresses

GREETING = '''"""Print a greeting."""

import click


@click.command("say-hello")
def command():
    """Print a greeting, once."""
    click.echo("hello")
'''


@pytest.fixture
def new_command(tmp_path, monkeypatch):
    """A file beside those of the other commands."""
    (tmp_path / "say_hello.py").write_text(GREETING)
    monkeypatch.setattr(commands, "__path__", [*commands.__path__, str(tmp_path)])
    yield
    sys.modules.pop("zeroevidence.cli.commands.say_hello", None)


def test_a_new_file_is_a_new_command(run, new_command):
    assert "say-hello       Print a greeting.\n" in run("--help")[1]
    assert run("say-hello") == (0, "hello\n", "")


def test_every_command_is_listed_with_the_first_line_of_its_file(run):
    names = cli.list_commands(click.Context(cli))
    assert names[:2] == ["demo", "audit"]
    assert len(names) == len(set(names)) == 20
    text = " ".join(run("--help")[1].split())
    for name in names:
        summary = sys.modules[cli.get_command(click.Context(cli), name).callback.__module__].__doc__.splitlines()[0]
        assert f"{name} {summary}" in text


def test_threads_that_use_polars_first_at_once_find_it_whole():
    code = (
        "from concurrent.futures import ThreadPoolExecutor\nfrom zeroevidence.cli.lazy import _defer\n"
        "_defer('polars')\nimport polars\n"
        "def use(number):\n    return polars.DataFrame({'a': [number]}).select(polars.col('a')).item()\n"
        "with ThreadPoolExecutor(8) as pool:\n    print(*pool.map(use, range(8)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("0 1 2 3 4 5 6 7\n", "")


@pytest.fixture
def link(tmp_path):
    rng = np.random.default_rng(0)
    names = np.array([f"p{i:05d}" for i in range(2000)])
    for side in ("enrol", "trial"):
        np.savez(tmp_path / f"{side}.npz", vectors=rng.normal(size=(2000, 16)), utterance=names, speaker=names)

    def run(limit):
        command = [sys.executable, "-m", "zeroevidence", "link", "--enrol", "enrol.npz", "--trial", "trial.npz"]
        command += ["--weight", "3", "--engine", "numpy", "-o", "out"]
        how = {"cwd": tmp_path, "capture_output": True, "text": True, "timeout": 300, "check": False}
        limited = partial(resource.setrlimit, resource.RLIMIT_AS, (limit, limit))
        return subprocess.run(command, preexec_fn=limited, **how)

    return run


def test_too_little_for_the_libraries_is_said_before_they_are_imported(link):
    done = link(LEAST - 1)
    said = f"{(LEAST - 1) // 10**6} MB of addresses are allowed (ulimit -v); expected {LEAST // 10**6} MB"
    assert (done.returncode, done.stderr) == (5, f"out of memory; {said}\n")


@pytest.mark.parametrize("more", [0, pytest.param(60_000_000, marks=slow), pytest.param(120_000_000, marks=slow)])
def test_a_search_with_hardly_enough_ends_by_itself(link, more):
    done = link(LEAST + more)
    assert done.returncode in (0, 5), done.stderr
    if done.returncode == 5:
        assert "of addresses are allowed (ulimit -v); expected about" in done.stderr.splitlines()[-1]
