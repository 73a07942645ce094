"""Protect embeddings with a fitted model."""

from __future__ import annotations

import click

from zeroevidence.cli.options import shared
from zeroevidence.cli.options.output import print_written
from zeroevidence.data.files.writing import refuse_existing


@click.command("apply")
@click.argument("model")
@click.argument("embeddings")
@click.option(
    "--llr",
    type=float,
    help="Set the evidence to this LLR (natural logarithm) instead of 0; flow with two classes only.",
)
@click.option(
    "--noise-key",
    metavar="FILE",
    help="Draw noise for each person from the secret in this file, instead of from one that is drawn anew and kept by "
    "nobody: whoever has the secret can subtract it and verify as without noise, but vectors of one person can be "
    "linked, in all releases with this secret.",
)
@click.option("--noise-seed", type=click.IntRange(0), help="Draw the same noise each time, for experiments only.")
@shared.output("the protected embeddings", required=True, metavar="FILE.npz")
@shared.overwrite()
def command(
    model: str,
    embeddings: str,
    llr: float | None,
    noise_key: str | None,
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
    from zeroevidence.protect.fitting import protect_embeddings, read_noise_key
    from zeroevidence.protect.models import load_model

    check_name(output)
    refuse_existing(output, overwrite)
    secret = None if noise_key is None else read_noise_key(noise_key)
    fitted, unprotected = load_model(model), read_embeddings(embeddings)
    with naming_file(embeddings):
        protected = protect_embeddings(fitted, unprotected, llr=llr, noise_key=secret, noise_seed=noise_seed)
    write_embeddings(protected, output, overwrite=overwrite)
    print_written(output)
