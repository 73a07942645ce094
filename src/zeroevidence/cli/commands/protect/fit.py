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
)
from zeroevidence.cli.options.output import print_written, terminal_progress
from zeroevidence.cli.printing import echo
from zeroevidence.data.embeddings import NAMING_SPEAKERS
from zeroevidence.data.files.errors import naming_file
from zeroevidence.errors import UsageError
from zeroevidence.protect.attributes import ATTRIBUTE_PROTECTORS
from zeroevidence.protect.fitting import (
    DEFAULT_LIMIT,
    KEEPING_PROTECTOR,
    MANY_PEOPLE,
    PLAIN_PROTECTOR,
    cut_into_classes,
    fit,
    protectors_that_keep,
    why_not_verified,
)
from zeroevidence.protect.tradeoff.strengths import quick_protectors

if TYPE_CHECKING:
    from zeroevidence.protect.tradeoff.strengths import Limit


@click.command("fit")
@labelled_inputs
@shared.keep(f"{', '.join(protectors_that_keep())} only")
@shared.protector(
    f"unless given, the strongest within the budget of {', '.join(quick_protectors())} (from {MANY_PEOPLE} people on "
    f"also flow), for two or more classes; {KEEPING_PROTECTOR} without noise with --keep or --paper; and "
    f"{PLAIN_PROTECTOR} without noise where people are not named, or are too few, so that no EER can be computed",
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
    """Fit a protector to EMBEDDINGS and write it to a folder, as safetensors and JSON.

    Without --protector it is the strongest that costs at most one point of EER, chosen by cross-validation over people.
    """
    from zeroevidence.data.files.locking import lock_folder
    from zeroevidence.protect.assessment.labels import number_class_flags
    from zeroevidence.protect.assessment.systems import zero_entry_flags
    from zeroevidence.protect.models import check_new, save_model
    from zeroevidence.report.tables.protector_choice import choice_sentence, render_protector_choice

    check_new(output, overwrite=overwrite)
    if parameters and kind is None and keep is None and not paper:
        raise UsageError("--set: name the --protector that it is for")
    data = inputs.read()
    with lock_folder(output), naming_file(inputs.embeddings):
        reason = why_not_verified(cut_into_classes(data, inputs.attribute, inputs.classes)[0], inputs.attribute)
        searched = limit is not None or (kind is None and keep is None and not paper and reason is None)
        if searched:
            echo(f"choosing the strongest protection within {limit or DEFAULT_LIMIT}", err=True)
        model = fit(
            data,
            inputs.attribute,
            kind,
            classes=inputs.classes,
            keep=keep,
            parameters=parameters,
            preset="paper" if paper else None,
            limit=limit,
            seed=seed,
            progress=terminal_progress(*(("choosing", "steps") if searched else ("training", "epochs"))),
        )
        save_model(model, output, overwrite=overwrite)
    print_written(output)
    protector = model.protector
    if model.choice is not None:
        echo(choice_sentence(model.choice), err=True)
        echo(render_protector_choice(model.choice, inputs.attribute), err=True)
    elif kind is None and keep is None and not paper:
        echo(f"{reason}, so no EER can be computed: {protector.kind} without noise", err=True)
    if data.speakers is None:
        echo(
            "speakers are not known: early stopping used vectors of people that it was trained on; name them by "
            f"{NAMING_SPEAKERS}",
            err=True,
        )
    for flag in (*zero_entry_flags(data.vectors), *number_class_flags(inputs.attribute, model.boundaries)):
        echo(flag, err=True)
    history = getattr(protector, "history_", None)
    if history is not None:
        epochs = max(len(history.losses) - 1, history.best)
        error = f"inversion error {protector.inversion_error_:.1g} standard deviations"
        echo(f"{protector.kind}: best after {history.best} of {epochs} epochs, {error}", err=True)
