"""Additive angular margin, the loss of the training. This module imports torch."""

from __future__ import annotations

import math

import torch
from torch import nn
from torch.nn import functional


class AngularMargin(nn.Module):
    """Cosines to class vectors, the true one made harder by an angle [Deng et al. 2019]."""

    def __init__(self, centres: torch.Tensor, margin: float, scale: float) -> None:
        super().__init__()
        self.centres = nn.Parameter(functional.normalize(centres, dim=1))
        self.margin, self.scale = margin, scale

    def forward(self, vectors: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return the mean loss of a batch."""
        cosine = functional.normalize(vectors.float(), dim=1) @ functional.normalize(self.centres, dim=1).T
        cosine = cosine.clamp(-1.0 + 1e-6, 1.0 - 1e-6)
        true = cosine.gather(1, labels[:, None])
        # cos(a + m) falls with a up to pi - m; beyond, a straight line goes on falling
        harder = true * math.cos(self.margin) - torch.sqrt(1.0 - true**2) * math.sin(self.margin)
        beyond = true < -math.cos(self.margin)
        harder = torch.where(beyond, true - self.margin * math.sin(self.margin), harder)
        logits = self.scale * cosine.scatter(1, labels[:, None], harder)
        return functional.cross_entropy(logits, labels)
