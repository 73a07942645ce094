"""What the scores of a tandem, or a replicate of them, offer the tandem measures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, TypeVar

from zeroevidence._typing import FloatArray

T = TypeVar("T")
Three: TypeAlias = tuple[FloatArray, FloatArray, FloatArray]


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
        self._found: dict[str, Any] = {}

    def once(self, name: str, compute: Callable[[], T]) -> T:
        """What several measures need, computed when the first one asks."""
        if name not in self._found:
            self._found[name] = compute()
        found: T = self._found[name]
        return found

    @property
    def asv(self) -> Three | None:
        """Targets, non-targets and spoofs of the verifier behind the countermeasure."""
        return self._three("asv")

    @property
    def sasv(self) -> Three | None:
        """Targets, non-targets and spoofs of a single spoofing-robust verifier."""
        return self._three("sasv")

    def _three(self, side: str) -> Three | None:
        if f"{side}_spoof" not in self.scores:
            return None
        return self.scores[f"{side}_target"], self.scores[f"{side}_nontarget"], self.scores[f"{side}_spoof"]

    @property
    def cm(self) -> tuple[FloatArray, FloatArray] | None:
        """Bona fide and spoofed speech of the countermeasure."""
        return (self.scores["cm_bonafide"], self.scores["cm_spoof"]) if "cm_spoof" in self.scores else None
