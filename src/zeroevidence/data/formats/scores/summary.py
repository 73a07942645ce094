"""Published summary tables of the VoicePrivacy Challenges, ``results_summary/result_for_rank*``.

Tables are read by their columns. The heading above says only whether the attacker was trained on anonymised
speech (``ASV_eval^anon``); which rows it lists differs from year to year (``ASV_eval`` lists original
against original in 2024, anonymised against anonymised in 2026).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from zeroevidence.data.formats import text
from zeroevidence.data.formats.scores.voiceprivacy import dataset_and_sex
from zeroevidence.data.formats.source import locate
from zeroevidence.data.threat import ThreatModel, Training, threat_from_sides
from zeroevidence.errors import InputError

_NEEDED = {"dataset", "split", "enrollment", "trial", "EER"}
_SPEECH: dict[str, Training] = {
    "original": "original",
    "orig": "original",
    "anon": "anonymised",
    "anonymized": "anonymised",
}


@dataclass(frozen=True, slots=True)
class SummaryRow:
    """One published equal error rate (a fraction), what it is about, and the line it stands on."""

    labels: dict[str, str]
    threat: ThreatModel
    eer: float
    line: int


def read_summary(path: str | Path) -> list[SummaryRow]:
    """The equal error rates of a ``result_for_rank*`` file, in its order.

    Raises
    ------
    InputError
        When there is no table of equal error rates, or a row does not fit its columns.
    """
    source = locate(path)
    system = source.path.name.removeprefix("result_for_rank").removeprefix("_")
    rows: list[SummaryRow] = []
    columns: list[str] = []
    training: Training = "original"
    for number, raw in text.numbered_lines(source.read()):
        line, wrong = text.decode(raw)
        if wrong:
            raise InputError(wrong, path=source.name, line=number)
        words = line.split()
        if not words or words[0].startswith("----"):
            columns = []
            training = "anonymised" if "^anon" in line else training if not words else "original"
        elif set(words) >= _NEEDED:
            columns = words
        elif columns:
            rows.append(_row(words, columns, training, system, source.name, number))
    if not rows:
        needed = "dataset split enrollment trial EER"
        raise InputError(f"no table of equal error rates; expected one with the columns {needed}", path=source.name)
    return rows


def _row(words: list[str], columns: list[str], training: Training, system: str, name: str, line: int) -> SummaryRow:
    if words[0].isdigit():  # the index that pandas prints in front
        words = words[1:]
    if len(words) != len(columns):
        raise InputError(f"{len(words)} columns; expected {len(columns)}: {' '.join(columns)}", path=name, line=line)
    cells = dict(zip(columns, words, strict=True))
    rate = text.parse_score(cells["EER"])
    if isinstance(rate, str) or not 0 <= rate <= 100:
        raise InputError(f"EER {cells['EER']!r}; expected a percentage from 0 to 100", path=name, line=line)
    sides = [_SPEECH.get(cells[side]) for side in ("enrollment", "trial")]
    if sides[0] is None or sides[1] is None:
        found = f"{cells['enrollment']} {cells['trial']}"
        raise InputError(f"enrolment and trial {found!r}; expected original or anon", path=name, line=line)
    sex, _, part = cells.get("gender", "").partition("_")
    data_set = dataset_and_sex(cells["dataset"], sex or None, part or None)
    labels = {"system": system} if system else {}
    labels |= {"dataset": data_set.pop("dataset"), "split": cells["split"], **data_set}
    return SummaryRow(labels, threat_from_sides(sides[0], sides[1], training), rate / 100, line)
