"""How long a training will take, before it starts. This module imports torch."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import torch

from zeroevidence.attack.speech.batches import cores
from zeroevidence.attack.training.data.frame_set import FrameSet
from zeroevidence.attack.training.loop import PART, TrainingRun, check_people, device_of, reproducible
from zeroevidence.attack.training.settings import TrainingSettings

Found = TypeVar("Found")


def estimate_seconds(
    network: Any,
    training: FrameSet,
    development: FrameSet,
    settings: TrainingSettings | None = None,
    *,
    device: str | None = None,
) -> float:
    """Seconds that `train` takes at most: a few are prepared, learned from and looked at, and timed.

    The arguments are those of `train`. The network is left as it is.
    """
    settings = settings or TrainingSettings()
    check_people(training, development)
    place = device_of(device)
    # Without a GPU the cost grows with the number of utterances, so few tell it; with one, a whole batch costs no more.
    count = settings.batch if place.type == "cuda" else min(settings.batch, PART * cores())
    some, others = _typical(training, count), _typical(development, 2)
    short = replace(settings, epochs=3)
    with reproducible(settings.seed, place):
        running = TrainingRun(copy.deepcopy(network).to(place), some, others, short, place)
        running.epoch()  # the first of everything is slower
        source, prepared = _timed(place, lambda: running.source(some))
        _, embedded = _timed(place, lambda: running.embed(source))
        _, learned = _timed(place, running.epoch)
    to_learn, to_look, seen = (float(one.length.sum()) for one in (training, development, some))
    looks = 1 + settings.epochs // settings.look
    once = (prepared * (to_learn + to_look) + embedded * to_learn) / seen
    return once + looks * embedded * to_look / seen + settings.epochs * learned * len(training) / len(some)


def _typical(data: FrameSet, count: int) -> FrameSet:
    """Utterances of all lengths."""
    order = np.argsort(data.length, kind="stable")
    at = np.linspace(0, len(order) - 1, min(count, len(order))).round().astype(np.int64)
    return data.take(order[np.unique(at)])


def _timed(place: torch.device, compute: Callable[[], Found]) -> tuple[Found, float]:
    start = time.perf_counter()
    found = compute()
    if place.type == "cuda":
        torch.cuda.synchronize(place)
    return found, time.perf_counter() - start
