"""Plan a recording: how many people it takes, and how wide intervals will be."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, fields

import click
from click.core import ParameterSource

from zeroevidence.cli.declare import options_of, run_options
from zeroevidence.cli.output import Output, output_options
from zeroevidence.data.files import naming_file
from zeroevidence.errors import UsageError
from zeroevidence.evaluation.plan import PlanOptions, plan, plan_from_pilot, strongest_attack
from zeroevidence.measure.measures import MEASURES
from zeroevidence.run import Run, setting


def _parse_value(option: str, text: str) -> tuple[str, float]:
    """Return measure and value of ``measure=value``."""
    name, equals, value = text.rpartition("=")
    if equals and name:
        measure = MEASURES.find(name.strip()).name
        with suppress(ValueError):
            return measure, float(value)
    raise UsageError(f"{option} {text!r}: expected a measure and a number, as d_ece=0.1")


@dataclass(frozen=True, slots=True)
class _Question:
    """How many people there are, what is assumed, and what is to be shown."""

    people: int | None = setting(None, "Number of people to be recorded [default: 30, or those of the pilot].")
    leak: str | None = setting(
        None, "True value to assume: 0.2 is a D_ECE, eer=0.25 names another measure.", metavar="[MEASURE=]NUMBER"
    )
    pilot: str | None = setting(None, "Result of `evaluate`, `audit` or `link` to extrapolate from.", metavar="RESULT")
    at_most: tuple[str, ...] = setting(
        (),
        "Upper bound to be shown at the confidence --level, as d_ece=0.1; computes how many people that takes.",
        spelling="--show-at-most",
        metavar="MEASURE=NUMBER",
    )
    at_least: tuple[str, ...] = setting(
        (),
        "Lower bound to be shown, for measures that fall with what attackers learn, as eer=0.3.",
        spelling="--show-at-least",
        metavar="MEASURE=NUMBER",
    )
    power: float = setting(0.8, "Probability with which the bound is to be shown.")

    @property
    def bounds(self) -> dict[str, float]:
        """The bounds to be shown; each option is for measures of one direction."""
        bounds = {}
        for option, other, texts, direction in (
            ("--show-at-most", "--show-at-least", self.at_most, "up"),
            ("--show-at-least", "--show-at-most", self.at_least, "down"),
        ):
            for text in texts:
                name, bound = _parse_value(option, text)
                discloses = MEASURES.find(name).discloses
                if discloses not in (direction, "none"):
                    verb = "falls" if discloses == "down" else "rises"
                    reason = f"{name} {verb} with what attackers learn; expected {other} {text}"
                    raise UsageError(f"{option} {text}: {reason}")
                bounds[name] = bound
        return bounds


@click.command("plan")
@options_of(_Question, "question")
@options_of(PlanOptions, "simulation")
@run_options("level", "seed", "cores", "verbose")
@output_options()
def command(question: _Question, simulation: PlanOptions, run: Run, output: Output) -> None:
    """Predict how wide the intervals of a planned recording will be, what it will find, and how many people it takes.

    With --leak, data of known truth are simulated and evaluated as real data are. With --pilot, the strongest attack of
    a finished result is extrapolated to more people.

    \b
    zeroevidence plan --people 30 --utterances 10 --leak 0.2
    zeroevidence plan --leak 0.03 --show-at-most d_ece=0.1
    zeroevidence plan --pilot result.json --people 100 --show-at-least eer=0.3
    """  # noqa: D301 (\b is a control character here)
    from zeroevidence.evaluation.results import read_results
    from zeroevidence.report.plans import render_plan

    pilot, leak, power, show = question.pilot, question.leak, question.power, question.bounds
    if (pilot is None) == (leak is None):
        raise UsageError("expected either a true value, as --leak 0.2, or a --pilot")
    if pilot is not None:
        for name in (*(field.name for field in fields(simulation)), "level", "seed"):
            if click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE:
                raise UsageError(f"--{name} is for simulations; with a --pilot nothing is simulated")
        with naming_file(pilot):
            planned = plan_from_pilot(strongest_attack(read_results(pilot)), question.people, show=show, power=power)
        return output.emit(render_plan(planned, output.format))
    measure, value = _parse_value("--leak", str(leak) if "=" in str(leak) else f"d_ece={leak}")
    people = {} if question.people is None else {"people": question.people}
    planned = plan(measure=measure, leak=value, **people, show=show, power=power, options=simulation, run=run)
    return output.emit(render_plan(planned, output.format))
