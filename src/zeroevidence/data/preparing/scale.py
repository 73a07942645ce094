"""Scores that point the other way, or are logarithms to another base, made what everything else expects.

Higher scores speak for the target, and scores that are likelihood ratios are natural logarithms.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from math import log
from typing import Literal, TypeAlias

from zeroevidence.data.loaded_scores import LoadedScores
from zeroevidence.data.relaxed_rules import RelaxedRule
from zeroevidence.data.scores import Scores
from zeroevidence.data.tandem import KINDS, TandemScores

Base: TypeAlias = Literal["e", "2", "10"]
BASES: dict[Base, float] = {"e": 1.0, "2": log(2.0), "10": log(10.0)}  # what makes natural logarithms of others


@dataclass(frozen=True, slots=True)
class Scale:
    """What is done to scores after reading.

    Parameters
    ----------
    negate
        Whether higher scores spoke against the target.
    llr_base
        The base of the logarithm, for scores that are log-likelihood ratios.

    Examples
    --------
    >>> Scale(negate=True, llr_base="10").of(LoadedScores(Scores([-1.0], [2.0]), "arrays", None, ())).data.target
    array([2.30258509])
    """

    negate: bool = False
    llr_base: Base = "e"

    @property
    def factor(self) -> float:
        """What scores are multiplied by."""
        return (-1.0 if self.negate else 1.0) * BASES[self.llr_base]

    def of(self, loaded: LoadedScores) -> LoadedScores:
        """The same scores on the usual scale."""
        data = loaded.data
        if self.factor == 1.0:
            return loaded
        count = len(data) if isinstance(data, Scores) else data.scores.size
        if isinstance(data, Scores):
            data = replace(data, target=data.target * self.factor, nontarget=data.nontarget * self.factor)
        else:
            data = replace(data, scores=data.scores * self.factor)
        return replace(loaded, data=data, loosened=(*loaded.loosened, *self.loosened(count)))

    def loosened(self, count: int, side: str | None = None) -> tuple[RelaxedRule, ...]:
        """What signatures and warnings say of it."""
        turned = (RelaxedRule("negated", count, side=side),) if self.negate else ()
        other = (RelaxedRule("llr-base", count, how=self.llr_base, side=side),) if self.llr_base != "e" else ()
        return turned + other


def scale_tandem(
    data: TandemScores, negate: Collection[str] = (), llr_base: Base = "e"
) -> tuple[TandemScores, tuple[RelaxedRule, ...]]:
    """Scores of a tandem on the usual scale, and what is said of it; `negate` names the sides that are turned round."""
    classes = data.classes()
    told: list[RelaxedRule] = []
    for side, kinds in KINDS.items():
        scale = Scale(side in negate, llr_base)
        own = [f"{side}_{kind}" for kind in kinds if f"{side}_{kind}" in classes]
        if scale.factor == 1.0 or not own:
            continue
        told += scale.loosened(sum(len(classes[name]) for name in own), side)
        classes |= {name: replace(classes[name], scores=classes[name].scores * scale.factor) for name in own}
    return TandemScores(**classes), tuple(told)
