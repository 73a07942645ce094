"""Tables as the kits of the VoicePrivacy Challenges write them: ``result_for_rank<suffix>`` and CSV."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from zeroevidence.errors import InputError
from zeroevidence.evaluation import Evaluation
from zeroevidence.report.layout.grid import records_to_csv

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
    tables = _not_empty(kit_rows(rows)).items()
    return {name: records_to_csv([{"": i, **cells} for i, cells in enumerate(table)]) for name, table in tables}


def _not_empty(tables: dict[str, list[dict[str, str]]]) -> dict[str, list[dict[str, str]]]:
    if not tables:
        raise InputError("nothing for a kit; expected equal error rates of attackers, word error rates or recall")
    return tables


def _aligned(table: Sequence[Mapping[str, str]]) -> str:
    columns = list(dict.fromkeys(column for cells in table for column in cells))
    lines = [["", *columns], *([str(i), *(row.get(name, "nan") for name in columns)] for i, row in enumerate(table))]
    index, *widths = (max(map(len, column)) for column in zip(*lines, strict=True))
    texts = ([line[0].ljust(index), *map(str.rjust, line[1:], widths)] for line in lines)
    return "".join(f"{'  '.join(line)}\n" for line in texts)
