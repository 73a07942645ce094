"""Draw a figure of finished results or score files, for a paper."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from zeroevidence.cli.declare import Decorator, option_group, options_of, shared
from zeroevidence.cli.output import print_written
from zeroevidence.cli.printing import echo
from zeroevidence.cli.score_files import ScoreInputs
from zeroevidence.data.files import naming_file
from zeroevidence.data.writing import refuse_existing, write_file
from zeroevidence.errors import UsageError
from zeroevidence.evaluation import Evaluation, Options
from zeroevidence.evaluation.finding.finding import first_look
from zeroevidence.plot.canvas import FORMATS, import_without_help, need_matplotlib
from zeroevidence.plot.figures import needs_panels, to_bytes
from zeroevidence.plot.kind import KINDS, available, rows_with
from zeroevidence.plot.rows import choose_rows
from zeroevidence.run import setting

_DEMO = "demo"


@dataclass(frozen=True, slots=True)
class _Figure:
    """Which rows are drawn, and where to."""

    output: str | None = shared("--output", f"a figure, .{', .'.join(FORMATS)}", metavar="FILE")
    numbers: tuple[int, ...] = setting((), "Only this row, counted from 1, may be repeated.", spelling="--row", least=1)
    conditions: tuple[str, ...] = setting(
        (),
        "Only rows with this label, such as sex=f; an attacker by its label or its threat model.",
        spelling="--where",
        metavar="LABEL=VALUE",
    )
    hide_ids: bool = shared("--hide-ids")
    width: float | None = setting(
        None, "Width of the figure [default: 3.5, one column].", least=1.5, most=30.0, metavar="INCHES"
    )
    overwrite: bool = shared("--overwrite")
    list_kinds: bool = setting(
        False, "List the kinds of figures; with a RESULT, those that it has data for.", spelling="--list"
    )

    @property
    def format(self) -> str:
        """The format of the file, by its name."""
        endings = f".{', .'.join(FORMATS)}"
        if self.output is None:
            raise UsageError(f"expected -o FILE with a name that ends in {endings}")
        ending = Path(self.output).suffix.lower().removeprefix(".")
        if ending not in FORMATS:
            raise UsageError(f"{self.output}: expected a name that ends in {endings}")
        return ending

    def choose(self, rows: Sequence[Evaluation], kind: str, name: str | None) -> Sequence[Evaluation]:
        """Return the rows to draw: those that were asked for, else few enough for panels; what is left out is said."""
        rows = choose_rows(rows, numbers=self.numbers, where=list(map(_parse_condition, self.conditions)))
        shown = rows_with(kind, rows, name)
        if len(shown) < len(rows):
            echo(f"{len(rows) - len(shown)} of {len(rows)} rows have no data for {kind} and are left out", err=True)
        if self.numbers or self.conditions or not needs_panels(kind, shown):
            return shown
        best = first_look(shown)
        if len(best) < len(shown):
            few = f"{len(best)} of {len(shown)} rows, the best attackers of each kind"
            echo(f"drawn: {few}; --row and --where draw others", err=True)
        return best


def _kind_options() -> Iterator[Decorator]:
    """Yield the options of all kinds of figures but ``hide``, which the command has for every kind."""
    for name in sorted({name for kind in KINDS.values() for name in kind.options} - {"hide"}):
        options = {kind.name: kind.options[name] for kind in KINDS.values() if name in kind.options}
        types = {option.type for option in options.values()}
        value = types.pop() if len(types) == 1 else str
        flag = {"is_flag": True, "default": None} if value is bool else {"type": value, "metavar": "VALUE"}
        choices = {kind: f" ({', '.join(each.choices)})" if each.choices else "" for kind, each in options.items()}
        text = " ".join(f"{kind}{choices[kind]}: {option.meaning}" for kind, option in options.items())
        yield click.option(f"--{name.replace('_', '-')}", name, help=text, **flag)


@click.command("plot")
@click.argument("kind", required=False)
@options_of(ScoreInputs, "inputs")
@options_of(_Figure, "figure")
@option_group("given", lambda **values: {n: v for n, v in values.items() if v is not None}, *_kind_options())
def command(kind: str | None, inputs: ScoreInputs, figure: _Figure, given: dict[str, Any]) -> None:
    """Draw a figure of one KIND from finished results or from score files.

    SCORES are score files and folders as `evaluate` reads them, which are measured without intervals; or finished
    results: a JSON file that `evaluate`, `protect evaluate`, `tandem evaluate` or `demo` wrote, a folder of `audit` or
    `link`, or the word demo for the bundled data. Rows are drawn into one pair of axes where possible; otherwise each
    gets a panel. Of more than eight rows that need panels the best attackers of each kind are drawn, unless --row or
    --where chooses.

    \b
    zeroevidence plot --list
    zeroevidence plot ece demo -o profile.pdf
    zeroevidence plot det a.scores b.scores --key trials -o det.pdf
    zeroevidence plot lid-ccdf a.json b.json -o ccdf.svg
    zeroevidence plot people out/ --where attacker=semi-informed --hide-ids -o people.png
    zeroevidence plot scatter results.json --x eer --y lid_max -o scatter.pdf
    """  # noqa: D301 (\b is a control character here)
    if figure.list_kinds:
        listed = [path for path in (kind, *inputs.paths.scores) if path is not None]
        _list(replace(inputs, paths=replace(inputs.paths, scores=listed)))
        return
    if kind is None:
        raise UsageError("expected a KIND of figure and SCORES; `zeroevidence plot --list` lists the kinds")
    KINDS.find(kind).check(given)
    if not inputs.paths.scores and not inputs.paths.targets:
        raise UsageError("expected SCORES: score files, a result (a JSON file, a folder of `audit` or `link`), or demo")
    file_format = figure.format
    refuse_existing(figure.output, figure.overwrite)
    need_matplotlib()
    import_without_help()
    rows = figure.choose(_rows(inputs), kind, given.get("name"))
    with naming_file(" and ".join(inputs.paths.scores)):
        content = to_bytes(kind, rows, format=file_format, hide=figure.hide_ids, width=figure.width, **given)
    write_file(str(figure.output), content, overwrite=figure.overwrite)
    print_written(str(figure.output))


def _parse_condition(text: str) -> tuple[str, str]:
    label, equals, value = text.partition("=")
    if not equals:
        raise UsageError(f"expected --where LABEL=VALUE, got {text!r}")
    return label, value


def _list(inputs: ScoreInputs) -> None:
    """Print the kinds of figures with title and needed data; with results, the kinds that they have data for."""
    names = available(_rows(inputs)) if inputs.paths.scores else list(KINDS)
    wide = max(map(len, names), default=0)
    for name in names:
        echo(f"{name:{wide}}  {KINDS[name].title}; needs {KINDS[name].needs}")


def _rows(inputs: ScoreInputs) -> list[Evaluation]:
    """Return the rows of the bundled data, of finished results and of score files."""
    from zeroevidence.evaluation.score_files import evaluate_files

    quick = Options(intervals=0, null=0)  # figures need neither
    rows: list[Evaluation] = []
    paths = [path for path in inputs.paths.scores if path != _DEMO or Path(path).exists()]
    if len(paths) < len(inputs.paths.scores):
        from zeroevidence.sample import sample_audit  # imports attackers, which takes longer than a figure

        rows += sample_audit(options=quick).rows
    inputs = replace(inputs, paths=replace(inputs.paths, scores=paths))
    rows += inputs.finished_rows()
    return rows if inputs.all_finished else [*rows, *evaluate_files(inputs.files(), inputs.reading, options=quick)]
