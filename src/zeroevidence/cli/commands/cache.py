"""Say what a cache or an unfinished run holds, and clean it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

import click

from zeroevidence.cli.declare import shared_option
from zeroevidence.cli.printing import echo, echo_lines, working
from zeroevidence.data.store import StoredFile, find_files
from zeroevidence.data.writing import lock_file, lock_folder
from zeroevidence.errors import InputError, UsageError

SCHEMA = "zeroevidence/cache/1"


@dataclass(frozen=True, slots=True)
class _Kind:
    """What there is of one kind; times are in UTC."""

    kind: str
    entries: int
    bytes: int
    oldest: str
    newest: str
    damaged: int
    unfinished: int

    @classmethod
    def of(cls, kind: str, files: Sequence[StoredFile]) -> _Kind:
        """Count the files of a kind; all of them are read."""
        finished = [file for file in files if file.is_finished]
        whole = sum(file.is_whole() for file in finished)
        stats = [file.path.stat() for file in files]
        times = sorted(f"{datetime.fromtimestamp(stat.st_mtime, UTC):%Y-%m-%d %H:%M}" for stat in stats)
        size = sum(stat.st_size for stat in stats)
        return cls(kind, whole, size, times[0], times[-1], len(finished) - whole, len(files) - len(finished))


@click.command("cache")
@click.argument("folder")
@click.option("--clean", is_flag=True, help="Remove what there is; a command that was interrupted then starts over.")
@click.option("--kind", "kinds", multiple=True, metavar="KIND", help="Only this kind, may be repeated [default: all].")
@shared_option("--output-format", str, default="text", choices=("text", "json"))
def command(folder: str, clean: bool, kinds: tuple[str, ...], output_format: str) -> None:
    """Say what a cache holds of each kind, how much is damaged or unfinished, and with --clean remove it.

    FOLDER is the cache of an audit, or the output of an audit, `train-attacker`, `link` or `anonymise` that was
    interrupted. Damaged and unfinished entries do no harm: they are computed again. Results are never removed, nor is
    anything else that is no part of a cache.

    \b
    zeroevidence cache out/
    zeroevidence cache out/ --clean --kind protected --kind features
    """  # noqa: D301 (\b is a control character here)
    home = Path(folder).absolute()
    present = sorted({file.kind for file in _files(home)})
    if not present:
        reason = "holds no cache; expected that of an audit, or the output of a command that was interrupted"
        raise InputError(reason, path=folder)
    missing = [kind for kind in kinds if kind not in present]
    if missing:
        raise UsageError(f"--kind {missing[0]}: not in {folder}; expected {', '.join(present)}")
    with ExitStack() as stack:
        for place in (home, *home.parents) if clean else ():
            if place == home or lock_file(place).exists():  # a command may write into a folder above
                stack.enter_context(lock_folder(place))
        stack.enter_context(working("reading the cache"))
        by_kind = {kind: [file for file in _files(home) if file.kind == kind] for kind in kinds or present}
        counts = [_Kind.of(kind, files) for kind, files in by_kind.items() if files]
        for file in chain.from_iterable(by_kind.values()) if clean else ():
            _remove(file.path, home)
    if output_format == "json":
        document = {"schema": SCHEMA, "folder": folder, "removed": clean, "kinds": [asdict(count) for count in counts]}
        echo_lines(f"{json.dumps(document, indent=1, ensure_ascii=False)}\n")
        return
    _print(counts)
    total = f"{sum(count.bytes for count in counts) / 1e6:.1f} MB"
    echo(f"{folder}: {total} removed" if clean else f"{folder}: {total}")


def _files(home: Path) -> list[StoredFile]:
    """Return the files of stores in a folder, and in the one beside it where `anonymise` has its journal."""
    return [file for place in (home, home.parent / f".{home.name}.progress") for file in find_files(place)]


def _remove(path: Path, home: Path) -> None:
    """Remove a file, and the folders above it up to the cache that are empty then."""
    path.unlink(missing_ok=True)
    with suppress(OSError):
        for folder in path.parents:
            if folder in home.parents:
                return
            folder.rmdir()


def _print(counts: Sequence[_Kind]) -> None:
    from zeroevidence.report.table import Cell, Table, Tables, names_column, numbers_column
    from zeroevidence.report.writers import write_tables

    columns = (
        (names_column("kind"), [count.kind for count in counts]),
        (numbers_column("entries"), [count.entries for count in counts]),
        (numbers_column("size", unit="MB"), [Cell(count.bytes / 1e6, format=".1f") for count in counts]),
        (numbers_column("oldest", unit="UTC"), [count.oldest for count in counts]),
        (numbers_column("newest", unit="UTC"), [count.newest for count in counts]),
        (numbers_column("damaged"), [count.damaged for count in counts]),
        (numbers_column("unfinished"), [count.unfinished for count in counts]),
    )
    echo_lines(write_tables(Tables([Table.of(*columns)]), "text"), rendered=True)
