"""The card of an attacker: what it wants, can reach and has, beside every result.

It has the form of table 1 of Šterns et al., "scenario of use": objective, opportunity, resources.
"""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import wrap

from zeroevidence.data.threat import RANDOM, UNPROTECTED, ThreatModel, Training
from zeroevidence.evaluation.rows.about import TrainingEffort


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

    def to_text(self, width: int | None = None) -> str:
        """The card as lines, one field each; wrapped between words where a `width` is given."""
        lines = []
        for name, value in self.to_dict().items():
            label = "attacker" if name == "name" else name.replace("_", " ")
            line = f"{label:<14} {' '.join(value) if isinstance(value, list) else value}"
            lines += [line] if width is None else wrap(line, width, subsequent_indent=" " * 15)
        return "\n".join(lines) + "\n"


_OBJECTIVE = "Link a single trial utterance to one identity among {identities} that are known."
_SPEECH = {
    "original": "original speech",
    "anonymised": "anonymised speech",
    "noise": "independent noise in the place of embeddings",
}


def attacker_card(
    model: ThreatModel,
    *,
    backend: str,
    extractor: str,
    identities: int,
    train_speakers: int,
    dev_speakers: int,
    folds: int = 1,
    extractor_trained_on: Training | None = None,
    spent: TrainingEffort | None = None,
) -> AttackerCard:
    """The card of a threat model as it was carried out.

    Parameters
    ----------
    backend, extractor
        What it was carried out with.
    identities, train_speakers, dev_speakers
        Enrolled people, and people that back-end and calibration were fitted on.
    folds
        How many folds of people there are; in each the others are learned from.
    extractor_trained_on
        What the extractor learned from; as the threat model says unless given.
    spent
        What the attacker spent, where it is known.
    """
    objective, opportunity = _wanted(model, identities)
    resources = (
        f"Speech of {train_speakers} other people to train on and of {dev_speakers} further ones to calibrate on.",
        "A trained embedding extractor.",
        *([f"Cross-validated over people: the same attack in each of {folds} folds."] if folds > 1 else []),
        *_learning(model, spent),
    )
    heard = extractor_trained_on or model.extractor
    enrolled, tried = model.development
    return AttackerCard(
        name=str(model),
        objective=objective,
        opportunity=opportunity,
        resources=resources,
        enrolment=_SPEECH[model.enrolment],
        trial=_SPEECH[model.trial],
        extractor=f"{extractor}, trained on {heard} speech",
        backend=f"adapter network + {backend}" if model.adapter else backend,
        trained_on=f"{_SPEECH[model.trained_on]} of {train_speakers} training speakers",
        calibrated_on=f"{enrolled} enrolment against {tried} trials of {dev_speakers} development speakers",
    )


def _wanted(model: ThreatModel, identities: int) -> tuple[str, tuple[str, ...]]:
    """What the attacker wants, and can reach."""
    if model.name == RANDOM:
        objective = "None: the lower bound, what the same search finds where there is nothing to find."
        return objective, ("No speech: every embedding is independent noise.",)
    objective = _OBJECTIVE.format(identities=identities)
    if model.name == UNPROTECTED:
        objective += " The upper bound and positive control: no protection."
    opportunity: tuple[str, ...] = (
        f"Trial utterances, intercepted as {_SPEECH[model.trial]}.",
        f"A database of {identities} identities with {_SPEECH['original']} of each, the target among them.",
    )
    if "anonymised" in (model.enrolment, model.trained_on, *model.development):
        opportunity += ("Knowledge of the anonymisation system, which the attacker can run.",)
    return objective, opportunity


def _learning(model: ThreatModel, spent: TrainingEffort | None) -> list[str]:
    """What learning takes."""
    found = []
    if model.trained_on == "anonymised":
        learned = "an adapter network and the back-end" if model.adapter else "the back-end"
        found.append(f"Computing power to train {learned} on anonymised speech.")
    if spent is not None and spent.epochs:
        heard = f"{spent.epochs} epochs over {spent.recordings} anonymised recordings"
        found.append(f"Computing power to train the extractor further: {heard}.")
    if spent is not None and spent.settings > 1:
        found.append(f"Development people to choose among {spent.settings} settings.")
    return found
