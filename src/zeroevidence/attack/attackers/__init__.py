"""Attackers: threat models by name, the bounds of every audit, and the cards of attackers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace

from zeroevidence.data.printable import labelled_lines
from zeroevidence.data.threat import RANDOM, UNPROTECTED, ThreatModel, Training
from zeroevidence.evaluation.rows.about import Protocol, TrainingEffort
from zeroevidence.registry import Registry


@dataclass(frozen=True, slots=True)
class Attacker:
    """A registered attacker."""

    name: str
    title: str  # continues "an attacker who ..."
    threat: ThreatModel
    usual: bool = False  # whether an audit tries it by default
    extra: str | None = None  # the optional part of the package that it needs


ATTACKERS: Registry[Attacker] = Registry("attacker", package="zeroevidence.attack.attackers")


def usual_attackers() -> list[str]:
    """Return the names of the attackers that an audit tries by default."""
    return [attacker.name for attacker in ATTACKERS.values() if attacker.usual]


def find_attacker(attacker: str | ThreatModel) -> ThreatModel:
    """Return a threat model by name, or the given one.

    Examples
    --------
    >>> find_attacker("ignorant").enrolment
    'original'
    """
    return attacker if isinstance(attacker, ThreatModel) else ATTACKERS.find(attacker).threat


# The bounds of every audit.
UNPROTECTED_SPEECH = ThreatModel(UNPROTECTED, "original", "original", calibration="original")
RANDOM_VECTORS = ThreatModel(RANDOM, "noise", "noise")

# From the least to the best informed; the challenges have no name for the third.
_BACKEND_INFORMED = ThreatModel("backend-informed", "anonymised", "anonymised", "anonymised", "anonymised")
ATTACKERS.add(
    Attacker(
        "ignorant",
        "does not know that the voices are protected",
        ThreatModel("ignorant", "original", "anonymised", calibration="original"),
        usual=True,
    ),
    Attacker(
        "lazy-informed",
        "knows the protection and applies it to the known voices too",
        ThreatModel("lazy-informed", "anonymised", "anonymised", calibration="anonymised"),
        usual=True,
    ),
    Attacker(
        "backend-informed",
        "knows the protection and has learned from voices protected with it how to compare them",
        _BACKEND_INFORMED,
        usual=True,
    ),
    Attacker(
        "backend-informed-adapter",
        "the same with a network that learned to undo the protection",
        replace(_BACKEND_INFORMED, adapter=True),
        extra="torch",
    ),
    Attacker(
        "semi-informed",
        "knows the protection and has trained a speaker encoder on voices protected with it",
        replace(_BACKEND_INFORMED, name="semi-informed", extractor="anonymised"),
        usual=True,
    ),
)


@dataclass(frozen=True, slots=True)
class AttackerCard:
    """Objective, opportunity and resources of an attacker in sentences, and its threat model."""

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
        """Return the card as plain values, for JSON."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    def to_text(self, width: int | None = None) -> str:
        """Return the card as lines, one field each, wrapped at `width`."""
        return labelled_lines("attacker", self.to_dict(), width)


_OBJECTIVE = "Link {trial} to one identity among {identities} that are known."
_SEX = {
    "told": "The sex of the speaker of every trial, told.",
    "heard": "The sex of the speaker of a trial, as a classifier that learned from the training speech hears it.",
}
_SPEECH = {
    "original": "original speech",
    "anonymised": "anonymised speech",
    "noise": "independent noise in the place of embeddings",
}


def attacker_card(
    model: ThreatModel,
    backend: str,
    extractors: Mapping[str, Training],
    identities: int,
    spent: TrainingEffort,
    protocol: Protocol | None,
) -> AttackerCard:
    """Return the card of a threat model as it was carried out.

    Parameters
    ----------
    model
        The threat model.
    backend
        Name of the back-end.
    extractors
        By name, what each extractor was trained on.
    identities
        Number of enrolled people.
    spent
        Effort of the training: people, folds, runs of the anonymiser.
    protocol
        What is enrolled, tried and searched, where the attacker chose it.
    """
    objective, opportunity = _objective(model, identities, 1 if protocol is None else protocol.tried)
    if protocol is not None and protocol.sex is not None:
        opportunity += (_SEX[protocol.sex],)
    resources = (
        f"Speech of {spent.people} other people to train on and of {spent.development_people} further ones to "
        "calibrate on.",
        "A trained embedding extractor.",
        *_cross_validation(spent),
        *_runs(model, spent),
        *_training_resources(model, spent),
    )
    names = {
        speech: "+".join(name for name, training in extractors.items() if training == speech) for speech in _SPEECH
    }
    return AttackerCard(
        name=str(model),
        objective=objective,
        opportunity=opportunity,
        resources=resources,
        enrolment=_SPEECH[model.enrolment] + _averaged(spent) + _compared(spent) + _enrolled(protocol),
        trial=_SPEECH[model.trial],
        extractor="; ".join(f"{named}, trained on {speech} speech" for speech, named in names.items() if named),
        backend=f"adapter network + {backend}" if model.adapter else backend,
        trained_on=f"{_SPEECH[model.training]} of {spent.people} training speakers",
        calibrated_on=_calibration(model, spent.development_people),
    )


