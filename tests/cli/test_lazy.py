"""Groups of commands: names and summaries come from the files, and a new command is one file."""

import subprocess
import sys

import click
import pytest

from zeroevidence.cli import cli, commands

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
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (run.stdout, run.stderr) == ("0 1 2 3 4 5 6 7\n", "")
