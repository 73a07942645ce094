"""``zeroevidence plan``: how many people, and what to expect, before anybody is recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from zeroevidence.cli.options.declare import grouped, setting
from zeroevidence.cli.options.measuring import workers_option
from zeroevidence.cli.options.output import output_to, terminal_progress
from zeroevidence.data.files.errors import naming_file
from zeroevidence.errors import UsageError
from zeroevidence.evaluation.planning.one_system import plan
from zeroevidence.evaluation.planning.pilot import plan_from_pilot, strongest_attack
from zeroevidence.evaluation.planning.two_systems import plan_comparison
from zeroevidence.measure.measures import MEASURES

if TYPE_CHECKING:
    from zeroevidence.cli.options.output import Output
    from zeroevidence.evaluation import Evaluation


def _named(option: str, text: str) -> tuple[str, float]:
    """Read ``measure=value``."""
    name, equals, value = text.rpartition("=")
    try:
        if equals and name:
            return MEASURES.find(name.strip()).name, float(value)
    except ValueError:
        pass
    raise UsageError(f"{option} {text!r}: expected a measure and a number, as d_ece=0.1")


def _bounds(at_most: tuple[str, ...], at_least: tuple[str, ...]) -> dict[str, float]:
    """What is to be shown; each option for the measures on whose other side attackers learn more."""
    found = {}
    for option, other, texts, direction in (
        ("--show-at-most", "--show-at-least", at_most, "up"),
        ("--show-at-least", "--show-at-most", at_least, "down"),
    ):
        for text in texts:
            name, bound = _named(option, text)
            learning = MEASURES.find(name).discloses
            if learning not in (direction, "none"):
                words = "falls" if learning == "down" else "rises"
                raise UsageError(f"{option} {text}: {name} {words} with what attackers learn; say {other} {text}")
            found[name] = bound
    return found


_show = grouped(
    "show",
    _bounds,
    click.option(
        "--show-at-most",
        "at_most",
        multiple=True,
        metavar="MEASURE=NUMBER",
        help="What is to be shown with 95 % confidence, as d_ece=0.1; says how many people that takes.",
    ),
    click.option(
        "--show-at-least",
        "at_least",
        multiple=True,
        metavar="MEASURE=NUMBER",
        help="The same for measures that fall with what attackers learn, as eer=0.3.",
    ),
)


_simulation = grouped(
    "simulation",
    dict,
    setting(plan, "utterances", help="Recordings of each person."),
    setting(plan, "between", help="Share of the variance of scores that comes from who the people are."),
    setting(plan, "uneven", help="A few people speak most of the time (Zipf's law)."),
    setting(plan, "simulations", help="Simulated recordings for each number of people."),
    setting(plan, "seed", help="Seed of all random choices."),
)


@click.command("plan")
@click.option("--people", type=int, help="People who are enrolled and heard  [default: 30, or those of the pilot]")
@click.option(
    "--leak",
    metavar="[MEASURE=]NUMBER",
    help="What leaks in truth: 0.2 is a D_ECE, eer=0.25 names another measure.",
)
@click.option(
    "--difference",
    type=float,
    help="Compare two systems instead, one of which leaks so much more in the same measure.",
)
@setting(plan_comparison, "shared", help="Share of the variance of scores that two compared systems have in common.")
@click.option("--pilot", metavar="RESULT", help="Plan from this result of `evaluate`, `audit` or `link` instead.")
@_show
@setting(plan, "power", help="Probability with which it is to be shown.")
@_simulation
@workers_option
@output_to()
def command(
    people: int | None,
    leak: str | None,
    difference: float | None,
    shared: float,
    pilot: str | None,
    show: dict[str, float],
    power: float,
    simulation: dict[str, Any],
    workers: int,
    output: Output,
) -> None:
    """Say before a recording how long intervals will be, what will be found, and how many people it takes.

    Recordings are simulated whose truth is known, and evaluated as real ones are. Or a pilot is extrapolated: the
    strongest attack of a result.

    \b
    zeroevidence plan --people 30 --utterances 10 --leak 0.2
    zeroevidence plan --leak 0.03 --show-at-most d_ece=0.1
    zeroevidence plan --leak 0.1 --difference 0.05
    zeroevidence plan --pilot result.json --people 100 --show-at-least eer=0.3
    """  # noqa: D301 (the mark that keeps lines apart is a control character, not two letters)
    from zeroevidence.report.tables.plans import render_plan, render_planned_comparison

    if (pilot is None) == (leak is None):
        raise UsageError("expected what leaks in truth, as --leak 0.2, or a --pilot, and not both")
    if pilot is not None:
        _refuse_given("difference", "shared", *simulation)
        with naming_file(pilot):
            found = plan_from_pilot(_strongest(pilot), people, show=show, power=power)
        return output.emit(render_plan(found, output.format))
    settings = simulation | _leak(str(leak)) | ({} if people is None else {"people": people})
    settings |= {"power": power, "workers": workers, "progress": terminal_progress("plan", "simulations")}
    if difference is None:
        return output.emit(render_plan(plan(**settings, show=show), output.format))
    if show:
        raise UsageError("expected --difference or something to show, not both")
    compared = plan_comparison(**settings, difference=difference, shared=shared)
    return output.emit(render_planned_comparison(compared, output.format))


def _leak(text: str) -> dict[str, Any]:
    measure, value = _named("--leak", text if "=" in text else f"d_ece={text}")
    return {"measure": measure, "leak": value}


def _refuse_given(*names: str) -> None:
    """Of a pilot nothing is simulated: options that would change nothing are a mistake."""
    context = click.get_current_context()
    for name in names:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise UsageError(f"--{name} is for simulations; with a --pilot nothing is simulated")


def _strongest(path: str) -> Evaluation:
    from zeroevidence.evaluation.reading.results import read_results

    return strongest_attack(read_results(path))
