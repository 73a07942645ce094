"""Measure what attackers still learn about the attribute, and how well speakers are verified."""

from __future__ import annotations

from typing import Any, get_args

import click

from zeroevidence.cli.commands.protect.fit import (
    LabelledInputs,
    labelled_inputs,
    paper_option,
    parameter_options,
    refuse_with,
)
from zeroevidence.cli.options import shared
from zeroevidence.cli.options.declare import derived_option
from zeroevidence.cli.options.measuring import RESAMPLING, measuring_options
from zeroevidence.cli.options.output import Output, output_to
from zeroevidence.cli.printing import terminal_progress
from zeroevidence.data.files import naming_file
from zeroevidence.errors import UsageError
from zeroevidence.evaluation import Options
from zeroevidence.protect.assessment.class_attacks import assess
from zeroevidence.protect.assessment.classifiers import CLASSIFIERS
from zeroevidence.protect.assessment.labels import Roles
from zeroevidence.protect.assessment.rows import MapMethod
from zeroevidence.protect.attributes import ATTRIBUTE_PROTECTORS
from zeroevidence.protect.fitting import fit_protectors, protectors_that_keep, shared_boundaries, suitable_protectors
from zeroevidence.protect.models import load_model
from zeroevidence.protect.strengths import assess_strengths, quick_protectors


@click.command("evaluate")
@labelled_inputs
@shared.keep(
    f"is reported, may be repeated; the first one is preserved by {', '.join(protectors_that_keep())}", multiple=True
)
@shared.protector(
    "may be repeated [default: all]",
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
    type=click.Choice(list(CLASSIFIERS)),
    multiple=True,
    help="Classifier of an attacker; may be repeated [default: all].",
)
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
    """
    from zeroevidence.report.attributes import render_attribute_classes, render_pareto_front

    if models:
        refuse_with("--model", protector=kinds, paper=paper, set=parameters, classes=inputs.wanted_classes)
    if parameters and len(kinds) != 1:
        raise UsageError("--set: name the one --protector that it is for")
    if front:
        refuse_with("--front", model=models, keep=keep, no_verification=no_verification, paper=paper)
    attack: dict[str, Any] = {
        "classifiers": classifiers or None,
        "options": options,
        "seed": options.seed,
        "dataset": inputs.name,
        "progress": terminal_progress("attacking", "attacks"),
    }
    style: dict[str, Any] = {"signatures": output.signatures, "estimate": output.estimate}
    with naming_file(inputs.embeddings):
        fitted = {folder: load_model(folder) for folder in models}
        roles = Roles.split(
            inputs.read(),
            inputs.attribute,
            classes=inputs.classes,
            boundaries=shared_boundaries(fitted, inputs.attribute),
            seed=options.seed,
        )
        if front:
            points = assess_strengths(roles, inputs.attribute, kinds or None, parameters=parameters, **attack)
            text = render_pareto_front(points, output.format, **style)
        else:
            protectors = suitable_protectors(fitted, roles) or fit_protectors(
                kinds or None,
                roles.train,
                inputs.attribute,
                keep=keep[0] if keep else None,
                parameters=parameters,
                preset="paper" if paper else None,
                seed=options.seed,
                progress=_training_progress,
            )
            attack |= {"keep": keep, "verification": not no_verification, "map_method": map_method}
            rows = assess(protectors, roles, inputs.attribute, **attack)
            text = render_attribute_classes(rows, output.format, **style)
    output.emit(text)


def _training_progress(kind: str) -> Any:
    return terminal_progress(f"training {kind}", "epochs")
