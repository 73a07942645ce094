"""Fit a protector to labelled embeddings and write it to a folder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from zeroevidence.cli.options import shared
from zeroevidence.cli.options.labelled_embeddings import (
    LabelledInputs,
    labelled_inputs,
    limit_options,
    paper_option,
    parameter_options,
    refuse_with,
)
from zeroevidence.cli.options.output import print_written, terminal_progress
from zeroevidence.cli.printing import echo
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
    from zeroevidence.protect.tradeoff.strengths import Limit


@click.command("fit")
@labelled_inputs
@shared.keep(f"{', '.join(protectors_that_keep())} only")
@shared.protector(
    f"{DEFAULT_PROTECTOR} unless given ({DEFAULT_NUMBER_PROTECTOR} with --continuous), or with --budget or --target "
    f"the best of {', '.join(quick_protectors())}",
    name="kind",
    type=click.Choice(list(ATTRIBUTE_PROTECTORS)),
)
@limit_options
@paper_option
@parameter_options
@shared.seed()
@shared.output("a folder for the model", required=True, metavar="FOLDER")
@shared.overwrite()
def command(
    inputs: LabelledInputs,
    keep: str | None,
    kind: str | None,
    limit: Limit | None,
    paper: bool,
    parameters: dict[str, Any],
    seed: int,
    output: str,
    overwrite: bool,
) -> None:
    """Fit a protector to EMBEDDINGS and write it to a folder, as safetensors and JSON."""
    from zeroevidence.data.files.locking import lock_folder
    from zeroevidence.protect.assessment.systems import zero_entry_flags
    from zeroevidence.protect.models import check_new, save_model

    check_new(output, overwrite=overwrite)
    if inputs.continuous:
        kind = _number_protector(kind, inputs)
        refuse_with("--continuous", **{"budget or --target": limit}, keep=keep, paper=paper)
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
        save_model(model, output, overwrite=overwrite)
    print_written(output)
    protector = model.protector
    if limit is not None:
        strength = protector.get_params()[protector.dial]
        echo(f"{limit}: {protector.kind}, {protector.dial} {strength:g}, by cross-validation over people", err=True)
    if data.speakers is None:
        echo("speakers are not known: early stopping used vectors of people that it was trained on", err=True)
    for flag in zero_entry_flags(data.vectors):
        echo(flag, err=True)
    history = getattr(protector, "history_", None)
    if history is not None:
        epochs = max(len(history.losses) - 1, history.best)
        error = f"inversion error {protector.inversion_error_:.1g} standard deviations"
        echo(f"{protector.kind}: best after {history.best} of {epochs} epochs, {error}", err=True)


def _number_protector(kind: str | None, inputs: LabelledInputs) -> str:
    """Return the protector of a number; one of classes is refused."""
    kind = kind or DEFAULT_NUMBER_PROTECTOR
    if ATTRIBUTE_PROTECTORS.find(kind).conceals != "number":
        raise UsageError(
            f"{kind} conceals classes: give --bands instead of --continuous, or use {DEFAULT_NUMBER_PROTECTOR}"
        )
    if inputs.bands is not None:
        raise UsageError("--bands and --continuous: a protector is fitted to one of them")
    return kind
