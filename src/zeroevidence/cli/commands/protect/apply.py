"""Protect embeddings with a fitted model."""

from __future__ import annotations

from pathlib import Path

import click

from zeroevidence.cli.options import shared
from zeroevidence.cli.options.output import print_written
from zeroevidence.cli.printing import echo
from zeroevidence.data.embeddings import require_speakers
from zeroevidence.data.writing import refuse_existing
from zeroevidence.errors import UsageError


@click.command("apply")
@click.argument("model")
@click.argument("embeddings")
@click.option(
    "--llr",
    type=float,
    help="Set the evidence to this LLR (natural logarithm) instead of 0; flow with two classes only.",
)
@click.option(
    "--rotation-key",
    metavar="FILE",
    help="Secret that a rotation of each person's mean direction is drawn from; written where there is none [default: "
    "MODEL.key where speakers are named and the model adds noise]. Without it, vectors of a person tell nothing, "
    "however many there are; whoever has it can rotate them back.",
)
@click.option(
    "--claims",
    is_flag=True,
    help="Speakers are those whom vectors are to be compared with, by their cosine: rotate each vector by itself.",
)
@click.option(
    "--no-rotation",
    is_flag=True,
    help="Only add noise to each vector: people can be compared with each other, and many vectors of a person tell "
    "more than one.",
)
@click.option("--rotate-back", is_flag=True, help="EMBEDDINGS were rotated by --rotation-key: only rotate them back.")
@click.option("--noise-seed", type=click.IntRange(0), help="Draw the same noise each time, for experiments only.")
@shared.output("the protected embeddings", required=True, metavar="FILE.npz")
@shared.overwrite()
def command(
    model: str,
    embeddings: str,
    llr: float | None,
    rotation_key: str | None,
    claims: bool,
    no_rotation: bool,
    rotate_back: bool,
    noise_seed: int | None,
    output: str,
    overwrite: bool,
) -> None:
    """Protect EMBEDDINGS with a fitted MODEL.

    Identifiers, speakers and other columns stay; the column of the attribute is removed.
    """
    from zeroevidence.data.files import naming_file
    from zeroevidence.data.formats.vectors.read import check_name, read_embeddings, write_embeddings
    from zeroevidence.protect import models
    from zeroevidence.protect.models import load_model

    check_name(output)
    refuse_existing(output, overwrite)
    if rotation_key is not None and (no_rotation or llr is not None):
        raise UsageError("--rotation-key goes without --no-rotation and --llr")
    if rotate_back and rotation_key is None:
        raise UsageError("--rotate-back: name the --rotation-key that the vectors were rotated by")
    fitted, data = load_model(model), read_embeddings(embeddings)
    with naming_file(embeddings):
        if rotate_back:
            made = models.rotate_back(fitted, data, models.read_rotation_key(str(rotation_key)))
        else:
            usual = not no_rotation and llr is None and data.speakers is not None and fitted.protector.noise > 0.0
            secret = None
            if rotation_key is not None or usual:
                path = Path(rotation_key or f"{model.rstrip('/')}.key")
                if not path.exists():
                    require_speakers(data)
                    models.write_rotation_key(path)
                    print_written(path)
                    echo("whoever has this key can rotate the vectors back: keep it from whoever gets them", err=True)
                secret = models.read_rotation_key(path)
            if claims and secret is None:
                raise UsageError("--claims: name the --rotation-key that enrolled people were rotated by")
            made = models.protect_embeddings(
                fitted, data, llr=llr, rotation_key=secret, claims=claims, noise_seed=noise_seed
            )
            if secret is not None:
                what = "each vector was rotated as one of its speaker" if claims else "each person has one direction"
                echo(f"{what}; compare those of one speaker by their cosine, others cannot be compared", err=True)
    write_embeddings(made, output, overwrite=overwrite)
    print_written(output)
