r"""RealNVP couplings [Dinh et al. 2017] on torch alone: scale and translation networks run as one batched product.

A coupling leaves one half of the entries, a, as it is and maps the other half, b, to :math:`b \, e^{s(a)} + t(a)`; then
the halves change places. :math:`s` and :math:`t` are perceptrons of three layers with LeakyReLU; :math:`s` ends in a
tanh, which bounds how far a coupling can stretch. This module imports torch: ask `networks.need_torch` first.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional

_SLOPE = 0.01  # of LeakyReLU below zero


def make_couplings(dimension: int, layers: int, hidden: int, *, seed: int) -> Couplings:
    """Return a flow over vectors of at least two entries, which starts as the identity."""
    return Couplings(dimension, layers, hidden, torch.Generator().manual_seed(seed))


class Coupling(nn.Module):  # type: ignore[misc, unused-ignore]
    """Networks for scale and translation, side by side: index 0 is s, 1 is t. The last layer starts at zero."""

    def __init__(self, inputs: int, outputs: int, hidden: int, generator: Any) -> None:
        super().__init__()

        def uniform(*shape: int, fan: int) -> Any:
            return nn.Parameter((torch.rand(*shape, generator=generator) * 2.0 - 1.0) / fan**0.5)

        self.hidden = hidden
        self.first = uniform(2 * hidden, inputs, fan=inputs)
        self.first_bias = uniform(2 * hidden, fan=inputs)
        self.second = uniform(2, hidden, hidden, fan=hidden)
        self.second_bias = uniform(2, 1, hidden, fan=hidden)
        self.third = nn.Parameter(torch.zeros(2, hidden, outputs))
        self.third_bias = nn.Parameter(torch.zeros(2, 1, outputs))

    def forward(self, half: Any) -> tuple[Any, Any]:
        """Return log scale and translation of the other half."""
        h: Any = functional.leaky_relu(functional.linear(half, self.first, self.first_bias), _SLOPE)
        h = h.unflatten(-1, (2, self.hidden)).transpose(0, 1)  # 2 x n x hidden
        h = functional.leaky_relu(torch.baddbmm(self.second_bias, h, self.second), _SLOPE)
        h = torch.baddbmm(self.third_bias, h, self.third).to(half.dtype)
        return torch.tanh(h[0]), h[1]


class Couplings(nn.Module):  # type: ignore[misc, unused-ignore]
    """Couplings in a row; the first half of the entries is one side of each, the second half the other."""

    def __init__(self, dimension: int, layers: int, hidden: int, generator: Any) -> None:
        super().__init__()
        self.sizes = sizes = ((dimension + 1) // 2, dimension // 2)
        self.couplings = nn.ModuleList(
            Coupling(sizes[i % 2], sizes[(i + 1) % 2], hidden, generator) for i in range(layers)
        )

    def forward(self, x: Any) -> tuple[Any, Any]:
        """Return the image z of x, and ``log |det dz/dx|``."""
        halves = list(x.split(self.sizes, dim=1))
        log_det = x.new_zeros(len(x))
        for i, coupling in enumerate(self.couplings):
            s, t = coupling(halves[i % 2])
            halves[(i + 1) % 2] = torch.addcmul(t, halves[(i + 1) % 2], s.exp())
            log_det = log_det + s.sum(dim=1)
        return torch.cat(halves, dim=1), log_det

    def inverse(self, z: Any) -> Any:
        """Return the vectors x whose image is z."""
        halves = list(z.split(self.sizes, dim=1))
        for i in reversed(range(len(self.couplings))):
            s, t = self.couplings[i](halves[i % 2])
            halves[(i + 1) % 2] = (halves[(i + 1) % 2] - t) * torch.exp(-s)
        return torch.cat(halves, dim=1)
