"""``zeroevidence evaluate``: score files in, evidence out."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from zeroevidence.cli.inputs import Reading, input_options, paired, resolve, system_options, trust_options
from zeroevidence.cli.output import emit, emit_table, output_options, progress_of, refuse_existing

if TYPE_CHECKING:
    from zeroevidence.cli.gate import Gate
    from zeroevidence.evaluation import Evaluation


@click.command("evaluate")
@input_options
@system_options
@click.option(
    "--calibration",
    type=click.Choice(["logistic", "temperature", "pav", "density", "auto"]),
    default="logistic",
    show_default=True,
    help="Calibration of the search.",
)
@click.option(
    "--ddof", type=click.IntRange(0, 1), default=0, show_default=True, help="Row deviation: 0 population, 1 sample."
)
@click.option("--l2", type=click.FloatRange(0.0), default=0.0, show_default=True, help="Penalty of the logistic fit.")
@click.option("--balanced", is_flag=True, help="Weigh mated and other pairs alike in the logistic fit.")
@click.option("--prior", metavar="FILE", help="Lines of `identity probability`; uniform unless given.")
@click.option(
    "--linkability",
    type=click.Choice(["density", "pav", "histogram"]),
    default="density",
    show_default=True,
    help="Estimator of linkability.",
)
@click.option(
    "--dcf-prior",
    type=click.FloatRange(0.0, 1.0, min_open=True, max_open=True),
    default=0.05,
    show_default=True,
    help="Prior of a target for the detection costs.",
)
@trust_options
@click.option(
    "--null", type=click.IntRange(0), default=200, show_default=True, help="Permutations of the null; 0 for none."
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of all random choices.")
@click.option("--per-trial", metavar="FILE", help="Also write each trial's disclosure, as .csv or .parquet.")
@click.option("--per-speaker", metavar="FILE", help="Also write each speaker's, the most exposed first.")
@click.option("--fail-if", "gates", multiple=True, metavar="CONDITION", help="Exit with 1 if it holds: 'lid_max>1.0'.")
@output_options
def command(
    scores: tuple[str, ...],
    keys: tuple[str, ...],
    speakers: str | None,
    file_format: str,
    duplicates: str,
    allow_missing: bool,
    names: tuple[str, ...],
    dev_scores: tuple[str, ...],
    dev_keys: tuple[str, ...],
    calibration: str,
    ddof: int,
    l2: float,
    balanced: bool,
    prior: str | None,
    linkability: str,
    dcf_prior: float,
    intervals: int,
    interval_method: str,
    null: int,
    workers: int,
    seed: int,
    per_trial: str | None,
    per_speaker: str | None,
    gates: tuple[str, ...],
    output_format: str,
    output: str | None,
    overwrite: bool,
) -> None:
    """Measure what an attacker learns from scores, one comparison at a time and by search.

    SCORES are score files (Kaldi, VoxCeleb, CSV, TSV, Parquet, .npz, ...), result folders of a VoicePrivacy
    challenge, or - for standard input. A file that carries its own labels needs no --key. Where each trial was
    compared with every enrolment, the search through them is measured too. Results that are finished (a JSON file, or a
    folder that `link` or `audit` wrote) are shown again in the format asked for.

    \b
    zeroevidence evaluate scores.txt --key trials
    zeroevidence evaluate f.scores --key trials_f --dev m.scores --dev-key trials_m
    zeroevidence evaluate a.scores b.scores --key trials -f md
    zeroevidence evaluate exp/ -f json -o result.json
    """  # noqa: D301 (the mark that keeps lines apart is a control character, not two letters)
    from zeroevidence.cli.gate import Gate
    from zeroevidence.data.formats import read_prior
    from zeroevidence.data.formats.linked import is_result
    from zeroevidence.data.matrix import ScoreMatrix
    from zeroevidence.data.scores import Scores
    from zeroevidence.evaluation import Options, add_similarity, cross_flags, evaluate
    from zeroevidence.report import render

    for path in (output, per_trial, per_speaker):
        refuse_existing(path, overwrite)
    conditions = [Gate.parse(text) for text in gates]
    options = Options(
        linkability=linkability,  # type: ignore[arg-type]
        dcf_prior=dcf_prior,
        calibration=calibration,  # type: ignore[arg-type]
        ddof=ddof,
        l2=l2,
        balanced=balanced,
        intervals=intervals,
        interval_method=interval_method,  # type: ignore[arg-type]
        null=null,
        seed=seed,
    )
    if all(is_result(path) for path in scores):
        # Finished results are shown again, in any format, without computing anything.
        finished = [row for path in scores for row in _finished(path)]
        emit(render(finished, output_format), output)
        _judge(conditions, finished)
        return
    sources = resolve(scores, keys, speakers, names)
    dev_sources = paired(resolve(dev_scores, dev_keys, None), sources, "--dev") if dev_scores else None
    identity_prior = None if prior is None else read_prior(prior)

    read = Reading(file_format, duplicates, allow_missing).read

    def evaluated(index: int) -> tuple[Evaluation, Scores]:
        loaded = read(sources[index])
        result = evaluate(
            loaded.data,
            dev=None if dev_sources is None else read(dev_sources[index]).data,
            prior=identity_prior,
            labels=sources[index].labels,
            options=options,
            notes=loaded.loosened,
            workers=workers,
            progress=progress_of(f"{index + 1}/{len(sources)}"),
        )
        return result, loaded.data.to_scores() if isinstance(loaded.data, ScoreMatrix) else loaded.data

    rows = cross_flags(add_similarity([evaluated(index) for index in range(len(sources))]))
    text = render(rows, output_format)
    if per_trial or per_speaker:
        from zeroevidence.report.trialtable import speaker_table, trial_table

        tables = [
            (table(rows), path) for table, path in ((trial_table, per_trial), (speaker_table, per_speaker)) if path
        ]
        for frame, path in tables:
            emit_table(frame, path)
    emit(text, output)
    _judge(conditions, rows)


def _finished(path: str) -> list[Evaluation]:
    from zeroevidence.data.formats.linked import result_text
    from zeroevidence.report.jsonfile import from_json

    name, text = result_text(path)
    return from_json(text, path=name)


def _judge(conditions: Sequence[Gate], rows: Sequence[Evaluation]) -> None:
    failures = [line for gate in conditions for line in gate.failures(rows)]
    for line in failures:
        click.echo(line, err=True)
    if failures:
        sys.exit(1)
