"""Refusal of outputs that would change what a command reads, whatever --overwrite says.

An output may neither be an input, nor lie in a folder that is read, nor be a folder in which it would replace an input.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from typing import Any

import click

from zeroevidence.errors import UsageError

_OUTPUTS = frozenset({"--output", "--report", "--per-trial", "--per-speaker", "--files", "--cache", "--results"})
# What commands write to a folder that is their output.
_WRITTEN = ("result.json", "manifest.json", "report.html", "trials.parquet", "trials.csv", "card.json", "attacker.onnx")
READ = frozenset({"CORPUS", "DIR", "EMBEDDINGS", "FILE", "FOLDER", "KEY", "MODEL", "RESULT", "SCORES"})
_ALSO_READ = frozenset({"--extractor", "--extractor-anonymised"})  # names, or the cards of encoders


def keeping_inputs(command: click.Command) -> click.Command:
    """Return the command, or the group of commands, with a check of its outputs before it does anything."""
    if isinstance(command, click.Group):
        for member in command.commands.values():
            keeping_inputs(member)
    run = command.callback
    if run is not None:
        command.callback = _checked(run)
    return command


def placeholders(parameter: click.Parameter) -> set[str]:
    """Return what the help calls the values of a parameter."""
    return set(re.findall("[A-Z]+", parameter.metavar or (parameter.name or "").upper()))


def _checked(run: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(run)
    def callback(*arguments: Any, **values: Any) -> Any:
        _check(click.get_current_context())
        return run(*arguments, **values)

    return callback


def _check(context: click.Context) -> None:
    outputs, inputs = list[str](), list[str]()
    for parameter in context.command.params:
        texts = _texts(context.params.get(parameter.name or ""))
        if _OUTPUTS.intersection(parameter.opts):
            outputs += texts
        elif READ & placeholders(parameter) or _ALSO_READ.intersection(parameter.opts):
            inputs += texts
    for output in outputs:
        written = (Path(output), *map(Path(output).joinpath, _WRITTEN))
        if any(_same(path, Path(file)) for path in written for file in inputs):
            raise UsageError(f"{output}: is read by this command, too; expected another name for the output")
        folder = next((folder for folder in inputs if _inside(Path(output), Path(folder))), None)
        if folder is not None:
            raise UsageError(f"{output}: lies in {folder}, which this command reads; expected an output outside of it")


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts of a parameter, of which there may be several."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple | list):
        for item in value:
            yield from _texts(item)


def _same(output: Path, file: Path) -> bool:
    """Return whether two names are of one file or folder; two names of a device may be."""
    try:
        return (file.is_file() or file.is_dir()) and output.samefile(file)
    except (OSError, ValueError):  # one of them does not exist, or cannot
        return False


def _inside(output: Path, folder: Path) -> bool:
    """Return whether a file or folder, which need not exist, would lie in a folder."""
    try:
        return folder.is_dir() and any(_same(parent, folder) for parent in output.resolve().parents)
    except (OSError, ValueError, RuntimeError):  # a name that cannot be, or links that lead round in circles
        return False
