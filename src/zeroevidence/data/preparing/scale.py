"""Scale of scores: negated scores and logarithms to another base become what the measures expect.

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
BASES: dict[Base, float] = {"e": 1.0, "2": log(2.0), "10": log(10.0)}  # factors to natural logarithms


@dataclass(frozen=True, slots=True)
class Scale:
    """A change of the scale of scores after reading.

    Parameters
    ----------
    negate
        Whether higher scores spoke against the target.
    llr_base
        The base of the logarithm, for scores that are log-likelihood ratios.

    Examples
    --------
    >>> Scale(negate=True, llr_base="10").apply(LoadedScores(Scores([-1.0], [2.0]), "arrays", None, ())).data.target
    array([2.30258509])
    """

    negate: bool = False
    llr_base: Base = "e"

    @property
    def factor(self) -> float:
        """What scores are multiplied by."""
        return (-1.0 if self.negate else 1.0) * BASES[self.llr_base]

    def apply(self, loaded: LoadedScores) -> LoadedScores:
        """Return the same scores on the usual scale."""
        data = loaded.data
        if self.factor == 1.0:
            return loaded
        count = len(data) if isinstance(data, Scores) else data.scores.size
        if isinstance(data, Scores):
            data = replace(data, target=data.target * self.factor, nontarget=data.nontarget * self.factor)
        else:
            data = replace(data, scores=data.scores * self.factor)
        return replace(loaded, data=data, relaxed=(*loaded.relaxed, *self.relaxed(count)))

    def relaxed(self, count: int, side: str | None = None) -> tuple[RelaxedRule, ...]:
        """Return the rules that were relaxed for `count` scores of a side."""
        negated = (RelaxedRule("negated", count, side=side),) if self.negate else ()
        base = (RelaxedRule("llr-base", count, how=self.llr_base, side=side),) if self.llr_base != "e" else ()
        return negated + base


def scale_tandem(
    data: TandemScores, negate: Collection[str] = (), llr_base: Base = "e"
) -> tuple[TandemScores, tuple[RelaxedRule, ...]]:
    """Return the scores of a tandem on the usual scale, and the rules that were relaxed.

    Parameters
    ----------
    data
        The scores.
    negate
        The sides whose higher scores speak against acceptance.
    llr_base
        The base of scores that are log-likelihood ratios.
    """
    classes = data.classes()
    rules: list[RelaxedRule] = []
    for side, kinds in KINDS.items():
        scale = Scale(side in negate, llr_base)
        names = [f"{side}_{kind}" for kind in kinds if f"{side}_{kind}" in classes]
        if scale.factor == 1.0 or not names:
            continue
        rules += scale.relaxed(sum(len(classes[name]) for name in names), side)
        classes |= {name: replace(classes[name], scores=classes[name].scores * scale.factor) for name in names}
    return TandemScores(**classes), tuple(rules)
