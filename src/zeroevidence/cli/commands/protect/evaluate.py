"""Measure what attackers still learn about the attribute, and how well speakers are verified."""

from __future__ import annotations

from typing import Any, get_args

import click

from zeroevidence.cli.options import shared
from zeroevidence.cli.options.declare import derived_option
from zeroevidence.cli.options.labelled_embeddings import (
    LabelledInputs,
    labelled_inputs,
    paper_option,
    parameter_options,
    refuse_with,
)
from zeroevidence.cli.options.measuring import RESAMPLING, measuring_options
from zeroevidence.cli.options.output import Output, output_to, terminal_progress
from zeroevidence.data.files.errors import naming_file
from zeroevidence.errors import UsageError
from zeroevidence.evaluation import Evaluation, Options
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


@click.command("evaluate")
@labelled_inputs
@shared.keep(
    f"is reported, may be repeated; the first one is preserved by {', '.join(protectors_that_keep())}", multiple=True
)
@shared.protector(
    "may be repeated [default: all that conceal classes, with --continuous all that conceal a number]",
    name="kinds",
    type=click.Choice(list(ATTRIBUTE_PROTECTORS)),
    multiple=True,
)
@click.option(
    "--model", "models", multiple=True, metavar="FOLDER", help="Fitted model to attack instead; may be repeated."
)
@paper_option
@parameter_options
@click.option(
    "--classifier",
    "classifiers",
    type=click.Choice(list(dict.fromkeys((*CLASSIFIERS, *REGRESSORS)))),
    multiple=True,
    help=f"Classifier of an attacker, with --continuous its regressor ({', '.join(REGRESSORS)}); may be repeated "
    "[default: all].",
)
@click.option(
    "--people-curve",
    is_flag=True,
    help="Also fit on fewer people, and estimate how many are needed for the D_ECE of --people-for.",
)
@derived_option(add_people_curves, "target", "--people-for", "target", help="D_ECE that may remain.")
@derived_option(
    assess,
    "map_method",
    "--map",
    "map_method",
    choices=get_args(MapMethod),
    help="Method of the two-dimensional map, which `zeroevidence plot map` draws.",
)
@click.option("--no-verification", is_flag=True, help="Leave out speaker verification.")
@click.option(
    "--front",
    is_flag=True,
    help=f"Try each protector (by default {', '.join(quick_protectors())}) at all its strengths, and mark the Pareto "
    "front, which `zeroevidence plot front` draws.",
)
@measuring_options(*RESAMPLING)
@output_to(shared.estimate(), shared.signatures())
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
    """Measure what attackers still learn about the attribute after protection, and how well speakers are verified.

    The speakers of EMBEDDINGS are split into thirds: the first fits protectors, the second trains attackers on
    protected vectors, the third is tested. The strongest attacker is chosen by cross-validation in the second third, so
    the people who are tested choose nothing. With --model the first third only trains the PLDA of the verification; the
    model must not have been trained on anybody in the other two thirds.

    With --continuous attackers estimate a number, and information in bits, correlation and error of the estimates are
    measured. With --bands in addition, protectors that conceal classes are fitted to the bands.
    """
    from zeroevidence.report.tables.attribute_classes import render_attribute_classes
    from zeroevidence.report.tables.attribute_numbers import render_attribute_numbers
    from zeroevidence.report.tables.pareto_front import render_pareto_front

    if models:
        refuse_with("--model", protector=kinds, paper=paper, set=parameters, people_curve=people_curve)
    if parameters and len(kinds) != 1:
        raise UsageError("--set: name the one --protector that it is for")
    for name in classifiers:
        (REGRESSORS if inputs.continuous else CLASSIFIERS).find(name)
    if inputs.continuous:
        refuse_with("--continuous", front=front, keep=keep, people_curve=people_curve, paper=paper)
    if front:
        refuse_with(
            "--front", model=models, keep=keep, no_verification=no_verification, people_curve=people_curve, paper=paper
        )
    attack: dict[str, Any] = {
        "options": options,
        "seed": options.seed,
        "dataset": inputs.name,
        "progress": terminal_progress("attacking", "attacks"),
    }
    style: dict[str, Any] = {"signatures": output.signatures, "estimate": output.estimate}
    shown: dict[str, Any] = {"verification": not no_verification, "map_method": map_method}
    fit: dict[str, Any] = {"parameters": parameters, "seed": options.seed}
    with naming_file(inputs.embeddings):
        if inputs.continuous:
            rows = _evaluate_number(inputs, kinds, models, classifiers, fit, attack | shown)
            text = render_attribute_numbers(rows, output.format, **style)
        else:
            roles = Roles.split(inputs.read(), inputs.attribute, seed=options.seed)
            if front:
                points = assess_strengths(
                    roles,
                    inputs.attribute,
                    kinds or None,
                    parameters=parameters,
                    classifiers=classifiers or None,
                    **attack,
                )
                text = render_pareto_front(points, output.format, **style)
            else:
                fit |= {"keep": keep[0] if keep else None, "preset": "paper" if paper else None}
                attack |= {"keep": keep, "classifiers": classifiers or None, **shown}
                rows = _evaluate_classes(
                    roles, inputs.attribute, kinds, models, fit, attack, target if people_curve else None
                )
                text = render_attribute_classes(rows, output.format, **style)
    output.emit(text)


def _evaluate_classes(
    roles: Roles,
    attribute: str,
    kinds: tuple[str, ...],
    models: tuple[str, ...],
    fit: dict[str, Any],
    attack: dict[str, Any],
    people_for: float | None,
) -> list[Evaluation]:
    """Return the rows of protectors of classes.

    Parameters
    ----------
    roles
        The embeddings in thirds.
    attribute
        The attribute.
    kinds
        Protectors to fit.
    models
        Fitted models, which are attacked instead.
    fit
        How protectors are fitted.
    attack
        How they are attacked.
    people_for
        The D_ECE that the number of people is estimated for, None for no learning curve.
    """
    protectors = load_protectors(models, roles, attribute) or fit_protectors(
        kinds or None, roles.train, attribute, progress=_training_progress, **fit
    )
    rows = assess(protectors, roles, attribute, **attack)
    if people_for is None:
        return rows
    return add_people_curves(
        rows,
        protector_fits(protectors, attribute, **fit),
        roles,
        attribute,
        target=people_for,
        seed=fit["seed"],
        progress=lambda kind: terminal_progress(f"fewer people, {kind}", "fits"),
    )


def _evaluate_number(
    inputs: LabelledInputs,
    kinds: tuple[str, ...],
    models: tuple[str, ...],
    regressors: tuple[str, ...],
    fit: dict[str, Any],
    attack: dict[str, Any],
) -> list[Evaluation]:
    """Return the rows of protectors of a number; the parameters are those of `_evaluate_classes`."""
    from zeroevidence.protect.assessment.numbers import split_by_number

    roles = split_by_number(inputs.read(), inputs.attribute, seed=fit["seed"])
    protectors = load_protectors(models, roles, inputs.attribute) or fit_number_protectors(
        kinds or None, roles.train, inputs.attribute, bands=inputs.bands, progress=_training_progress, **fit
    )
    return assess_number(protectors, roles, inputs.attribute, regressors=regressors or None, **attack)


def _training_progress(kind: str) -> Any:
    return terminal_progress(f"training {kind}", "epochs")
