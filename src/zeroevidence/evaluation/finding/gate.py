"""A result as a condition of a build: ``lid_max>1.0`` fails where that holds (``--fail-if`` on the command line)."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from zeroevidence.errors import UsageError
from zeroevidence.evaluation.rows.evaluation import Evaluation
from zeroevidence.measure.measures import MEASURES

_OPERATORS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
_FORM = re.compile(r"\s*([a-z_0-9]+)\s*(>=|<=|>|<)\s*([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)\s*")


_TURNED = "eer-above-half"
_EERS = ("eer", "asv_eer", "sv_eer", "cm_eer")


@dataclass(frozen=True, slots=True)
class Gate:
    """A measure, a comparison and a limit.

    Examples
    --------
    >>> from zeroevidence import evaluate
    >>> result = evaluate([2.0, 3.0, 1.5], [0.0, 1.0, 1.7], intervals=0, null=0)
    >>> Gate.parse("eer>0.25").failures([result])
    ['gate failed: eer = 0.333333 > 0.25']
    >>> Gate.parse("eer<0.1").failures([result])
    []
    """

    name: str
    comparison: str
    limit: float

    @classmethod
    def parse(cls, text: str) -> Gate:
        """Read ``name>limit`` (or <, >=, <=)."""
        match = _FORM.fullmatch(text)
        if match is None:
            raise UsageError(f"--fail-if {text!r}: expected a measure, a comparison and a number, as 'lid_max>1.0'")
        MEASURES.find(match[1])
        try:
            return cls(match[1], match[2], float(match[3]))
        except ValueError:
            raise UsageError(f"--fail-if {text!r}: {match[3]!r} is not a number") from None

    def failures(self, rows: Sequence[Evaluation]) -> list[str]:
        """One line per row in which the condition holds, or whose numbers do not mean what they seem to.

        A row without the measure cannot pass unseen, nor can one with a fault, such as scores that point the wrong way.
        """
        lines = []
        for row in rows:
            name = row.labels.get("system", "")
            whose = f"{name}: " if name else ""
            metric = row.metrics.get(self.name)
            if metric is None or metric.value != metric.value:
                raise UsageError(f"--fail-if: {name or 'this result'} has no {self.name}")
            if not isinstance(metric.value, (int, float)):
                raise UsageError(f"--fail-if: {self.name} is not a single number")
            if _OPERATORS[self.comparison](metric.value, self.limit):
                lines.append(f"gate failed: {whose}{self.name} = {metric.value:.6g} {self.comparison} {self.limit:g}")
                continue
            faults = [code for code in _faults(row) if code != _TURNED or not _may_be_half(row)]
            if faults:
                lines.append(f"gate failed: {whose}{self.name} cannot be judged because of {', '.join(faults)}")
        return lines


def _faults(row: Evaluation) -> list[str]:
    return [flag.code for flag in row.flags if flag.severity == "fault"]


def _may_be_half(row: Evaluation) -> bool:
    """Whether every EER above one half has an interval that one half lies in, as where nothing is given away."""
    above = [result for name, result in row.metrics.items() if name in _EERS and (result.number or 0.0) > 0.5]
    return all(result.low is not None and result.low <= 0.5 for result in above)
