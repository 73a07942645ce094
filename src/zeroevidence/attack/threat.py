"""Threat models: what an attacker has, knows and trains, and the card that says so beside every result.

Names are those of the VoicePrivacy challenges; since published names clash, the tuple stands beside the name. The card
has the form of table 1 of Šterns et al., "scenario of use": objective, opportunity, resources.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from zeroevidence.errors import UsageError

Material: TypeAlias = Literal["original", "anonymised", "noise"]
Calibration: TypeAlias = Literal["original", "anonymised", "matched"]


@dataclass(frozen=True, slots=True)
class ThreatModel:
    """One attacker as a tuple.

    Parameters
    ----------
    name
        ``ignorant``, ``lazy-informed``, ``semi-informed``, or a bound: ``unprotected``, ``random``.
    enrolment, trial
        What is compared: ``original``, ``anonymised``, or ``noise`` for the bound `random`.
    trained_on
        Speech of the training speakers that the back-end (and the adapter network) learns from.
    calibration
        Development speech on which scores become likelihood ratios: ``original`` against original, ``anonymised``
        against anonymised, or ``matched``, the same sides as in the evaluation. An attacker calibrates on what
        there is at hand: one who does not know of the anonymisation has original speech only; one who can anonymise the
        enrolment can also anonymise development speech.
    adapter
        Whether an adapter network is trained between extractor and back-end.
    extractor
        What the extractor was trained on.
    """

    name: str
    enrolment: Material
    trial: Material
    trained_on: Literal["original", "anonymised"] = "original"
    calibration: Calibration = "matched"
    adapter: bool = False
    extractor: str = "original"

    def __post_init__(self) -> None:
        for field, allowed in (
            ("enrolment", ("original", "anonymised", "noise")),
            ("trial", ("original", "anonymised", "noise")),
            ("trained_on", ("original", "anonymised")),
            ("calibration", ("original", "anonymised", "matched")),
        ):
            if getattr(self, field) not in allowed:
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


PLAIN = ThreatModel("unprotected", "original", "original", calibration="original")
RANDOM = ThreatModel("random", "noise", "noise")
IGNORANT = ThreatModel("ignorant", "original", "anonymised", calibration="original")
LAZY_INFORMED = ThreatModel("lazy-informed", "anonymised", "anonymised", calibration="anonymised")
SEMI_INFORMED = ThreatModel("semi-informed", "anonymised", "anonymised", "anonymised", "anonymised")
SEMI_INFORMED_ADAPTER = ThreatModel("semi-informed", "anonymised", "anonymised", "anonymised", "anonymised", True)

ATTACKERS: Mapping[str, ThreatModel] = {
    "ignorant": IGNORANT,
    "lazy-informed": LAZY_INFORMED,
    "semi-informed": SEMI_INFORMED,
    "semi-informed-adapter": SEMI_INFORMED_ADAPTER,
}


def find_attacker(attacker: str | ThreatModel) -> ThreatModel:
    """A threat model by name, or the one given."""
    if isinstance(attacker, ThreatModel):
        return attacker
    if attacker not in ATTACKERS:
        raise UsageError(f"unknown attacker {attacker!r}; expected {', '.join(ATTACKERS)}, or a ThreatModel")
    return ATTACKERS[attacker]


@dataclass(frozen=True, slots=True)
class AttackerCard:
    """What one attacker wants, can reach and has, in sentences, and the tuple in words."""

    name: str
    objective: str
    opportunity: tuple[str, ...]
    resources: tuple[str, ...]
    enrolment: str
    trial: str
    extractor: str
    backend: str
    trained_on: str
    calibrated_on: str

    def to_dict(self) -> dict[str, str | list[str]]:
        """The card as plain values, for JSON."""
        return {
            "name": self.name,
            "objective": self.objective,
            "opportunity": list(self.opportunity),
            "resources": list(self.resources),
            "enrolment": self.enrolment,
            "trial": self.trial,
            "extractor": self.extractor,
            "backend": self.backend,
            "trained_on": self.trained_on,
            "calibrated_on": self.calibrated_on,
        }

    def to_text(self) -> str:
        """The card as lines, one field each."""
        lines = [f"attacker       {self.name}"]
        for name, value in self.to_dict().items():
            if name != "name":
                words = " ".join(value) if isinstance(value, list) else value
                lines.append(f"{name.replace('_', ' '):<14} {words}")
        return "\n".join(lines) + "\n"


_OBJECTIVE = "Link a single trial utterance to one identity among {identities} that are known."
_SPEECH = {
    "original": "original speech",
    "anonymised": "anonymised speech",
    "noise": "independent noise in the place of embeddings",
}


def attacker_card(
    model: ThreatModel, *, backend: str, extractor: str, identities: int, train_speakers: int, dev_speakers: int
) -> AttackerCard:
    """The card of a threat model that was carried out.

    Parameters
    ----------
    backend, extractor
        What it was carried out with.
    identities, train_speakers, dev_speakers
        Enrolled people, and people that back-end and calibration were fitted on.
    """
    if model.name == "random":
        objective = "None: the lower bound, what the same search finds where there is nothing to find."
        opportunity: tuple[str, ...] = ("No speech: every embedding is independent noise.",)
    else:
        objective = _OBJECTIVE.format(identities=identities)
        if model.name == "unprotected":
            objective += " The upper bound and positive control: no protection."
        opportunity = (
            f"Trial utterances, intercepted as {_SPEECH[model.trial]}.",
            f"A database of {identities} identities with {_SPEECH['original']} of each, the target among them.",
        )
        if "anonymised" in (model.enrolment, model.trained_on, *model.development):
            opportunity += ("Knowledge of the anonymisation system, which the attacker can run.",)
    resources: tuple[str, ...] = (
        f"Speech of {train_speakers} other people to train on and of {dev_speakers} further ones to calibrate on.",
        "A trained embedding extractor.",
    )
    if model.trained_on == "anonymised":
        learned = "an adapter network and the back-end" if model.adapter else "the back-end"
        resources += (f"Computing power to train {learned} on anonymised speech.",)
    enrolled, tried = model.development
    return AttackerCard(
        name=str(model),
        objective=objective,
        opportunity=opportunity,
        resources=resources,
        enrolment=_SPEECH[model.enrolment],
        trial=_SPEECH[model.trial],
        extractor=f"{extractor}, trained on {model.extractor} speech",
        backend=f"adapter network + {backend}" if model.adapter else backend,
        trained_on=f"{_SPEECH[model.trained_on]} of {train_speakers} training speakers",
        calibrated_on=f"{enrolled} enrolment against {tried} trials of {dev_speakers} development speakers",
    )
