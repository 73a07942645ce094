"""Options of labelled embeddings, and of protectors, that the commands of `protect` share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from zeroevidence.cli.options import shared
from zeroevidence.cli.options.declare import option_group
from zeroevidence.data.printable import file_name_text
from zeroevidence.errors import UsageError
from zeroevidence.protect.assessment.labels import DEFAULT_CLASSES, MOST_LABELS, attribute_labels, is_number

if TYPE_CHECKING:
    from zeroevidence.data.embeddings import Embeddings
    from zeroevidence.protect.tradeoff.strengths import Limit


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
        from zeroevidence.data.formats.vectors.labels import read_labelled

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
    from zeroevidence.protect.tradeoff.strengths import Limit

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
