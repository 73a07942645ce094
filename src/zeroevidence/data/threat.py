"""Threat models: what an attacker compares, and what the attacker learned from.

Names are those of the VoicePrivacy challenges, and ``backend-informed`` for what lies between two of them: the back-end
learned from anonymised speech, the extractor did not. Published names clash between frameworks, so a result carries the
whole tuple, and text is made of it only where it is shown.
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
UNKNOWN = "unknown"  # an attacker of whom nobody said what it was trained on


@dataclass(frozen=True, slots=True)
class ThreatModel:
    """What an attacker compares, trains on and calibrates on.

    Parameters
    ----------
    name
        ``ignorant``, ``lazy-informed``, ``backend-informed``, ``semi-informed``, or a bound: ``unprotected``,
        ``random``. Each of these stands for one enrolment, trial and training, and is refused for another; any other
        name may be given.
    enrolment
        The speech of the enrolment: ``original``, ``anonymised``, or ``noise`` for the bound `random`.
    trial
        The speech of the trials.
    trained_on
        Speech of the training speakers that the back-end (and the adapter network) learns from; None where unknown.
    calibration
        Development speech on which scores become likelihood ratios: ``original`` against original, ``anonymised``
        against anonymised, or ``matched``, the same sides as in the evaluation. An attacker calibrates on what
        is available: one who does not know of the anonymisation has original speech only; one who can anonymise the
        enrolment can also anonymise development speech.
    adapter
        Whether an adapter network is trained between extractor and back-end.
    extractor
        What the extractor was trained on: only one that was trained on anonymised speech is semi-informed. None where
        that is unknown.

    Examples
    --------
    >>> model = ThreatModel("ignorant", "original", "anonymised")
    >>> str(model)
    'ignorant (enrolment original, trained on original)'
    >>> model.development
    ('original', 'anonymised')
    >>> str(ThreatModel("backend-informed", "anonymised", "anonymised", trained_on="anonymised"))
    'backend-informed (enrolment anonymised, extractor trained on original, back-end on anonymised)'
    """

    name: str
    enrolment: Material
    trial: Material
    trained_on: Training | None = "original"
    calibration: Calibration = "matched"
    adapter: bool = False
    extractor: Training | None = "original"

    def __post_init__(self) -> None:
        for field, kind in get_type_hints(ThreatModel).items():
            optional = type(None) in get_args(kind)
            allowed = get_args(get_args(kind)[0]) if optional else get_args(kind)
            value = getattr(self, field)
            if allowed and value not in allowed and not (optional and value is None):
                raise UsageError(f"{field}: expected {', '.join(allowed)}, got {value!r}")
        if self.adapter and {self.enrolment, self.trial, self.trained_on, *self.development} != {"anonymised"}:
            raise UsageError("an adapter network is trained on anonymised speech and needs it on both sides")
        meanings = [sides for sides, name in _NAMES.items() if name == self.name]
        if meanings and self._sides not in meanings:
            expected = f"expected another name for {_describe(*self._sides)}"
            raise UsageError(f"{self.name!r} stands for {_describe(*meanings[0])}; {expected}")

    def __str__(self) -> str:
        return f"{self.name} ({self.definition})"

    @property
    def definition(self) -> str:
        """What the name stands for: enrolment, and training of extractor and back-end."""
        adapter = "adapter network, " if self.adapter else ""
        return f"enrolment {self.enrolment}, {adapter}{_training(self.extractor, self.trained_on)}"

    @property
    def _sides(self) -> _Sides:
        return self.enrolment, self.trial, self.extractor, self.trained_on

    @property
    def training(self) -> Training:
        """What the back-end of an attacker who is to attack learns from."""
        if self.trained_on is None:
            raise UsageError(f"{self.name}: training unknown; expected {' or '.join(get_args(Training))}")
        return self.trained_on

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
        """Whether it is an attacker on protected speech whose name is defined here."""
        return not self.is_bound and self.name in _NAMES.values()

    @property
    def knows_protection(self) -> bool:
        """Whether the attacker has more anonymised speech than the trials, which it takes the protection to make."""
        return "anonymised" in (self.enrolment, self.trained_on, self.extractor, self.calibration)

    @property
    def knowledge(self) -> int:
        """How informed the attacker is known to be: one more each for enrolment, back-end and extractor anonymised."""
        return [self.enrolment, self.trained_on, self.extractor].count("anonymised")

    def has_means_of(self, other: ThreatModel) -> bool:
        """Whether it is the other attacker, or that one with an extractor that was trained on anonymised speech."""
        rest, others = (
            (model.enrolment, model.trial, model.trained_on, model.calibration, model.adapter)
            for model in (self, other)
        )
        return self == other or (self.extractor == "anonymised" and rest == others)


# enrolment, trial, training of the extractor, training of the back-end
_Sides: TypeAlias = tuple[Material, Material, Training | None, Training | None]
_NAMES: dict[_Sides, str] = {
    ("original", "original", "original", "original"): UNPROTECTED,
    ("original", "original", None, None): UNPROTECTED,
    ("original", "anonymised", "original", "original"): "ignorant",
    ("anonymised", "anonymised", "original", "original"): "lazy-informed",
    ("anonymised", "anonymised", "original", "anonymised"): "backend-informed",
    ("anonymised", "anonymised", "anonymised", "anonymised"): "semi-informed",
}


def _training(extractor: Training | None, backend: Training | None) -> str:
    if extractor == backend:
        return "training unknown" if backend is None else f"trained on {backend}"
    return f"extractor trained on {extractor or UNKNOWN}, back-end on {backend or UNKNOWN}"


def _describe(enrolment: Material, trial: Material, extractor: Training | None, backend: Training | None) -> str:
    return f"{enrolment} enrolment, {trial} trials, {_training(extractor, backend)}"


def threat_from_sides(
    enrolment: Material, trial: Material, trained_on: Training | None, extractor: Training | None = None
) -> ThreatModel:
    """Return the threat model of scores; ``other`` where the tuple has no name, ``unknown`` where training is.

    Parameters
    ----------
    enrolment
        The speech of the enrolment.
    trial
        The speech of the trials.
    trained_on
        What the back-end was trained on; None where unknown.
    extractor
        What the extractor was trained on; the same unless given.
    """
    extractor = extractor or trained_on
    name = _NAMES.get((enrolment, trial, extractor, trained_on), UNKNOWN if trained_on is None else "other")
    return ThreatModel(name, enrolment, trial, trained_on, extractor=extractor)
