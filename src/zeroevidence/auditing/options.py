"""Options of an audit."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, TypeAlias

from zeroevidence.attack.attackers import ATTACKERS, find_attacker, usual_attackers
from zeroevidence.attack.backends import BACKENDS, BackendLike, make_backend
from zeroevidence.attack.extractors import DEFAULT_EXTRACTOR
from zeroevidence.attack.ladder import Adapter, Effort, LadderStep, ladder_steps
from zeroevidence.attack.training import TrainingSettings
from zeroevidence.data.folds import FEW_PEOPLE, FOLDS, SPLITS
from zeroevidence.data.preparing import ALLOW_SAME
from zeroevidence.data.threat import ThreatModel
from zeroevidence.errors import UsageError
from zeroevidence.evaluation import Options
from zeroevidence.run import setting

CalibratedOn: TypeAlias = Literal["attacker", "matched"]


@dataclass(frozen=True, slots=True)
class AuditOptions:
    """What an audit tries, and how it measures; what concerns recordings has no effect on audits of embeddings.

    Parameters
    ----------
    draws
        How often the anonymiser is run, the release included, on speech to train on and to enrol. By default as often
        as there are folders; with a protector once for `quick`, twice (five times with a GPU) for `standard`, and ten
        times for `full`. One that gives the same speech again is run once.
    extractor
        The speaker encoder.
    extractor_anonymised
        A further encoder that was trained on such speech.
    attackers
        Names of registered attackers or threat models; by default the usual ones.
    effort
        How far to climb the ladder.
    backends
        Only these back-ends instead of the ladder, by name or as unfitted estimators.
    segments
        A table of segments to cut trials by, for shorter ones.
    pieces
        How many segments make a trial.
    folds
        Cross-validation over people, where neither roles nor splits are given: how many folds, 0 for one split. By
        default three for fewer than 30 people, and one split for more.
    splits
        How often people are dealt to folds; attackers learn in each fold of each split, and values are means over
        splits. By default five times for fewer than 30 people, and once for more.
    allow_same
        Take the same original audio as enrolment and trial of one person.
    recogniser
        Name of the recogniser that measures word errors before and after protection, on a sample of the recordings;
        ``none`` to measure none. By default one that is installed and no part of the protection.
    transcripts
        File of what was said (Kaldi ``text``); by default the corpus is searched for it.
    phones
        File of the phones of the protected speech (CTM), whose durations are compared; by default units that the
        content encoder of `onevoice` hears, where it is installed.
    training
        Settings of the fine-tuning of encoders; the seed is that of the run.
    measuring
        How to measure.
    calibration
        ``matched``: on the sides that are evaluated; ``attacker``: on the development speech that the attacker has.
    adapter
        The unfitted network of steps that have one.
    system
        Label of the protection; by default its name.
    dataset
        Label of the corpus; by default its name.

    Examples
    --------
    >>> options = AuditOptions(attackers=("lazy-informed",), backends=("cosine",))
    >>> [model.name for model in options.threat_models()], [step.name for step in options.steps(20)[0]]
    (['lazy-informed'], ['cosine'])
    """

    draws: int | None = setting(
        None,
        "Times that attackers run the anonymiser on speech to train on and to enrol, the release included [default: "
        "with --protect 1 for quick, 2 for standard (5 with a GPU), 10 for full; else one for each --anonymised].",
        least=1,
        metavar="N",
    )
    extractor: str | Path = setting(DEFAULT_EXTRACTOR, "Speaker encoder.", metavar="NAME")
    extractor_anonymised: str | Path | None = setting(
        None, "Further speaker encoder, trained on anonymised speech, as `train-attacker` writes it.", metavar="NAME"
    )
    attackers: tuple[str | ThreatModel, ...] | None = setting(
        None, "Threat model, may be repeated.", spelling="--attacker", choices=ATTACKERS
    )
    effort: Effort = setting(
        "standard", "Effort of the attackers: from standard on they also train the speaker encoder."
    )
    backends: tuple[BackendLike, ...] | None = setting(
        None,
        "Scoring back-end, may be repeated [default: as many as the effort allows].",
        spelling="--backend",
        choices=BACKENDS,
        parse=lambda names: names or None,
    )
    segments: str | Path | None = setting(
        None, "Table of segments (utt, start, end) to cut trials into.", metavar="FILE"
    )
    pieces: int = setting(1, "Segments of a trial, with --segments.", least=1)
    folds: int | None = setting(
        None,
        f"Cross-validate over people in N folds; 0 for one split [default: {FOLDS} for fewer than {FEW_PEOPLE} people "
        "without roles, else 0].",
        least=0,
        metavar="N",
    )
    splits: int | None = setting(
        None,
        f"Times that people are dealt to folds, over which values are averaged [default: {SPLITS} for fewer than "
        f"{FEW_PEOPLE} people, else 1].",
        least=1,
        metavar="N",
    )
    phones: str | Path | None = setting(
        None,
        "Phones of the protected speech: lines of `utterance channel start duration phone` (CTM). Attackers compare "
        "their durations [default: speech units, with the extra onevoice].",
        metavar="FILE",
    )
    allow_same: bool = setting(False, ALLOW_SAME)
    recogniser: str | None = None
    transcripts: str | Path | None = None
    training: TrainingSettings = field(default_factory=TrainingSettings)
    measuring: Options = field(default_factory=Options)
    calibration: CalibratedOn = "matched"
    adapter: Adapter | None = None
    system: str = ""
    dataset: str = ""

    def threat_models(self) -> list[ThreatModel]:
        """Return the threat models of the attackers, each with its calibration."""
        attackers = usual_attackers() if self.attackers is None else self.attackers
        models = [find_attacker(attacker) for attacker in attackers]
        if self.calibration == "matched":
            models = [replace(model, calibration="matched") for model in models]
        _check_names("attacker", [str(model) for model in models])
        return models

    def steps(self, people: int) -> tuple[list[LadderStep], tuple[str, ...]]:
        """Return the steps of the ladder for so many training people, and those that cannot be tried, with the reason.

        What cannot be tried lacks an optional part of the package, or training people.
        """
        if self.backends is None:
            steps = ladder_steps(self.effort)
            reasons = {step.name: _obstacle(step, people) for step in steps}
            possible = [step for step in steps if reasons[step.name] is None]
            return possible, tuple(f"{name}: {reason}" for name, reason in reasons.items() if reason is not None)
        backends = [make_backend(backend) for backend in self.backends]
        _check_names("back-end", [backend.name for backend in backends])
        return [
            LadderStep(backend.name, "", cost, "quick", lambda _p, _d, backend=backend: [make_backend(backend)])  # type: ignore[misc]
            for cost, backend in enumerate(backends, 1)
        ], ()


def _check_names(noun: str, names: list[str]) -> None:
    if not names:
        raise UsageError("an audit needs at least one attacker and one back-end")
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise UsageError(f"{noun} {twice[0]!r} is named more than once")


def _obstacle(step: LadderStep, people: int) -> str | None:
    """Return why a step cannot be tried; None where it can."""
    if step.extra is not None and importlib.util.find_spec(step.extra) is None:
        return f"needs pip install 'zeroevidence[{step.extra}]'"
    return None if people >= step.people else f"{people} training people; it learns from at least {step.people}"
