"""``zeroevidence compare``: several systems on the same trials."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from zeroevidence.cli.options.measuring import measuring_options, workers_option
from zeroevidence.cli.options.output import output_options
from zeroevidence.cli.options.score_files import file_progress, score_inputs
from zeroevidence.errors import UsageError
from zeroevidence.evaluation.comparing.comparison import USUAL

_RUNS = "--runs"

if TYPE_CHECKING:
    from zeroevidence.cli.options.output import Output
    from zeroevidence.cli.options.score_files import ScoreInputs
    from zeroevidence.evaluation import Options


class _WithRuns(click.Command):
    """Takes ``--runs A B C``: what follows up to the next option are SCORES, and the option counts them."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put what follows each --runs among SCORES, and its number in its place."""
        rest, scores = list(args), list[str]()
        while _RUNS in rest:
            start = rest.index(_RUNS) + 1
            end = next((place for place in range(start, len(rest)) if rest[place].startswith("-")), len(rest))
            scores += rest[start:end]
            rest[start - 1 : end] = [f"{_RUNS}={end - start}"]
        return super().parse_args(ctx, [*rest, *(["--", *scores] if scores else [])])


@click.command("compare", cls=_WithRuns)
@score_inputs
@click.option(
    _RUNS,
    "runs",
    multiple=True,
    type=int,
    metavar="SCORES...",
    help="Several trainings of one system; once for each system, instead of SCORES.",
)
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
def command(
    inputs: ScoreInputs,
    runs: tuple[int, ...],
    measures: tuple[str, ...],
    options: Options,
    workers: int,
    output: Output,
) -> None:
    """Rank systems that were scored on the same trials, and say which differences are more than chance.

    All systems are measured without the same speakers in turn, so what the trials have in common cancels. Systems with
    other trials are refused. SCORES may also be result folders of a challenge, whose rows are compared where data set,
    sex and attacker are the same, folders that `link` wrote, or other finished results, whose trials are not paired.

    With --runs each system is a list of trainings, and the interval of its mean has the spread of people and that of
    trainings; then --system names each list.

    \b
    zeroevidence compare a.scores b.scores c.scores --key trials
    zeroevidence compare a_f b_f --key trials_f --dev a_m --dev b_m --dev-key trials_m --measure alid
    zeroevidence compare ours/exp theirs/exp --system ours --system theirs
    zeroevidence compare --runs a1.scores a2.scores a3.scores --runs b1.scores b2.scores b3.scores --key trials
    """  # noqa: D301 (the mark that keeps lines apart is a control character, not two letters)
    from zeroevidence.evaluation.comparing.files import compare_files, compare_results, compare_runs_of_files
    from zeroevidence.evaluation.comparing.runs import runs_systems
    from zeroevidence.report.tables.comparisons import render_comparisons

    if options.intervals < 2:
        raise UsageError("a comparison needs intervals: --intervals of at least 2")
    if runs:
        trained, named = replace(inputs, systems=()), runs_systems(inputs.scores, runs, inputs.systems)
        files = trained.files()
        found = compare_runs_of_files(
            files,
            named,
            inputs.reading,
            measures=measures or None,
            options=options,
            workers=workers,
            progress=file_progress(files),
        )
    elif inputs.all_finished:
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
