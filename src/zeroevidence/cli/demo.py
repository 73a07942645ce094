"""``zeroevidence demo``: the main job on bundled real data."""

from __future__ import annotations

import click

from zeroevidence.cli.audit import show
from zeroevidence.cli.output import emit, output_options, progress_of, refuse_existing


@click.command("demo")
@output_options
def command(output_format: str, output: str | None, overwrite: bool) -> None:
    """Audit bundled embeddings of real speech: 60 people speaking digits, protected in two ways.

    Attackers who know more and more compare two protected digits with four digits of each of 24 enrolled people. Beside
    them stand the bounds: unprotected speech, and noise. The same from audio is `zeroevidence audit`.
    """
    from zeroevidence.audit import audit_embeddings
    from zeroevidence.evaluation import Options
    from zeroevidence.report import render
    from zeroevidence.sample import EXTRACTOR, PROTECTIONS, sample_sets

    refuse_existing(output, overwrite)
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
    if output_format == "text" and output is None:
        for audit in audits:
            show(audit)
            click.echo()
    else:
        emit(render([row for audit in audits for row in audit.rows], output_format), output)
