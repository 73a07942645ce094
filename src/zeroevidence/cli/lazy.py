"""Command groups that import a command only when it runs."""

from __future__ import annotations

import gc
import importlib
import importlib.util
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import click

from zeroevidence.cli.address_space import fit_address_space
from zeroevidence.cli.own_inputs import keeping_inputs


class LazyGroup(click.Group):
    """A group whose commands are the modules of a package.

    A module defines its command under the name ``command``, and the first line of its docstring is the summary that
    the group's help shows. Summaries are read from the source files, so help imports no command.

    Parameters
    ----------
    package
        Name of the package.
    order
        Names of the commands that help lists first, in this order; the others follow alphabetically.
    """

    def __init__(self, *args: Any, package: str, order: Sequence[str] = (), **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.package, self.order = package, order
        self._loaded: dict[str, click.Command] = {}

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; an interruption is an `Abort`, because click would print an empty line for any other."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as interruption:
            raise click.Abort from interruption

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        names = [path.stem.replace("_", "-") for path in self._sources()]
        return sorted(names, key=lambda name: (self.order.index(name) if name in self.order else len(names), name))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command of that name."""
        if cmd_name not in self.list_commands(ctx):
            return None
        if cmd_name not in self._loaded:
            fit_address_space()
            _defer("polars")
            module = _import_without_collection(f"{self.package}.{cmd_name.replace('-', '_')}")
            self._loaded[cmd_name] = keeping_inputs(module.command)
        return self._loaded[cmd_name]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the names and summaries of the commands."""
        summaries = {path.stem.replace("_", "-"): _summary(path) for path in self._sources()}
        with formatter.section("Commands"):
            formatter.write_dl([(name, summaries[name]) for name in self.list_commands(ctx)])

    def _sources(self) -> list[Path]:
        """Return the module files and subpackages of the package."""
        folders = importlib.import_module(self.package).__path__
        paths = [path for folder in folders for path in Path(folder).iterdir() if not path.name.startswith("_")]
        return [path for path in paths if path.suffix == ".py" or (path / "__init__.py").exists()]


def _summary(path: Path) -> str:
    """Return the first line of a module's docstring."""
    source = path if path.suffix == ".py" else path / "__init__.py"
    return source.read_text(encoding="utf-8").removeprefix('"""').partition("\n")[0].removesuffix('"""')


_RUNNING = threading.RLock()  # the code itself may use attributes


class _DeferredModule(ModuleType):
    """A package whose code runs when one of its attributes is first used; other threads wait until it has run."""

    def __getattr__(self, name: str) -> Any:
        spec = self.__spec__
        assert spec is not None
        assert spec.loader is not None
        with _RUNNING:
            if "__path__" not in vars(self):
                self.__path__ = spec.submodule_search_locations or []
                spec.loader.exec_module(self)
                self.__class__ = ModuleType  # type: ignore[assignment]  # an ordinary one from now on
        return ModuleType.__getattribute__(self, name)


def _defer(name: str) -> None:
    """Import a package when it is first used, however many modules name it before.

    Without this, `evaluate --help` takes 1.39 times the processor time, and commands on several files could not share
    them among copies of the process, which must not have the threads of polars.
    """
    spec = None if name in sys.modules else importlib.util.find_spec(name)
    if spec is not None:
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        del module.__path__  # so that importing a part of the package imports the package first
        module.__class__ = _DeferredModule


def _import_without_collection(name: str) -> ModuleType:
    """Import a module with garbage collection switched off, and exempt what was imported from later collections.

    Without this, `evaluate` of 432 trials takes 1.07 times the processor time, without intervals 1.14 times.
    """
    if name in sys.modules or not gc.isenabled():
        return importlib.import_module(name)
    gc.disable()
    try:
        return importlib.import_module(name)
    finally:
        gc.freeze()
        gc.enable()
