"""Measure a countermeasure and a speaker verifier together, or either alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from zeroevidence.cli.declare import options_of, run_options
from zeroevidence.cli.options import shared
from zeroevidence.cli.options.cost_model import cost_options
from zeroevidence.cli.options.gates import Gates, gate_option
from zeroevidence.cli.options.output import Output, table_options
from zeroevidence.cli.options.tandem_files import TandemInputs, tandem_inputs
from zeroevidence.data.files import naming_file
from zeroevidence.evaluation import Options
from zeroevidence.run import Run

if TYPE_CHECKING:
    from zeroevidence.measure.tandem.cost import CostModel


@click.command("evaluate")
@tandem_inputs
@cost_options
@options_of(Options, "options", "intervals", fixed={"null": 0})
@run_options("level", "seed")
@shared.system("the name of the score file unless given")
@gate_option("tdcf_min>0.1")
@table_options
def command(
    inputs: TandemInputs,
    cost_model: CostModel | str,
    options: Options,
    run: Run,
    system: str | None,
    gates: Gates,
    output: Output,
) -> None:
    """Measure a speaker verifier behind a countermeasure (t-DCF, t-EER), or a single spoofing-robust verifier (a-DCF).

    Reads the score files, keys and protocols of ASVspoof 2019, 2021 and 5; - is standard input. Without --asv the
    countermeasure is measured alone. Intervals leave out speakers where they are known (a protocol of 2019, a key of
    2021, the spk column of ASVspoof 5) and trials otherwise; the signature and the flags say which.

    \b
    zeroevidence tandem evaluate --cm scores.txt --asv asv.txt --asv-key protocol.txt --preset 2019 --by attack
    zeroevidence tandem evaluate --cm cm.txt --key cm_trial_metadata.txt --asv asv.txt --asv-key asv_trial_metadata.txt
    zeroevidence tandem evaluate --cm sasv.tsv --key key.tsv --preset asvspoof5
    zeroevidence tandem evaluate --sasv scores.txt --preset adcf
    """  # noqa: D301 (\b is a control character here)
    from zeroevidence.evaluation.tandem import evaluate_conditions

    loaded = inputs.read()
    with naming_file(inputs.scores):
        rows = evaluate_conditions(
            loaded,
            inputs.by,
            model=cost_model,
            intervals=options.intervals,
            run=run,
            labels={"system": system or inputs.name, **({} if loaded.phase is None else {"split": loaded.phase})},
        )
    output.emit(output.render(rows))
    gates.judge(rows)
