"""Fit a protector to labelled embeddings and write it to a folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from zeroevidence.cli.options import shared
from zeroevidence.cli.options.declare import option_group
from zeroevidence.cli.options.output import print_written
from zeroevidence.cli.printing import echo, terminal_progress
from zeroevidence.data.embeddings import NAMING_SPEAKERS
from zeroevidence.data.files import naming_file
from zeroevidence.data.printable import file_name_text
from zeroevidence.errors import UsageError
from zeroevidence.protect.assessment.labels import DEFAULT_CLASSES, MOST_LABELS, attribute_labels, is_number
from zeroevidence.protect.attributes import ATTRIBUTE_PROTECTORS
from zeroevidence.protect.fitting import (
    DEFAULT_LIMIT,
    KEEPING_PROTECTOR,
    MANY_PEOPLE,
    PLAIN_PROTECTOR,
    cut_into_classes,
    fit,
    protectors_that_keep,
    why_not_verified,
)
from zeroevidence.protect.strengths import quick_protectors

if TYPE_CHECKING:
    from zeroevidence.data.embeddings import Embeddings
    from zeroevidence.protect.strengths import Limit


@dataclass(frozen=True, slots=True)
class LabelledInputs:
    """Embeddings, the attribute to conceal, and files with the labels that the embeddings lack."""

    embeddings: str
    attribute: str
    labels: str | None
    speakers: str | None
    wanted_classes: int | None

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


labelled_inputs = option_group(
    "inputs",
    LabelledInputs,
    click.argument("embeddings"),
    click.option("--attribute", required=True, metavar="NAME", help="Attribute to conceal: sex, accent, ..."),
    click.option(
        "--labels",
        metavar="FILE",
        help="Lines of `utterance label` or `speaker label`, where the embeddings have no such column.",
    ),
    shared.speakers(),
    click.option(
        "--classes",
        "wanted_classes",
        type=click.IntRange(2),
        help=f"Number of classes that a column of more than {MOST_LABELS} different numbers, such as age, is cut into, "
        f"at quantiles of the training people [default: {DEFAULT_CLASSES}].",
    ),
)


paper_option = click.option(
    "--paper", is_flag=True, help="Train the flow as published: all dimensions, Adam with 1e-4."
)


def refuse_with(option: str, **others: object) -> None:
    """Refuse options that do not go with another one; those whose value is false were not given."""
    given = [f"--{name.replace('_', '-')}" for name, value in others.items() if value]
    if given:
        raise UsageError(f"{option} goes without {' and '.join(given)}")


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


parameter_options = option_group(
    "parameters",
    _parse_parameters,
    click.option(
        "--set",
        "settings",
        multiple=True,
        metavar="NAME=VALUE",
        help="Parameter of the protector, such as epochs=50; may be repeated.",
    ),
)


def _parse_limit(budget: str | None, target: str | None) -> Limit | None:
    """Return the limit within which a protector is chosen."""
    from zeroevidence.protect.strengths import Limit

    if budget is not None and target is not None:
        raise UsageError("--budget and --target: expected one of them")
    for name, text, measure in (("--budget", budget, "eer"), ("--target", target, "d_ece")):
        if text is not None:
            limit = Limit.parse(text)
            if limit.measure != measure:
                raise UsageError(f"{name} {text}: expected {measure}=...")
            return limit
    return None


limit_options = option_group(
    "limit",
    _parse_limit,
    click.option(
        "--budget",
        metavar="eer=2%",
        help="Choose the strongest protection whose EER of verification is at most this; eer=+1% is one point above "
        "that of unprotected vectors.",
    ),
    click.option(
        "--target",
        metavar="d_ece=0.1",
        help="Choose the mildest protection that leaves attackers a D_ECE of at most this.",
    ),
)


@click.command("fit")
@labelled_inputs
@shared.keep(f"{', '.join(protectors_that_keep())} only")
@shared.protector(
    f"unless given, the strongest within the budget of {', '.join(quick_protectors())} (from {MANY_PEOPLE} people on "
    f"also flow), for two or more classes; {KEEPING_PROTECTOR} without noise with --keep or --paper; and "
    f"{PLAIN_PROTECTOR} without noise where people are not named, or are too few, so that no EER can be computed",
    name="kind",
    type=click.Choice(list(ATTRIBUTE_PROTECTORS)),
)
@limit_options
@paper_option
@parameter_options
@shared.seed()
@shared.output("a folder for the model", required=True, metavar="FOLDER")
@shared.overwrite()
def command(
    inputs: LabelledInputs,
    keep: str | None,
    kind: str | None,
    limit: Limit | None,
    paper: bool,
    parameters: dict[str, Any],
    seed: int,
    output: str,
    overwrite: bool,
) -> None:
    """Fit a protector to EMBEDDINGS and write it to a folder, as safetensors and JSON.

    Without --protector it is the strongest that costs at most one point of EER, chosen by cross-validation over people.
    """
    from zeroevidence.data.writing import lock_folder
    from zeroevidence.protect.assessment.labels import number_class_flags
    from zeroevidence.protect.assessment.rows import zero_entry_flags
    from zeroevidence.protect.models import check_new, save_model
    from zeroevidence.report.attributes import choice_sentence, render_protector_choice

    check_new(output, overwrite=overwrite)
    if parameters and kind is None and keep is None and not paper:
        raise UsageError("--set: name the --protector that it is for")
    data = inputs.read()
    with lock_folder(output), naming_file(inputs.embeddings):
        reason = why_not_verified(cut_into_classes(data, inputs.attribute, inputs.classes)[0], inputs.attribute)
        searched = limit is not None or (kind is None and keep is None and not paper and reason is None)
        if searched:
            echo(f"choosing the strongest protection within {limit or DEFAULT_LIMIT}", err=True)
        model = fit(
            data,
            inputs.attribute,
            kind,
            classes=inputs.classes,
            keep=keep,
            parameters=parameters,
            preset="paper" if paper else None,
            limit=limit,
            seed=seed,
            progress=terminal_progress(*(("choosing", "steps") if searched else ("training", "epochs"))),
        )
        save_model(model, output, overwrite=overwrite)
    print_written(output)
    protector = model.protector
    if model.choice is not None:
        echo(choice_sentence(model.choice), err=True)
        echo(render_protector_choice(model.choice, inputs.attribute), err=True)
    elif kind is None and keep is None and not paper:
        echo(f"{reason}, so no EER can be computed: {protector.kind} without noise", err=True)
    if data.speakers is None:
        echo(
            "speakers are not known: early stopping used vectors of people that it was trained on; name them by "
            f"{NAMING_SPEAKERS}",
            err=True,
        )
    for flag in (*zero_entry_flags(data.vectors), *number_class_flags(inputs.attribute, model.boundaries)):
        echo(flag, err=True)
    history = getattr(protector, "history_", None)
    if history is not None:
        epochs = max(len(history.losses) - 1, history.best)
        error = f"inversion error {protector.inversion_error_:.1g} standard deviations"
        echo(f"{protector.kind}: best after {history.best} of {epochs} epochs, {error}", err=True)
