"""Every option has one meaning: its help begins in the same way in all commands, and so are its values given."""

from collections import defaultdict

import click
import pytest

from zeroevidence.cli import cli
from zeroevidence.cli.options import shared
from zeroevidence.cli.options.shared import SharedOption


def commands(command=cli, path=()):
    """Every command with its path, groups included."""
    yield path, command
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            yield from commands(command.get_command(click.Context(command), name), (*path, name))


COMMANDS = dict(commands())
OPTIONS = defaultdict(dict)  # spelling: {path: option}
for path, command in COMMANDS.items():
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            for spelling in parameter.opts:
                OPTIONS[spelling][path] = parameter


def meaning(option):
    """The help up to the first semicolon, without defaults."""
    return option.help.partition(";")[0].partition(" [default")[0].rstrip(".")


@pytest.mark.parametrize("spelling", sorted(OPTIONS))
def test_an_option_has_one_meaning(spelling):
    meanings = {meaning(option) for option in OPTIONS[spelling].values()}
    assert len(meanings) == 1, f"{spelling}: {meanings}"


@pytest.mark.parametrize("spelling", sorted(OPTIONS))
def test_an_option_takes_values_in_one_way(spelling):
    assert len({option.is_flag for option in OPTIONS[spelling].values()}) == 1
    assert len({tuple(option.opts) for option in OPTIONS[spelling].values()}) == 1


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_help_shows_what_each_option_means(run, path):
    code, out, _ = run(*path, "--help")
    text = "".join(out.split())
    assert code == 0
    for parameter in COMMANDS[path].params:
        if isinstance(parameter, click.Option):
            assert "".join(parameter.help.split()) in text


def test_shared_options_are_used_by_several_commands_and_with_their_meaning():
    for option in (value for value in vars(shared).values() if isinstance(value, SharedOption)):
        for spelling in option.spelling.split():
            assert len(OPTIONS[spelling]) > 1, spelling
            assert {meaning(use) for use in OPTIONS[spelling].values()} == {option.meaning.partition(";")[0]}


def test_words_of_other_tools_have_no_second_meaning():
    """What each of these used to mean in another command has a name of its own."""
    assert set(OPTIONS["--backend"]) == {("audit",)}
    assert set(OPTIONS["--attacker"]) == {("audit",)}
    assert set(OPTIONS["--engine"]) == {("link",)}
    assert set(OPTIONS["--classifier"]) == {("protect", "evaluate")}
    assert set(OPTIONS["--threads"]) == {("anonymise",), ("link",), ("train-attacker",)}
    assert "--format" not in OPTIONS
    assert set(OPTIONS["-f"]) == set(OPTIONS["--output-format"])


def test_what_writes_files_has_overwrite():
    writing = {path for spelling in ("-o", "--report", "--per-trial", "--files") for path in OPTIONS[spelling]}
    assert set(OPTIONS["--overwrite"]) == {*writing, ("models", "add")}


def test_checks_are_called_check_below_a_noun_and_doctor_for_files():
    assert {path for path in COMMANDS if path and path[-1] == "check"} == {
        *(("kit", "check"), ("models", "check"), ("tandem", "check")),
    }
    assert ("doctor",) in COMMANDS
    assert "--check" not in OPTIONS


@pytest.mark.parametrize(
    "args",
    [
        ("link", "--backend", "numpy"),
        ("evaluate", "s", "--format", "kaldi"),
        ("protect", "evaluate", "e.npz", "--attacker", "lda"),
        ("train-attacker", "speech", "--workers", "2"),
    ],
)
def test_an_earlier_spelling_is_no_option(run, args):
    code, out, err = run(*args)
    assert (code, out) == (2, "")
    assert "No such option" in err
    assert args[-2] in err
