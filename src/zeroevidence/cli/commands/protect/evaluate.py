"""``zeroevidence protect evaluate``: what protected embeddings still tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, get_args

import click

from zeroevidence.cli.options.declare import setting
from zeroevidence.cli.options.labelled import labelled_inputs, parameter_options
from zeroevidence.cli.options.measuring import measuring_options
from zeroevidence.cli.options.output import output_options, terminal_progress
from zeroevidence.data.files.errors import naming_file
from zeroevidence.errors import UsageError
from zeroevidence.protect.assessment.class_attacks import assess
from zeroevidence.protect.assessment.classifiers.classifier import CLASSIFIERS
from zeroevidence.protect.assessment.maps import MapMethod
from zeroevidence.protect.assessment.number_attacks import assess_number
from zeroevidence.protect.assessment.regressors.regressor import REGRESSORS
from zeroevidence.protect.assessment.roles import Roles
from zeroevidence.protect.attributes import ATTRIBUTE_PROTECTORS
from zeroevidence.protect.fitting import (
    fit_number_protectors,
    fit_protectors,
    load_protectors,
    protector_fits,
    protectors_that_keep,
)
from zeroevidence.protect.tradeoff.people_curve import add_people_curves
from zeroevidence.protect.tradeoff.strengths import assess_strengths, quick_protectors

if TYPE_CHECKING:
    from zeroevidence.cli.options.labelled import LabelledInputs
    from zeroevidence.cli.options.output import Output
    from zeroevidence.evaluation import Options


@click.command("evaluate")
@labelled_inputs
@click.option(
    "--keep",
    multiple=True,
    metavar="NAME",
    help=f"A further attribute to report; the first one is left alone by {', '.join(protectors_that_keep())}.",
)
@click.option(
    "--protector",
    "kinds",
    type=click.Choice(list(ATTRIBUTE_PROTECTORS)),
    multiple=True,
    help="Fit this on a third of the speakers; all kinds that conceal classes unless given, with --continuous all that "
    "conceal a number.",
)
@click.option(
    "--model", "models", multiple=True, metavar="FOLDER", help="Attack this fitted model instead; may be repeated."
)
@click.option("--paper", is_flag=True, help="The flow as published; the other protectors as they are.")
@parameter_options
@click.option(
    "--attacker",
    "classifiers",
    type=click.Choice(list(dict.fromkeys((*CLASSIFIERS, *REGRESSORS)))),
    multiple=True,
    help=f"Who attacks; all unless given. Of a number these are {', '.join(REGRESSORS)}.",
)
@click.option(
    "--people-curve",
    is_flag=True,
    help="Also fit on fewer people, and say how many would be needed for the D_ECE of --people-for.",
)
@setting(add_people_curves, "target", "--people-for", "target", help="The D_ECE that may be left.")
@setting(
    assess,
    "map_method",
    "--map",
    "map_method",
    choices=get_args(MapMethod),
    help="How to map the vectors to a plane; `zeroevidence plot map` draws it.",
)
@click.option("--no-verification", is_flag=True, help="Leave out speaker verification.")
@click.option(
    "--front",
    is_flag=True,
    help=f"Try each protector ({', '.join(quick_protectors())} unless named) at all its strengths, and mark "
    "those that no other beats; `zeroevidence plot front` draws it.",
)
@measuring_options("intervals", "null", "seed")
@output_options
def command(
    inputs: LabelledInputs,
    keep: tuple[str, ...],
    kinds: tuple[str, ...],
    models: tuple[str, ...],
    paper: bool,
    parameters: dict[str, Any],
    classifiers: tuple[str, ...],
    people_curve: bool,
    target: float,
    map_method: MapMethod,
    no_verification: bool,
    front: bool,
    options: Options,
    output: Output,
) -> None:
    """Measure how much of the attribute is left after protection, and how well speakers are still told apart.

    The speakers of EMBEDDINGS are cut into thirds: one to fit protectors, one to train attackers on protected vectors,
    one to test. The people that attackers are trained on choose the strongest attacker, by cross-validation; those who
    are tested choose nothing. With --model the first third trains the PLDA of the verification alone; the model must
    not have been trained on anybody in the other two.

    With --continuous attackers guess a number, and bits, correlation and error of the guesses are measured. With
    --bands beside it, protectors that conceal classes are fitted on the bands.
    """
    from zeroevidence.report.tables.attribute_classes import render_attribute_classes

    _check(models, kinds, paper, parameters, people_curve)
    for name in classifiers:
        (REGRESSORS if inputs.continuous else CLASSIFIERS).find(name)
    with naming_file(inputs.embeddings):
        if inputs.continuous:
            _check_number(keep or people_curve or front or paper)
            _emit_number(
                inputs, kinds, models, parameters, classifiers, not no_verification, map_method, options, output
            )
            return
        if front:
            _check_front(models or keep or no_verification or people_curve or paper)
        attribute = inputs.attribute
        roles = Roles.split(inputs.read(), attribute, seed=options.seed)
        if front:
            _emit_front(roles, inputs, kinds, parameters, classifiers, options, output)
            return
        how: dict[str, Any] = {"keep": keep[0] if keep else None, "parameters": parameters, "seed": options.seed}
        how["preset"] = "paper" if paper else None
        protectors = load_protectors(models, roles, attribute) or fit_protectors(
            kinds or None,
            roles.train,
            attribute,
            progress=lambda kind: terminal_progress(f"training {kind}", "epochs"),
            **how,
        )
        rows = assess(
            protectors,
            roles,
            attribute,
            keep=keep,
            classifiers=classifiers or None,
            verification=not no_verification,
            map_method=map_method,
            options=options,
            seed=options.seed,
            dataset=inputs.name,
            progress=terminal_progress("attacking", "attacks"),
        )
        if people_curve:
            rows = add_people_curves(
                rows,
                protector_fits(protectors, attribute, **how),
                roles,
                attribute,
                target=target,
                seed=options.seed,
                progress=lambda kind: terminal_progress(f"fewer people, {kind}", "fits"),
            )
        output.emit(render_attribute_classes(rows, output.format, signatures=output.signatures))


def _emit_number(
    inputs: LabelledInputs,
    kinds: tuple[str, ...],
    models: tuple[str, ...],
    parameters: dict[str, Any],
    regressors: tuple[str, ...],
    verification: bool,
    map_method: MapMethod,
    options: Options,
    output: Output,
) -> None:
    from zeroevidence.protect.assessment.numbers import split_by_number
    from zeroevidence.report.tables.attribute_numbers import render_attribute_numbers

    attribute = inputs.attribute
    roles = split_by_number(inputs.read(), attribute, seed=options.seed)
    protectors = load_protectors(models, roles, attribute) or fit_number_protectors(
        kinds or None,
        roles.train,
        attribute,
        bands=inputs.bands,
        parameters=parameters,
        seed=options.seed,
        progress=lambda kind: terminal_progress(f"training {kind}", "epochs"),
    )
    rows = assess_number(
        protectors,
        roles,
        attribute,
        regressors=regressors or None,
        verification=verification,
        map_method=map_method,
        options=options,
        seed=options.seed,
        dataset=inputs.name,
        progress=terminal_progress("attacking", "attacks"),
    )
    output.emit(render_attribute_numbers(rows, output.format, signatures=output.signatures))


def _emit_front(
    roles: Roles,
    inputs: LabelledInputs,
    kinds: tuple[str, ...],
    parameters: dict[str, Any],
    classifiers: tuple[str, ...],
    options: Options,
    output: Output,
) -> None:
    from zeroevidence.report.tables.pareto_front import render_pareto_front

    found = assess_strengths(
        roles,
        inputs.attribute,
        kinds or None,
        parameters=parameters,
        classifiers=classifiers or None,
        options=options,
        seed=options.seed,
        dataset=inputs.name,
        progress=terminal_progress("attacking", "attacks"),
    )
    output.emit(render_pareto_front(found, output.format, signatures=output.signatures))


def _check_number(others: object) -> None:
    """Refuse options that do not go with a number."""
    if others:
        raise UsageError("--continuous goes without --front, --keep and --people-curve, which are for classes")


def _check_front(others: object) -> None:
    """Refuse options that do not go with a front."""
    if others:
        raise UsageError(
            "--front fits protectors at several strengths; it goes without --model, --keep, --no-verification, "
            "--people-curve and --paper"
        )


def _check(
    models: Sequence[str], kinds: Sequence[str], paper: bool, parameters: dict[str, Any], people_curve: bool
) -> None:
    """Refuse options that do not go together."""
    if models and (kinds or paper or parameters):
        raise UsageError("--model evaluates fitted models; --protector, --paper and --set fit new ones")
    if parameters and len(kinds) != 1:
        raise UsageError("--set: name the one --protector that it is for")
    if models and people_curve:
        raise UsageError("--people-curve fits protectors on fewer people; a fitted --model cannot be fitted again")
