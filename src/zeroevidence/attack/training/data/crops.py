"""Utterances on a device: random crops to learn from, and padded batches. This module imports torch."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from zeroevidence.attack.training.data.frame_set import FrameSet
from zeroevidence.attack.training.settings import TrainingSettings


class UtteranceFrames:
    """Frames of utterances on one device: features, or the output of a trunk.

    Parameters
    ----------
    data
        The utterances.
    place
        The device.
    """

    def __init__(self, data: FrameSet, place: torch.device) -> None:
        self.data, self.place = data, place
        self.frames = torch.from_numpy(data.frames).to(place)
        self.start, self.length = (torch.from_numpy(array).to(place) for array in (data.start, data.length))

    def __len__(self) -> int:
        return len(self.data)

    def crops(self, rows: torch.Tensor, frames: int) -> torch.Tensor:
        """Return a random crop of each of these utterances, short ones repeated: rows x frames x channels."""
        length, start = self.length[rows], self.start[rows]
        latest = (length - frames).clamp(min=0)
        first = (torch.rand(len(rows), device=self.place) * (latest + 1)).long()
        at = first[:, None] + torch.arange(frames, device=self.place)
        return self.frames[start[:, None] + at % length[:, None]].float()

    def whole(self, rows: Sequence[int]) -> tuple[torch.Tensor, list[int]]:
        """Return whole utterances, padded to the longest, and how many frames each has."""
        lengths = [int(self.data.length[i]) for i in rows]
        batch = torch.zeros(len(rows), max(lengths), self.frames.shape[1], device=self.place)
        for at, i in enumerate(rows):
            first = int(self.data.start[i])
            batch[at, : lengths[at]] = self.frames[first : first + lengths[at]]
        return batch, lengths


def augment(crops: torch.Tensor, settings: TrainingSettings) -> torch.Tensor:
    """Return features with a random noise floor, centred again, and with a random band masked."""
    rows, _, bands = crops.shape
    if settings.floor:
        depth = 3.0 + settings.floor * torch.rand(rows, 1, 1, device=crops.device)
        level = crops.mean(dim=1, keepdim=True) - depth * crops.std(dim=1, keepdim=True)
        crops = torch.logaddexp(crops, level)
    crops = crops - crops.mean(dim=1, keepdim=True)
    if settings.band_mask:
        width = max(1, round(settings.band_mask * bands))
        lowest = (torch.rand(rows, 1, 1, device=crops.device) * (bands - width + 1)).long()
        band = torch.arange(bands, device=crops.device)
        crops = crops.masked_fill((band >= lowest) & (band < lowest + width), 0.0)
    return crops
