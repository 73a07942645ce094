"""Systems side by side: of each, the attacker that learns most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from zeroevidence.evaluation.finding.chance import Chance, chances
from zeroevidence.evaluation.finding.choosing import strongest_row
from zeroevidence.evaluation.finding.finding import bound_row, groups_of_people, rows_by_system
from zeroevidence.evaluation.rows.evaluation import Evaluation
from zeroevidence.measure.measures import MEASURES, ordering_measures

# published: a table gives numbers without scores; no-search: trials were not compared with everybody; no-speakers: who
# speaks is not known, so intervals and nulls are by score; no-interval and no-null: they were not asked for
Lack: TypeAlias = Literal["published", "no-search", "no-speakers", "no-interval", "no-null"]


@dataclass(frozen=True, slots=True)
class Standing:
    """A system on one group of people.

    Parameters
    ----------
    row
        Number of the row whose attacker learns most.
    attempts
        Numbers of all attacks on the system and these people.
    control
        Number of the row with unprotected speech of the same people; None where there is none.
    chance
        Whether `row` is more than chance, all attacks tested together.
    """

    row: int
    attempts: tuple[int, ...]
    control: int | None
    chance: Chance


def standings(rows: Sequence[Evaluation]) -> list[Standing]:
    """Return the strongest attack on each system and group of people, in the order of the rows.

    Unlike a finding, it includes systems of which nothing but an equal error rate is known.

    Examples
    --------
    >>> from zeroevidence import evaluate
    >>> labels = [{"system": "a"}, {"system": "a"}, {"system": "b"}]
    >>> scores = [[1.0, 3.0], [2.0, 3.0], [2.0, 3.0]]
    >>> rows = [evaluate(s, [0.0, 1.5], labels=x, intervals=0, null=0) for s, x in zip(scores, labels)]
    >>> [(standing.row, standing.attempts) for standing in standings(rows)]
    [(1, (0, 1)), (2, (2,))]
    """
    chance = chances(rows)
    identity = [i for i, row in enumerate(rows) if row.about.question == "identity" and scale_measures(row)]
    attacks = [i for i in identity if rows[i].about.role == "attack" and not _hears_original(rows[i])]
    found = []
    for numbers in rows_by_system(rows, attacks).values():
        for group in groups_of_people(rows, numbers):
            best = strongest_row(rows, group, chance)
            found.append(Standing(best, tuple(group), bound_row(rows, identity, best, "control"), chance[best]))
    return found


def _hears_original(row: Evaluation) -> bool:
    """Whether the trials are original speech, which tells nothing about a system whatever the attacker learned from."""
    return row.about.threat is not None and row.about.threat.trial == "original"


def scale_measures(row: Evaluation) -> list[str]:
    """Return the measures of a row that order attackers, the most telling first."""
    return [measure.name for measure in ordering_measures() if row.number(measure.name) is not None]


def common_measure(rows: Sequence[Evaluation]) -> str | None:
    """Return the most telling measure that all rows have and that means the same in all; None where there is none.

    Bits of a search depend on how many people were searched through, so they are no scale for several searches.
    """
    common = [name for name in scale_measures(rows[0]) if all(row.number(name) is not None for row in rows)]
    searched = {row.counts.get("identities") for row in rows}
    return next((name for name in common if MEASURES[name].high_note != "log2 N" or len(searched) == 1), None)


def lacks(row: Evaluation) -> list[Lack]:
    """Return what could not be computed for a row, each with the reason."""
    if row.setup.recorded is not None:
        return ["published"]
    found: list[Lack] = [] if row.is_search else ["no-search"]
    found += [] if "speakers" in row.counts else ["no-speakers"]
    found += [] if row.setup.intervals is not None else ["no-interval"]
    return found + ([] if row.setup.null is not None else ["no-null"])
