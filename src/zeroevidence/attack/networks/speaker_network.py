"""The base class of the networks: a trunk over frames, pooling, and batches of utterances of different lengths.

This module imports torch.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, TypeAlias

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from zeroevidence.attack.networks.onnx_layers import LayerSpec, Tensors
from zeroevidence.errors import InputError

Tensor: TypeAlias = Any  # a tensor; what torch's modules return is untyped

_LEAST_VARIANCE = 1e-12


class FrameMask:
    """The frames of a padded batch that belong to its utterances.

    Parameters
    ----------
    lengths
        Frames of each utterance, on the device of the batch.
    frames
        Frames of the padded batch.
    """

    def __init__(self, lengths: Tensor, frames: int) -> None:
        self.lengths, self.frames = lengths, frames
        self.counts = lengths[:, None, None]
        self.padding = torch.arange(frames, device=lengths.device) >= self.counts  # utterances x 1 x frames
        self._mirrors: dict[int, Tensor] = {}

    def zeroed(self, x: Tensor) -> Tensor:
        """Return utterances x channels x frames with zeros behind every utterance's end, as padding of convolutions."""
        return x.masked_fill(self.padding, 0.0)

    def reflected(self, x: Tensor, width: int) -> Tensor:
        """Return the same with `width` more frames at both ends, every utterance mirrored at its own last frame."""
        if width not in self._mirrors:
            place = torch.arange(-width, self.frames + width, device=x.device).abs()
            last = self.counts - 1
            self._mirrors[width] = (last - (last - place).abs()).clamp(min=0)
        return x.gather(2, self._mirrors[width].expand(-1, x.shape[1], -1))


def mean(x: Tensor, valid: FrameMask | None) -> Tensor:
    """Return means over the frames of each utterance: utterances x channels x 1."""
    return x.mean(2, keepdim=True) if valid is None else valid.zeroed(x).sum(2, keepdim=True) / valid.counts


def deviation(variance: Tensor) -> Tensor:
    """Return the root of a variance; a constant channel has a gradient of zero instead of an infinite one."""
    return variance.clamp(min=_LEAST_VARIANCE).sqrt()


class FixedBatchNorm(nn.Module):  # type: ignore[misc, unused-ignore]
    """Batch normalisation whose statistics stay what they are, in training too; scale and shift can be trained.

    So an utterance's embedding never depends on its neighbours, and padding never enters a statistic.
    """

    running_mean: Tensor
    running_var: Tensor

    epsilon: ClassVar[float] = float(np.float32(1e-5))

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels))
        self.register_buffer("running_mean", torch.zeros(channels))
        self.register_buffer("running_var", torch.ones(channels))

    def forward(self, x: Tensor) -> Tensor:
        """Normalise utterances x channels x frames."""
        return functional.batch_norm(
            x, self.running_mean, self.running_var, self.weight, self.bias, training=False, eps=self.epsilon
        )


class FoldedConv1d(nn.Conv1d):  # type: ignore[misc, unused-ignore]
    """A convolution into which a file folded a normalisation that makes its output much smaller.

    A step of an optimiser that is small for every other kernel is too large for such a small one. So each output's part
    of the kernel is scaled to the size at which torch initialises kernels, with a fixed gain: a power of two, so that
    nothing is rounded.
    """

    gain: Tensor

    def __init__(self, inputs: int, outputs: int, kernel: int, *, stride: int, padding: int) -> None:
        super().__init__(inputs, outputs, kernel, stride=stride, padding=padding)
        self.register_buffer("gain", torch.ones(outputs, 1, 1))

    def forward(self, x: Tensor) -> Tensor:
        """As a convolution with kernel times gain."""
        return functional.conv1d(x, self.weight * self.gain, self.bias, self.stride, self.padding)

    def balance(self) -> None:
        """Part the kernel of a file, which has just been copied here, into kernel and gain."""
        size = (3.0 * self.weight.square().sum((1, 2), keepdim=True)).sqrt()
        self.gain.copy_(torch.where(size > 0.0, size.log2().round().exp2(), 1.0))
        self.weight.div_(self.gain)


def fill(layer: Any, tensors: Tensors) -> None:
    """Copy what a file stores of a layer into it."""
    with torch.no_grad():
        for tensor, stored in zip(tensors_of(layer), tensors, strict=True):
            tensor.copy_(torch.as_tensor(stored))
        if isinstance(layer, FoldedConv1d):
            layer.balance()


def tensors_of(layer: Any) -> tuple[Tensor, ...]:
    """Return what a file stores of a layer: kernel and bias, if any; or scale, shift, mean and variance."""
    if isinstance(layer, FixedBatchNorm):
        return layer.weight, layer.bias, layer.running_mean, layer.running_var
    return (layer.weight,) if layer.bias is None else (layer.weight, layer.bias)


