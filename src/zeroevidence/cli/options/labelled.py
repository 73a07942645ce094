"""The labelled embeddings, and the parameters of protectors, that several commands take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from zeroevidence.cli.options.declare import grouped
from zeroevidence.errors import UsageError

if TYPE_CHECKING:
    from zeroevidence.data.embeddings import Embeddings
    from zeroevidence.protect.attributes.shared.bands import Bands
    from zeroevidence.protect.tradeoff.strengths import Limit


@dataclass(frozen=True, slots=True)
class LabelledInputs:
    """Embeddings, the attribute in question, and files that say what the embeddings do not."""

    embeddings: str
    attribute: str
    labels: str | None
    speakers: str | None
    bands_text: str | None
    continuous: bool

    @property
    def name(self) -> str:
        """What the data are called in results."""
        return Path(self.embeddings).stem

    @property
    def bands(self) -> Bands | None:
        """Bands of the attribute, where they were asked for."""
        from zeroevidence.protect.attributes.shared.bands import Bands

        return None if self.bands_text is None else Bands.parse(self.bands_text)

    def read(self) -> Embeddings:
        """The embeddings with their labels: bands of a number, or the number itself where that was asked for."""
        from zeroevidence.data.formats.vectors.labels import read_labelled
        from zeroevidence.protect.assessment.numbers import attribute_numbers, refuse_many_numbers, with_bands

        bands = self.bands
        data = read_labelled(self.embeddings, self.attribute, labels=self.labels, speakers=self.speakers)
        if self.continuous:
            attribute_numbers(data, self.attribute)
            return data
        if bands is not None:
            return with_bands(data, self.attribute, bands)
        refuse_many_numbers(data, self.attribute)
        return data


labelled_inputs = grouped(
    "inputs",
    LabelledInputs,
    click.argument("embeddings"),
    click.option("--attribute", required=True, metavar="NAME", help="What to conceal: sex, accent, ..."),
    click.option(
        "--labels",
        metavar="FILE",
        help="Lines of `utterance label` or `speaker label`, if the embeddings hold no labels.",
    ),
    click.option(
        "--speakers", metavar="FILE", help="Lines of `utterance speaker`, if the embeddings name no speakers."
    ),
    click.option(
        "--bands",
        "bands_text",
        metavar="12,18,30",
        help="Cut a number into classes at these limits; a limit belongs to the band above it.",
    ),
    click.option(
        "--continuous", is_flag=True, help="The attribute is a number: conceal, or attack, the number itself."
    ),
)


def _parameters(settings: Sequence[str]) -> dict[str, int | float | str]:
    """Parameters by name."""
    found = {}
    for text in settings:
        name, mark, value = text.partition("=")
        if not mark:
            raise UsageError(f"--set {text}: expected NAME=VALUE")
        found[name] = _value(value)
    return found


def _value(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


parameter_options = grouped(
    "parameters",
    _parameters,
    click.option(
        "--set", "settings", multiple=True, metavar="NAME=VALUE", help="A parameter of the protector: epochs=50."
    ),
)


def _limit(budget: str | None, target: str | None) -> Limit | None:
    """What may not be exceeded, if anything."""
    from zeroevidence.protect.tradeoff.strengths import Limit

    if budget is not None and target is not None:
        raise UsageError("--budget and --target: give one of them")
    for name, text, measure in (("--budget", budget, "eer"), ("--target", target, "d_ece")):
        if text is not None:
            limit = Limit.parse(text)
            if limit.measure != measure:
                raise UsageError(f"{name} {text}: expected {measure}=...")
            return limit
    return None


limit_options = grouped(
    "limit",
    _limit,
    click.option(
        "--budget",
        metavar="eer=2%",
        help="The strongest protection within this EER of verification; eer=+1% is a point above unprotected vectors.",
    ),
    click.option(
        "--target", metavar="d_ece=0.1", help="The mildest protection that leaves attackers at most this D_ECE."
    ),
)
