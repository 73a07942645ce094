"""``zeroevidence evaluate``: score files in, evidence out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from zeroevidence.cli.options.gates import gate_option
from zeroevidence.cli.options.measuring import ALL_OPTIONS, measuring_options, workers_option
from zeroevidence.cli.options.output import emit_table, table_options
from zeroevidence.cli.options.score_files import file_progress, score_inputs

if TYPE_CHECKING:
    from zeroevidence.cli.options.gates import Gates
    from zeroevidence.cli.options.output import Output
    from zeroevidence.cli.options.score_files import ScoreInputs
    from zeroevidence.evaluation import Evaluation, Options


@click.command("evaluate")
@score_inputs
@measuring_options(*ALL_OPTIONS)
@click.option("--prior", metavar="FILE", help="Lines of `identity probability`; uniform unless given.")
@click.option("--fuse", is_flag=True, help="Add a row for an attacker who has all SCORES, weighted on --dev.")
@workers_option
@click.option("--per-trial", metavar="FILE", help="Also write each trial's disclosure, as .csv or .parquet.")
@click.option(
    "--per-speaker",
    metavar="FILE",
    help="Also write each speaker's disclosure and own EER, and test whether people differ.",
)
@gate_option("lid_max>1.0")
@table_options
def command(
    inputs: ScoreInputs,
    options: Options,
    prior: str | None,
    fuse: bool,
    workers: int,
    per_trial: str | None,
    per_speaker: str | None,
    gates: Gates,
    output: Output,
) -> None:
    """Measure what an attacker learns from scores, one comparison at a time and by search.

    SCORES are score files (Kaldi, VoxCeleb, CSV, TSV, Parquet, .npz, ...), result folders of a VoicePrivacy
    challenge, or - for standard input. A file that carries its own labels needs no --key. Where each trial was
    compared with every enrolment, the search through them is measured too. Finished results (a JSON file, or a
    folder that `link` or `audit` wrote) are shown again in the format asked for.

    \b
    zeroevidence evaluate scores.txt --key trials
    zeroevidence evaluate f.scores --key trials_f --dev m.scores --dev-key trials_m
    zeroevidence evaluate a.scores b.scores --key trials -f md
    zeroevidence evaluate --fuse voice.scores rhythm.scores --key trials --dev v.dev --dev r.dev --dev-key dev_trials
    zeroevidence evaluate exp/ -f json -o result.json
    zeroevidence evaluate exp_a/ exp_b/ -f latex --measure eer --measure alid --measure d_ece --measure wer
    """  # noqa: D301 (the mark that keeps lines apart is a control character, not two letters)
    output.reserve(per_trial, per_speaker)
    rows = _rows(inputs, options, prior, workers, fuse=fuse)
    text = output.rendered(rows)
    _tables(rows, per_trial, per_speaker)
    output.emit(text)
    gates.judge(rows)


def _tables(rows: list[Evaluation], per_trial: str | None, per_speaker: str | None) -> None:
    """Write the tables that were asked for, each made before any is written."""
    if per_trial is None and per_speaker is None:
        return
    from zeroevidence.report.trial_tables import differing_lines, speaker_table, trial_table

    asked = ((trial_table, per_trial), (speaker_table, per_speaker))
    for frame, path in [(table(rows), path) for table, path in asked if path is not None]:
        emit_table(frame, path)
    if per_speaker is not None:
        for line in differing_lines(rows):
            click.echo(line, err=True)


def _rows(inputs: ScoreInputs, options: Options, prior: str | None, workers: int, *, fuse: bool) -> list[Evaluation]:
    """What score files, folders and finished results say, all rows together."""
    from zeroevidence.data.formats.lists.prior import read_prior
    from zeroevidence.evaluation import read_results
    from zeroevidence.evaluation.finding.finding import together
    from zeroevidence.evaluation.reading.kits import without_copies
    from zeroevidence.evaluation.reading.score_files import evaluate_files

    finished = [row for path in inputs.finished for row in read_results(path)]
    if inputs.all_finished:
        return finished
    files = without_copies(inputs.files())
    given = None if prior is None else read_prior(prior)
    rows = evaluate_files(
        files, inputs.reading, options=options, prior=given, workers=workers, progress=file_progress(files)
    )
    if fuse:
        from zeroevidence.attack.fusion.systems import evaluate_fused  # brings scikit-learn, which takes a second

        rows.append(evaluate_fused(files, inputs.reading, options=options, prior=given, workers=workers))
    return together([*rows, *inputs.utility(options), *finished])
