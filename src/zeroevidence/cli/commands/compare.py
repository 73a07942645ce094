"""Compare systems on the same trials: differences, ranking, ties."""

from __future__ import annotations

import shlex
from typing import Any

import click

from zeroevidence.cli.declare import options_of, run_options
from zeroevidence.cli.output import Output, output_options
from zeroevidence.cli.score_files import RequiredInputs, ScoreInputs, files_abreast
from zeroevidence.errors import UsageError
from zeroevidence.evaluation import Options
from zeroevidence.evaluation.comparison import FAMILIES, USUAL, Family, correct
from zeroevidence.run import Run


@click.command("compare")
@options_of(RequiredInputs, "inputs")
@click.option(
    "--family",
    type=click.Choice(FAMILIES),
    default=FAMILIES[0],
    show_default=True,
    help="Differences that are corrected for their number together (Holm): those between the systems by one measure, "
    "on one data set and against one attacker, or all that are shown.",
)
@options_of(Options, "options", "row_scaling", "intervals", fixed={"null": 0})
@run_options("level", "seed", "cores", "verbose")
@output_options(
    "measures",
    "signatures",
    measures=f"systems are compared by it [default: the first few of {', '.join(USUAL)} that all systems have]",
)
def command(inputs: ScoreInputs, family: Family, options: Options, run: Run, output: Output) -> None:
    """Rank systems that were scored on the same trials, and report which differences are more than chance.

    The same speakers are left out of all systems in turn, so that variation which the systems share cancels. Systems
    with different trials are refused. The more systems, the sooner two differ by chance: p-values and intervals of
    differences are corrected for the number of pairs, of each measure by itself. To conclude from any of several
    measures, take --family all.

    SCORES are score files, result folders of a VoicePrivacy challenge, folders that `audit` or `link` wrote, or other
    finished results. Rows of folders are compared where data set, sex and attacker agree. Systems of audits are
    compared under the attacker that counts of each, and under the best of each kind. Trials of other finished results
    cannot be paired.

    \b
    zeroevidence compare a.scores b.scores c.scores --key trials
    zeroevidence compare a_f b_f --key trials_f --dev a_m --dev b_m --dev-key trials_m --measure alid
    zeroevidence compare out_a/ out_b/
    zeroevidence compare ours/exp theirs/exp --system ours --system theirs
    """  # noqa: D301 (\b is a control character here)
    from zeroevidence.evaluation.compared_files import compare_files, compare_results
    from zeroevidence.report.comparisons import render_comparisons

    if options.intervals < 2:
        raise UsageError("a comparison needs intervals: --intervals of at least 2")
    settings: dict[str, Any] = {"measures": output.measures, "options": options, "run": run}
    if inputs.all_finished:
        comparisons = compare_results(inputs.paths.scores, inputs.names, **settings)
    else:
        _refuse_finished(inputs)
        files = inputs.files()
        comparisons = compare_files(files, inputs.reading, **settings, each=files_abreast(files, run))
    comparisons = correct(comparisons, family)
    output.emit(render_comparisons(comparisons, output.format, signatures=output.signatures))


def _refuse_finished(inputs: ScoreInputs) -> None:
    """Refuse finished results among files of scores: they are not on trials that the scores could be paired with."""
    from zeroevidence.data.formats.voiceprivacy_tables import summaries

    if not inputs.finished:
        return
    paths = inputs.paths
    if not paths.targets and len(inputs.finished) < len(paths.scores):
        inputs.files(named=False)[0].read(inputs.reading)  # refuses what is not there, or holds no scores
    result = inputs.finished[0]
    kind = "a published table, which has no intervals" if summaries(result) else "a finished result"
    scores = [path for path in paths.scores if path not in inputs.finished] + list(paths.targets)
    also = f", {scores[0]} as scores" if scores else ""
    kept = {"--key": paths.keys, "--targets": paths.targets, "--nontargets": paths.nontargets}
    options = [text for option, values in kept.items() for value in values for text in (option, value)]
    raise UsageError(
        f"{result} was read as {kind}{also}; expected scores of every system: compare those "
        "(`zeroevidence compare A B --key KEY`), or show all rows "
        f"(`{shlex.join(['zeroevidence', 'evaluate', *paths.scores, *options])}`)"
    )