def _enrolled(protocol: Protocol | None) -> str:
    """Return how many recordings are enrolled, where the attacker chose it."""
    if protocol is None:
        return ""
    return f", at most {protocol.enrolled} recording{'s'[: protocol.enrolled > 1]} of each person"


def _objective(model: ThreatModel, identities: int, tried: int) -> tuple[str, tuple[str, ...]]:
    """Return objective and opportunity, where so many recordings make a trial."""
    if model.name == RANDOM:
        objective = "None: the lower bound, what the same search finds where there is nothing to find."
        return objective, ("No speech: every embedding is independent noise.",)
    trial = "a single trial utterance" if tried == 1 else f"up to {tried} trial utterances, known to be of one person,"
    objective = _OBJECTIVE.format(trial=trial, identities=identities)
    if model.name == UNPROTECTED:
        objective += " The upper bound and positive control: no protection."
    opportunity: tuple[str, ...] = (
        f"Trial utterances, intercepted as {_SPEECH[model.trial]}.",
        f"A database of {identities} identities with {_SPEECH['original']} of each, the target among them.",
    )
    if model.knows_protection:
        opportunity += ("Knowledge of the anonymisation system, which the attacker can run.",)
    elif model.trial == "anonymised":
        opportunity += ("No knowledge of the anonymisation: trial utterances are taken for original speech.",)
    return objective, opportunity


def _calibration(model: ThreatModel, speakers: int) -> str:
    """Return what the scores were calibrated on, and whether the attacker could have done it."""
    enrolled, tried = model.development
    lent = "anonymised" in model.development and not model.knows_protection
    whose = ", which the evaluation has and the attacker has not" if lent else ""
    return f"{enrolled} enrolment against {tried} trials of {speakers} development speakers{whose}"


def _cross_validation(spent: TrainingEffort) -> list[str]:
    if spent.folds == 1:
        return []
    splits = f" of each of {spent.splits} splits" if spent.splits > 1 else ""
    return [f"Cross-validated over people: the same attack in each of {spent.folds} folds{splits}."]


def _runs(model: ThreatModel, spent: TrainingEffort) -> list[str]:
    """Return how often the anonymiser was run, by an attacker who enrols anonymised speech."""
    if model.is_bound or model.enrolment != "anonymised":
        return []
    if spent.draws.runs == 1:
        again = ": a second run gives the same speech" if spent.draws.deterministic else ""
        return [f"The anonymiser, run once{again}."]
    speech = "to train on and to enrol" if model.trained_on == "anonymised" else "to enrol"
    return [f"The anonymiser, run {spent.draws.runs} times on the speech {speech}."]


def _averaged(spent: TrainingEffort) -> str:
    """Return how many draws of enrolled recordings are averaged."""
    if spent.draws.runs == 1:
        return ""
    if spent.draws.enrolment == 1:
        return ", the released draw, which development people chose"
    level = "" if spent.draws.level is None else f", {spent.draws.level} averaged"
    return f", {spent.draws.enrolment} draws of each recording{level}"


def _compared(spent: TrainingEffort) -> str:
    """Return where a trial is compared with each enrolled recording and not with their mean."""
    sometimes = "" if spent.draws.compared == "closest" else "in some parts of the attack "
    return "" if spent.draws.compared == "mean" else f", of which {sometimes}the recording closest to a trial counts"


def _training_resources(model: ThreatModel, spent: TrainingEffort) -> list[str]:
    """Return the resources for training."""
    resources = []
    if model.trained_on == "anonymised":
        learned = "an adapter network and the back-end" if model.adapter else "the back-end"
        resources.append(f"Computing power to train {learned} on anonymised speech.")
    if model.is_bound:
        return resources
    if spent.epochs:
        passes = f"{spent.epochs} epochs over {spent.recordings} anonymised recordings"
        resources.append(f"Computing power to train the extractor further: {passes}.")
    if spent.settings > 1:
        resources.append(f"Development people to choose among {spent.settings} settings.")
    return resources
