"""Protect embeddings with a fitted model."""

from __future__ import annotations

from dataclasses import MISSING, dataclass

import click

from zeroevidence.cli.declare import options_of, shared
from zeroevidence.cli.output import print_written
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
    llr: float | None = setting(
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

    Identifiers, speakers and other columns stay; the column of the attribute is removed.
    """
    fitted, data = models.load_model(release.model), read_embeddings(release.embeddings)
    with naming_file(release.embeddings):
        protected = models.protect_embeddings(fitted, data, llr=release.llr, noise_seed=release.noise_seed)
    write_embeddings(protected, release.output, overwrite=release.overwrite)
    print_written(release.output)
