"""The sentences on the room control: how much of a result needs no voice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log2

from zeroevidence.evaluation import Evaluation, Finding
from zeroevidence.evaluation.finding.chance import Chance
from zeroevidence.evaluation.finding.finding import PEOPLE_LABELS
from zeroevidence.report.verdict.phrases import p_value_text, percent

_NOT_TESTED = "Whether it is the voice or the room and the microphone that gives people away was not tested."
_NOT_FOUND = (
    "Pauses and channel of the recordings, without any voice, are not told apart from guessing; that rooms or devices "
    "give nobody away does not follow."
)


@dataclass(frozen=True, slots=True)
class RoomControl:
    """The room control beside an attack: its rows before and after protection, with their tests against chance.

    Parameters
    ----------
    before
        The row on original speech.
    after
        The row on speech of the same system as the attack; None where the attack is on original speech.
    """

    before: tuple[Evaluation, Chance] | None = None
    after: tuple[Evaluation, Chance] | None = None

    @property
    def rows(self) -> list[tuple[Evaluation, Chance]]:
        """The rows that there are, after protection first."""
        return [part for part in (self.after, self.before) if part is not None]

    @property
    def beyond_chance(self) -> list[tuple[Evaluation, Chance]]:
        """Those that find people beyond chance, after protection first."""
        return [(row, chance) for row, chance in self.rows if chance.beaten and chance.p_value is not None]


def find_control(rows: Sequence[Evaluation], finding: Finding) -> RoomControl:
    """Return the room control on the people and the system of the strongest attack."""
    strongest = rows[finding.strongest]
    rooms = [
        (row, chance)
        for row, chance in zip(rows, finding.chance, strict=True)
        if row.about.role == "room"
        and all(row.labels.get(name) == strongest.labels.get(name) for name in PEOPLE_LABELS)
    ]
    before = next((part for part in rooms if _is_original(part[0])), None)
    system = strongest.labels.get("system")
    after = next((part for part in rooms if not _is_original(part[0]) and part[0].labels.get("system") == system), None)
    return RoomControl(before, after)


def _is_original(row: Evaluation) -> bool:
    return row.about.threat is not None and row.about.threat.is_bound


def room_sentences(rows: Sequence[Evaluation], finding: Finding, *, leaks: bool) -> list[str]:
    """Return what pauses and channel give away without a voice, in bits.

    Parameters
    ----------
    rows
        All rows.
    finding
        The finding about them.
    leaks
        Whether anything is given away at all: otherwise there is nothing to say of a control that finds nobody.
    """
    control = find_control(rows, finding)
    if not control.beyond_chance:
        at_chance = bool(control.rows) and all(chance.beaten is False for _, chance in control.rows)
        return [_NOT_FOUND if at_chance else _NOT_TESTED] if leaks else []
    row, chance = control.beyond_chance[0]
    text = f"Without any voice, pauses and channel of the recordings give away {_bits(row)} of {_most(row)} bits"
    if _is_original(row):
        text += " before protection" if control.after is not None else ""
        also = "; after protection they are not told apart from guessing" if _not_found(control.after) else ""
    else:
        text += " after protection"
        also = "" if control.before is None else f"; before protection it is {_bits(control.before[0])}"
    tested = p_value_text(row, chance.p_value or 0.0)
    hidden = _is_original(row) and control.after is not None  # then the attack hears other recordings than this one
    return [f"{text} ({tested}){also}{'' if hidden else '; so this is about recordings, and not about voices alone'}."]


def short_room_sentence(rows: Sequence[Evaluation], finding: Finding) -> list[str]:
    """Return the same for a reader who knows no measures.

    Nothing where the control finds nobody beyond chance in the recordings that were attacked.
    """
    control = find_control(rows, finding)
    attacked = control.before if control.after is None else control.after
    if attacked is None or attacked not in control.beyond_chance:
        return []
    row, _ = attacked
    recordings = "unprotected recordings" if _is_original(row) else "protected recordings"
    return [
        "This is about recordings, and not about voices alone: from pauses and channel, without any voice, the right "
        f"name follows for {percent(row.number('top1') or 0.0)} of the {recordings}."
    ]


def _not_found(part: tuple[Evaluation, Chance] | None) -> bool:
    return part is not None and part[1].beaten is False


def _bits(row: Evaluation) -> str:
    return f"{max(row.number('alid') or 0.0, 0.0):.2f}"


def _most(row: Evaluation) -> str:
    return f"{log2(row.counts['identities']):.2f}"
