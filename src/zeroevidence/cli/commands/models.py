"""``zeroevidence models``: the speaker encoders that are there, further ones, and whether they work."""

from __future__ import annotations

import sys

import click

from zeroevidence.errors import InputError, UsageError


@click.group("models", invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.pass_context
def command(context: click.Context) -> None:
    """List the speaker encoders that are installed, and what the others need; add one; check them.

    Nothing is fetched from a network. Added encoders are kept in a folder of the user, or in $ZEROEVIDENCE_HOME.

    \b
    zeroevidence models
    zeroevidence models add encoder.onnx --card card.json --name mine
    zeroevidence models add ecapa ecapa.onnx
    zeroevidence models check
    """  # noqa: D301 (the mark that keeps lines apart is a control character, not two letters)
    if context.invoked_subcommand is None:
        _listed()


@command.command("add")
@click.argument("what", metavar="[NAME] FILE", nargs=-1, required=True)
@click.option("--card", metavar="FILE", help="Model card, where none beside the model names it; FILE#NAME of several.")
@click.option("--name", metavar="NAME", help="What it will be called [default: as its card says].")
@click.option("--overwrite", is_flag=True, help="Replace an added encoder of that name.")
def add(what: tuple[str, ...], card: str | None, name: str | None, overwrite: bool) -> None:
    """Check an ONNX encoder and its card, and keep a copy of both under its name.

    FILE is the model, or its card. With the NAME of a published encoder that is known here no card is needed.
    """
    from zeroevidence.attack.encoders.adding import add_encoder
    from zeroevidence.attack.encoders.published import PUBLISHED_ENCODERS

    if len(what) > 2:
        raise UsageError(f"{len(what)} arguments; expected a file, or the name of a published encoder and a file")
    if len(what) == 1 and what[0].lower() in PUBLISHED_ENCODERS:
        raise UsageError(f"{what[0]}: nothing is fetched; expected its file, too: models add {what[0]} FILE")
    known = what[0] if len(what) == 2 else None
    added = add_encoder(what[-1], card=card, published=known, name=name, overwrite=overwrite)
    click.echo(f"added {added.name}: {added.card.file}, sha256 {added.card.sha256}")


@command.command("check")
@click.argument("names", nargs=-1, metavar="[NAME]...")
def check(names: tuple[str, ...]) -> None:
    """Embed a bundled utterance and compare, with all installed encoders or those named.

    Where the right embedding is known, the cosine to it is printed. Exits with 3 when an encoder fails.
    """
    from zeroevidence.attack.encoders.checking import check_encoders

    failed = 0
    for one in check_encoders(names):
        if one.problem is not None:
            failed += 1
            click.echo(f"{one.name}: {one.problem}")
        else:
            click.echo(f"{one.name}: ok" + ("" if one.cosine is None else f", cosine {one.cosine:.6f}"))
    if failed:
        sys.exit(InputError.exit_code)


def _listed() -> None:
    from zeroevidence.attack.encoders.inventory import inventory
    from zeroevidence.attack.extractors.extractor import DEFAULT_EXTRACTOR, EXTRACTORS

    there = inventory()
    for one in there.encoders:
        card, default = one.card, ", used unless another is named" if one.name == DEFAULT_EXTRACTOR else ""
        click.echo(f"{click.style(one.name, bold=True)}  ({one.source}{default})")
        click.echo(f"    {card.architecture or 'architecture not said'}; {card.licence or 'licence not said'}")
        click.echo(f"    {card.dim} dimensions, {card.sample_rate} Hz, {card.front_end}; {card.file}")
    click.echo("\nNames of extractors, and what each needs:\n")
    for family in EXTRACTORS.values():
        needs = f"pip install 'zeroevidence[{family.extra}]'" + (f"; {family.needs}" if family.needs else "")
        click.echo(click.style(", or ".join(family.forms), bold=True))
        click.echo(f"    {family.title}; needs {needs}")
    for problem in there.problems:
        click.echo(str(problem), err=True)
    if there.problems:
        sys.exit(InputError.exit_code)
