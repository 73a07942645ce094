"""List, add and check speaker encoders."""

from __future__ import annotations

import sys

import click

from zeroevidence.cli.declare import shared_option
from zeroevidence.cli.printing import echo, echo_lines
from zeroevidence.errors import InputError, UsageError


@click.group("models", invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """List the speaker encoders that are installed, and what others need; add one; check them.

    Nothing is downloaded. Added encoders are kept in a folder of the user, or in $ZEROEVIDENCE_HOME.

    \b
    zeroevidence models
    zeroevidence models add encoder.onnx --card card.json --as mine
    zeroevidence models add ecapa ecapa.onnx
    zeroevidence models check
    """  # noqa: D301 (\b is a control character here)
    if context.invoked_subcommand is None:
        _list()


@command.command("add", short_help="Add an ONNX encoder.")
@click.argument("arguments", metavar="[NAME] FILE", nargs=-1, required=True)
@click.option("--card", metavar="FILE", help="Model card, if none lies beside the model; FILE#NAME if it has several.")
@click.option("--as", "name", metavar="NAME", help="Name of the encoder here [default: that of its card].")
@shared_option("--overwrite", bool, "an added encoder of that name")
def add(arguments: tuple[str, ...], card: str | None, name: str | None, overwrite: bool) -> None:
    """Check an ONNX encoder and its card, and keep a copy of both under its name.

    FILE is the model, or its card. Published encoders that are known by NAME need no card.
    """
    from zeroevidence.attack.encoders import PUBLISHED_ENCODERS, add_encoder

    if len(arguments) > 2:
        raise UsageError(f"{len(arguments)} arguments; expected a file, or the name of a published encoder and a file")
    if len(arguments) == 1 and arguments[0].lower() in PUBLISHED_ENCODERS:
        raise UsageError(
            f"{arguments[0]}: nothing is downloaded; expected its file, too: models add {arguments[0]} FILE"
        )
    published = arguments[0] if len(arguments) == 2 else None
    encoder = add_encoder(arguments[-1], card=card, published=published, name=name, overwrite=overwrite)
    echo(f"added {encoder.name}: {encoder.card.file}, sha256 {encoder.card.sha256}")


@command.command("check", short_help="Check that encoders compute what they should.")
@click.argument("names", nargs=-1, metavar="[NAME]...")
def check(names: tuple[str, ...]) -> None:
    """Embed a bundled utterance with all installed encoders, or with those named.

    Where the right embedding is known, its cosine to the computed one is printed. Exits with 3 if an encoder fails,
    with 0 if none does.
    """
    from zeroevidence.attack.encoders import check_encoders

    failed = 0
    for result in check_encoders(names):
        cosine = "" if result.cosine is None else f", cosine {result.cosine:.6f}"
        echo(f"{result.name}: {result.problem or 'ok' + cosine}")
        failed += result.problem is not None
    if failed:
        sys.exit(InputError.exit_code)


def _list() -> None:
    """Print the installed encoders, and the names of extractors with what each needs."""
    from zeroevidence.attack.encoders import inventory
    from zeroevidence.attack.extractors import DEFAULT_EXTRACTOR, EXTRACTORS

    installed = inventory()
    for encoder in installed.encoders:
        card, default = encoder.card, ", the default" if encoder.name == DEFAULT_EXTRACTOR else ""
        echo(f"  ({encoder.source}{default})", heading=encoder.name)
        echo(f"    {card.architecture or 'architecture not stated'}; {card.licence or 'licence not stated'}")
        echo(f"    {card.dim} dimensions, {card.sample_rate} Hz, {card.front_end}; {card.file}")
    echo_lines("\nNames of extractors, and what each needs:\n\n")
    for family in EXTRACTORS.values():
        needs = f"pip install 'zeroevidence[{family.extra}]'" + (f"; {family.needs}" if family.needs else "")
        echo("", heading=", or ".join(family.forms))
        echo(f"    {family.title}; needs {needs}")
    for problem in installed.problems:
        echo(problem, err=True)
    if installed.problems:
        sys.exit(InputError.exit_code)
