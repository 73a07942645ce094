"""Options that say which files of a tandem to read, and how."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, get_args

import click

from zeroevidence.cli.options import shared
from zeroevidence.cli.options.declare import derived_option, option_group
from zeroevidence.cli.score_files import llr_base_option, reading_options
from zeroevidence.data.formats.asvspoof import TANDEM_FORMATS, LoadedTandem, Phase, diagnose_tandem, read_tandem
from zeroevidence.data.formats.asvspoof_sides import Side
from zeroevidence.errors import Problem
from zeroevidence.evaluation.score_files import distinct_names


@dataclass(frozen=True, slots=True)
class TandemInputs:
    """What to read, and how.

    Parameters
    ----------
    arguments
        Arguments of `read_tandem`.
    by
        Column of the key that has a row of results for each of its values, None for none.
    """

    arguments: dict[str, Any]
    by: str | None = None

    @property
    def name(self) -> str:
        """Name of the system, after its score file."""
        return distinct_names([self.arguments["cm"] or self.arguments["sasv"] or "-"])[0]

    @property
    def scores(self) -> str:
        """Names of the score files, for messages."""
        return " and ".join(filter(None, (self.arguments[side] for side in ("cm", "asv", "sasv"))))

    def read(self) -> LoadedTandem:
        """Return the scores."""
        return read_tandem(**self.arguments)

    def problems(self) -> list[Problem]:
        """Return everything that is wrong with the files."""
        scale = ("negate", "llr_base")  # applied to scores that were read
        return diagnose_tandem(**{name: value for name, value in self.arguments.items() if name not in scale})


def _tandem_inputs(input_format: str, negate_side: tuple[Side, ...], by: str | None, **files: Any) -> TandemInputs:
    column = {} if by in (None, "attack") else {"by": by}
    return TandemInputs({**files, "format": input_format, "negate": negate_side, **column}, by)


tandem_inputs = option_group(
    "inputs",
    _tandem_inputs,
    click.option("--cm", metavar="FILE", help="Scores of the countermeasure."),
    click.option("--asv", metavar="FILE", help="Scores of the speaker verifier behind it."),
    click.option("--sasv", metavar="FILE", help="Scores of a single spoofing-robust verifier."),
    shared.key("of the countermeasure, and with ASVspoof 5 of all scores"),
    click.option(
        "--asv-key", metavar="FILE", help="Labels of the verifier's trials, or the protocol of its scores of 2019."
    ),
    derived_option(read_tandem, "phase", choices=get_args(Phase), help="Part of a key of 2021 to evaluate."),
    click.option(
        "--by",
        metavar="COLUMN",
        help="Column of the key, such as attack or codec: add a row for each of its values, below the row for all.",
    ),
    *reading_options(read_tandem, "format", TANDEM_FORMATS),
    click.option(
        "--negate-side",
        multiple=True,
        type=click.Choice(get_args(Side)),
        help="Negate these scores, where lower scores support acceptance; may be repeated.",
    ),
    llr_base_option(read_tandem),
)
