"""``zeroevidence report``: one file that says what was found, for people who did not compute it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING

import click

from zeroevidence.cli.inputs import Reading, input_options, paired, resolve, system_options, trust_options
from zeroevidence.cli.output import emit, progress_of, refuse_existing
from zeroevidence.errors import UsageError

if TYPE_CHECKING:
    from zeroevidence.data.formats import Loaded
    from zeroevidence.evaluation import Evaluation, Options
    from zeroevidence.report.material import Material


@click.command("report")
@input_options
@system_options
@trust_options
@click.option(
    "--null", type=click.IntRange(0), default=200, show_default=True, help="Permutations of the null; 0 for none."
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of all random choices.")
@click.option("--title", metavar="WORDS", help="Heading of the report.")
@click.option("--hide-ids", is_flag=True, help="Write people as numbers; their names are nowhere in the file.")
@click.option(
    "-f",
    "--output-format",
    type=click.Choice(["html", "md", "latex"]),
    default="html",
    show_default=True,
    help="A page, or the table of all results.",
)
@click.option("-o", "--output", metavar="FILE", help="Write to FILE instead of standard output.")
@click.option("--overwrite", is_flag=True, help="Replace the output file if it exists.")
@click.pass_context
def command(
    ctx: click.Context,
    scores: tuple[str, ...],
    keys: tuple[str, ...],
    speakers: str | None,
    file_format: str,
    duplicates: str,
    allow_missing: bool,
    names: tuple[str, ...],
    dev_scores: tuple[str, ...],
    dev_keys: tuple[str, ...],
    intervals: int,
    interval_method: str,
    workers: int,
    null: int,
    seed: int,
    title: str | None,
    hide_ids: bool,
    output_format: str,
    output: str | None,
    overwrite: bool,
) -> None:
    """Write a report: what the strongest attacker learns in one paragraph, then all that it rests on.

    SCORES are finished results (a JSON file of `evaluate`, `tandem` or `compare`, a folder that `audit` or `link`
    wrote), or score files, which are evaluated first. The report is one HTML file that needs no network.

    \b
    zeroevidence report out/ -o report.html
    zeroevidence report scores.txt --key trials -o report.html
    zeroevidence report a.json b.json --hide-ids -o report.html
    """  # noqa: D301 (the mark that keeps lines apart is a control character, not two letters)
    from zeroevidence.data.formats.linked import is_result
    from zeroevidence.evaluation import Options
    from zeroevidence.report.material import Material

    refuse_existing(output, overwrite)
    finished = [path for path in scores if path != "-" and is_result(path)]
    raw = [path for path in scores if path not in finished]
    if not raw and (keys or speakers or names or dev_scores or dev_keys):
        raise UsageError(
            "--key, --speakers, --system and --dev are for score files, but all inputs are finished results"
        )
    material = Material()
    for path in finished:
        material.add_result(path)
    if raw:
        options = Options(intervals=intervals, interval_method=interval_method, null=null, seed=seed)  # type: ignore[arg-type]
        reading = Reading(file_format, duplicates, allow_missing)
        material.add_rows(_evaluated((raw, keys, speakers, names), (dev_scores, dev_keys), reading, options, workers))
    if output_format == "html":
        from zeroevidence.report.html import to_html

        text = to_html(
            material.rows,
            title=title,
            cards=material.cards,
            comparisons=material.comparisons,
            command=command_line(ctx),
            hide=hide_ids,
        )
    else:
        text = _tables(material, output_format)
    emit(text, output)


def _tables(material: Material, output_format: str) -> str:
    from zeroevidence.report import render
    from zeroevidence.report.comparisons import render_comparisons

    parts = [render(material.rows, output_format)] if material.rows else []
    parts += [render_comparisons(material.comparisons, output_format)] if material.comparisons else []
    return "\n".join(parts)


def _evaluated(
    inputs: tuple[Sequence[str], Sequence[str], str | None, Sequence[str]],
    dev: tuple[Sequence[str], Sequence[str]],
    reading: Reading,
    options: Options,
    workers: int,
) -> list[Evaluation]:
    """Evaluate score files first."""
    from zeroevidence.report.material import evaluate_files

    sources = resolve(*inputs)
    dev_sources = paired(resolve(*dev, None), sources, "--dev") if dev[0] else None

    def read(index: int) -> tuple[Loaded, Loaded | None]:
        return reading.read(sources[index]), None if dev_sources is None else reading.read(dev_sources[index])

    return evaluate_files(
        read,
        [source.labels for source in sources],
        options,
        workers=workers,
        progress=lambda index: progress_of(f"{index + 1}/{len(sources)}"),
    )


def command_line(ctx: click.Context) -> str:
    """The command with its arguments, absolute paths cut to their last part: where files lie is nobody's business."""
    words = ["zeroevidence", str(ctx.info_name)]
    for parameter in ctx.command.params:
        if ctx.get_parameter_source(parameter.name or "") is not click.core.ParameterSource.COMMANDLINE:
            continue
        value = ctx.params[parameter.name or ""]
        several = value if isinstance(value, tuple) else (value,)
        option = parameter.opts[-1] if isinstance(parameter, click.Option) else None
        for one in several:
            if isinstance(one, bool):
                words += [str(option)]
            else:
                words += [*([option] if option else []), _quoted(str(one))]
    return " ".join(words)


def _quoted(word: str) -> str:
    return shlex.quote(PurePath(word).name if PurePath(word).is_absolute() else word)
