"""Which attackers an audit tries, and how its rows are measured."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from zeroevidence.attack.attackers.attacker import find_attacker, usual_attackers
from zeroevidence.attack.backends.backend import BackendLike, make_backend
from zeroevidence.attack.ladder.adapter import Adapter
from zeroevidence.attack.ladder.ladder import Effort, LadderStep, ladder_steps
from zeroevidence.data.threat import ThreatModel
from zeroevidence.errors import UsageError
from zeroevidence.evaluation import Options

CalibratedOn: TypeAlias = Literal["attacker", "matched"]


@dataclass(frozen=True, slots=True)
class AttackSettings:
    """Settings of the attacks of an audit; see `audit` for each."""

    attackers: Sequence[str | ThreatModel] | None = None
    effort: Effort = "standard"
    backends: Sequence[BackendLike] | None = None
    options: Options = field(default_factory=Options)
    seed: int = 0
    system: str = "anonymised"
    dataset: str = ""
    adapter: Adapter | None = None
    calibration: CalibratedOn = "matched"
    workers: int = 1
    row_processes: int = 1  # that evaluate many rows side by side
    deterministic: bool = False  # whether a second run of the anonymiser gave the same speech

    def threat_models(self) -> list[ThreatModel]:
        """Return the threat models of the attackers, each with its calibration."""
        attackers = usual_attackers() if self.attackers is None else self.attackers
        models = [find_attacker(attacker) for attacker in attackers]
        if self.calibration == "matched":
            models = [replace(model, calibration="matched") for model in models]
        _check_names("attacker", [str(model) for model in models])
        return models

    def steps(self, people: int) -> tuple[list[LadderStep], tuple[str, ...]]:
        """Return the steps of the ladder to try, and those that cannot be tried, with the reason.

        Parameters
        ----------
        people
            Number of training people.
        """
        if self.backends is None:
            reasons = {step.name: _obstacle(step, people) for step in ladder_steps(self.effort)}
            possible = [step for step in ladder_steps(self.effort) if reasons[step.name] is None]
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
    """Return why a step cannot be tried: an optional part of the package is missing, or training people are."""
    if step.extra is not None and importlib.util.find_spec(step.extra) is None:
        return f"needs pip install 'zeroevidence[{step.extra}]'"
    return None if people >= step.people else f"{people} training people; it learns from at least {step.people}"
