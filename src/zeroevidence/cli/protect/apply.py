"""``zeroevidence protect apply``: embeddings through a fitted protector."""

from __future__ import annotations

import click

from zeroevidence.cli.output import overwrite_option, wrote
from zeroevidence.data.writing import refuse_existing


@click.command("apply")
@click.argument("model")
@click.argument("embeddings")
@click.option(
    "--llr",
    type=float,
    help="Set the evidence to this LLR (natural logarithm) instead of 0; flow with two classes only.",
)
@click.option("-o", "--output", required=True, metavar="FILE.npz", help="Where to write the protected embeddings.")
@overwrite_option
def command(model: str, embeddings: str, llr: float | None, output: str, overwrite: bool) -> None:
    """Protect EMBEDDINGS with a fitted MODEL; identifiers, speakers and other columns stay, the attribute goes."""
    from zeroevidence.data.formats import read_embeddings, write_embeddings
    from zeroevidence.data.formats.vectors.write import check_name
    from zeroevidence.protect.fitting import protect_embeddings
    from zeroevidence.protect.models import load_model

    check_name(output)
    refuse_existing(output, overwrite)
    protected = protect_embeddings(load_model(model), read_embeddings(embeddings), llr=llr)
    write_embeddings(protected, output, overwrite=overwrite)
    wrote(output)
