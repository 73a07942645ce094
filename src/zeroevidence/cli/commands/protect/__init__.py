"""Conceal an attribute in embeddings: fit a protector, apply it, evaluate it."""

from __future__ import annotations

import click

from zeroevidence.cli.lazy import LazyGroup


@click.group("protect", cls=LazyGroup, package=__name__, order=("fit", "apply", "evaluate"))
def command() -> None:
    """Conceal an attribute such as sex in embeddings: fit a protector, apply it, evaluate what attackers still learn.

    Embeddings are read from npz, Parquet, Kaldi ark, torch or npy files; npz and Parquet may hold the attribute as a
    column of strings or numbers. Speakers should remain recognisable in protected embeddings.

    \b
    zeroevidence protect evaluate embeddings.npz --attribute sex
    zeroevidence protect fit train.npz --attribute sex -o model/
    zeroevidence protect apply model/ embeddings.npz -o protected.npz
    """  # noqa: D301 (\b is a control character here)
