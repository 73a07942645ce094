"""``zeroevidence protect``: take an attribute out of embeddings, and see what is left of it."""

from __future__ import annotations

import click

from zeroevidence.cli.lazy import LazyGroup

_COMMANDS = {
    "fit": "Fit a protector to embeddings and write it to a folder.",
    "apply": "Protect embeddings with a fitted model.",
    "evaluate": "Measure how much of the attribute is left, and how well speakers are still told apart.",
}


@click.group(
    "protect",
    cls=LazyGroup,
    home="zeroevidence.cli.commands.protect",
    summaries=_COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"]},
)
def command() -> None:
    """Remove the evidence about an attribute from embeddings: fit a protector, apply it, evaluate what is left.

    Embeddings are read from npz, Parquet, Kaldi ark, torch or npy files; npz and Parquet may hold the attribute as a
    column of words or numbers. The rest of the vectors should survive, so that speakers can still be told apart.

    \b
    zeroevidence protect evaluate embeddings.npz --attribute sex
    zeroevidence protect fit train.npz --attribute sex -o model/
    zeroevidence protect apply model/ embeddings.npz -o protected.npz
    """  # noqa: D301 (the mark that keeps lines apart is a control character, not two letters)
