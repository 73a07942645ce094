"""Measure what an attacker learns from score files."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from zeroevidence.cli.options import shared
from zeroevidence.cli.options.declare import derived_option
from zeroevidence.cli.options.gates import Gates, gate_option
from zeroevidence.cli.options.measuring import ALL_OPTIONS, measuring_options
from zeroevidence.cli.options.output import Output, evaluation_options, write_frame
from zeroevidence.cli.options.score_files import ScoreInputs, file_progress, files_abreast, score_inputs
from zeroevidence.cli.printing import echo
from zeroevidence.evaluation import Evaluation, Options
from zeroevidence.evaluation.score_checks import threshold as threshold_of


@click.command("evaluate")
@score_inputs
@measuring_options(*ALL_OPTIONS)
@click.option("--prior", metavar="FILE", help="Lines of `identity probability` [default: equal probabilities].")
@click.option("--fuse", is_flag=True, help="Add a row for an attacker who fuses all SCORES, with weights from --dev.")
@shared.workers()
@click.option("--per-trial", metavar="FILE", help="Also write the disclosure of each trial, as .csv or .parquet.")
@click.option(
    "--per-speaker",
    metavar="FILE",
    help="Also write the disclosure and the EER of each speaker, as .csv or .parquet; tests whether speakers differ.",
)
@click.option(
    "--threshold",
    is_flag=True,
    help="Also give the threshold that is cheapest at --dcf-prior, --c-miss and --c-fa, with its error rates.",
)
@derived_option(threshold_of, "c_miss", help="Cost of a miss.")
@derived_option(threshold_of, "c_fa", help="Cost of a false alarm.")
@gate_option("lid_max>1.0", "bound(d_ece)>0.5")
@evaluation_options
def command(
    inputs: ScoreInputs,
    options: Options,
    prior: str | None,
    fuse: bool,
    workers: int,
    per_trial: str | None,
    per_speaker: str | None,
    threshold: bool,
    c_miss: float,
    c_fa: float,
    gates: Gates,
    output: Output,
) -> None:
    """Measure what an attacker learns from scores, by verification and by search.

    SCORES are score files (Kaldi, VoxCeleb, CSV, TSV, Parquet, .npz, ...), result folders of a VoicePrivacy challenge,
    or - for standard input. Files that hold labels need no --key. If every trial was scored against every enrolment,
    the search for the speaker among all enrolments is measured, too. Finished results (a JSON file, or a folder that
    `link` or `audit` wrote) are not computed again, only shown in the chosen format.

    \b
    zeroevidence evaluate scores.txt --key trials
    zeroevidence evaluate f.scores --key trials_f --dev m.scores --dev-key trials_m
    zeroevidence evaluate scores.txt --key trials --threshold --dcf-prior 0.01
    zeroevidence evaluate a.scores b.scores --key trials -f md
    zeroevidence evaluate --fuse voice.scores rhythm.scores --key trials --dev v.dev --dev r.dev --dev-key dev_trials
    zeroevidence evaluate exp/ -f json -o result.json
    zeroevidence evaluate exp_a/ exp_b/ -f latex --measure eer --measure alid --measure d_ece --measure wer
    """  # noqa: D301 (\b is a control character here)
    output.reserve(per_trial, per_speaker)
    rows = _evaluate(inputs, options, prior, workers, fuse=fuse)
    if threshold:
        rows = [_with_threshold(row, options, c_miss, c_fa) for row in rows]
    text = output.render(rows)
    _write_tables(rows, per_trial, per_speaker)
    output.emit(text)
    gates.judge(rows)


def _with_threshold(row: Evaluation, options: Options, c_miss: float, c_fa: float) -> Evaluation:
    """Return a row with its threshold; of a finished result, whose scores are not kept, as it is."""
    if row.scores is None:
        return row
    chosen = threshold_of(
        row.scores,
        prior=options.dcf_prior,
        c_miss=c_miss,
        c_fa=c_fa,
        are_llrs=row.setup.llr is not None,
        level=options.level,
    )
    return replace(row, threshold=chosen)


def _write_tables(rows: list[Evaluation], per_trial: str | None, per_speaker: str | None) -> None:
    """Make both tables before either is written."""
    if per_trial is None and per_speaker is None:
        return
    from zeroevidence.report.people import differing_lines, speaker_table, trial_table

    tables = ((trial_table, per_trial), (speaker_table, per_speaker))
    for frame, path in [(table(rows), path) for table, path in tables if path is not None]:
        write_frame(frame, path)
    if per_speaker is not None:
        for line in differing_lines(rows):
            echo(line, err=True)


def _evaluate(
    inputs: ScoreInputs, options: Options, prior_path: str | None, workers: int, *, fuse: bool
) -> list[Evaluation]:
    """Return the rows of score files, folders and finished results."""
    from zeroevidence.data.formats.lists import read_prior
    from zeroevidence.evaluation import read_results
    from zeroevidence.evaluation.finding.beside import flag_rows
    from zeroevidence.evaluation.score_files import evaluate_files
    from zeroevidence.evaluation.utility import without_copies

    finished = [row for path in inputs.finished for row in read_results(path)]
    if inputs.all_finished:
        return finished
    files = without_copies(inputs.files())
    prior = None if prior_path is None else read_prior(prior_path)
    settings: dict[str, Any] = {"options": options, "prior": prior, "workers": workers}
    with files_abreast(files, workers) as each:
        rows = evaluate_files(files, inputs.reading, **settings, progress=file_progress(files), each=each)
    if fuse:
        from zeroevidence.attack.fusion import evaluate_fused  # imports scikit-learn, which takes a second

        rows.append(evaluate_fused(files, inputs.reading, **settings))
    return flag_rows([*rows, *inputs.utility(options), *finished])
