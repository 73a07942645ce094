"""Measure what attackers still learn about the attribute, and how well speakers are verified."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import click

from zeroevidence.cli.commands.protect.fit import LabelledInputs, Training
from zeroevidence.cli.declare import options_of, run_options, shared
from zeroevidence.cli.output import Output, output_options
from zeroevidence.data.files import naming_file
from zeroevidence.errors import UsageError
from zeroevidence.evaluation import Options
from zeroevidence.protect import fitting
from zeroevidence.protect.assessment.class_attacks import AttackOptions, assess
from zeroevidence.protect.assessment.classifiers import CLASSIFIERS
from zeroevidence.protect.assessment.labels import Roles
from zeroevidence.protect.assessment.rows import MapMethod
from zeroevidence.protect.attributes import ATTRIBUTE_PROTECTORS
from zeroevidence.protect.models import load_model
from zeroevidence.protect.strengths import assess_strengths, quick_protectors
from zeroevidence.run import Run, setting


@dataclass(frozen=True, slots=True, kw_only=True)
class _Attack:
    """What is protected and attacked, and by which attackers."""

    keep: tuple[str, ...] = shared(
        "--keep",
        f"is reported, may be repeated; the first one is preserved by {', '.join(fitting.protectors_that_keep())}",
        default=(),
    )
    kinds: tuple[str, ...] = shared(
        "--protector", "may be repeated [default: all]", default=(), choices=tuple(ATTRIBUTE_PROTECTORS)
    )
    models: tuple[str, ...] = setting(
        (), "Fitted model to attack instead; may be repeated.", spelling="--model", metavar="FOLDER"
    )
    training: Training
    classifiers: tuple[str, ...] = setting(
        (),
        "Classifier of an attacker; may be repeated [default: all].",
        spelling="--classifier",
        choices=tuple(CLASSIFIERS),
    )
    map_method: MapMethod = setting(
        "pca", "Method of the two-dimensional map, which `zeroevidence plot map` draws.", spelling="--map"
    )
    no_verification: bool = setting(False, "Leave out speaker verification.")
    front: bool = setting(
        False,
        f"Try each protector (by default {', '.join(quick_protectors())}) at all its strengths, and mark the Pareto "
        "front, which `zeroevidence plot front` draws.",
    )

    def check(self, inputs: LabelledInputs) -> None:
        """Refuse options that do not go together."""
        training = self.training
        if self.models:
            others = {"set": training.parameters, "classes": inputs.wanted_classes}
            _refuse_with("--model", protector=self.kinds, paper=training.paper, **others)
        if training.parameters and len(self.kinds) != 1:
            raise UsageError("--set: name the one --protector that it is for")
        if self.front:
            others = {"no_verification": self.no_verification, "paper": training.paper}
            _refuse_with("--front", model=self.models, keep=self.keep, **others)


def _refuse_with(option: str, **others: object) -> None:
    """Refuse options that do not go with another one; those whose value is false were not given."""
    given = [f"--{name.replace('_', '-')}" for name, value in others.items() if value]
    if given:
        raise UsageError(f"{option} goes without {' and '.join(given)}")


@click.command("evaluate")
@options_of(LabelledInputs, "inputs")
@options_of(_Attack, "attack")
@options_of(Options, "options", "intervals", "null")
@run_options("level", "seed", "verbose")
@output_options("estimate", "signatures")
def command(inputs: LabelledInputs, attack: _Attack, options: Options, run: Run, output: Output) -> None:
    """Measure what attackers still learn about the attribute after protection, and how well speakers are verified.

    The speakers of EMBEDDINGS are split into thirds: the first fits protectors, the second trains attackers on
    protected vectors, the third is tested. The strongest attacker is chosen by cross-validation in the second third, so
    the people who are tested choose nothing. With --model the first third only trains the PLDA of the verification; the
    model must not have been trained on anybody in the other two thirds.
    """
    from zeroevidence.report.attributes import render_attribute_classes, render_pareto_front

    attack.check(inputs)
    attackers = AttackOptions(
        attack.classifiers or None,
        keep=attack.keep,
        verification=not attack.no_verification,
        map_method=attack.map_method,
        dataset=inputs.name,
    )
    style: dict[str, Any] = {"signatures": output.signatures, "estimate": output.estimate}
    with naming_file(inputs.embeddings):
        fitted = {folder: load_model(folder) for folder in attack.models}
        boundaries = fitting.shared_boundaries(fitted, inputs.attribute)
        roles = Roles.split(
            inputs.read(), inputs.attribute, classes=inputs.classes, boundaries=boundaries, seed=run.seed
        )
        parameters = attack.training.parameters
        if attack.front:
            candidates = dict.fromkeys(attack.kinds, parameters)
            points = assess_strengths(roles, inputs.attribute, candidates, attackers, options, run)
            text = render_pareto_front(points, output.format, **style)
        else:
            kept, kind = next(iter(attack.keep), None), next(iter(attack.kinds), None)
            settings = fitting.FitOptions(kind, parameters, attack.training.preset, kept)
            protectors = fitting.suitable_protectors(fitted, roles) or fitting.fit_protectors(
                attack.kinds, roles.train, inputs.attribute, settings, run
            )
            rows = assess(protectors, roles, inputs.attribute, attackers, options, run)
            text = render_attribute_classes(rows, output.format, **style)
    output.emit(text)