def spec_of(layer: Any) -> LayerSpec:
    """Return the specification of a layer that a file must have."""
    shapes = tuple(tuple(tensor.shape) for tensor in tensors_of(layer))
    if isinstance(layer, FixedBatchNorm):
        return LayerSpec("norm", shapes, epsilon=layer.epsilon)
    return LayerSpec("conv", shapes, layer.stride, layer.dilation, 2 * layer.padding)


class SpeakerNetwork(nn.Module, ABC):  # type: ignore[misc, unused-ignore]
    """A speaker encoder in two parts: a trunk over frames, and pooling with the last layers.

    The layers are registered in the order in which they compute; files are read and written by that order.
    Training and evaluation mode compute the same function.
    """

    least_frames: ClassVar[int]  # of features, for one embedding
    stride: ClassVar[int] = 1  # feature frames per frame of the trunk
    head_begins: ClassVar[str]  # name of the first part behind the trunk
    bands: int
    dim: int

    def forward(self, feats: Tensor, lengths: Sequence[int] | Tensor | None = None) -> Tensor:
        """Return embeddings of utterances.

        Parameters
        ----------
        feats
            Utterances x frames x bands.
        lengths
            Frames of each utterance where shorter ones are padded, with anything finite; best in main memory.

        Returns
        -------
        Tensor
            Utterances x dim, in single precision. An utterance has the same embedding in a padded batch as alone, but
            for the order of sums.
        """
        frames = self.frames(feats, lengths)
        return self.pooled(frames, None if lengths is None else self.frame_lengths(lengths))

    def frames(self, feats: Tensor, lengths: Sequence[int] | Tensor | None = None) -> Tensor:
        """Return the output of the trunk: utterances x frames x channels.

        Frames behind an utterance's end are without meaning, and `pooled` ignores them.
        """
        if feats.ndim != 3 or feats.shape[2] != self.bands:
            raise InputError(f"features of shape {tuple(feats.shape)}; expected utterances x frames x {self.bands}")
        valid = _frame_mask(lengths, feats, self.least_frames)
        return self._trunk(feats.transpose(1, 2), valid).transpose(1, 2)

    def pooled(self, frames: Tensor, lengths: Sequence[int] | Tensor | None = None) -> Tensor:
        """Embeddings from what `frames` gave, or from such frames kept and padded again.

        `lengths` counts the trunk's frames: `frame_lengths` of the number of feature frames.
        """
        valid = _frame_mask(lengths, frames, int(self.frame_lengths(self.least_frames)))
        return self._head(frames.transpose(1, 2), valid).float()

    def frame_lengths(self, lengths: Any) -> Any:
        """Frames that the trunk gives for utterances of so many feature frames; a number, a sequence or a tensor."""
        numbers = lengths if isinstance(lengths, int | torch.Tensor) else torch.as_tensor(lengths)
        return (numbers + self.stride - 1) // self.stride

    def weighted(self) -> list[nn.Module]:
        """Return the layers with weights, in the order in which they compute."""
        return [module for module in self.modules() if isinstance(module, nn.Conv1d | nn.Conv2d | FixedBatchNorm)]

    def trunk_layers(self) -> int:
        """Return how many of the layers with weights belong to the trunk; the last of them gives its output."""
        behind = set(getattr(self, self.head_begins).modules())
        return next(at for at, layer in enumerate(self.weighted()) if layer in behind)

    @abstractmethod
    def _trunk(self, x: Tensor, valid: FrameMask | None) -> Tensor:
        """Utterances x bands x frames to utterances x channels x frames."""

    @abstractmethod
    def _head(self, x: Tensor, valid: FrameMask | None) -> Tensor:
        """Utterances x channels x frames to utterances x dim."""


def _frame_mask(lengths: Sequence[int] | Tensor | None, batch: Tensor, least: int) -> FrameMask | None:
    """Return the mask of `lengths`, or None where the whole batch counts."""
    frames = batch.shape[1]
    if frames < least:
        raise InputError(f"{int(frames)} frames; expected at least {least}")
    if lengths is None:
        return None
    numbers = torch.as_tensor(lengths)
    if numbers.shape != (len(batch),) or numbers.dtype not in (torch.int64, torch.int32):
        raise InputError(f"lengths of shape {tuple(numbers.shape)}; expected {len(batch)} whole numbers")
    if numbers.min() < least or numbers.max() > frames:
        actual = f"lengths from {int(numbers.min())} to {int(numbers.max())}"
        raise InputError(f"{actual}; expected at least {least} and at most the {frames} frames of the batch")
    return FrameMask(numbers.to(batch.device), frames)
