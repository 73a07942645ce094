"""CAM++ [Wang et al. 2023] as 3D-Speaker builds it.

Residual convolutions over time and frequency, a convolution that halves the rate of frames, and three densely connected
blocks, whose layers each add a few channels, gated by the means of the utterance and of its segments of 100 frames
(context-aware masking). Convolutions see zeros beyond an utterance's ends. Where a normalisation follows a convolution
directly, it is part of that convolution's kernel and bias, as in the files that this network is read from.

The trunk ends behind the first block: convolutions over time and frequency are two fifths of the work, and what follows
them is where an attacker learns most. This module imports torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import nn
from torch.nn import functional

from zeroevidence.attack.networks.speaker_network import (
    FixedBatchNorm,
    FoldedConv1d,
    FrameMask,
    SpeakerNetwork,
    Tensor,
    deviation,
    mean,
)

_SEGMENT = 100  # frames
_SHRINK = 8  # of the frequency axis


def _zeroed(x: Tensor, valid: FrameMask | None) -> Tensor:
    return x if valid is None else valid.zeroed(x)


def _blank(x: Tensor, beyond: Tensor | None) -> Tensor:
    return x if beyond is None else x.masked_fill(beyond, 0.0)


class ResidualBlock(nn.Module):  # type: ignore[misc, unused-ignore]
    """Two convolutions over frequency and time, and what came in added to them."""

    def __init__(self, channels: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, stride=(stride, 1), padding=1)
        self.second = nn.Conv2d(channels, channels, 3, padding=1)
        self.aside = nn.Conv2d(channels, channels, 1, stride=(stride, 1)) if stride > 1 else None

    def forward(self, x: Tensor, beyond: Tensor | None) -> Tensor:
        """Utterances x channels x bands x frames; `beyond` marks the frames behind the end."""
        y = _blank(functional.relu(self.first(x)), beyond)
        y = self.second(y)
        y = y + (x if self.aside is None else self.aside(x))
        return _blank(functional.relu(y), beyond)


class ResidualFrontEnd(nn.Module):  # type: ignore[misc, unused-ignore]
    """From features to channels x an eighth of the bands, in one row."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(1, channels, 3, padding=1)
        self.blocks = nn.ModuleList(ResidualBlock(channels, stride) for stride in (2, 1, 2, 1))
        self.last = nn.Conv2d(channels, channels, 3, stride=(2, 1), padding=1)

    def forward(self, x: Tensor, valid: FrameMask | None) -> Tensor:
        """As many frames as came in."""
        beyond = None if valid is None else valid.padding[:, :, None]
        y = _blank(functional.relu(self.first(_zeroed(x, valid)[:, None])), beyond)
        for block in self.blocks:
            y = block(y, beyond)
        return _blank(functional.relu(self.last(y)), beyond).flatten(1, 2)


