"""Tables as the kits of the VoicePrivacy Challenges write them: ``result_for_rank<suffix>`` and CSV."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from io import StringIO

from zeroevidence.errors import InputError
from zeroevidence.evaluation import Evaluation

_SPEECH: Mapping[str, str] = {"original": "original", "anonymised": "anon"}
_HEADINGS = {
    "ser": "SER results",
    "asv_original": "ASV_eval results",
    "asr": "ASR results",
    "asv_anonymised": "ASV_eval^anon results",
}


def kit_rows(rows: Sequence[Evaluation]) -> dict[str, list[dict[str, str]]]:
    """Return the tables of a kit: ``ser``, ``asv_original``, ``asr`` and ``asv_anonymised``.

    Equal error rates of attackers that were trained on original and on anonymised speech are separate tables. Numbers
    are percentages.
    """
    tables: dict[str, list[dict[str, str]]] = {name: [] for name in _HEADINGS}
    for row in rows:
        threat, speech = row.about.threat, row.about.speech
        data = {name: row.labels.get(name, "_") for name in ("dataset", "split")}
        if threat is not None and "eer" in row:
            sides = {"enrollment": _SPEECH.get(threat.enrolment), "trial": _SPEECH.get(threat.trial)}
            if None in sides.values():
                continue
            speech_of = {side: str(speech) for side, speech in sides.items()}
            cells = {**data, "gender": row.labels.get("sex", "mixed"), **speech_of, "EER": _percent(row, "eer")}
            tables[f"asv_{threat.trained_on}"].append(cells)
        elif speech is not None and "wer" in row:
            tables["asr"].append({**data, "asr": _SPEECH[speech], "WER": _percent(row, "wer")})
        elif speech is not None and "uar" in row:
            tables["ser"].append({**data, "ser": _SPEECH[speech], "UAR": _percent(row, "uar"), **_recalls(row, rows)})
    return {name: _ordered(table) for name, table in tables.items() if table}


def _recalls(row: Evaluation, rows: Sequence[Evaluation]) -> dict[str, str]:
    """Recall of each emotion in the same data."""
    same = ("system", "dataset", "split", "fold")
    return {
        f"ACC_{other.labels['emotion']}": _percent(other, "recall")
        for other in rows
        if "recall" in other
        and "emotion" in other.labels
        and other.about.speech == row.about.speech
        and all(other.labels.get(name) == row.labels.get(name) for name in same)
    }


def _percent(row: Evaluation, name: str) -> str:
    return f"{100.0 * float(row[name]):.3f}"


def _ordered(table: list[dict[str, str]]) -> list[dict[str, str]]:
    return sorted(table, key=lambda cells: (cells["dataset"], cells["split"]))


def rank_text(rows: Sequence[Evaluation], when: datetime | None = None) -> str:
    """Return the text of ``result_for_rank<suffix>``.

    Parameters
    ----------
    rows
        Results.
    when
        Time in the heading; no heading without.

    Raises
    ------
    InputError
        When no row has an equal error rate of an attacker, a word error rate or recall of emotions.
    """
    tables = _not_empty(kit_rows(rows))
    parts = [] if when is None else [f"---- Time: {when:%d-%m-%y_%H:%M} ----\n"]
    parts += [f"---- {_HEADINGS[name]} ----\n{_aligned(table)}" for name, table in tables.items()]
    return "\n".join(parts)


def kit_csv(rows: Sequence[Evaluation]) -> dict[str, str]:
    """Return the CSV files of a kit by table, with the index that pandas writes."""
    return {name: _csv(table) for name, table in _not_empty(kit_rows(rows)).items()}


def _not_empty(tables: dict[str, list[dict[str, str]]]) -> dict[str, list[dict[str, str]]]:
    if not tables:
        raise InputError("nothing for a kit; expected equal error rates of attackers, word error rates or recall")
    return tables


def _columns(table: Sequence[Mapping[str, str]]) -> list[str]:
    return list(dict.fromkeys(column for cells in table for column in cells))


def _aligned(table: Sequence[Mapping[str, str]]) -> str:
    columns = _columns(table)
    lines = [["", *columns], *([str(i), *(row.get(name, "nan") for name in columns)] for i, row in enumerate(table))]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "".join(f"{'  '.join(_justified(line, widths))}\n" for line in lines)


def _justified(line: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    for place, (cell, width) in enumerate(zip(line, widths, strict=True)):
        yield cell.rjust(width) if place else cell.ljust(width)


def _csv(table: Sequence[Mapping[str, str]]) -> str:
    columns, out = _columns(table), StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["", *columns])
    writer.writerows([str(i), *(row.get(name, "") for name in columns)] for i, row in enumerate(table))
    return out.getvalue()
