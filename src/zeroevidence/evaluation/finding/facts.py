"""What follows from some rows about one question: facts, each computed once, that know the rows they come from."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil
from typing import Literal, TypeAlias

import numpy as np

from zeroevidence.data.threat import UNPROTECTED
from zeroevidence.evaluation.finding.chance import (
    PEOPLE_LABELS,
    Chance,
    Choice,
    bound_row,
    same_attempt,
    same_people,
    same_setting,
    strongest_row,
)
from zeroevidence.evaluation.people import EXPOSED_BITS, hubs, most_people_above
from zeroevidence.evaluation.rows.about import Question
from zeroevidence.evaluation.rows.evaluation import Evaluation
from zeroevidence.measure.search.rank import LEAST_RECORDINGS, LISTED_RECORDINGS, guessing_rate
from zeroevidence.uncertainty.level import LEAST_PEOPLE, alpha

# recognised, leaks: more than chance; untested: chance was not tested; too-few: people are too few for a test to find
# anything, or to tell guessing from being recognised; not-found: not told apart from chance, though the attack works
# without protection; inconclusive: that it would was not shown; described: not about privacy
Level: TypeAlias = Literal["recognised", "leaks", "untested", "too-few", "not-found", "inconclusive", "described"]
_FEW_ROWS = 8
# the curve of a row, its abscissa, and the flag that it has not levelled off
LEARNING_CURVES = (
    ("alid_over_training_people", "training people", "still-rising"),
    ("alid_over_epochs", "epochs of training", "training-pays"),
    ("alid_over_draws", "runs of the anonymiser", "draws-pay"),
    ("alid_over_enrolment", "enrolled recordings of each person", "enrolment-pays"),
)


@dataclass(frozen=True, slots=True)
class TrainingCurve:
    """The disclosure to an attacker who learned from more and more.

    Parameters
    ----------
    over
        What the amounts count.
    amount
        How much the attacker learned from.
    bits
        Mean disclosure with each amount.
    rising
        Whether the curve has not levelled off.
    """

    over: str
    amount: tuple[float, ...]
    bits: tuple[float, ...]
    rising: bool


@dataclass(frozen=True, slots=True)
class NamedPeople:
    """People of a row who are named in nearly all of their recordings.

    Parameters
    ----------
    row
        The row.
    counted
        Places of the people who have recordings enough to count.
    places
        Places of those who count as named; None where that is not known.
    may_be_chance
        Whether as many are named where names are exchanged at random, more often than one minus the level.
    beyond_chance
        How many are named, where names exchanged at random seldom name as many; otherwise none.
    """

    row: Evaluation
    counted: tuple[int, ...]
    places: tuple[int, ...] | None
    may_be_chance: bool
    beyond_chance: int = 0

    @classmethod
    def of(cls, row: Evaluation) -> NamedPeople:
        """The people of a row."""
        people, result = row.people, row.metrics.get("people_named")
        chance = result is not None and result.p_adjusted is not None and result.p_adjusted > alpha(row.setup.level)
        recordings = () if people is None else people.trials
        counted = tuple(place for place, trials in enumerate(recordings) if trials >= LEAST_RECORDINGS)
        if people is None or people.named is None:
            return cls(row, counted, None, chance)
        places = tuple(place for place, named in enumerate(people.named) if named)
        return cls(row, counted, places, chance, 0 if chance else len(places))

    @property
    def listed(self) -> tuple[str, ...]:
        """Names of those who have recordings enough to be listed by name."""
        people = self.row.people
        if people is None or self.may_be_chance:
            return ()
        return tuple(people.speaker[i] for i in self.places or () if people.trials[i] >= LISTED_RECORDINGS)

    @property
    def hidden(self) -> tuple[int, ...]:
        """Places of those whose mean disclosure does not show it, as a calibration on other people may not."""
        people = self.row.people
        if people is None or not self.beyond_chance:
            return ()
        return tuple(place for place in self.places or () if people.alid[place] <= EXPOSED_BITS)


@dataclass(frozen=True, slots=True)
class SystemAttackers:
    """The attackers on one system and one group of people, by numbers of rows.

    Parameters
    ----------
    counting
        The attacker that counts.
    best
        The best attacker of each kind (threat model), from the least to the best informed; `counting` is one of them.
    attempts
        All attackers.
    control
        The attack on unprotected speech of the same people.
    floor
        The attack where nothing is to be found.
    """

    counting: int
    best: tuple[int, ...]
    attempts: tuple[int, ...]
    control: int | None
    floor: int | None


@dataclass(frozen=True)
class Finding:
    """What follows from some rows about one question.

    Parameters
    ----------
    rows
        All rows.
    question
        Who somebody is, what somebody is like (then also `attribute`), or whether speech is real.
    level
        How strong the finding is.
    strongest
        Number of the row whose attacker learns most; of an attribute, against the protection that leaves least.
    by_system
        For each protected system, and each group of people that was searched apart, the number of its strongest
        attacker's row.
    control
        Number of the row with the same attack on unprotected speech.
    floor
        Number of the row with the same attack where nothing is to be found.
    chance
        For each row whether it is more than chance, all rows tested together.
    attribute
        The attribute in question.
    pooled
        Number of the row in which all recordings of a person were judged together, against the same system.
    attempts
        Numbers of all rows of the kind of `strongest`: against the same system, on the same people.
    choice
        How `strongest` was chosen among these.

    Examples
    --------
    >>> from zeroevidence import Options, evaluate, findings
    >>> finding = findings([evaluate([2.0, 3.0], [0.0, 1.0], options=Options(intervals=0, null=0))])[0]
    >>> finding.question, finding.strongest, finding.tested.beaten
    ('identity', 0, None)
    """

    rows: tuple[Evaluation, ...] = field(repr=False, compare=False)
    question: Question
    level: Level
    strongest: int
    by_system: tuple[int, ...]
    control: int | None
    floor: int | None
    chance: tuple[Chance, ...]
    attribute: str | None = None
    pooled: int | None = None
    attempts: tuple[int, ...] = ()
    choice: Choice = "only"

    @cached_property
    def row(self) -> Evaluation:
        """The row whose attacker counts."""
        return self.rows[self.strongest]

    @cached_property
    def tested(self) -> Chance:
        """Whether that row is more than chance."""
        return self.chance[self.strongest]

    @cached_property
    def unprotected(self) -> Evaluation | None:
        """The same attack on unprotected speech."""
        return None if self.control is None else self.rows[self.control]

    @cached_property
    def noise(self) -> Evaluation | None:
        """The same attack where nothing is to be found."""
        return None if self.floor is None else self.rows[self.floor]

    @cached_property
    def quoted(self) -> str:
        """The measure that the verdict rests on: of those that are more than chance, the one that is easiest to grasp.

        Where none is, it is top-1 of a search, and D_ECE of single comparisons.
        """
        usual = "top1" if self.row.is_search else "d_ece"
        return usual if usual in self.tested.measures else next(iter(self.tested.measures), usual)

    @cached_property
    def guessing(self) -> float:
        """Top-1 of guessing in the search of the row."""
        return guessing_rate(self.row.counts)

    @cached_property
    def wanted_people(self) -> int | None:
        """How many people bring the limit half-way to what was measured; None where that is not known."""
        result = self.row.metrics.get("top1" if self.row.is_search else "d_ece")
        if result is None or result.bound is None or result.spread is None or self.rising:
            return None
        return result.spread.people_for(abs(result.bound - float(result)) / 2.0, self.row.setup.level)

    @cached_property
    def more_people(self) -> int | None:
        """How many more people to record for that: those whom attackers learn from, too, where a share is evaluated."""
        evaluated, spent = self.row.counts.get("speakers", 0), self.row.about.spent
        if self.wanted_people is None or not evaluated or self.wanted_people <= evaluated:
            return None
        others = 0 if spent is None or spent.folds > 1 else spent.people + spent.development_people
        return ceil((self.wanted_people - evaluated) * (evaluated + others) / evaluated)

    @cached_property
    def curves(self) -> tuple[TrainingCurve, ...]:
        """The learning curves of the attacker that counts, where it was trained in several steps."""
        codes, curves = {flag.code for flag in self.row.flags}, self.row.curves
        return tuple(
            TrainingCurve(over, curves[name].x, curves[name].y, code in codes)
            for name, over, code in LEARNING_CURVES
            if name in curves and len(curves[name].x) > 1
        )

    @cached_property
    def rising(self) -> list[TrainingCurve]:
        """The learning curves that have not levelled off."""
        return [curve for curve in self.curves if curve.rising]

    @cached_property
    def named(self) -> NamedPeople:
        """Who is named in nearly all recordings."""
        return NamedPeople.of(self.row)

    @cached_property
    def hubs(self) -> list[int]:
        """Places of people whose names come up whoever speaks, where that was counted."""
        people = self.row.people
        if people is None or people.falsely is None:
            return []
        return np.flatnonzero(hubs(people, self.row.counts["identities"])).tolist()

    @cached_property
    def exposed_share(self) -> float | None:
        """Limit of the share of people like these who give away more than `EXPOSED_BITS`; None for few people."""
        few = self.row.counts.get("speakers", 0) < LEAST_PEOPLE
        return None if few else most_people_above(self.row, EXPOSED_BITS)

    @cached_property
    def rooms(self) -> tuple[int | None, int | None]:
        """Numbers of the attacks on the same people that hear no voice: on original speech, and on the same system."""
        rooms: dict[bool, int] = {}
        for i, row in enumerate(self.rows):
            if row.about.role == "room" and same_people(row, self.row):
                original = row.about.threat is not None and row.about.threat.is_bound
                if original or row.labels.get("system") == self.row.labels.get("system"):
                    rooms.setdefault(original, i)
        return rooms.get(True), rooms.get(False)

    @cached_property
    def rooms_beyond_chance(self) -> list[int]:
        """Those of these attacks that name people beyond chance, after protection first."""
        tests = [(i, self.chance[i]) for i in reversed(self.rooms) if i is not None]
        return [i for i, test in tests if "top1" in test.measures and "top1" in test.p_values]

    @cached_property
    def other_protocol(self) -> Evaluation | None:
        """The same attack under the other protocol that promised most on development people."""
        others = [
            row
            for row in self.rows
            if row.about.role == "protocol"
            and row.labels.get("system") == self.row.labels.get("system")
            and same_people(row, self.row)
            and row.about.threat == self.row.about.threat
        ]
        return max(others, key=lambda row: row.about.development or 0.0, default=None)

    @cached_property
    def same_control(self) -> bool:
        """Whether the attack on unprotected speech has the same encoder and back-end."""
        return self.unprotected is not None and same_setting(self.unprotected, self.row)

    @cached_property
    def control_works(self) -> bool | None:
        """Whether an attack was shown to work without protection, or not to.

        That an attack with another encoder or back-end fails says nothing about this one.
        """
        beaten = None if self.control is None else self.chance[self.control].beaten
        return beaten if self.same_control else beaten or None

    @cached_property
    def tried(self) -> set[str]:
        """Names of the attackers of whom there is an attempt."""
        threats = [self.rows[i].about.threat for i in self.attempts or (self.strongest,)]
        return {threat.name for threat in threats if threat is not None}

    @cached_property
    def has_trained_encoder(self) -> bool:
        """Whether some attempt has a speaker encoder that was trained on protected speech."""
        threats = [self.rows[i].about.threat for i in self.attempts or (self.strongest,)]
        return any(threat is not None and threat.extractor == "anonymised" for threat in threats)

    @cached_property
    def group_labels(self) -> list[str]:
        """Labels that tell groups of people apart, where there are several."""
        compared = [self.rows[i].labels for i in self.by_system]
        return [name for name in PEOPLE_LABELS if len({labels.get(name) for labels in compared}) > 1]

    @cached_property
    def systems(self) -> tuple[SystemAttackers, ...]:
        """The best attackers of each kind on each system, the system that the finding is about first."""
        others = (i for i in self.by_system if i != self.strongest)
        return tuple(map(self._on_system, (self.strongest, *others)))

    def _on_system(self, counting: int) -> SystemAttackers:
        rows = self.rows
        candidates = [i for i, row in enumerate(rows) if row.about.question == self.question]
        attempts = [i for i in candidates if same_attempt(rows[i], rows[counting])] or [counting]

        def knowledge(i: int) -> tuple[int, bool]:
            threat = rows[i].about.threat
            return (0, False) if threat is None else (threat.knowledge, threat.adapter)

        kinds: dict[Hashable, list[int]] = {}
        for i in attempts:
            kinds.setdefault(rows[i].about.threat, []).append(i)
        chosen = [counting if counting in kind else strongest_row(rows, kind, self.chance) for kind in kinds.values()]
        best = sorted(chosen, key=knowledge)
        control, floor = (bound_row(rows, candidates, counting, role) for role in ("control", "floor"))
        return SystemAttackers(counting, tuple(best), tuple(attempts), control, floor)

    @cached_property
    def further(self) -> frozenset[int]:
        """Numbers of rows that a first look at many passes over: attempts and bounds beside the best of each kind."""
        if self.question != "identity" or len(self.rows) <= _FEW_ROWS:
            return frozenset()
        first = {i for system in self.systems for i in (*system.best, system.control, system.floor)}
        roles = ("attack", "control", "floor")
        attacks = (i for i, row in enumerate(self.rows) if row.about.role in roles and row.about.threat is not None)
        return frozenset(i for i in attacks if i not in first)

    @cached_property
    def others_beyond_chance(self) -> list[str]:
        """Names of other attackers on the same attribute and system that are more than chance."""
        names = dict.fromkeys(
            row.labels.get("attacker", "")
            for row, chance in zip(self.rows, self.chance, strict=True)
            if chance.beaten
            and row.about.role == self.row.about.role  # not on the people that it was trained on
            and row.about.attribute == self.attribute
            and row.labels.get("system") == self.row.labels.get("system")
        )
        return list(names)

    @cached_property
    def verification_errors(self) -> tuple[float | None, float | None]:
        """Errors of speaker verification as utility, without the protection and with it."""
        errors = {
            row.labels.get("system"): row.number("eer")
            for row in self.rows
            if row.about.role == "utility"
            and row.labels.get("dataset") == self.row.labels.get("dataset")
            and row.number("eer") is not None
        }
        return errors.get(UNPROTECTED), errors.get(self.row.labels.get("system"))
