"""Measures as metrics of torchmetrics, for training loops: ``EqualErrorRate`` and ``DisclosedEvidence``.

Scores are kept until `compute`, as an exact curve needs them, and gathered from all processes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import ArrayLike

from zeroevidence import scorers
from zeroevidence.errors import MissingExtra

try:
    import torch
    from torchmetrics import Metric
    from torchmetrics.utilities import dim_zero_cat
except ImportError:
    raise MissingExtra("torchmetrics", "metrics for training loops") from None


class _OfScores(Metric):  # type: ignore[misc, unused-ignore]
    """A measure of scores and of their classes, 1 for pairs of one person and 0 for others."""

    is_differentiable = False
    full_state_update = False
    preds: list[Any]
    target: list[Any]
    measure: Callable[[ArrayLike, ArrayLike], float]

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.add_state("preds", default=[], dist_reduce_fx="cat")
        self.add_state("target", default=[], dist_reduce_fx="cat")

    def update(self, preds: Any, target: Any) -> None:
        """Add a batch of scores with their classes."""
        self.preds.append(preds.detach().flatten().to(torch.float64))
        self.target.append(target.detach().flatten().to(torch.int64))

    def compute(self) -> Any:
        """Return the measure of all scores so far."""
        preds, target = (dim_zero_cat(batches) for batches in (self.preds, self.target))
        return torch.tensor(type(self).measure(target.cpu().numpy(), preds.cpu().numpy()), device=preds.device)


class EqualErrorRate(_OfScores):
    """Equal error rate of all scores so far.

    Examples
    --------
    >>> import torch
    >>> metric = EqualErrorRate()
    >>> metric.update(torch.tensor([0.9, 0.4]), torch.tensor([1, 1]))
    >>> metric.update(torch.tensor([0.6, 0.1]), torch.tensor([0, 0]))
    >>> float(metric.compute())
    0.5
    """

    higher_is_better = False
    measure = staticmethod(scorers.eer)


class DisclosedEvidence(_OfScores):
    """D_ECE of all scores so far, in bits: evidence on whether two recordings are of one person."""

    higher_is_better = True
    measure = staticmethod(scorers.d_ece)
