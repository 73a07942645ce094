"""Command groups that import a command only when it runs, in the memory that it may have, and keep what it reads."""

from __future__ import annotations

import gc
import importlib
import importlib.util
import os
import re
import resource
import sys
import threading
from collections.abc import Iterator, Sequence
from functools import wraps
from types import ModuleType
from typing import TYPE_CHECKING, Any

import click

from zeroevidence.errors import OutOfMemory, UsageError

if TYPE_CHECKING:
    from pathlib import Path


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

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        places = {name: place for place, name in enumerate(self.order)}
        return sorted(self._sources(), key=lambda name: (places.get(name, len(places)), name))

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
        summaries = {}  # the first line of each module's docstring
        for name, source in self._sources().items():
            with open(source, encoding="utf-8") as lines:
                summaries[name] = lines.readline().strip().removeprefix('"""').removesuffix('"""')
        with formatter.section("Commands"):
            formatter.write_dl([(name, summaries[name]) for name in self.list_commands(ctx)])

    def _sources(self) -> dict[str, str]:
        """Return the module files of the commands, those of subpackages among them, by the names of the commands."""
        entries = [entry for folder in importlib.import_module(self.package).__path__ for entry in os.scandir(folder)]
        sources = {e.name: e.path if e.name.endswith(".py") else f"{e.path}/__init__.py" for e in entries}
        shown = {name: source for name, source in sources.items() if name[0] != "_" and os.path.exists(source)}  # noqa: PTH110
        return {name.removesuffix(".py").replace("_", "-"): source for name, source in shown.items()}


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


_LIBRARIES, _PER_CORE = 500_000_000, 50_000_000  # bytes of addresses that the libraries take, and their threads
_ARENA_MAX = -8  # the parameter of `mallopt`


def fit_address_space() -> None:
    """Let threads share one heap where the address space is limited.

    A heap for each thread would reserve more than all data take: a search that ends within 660 MB would abort there and
    hang at 1200 MB.

    Raises
    ------
    OutOfMemory
        When the libraries alone would not fit.
    """
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return
    needed = _LIBRARIES + _PER_CORE * (os.cpu_count() or 1)
    if limit < needed:
        raise OutOfMemory(f"{limit // 10**6} MB of addresses are allowed (ulimit -v); expected {needed // 10**6} MB")
    import ctypes

    try:
        ctypes.CDLL(None).mallopt(_ARENA_MAX, 1)
    except (OSError, AttributeError):  # another C library than GNU's, whose threads share a heap anyway
        return


# An output may neither be an input, nor lie in a folder that is read, nor be a folder where it would replace an input.
OUTPUTS = frozenset({"--output", "--report", "--per-trial", "--per-speaker", "--files", "--cache", "--results"})
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

        @wraps(run)
        def callback(*arguments: Any, **values: Any) -> Any:
            _check(click.get_current_context())
            return run(*arguments, **values)

        command.callback = callback
    return command


def placeholders(parameter: click.Parameter) -> set[str]:
    """Return what the help calls the values of a parameter."""
    return set(re.findall("[A-Z]+", parameter.metavar or (parameter.name or "").upper()))


def _check(context: click.Context) -> None:
    from pathlib import Path

    outputs, inputs = list[str](), list[str]()
    for parameter in context.command.params:
        texts = _texts(context.params.get(parameter.name or ""))
        if OUTPUTS.intersection(parameter.opts):
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
