"""Draw a figure of finished results, for a paper."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from zeroevidence.cli.options import shared
from zeroevidence.cli.options.output import write_atomically
from zeroevidence.cli.printing import echo
from zeroevidence.data.files import naming_file
from zeroevidence.data.writing import refuse_existing
from zeroevidence.errors import InputError, UsageError
from zeroevidence.evaluation.finding.finding import first_look
from zeroevidence.plot.canvas import FORMATS, need_matplotlib
from zeroevidence.plot.figures import needs_panels, to_bytes
from zeroevidence.plot.kind import KINDS, FigureOption, available, rows_with
from zeroevidence.plot.rows import choose_rows

if TYPE_CHECKING:
    from zeroevidence.evaluation import Evaluation

_DEMO = "demo"


def kind_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of all kinds of figures but ``hide``, which the command has for every kind."""
    names = {name for kind in KINDS.values() for name in kind.options} - {"hide"}
    for name in sorted(names, reverse=True):
        options = {kind.name: kind.options[name] for kind in KINDS.values() if name in kind.options}
        types = {option.type for option in options.values()}
        value = types.pop() if len(types) == 1 else str
        flag = {"is_flag": True, "default": None} if value is bool else {"type": value, "metavar": "VALUE"}
        text = " ".join(f"{kind}{_choices(option)}: {option.meaning}" for kind, option in options.items())
        command = click.option(f"--{name.replace('_', '-')}", name, help=text, **flag)(command)
    return command


def _choices(option: FigureOption) -> str:
    return f" ({', '.join(option.choices)})" if option.choices else ""


@click.command("plot")
@click.argument("kind", required=False)
@click.argument("results", nargs=-1, metavar="RESULT...")
@shared.output(f"a figure, .{', .'.join(FORMATS)}", metavar="FILE")
@click.option(
    "--row", "numbers", multiple=True, type=click.IntRange(1), help="Only this row, counted from 1, may be repeated."
)
@click.option(
    "--where",
    "conditions",
    multiple=True,
    metavar="LABEL=VALUE",
    help="Only rows with this label, such as sex=f; an attacker by its label or its threat model.",
)
@kind_options
@shared.hide_ids()
@click.option(
    "--width",
    type=click.FloatRange(1.5, 30.0),
    metavar="INCHES",
    help="Width of the figure [default: 3.5, one column].",
)
@shared.overwrite()
@click.option(
    "--list", "list_kinds", is_flag=True, help="List the kinds of figures; with a RESULT, those that it has data for."
)
def command(
    kind: str | None,
    results: tuple[str, ...],
    output: str | None,
    numbers: tuple[int, ...],
    conditions: tuple[str, ...],
    hide_ids: bool,
    width: float | None,
    overwrite: bool,
    list_kinds: bool,
    **options: Any,
) -> None:
    """Draw a figure of one KIND from finished results.

    A RESULT is a JSON file that `evaluate`, `tandem evaluate` or `demo` wrote, a folder of `audit` or `link`, or the
    word demo for the bundled data. Rows are drawn into one pair of axes where possible; otherwise each gets a panel.
    Of more than eight rows that need panels the best attackers of each kind are drawn, unless --row or --where chooses.

    \b
    zeroevidence plot --list
    zeroevidence plot ece demo -o profile.pdf
    zeroevidence plot lid-ccdf a.json b.json -o ccdf.svg
    zeroevidence plot people out/ --where attacker=semi-informed --hide-ids -o people.png
    zeroevidence plot scatter results.json --x eer --y lid_max -o scatter.pdf
    """  # noqa: D301 (\b is a control character here)
    if list_kinds:
        _list([path for path in (kind, *results) if path is not None])
        return
    if kind is None:
        raise UsageError("expected a KIND of figure and a RESULT; `zeroevidence plot --list` lists the kinds")
    given = {name: value for name, value in options.items() if value is not None}
    KINDS.find(kind).check(given)
    if not results:
        raise UsageError("expected a RESULT: a JSON file, a folder of `audit` or `link`, or demo")
    file_format = _format(output)
    refuse_existing(output, overwrite)
    need_matplotlib()
    rows = choose_rows(_rows(results), numbers=numbers, where=[_parse_condition(text) for text in conditions])
    shown = rows_with(kind, rows, given.get("name"))
    if len(shown) < len(rows):
        echo(f"{len(rows) - len(shown)} of {len(rows)} rows have no data for {kind} and are left out", err=True)
    if not numbers and not conditions and needs_panels(kind, shown):
        best = first_look(shown)
        if len(best) < len(shown):
            few = f"{len(best)} of {len(shown)} rows, the best attackers of each kind"
            echo(f"drawn: {few}; --row and --where draw others", err=True)
        shown = best
    with naming_file(" and ".join(results)):
        content = to_bytes(kind, shown, format=file_format, hide=hide_ids, width=width, **given)
    write_atomically(Path(str(output)), lambda temporary: temporary.write_bytes(content))


def _format(output: str | None) -> str:
    endings = f".{', .'.join(FORMATS)}"
    if output is None:
        raise UsageError(f"expected -o FILE with a name that ends in {endings}")
    ending = Path(output).suffix.lower().removeprefix(".")
    if ending not in FORMATS:
        raise UsageError(f"{output}: expected a name that ends in {endings}")
    return ending


def _parse_condition(text: str) -> tuple[str, str]:
    label, equals, value = text.partition("=")
    if not equals:
        raise UsageError(f"expected --where LABEL=VALUE, got {text!r}")
    return label, value


def _list(paths: Sequence[str]) -> None:
    """Print the kinds of figures with title and needed data; with results, the kinds that they have data for."""
    names = available(_rows(paths)) if paths else list(KINDS)
    wide = max(map(len, names), default=0)
    for name in names:
        echo(f"{name:{wide}}  {KINDS[name].title}; needs {KINDS[name].needs}")


def _rows(paths: Sequence[str]) -> list[Evaluation]:
    return [row for path in paths for row in _read(path)]


def _read(path: str) -> list[Evaluation]:
    """Return the rows of one RESULT."""
    from zeroevidence.evaluation import read_results
    from zeroevidence.evaluation.results import is_result

    if path == _DEMO and not Path(path).exists():
        return _demo()
    if not Path(path).exists():
        raise InputError("no such file or folder; expected a result", path=path)
    if not is_result(path):
        raise InputError(
            "is not a finished result; make one with `zeroevidence evaluate SCORES --key KEY -f json -o result.json`",
            path=path,
        )
    return read_results(path)


def _demo() -> list[Evaluation]:
    """Return the rows of the bundled data; only these import attackers, which takes longer than a figure."""
    from zeroevidence.evaluation import Options
    from zeroevidence.sample import sample_audit

    return list(sample_audit(options=Options(intervals=0, null=0)).rows)  # figures need neither
