"""Estimate of the duration of a training, before it starts. This module imports torch."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import torch

from zeroevidence.attack.speech.array_store import EncoderOutputs
from zeroevidence.attack.training.data.frame_set import FrameSet
from zeroevidence.attack.training.loop import PART, TrainingRun, check_people, find_device, reproducible
from zeroevidence.attack.training.settings import TrainingSettings
from zeroevidence.forking import cores

Result = TypeVar("Result")


def estimate_seconds(
    network: Any,
    training: FrameSet,
    development: FrameSet,
    settings: TrainingSettings | None = None,
    *,
    device: str | None = None,
    outputs: EncoderOutputs | None = None,
) -> float:
    """Return the seconds that `train` takes at most, from the time that a few utterances take.

    The arguments are those of `train`. The network is left as it is.
    """
    settings = (settings or TrainingSettings()).filled()
    check_people(training, development)
    place = find_device(device)
    # Without a GPU the cost grows with the number of utterances, so a few show it; a GPU takes a whole batch at once.
    on_gpu = place.type == "cuda"
    sample = _typical(training, settings.batch if on_gpu else min(settings.batch, PART * cores()))
    passed, development_sample = sample if on_gpu else _typical(training, cores()), _typical(development, 2)
    short = replace(settings, epochs=3)
    with reproducible(settings.seed, place):
        untrained = copy.deepcopy(network).to(place)
        running = TrainingRun(untrained, sample, development_sample, short, place, outputs=outputs)
        if on_gpu:
            running.epoch()  # the first of everything is slower
        source, prepared = _timed(place, lambda: running.passes.source(passed))
        _, embedded = _timed(place, lambda: running.passes.embed(source))
        _, learned = _timed(place, running.epoch)
    to_learn, to_look, timed = (float(data.length.sum()) for data in (training, development, passed))
    looks = 1 + settings.epochs // settings.look
    once = (prepared * (to_learn + to_look) + embedded * to_learn) / timed
    return once + looks * embedded * to_look / timed + settings.epochs * learned * len(training) / len(sample)


def _typical(data: FrameSet, count: int) -> FrameSet:
    """Return so many utterances, from the shortest to the longest."""
    order = np.argsort(data.length, kind="stable")
    at = np.linspace(0, len(order) - 1, min(count, len(order))).round().astype(np.int64)
    return data.take(order[np.unique(at)])


def _timed(place: torch.device, compute: Callable[[], Result]) -> tuple[Result, float]:
    start = time.perf_counter()
    result = compute()
    if place.type == "cuda":
        torch.cuda.synchronize(place)
    return result, time.perf_counter() - start
