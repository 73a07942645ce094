"""Protect embeddings with a fitted model."""

from __future__ import annotations

from dataclasses import MISSING, dataclass
from pathlib import Path

import click

from zeroevidence.cli.declare import options_of, shared
from zeroevidence.cli.output import print_written
from zeroevidence.cli.printing import echo
from zeroevidence.data.embeddings import Embeddings, require_speakers
from zeroevidence.data.files import naming_file
from zeroevidence.data.formats.vectors.read import check_name, read_embeddings, write_embeddings
from zeroevidence.data.writing import refuse_existing
from zeroevidence.errors import UsageError
from zeroevidence.protect import models
from zeroevidence.run import setting


@dataclass(frozen=True, slots=True, kw_only=True)
class _Release:
    """Which model is applied to which embeddings, and how speakers are rotated."""

    model: str = setting(MISSING, "", argument=True, metavar="MODEL")
    embeddings: str = setting(MISSING, "", argument=True, metavar="EMBEDDINGS")
    llr: float | None = setting(
        None, "Set the evidence to this LLR (natural logarithm) instead of 0; flow with two classes only."
    )
    rotation_key: str | None = setting(
        None,
        "Secret that a rotation of each person's mean direction is drawn from; written where there is none [default: "
        "MODEL.key where speakers are named and the model adds noise]. Without it, vectors of a person tell nothing, "
        "however many there are; whoever has it can rotate them back.",
        metavar="FILE",
    )
    claims: bool = setting(
        False, "Speakers are those whom vectors are to be compared with, by their cosine: rotate each vector by itself."
    )
    no_rotation: bool = setting(
        False,
        "Only add noise to each vector: people can be compared with each other, and many vectors of a person tell "
        "more than one.",
    )
    rotate_back: bool = setting(False, "EMBEDDINGS were rotated by --rotation-key: only rotate them back.")
    noise_seed: int | None = setting(None, "Draw the same noise each time, for experiments only.", least=0)
    output: str = shared("--output", "the protected embeddings", default=MISSING, metavar="FILE.npz")
    overwrite: bool = shared("--overwrite")

    def __post_init__(self) -> None:
        check_name(self.output)
        refuse_existing(self.output, self.overwrite)
        if self.rotation_key is not None and (self.no_rotation or self.llr is not None):
            raise UsageError("--rotation-key goes without --no-rotation and --llr")
        if self.rotate_back and self.rotation_key is None:
            raise UsageError("--rotate-back: name the --rotation-key that the vectors were rotated by")

    def secret(self, fitted: models.ProtectorModel, data: Embeddings) -> bytes | None:
        """Return the key of the rotation, which is written where there is none, or None for no rotation."""
        usual = not self.no_rotation and self.llr is None and data.speakers is not None
        if self.rotation_key is None and not (usual and fitted.protector.noise > 0.0):
            return None
        path = Path(self.rotation_key or f"{self.model.rstrip('/')}.key")
        if not path.exists():
            require_speakers(data)
            models.write_rotation_key(path)
            print_written(path)
            echo("whoever has this key can rotate the vectors back: keep it from whoever gets them", err=True)
        return models.read_rotation_key(path)


@click.command("apply")
@options_of(_Release, "release")
def command(release: _Release) -> None:
    """Protect EMBEDDINGS with a fitted MODEL.

    Identifiers, speakers and other columns stay; the column of the attribute is removed.
    """
    fitted, data = models.load_model(release.model), read_embeddings(release.embeddings)
    with naming_file(release.embeddings):
        if release.rotate_back:
            made = models.rotate_back(fitted, data, models.read_rotation_key(str(release.rotation_key)))
        else:
            secret, claims = release.secret(fitted, data), release.claims
            if claims and secret is None:
                raise UsageError("--claims: name the --rotation-key that enrolled people were rotated by")
            made = models.protect_embeddings(
                fitted, data, llr=release.llr, rotation_key=secret, claims=claims, noise_seed=release.noise_seed
            )
            if secret is not None:
                what = "each vector was rotated as one of its speaker" if claims else "each person has one direction"
                echo(f"{what}; compare those of one speaker by their cosine, others cannot be compared", err=True)
    write_embeddings(made, release.output, overwrite=release.overwrite)
    print_written(release.output)
