"""Plan a recording: how many people it takes, and how wide intervals will be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from zeroevidence.cli.options import shared
from zeroevidence.cli.options.declare import derived_option, option_group
from zeroevidence.cli.options.output import Output, output_to
from zeroevidence.cli.printing import terminal_progress
from zeroevidence.data.files import naming_file
from zeroevidence.errors import UsageError
from zeroevidence.evaluation.plan import plan, plan_from_pilot, strongest_attack
from zeroevidence.measure.measures import MEASURES
from zeroevidence.uncertainty.level import LEVEL

if TYPE_CHECKING:
    from zeroevidence.evaluation import Evaluation


def _parse_value(option: str, text: str) -> tuple[str, float]:
    """Return measure and value of ``measure=value``."""
    name, equals, value = text.rpartition("=")
    try:
        if equals and name:
            return MEASURES.find(name.strip()).name, float(value)
    except ValueError:
        pass
    raise UsageError(f"{option} {text!r}: expected a measure and a number, as d_ece=0.1")


def _parse_bounds(at_most: tuple[str, ...], at_least: tuple[str, ...]) -> dict[str, float]:
    """Return the bounds to be shown; each option is for measures of one direction."""
    bounds = {}
    for option, other, texts, direction in (
        ("--show-at-most", "--show-at-least", at_most, "up"),
        ("--show-at-least", "--show-at-most", at_least, "down"),
    ):
        for text in texts:
            name, bound = _parse_value(option, text)
            discloses = MEASURES.find(name).discloses
            if discloses not in (direction, "none"):
                verb = "falls" if discloses == "down" else "rises"
                raise UsageError(f"{option} {text}: {name} {verb} with what attackers learn; expected {other} {text}")
            bounds[name] = bound
    return bounds


_bounds = option_group(
    "show",
    _parse_bounds,
    click.option(
        "--show-at-most",
        "at_most",
        multiple=True,
        metavar="MEASURE=NUMBER",
        help="Upper bound to be shown at the confidence --level, as d_ece=0.1; computes how many people that takes.",
    ),
    click.option(
        "--show-at-least",
        "at_least",
        multiple=True,
        metavar="MEASURE=NUMBER",
        help="Lower bound to be shown, for measures that fall with what attackers learn, as eer=0.3.",
    ),
)


_simulation = option_group(
    "simulation",
    dict,
    click.option(
        "--difference", type=float, help="Plan a comparison of two systems that differ by this in the same measure."
    ),
    derived_option(plan, "shared", help="Share of the variance of scores that two compared systems have in common."),
    derived_option(plan, "utterances", help="Recordings of each person."),
    derived_option(plan, "between", help="Share of the variance of scores that is between people."),
    derived_option(plan, "uneven", help="Most recordings are of a few people (Zipf's law)."),
    derived_option(plan, "simulations", help="Simulated data sets for each number of people."),
    shared.level(default=LEVEL),
    shared.seed(),
)


@click.command("plan")
@click.option("--people", type=int, help="Number of people to be recorded [default: 30, or those of the pilot].")
@click.option(
    "--leak",
    metavar="[MEASURE=]NUMBER",
    help="True value to assume: 0.2 is a D_ECE, eer=0.25 names another measure.",
)
@click.option("--pilot", metavar="RESULT", help="Result of `evaluate`, `audit` or `link` to extrapolate from.")
@_bounds
@derived_option(plan, "power", help="Probability with which the bound or the difference is to be shown.")
@_simulation
@shared.workers()
@output_to()
def command(
    people: int | None,
    leak: str | None,
    pilot: str | None,
    show: dict[str, float],
    power: float,
    simulation: dict[str, Any],
    workers: int,
    output: Output,
) -> None:
    """Predict how wide the intervals of a planned recording will be, what it will find, and how many people it takes.

    With --leak, data of known truth are simulated and evaluated as real data are. With --pilot, the strongest attack of
    a finished result is extrapolated to more people.

    \b
    zeroevidence plan --people 30 --utterances 10 --leak 0.2
    zeroevidence plan --leak 0.03 --show-at-most d_ece=0.1
    zeroevidence plan --leak 0.1 --difference 0.05
    zeroevidence plan --pilot result.json --people 100 --show-at-least eer=0.3
    """  # noqa: D301 (\b is a control character here)
    from zeroevidence.report.plans import render_plan

    if (pilot is None) == (leak is None):
        raise UsageError("expected either a true value, as --leak 0.2, or a --pilot")
    if pilot is not None:
        _refuse_simulation_options(*simulation)
        with naming_file(pilot):
            planned = plan_from_pilot(_strongest(pilot), people, show=show, power=power)
        return output.emit(render_plan(planned, output.format))
    settings = simulation | _parse_leak(str(leak)) | ({} if people is None else {"people": people})
    settings |= {"power": power, "workers": workers, "progress": terminal_progress("plan", "simulations")}
    return output.emit(render_plan(plan(**settings, show=show), output.format))


def _parse_leak(text: str) -> dict[str, Any]:
    measure, value = _parse_value("--leak", text if "=" in text else f"d_ece={text}")
    return {"measure": measure, "leak": value}


def _refuse_simulation_options(*names: str) -> None:
    """Refuse options of simulations, which would have no effect on a pilot."""
    context = click.get_current_context()
    for name in names:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise UsageError(f"--{name} is for simulations; with a --pilot nothing is simulated")


def _strongest(path: str) -> Evaluation:
    from zeroevidence.evaluation.results import read_results

    return strongest_attack(read_results(path))
