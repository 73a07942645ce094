"""Fit a protector to labelled embeddings and write it to a folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, dataclass, replace
from pathlib import Path
from typing import Any

import click

from zeroevidence.cli.declare import options_of, run_options, shared
from zeroevidence.cli.output import print_written
from zeroevidence.cli.printing import echo
from zeroevidence.data.embeddings import NAMING_SPEAKERS, Embeddings
from zeroevidence.data.files import naming_file
from zeroevidence.data.printable import file_name_text
from zeroevidence.data.store import Store
from zeroevidence.data.writing import lock_folder
from zeroevidence.errors import InputError, UsageError
from zeroevidence.protect import fitting
from zeroevidence.protect.assessment.labels import (
    DEFAULT_CLASSES,
    MOST_LABELS,
    attribute_labels,
    is_number,
    number_class_flags,
)
from zeroevidence.protect.assessment.rows import zero_entry_flags
from zeroevidence.protect.attributes import ATTRIBUTE_PROTECTORS
from zeroevidence.protect.attributes.protector import CANDIDATES, check_new
from zeroevidence.protect.choice import ATTACKER_PEOPLE
from zeroevidence.protect.models import ProtectorModel, save_model
from zeroevidence.protect.strengths import Limit, quick_protectors
from zeroevidence.run import Run, setting


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledInputs:
    """Embeddings, the attribute to conceal, and files with the labels that the embeddings lack."""

    embeddings: str = setting(MISSING, "", argument=True, metavar="EMBEDDINGS")
    attribute: str = setting(MISSING, "Attribute to conceal: sex, accent, ...", metavar="NAME")
    labels: str | None = setting(
        None, "Lines of `utterance label` or `speaker label`, where the embeddings have no such column.", metavar="FILE"
    )
    speakers: str | None = shared("--speakers")
    wanted_classes: int | None = setting(
        None,
        f"Number of classes that a column of more than {MOST_LABELS} different numbers, such as age, is cut into, at "
        f"quantiles of the training people [default: {DEFAULT_CLASSES}].",
        spelling="--classes",
        least=2,
    )

    @property
    def name(self) -> str:
        """Name of the data in results."""
        return file_name_text(Path(self.embeddings).stem)

    @property
    def classes(self) -> int:
        """How many classes a number is cut into."""
        return self.wanted_classes or DEFAULT_CLASSES

    def read(self) -> Embeddings:
        """Return the embeddings with their labels; --classes is refused where these are classes already."""
        from zeroevidence.data.formats.vectors.read import read_labelled

        data = read_labelled(self.embeddings, self.attribute, labels=self.labels, speakers=self.speakers)
        if self.wanted_classes is not None and not is_number(attribute_labels(data, self.attribute)):
            raise UsageError(f"--classes: {self.attribute} is no column of more than {MOST_LABELS} different numbers")
        return data


def _parse_parameters(settings: Sequence[str]) -> dict[str, int | float | str]:
    """Return parameters of a protector by name."""
    parameters = {}
    for text in settings:
        name, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"--set {text}: expected NAME=VALUE")
        parameters[name] = _parse_value(value)
    return parameters


def _parse_value(text: str) -> int | float | str:
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


@dataclass(frozen=True, slots=True)
class Training:
    """How protectors are trained."""

    paper: bool = setting(False, "Train the flow as published: all dimensions, Adam with 1e-4.")
    parameters: dict[str, Any] = setting(
        (),
        "Parameter of the protector, such as epochs=50; may be repeated.",
        spelling="--set",
        metavar="NAME=VALUE",
        parse=_parse_parameters,
    )

    @property
    def preset(self) -> str | None:
        """The published training, where it is asked for."""
        return "paper" if self.paper else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Choice:
    """The protector that is fitted, or the limit within which it is chosen, and where it is written."""

    keep: str | None = shared("--keep", f"{', '.join(fitting.protectors_that_keep())} only")
    kind: str | None = shared(
        "--protector",
        f"unless given, the strongest within the budget of {', '.join(quick_protectors())}, for two or more classes; "
        f"{fitting.KEEPING_PROTECTOR} without noise with --keep or --paper; and {fitting.PLAIN_PROTECTOR} without "
        "noise where people are not named, or are too few, so that no EER can be computed",
        choices=tuple(ATTRIBUTE_PROTECTORS),
    )
    budget: str | None = setting(
        None,
        "Choose the strongest protection whose EER of verification is at most this; eer=+1% is one point above that "
        "of unprotected vectors.",
        metavar="eer=2%",
    )
    target: str | None = setting(
        None, "Choose the mildest protection that leaves attackers a D_ECE of at most this.", metavar="d_ece=0.1"
    )
    attacker_people: int = setting(
        ATTACKER_PEOPLE,
        "Number of people whose protected vectors an attacker can learn from, for a choice by --budget or --target.",
        metavar="NUMBER",
        least=2,
    )
    training: Training
    folder: str = shared("--output", "a folder for the model", default=MISSING, metavar="FOLDER")
    overwrite: bool = shared("--overwrite")

    @property
    def is_open(self) -> bool:
        """Whether the user names nothing that decides the protector."""
        return self.kind is None and self.keep is None and not self.training.paper

    @property
    def limit(self) -> Limit | None:
        """The limit within which a protector is chosen."""
        if self.budget is not None and self.target is not None:
            raise UsageError("--budget and --target: expected one of them")
        for name, text, measure in (("--budget", self.budget, "eer"), ("--target", self.target, "d_ece")):
            if text is not None:
                limit = Limit.parse(text)
                if limit.measure != measure:
                    raise UsageError(f"{name} {text}: expected {measure}=...")
                return limit
        return None


@click.command("fit")
@options_of(LabelledInputs, "inputs")
@options_of(_Choice, "choice")
@run_options("seed", "cores", "verbose")
def command(inputs: LabelledInputs, choice: _Choice, run: Run) -> None:
    """Fit a protector to EMBEDDINGS and write it to a folder, as safetensors and JSON.

    Without --protector it is the strongest that costs at most one point of EER, chosen by cross-validation over people.
    An interrupted choice continues where it stopped.
    """
    limit, folder = choice.limit, choice.folder
    check_new(folder, overwrite=choice.overwrite)
    if choice.training.parameters and choice.is_open:
        raise UsageError("--set: name the --protector that it is for")
    data = inputs.read()
    with lock_folder(folder, continued_from=[CANDIDATES]), naming_file(inputs.embeddings):
        classes, _ = fitting.cut_into_classes(data, inputs.attribute, inputs.classes)
        reason = fitting.why_not_verified(classes, inputs.attribute)
        searched = limit is not None or (choice.is_open and reason is None)
        if searched:
            echo(f"choosing the strongest protection within {limit or fitting.DEFAULT_LIMIT}", err=True)
        training, people = choice.training, choice.attacker_people
        options = fitting.FitOptions(
            choice.kind, training.parameters, training.preset, choice.keep, inputs.classes, limit, people
        )
        try:
            model = fitting.fit(data, inputs.attribute, options, replace(run, cache=Path(folder)))
            save_model(model, folder, overwrite=choice.overwrite)
        except InputError:  # the same command would end the same way
            Store(Path(folder), CANDIDATES).remove()
            raise
        Store(Path(folder), CANDIDATES).remove()
    print_written(folder)
    if model.choice is None and choice.is_open:
        echo(f"{reason}, so no EER can be computed: {model.protector.kind} without noise", err=True)
    _describe(model, data, inputs.attribute)


def _describe(model: ProtectorModel, data: Embeddings, attribute: str) -> None:
    """Print how a protector was chosen and trained."""
    from zeroevidence.report.attributes import choice_sentence, render_protector_choice

    if model.choice is not None:
        echo(choice_sentence(model.choice), err=True)
        echo(render_protector_choice(model.choice, attribute), err=True)
    if data.speakers is None:
        echo(
            "speakers are not known: early stopping used vectors of people that it was trained on; name them by "
            f"{NAMING_SPEAKERS}",
            err=True,
        )
    for flag in (*zero_entry_flags(data.vectors), *number_class_flags(attribute, model.boundaries)):
        echo(flag, err=True)
    protector, history = model.protector, getattr(model.protector, "history_", None)
    if history is not None:
        epochs = max(len(history.losses) - 1, history.best)
        error = f"inversion error {protector.inversion_error_:.1g} standard deviations"
        echo(f"{protector.kind}: best after {history.best} of {epochs} epochs, {error}", err=True)
