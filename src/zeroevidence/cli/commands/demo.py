"""Audit bundled embeddings of real speech, to see what results look like."""

from __future__ import annotations

from dataclasses import dataclass

import click

from zeroevidence.cli.declare import options_of, run_options, shared
from zeroevidence.cli.output import Output, output_options, print_written
from zeroevidence.cli.printing import echo, working
from zeroevidence.data.writing import write_file
from zeroevidence.errors import UsageError
from zeroevidence.run import Run, setting

_NEXT = (
    "Next: `zeroevidence audit original/ --anonymised anonymised/ -o out/` does this with your own speech; "
    "`zeroevidence demo --report report.html` writes the page, and --verbose prints every attacker and number.",
)


@dataclass(frozen=True, slots=True)
class _Extras:
    """What is done with the bundled data beside the usual."""

    files: str | None = setting(
        None, "Write the bundled scores, keys and embeddings to DIR, and audit nothing.", metavar="DIR"
    )
    verbose: bool = shared("--verbose", "every attacker, and the cards of the attackers")
    report: str | None = shared("--report", "none is written unless given")


@click.command("demo")
@options_of(_Extras, "extras")
@run_options()
@output_options("measures", "estimate", "signatures")
def command(extras: _Extras, run: Run, output: Output) -> None:
    """Audit bundled embeddings of real speech: digits under two protections, and sentences under two others.

    Attackers of increasing knowledge compare protected recordings with each of 24 people who speak digits, and of 41 to
    45 who read sentences. On the sentences the last attacker has trained a speaker encoder on protected speech of other
    people. Beside them stand unprotected speech and guessing. Three protections change the voice; the last writes down
    the words and lets one voice read them. `zeroevidence audit` does the same with your own audio.

    \b
    zeroevidence demo
    zeroevidence demo --verbose
    zeroevidence demo --report report.html
    zeroevidence demo --files data/
    """  # noqa: D301 (\b is a control character here)
    if extras.files is not None:
        from zeroevidence.sample import write_sample

        if extras.report is not None or output.path is not None or output.format != "text":
            raise UsageError("--files only writes the bundled data; expected no --report, -o or -f with it")
        for line in write_sample(extras.files, overwrite=output.overwrite):
            echo(line)
        return
    output.reserve(extras.report)
    with working("auditing four protections of bundled speech, which takes about half a minute"):
        text = _audit(extras, run, output)
    output.emit(text)


def _audit(extras: _Extras, run: Run, output: Output) -> str:
    """Audit the bundled embeddings, write the report where one is wanted, and return what is to be printed."""
    from zeroevidence.report.document import audit_text, document, overview_text
    from zeroevidence.report.inputs import ReportInputs, ReportOptions
    from zeroevidence.sample import DEMO_OPTIONS, PROTECTIONS, cascade_audit, sample_audit, trained_audit

    content = ReportInputs()
    audits = [sample_audit(kind, options=DEMO_OPTIONS, run=run) for kind in PROTECTIONS]
    audits += [trained_audit(options=DEMO_OPTIONS, run=run), cascade_audit(options=DEMO_OPTIONS, run=run)]
    for audit in audits:
        content.add_audit(audit)
    if extras.report is not None:
        title = "The bundled audit: how much do protected recordings disclose?"
        options = ReportOptions(title, "zeroevidence demo --report report.html")
        write_file(extras.report, document(content, options=options), overwrite=output.overwrite)
        print_written(extras.report)
    if output.format != "text" or output.path is not None:
        return output.render(content.rows)
    if not extras.verbose:
        return overview_text(audits, _NEXT)
    return "".join(f"{audit_text(audit, **output.shown, verbose=True)}\n" for audit in audits)
