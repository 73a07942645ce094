"""Groups of commands that are imported only when one of them runs."""

from __future__ import annotations

import gc
import importlib
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import click


class LazyGroup(click.Group):
    """A group that knows its commands' names and summaries without importing them.

    Parameters
    ----------
    home
        The package that has a module for each command, which calls it ``command``.
    summaries
        One line for each command, in the order a newcomer needs them.
    """

    def __init__(self, *args: Any, home: str, summaries: Mapping[str, str], **words: Any) -> None:
        super().__init__(*args, **words)
        self.home, self.summaries = home, summaries

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order of the summaries."""
        return list(self.summaries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command of that name."""
        if cmd_name not in self.summaries:
            return None
        command: click.Command = _imported(f"{self.home}.{cmd_name.replace('-', '_')}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the summaries instead of importing every command for its own."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self.summaries.items()))


def _imported(name: str) -> ModuleType:
    """A module, imported without looking for garbage meanwhile: modules stay, and going through them takes its time."""
    if name in sys.modules or not gc.isenabled():
        return importlib.import_module(name)
    gc.disable()
    try:
        return importlib.import_module(name)
    finally:
        gc.freeze()
        gc.enable()
