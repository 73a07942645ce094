"""Reports and audits as documents: one page or its tables, a folder of files, text for a terminal."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from zeroevidence.data.writing import write_file
from zeroevidence.errors import UsageError
from zeroevidence.evaluation.finding.chance import strongest_row
from zeroevidence.evaluation.finding.facts import SystemAttackers
from zeroevidence.evaluation.results import to_json
from zeroevidence.evaluation.rows.measure_result import NO_VALUE
from zeroevidence.measure.search.rank import guessing_rate
from zeroevidence.parallel import compute_each
from zeroevidence.report import render
from zeroevidence.report.comparisons import render_comparisons
from zeroevidence.report.evaluations import evaluations_to_text
from zeroevidence.report.inputs import DOCUMENT_FORMATS, ReportInputs, ReportOptions
from zeroevidence.report.layout import interval_title, raised_flags
from zeroevidence.report.people import speaker_table, trial_table, write_table
from zeroevidence.report.table import Block, Cell, Content, Table, Tables, names_column, numbers_column, result_cell
from zeroevidence.report.verdict import Verdict, verdict
from zeroevidence.report.verdict.others import comparison_verdict
from zeroevidence.report.verdict.summary import NEXT_COMMANDS, short_sentence
from zeroevidence.report.writers import write_tables
from zeroevidence.run import Run

if TYPE_CHECKING:
    from zeroevidence.auditing import Audit

_RESULT = "result.json"
_USUAL = ReportOptions()


def assessment_text(inputs: ReportInputs) -> str:
    """Return the finding as one paragraph for a data protection impact assessment.

    Results that are not about who somebody is have no such paragraph; theirs is the conclusion with its reasons.
    """
    conclusion = verdict(inputs.rows) if inputs.rows else comparison_verdict(inputs.comparisons)
    reasons = " ".join(conclusion.summary) or conclusion.paragraph
    return f"{conclusion.assessment or f'{conclusion.headline}. {reasons}'}\n".replace("\u00a0", " ")


def document(inputs: ReportInputs, format: str = "html", options: ReportOptions = _USUAL) -> str:
    """Return the report in one of `DOCUMENT_FORMATS`: ``html`` for the page, else the tables alone."""
    if format == "html":
        from zeroevidence.report.page import to_html

        return to_html(inputs, options)
    if format not in DOCUMENT_FORMATS:
        raise UsageError(f"unknown format {format!r}; expected one of {', '.join(DOCUMENT_FORMATS)}")
    parts = []
    if inputs.rows:
        parts.append(render(inputs.rows, format, measures=options.measures, estimate=options.estimate))
    if inputs.comparisons:
        parts.append(render_comparisons(inputs.comparisons, format))
    return "\n".join(parts)


def check_folder(folder: str | Path, *, overwrite: bool = False) -> Path:
    """Return the folder; refuse a file, and a folder with results that must not be replaced."""
    home = Path(folder)
    if home.exists() and not home.is_dir():
        raise UsageError(f"{folder}: is a file; expected a folder")
    if (home / _RESULT).exists() and not overwrite:
        raise UsageError(f"{folder}: holds results; --overwrite replaces them")
    return home


def save_audit(audit: Audit, folder: str | Path, *, overwrite: bool = False) -> list[Path]:
    """Write rows, scores, cards of attackers and protector, the finding, and the disclosure of each trial and speaker.

    Parameters
    ----------
    audit
        Results of every attacker.
    folder
        Created where it is missing.
    overwrite
        Whether results that are there are replaced; else they are an error.

    Returns
    -------
    list
        The files, ``result.json`` last, so that a folder without it is seen to be incomplete.

    Raises
    ------
    OutputError
        When a file cannot be written.
    """
    from zeroevidence.data.formats.attack_scores import write_attack_scores  # brings polars

    home = check_folder(folder, overwrite=overwrite)
    cards = _json([card.to_dict() for card in audit.cards])
    protector = {} if audit.protector is None else {"protector.json": _json(audit.protector.to_dict())}
    tables = {"trials.csv": trial_table(audit.rows), "speakers.csv": speaker_table(audit.rows)}
    result = to_json((*audit.rows, *audit.utility))
    texts = {"attackers.json": cards, **protector, "summary.txt": summary(audit), _RESULT: result}
    scores = [write_attack_scores(audit.scores, home)] if audit.scores else []
    for name, frame in tables.items():
        write_table(frame, home / name)
    for name, text in texts.items():
        write_file(home / name, text)
    return [*scores, *(home / name for name in (*tables, *texts))]


def save_report(
    audit: Audit,
    path: str | Path,
    *,
    measures: Sequence[str] | None = None,
    overwrite: bool = True,
    run: Run = Run(cores=1),
) -> Path:
    """Write the HTML report of an audit, replacing one that is there, with `overwrite` off only by the same.

    The workers of `run` draw the figures.

    Raises
    ------
    MissingExtra
        Without matplotlib or jinja2.
    """
    inputs = ReportInputs()
    inputs.add_audit(audit)
    each = partial(compute_each, run=replace(run, scheduler=None), little=True)
    text, place = document(inputs, options=ReportOptions(measures=measures, each=each)), Path(path)
    if overwrite or not place.is_file() or place.read_bytes() != text.encode():
        write_file(place, text, overwrite=overwrite)
    return place


def summary(audit: Audit) -> str:
    """Return the verdict: a headline, faults, three lines for everybody, what to run next, and the details."""
    conclusion = verdict(audit.rows)
    details = [f"{'In detail: ' if conclusion.summary else ''}{conclusion.paragraph}"]
    paragraphs = [*_first_paragraphs(audit, conclusion), *_next_paragraphs(conclusion), details]
    return "\n\n".join(map("\n".join, paragraphs)) + "\n"


def _first_paragraphs(audit: Audit, conclusion: Verdict) -> list[list[str]]:
    """The headline, faults, and what everybody reads, in paragraphs of lines."""
    flags = raised_flags((*audit.rows, *audit.utility))
    faults = [[f"Fault, {raised.name}: {raised.flag.sentence}"] for raised in flags if raised.flag.severity == "fault"]
    return [[conclusion.headline], *faults, *([list(conclusion.summary)] if conclusion.summary else [])]


def _next_paragraphs(conclusion: Verdict) -> list[list[str]]:
    """What to run next; a line that begins with a blank is to be copied and not broken."""
    return [[NEXT_COMMANDS, *(f"  {command}" for command in conclusion.commands)]] if conclusion.commands else []


def audit_text(
    audit: Audit,
    *,
    signatures: bool = False,
    measures: Sequence[str] | None = None,
    estimate: bool = False,
    verbose: bool = False,
) -> str:
    """Return the finding in a few lines, for a terminal.

    With `verbose`, the commands that come next, the details, the card of the attacker that counts and a table of all
    attackers follow; the table alone where one of the other parameters, which are those of `render`, asks for it.
    """
    from zeroevidence.report.text import terminal_console, wrap  # brings rich

    width, conclusion = terminal_console().width, verdict(audit.rows)
    paragraphs = _first_paragraphs(audit, conclusion) + (_next_paragraphs(conclusion) if verbose else [])
    paragraphs += [[conclusion.paragraph]] if verbose or not conclusion.summary else []
    lines = [line for paragraph in paragraphs for line in (*paragraph, *([""] if verbose else []))]
    lines += [f"Not tried: {'; '.join(audit.left_out)}."] if verbose and audit.left_out else []
    if not verbose:
        flags = raised_flags((*audit.rows, *audit.utility))
        codes = ", ".join(dict.fromkeys(raised.flag.code for raised in flags if raised.flag.severity != "fault"))
        untried = f"; attempts that could not be made: {len(audit.left_out)}" if audit.left_out else ""
        lines.append(f"Flags: {codes or 'none'}{untried}; --verbose says more.")
    text = "\n".join(part for line in lines for part in ([line] if line.startswith(" ") else wrap(line, width))) + "\n"
    if verbose:
        text += f"{audit.cards[audit.finding.strongest].to_text(width)}\n"
        text += "" if audit.protector is None else f"{audit.protector.to_text(width)}\n"
    if not (verbose or signatures or estimate or measures is not None):
        return text
    tables = (
        evaluations_to_text(rows, signatures=signatures, measures=measures, estimate=estimate, verbose=verbose)
        for rows in (audit.rows, audit.utility)
        if rows
    )
    return text + "\n".join(tables)


def _json(value: object) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


_ATTACKERS = ("who only compares", "who trained", "unprotected", "guessing")


def overview_text(audits: Sequence[Audit], following: Sequence[str]) -> str:
    """Return the verdict of each audit in two lines, the shares of right names as a table, and what comes next.

    Parameters
    ----------
    audits
        Audits that are searches through known people.
    following
        Lines at the end: what to run next.
    """
    blocks: list[Block] = []
    for audit in audits:
        system = audit.strongest.labels.get("system", "")
        blocks += [f"{system}: {verdict(audit.rows).headline}.", short_sentence(audit.finding), ""]
    title = f"Recordings that get the right name [%], with {interval_title(audits[0].strongest.setup.level)}"
    columns = (names_column("protection"), *map(numbers_column, _ATTACKERS))
    return write_tables(Tables([*blocks, Table(columns, tuple(map(_line, audits)), title), *following]), "text")


def _line(audit: Audit) -> tuple[Content, ...]:
    system, rows = audit.finding.systems[0], audit.rows
    guess = 100.0 * guessing_rate(rows[system.counting].counts)
    name = rows[system.counting].labels.get("system", "")
    places = (_best(audit, system, trained=False), _best(audit, system, trained=True), system.control)
    results = [None if place is None else rows[place].metrics.get("top1") for place in places]
    cells = [NO_VALUE if result is None else result_cell(result) for result in results]
    return (name, *cells, Cell(guess, format=".3g"))


def _best(audit: Audit, system: SystemAttackers, *, trained: bool) -> int | None:
    """The attacker of those who learned from protected speech, or of those who are known not to have."""
    training = "anonymised" if trained else "original"
    numbers = [
        i
        for i in system.attempts
        if (threat := audit.rows[i].about.threat) is not None and threat.trained_on == training
    ]
    return strongest_row(audit.rows, numbers, audit.finding.chance) if numbers else None
