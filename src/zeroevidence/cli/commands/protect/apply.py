"""``zeroevidence protect apply``: embeddings through a fitted protector."""

from __future__ import annotations

import click

from zeroevidence.cli.options.output import overwrite_option, wrote
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
    help="Draw noise for each person, by the secret in this file, instead of for each vector: who holds it can verify "
    "as before, but vectors of one person can be linked.",
)
@click.option("--noise-seed", type=click.IntRange(0), help="Draw the same noise each time: for experiments only.")
@click.option("-o", "--output", required=True, metavar="FILE.npz", help="Where to write the protected embeddings.")
@overwrite_option
def command(
    model: str,
    embeddings: str,
    llr: float | None,
    noise_key: str | None,
    noise_seed: int | None,
    output: str,
    overwrite: bool,
) -> None:
    """Protect EMBEDDINGS with a fitted MODEL; identifiers, speakers and other columns stay, the attribute goes."""
    from zeroevidence.data.files.errors import naming_file
    from zeroevidence.data.formats.vectors.read import read_embeddings
    from zeroevidence.data.formats.vectors.write import check_name, write_embeddings
    from zeroevidence.protect.fitting import protect_embeddings, read_noise_key
    from zeroevidence.protect.models import load_model

    check_name(output)
    refuse_existing(output, overwrite)
    key = None if noise_key is None else read_noise_key(noise_key)
    fitted, given = load_model(model), read_embeddings(embeddings)
    with naming_file(embeddings):
        protected = protect_embeddings(fitted, given, llr=llr, noise_key=key, noise_seed=noise_seed)
    write_embeddings(protected, output, overwrite=overwrite)
    wrote(output)
