"""Networks of the architectures that can be trained: CAM++ and ECAPA-TDNN; this module imports torch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from torch import nn
from torch.nn import functional

from zeroevidence.attack.networks import speaker_network
from zeroevidence.attack.networks.speaker_network import FixedBatchNorm, FoldedConv1d, FrameMask, SpeakerNetwork, Tensor

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
        around = speaker_network.mean(x, valid) + segment_means(x, valid)
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
        middle = speaker_network.mean(x, valid)
        spread = speaker_network.deviation(speaker_network.mean((x - middle).square(), valid) * (number / (number - 1)))
        return self.last(torch.cat([middle, spread], dim=1))[:, :, 0]


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
        return x * self.excite(functional.relu(self.squeeze(speaker_network.mean(x, valid)))).sigmoid()


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
        middle = speaker_network.mean(x, valid)
        spread = speaker_network.deviation(speaker_network.mean((x - middle).square(), valid))
        scores = self.weigh(self._looked(x, torch.cat([middle, spread], dim=1)).tanh()).float()
        if valid is not None:
            scores = scores.masked_fill(valid.padding, -torch.inf)
        weights = scores.softmax(dim=2)
        centre = (weights * x).sum(2, keepdim=True)
        around = speaker_network.deviation((weights * (x - centre).square()).sum(2, keepdim=True))
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
