"""Evaluate a speaker verifier behind a spoofing countermeasure: t-DCF, t-EER, a-DCF."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import get_args

import click

from zeroevidence.cli.declare import options_of, run_options, shared, shared_option
from zeroevidence.cli.output import Gates, Output, output_options
from zeroevidence.cli.printing import exit_if_problems, print_problems
from zeroevidence.data.files import naming_file
from zeroevidence.data.formats.asvspoof import TANDEM_FORMATS, diagnose_tandem, read_tandem
from zeroevidence.data.formats.asvspoof_sides import TandemFiles
from zeroevidence.data.formats.scores.score_format import Duplicates
from zeroevidence.errors import InputError, UsageError
from zeroevidence.evaluation import Options
from zeroevidence.evaluation.score_files import distinct_names
from zeroevidence.evaluation.tandem import evaluate_tandem
from zeroevidence.measure.tandem.cost import PRESETS, CostModel
from zeroevidence.run import Run, setting

_FILES = ("cm", "asv", "sasv", "key", "asv_key", "phase", "by", "negated")
_inputs = options_of(
    TandemFiles,
    "files",
    *(*_FILES, "format", "duplicates", "allow_missing", "llr"),
    format={"type": click.Choice(TANDEM_FORMATS)},
    duplicates={"type": click.Choice(get_args(Duplicates))},
)


@click.group("tandem")
def command() -> None:
    """Evaluate a speaker verifier behind a spoofing countermeasure, from the files of ASVspoof 2019, 2021 and 5.

    \b
    zeroevidence tandem check --cm scores.txt --key cm_trial_metadata.txt
    zeroevidence tandem evaluate --cm scores.txt --key cm_trial_metadata.txt
    """  # noqa: D301 (\b is a control character here)


@dataclass(frozen=True, slots=True)
class _Costs:
    """Priors, costs and thresholds in place of those of a preset."""

    pi_tar: float | None = setting(None, "Prior of a target; the three priors sum to 1.", metavar="VALUE")
    pi_non: float | None = setting(None, "Prior of another speaker.", metavar="VALUE")
    pi_spoof: float | None = setting(None, "Prior of a spoof.", metavar="VALUE")
    c_miss: float | None = setting(None, "Cost of a miss.", metavar="VALUE")
    c_fa: float | None = setting(None, "Cost of a false alarm.", metavar="VALUE")
    c_fa_spoof: float | None = setting(None, "Cost of accepting a spoof.", metavar="VALUE")
    asv_threshold: float | None = setting(
        None, "Threshold of the verifier [default: at its equal error rate].", metavar="VALUE"
    )
    cm_threshold: float | None = setting(
        None, "Threshold of the countermeasure, for the actual t-DCF.", metavar="VALUE"
    )

    def change(self, preset: str) -> CostModel | str:
        """Return a preset, with some of its numbers replaced."""
        changes = {name: value for name, value in asdict(self).items() if value is not None}
        if not changes:
            return preset
        try:
            return replace(CostModel.preset(preset), **changes)
        except InputError as error:
            raise UsageError(str(error)) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tandem:
    """The system, and what its decisions cost."""

    preset: str = setting("2021", "Costs, priors and conventions.", choices=tuple(PRESETS))
    costs: _Costs
    system: str | None = shared("--system", "the name of the score file unless given")


def _name(files: TandemFiles) -> str:
    """Return the name of the system, after its score file."""
    return distinct_names([str(files.cm or files.sasv or "-")])[0]


def _read_files(files: TandemFiles) -> TandemFiles:
    """Return what is read: attacks are told apart without a column that divides the trials."""
    return replace(files, by=None) if files.by == "attack" else files


@command.command("evaluate", short_help="Measure a countermeasure and a speaker verifier together, or either alone.")
@_inputs
@options_of(_Tandem, "tandem")
@options_of(Options, "options", "intervals", fixed={"null": 0})
@run_options("level", "seed")
@options_of(Gates, "gates", conditions="for example 'tdcf_min>0.1'")
@output_options("measures", "signatures", "verbose", "explain")
def evaluate(files: TandemFiles, tandem: _Tandem, options: Options, run: Run, gates: Gates, output: Output) -> None:
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
    model = tandem.costs.change(tandem.preset)
    loaded = read_tandem(_read_files(files))
    labels = {"system": tandem.system or _name(files), **({} if loaded.phase is None else {"split": loaded.phase})}
    with naming_file(" and ".join(str(side) for side in (files.cm, files.asv, files.sasv) if side)):
        rows = evaluate_tandem(loaded, files.by, model=model, intervals=options.intervals, run=run, labels=labels)
    output.emit(output.render(rows))
    gates.judge(rows)


@command.command("check", short_help="List the problems of the files of a tandem, with file and line.")
@_inputs
@shared_option("--limit", int)
def check(files: TandemFiles, limit: int) -> None:
    """List every problem of the files as `file:line: reason`, and evaluate nothing.

    Takes the same files as `tandem evaluate`. Exits with 3 if there is a problem, with 0 if there is none.
    """
    exit_if_problems(print_problems(diagnose_tandem(_read_files(files)), limit, _name(files)))
