"""Where results go: standard output, or a file that is written whole or not at all."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from zeroevidence.errors import UsageError
from zeroevidence.report import FORMATS

if TYPE_CHECKING:
    import polars as pl


def output_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options ``-f``, ``-o`` and ``--overwrite``."""
    for option in (
        click.option("--overwrite", is_flag=True, help="Replace the output file if it exists."),
        click.option("-o", "--output", metavar="FILE", help="Write to FILE instead of standard output."),
        click.option(
            "-f",
            "--output-format",
            type=click.Choice(FORMATS),
            default="text",
            show_default=True,
            help="Output format.",
        ),
    ):
        function = option(function)
    return function


def progress_of(what: str, units: str = "replicates") -> Callable[[int, int], None] | None:
    """A line on the terminal that counts what is done; nothing where standard error is not one."""
    if not sys.stderr.isatty():
        return None

    def show(done: int, total: int) -> None:
        end = "\r" if done < total else "\r\033[K"
        click.echo(f"\r{what}: {done} of {total} {units}{end}", err=True, nl=False)

    return show


def refuse_existing(output: str | None, overwrite: bool) -> None:
    """Say before any work that the output would replace a file."""
    if output is None:
        return
    path = Path(output)
    if path.is_dir():
        raise UsageError(f"{output}: is a folder; expected a file name")
    if path.exists() and not overwrite:
        raise UsageError(f"{output}: exists; --overwrite replaces it")
    if not path.absolute().parent.is_dir():
        raise UsageError(f"{output}: the folder {path.parent} does not exist")


def emit(text: str, output: str | None) -> None:
    """Print, or write to a file."""
    if output is None:
        click.echo(text, nl=False)
    else:
        write_whole(Path(output), lambda temporary: temporary.write_text(text, encoding="utf-8", newline=""))


def emit_table(frame: pl.DataFrame, output: str) -> None:
    """Write a table as Parquet where the name says so, as CSV otherwise."""
    write = frame.write_parquet if output.endswith(".parquet") else frame.write_csv
    write_whole(Path(output), write)


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Write atomically: a reader of the file sees the old or the new content, never a part."""
    handle, name = tempfile.mkstemp(dir=path.absolute().parent, prefix=f".{path.name}.")
    os.close(handle)
    temporary = Path(name)
    try:
        write(temporary)
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    click.echo(f"wrote {path}", err=True)
