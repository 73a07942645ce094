"""Utterances on a device: random pieces to learn from, and batches of whole ones. This module imports torch."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from zeroevidence.attack.training.data.frame_set import FrameSet
from zeroevidence.attack.training.settings import TrainingSettings


class UtteranceFrames:
    """Frames of utterances, all on one device: features, or what a trunk made of them.

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
        self.start, self.length = (torch.from_numpy(one).to(place) for one in (data.start, data.length))

    def __len__(self) -> int:
        return len(self.data)

    def pieces(self, rows: torch.Tensor, frames: int) -> torch.Tensor:
        """A random piece of each of these utterances, short ones repeated: rows x frames x channels."""
        length, start = self.length[rows], self.start[rows]
        room = (length - frames).clamp(min=0)
        first = (torch.rand(len(rows), device=self.place) * (room + 1)).long()
        at = first[:, None] + torch.arange(frames, device=self.place)
        return self.frames[start[:, None] + at % length[:, None]].float()

    def whole(self, rows: Sequence[int]) -> tuple[torch.Tensor, list[int]]:
        """Whole utterances, padded to the longest, and how many frames each has."""
        lengths = [int(self.data.length[i]) for i in rows]
        batch = torch.zeros(len(rows), max(lengths), self.frames.shape[1], device=self.place)
        for at, i in enumerate(rows):
            first = int(self.data.start[i])
            batch[at, : lengths[at]] = self.frames[first : first + lengths[at]]
        return batch, lengths


def disturbed(pieces: torch.Tensor, settings: TrainingSettings) -> torch.Tensor:
    """Features with a random noise floor, centred again, and with a random band masked."""
    rows, _, bands = pieces.shape
    if settings.floor:
        depth = 3.0 + settings.floor * torch.rand(rows, 1, 1, device=pieces.device)
        level = pieces.mean(dim=1, keepdim=True) - depth * pieces.std(dim=1, keepdim=True)
        pieces = torch.logaddexp(pieces, level)
    pieces = pieces - pieces.mean(dim=1, keepdim=True)
    if settings.band_mask:
        width = max(1, round(settings.band_mask * bands))
        lowest = (torch.rand(rows, 1, 1, device=pieces.device) * (bands - width + 1)).long()
        band = torch.arange(bands, device=pieces.device)
        pieces = pieces.masked_fill((band >= lowest) & (band < lowest + width), 0.0)
    return pieces
