"""Extraction on a GPU: features are read and stored as for a training, and whole batches are embedded at once.

What can be trained further can be run so: encoders whose ONNX file is of a known architecture.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from zeroevidence.attack.extractors.extract import to_embeddings
from zeroevidence.attack.extractors.extractor import Extractor
from zeroevidence.attack.networks.loading import load_network
from zeroevidence.attack.onnx_models.runtime import FRAMES, CropExtractor, OnnxExtractor, crop_starts, mean_by_owner
from zeroevidence.attack.speech.protection import VoiceTransform
from zeroevidence.attack.training.data.features import read_features
from zeroevidence.attack.training.data.frame_set import FrameSet
from zeroevidence.data.embeddings import Embeddings
from zeroevidence.data.speech.corpus import Utterance
from zeroevidence.errors import InputError, MissingExtra, Problem
from zeroevidence.uncertainty.resampling.draws import Progress


def has_gpu() -> bool:
    """Return whether torch is installed and sees a GPU; a build without GPU support is not imported to find out."""
    found = importlib.util.find_spec("torch")
    if found is None or (found.origin is not None and _is_built_for_none(Path(found.origin).with_name("version.py"))):
        return False
    import torch  # takes two seconds

    return bool(torch.cuda.is_available())


def _is_built_for_none(version: Path) -> bool:
    """Whether this file of torch says that it was built without CUDA and without ROCm."""
    try:
        text = version.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False
    return all(re.search(rf"^{platform}\b.*= None$", text, re.MULTILINE) for platform in ("cuda", "hip"))


def device_network(extractor: Extractor) -> Any | None:
    """Return the network of an encoder in torch; None where it is not of a known architecture, or torch is missing."""
    if not isinstance(extractor, OnnxExtractor | CropExtractor):
        return None
    try:
        return load_network(extractor.card)
    except (InputError, MissingExtra):
        return None


def extract_on_device(
    utterances: Sequence[Utterance],
    extractor: OnnxExtractor | CropExtractor,
    network: Any,
    *,
    cache: Path,
    transform: VoiceTransform | None = None,
    workers: int | None = None,
    device: str = "cuda",
    progress: Progress | None = None,
) -> Embeddings:
    """Return one vector per utterance, as `extract` does, but for the rounding of features to half precision.

    Parameters
    ----------
    utterances
        The utterances.
    extractor
        The encoder.
    network
        Its network, as `device_network` gives it.
    cache
        The folder in which ``features`` holds the features of every utterance; encoders with the same front end, and
        trainings, share them.
    transform
        Protects each waveform before features are computed.
    workers
        Threads or processes that read speech; as many as there are cores by default.
    device
        The device of torch.
    progress
        Called with the number of utterances read and of all.

    Raises
    ------
    InputError
        Once all others are read, naming a file that is missing, unreadable, silent or too short, and how many more are.
    """
    import torch

    from zeroevidence.attack.training.compute.distributed import ProcessGroup
    from zeroevidence.attack.training.compute.encoder_passes import EncoderPasses
    from zeroevidence.attack.training.data.crops import UtteranceFrames

    frames, _ = read_features(
        utterances, extractor.card, transform=transform, store=cache / "features", workers=workers, progress=progress
    )
    short = np.flatnonzero(frames.length < network.least_frames)
    if len(short):
        reason = f"shorter than {network.least_frames} frames, which {extractor.name} takes at least"
        raise InputError.of([Problem(str(utterances[at].path), None, reason) for at in short.tolist()])
    place = torch.device(device)
    passes = EncoderPasses(network.to(place), place, last=False, say=lambda _: None, group=ProcessGroup(), half=False)
    owners = np.arange(len(frames))
    if isinstance(extractor, CropExtractor):
        frames, owners = crop_frames(frames)
    vectors = passes.embed(UtteranceFrames(frames, place)).astype(np.float32)
    pooled = mean_by_owner(vectors, owners)
    if not np.isfinite(pooled).all():
        bad = np.flatnonzero(~np.isfinite(pooled).all(axis=1))
        raise InputError.of(
            [Problem(str(utterances[at].path), None, "its vector is not finite") for at in bad.tolist()]
        )
    return to_embeddings(dict(enumerate(utterances)), dict(enumerate(pooled)))


def crop_frames(frames: FrameSet) -> tuple[FrameSet, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """Return the crops of utterances, which share their frames, and the utterance that each is of."""
    starts = [crop_starts(int(length)) for length in frames.length]
    owners = np.repeat(np.arange(len(frames)), [len(each) for each in starts]).astype(np.int64)
    crops = frames.take(owners)
    first = np.concatenate([np.asarray(each, np.int64) for each in starts])
    return replace(crops, start=crops.start + first, length=np.minimum(crops.length, FRAMES)), owners
