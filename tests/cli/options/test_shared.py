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


def test_an_option_has_one_meaning_and_takes_values_in_one_way():
    for spelling, options in OPTIONS.items():
        assert len({meaning(option) for option in options.values()}) == 1, spelling
        assert len({(option.is_flag, *option.opts) for option in options.values()}) == 1, spelling


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_help_shows_what_each_option_means(run, path):
    code, out, err = run(*path, "--help")
    text = "".join(out.split())
    assert (code, err) == (0, "")
    assert out.startswith("Usage: zeroevidence")
    for parameter in COMMANDS[path].params:
        if isinstance(parameter, click.Option):
            assert "".join(parameter.help.split()) in text


def test_shared_options_are_used_by_several_commands_and_with_their_meaning():
    for option in (value for value in vars(shared).values() if isinstance(value, SharedOption)):
        for spelling in option.spelling.split():
            assert len(OPTIONS[spelling]) > 1, spelling
            assert {meaning(use) for use in OPTIONS[spelling].values()} == {option.meaning.partition(";")[0]}


def test_what_writes_files_has_overwrite():
    writing = {path for spelling in ("-o", "--report", "--per-trial", "--files") for path in OPTIONS[spelling]}
    assert set(OPTIONS["--overwrite"]) == {*writing, ("models", "add")}
