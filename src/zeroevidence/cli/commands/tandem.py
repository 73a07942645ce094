"""``zeroevidence tandem``: what a verifier behind a countermeasure costs."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

import click

from zeroevidence.cli.options.cost_model import policy_options
from zeroevidence.cli.options.declare import grouped, setting
from zeroevidence.cli.options.gates import gate_option
from zeroevidence.cli.options.output import table_options
from zeroevidence.data.formats.asvspoof.layout import TANDEM_FORMATS, Phase, Side
from zeroevidence.data.formats.asvspoof.read import LoadedTandem, diagnose_tandem, read_tandem
from zeroevidence.errors import InputError
from zeroevidence.evaluation.reading.score_files import distinct_names
from zeroevidence.evaluation.tandem.evaluate import evaluate_tandem

if TYPE_CHECKING:
    from zeroevidence.cli.options.gates import Gates
    from zeroevidence.cli.options.output import Output
    from zeroevidence.errors import Problem
    from zeroevidence.measure.tandem.cost import CostModel


_SCALE = ("negate", "llr_base")  # what is done with scores that were read


@dataclass(frozen=True, slots=True)
class TandemInputs:
    """What to read, and how: the arguments of `read_tandem`."""

    arguments: dict[str, Any]

    @property
    def name(self) -> str:
        """The system, by the name of its score file."""
        return distinct_names([self.arguments["cm"] or self.arguments["sasv"] or "-"])[0]

    def read(self) -> LoadedTandem:
        """The scores."""
        return read_tandem(**self.arguments)

    def problems(self) -> list[Problem]:
        """Everything that is wrong with the files."""
        return diagnose_tandem(**{name: one for name, one in self.arguments.items() if name not in _SCALE})


tandem_inputs = grouped(
    "inputs",
    lambda **arguments: TandemInputs(arguments),
    click.option("--cm", metavar="FILE", help="Scores of the countermeasure."),
    click.option("--asv", metavar="FILE", help="Scores of the verifier behind it."),
    click.option("--sasv", metavar="FILE", help="Scores of a single spoofing-robust verifier."),
    click.option(
        "--key", metavar="FILE", help="Labels of the countermeasure's utterances; an ASVspoof 5 key serves all sides."
    ),
    click.option(
        "--asv-key", metavar="FILE", help="Labels of the verifier's trials, or the protocol of its 2019 scores."
    ),
    setting(read_tandem, "phase", choices=get_args(Phase), help="Which part of a 2021 key to evaluate."),
    setting(read_tandem, "format", choices=TANDEM_FORMATS, help="Format of the score files."),
    setting(read_tandem, "duplicates", help="What to do with a trial that is scored twice."),
    setting(read_tandem, "allow_missing", help="Evaluate the trials that scores and key have in common."),
    click.option(
        "--negate",
        multiple=True,
        type=click.Choice(get_args(Side)),
        help="Negate the scores of this side: higher ones speak against acceptance.",
    ),
    setting(read_tandem, "llr_base", help="Base of the logarithm, for scores that are log-likelihood ratios."),
)


@click.command("tandem")
@tandem_inputs
@policy_options
@click.option(
    "--by",
    metavar="COLUMN",
    help="Add a row for each attack, codec or other value of a column of the key, below the row for all.",
)
@setting(
    evaluate_tandem,
    "intervals",
    type=click.IntRange(0),
    help="Groups of speakers that are left out in turn for the 95 % intervals, at most; 0 for none.",
)
@setting(evaluate_tandem, "seed", type=click.IntRange(0), help="Seed of all random choices.")
@click.option("--system", metavar="NAME", help="Name of the system; the name of its score file unless given.")
@click.option("--check", is_flag=True, help="Only list every problem of the files as `file:line: reason`.")
@gate_option("tdcf_min>0.1")
@table_options
def command(
    inputs: TandemInputs,
    policy: CostModel | str,
    by: str | None,
    intervals: int,
    seed: int,
    system: str | None,
    check: bool,
    gates: Gates,
    output: Output,
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
    from zeroevidence.evaluation.tandem.conditions import evaluate_conditions

    if by not in (None, "attack"):
        inputs = TandemInputs({**inputs.arguments, "by": by})
    if check:
        _list_problems(inputs)
        return
    loaded = inputs.read()
    rows = evaluate_conditions(
        loaded,
        by,
        model=policy,
        intervals=intervals,
        seed=seed,
        labels={"system": system or inputs.name, **({} if loaded.phase is None else {"split": loaded.phase})},
    )
    output.emit(output.rendered(rows))
    gates.judge(rows)


def _list_problems(inputs: TandemInputs) -> None:
    problems = inputs.problems()
    for problem in problems:
        click.echo(str(problem))
    if problems:
        sys.exit(InputError.exit_code)
    click.echo("ok")
