"""A result as a condition of a build: ``lid_max>1.0`` fails where that holds (``--fail-if`` on the command line).

A gate judges the value that was measured, or, as ``bound(d_ece)>0.55``, the limit for people like these.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isnan

from zeroevidence.errors import UsageError
from zeroevidence.evaluation.rows.evaluation import Evaluation
from zeroevidence.evaluation.rows.measure_result import MeasureResult
from zeroevidence.measure.measures import MEASURES

_OPERATORS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
_MEASURED = r"([a-z_0-9]+)|bound\(\s*([a-z_0-9]+)\s*\)"
_FORM = re.compile(rf"\s*(?:{_MEASURED})\s*(>=|<=|>|<)\s*([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)\s*")


@dataclass(frozen=True, slots=True)
class Gate:
    """A measure, or its bound, a comparison and a limit.

    Parameters
    ----------
    name
        The measure.
    comparison
        ``>``, ``<``, ``>=`` or ``<=``.
    limit
        What it is compared with.
    on_bound
        Whether the bound of the measure is compared, and not its value.

    Examples
    --------
    >>> from zeroevidence import Options, evaluate
    >>> result = evaluate([2.0, 3.0, 1.5], [0.0, 1.0, 1.7], options=Options(intervals=0, null=0))
    >>> Gate.parse("eer>0.25").failures([result])
    ['gate failed: eer = 0.333333 > 0.25']
    >>> Gate.parse("eer<0.1").failures([result])
    []
    """

    name: str
    comparison: str
    limit: float
    on_bound: bool = False

    @classmethod
    def parse(cls, text: str) -> Gate:
        """Read ``name>limit`` or ``bound(name)>limit`` (or <, >=, <=)."""
        match = _FORM.fullmatch(text)
        if match is None:
            raise UsageError(
                f"--fail-if {text!r}: expected a measure or its bound, a comparison and a number, as 'lid_max>1.0' or "
                "'bound(d_ece)>0.5'"
            )
        value_of, bound_of, comparison, number = match.groups()
        try:
            return cls(MEASURES.find(value_of or bound_of).name, comparison, float(number), bound_of is not None)
        except ValueError:
            raise UsageError(f"--fail-if {text!r}: {number!r} is not a number") from None

    @property
    def judged(self) -> str:
        """What is compared, as it was written."""
        return f"bound({self.name})" if self.on_bound else self.name

    def failures(self, rows: Sequence[Evaluation]) -> list[str]:
        """One line per row in which the condition holds, or whose numbers do not mean what they seem to.

        A row without the measure cannot pass unseen, nor can one with a fault, such as scores that point the wrong way.
        """
        lines = []
        for row in rows:
            name = row.labels.get("system", "")
            whose = f"{name}: " if name else ""
            number = self._number(row, name or "this result")
            if _OPERATORS[self.comparison](number, self.limit):
                lines.append(f"gate failed: {whose}{self.judged} = {number:.6g} {self.comparison} {self.limit:g}")
                continue
            faults = [flag.code for flag in row.flags if flag.severity == "fault"]
            if faults:
                lines.append(f"gate failed: {whose}{self.judged} cannot be judged because of {', '.join(faults)}")
        return lines

    def _number(self, row: Evaluation, whose: str) -> float:
        """The value or bound of a row; a row that lacks it is refused."""
        result = row.metrics.get(self.name)
        if result is None or result.value != result.value:
            raise UsageError(f"--fail-if: {whose} has no {self.name}")
        if result.number is None:
            raise UsageError(f"--fail-if: {self.name} is not a single number")
        if not self.on_bound:
            return result.number
        if result.bound is None or isnan(result.bound):
            raise UsageError(f"--fail-if: {whose} has no {self.judged}: {_why_unbounded(row, self.name, result)}")
        return result.bound


def _why_unbounded(row: Evaluation, name: str, result: MeasureResult) -> str:
    """Why a measure of a row has no bound."""
    if MEASURES[name].discloses == "none":
        return "the measure has no side on which an attacker learns more"
    if MEASURES[name].interval == "extreme":
        return "the measure is a maximum, which has no limit for other people"
    few = next((flag for flag in row.flags if flag.code == "no-intervals"), None)
    if few is not None:
        return few.sentence.rstrip(".")
    if row.setup.intervals is None:
        return "it was computed without intervals; expected --intervals of at least 2"
    return "its interval has no bound" if result.low is not None else "this measure has no interval here"
