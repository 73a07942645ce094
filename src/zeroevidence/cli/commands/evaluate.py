"""Measure what an attacker learns from score files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from zeroevidence.cli.declare import options_of, run_options, shared
from zeroevidence.cli.output import Gates, Output, output_options, print_written
from zeroevidence.cli.printing import echo
from zeroevidence.cli.score_files import RequiredInputs, ScoreInputs, copied_run, files_abreast
from zeroevidence.data.seals import SUFFIX, read_key, write_seal
from zeroevidence.errors import UsageError
from zeroevidence.evaluation import Evaluation, Options
from zeroevidence.evaluation.people import with_speaker_eer
from zeroevidence.evaluation.rows.curves import Criterion
from zeroevidence.evaluation.score_checks import C_FA, C_MISS, threshold
from zeroevidence.run import Run, setting

_CHALLENGE = (
    *("eer", "eer_rocch", "cllr_min", "cllr", "linkability", "d_ece", "worst_case", "tag"),
    *("deid", "voice_distinctiveness_gain", "wer", "uar", "pitch_correlation"),
)


@dataclass(frozen=True, slots=True)
class _Extras:
    """What is computed beside the usual rows."""

    prior: str | None = setting(None, "Lines of `identity probability` [default: equal probabilities].", metavar="FILE")
    fuse: bool = setting(False, "Add a row for an attacker who fuses all SCORES, with weights from --dev.")
    per_trial: str | None = setting(
        None, "Also write the disclosure of each trial, as .csv or .parquet.", metavar="FILE"
    )
    per_speaker: str | None = setting(
        None,
        "Also write the disclosure and the EER of each speaker, as .csv or .parquet; adds the mean of these EERs and "
        "tests whether speakers differ.",
        metavar="FILE",
    )
    threshold: Criterion | None = setting(
        None,
        "Also give a threshold with its error rates; alone, the one that is cheapest at --dcf-prior, --c-miss and "
        "--c-fa; eer or min-hter: as bob chooses it, on --dev where given.",
        optional="bayes",
    )
    c_miss: float = setting(C_MISS, "Cost of a miss.")
    c_fa: float = setting(C_FA, "Cost of a false alarm.")
    voiceprivacy: bool = setting(
        False, "As in the tables of the VoicePrivacy challenge: linkability by histograms, its measures, rows by sex."
    )
    seal: str | None = shared("--seal", "the private one: it seals the file of -f json -o FILE, in FILE.seal")


@click.command("evaluate")
@options_of(RequiredInputs, "inputs")
@options_of(Options, "options")
@run_options("level", "seed", "cores")
@options_of(_Extras, "extras")
@options_of(Gates, "gates", conditions="for example 'lid_max>1.0' or 'bound(d_ece)>0.5'")
@output_options("measures", "estimate", "signatures", "verbose", "explain")
def command(inputs: ScoreInputs, options: Options, run: Run, extras: _Extras, gates: Gates, output: Output) -> None:
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
    zeroevidence evaluate exp/ -f json -o result.json --seal private.pem
    zeroevidence evaluate exp/ --voiceprivacy
    zeroevidence evaluate exp_a/ exp_b/ -f latex --measure eer --measure alid --measure d_ece --measure wer
    """  # noqa: D301 (\b is a control character here)
    _reserve(extras, output)
    key = _sealing_key(extras.seal, output)
    if extras.voiceprivacy:
        if inputs.pool is not None:
            raise UsageError("--voiceprivacy has rows by sex; expected no --pool")
        options = replace(options, linkability="histogram")
    rows = _evaluate(inputs, options, extras, run)
    if extras.threshold is not None:
        costs: dict[str, Any] = {"prior": options.dcf_prior, "c_miss": extras.c_miss, "c_fa": extras.c_fa}
        costs["criterion"] = extras.threshold
        for place, row in enumerate(rows):
            if row.scores is not None:  # those of finished results are not kept
                rows[place] = replace(row, threshold=threshold(row, **costs, run=run))
    if extras.per_speaker is not None:
        rows = list(map(with_speaker_eer, rows))
    if extras.voiceprivacy and output.measures is None:
        output = replace(output, measures=tuple(name for name in _CHALLENGE if any(name in row for row in rows)))
    text = output.render(rows)
    _write_tables(rows, extras, output)
    output.emit(text)
    if key is not None:
        print_written(write_seal(Path(str(output.path)), text, key))
    gates.judge(rows)


def _reserve(extras: _Extras, output: Output) -> None:
    """Refuse tables that exist; without the results, which are written after them, an ended run may have left them."""
    try:
        output.reserve(extras.per_trial, extras.per_speaker)
    except UsageError as error:
        if output.path is None or Path(output.path).exists():
            raise
        left = f"{output.path}, which is written after it, is not there, so it may be left of a run that was ended"
        raise UsageError(f"{error}; {left}") from None


def _sealing_key(path: str | None, output: Output) -> Any:
    """Return the key that results are sealed with, None where they are not; read before any work."""
    if path is None:
        return None
    if output.path is None or output.format != "json":
        raise UsageError("--seal seals a file of results; expected -f json and -o FILE, too")
    output.reserve(f"{output.path}{SUFFIX}")
    return read_key(path, private=True)


def _write_tables(rows: list[Evaluation], extras: _Extras, output: Output) -> None:
    """Make both tables before either is written."""
    if extras.per_trial is None and extras.per_speaker is None:
        return
    from zeroevidence.report.people import differing_lines, speaker_table, trial_table, write_table

    tables = ((trial_table, extras.per_trial), (speaker_table, extras.per_speaker))
    for frame, path in [(table(rows), path) for table, path in tables if path is not None]:
        write_table(frame, path, overwrite=output.overwrite)
        print_written(path)
    if extras.per_speaker is not None:
        for line in differing_lines(rows):
            echo(line, err=True)


def _prepare_text() -> None:
    """Import what most results are printed with."""
    import zeroevidence.report.evaluations
    import zeroevidence.report.text  # noqa: F401


def _evaluate(inputs: ScoreInputs, options: Options, extras: _Extras, run: Run) -> list[Evaluation]:
    """Return the rows of score files, folders and finished results."""
    from zeroevidence.data.formats.lists import read_prior
    from zeroevidence.evaluation.finding.beside import flag_rows
    from zeroevidence.evaluation.score_files import by_sex, evaluate_files
    from zeroevidence.evaluation.utility import without_copies

    finished = inputs.finished_rows()
    if inputs.all_finished:
        return finished
    files = without_copies(inputs.files())
    if extras.voiceprivacy:
        files = by_sex(files)
    prior = None if extras.prior is None else read_prior(extras.prior)
    each, run = files_abreast(files, run), copied_run(files, run, _prepare_text)
    rows = evaluate_files(files, inputs.reading, options=options, run=run, prior=prior, each=each)
    if extras.fuse:
        from zeroevidence.attack.fusion import evaluate_fused

        rows.append(evaluate_fused(files, inputs.reading, options=options, run=run, prior=prior))
    return flag_rows([*rows, *inputs.utility(options, run), *finished])
