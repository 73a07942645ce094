"""Protect embeddings with a fitted model."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from zeroevidence.cli.options import shared
from zeroevidence.cli.options.output import print_written
from zeroevidence.cli.printing import echo
from zeroevidence.data.embeddings import require_speakers
from zeroevidence.data.files.writing import refuse_existing
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
    "--noise-for",
    type=click.Choice(["people", "vectors"]),
    default="people",
    show_default=True,
    help="people: where speakers are named and the model adds noise, a key also draws an offset for each person, and "
    "vectors of one person differ by chance alone, so that many of them tell hardly more than one; but they can be "
    "linked. vectors: noise for each vector alone.",
)
@click.option(
    "--noise-key",
    metavar="FILE",
    help="Secret that the offsets are drawn from; written where there is none [default: MODEL.key]. Whoever has it can "
    "subtract them.",
)
@click.option("--subtract", is_flag=True, help="EMBEDDINGS are protected: only subtract the offsets of --noise-key.")
@click.option("--noise-seed", type=click.IntRange(0), help="Draw the same noise each time, for experiments only.")
@shared.output("the protected embeddings", required=True, metavar="FILE.npz")
@shared.overwrite()
def command(
    model: str,
    embeddings: str,
    llr: float | None,
    noise_for: Literal["people", "vectors"],
    noise_key: str | None,
    subtract: bool,
    noise_seed: int | None,
    output: str,
    overwrite: bool,
) -> None:
    """Protect EMBEDDINGS with a fitted MODEL.

    Identifiers, speakers and other columns stay; the column of the attribute is removed.
    """
    from zeroevidence.data.files.errors import naming_file
    from zeroevidence.data.formats.vectors.read import read_embeddings
    from zeroevidence.data.formats.vectors.write import check_name, write_embeddings
    from zeroevidence.protect.applying import protect_embeddings, read_noise_key, subtract_offsets, write_noise_key
    from zeroevidence.protect.models import load_model

    check_name(output)
    refuse_existing(output, overwrite)
    if noise_key is not None and (noise_for == "vectors" or llr is not None):
        raise UsageError("--noise-key goes without --noise-for vectors and --llr")
    if subtract and noise_key is None:
        raise UsageError("--subtract: name the --noise-key whose offsets are subtracted")
    fitted, data = load_model(model), read_embeddings(embeddings)
    with naming_file(embeddings):
        if subtract:
            made = subtract_offsets(fitted, data, read_noise_key(str(noise_key)))
        else:
            by_person = noise_for == "people" and data.speakers is not None and fitted.protector.noise > 0.0
            secret = None
            if noise_key is not None or (by_person and llr is None):
                path = Path(noise_key or f"{model.rstrip('/')}.key")
                if not path.exists():
                    require_speakers(data)
                    secret = write_noise_key(path)
                    print_written(path)
                    echo("whoever has this key can subtract the offsets of people: keep it secret", err=True)
                secret = read_noise_key(path)
            made = protect_embeddings(fitted, data, llr=llr, noise_key=secret, noise_seed=noise_seed)
            if secret is not None:
                echo("vectors of one person can be linked, in everything protected with this key", err=True)
    write_embeddings(made, output, overwrite=overwrite)
    print_written(output)
