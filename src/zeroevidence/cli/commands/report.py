"""Write a report of results or score files: one HTML page, or tables."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from functools import partial
from pathlib import PurePath

import click

from zeroevidence.cli.declare import options_of, run_options, shared
from zeroevidence.cli.output import Output, output_options
from zeroevidence.cli.score_files import RequiredInputs, ScoreInputs, files_abreast
from zeroevidence.errors import UsageError
from zeroevidence.evaluation import Options
from zeroevidence.parallel import compute_in_copies
from zeroevidence.report.inputs import DOCUMENT_FORMATS
from zeroevidence.run import Run, setting


@dataclass(frozen=True, slots=True)
class _Style:
    """What the report looks like."""

    title: str | None = setting(None, "Heading of the report.", metavar="TEXT")
    hide_ids: bool = shared("--hide-ids")
    paragraph: bool = setting(
        False, "Write one paragraph of plain text instead, for a data protection impact assessment."
    )


@click.command("report")
@options_of(RequiredInputs, "inputs")
@options_of(Options, "options", "row_scaling", "intervals", "null")
@run_options("level", "seed", "cores", "verbose")
@options_of(_Style, "style")
@output_options("measures", "estimate", formats=DOCUMENT_FORMATS)
@click.pass_context
def command(ctx: click.Context, inputs: ScoreInputs, options: Options, run: Run, style: _Style, output: Output) -> None:
    """Write a report: what the attacker that counts learns in one paragraph, then all results and methods.

    SCORES are finished results (a JSON file of `evaluate`, `tandem` or `compare`, a folder that `audit` or `link`
    wrote), or score files, which are evaluated first. The report is one HTML file that needs no network.

    \b
    zeroevidence report out/ -o report.html
    zeroevidence report scores.txt --key trials -o report.html
    zeroevidence report a.json b.json --hide-ids -o report.html
    zeroevidence report out/ --paragraph
    """  # noqa: D301 (\b is a control character here)
    from zeroevidence.data.files import naming_file
    from zeroevidence.evaluation.score_files import distinct_names, evaluate_files
    from zeroevidence.evaluation.utility import without_copies
    from zeroevidence.report.document import assessment_text, document
    from zeroevidence.report.inputs import ReportInputs, ReportOptions

    paths = inputs.paths
    if inputs.all_finished and (paths.keys or paths.speakers or paths.systems or paths.dev or paths.dev_keys):
        raise UsageError(
            "--key, --speakers, --system and --dev are for score files, but all inputs are finished results"
        )
    if style.paragraph and output.format != "html":
        raise UsageError("--paragraph is plain text; expected no -f with it")
    content = ReportInputs()
    content.add_results(inputs.finished, distinct_names(inputs.finished))
    files = [] if inputs.all_finished else without_copies(inputs.files())
    prepare = _prepare_page if output.format == "html" and not style.paragraph else None
    if not inputs.all_finished:
        each = files_abreast(files, run, meanwhile=prepare)
        content.add_rows(evaluate_files(files, inputs.reading, options=options, run=run, each=each))
        content.add_rows(inputs.utility(options, run))
    elif prepare is not None:
        prepare()  # once, and not in each of the copies that draw
    with naming_file(" and ".join(paths.scores)):
        if style.paragraph:
            output.emit(assessment_text(content))
            return
        each = partial(compute_in_copies, run=run)
        shown = ReportOptions(style.title, command_line(ctx), style.hide_ids, output.measures, output.estimate, each)
        page = document(content, output.format, shown)
    output.emit(page)


def _prepare_page() -> None:
    from zeroevidence.report.page import prepare_page

    prepare_page()


def command_line(ctx: click.Context) -> str:
    """Return the command with its arguments; of absolute paths only the last part, as reports are passed on."""
    parts = ["zeroevidence", str(ctx.info_name)]
    for parameter in ctx.command.params:
        if ctx.get_parameter_source(parameter.name or "") is not click.core.ParameterSource.COMMANDLINE:
            continue
        value = ctx.params[parameter.name or ""]
        option = [parameter.opts[-1]] if isinstance(parameter, click.Option) else []
        for item in value if isinstance(value, tuple) else (value,):
            text = PurePath(str(item)).name if PurePath(str(item)).is_absolute() else str(item)
            parts += option if isinstance(item, bool) else [*option, shlex.quote(text)]
    return " ".join(parts)
