"""Threat models: what an attacker compares, and what the attacker learned from.

Names are those of the VoicePrivacy challenges. Published names clash between frameworks, so a result carries the whole
tuple, and text is made of it only where it is shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args, get_type_hints

from zeroevidence.errors import UsageError

Material: TypeAlias = Literal["original", "anonymised", "noise"]
Training: TypeAlias = Literal["original", "anonymised"]
Calibration: TypeAlias = Literal["original", "anonymised", "matched"]

UNPROTECTED = "unprotected"
RANDOM = "random"


@dataclass(frozen=True, slots=True)
class ThreatModel:
    """What an attacker compares, trains on and calibrates on.

    Parameters
    ----------
    name
        ``ignorant``, ``lazy-informed``, ``semi-informed``, or a bound: ``unprotected``, ``random``.
    enrolment
        The speech of the enrolment: ``original``, ``anonymised``, or ``noise`` for the bound `random`.
    trial
        The speech of the trials.
    trained_on
        Speech of the training speakers that the back-end (and the adapter network) learns from.
    calibration
        Development speech on which scores become likelihood ratios: ``original`` against original, ``anonymised``
        against anonymised, or ``matched``, the same sides as in the evaluation. An attacker calibrates on what
        is available: one who does not know of the anonymisation has original speech only; one who can anonymise the
        enrolment can also anonymise development speech.
    adapter
        Whether an adapter network is trained between extractor and back-end.
    extractor
        What the extractor was trained on.

    Examples
    --------
    >>> model = ThreatModel("ignorant", "original", "anonymised")
    >>> str(model)
    'ignorant (enrolment original, trained on original)'
    >>> model.development
    ('original', 'anonymised')
    """

    name: str
    enrolment: Material
    trial: Material
    trained_on: Training = "original"
    calibration: Calibration = "matched"
    adapter: bool = False
    extractor: Training = "original"

    def __post_init__(self) -> None:
        for field, kind in get_type_hints(ThreatModel).items():
            allowed = get_args(kind)
            if allowed and getattr(self, field) not in allowed:
                raise UsageError(f"{field}: expected {', '.join(allowed)}, got {getattr(self, field)!r}")
        if self.adapter and {self.enrolment, self.trial, self.trained_on, *self.development} != {"anonymised"}:
            raise UsageError("an adapter network is trained on anonymised speech and needs it on both sides")

    def __str__(self) -> str:
        adapter = "adapter network, " if self.adapter else ""
        return f"{self.name} (enrolment {self.enrolment}, {adapter}trained on {self.trained_on})"

    @property
    def development(self) -> tuple[Material, Material]:
        """Enrolment and trial speech of the development scores."""
        if self.calibration == "matched":
            return self.enrolment, self.trial
        return self.calibration, self.calibration

    @property
    def is_bound(self) -> bool:
        """Whether it is a bound, without protection: unprotected speech, or noise."""
        return self.name in (UNPROTECTED, RANDOM)

    @property
    def is_named_attacker(self) -> bool:
        """Whether it is one of the challenges' attackers on protected speech."""
        return not self.is_bound and self.name in _NAMES.values()

    @property
    def knows_protection(self) -> bool:
        """Whether the attacker has more anonymised speech than the trials, which it takes the protection to make."""
        return "anonymised" in (self.enrolment, self.trained_on, self.extractor, self.calibration)

    @property
    def knowledge(self) -> int:
        """How informed the attacker is: 0 ignorant, 1 anonymises the enrolment, 2 also trains on anonymised speech."""
        return (self.enrolment == "anonymised") + (self.trained_on == "anonymised")


_NAMES = {
    ("original", "original", "original"): UNPROTECTED,
    ("original", "anonymised", "original"): "ignorant",
    ("anonymised", "anonymised", "original"): "lazy-informed",
    ("anonymised", "anonymised", "anonymised"): "semi-informed",
}


def threat_from_sides(enrolment: Material, trial: Material, trained_on: Training) -> ThreatModel:
    """Return the threat model of scores with these sides and training; ``other`` where the tuple has no name."""
    return ThreatModel(_NAMES.get((enrolment, trial, trained_on), "other"), enrolment, trial, trained_on)
