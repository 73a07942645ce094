"""The option --fail-if: results decide the exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from zeroevidence.cli.options import shared
from zeroevidence.cli.options.declare import Decorator, option_group
from zeroevidence.cli.printing import echo
from zeroevidence.evaluation import Evaluation
from zeroevidence.evaluation.finding.gate import Gate


@dataclass(frozen=True, slots=True)
class Gates:
    """Conditions under which a command fails."""

    conditions: tuple[Gate, ...]

    def judge(self, rows: Sequence[Evaluation]) -> None:
        """Print the conditions that hold, and exit with 1 if any does."""
        failures = [line for gate in self.conditions for line in gate.failures(rows)]
        for line in failures:
            echo(line, err=True)
        if failures:
            sys.exit(1)


def gate_option(*examples: str) -> Decorator:
    """Return the option --fail-if, passed on as `gates`."""
    return option_group(
        "gates",
        lambda conditions: Gates(tuple(Gate.parse(text) for text in conditions)),
        shared.fail_if(f"for example {' or '.join(map(repr, examples))}", name="conditions"),
    )
