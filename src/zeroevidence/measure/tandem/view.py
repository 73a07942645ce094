"""Views of the scores of a tandem, or of a replicate of them, for the tandem measures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, TypeVar

from zeroevidence._typing import FloatArray

T = TypeVar("T")
ScoreTriple: TypeAlias = tuple[FloatArray, FloatArray, FloatArray]


class TandemView:
    """Scores of each kind of trial (``asv_target``, ``cm_spoof``, ...) and the costs.

    Parameters
    ----------
    scores
        Ascending scores by kind of trial.
    model
        Priors, costs and conventions: a `CostModel`.
    """

    def __init__(self, scores: Mapping[str, FloatArray], model: Any) -> None:
        self.scores, self.model = scores, model
        self._cache: dict[str, Any] = {}

    def cached(self, name: str, compute: Callable[[], T]) -> T:
        """Return a value that several measures need, computed once."""
        if name not in self._cache:
            self._cache[name] = compute()
        value: T = self._cache[name]
        return value

    @property
    def asv(self) -> ScoreTriple | None:
        """Targets, non-targets and spoofs of the verifier behind the countermeasure."""
        return self._triple("asv")

    @property
    def sasv(self) -> ScoreTriple | None:
        """Targets, non-targets and spoofs of a single spoofing-robust verifier."""
        return self._triple("sasv")

    def _triple(self, side: str) -> ScoreTriple | None:
        if f"{side}_spoof" not in self.scores:
            return None
        return self.scores[f"{side}_target"], self.scores[f"{side}_nontarget"], self.scores[f"{side}_spoof"]

    @property
    def cm(self) -> tuple[FloatArray, FloatArray] | None:
        """Bona fide and spoofed speech of the countermeasure."""
        return (self.scores["cm_bonafide"], self.scores["cm_spoof"]) if "cm_spoof" in self.scores else None
