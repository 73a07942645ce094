"""``zeroevidence demo``: the main job on bundled real data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from zeroevidence.cli.audit import show
from zeroevidence.cli.output import emit, output_options, progress_of, refuse_existing
from zeroevidence.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from zeroevidence.audit import Audit
    from zeroevidence.evaluation import Evaluation


@click.command("demo")
@click.option("--files", metavar="DIR", help="Only write the bundled scores, keys and embeddings to DIR.")
@click.option("--report", metavar="FILE", help="Also write the HTML report of the audit.")
@output_options
def command(files: str | None, report: str | None, output_format: str, output: str | None, overwrite: bool) -> None:
    """Audit bundled embeddings of real speech: 60 people speaking digits, protected in two ways.

    Attackers who know more and more compare two protected digits with four digits of each of 24 enrolled people. Beside
    them stand the bounds: unprotected speech, and noise. The same from audio is `zeroevidence audit`.

    \b
    zeroevidence demo
    zeroevidence demo --report report.html
    zeroevidence demo --files data/
    """  # noqa: D301 (the mark that keeps lines apart is a control character, not two letters)
    if files is not None:
        if report is not None or output is not None or output_format != "text":
            raise UsageError("--files only writes the bundled data; leave out --report, -o and -f, or --files")
        from zeroevidence.cli.sample_files import write_sample

        write_sample(files, overwrite=overwrite)
        return
    from zeroevidence.audit import audit_embeddings
    from zeroevidence.evaluation import Options
    from zeroevidence.report import render
    from zeroevidence.sample import EXTRACTOR, PROTECTIONS, sample_sets

    for path in (report, output):
        refuse_existing(path, overwrite)
    audits = [
        audit_embeddings(
            sample_sets("original"),
            sample_sets(kind),
            backends=("cosine",),
            options=Options(intervals=400, null=100),
            system=protector,
            dataset="audiomnist",
            extractor=EXTRACTOR,
            progress=progress_of(protector, "attackers"),
        )
        for kind, protector in PROTECTIONS.items()
    ]
    if report is not None:
        emit(_report(audits), report)
    if output_format == "text" and output is None:
        for audit in audits:
            show(audit)
            click.echo()
    else:
        emit(render([row for row, _ in _parts(audits)], output_format), output)


def _parts(audits: Sequence[Audit]) -> list[tuple[Evaluation, dict[str, Any]]]:
    """Rows with their attackers' cards; bounds are the same for both protections and come once."""
    from zeroevidence.report.verdict_rows import BOUNDS, name_of

    return [
        (row, card.to_dict())
        for number, audit in enumerate(audits)
        for row, card in zip(audit.rows, audit.cards, strict=True)
        if number == 0 or name_of(row) not in BOUNDS
    ]


def _report(audits: Sequence[Audit]) -> str:
    from zeroevidence.report.html import to_html

    parts = _parts(audits)
    return to_html(
        [row for row, _ in parts],
        cards=[card for _, card in parts],
        title="The bundled audit: how much do protected voices give away?",
        command="zeroevidence demo --report report.html",
    )