class DenseLayer(nn.Module):  # type: ignore[misc, unused-ignore]
    """A layer of a dense block: `growth` channels from all that the layers before it gave."""

    def __init__(self, channels: int, growth: int, dilation: int) -> None:
        super().__init__()
        bottleneck = 4 * growth
        self.norm = FixedBatchNorm(channels)
        self.narrow = nn.Conv1d(channels, bottleneck, 1)
        self.local = nn.Conv1d(bottleneck, growth, 3, padding=dilation, dilation=dilation, bias=False)
        self.context = nn.Conv1d(bottleneck, bottleneck // 2, 1)
        self.gate = nn.Conv1d(bottleneck // 2, growth, 1)

    def forward(self, x: Tensor, valid: FrameMask | None) -> Tensor:
        """The new channels alone."""
        x = _zeroed(functional.relu(self.narrow(functional.relu(self.norm(x)))), valid)
        y = self.local(x)
        around = mean(x, valid) + segment_means(x, valid)
        gates = self.gate(functional.relu(self.context(around))).sigmoid()
        return y * gates[..., None].expand(-1, -1, -1, _SEGMENT).flatten(2)[:, :, : y.shape[2]]


def segment_means(x: Tensor, valid: FrameMask | None) -> Tensor:
    """Means over every 100 frames, the last ones over what is left; a gate is the same for a whole segment.

    Parameters
    ----------
    x
        Utterances x channels x frames, zeros behind the ends.
    valid
        Which frames count.
    """
    if valid is None:
        return functional.avg_pool1d(x, _SEGMENT, _SEGMENT, ceil_mode=True)
    segments = -(-valid.frames // _SEGMENT)
    whole = functional.pad(x, (0, segments * _SEGMENT - valid.frames))
    sums = whole.reshape(*x.shape[:2], segments, _SEGMENT).sum(3)
    starts = torch.arange(segments, device=x.device) * _SEGMENT
    return sums / (valid.counts - starts).clamp(1, _SEGMENT)


class Transition(nn.Module):  # type: ignore[misc, unused-ignore]
    """Half of the channels, after a block."""

    def __init__(self, channels: int, *, bias: bool) -> None:
        super().__init__()
        self.channels = channels // 2
        self.norm = FixedBatchNorm(channels)
        self.halve = nn.Conv1d(channels, self.channels, 1, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        """Frame by frame."""
        return self.halve(functional.relu(self.norm(x)))


class DenseBlock(nn.Module):  # type: ignore[misc, unused-ignore]
    """A dense block."""

    def __init__(self, channels: int, layers: int, growth: int, dilation: int) -> None:
        super().__init__()
        self.channels = channels + layers * growth
        self.layers = nn.ModuleList(DenseLayer(channels + at * growth, growth, dilation) for at in range(layers))

    def forward(self, x: Tensor, valid: FrameMask | None) -> Tensor:
        """What came in, and the channels of every layer."""
        for layer in self.layers:
            x = torch.cat([x, layer(x, valid)], dim=1)
        return x


class CamPlusPlus(SpeakerNetwork):
    """Log-mel features to speaker embeddings.

    Parameters
    ----------
    bands
        Of the features; a multiple of eight.
    front
        Channels of the convolutions over frequency and time.
    width
        Channels before the first block.
    growth
        Channels that a layer of a block adds.
    layers
        Of each of the three blocks.
    dim
        Of the embedding.
    """

    least_frames: ClassVar[int] = 3  # two frames of the trunk: a deviation needs two
    stride: ClassVar[int] = 2
    head_begins: ClassVar[str] = "stage2"

    def __init__(
        self,
        *,
        bands: int = 80,
        front: int = 32,
        width: int = 128,
        growth: int = 32,
        layers: Sequence[int] = (12, 24, 16),
        dim: int = 192,
    ) -> None:
        super().__init__()
        self.bands, self.dim = bands, dim
        self.front = ResidualFrontEnd(front)
        self.halving = FoldedConv1d(front * bands // _SHRINK, width, 5, stride=self.stride, padding=2)
        self.stage1 = DenseBlock(width, layers[0], growth, dilation=1)
        self.transit1 = Transition(self.stage1.channels, bias=False)
        self.stage2 = DenseBlock(self.transit1.channels, layers[1], growth, dilation=2)
        self.transit2 = Transition(self.stage2.channels, bias=False)
        self.stage3 = DenseBlock(self.transit2.channels, layers[2], growth, dilation=2)
        self.transit3 = Transition(self.stage3.channels, bias=True)
        self.last = nn.Conv1d(2 * self.transit3.channels, dim, 1)

    def _trunk(self, x: Tensor, valid: FrameMask | None) -> Tensor:
        x = functional.relu(self.halving(self.front(x, valid)))
        slower = None if valid is None else FrameMask(self.frame_lengths(valid.lengths), x.shape[2])
        return self.transit1(self.stage1(x, slower))

    def _head(self, x: Tensor, valid: FrameMask | None) -> Tensor:
        x = self.transit2(self.stage2(x, valid))
        x = functional.relu(self.transit3(self.stage3(x, valid))).float()
        number = x.shape[2] if valid is None else valid.counts
        middle = mean(x, valid)
        spread = deviation(mean((x - middle).square(), valid) * (number / (number - 1)))
        return self.last(torch.cat([middle, spread], dim=1))[:, :, 0]
