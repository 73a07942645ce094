"""``zeroevidence tandem``: what a verifier behind a countermeasure costs."""

from __future__ import annotations

import sys

import click

from zeroevidence.cli.inputs import distinct_names
from zeroevidence.cli.output import emit, output_options, refuse_existing
from zeroevidence.errors import InputError

_FORMATS = ("auto", "2019", "2021", "asvspoof5", "adcf")
_PRESETS = ("2019", "2021", "asvspoof5", "adcf", "adcf-paper")


@click.command("tandem")
@click.option("--cm", metavar="FILE", help="Scores of the countermeasure.")
@click.option("--asv", metavar="FILE", help="Scores of the verifier behind it.")
@click.option("--sasv", metavar="FILE", help="Scores of a single spoofing-robust verifier.")
@click.option("--key", metavar="FILE", help="Labels of the countermeasure's utterances; one of ASVspoof 5 serves all.")
@click.option("--asv-key", metavar="FILE", help="Labels of the verifier's trials, or the protocol of its 2019 scores.")
@click.option(
    "--preset", type=click.Choice(_PRESETS), default="2021", show_default=True, help="Costs, priors and conventions."
)
@click.option("--by", type=click.Choice(["attack"]), help="A row for each attack below the one for all.")
@click.option(
    "--intervals",
    type=click.IntRange(0),
    default=200,
    show_default=True,
    help="Bootstrap replicates for the 95 % intervals; 0 switches them off.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of all random choices.")
@click.option(
    "--phase",
    type=click.Choice(["eval", "progress", "hidden", "all"]),
    default="eval",
    show_default=True,
    help="Which part of a 2021 key to evaluate.",
)
@click.option(
    "--format",
    "file_format",
    type=click.Choice(_FORMATS),
    default="auto",
    show_default=True,
    help="Format of the score files.",
)
@click.option(
    "--duplicates",
    type=click.Choice(["error", "keep-last", "keep-all"]),
    default="error",
    show_default=True,
    help="What to do with a trial that is scored twice.",
)
@click.option("--allow-missing", is_flag=True, help="Evaluate the trials that scores and key have in common.")
@click.option("--system", metavar="NAME", help="Name of the system; the name of its score file unless given.")
@click.option("--check", is_flag=True, help="Only list every problem of the files as `file:line: reason`.")
@click.option("--fail-if", "gates", multiple=True, metavar="CONDITION", help="Exit with 1 if it holds: 'tdcf_min>0.1'.")
@output_options
def command(
    cm: str | None,
    asv: str | None,
    sasv: str | None,
    key: str | None,
    asv_key: str | None,
    preset: str,
    by: str | None,
    intervals: int,
    seed: int,
    phase: str,
    file_format: str,
    duplicates: str,
    allow_missing: bool,
    system: str | None,
    check: bool,
    gates: tuple[str, ...],
    output_format: str,
    output: str | None,
    overwrite: bool,
) -> None:
    """Measure a verifier behind a countermeasure: t-DCF, t-EER and, for a single system, a-DCF.

    Reads the score files, keys and protocols of ASVspoof 2019, 2021 and 5; - is standard input. Without --asv the
    countermeasure is measured alone. Intervals resample speakers where they are known (a 2019 protocol, a 2021 key,
    the spk column of ASVspoof 5) and trials otherwise; the signature and the flags say which.

    \b
    zeroevidence tandem --cm scores.txt --asv asv.scores.txt --asv-key asv.protocol.txt --preset 2019 --by attack
    zeroevidence tandem --cm scores.txt --key cm_trial_metadata.txt --asv asv.txt --asv-key asv_trial_metadata.txt
    zeroevidence tandem --cm sasv.tsv --key key.tsv --preset asvspoof5
    zeroevidence tandem --sasv scores.txt --preset adcf
    """  # noqa: D301 (the mark that keeps lines apart is a control character, not two letters)
    from zeroevidence.cli.gate import Gate
    from zeroevidence.data.formats.asvspoof import diagnose_tandem, read_tandem
    from zeroevidence.evaluation.tandem import evaluate_tandem
    from zeroevidence.report import render

    refuse_existing(output, overwrite)
    conditions = [Gate.parse(text) for text in gates]
    files = {"sasv": sasv, "key": key, "asv_key": asv_key}
    how = {"format": file_format, "duplicates": duplicates, "allow_missing": allow_missing, "phase": phase}
    if check:
        problems = diagnose_tandem(cm, asv, **files, **how)  # type: ignore[arg-type]
        for problem in problems:
            click.echo(str(problem))
        if problems:
            sys.exit(InputError.exit_code)
        click.echo("ok")
        return
    loaded = read_tandem(cm, asv, **files, **how)  # type: ignore[arg-type]
    labels = {"system": system or distinct_names([cm or sasv or "-"])[0]}
    if loaded.phase is not None:
        labels["split"] = loaded.phase
    notes = [*loaded.loosened, *([] if loaded.phase is None else [f"phase:{loaded.phase}"])]
    rows = evaluate_tandem(
        loaded.data,
        model=preset,
        by_attack=by == "attack",
        intervals=intervals,
        seed=seed,
        labels=labels,
        notes=notes,
    )
    emit(render(rows, output_format), output)
    failures = [line for gate in conditions for line in gate.failures(rows)]
    for line in failures:
        click.echo(line, err=True)
    if failures:
        sys.exit(1)
