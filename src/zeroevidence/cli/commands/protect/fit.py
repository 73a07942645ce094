"""``zeroevidence protect fit``: a protector from labelled embeddings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from zeroevidence.cli.options.declare import setting
from zeroevidence.cli.options.labelled import labelled_inputs, limit_options, parameter_options
from zeroevidence.cli.options.output import terminal_progress, wrote
from zeroevidence.data.files.errors import naming_file
from zeroevidence.errors import UsageError
from zeroevidence.protect.attributes import ATTRIBUTE_PROTECTORS
from zeroevidence.protect.fitting import (
    DEFAULT_NUMBER_PROTECTOR,
    DEFAULT_PROTECTOR,
    fit_protector,
    protectors_that_keep,
)
from zeroevidence.protect.tradeoff.strengths import quick_protectors

if TYPE_CHECKING:
    from zeroevidence.cli.options.labelled import LabelledInputs
    from zeroevidence.protect.tradeoff.strengths import Limit


@click.command("fit")
@labelled_inputs
@click.option(
    "--keep", metavar="NAME", help=f"A second attribute that must survive ({', '.join(protectors_that_keep())} only)."
)
@click.option(
    "--protector",
    "kind",
    type=click.Choice(list(ATTRIBUTE_PROTECTORS)),
    help=f"What to fit; {DEFAULT_PROTECTOR} unless given ({DEFAULT_NUMBER_PROTECTOR} with --continuous), or the best "
    f"of {', '.join(quick_protectors())} within a limit.",
)
@limit_options
@click.option("--paper", is_flag=True, help="The flow as published: all dimensions, Adam 1e-4, batches of 64.")
@parameter_options
@setting(fit_protector, "seed", type=click.IntRange(0), help="Seed of all random choices.")
@click.option("-o", "--output", required=True, metavar="FOLDER", help="A new folder for the model.")
def command(
    inputs: LabelledInputs,
    keep: str | None,
    kind: str | None,
    limit: Limit | None,
    paper: bool,
    parameters: dict[str, Any],
    seed: int,
    output: str,
) -> None:
    """Fit a protector to EMBEDDINGS and write it to a folder (safetensors and JSON)."""
    from zeroevidence.data.files.locking import lock_folder
    from zeroevidence.protect.assessment.systems import zero_entry_flags
    from zeroevidence.protect.models import check_new, save_model

    check_new(output)
    if inputs.continuous:
        kind = _of_numbers(kind, inputs, limit or keep or paper)
    data = inputs.read()
    with lock_folder(output), naming_file(inputs.embeddings):
        model = fit_protector(
            data,
            inputs.attribute,
            kind,
            keep=keep,
            parameters=parameters,
            preset="paper" if paper else None,
            limit=limit,
            seed=seed,
            progress=terminal_progress("training", "epochs"),
        )
        save_model(model, output)
    wrote(output)
    if limit is not None:
        made = model.protector
        strength = made.get_params()[made.dial]
        click.echo(f"{limit}: {made.kind}, {made.dial} {strength:g}, by cross-validation over people", err=True)
    if data.speakers is None:
        click.echo("speakers are not known: early stopping saw vectors of people it was trained on", err=True)
    for flag in zero_entry_flags(data.vectors):
        click.echo(str(flag), err=True)
    history = getattr(model.protector, "history_", None)
    if history is not None:
        epochs = max(len(history.losses) - 1, history.best)
        error = f"inversion error {model.protector.inversion_error_:.1g} standard deviations"
        click.echo(f"{model.protector.kind}: best after {history.best} of {epochs} epochs, {error}", err=True)


def _of_numbers(kind: str | None, inputs: LabelledInputs, others: object) -> str:
    """The protector of a number; options that are for classes are refused."""
    kind = kind or DEFAULT_NUMBER_PROTECTOR
    if ATTRIBUTE_PROTECTORS.find(kind).conceals != "number":
        raise UsageError(
            f"{kind} conceals classes: give --bands instead of --continuous, or use {DEFAULT_NUMBER_PROTECTOR}"
        )
    if inputs.bands is not None:
        raise UsageError("--bands and --continuous: a protector is fitted to one of them")
    if others:
        raise UsageError("--continuous goes without --budget, --target, --keep and --paper, which are for classes")
    return kind
