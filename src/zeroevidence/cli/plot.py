"""``zeroevidence plot``: a figure from finished results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from zeroevidence.cli.output import refuse_existing, write_whole
from zeroevidence.errors import InputError, UsageError

if TYPE_CHECKING:
    from zeroevidence.evaluation import Evaluation

_DEMO = "demo"


@click.command("plot")
@click.argument("kind", required=False)
@click.argument("results", nargs=-1, metavar="RESULT...")
@click.option("-o", "--output", metavar="FILE", help="Figure to write: .pdf, .svg or .png.")
@click.option(
    "--row", "numbers", multiple=True, type=click.IntRange(1), help="Only this row, counted from 1; again for more."
)
@click.option("--where", "conditions", multiple=True, metavar="LABEL=VALUE", help="Only rows with this label: 'sex=f'.")
@click.option(
    "--x", metavar="NAME", help="What lies on the horizontal axis: a measure (scatter); log-odds or prior (ece)."
)
@click.option("--y", metavar="NAME", help="What lies on the vertical axis: a measure (scatter, over-...).")
@click.option("--map", "name", metavar="NAME", help="Which of several maps (map).")
@click.option("--hide-ids", is_flag=True, help="Numbers instead of the names of people.")
@click.option(
    "--width",
    type=click.FloatRange(1.5, 30.0),
    metavar="INCHES",
    help="Width of the figure [default: 3.5, one column].",
)
@click.option("--overwrite", is_flag=True, help="Replace the figure if it exists.")
@click.option("--list", "list_kinds", is_flag=True, help="List the kinds of figures; of RESULT those it has data for.")
def command(
    kind: str | None,
    results: tuple[str, ...],
    output: str | None,
    numbers: tuple[int, ...],
    conditions: tuple[str, ...],
    x: str | None,
    y: str | None,
    name: str | None,
    hide_ids: bool,
    width: float | None,
    overwrite: bool,
    list_kinds: bool,
) -> None:
    """Draw one KIND of figure of finished results.

    A RESULT is a JSON file that `evaluate`, `tandem` or `demo` wrote, a folder of `audit` or `link`, or the word demo
    for the bundled data. Rows share one pair of axes where they can, else each gets a panel.

    \b
    zeroevidence plot --list
    zeroevidence plot ece demo -o profile.pdf
    zeroevidence plot lid-ccdf a.json b.json -o ccdf.svg
    zeroevidence plot people out/ --where attacker=semi-informed --hide-ids -o people.png
    zeroevidence plot scatter results.json --x eer --y lid_max -o scatter.pdf
    """  # noqa: D301 (the mark that keeps lines apart is a control character, not two letters)
    from zeroevidence.plot import to_bytes
    from zeroevidence.plot.canvas import FORMATS, need_matplotlib
    from zeroevidence.plot.kinds import find, rows_with

    if list_kinds:
        _list([path for path in (kind, *results) if path is not None])
        return
    if kind is None:
        raise UsageError("expected a KIND of figure and a RESULT; `zeroevidence plot --list` lists the kinds")
    given = {option: value for option, value in (("x", x), ("y", y), ("name", name)) if value is not None}
    unknown = [option for option in given if option not in find(kind).options]
    if unknown:
        raise UsageError(f"a figure of kind {kind} takes no --{'map' if unknown[0] == 'name' else unknown[0]}")
    if not results:
        raise UsageError("expected a RESULT: a JSON file, a folder of `audit` or `link`, or demo")
    if output is None:
        raise UsageError("expected -o FILE, ending in .pdf, .svg or .png")
    file_format = Path(output).suffix.lower().removeprefix(".")
    if file_format not in FORMATS:
        raise UsageError(f"{output}: expected a name that ends in .{', .'.join(FORMATS)}")
    refuse_existing(output, overwrite)
    need_matplotlib()
    rows = _chosen([row for path in results for row in _rows(path)], numbers, conditions)
    shown = rows_with(kind, rows)
    if len(shown) < len(rows):
        click.echo(f"{len(rows) - len(shown)} of {len(rows)} rows have no data for {kind} and are left out", err=True)
    content = to_bytes(kind, shown, format=file_format, hide=hide_ids, width=width, **given)
    write_whole(Path(output), lambda temporary: temporary.write_bytes(content))


def _list(paths: Sequence[str]) -> None:
    """Print kinds with titles and needs; with results, those that at least one row has the data for."""
    from zeroevidence.plot import KINDS, available

    if paths:
        rows = [row for path in paths for row in _rows(path)]
        kinds = [kind for kind in KINDS.values() if any(kind.name in available(row) for row in rows)]
    else:
        kinds = list(KINDS.values())
    wide = max((len(kind.name) for kind in kinds), default=0)
    for kind in kinds:
        click.echo(f"{kind.name:{wide}}  {kind.title}; needs {kind.needs}")


def _rows(path: str) -> list[Evaluation]:
    from zeroevidence.data.formats.linked import is_result, result_text
    from zeroevidence.report.jsonfile import from_json

    if path == _DEMO and not Path(path).exists():
        return _demo()
    if not Path(path).exists():
        raise InputError("no such file or folder; expected a result", path=path)
    if not is_result(path):
        raise InputError(
            "is not a finished result; make one with `zeroevidence evaluate SCORES --key KEY -f json -o result.json`",
            path=path,
        )
    name, text = result_text(path)
    rows = from_json(text, path=name)
    if not rows:
        raise InputError("has no rows; expected a result", path=name)
    return rows


def _demo() -> list[Evaluation]:
    """The audit of the bundled embeddings, without intervals and nulls: figures need none."""
    from zeroevidence.audit import audit_embeddings
    from zeroevidence.evaluation import Options
    from zeroevidence.sample import EXTRACTOR, PROTECTIONS, sample_sets

    kind, protector = next(iter(PROTECTIONS.items()))
    audit = audit_embeddings(
        sample_sets("original"),
        sample_sets(kind),
        backends=("cosine",),
        options=Options(intervals=0, null=0),
        system=protector,
        dataset="audiomnist",
        extractor=EXTRACTOR,
    )
    return list(audit.rows)


def _chosen(rows: Sequence[Evaluation], numbers: Sequence[int], conditions: Sequence[str]) -> list[Evaluation]:
    """Rows by number and by label."""
    beyond = [number for number in numbers if number > len(rows)]
    if beyond:
        raise UsageError(f"there is no row {beyond[0]}; the results have {len(rows)}")
    kept = [rows[number - 1] for number in numbers] if numbers else list(rows)
    for condition in conditions:
        label, equals, value = condition.partition("=")
        if not equals:
            raise UsageError(f"expected --where LABEL=VALUE, got {condition!r}")
        known = sorted({row.labels[label] for row in kept if label in row.labels})
        kept = [row for row in kept if value in _values(row, label)]
        if not kept:
            there = f"it is {', '.join(map(repr, known))}" if known else "no row has that label"
            raise UsageError(f"no row has {label}={value}; {there}")
    return kept


def _values(row: Evaluation, label: str) -> tuple[str, ...]:
    """What a label may be called: an attacker also by the name before its description."""
    value = row.labels.get(label)
    return () if value is None else (value, value.partition(" (")[0])
