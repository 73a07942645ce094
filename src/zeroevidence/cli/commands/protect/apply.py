"""Protect embeddings with a fitted model."""

from __future__ import annotations

from dataclasses import MISSING, dataclass

import click
import numpy as np

from zeroevidence.cli.declare import options_of, shared
from zeroevidence.cli.output import print_written
from zeroevidence.cli.printing import echo
from zeroevidence.data.files import naming_file
from zeroevidence.data.formats.vectors.read import check_name, read_embeddings, write_embeddings
from zeroevidence.data.writing import refuse_existing
from zeroevidence.protect import models
from zeroevidence.run import setting


@dataclass(frozen=True, slots=True, kw_only=True)
class _Release:
    """Which model is applied to which embeddings."""

    model: str = setting(MISSING, "", argument=True, metavar="MODEL")
    embeddings: str = setting(MISSING, "", argument=True, metavar="EMBEDDINGS")
    set_llr: float | None = setting(
        None, "Set the evidence to this LLR (natural logarithm) instead of 0; flow with two classes only."
    )
    noise_seed: int | None = setting(None, "Draw the same noise each time, for experiments only.", least=0)
    output: str = shared("--output", "the protected embeddings", default=MISSING, metavar="FILE.npz")
    overwrite: bool = shared("--overwrite")

    def __post_init__(self) -> None:
        check_name(self.output)
        refuse_existing(self.output, self.overwrite)


@click.command("apply")
@options_of(_Release, "release")
def command(release: _Release) -> None:
    """Protect EMBEDDINGS with a fitted MODEL.

    Where people are named, each of them is protected as a whole. Identifiers, speakers and other columns stay; the
    column of the attribute is removed.
    """
    fitted, data = models.load_model(release.model), read_embeddings(release.embeddings)
    with naming_file(release.embeddings):
        protected = models.protect_embeddings(fitted, data, llr=release.set_llr, noise_seed=release.noise_seed)
    write_embeddings(protected, release.output, overwrite=release.overwrite)
    print_written(release.output)
    if data.speakers is None or release.set_llr is not None:
        reason = "people are not named" if data.speakers is None else "--set-llr sets single vectors"
        echo(f"{reason}: each vector is protected by itself, and many vectors of one person tell more", err=True)
    elif fitted.protector.noise > 0.0:
        people = len(np.unique(data.speakers))
        echo(
            f"noise was drawn once for each of {people} people, and for each vector: protect all vectors of a person "
            "together, since a second release of the same people tells more",
            err=True,
        )
