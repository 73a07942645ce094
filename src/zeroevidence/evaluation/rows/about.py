"""What a row of results is about, as values: the question, the part it plays, and the attacker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from zeroevidence.data.threat import RANDOM, ThreatModel, Training

# identity: who is it; attribute: what is somebody like; spoofing: is the speech real
Question: TypeAlias = Literal["identity", "attribute", "spoofing"]
# attack: what an attacker learns of protected speech; control: the same without protection; floor: the same where there
# is nothing to learn; room: the same where no voice is heard; protocol: an attack once more under another protocol;
# utility: what should go on working; training: an attacker on what it was trained on
Role: TypeAlias = Literal["attack", "control", "floor", "room", "protocol", "utility", "training"]


# what is averaged over draws of enrolled recordings
AveragedLevel: TypeAlias = Literal["embeddings", "scores"]
# what a trial is compared with: the mean of a person's enrolled recordings, or the one that it resembles most
Comparison: TypeAlias = Literal["mean", "closest"]


@dataclass(frozen=True, slots=True)
class DrawUse:
    """How an attacker uses enrolled recordings, and runs of the anonymiser, of which the first is the release.

    Parameters
    ----------
    runs
        How often it was run.
    training
        Draws of the training speech that the back-end learned from.
    enrolment
        Draws of each enrolled recording.
    level
        What is averaged over draws of the enrolment; None where there is one, or where fused attackers differ.
    deterministic
        Whether a second run gave the same speech, so that it was run once.
    compared
        Whether trials are compared with the mean of a person's enrolled recordings, or with each of them, of which the
        closest counts; None where fused attackers differ.
    """

    runs: int = 1
    training: int = 1
    enrolment: int = 1
    level: AveragedLevel | None = None
    deterministic: bool = False
    compared: Comparison | None = "mean"

    @classmethod
    def together(cls, uses: Sequence[DrawUse]) -> DrawUse:
        """Return the most that several attackers use."""
        levels, comparisons = {use.level for use in uses if use.enrolment > 1}, {use.compared for use in uses}
        runs, training, enrolment = (
            max(getattr(use, name) for use in uses) for name in ("runs", "training", "enrolment")
        )
        level, deterministic = levels.pop() if len(levels) == 1 else None, all(use.deterministic for use in uses)
        compared = comparisons.pop() if len(comparisons) == 1 else None
        return cls(runs, training, enrolment, level, deterministic, compared)


# how an attacker knows the sex of the speaker of a trial
SexSource: TypeAlias = Literal["told", "heard"]


@dataclass(frozen=True, slots=True)
class Protocol:
    """What is enrolled, what makes a trial, and among whom it is searched.

    Parameters
    ----------
    enrolled
        Recordings that are enrolled of each person, at most.
    tried
        Recordings of one person that make a trial, at most; more than one where they are known to be of one person.
    sex
        How the sex of a trial's speaker is known where people of the same sex are searched for; None where everybody
        is.

    Examples
    --------
    >>> str(Protocol(4)), str(Protocol(4, tried=3, sex="told"))
    ('4 enrolled, 1 tried', '4 enrolled, 3 tried together, same sex (told)')
    """

    enrolled: int
    tried: int = 1
    sex: SexSource | None = None

    def __str__(self) -> str:
        tried = f"{self.tried} tried{' together' if self.tried > 1 else ''}"
        return f"{self.enrolled} enrolled, {tried}{'' if self.sex is None else f', same sex ({self.sex})'}"


@dataclass(frozen=True, slots=True)
class TrainingEffort:
    """What an attacker spent, in numbers that no machine changes.

    Parameters
    ----------
    people
        Training people.
    settings
        Settings that were tried, among which development people chose.
    epochs
        Passes of a network over its training recordings; 0 without a network.
    recordings
        Number of training recordings of a network, those of all draws; 0 without a network.
    draws
        How runs of the anonymiser were used.
    development_people
        People who chose among the settings and calibrated the scores; 0 where they are not counted.
    folds
        Folds of people, of which each is evaluated by attackers who learned from the others; 1 for one split.
    splits
        How often people were dealt to folds.
    """

    people: int
    settings: int = 1
    epochs: int = 0
    recordings: int = 0
    draws: DrawUse = field(default_factory=DrawUse)
    development_people: int = 0
    folds: int = 1
    splits: int = 1


@dataclass(frozen=True, slots=True)
class Protection:
    """How the speech of a row was protected, where the card of its protector is known.

    Parameters
    ----------
    name
        The protector, as on the command line.
    refused
        Recordings that it refused, which are left out.
    recordings
        Recordings that it was given; 0 where they were not counted.
    recognises
        Whether a recogniser wrote down the words that it speaks.
    """

    name: str
    refused: int = 0
    recordings: int = 0
    recognises: bool = False


@dataclass(frozen=True, slots=True)
class About:
    """What a row answers.

    Parameters
    ----------
    question
        Who somebody is, what somebody is like, or whether speech is real.
    role
        The part that the row plays beside others.
    threat
        The attacker, where the attacker is known.
    attribute
        The attribute in question.
    of_class
        For more than two classes, the class that is told from the rest.
    target_class
        Of an attribute with two classes, the class of the target scores.
    other_class
        Of an attribute with two classes, the class of the non-target scores.
    boundaries
        Of the classes that a number was cut into, ascending; a boundary belongs to the class above it.
    protector
        The kind of protector, where several strengths were tried.
    strength
        Its strength, where several were tried.
    attack
        The spoofing attack; ``all`` for all together.
    development
        What the same attacker learned of development people, in bits: attackers are chosen by it, so that the evaluated
        people choose nothing.
    development_error
        Its standard error over development people, where it is known.
    fused
        Whether the attacker is a fusion of others.
    spent
        What the attacker spent to learn it.
    pooled
        Whether all recordings of one person were judged together.
    speech
        Whose utility it is: of original or of anonymised speech.
    protocol
        What was enrolled, tried and searched, where it is known.
    protection
        How the speech was protected, where that is known.
    words
        Whether the attacker had the words alone, and no voice.

    Examples
    --------
    >>> About.against(ThreatModel("unprotected", "original", "original")).role
    'control'
    """

    question: Question = "identity"
    role: Role = "attack"
    threat: ThreatModel | None = None
    attribute: str | None = None
    of_class: str | None = None
    target_class: str | None = None
    other_class: str | None = None
    boundaries: tuple[float, ...] = ()
    protector: str | None = None
    strength: float | None = None
    attack: str | None = None
    development: float | None = None
    development_error: float | None = None
    fused: bool = False
    spent: TrainingEffort | None = None
    pooled: bool = False
    speech: Training | None = None
    protocol: Protocol | None = None
    protection: Protection | None = None
    words: bool = False

    @classmethod
    def against(cls, threat: ThreatModel) -> About:
        """The row of an attacker on speech; on original speech alone it is a control, whatever the attacker learned."""
        plain = threat.enrolment == threat.trial == "original"
        return cls(role="floor" if threat.name == RANDOM else "control" if plain else "attack", threat=threat)

    @property
    def is_training_unknown(self) -> bool:
        """Whether nobody said what the attacker on protected speech was trained on."""
        threat = self.threat
        return threat is not None and not threat.is_bound and None in (threat.trained_on, threat.extractor)

    @property
    def is_bound(self) -> bool:
        """Whether the row stands beside attacks: without protection or voice, without anything, or another protocol."""
        return self.role in ("control", "floor", "room", "protocol")
