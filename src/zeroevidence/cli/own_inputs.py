"""Outputs of a command that are its inputs are refused, whatever --overwrite says: it would destroy what it reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from typing import Any

import click

from zeroevidence.errors import UsageError

_OUTPUTS = frozenset({"--output", "--report", "--per-trial", "--per-speaker", "--files"})
_WRITTEN = ("result.json", "manifest.json", "report.html", "trials.parquet", "trials.csv")  # to a folder
_IN_FOLDERS = ("trials", "utt2spk", "wav.scp", "utterances.tsv", "speakers.tsv")  # read from a folder by these names


def keeping_inputs(command: click.Command) -> click.Command:
    """Return the command, which from now on refuses an output that is one of its inputs before it does anything."""
    run = command.callback
    if run is not None:
        command.callback = _checked(run)
    return command


def _checked(run: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(run)
    def callback(*arguments: Any, **values: Any) -> Any:
        _check(click.get_current_context())
        return run(*arguments, **values)

    return callback


def _check(context: click.Context) -> None:
    parameters = {parameter.name: parameter for parameter in context.command.params}
    outputs = {name for name, parameter in parameters.items() if _OUTPUTS.intersection(parameter.opts)}
    named = {name for name, parameter in parameters.items() if getattr(parameter, "metavar", None) == "NAME"}
    inputs = [text for name, value in context.params.items() if name not in outputs | named for text in _texts(value)]
    for output in (text for name in sorted(map(str, outputs)) for text in _texts(context.params.get(name))):
        written = [Path(output), *(Path(output) / name for name in _WRITTEN)]
        read = [file for text in inputs for file in (Path(text), *(Path(text) / name for name in _IN_FOLDERS))]
        if any(_same(one, other) for one in written for other in read):
            raise UsageError(f"{output}: is read by this command, too; expected another name for the output")


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
