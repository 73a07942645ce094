"""ECAPA-TDNN [Desplanques et al. 2020] as SpeechBrain builds it.

A convolution over five frames, three blocks that look further and further (Res2 convolutions in eight groups, dilated
by 2, 3 and 4 frames, with squeeze-and-excitation), a convolution over the outputs of all three, and pooling in which
every channel weighs the frames by an attention of its own. Convolutions mirror an utterance at its ends.

The trunk ends before the pooling. This module imports torch.
"""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import nn
from torch.nn import functional

from zeroevidence.attack.networks.speaker_network import (
    FixedBatchNorm,
    FrameMask,
    SpeakerNetwork,
    Tensor,
    deviation,
    mean,
)

_GROUPS = 8
_DILATIONS = (2, 3, 4)


class TdnnLayer(nn.Module):  # type: ignore[misc, unused-ignore]
    """A convolution in time, a rectifier and a normalisation."""

    def __init__(self, inputs: int, outputs: int, kernel: int = 1, dilation: int = 1) -> None:
        super().__init__()
        self.conv = nn.Conv1d(inputs, outputs, kernel, dilation=dilation)
        self.norm = FixedBatchNorm(outputs)
        self.reach = dilation * (kernel - 1) // 2

    def forward(self, x: Tensor, valid: FrameMask | None) -> Tensor:
        """As many frames as came in."""
        if self.reach and valid is None:
            x = functional.pad(x, (self.reach, self.reach), mode="reflect")
        elif self.reach and valid is not None:
            x = valid.reflected(x, self.reach)
        return self.norm(functional.relu(self.conv(x)))


class SqueezeExcitation(nn.Module):  # type: ignore[misc, unused-ignore]
    """Squeeze-and-excitation: every channel is scaled by what the means of all channels say."""

    def __init__(self, channels: int, bottleneck: int) -> None:
        super().__init__()
        self.squeeze = nn.Conv1d(channels, bottleneck, 1)
        self.excite = nn.Conv1d(bottleneck, channels, 1)

    def forward(self, x: Tensor, valid: FrameMask | None) -> Tensor:
        """Scaled frames."""
        return x * self.excite(functional.relu(self.squeeze(mean(x, valid)))).sigmoid()


class Res2Block(nn.Module):  # type: ignore[misc, unused-ignore]
    """Res2 convolutions between two plain ones, excitation, and the input added to it all."""

    def __init__(self, width: int, bottleneck: int, dilation: int) -> None:
        super().__init__()
        group = width // _GROUPS
        self.before = TdnnLayer(width, width)
        self.groups = nn.ModuleList(TdnnLayer(group, group, 3, dilation) for _ in range(_GROUPS - 1))
        self.after = TdnnLayer(width, width)
        self.excitation = SqueezeExcitation(width, bottleneck)

    def forward(self, x: Tensor, valid: FrameMask | None) -> Tensor:
        """Every group but the first is convolved, together with what the one before it gave."""
        parts = list(self.before(x, valid).chunk(_GROUPS, dim=1))
        for at, convolved in enumerate(self.groups, start=1):
            parts[at] = convolved(parts[at] if at == 1 else parts[at] + parts[at - 1], valid)
        return x + self.excitation(self.after(torch.cat(parts, dim=1), valid), valid)


class AttentivePooling(nn.Module):  # type: ignore[misc, unused-ignore]
    """Mean and deviation of every channel, the frames weighed by what they and the whole utterance look like."""

    def __init__(self, channels: int, bottleneck: int) -> None:
        super().__init__()
        self.look = TdnnLayer(3 * channels, bottleneck)
        weigh: Any = nn.Conv1d(bottleneck, channels, 1)
        weigh.bias.requires_grad_(False)  # the softmax cancels it: its gradient would be noise
        self.weigh = weigh

    def forward(self, x: Tensor, valid: FrameMask | None) -> Tensor:
        """Utterances x twice the channels x 1."""
        middle = mean(x, valid)
        spread = deviation(mean((x - middle).square(), valid))
        scores = self.weigh(self._looked(x, torch.cat([middle, spread], dim=1)).tanh()).float()
        if valid is not None:
            scores = scores.masked_fill(valid.padding, -torch.inf)
        weights = scores.softmax(dim=2)
        centre = (weights * x).sum(2, keepdim=True)
        around = deviation((weights * (x - centre).square()).sum(2, keepdim=True))
        return torch.cat([centre, around], dim=1)

    def _looked(self, x: Tensor, whole: Tensor) -> Tensor:
        """The layer over frames with the utterance's statistics under each.

        These are the same for all frames, so their part of the product is computed once. In a file the layer stays
        whole, as everybody writes it.
        """
        if torch.onnx.is_in_onnx_export():
            return self.look(torch.cat([x, whole.expand(-1, -1, x.shape[2])], dim=1), None)
        kernel, channels = self.look.conv.weight, x.shape[1]
        of_frames = functional.conv1d(x, kernel[:, :channels], self.look.conv.bias)
        return self.look.norm(functional.relu(of_frames + functional.conv1d(whole, kernel[:, channels:])))


class EcapaTdnn(SpeakerNetwork):
    """Log-mel features to speaker embeddings.

    Parameters
    ----------
    bands
        Of the features.
    width
        Channels of the blocks; a multiple of eight. The trunk gives three times as many.
    bottleneck
        Channels inside excitation and attention.
    dim
        Of the embedding.
    """

    least_frames: ClassVar[int] = max(_DILATIONS) + 1  # mirroring needs one more frame than it adds
    head_begins: ClassVar[str] = "attention"

    def __init__(self, *, bands: int = 80, width: int = 1024, bottleneck: int = 128, dim: int = 192) -> None:
        super().__init__()
        self.bands, self.dim = bands, dim
        channels = len(_DILATIONS) * width
        self.first = TdnnLayer(bands, width, 5)
        self.blocks = nn.ModuleList(Res2Block(width, bottleneck, dilation) for dilation in _DILATIONS)
        self.joined = TdnnLayer(channels, channels)
        self.attention = AttentivePooling(channels, bottleneck)
        self.norm = FixedBatchNorm(2 * channels)
        self.last = nn.Conv1d(2 * channels, dim, 1)

    def _trunk(self, x: Tensor, valid: FrameMask | None) -> Tensor:
        x = self.first(x, valid)
        outputs = []
        for block in self.blocks:
            x = block(x, valid)
            outputs.append(x)
        return self.joined(torch.cat(outputs, dim=1), valid)

    def _head(self, x: Tensor, valid: FrameMask | None) -> Tensor:
        return self.last(self.norm(self.attention(x.float(), valid)))[:, :, 0]
