"""``zeroevidence compare``: several systems on the same trials."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from zeroevidence.cli.inputs import file_progress, score_inputs
from zeroevidence.cli.measuring import measuring_options, workers_option
from zeroevidence.cli.output import output_options
from zeroevidence.errors import UsageError
from zeroevidence.evaluation.comparison import USUAL

if TYPE_CHECKING:
    from zeroevidence.cli.inputs import ScoreInputs
    from zeroevidence.cli.output import Output
    from zeroevidence.evaluation import Options


@click.command("compare")
@score_inputs
@click.option(
    "--measure",
    "measures",
    multiple=True,
    metavar="NAME",
    help="Measure to compare by; repeat for several "
    f"[default: the first few of {', '.join(USUAL)} that all systems have].",
)
@measuring_options("intervals", "seed", null=0)
@workers_option
@output_options
def command(inputs: ScoreInputs, measures: tuple[str, ...], options: Options, workers: int, output: Output) -> None:
    """Rank systems that were scored on the same trials, and say which differences are more than chance.

    All systems are measured without the same speakers in turn, so what the trials have in common cancels. Systems with
    other trials are refused. SCORES may also be result folders of a challenge, whose rows are compared where data set,
    sex and attacker are the same, folders that `link` wrote, or other finished results, whose trials are not paired.

    \b
    zeroevidence compare a.scores b.scores c.scores --key trials
    zeroevidence compare a_f b_f --key trials_f --dev a_m --dev b_m --dev-key trials_m --measure alid
    zeroevidence compare ours/exp theirs/exp --system ours --system theirs
    """  # noqa: D301 (the mark that keeps lines apart is a control character, not two letters)
    from zeroevidence.evaluation.systems import compare_files, compare_results
    from zeroevidence.report.comparisons import render_comparisons

    if options.intervals < 2:
        raise UsageError("a comparison needs intervals: --intervals of at least 2")
    if inputs.all_finished:
        found = compare_results(inputs.scores, inputs.names, measures=measures or None, options=options)
    else:
        files = inputs.files()
        found = compare_files(
            files,
            inputs.reading,
            measures=measures or None,
            options=options,
            workers=workers,
            progress=file_progress(files),
        )
    output.emit(render_comparisons(found, output.format, signatures=output.signatures))
