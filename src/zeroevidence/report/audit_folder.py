"""The folder of an audit: all results, in files that other commands read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from zeroevidence.auditing import Audit
from zeroevidence.data.files.writing import write_atomically
from zeroevidence.data.formats.attack_scores import write_attack_scores
from zeroevidence.errors import UsageError
from zeroevidence.evaluation.reading.results import to_json
from zeroevidence.report.document import document
from zeroevidence.report.inputs import ReportInputs
from zeroevidence.report.layout.flags import raised_flags
from zeroevidence.report.tables.evaluation_text import to_text
from zeroevidence.report.text.terminal import terminal_console, wrap
from zeroevidence.report.trial_tables import speaker_table, trial_table, write_table
from zeroevidence.report.verdict import verdict
from zeroevidence.report.verdict.next_steps import NEXT_COMMANDS

_RESULT = "result.json"


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
    """
    home = check_folder(folder, overwrite=overwrite)
    cards = _json([card.to_dict() for card in audit.cards])
    protector = {} if audit.protector is None else {"protector.json": _json(audit.protector.to_dict())}
    tables = {"trials.csv": trial_table(audit.rows), "speakers.csv": speaker_table(audit.rows)}
    result = to_json((*audit.rows, *audit.utility))
    texts = {"attackers.json": cards, **protector, "summary.txt": summary(audit), _RESULT: result}
    try:
        home.mkdir(parents=True, exist_ok=True)
        scores = [write_attack_scores(audit.scores, home)] if audit.scores else []
        for name, frame in tables.items():
            write_table(frame, home / name)
        for name, text in texts.items():
            _write(home / name, text)
    except OSError as error:
        raise UsageError(f"{folder}: cannot be written: {error.strerror or error}") from None
    return [*scores, *(home / name for name in (*tables, *texts))]


def save_report(audit: Audit, path: str | Path, *, measures: Sequence[str] | None = None) -> Path:
    """Write the HTML report of an audit, replacing one that is there.

    Raises
    ------
    MissingExtra
        Without matplotlib or jinja2.
    """
    inputs = ReportInputs()
    inputs.add_audit(audit)
    _write(Path(path), document(inputs, measures=measures))
    return Path(path)


def summary(audit: Audit) -> str:
    """Return the verdict: a headline, faults, a few sentences for everybody, what to run next, and the details."""
    return "\n\n".join(map("\n".join, _verdict_paragraphs(audit))) + "\n"


def _verdict_paragraphs(audit: Audit) -> list[list[str]]:
    """The verdict in paragraphs of lines; a line that begins with a blank is to be copied and not broken."""
    finding = verdict(audit.rows)
    flags = raised_flags((*audit.rows, *audit.utility))
    faults = [[f"Fault, {raised.name}: {raised.flag.sentence}"] for raised in flags if raised.flag.severity == "fault"]
    short = [[" ".join(finding.summary)]] if finding.summary else []
    following = [[NEXT_COMMANDS, *(f"  {command}" for command in finding.commands)]] if finding.commands else []
    return [[finding.headline], *faults, *short, *following, [f"{'In detail: ' if short else ''}{finding.paragraph}"]]


def audit_text(
    audit: Audit, *, signatures: bool = False, measures: Sequence[str] | None = None, estimate: bool = False
) -> str:
    """Return the finding, the card of the attacker that counts and a table of all attackers, for a terminal.

    The other parameters are those of `render`.
    """
    width = terminal_console().width
    card = audit.cards[audit.finding.strongest].to_text(width)
    if audit.protector is not None:
        card += f"\n{audit.protector.to_text(width)}"
    left_out = [f"Not tried: {attacker}" for attacker in audit.left_out]
    lines = (*(line for paragraph in _verdict_paragraphs(audit) for line in (*paragraph, "")), *left_out)
    finding = [part for line in lines for part in ([line] if line.startswith(" ") else wrap(line, width))]
    parts = [rows for rows in (audit.rows, audit.utility) if rows]
    shown: dict[str, Any] = {"signatures": signatures, "measures": measures, "estimate": estimate}
    tables = [to_text(rows, **shown, faults=False) for rows in parts]
    return "\n".join(finding) + f"\n{card}\n" + "\n".join(tables)


def _json(value: object) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def _write(path: Path, text: str) -> None:
    write_atomically(path, lambda temporary: temporary.write_text(text, encoding="utf-8", newline=""))
