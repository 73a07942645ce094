"""``zeroevidence demo``: the main job on bundled real data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from zeroevidence.cli.options.output import emit, table_options, terminal_progress
from zeroevidence.errors import UsageError

if TYPE_CHECKING:
    from zeroevidence.cli.options.output import Output


@click.command("demo")
@click.option("--files", metavar="DIR", help="Only write the bundled scores, keys and embeddings to DIR.")
@click.option("--report", metavar="FILE", help="Also write the HTML report of the audit.")
@table_options
def command(files: str | None, report: str | None, output: Output) -> None:
    """Audit bundled embeddings of real speech: spoken digits, protected in two ways, and read sentences, in a third.

    Attackers who know more and more compare protected recordings with each of 24 people who speak digits, and of 45 who
    read. The last attacker trained a speaker encoder on protected speech of others. Beside them stand the bounds:
    unprotected speech, and noise. `zeroevidence audit` does the same from audio.

    \b
    zeroevidence demo
    zeroevidence demo --report report.html
    zeroevidence demo --files data/
    """  # noqa: D301 (the mark that keeps lines apart is a control character, not two letters)
    if files is not None:
        _write_files(files, report, output)
        return
    from zeroevidence.report.audit_folder import audit_text
    from zeroevidence.report.document import document
    from zeroevidence.report.inputs import ReportInputs
    from zeroevidence.sample import PROTECTIONS, THREEFOLD
    from zeroevidence.sample.audits import DEMO_OPTIONS, sample_audit, trained_audit

    output.reserve(report)
    material = ReportInputs()
    audits = [
        sample_audit(kind, options=DEMO_OPTIONS, progress=terminal_progress(words, "attackers"))
        for kind, words in PROTECTIONS.items()
    ]
    audits.append(trained_audit(options=DEMO_OPTIONS, progress=terminal_progress(THREEFOLD, "attackers")))
    for audit in audits:
        material.add_audit(audit)
    if report is not None:
        title = "The bundled audit: how much do protected voices give away?"
        emit(document(material, title=title, command="zeroevidence demo --report report.html"), report)
    if output.format == "text" and output.path is None:
        for audit in audits:
            click.echo(audit_text(audit, signatures=output.signatures, measures=output.measures))
    else:
        output.emit(output.rendered(material.rows))


def _write_files(folder: str, report: str | None, output: Output) -> None:
    from zeroevidence.sample.files import write_sample

    if report is not None or output.path is not None or output.format != "text":
        raise UsageError("--files only writes the bundled data; leave out --report, -o and -f, or --files")
    for line in write_sample(folder, overwrite=output.overwrite):
        click.echo(line)
