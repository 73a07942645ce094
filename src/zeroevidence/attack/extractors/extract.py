"""Embeddings of a corpus of speech with a cache, by processes, a cluster or a GPU."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from zeroevidence.attack.extractors import Extractor
from zeroevidence.attack.extractors.split_extractor import SplitExtractor
from zeroevidence.attack.networks import load_network
from zeroevidence.attack.onnx_cards import FRONT_ENDS, EncoderCard
from zeroevidence.attack.onnx_runtime import FRAMES, CropExtractor, OnnxExtractor, crop_starts, mean_by_owner
from zeroevidence.attack.training.features import FrameSet, kept_features, read_features
from zeroevidence.attack.voice_transforms import (
    RememberedTransform,
    VoiceTransform,
    compute_in_batches,
    compute_one_by_one,
    protect,
    protection_key,
    utterance_problem,
)
from zeroevidence.data.audio import load_speech
from zeroevidence.data.corpus import Utterance
from zeroevidence.data.embeddings import Embeddings
from zeroevidence.data.files import unreadable_reason
from zeroevidence.data.store import Store, digest
from zeroevidence.data.waves import Wave
from zeroevidence.errors import LISTER, InputError, MissingExtra, Problem, check_stop
from zeroevidence.run import Run


def extract(
    utterances: Sequence[Utterance],
    extractor: Extractor,
    *,
    transform: VoiceTransform | None = None,
    title: str = "speech",
    features: bool = False,
    run: Run = Run(),
) -> Embeddings:
    """Return one vector per utterance, in their order, with identifiers, speakers and attributes.

    Parameters
    ----------
    utterances
        The utterances.
    extractor
        Computes the vectors.
    transform
        Protects each waveform before it is embedded.
    title
        What progress calls the utterances.
    features
        Whether an encoder of features is given `kept_features`, as trainings and GPUs are.
    run
        Its cores are processes that read, protect and embed, each on one core. Its cache is a folder of vectors. With a
        scheduler its workers read, protect and embed; files and cache must be where they and this machine see them.

    Raises
    ------
    InputError
        Before anything is computed where a file is missing; after the others are done and stored where one cannot be
        read, is empty, silent or too short. Names the file, and says how many more there are.
    """
    utterances = list(utterances)
    if not utterances:
        raise InputError("no utterances; expected at least one")
    if len({utterance.id for utterance in utterances}) < len(utterances):
        raise InputError("an utterance occurs twice; expected each identifier once")
    reasons = ((str(each.path), unreadable_reason(each.path, "audio")) for each in utterances)
    missing = [Problem(path, None, reason) for path, reason in reasons if reason]
    if missing:
        raise InputError.of(missing)
    step = run.progress(f"{title}, {extractor.name}", "utterances")
    extraction = _BatchExtraction(extractor, transform, run.cache and run.cache.absolute(), features)
    vectors, problems = compute_in_batches(extraction.run, utterances, step, run)
    if problems:
        raise InputError.of(problems, LISTER if transform is None else "")  # nothing lists what a protector refuses
    return to_embeddings(utterances, list(vectors.values()))


def extract_together(
    utterances: Sequence[Utterance],
    extractors: Sequence[Extractor],
    *,
    transform: VoiceTransform | None = None,
    title: str = "speech",
    run: Run = Run(),
) -> None:
    """Fill a cache with the features of utterances that encoders take, and with the vectors of all other extractors.

    Each utterance is protected once, and its protected speech need not be kept.

    Parameters
    ----------
    extractors
        The extractors.
    utterances, transform, title, run
        As `extract` takes them.
    """
    assert run.cache is not None
    cache = run.cache.absolute()
    encoders = [each for each in map(_feature_encoder, extractors) if each is not None]
    cards = {(each.card.front_end, each.card.sample_rate): each.card for each in encoders}
    others = [_BatchExtraction(each, None, cache, features=False) for each in extractors if each not in encoders]
    compute = partial(_extract_together, [*cards.values()], others, transform, Store(cache, "features"))
    step = run.progress(title, "utterances")
    compute_one_by_one(compute, utterances, step, run, LISTER if transform is None else "")


def _extract_together(
    cards: list[EncoderCard],
    others: list[_BatchExtraction],
    transform: VoiceTransform | None,
    store: Store,
    utterance: Utterance,
) -> None:
    remembered = None if transform is None else RememberedTransform(transform)
    for card in cards:
        kept_features(load_speech(utterance, card.sample_rate).wave, utterance, card, remembered, store)
    for extraction in others:
        replace(extraction, transform=remembered).run([(0, utterance)])


_PATIENCE = 5.0  # seconds of work that an interruption may cost
_SPEECH = 300.0  # seconds of speech that are embedded at once


def to_embeddings(rows: Sequence[Utterance], vectors: Sequence[NDArray[np.float32]]) -> Embeddings:
    """Return the embedded utterances as a table; an attribute that one lacks is empty."""
    names = dict.fromkeys(name for row in rows for name in row.attributes)
    return Embeddings(
        np.stack(vectors),
        np.array([row.id for row in rows]),
        np.array([row.speaker for row in rows]),
        {name: np.array([row.attributes.get(name, "") for row in rows]) for name in names},
    )


_FeatureEncoder: TypeAlias = OnnxExtractor | CropExtractor | SplitExtractor


def _feature_encoder(extractor: Extractor) -> _FeatureEncoder | None:
    """Return an encoder that takes features; None for another extractor."""
    return extractor if isinstance(extractor, _FeatureEncoder) and extractor.card.front_end in FRONT_ENDS else None


_Outcomes: TypeAlias = list[tuple[int, NDArray[np.float32] | Problem]]


@dataclass(frozen=True, slots=True)
class _Pending:
    """A waveform, or its features, that waits to be embedded."""

    place: int
    utterance: Utterance
    data: NDArray[np.float32]
    seconds: float
    key: str


@dataclass(frozen=True, slots=True)
class _BatchExtraction:
    extractor: Extractor
    transform: VoiceTransform | None
    cache: Path | None
    features: bool

    @property
    def encoder(self) -> _FeatureEncoder | None:
        """The extractor, where it is given kept features."""
        return _feature_encoder(self.extractor) if self.features else None

    def _store(self, kind: str) -> Store | None:
        return None if self.cache is None else Store(self.cache, kind)

    def _input(self, wave: Wave, utterance: Utterance) -> NDArray[np.float32]:
        """Return the protected waveform, or its features."""
        if self.encoder is None:
            return protect(wave, self.extractor.sample_rate, utterance, self.transform)
        store = self._store("features")
        return kept_features(wave, utterance, self.encoder.card, self.transform, store)[1].astype(np.float32)

    def run(self, batch: list[tuple[int, Utterance]]) -> _Outcomes:
        """Return the vector of each utterance, or its problem."""
        outcomes: _Outcomes = []
        pending: list[_Pending] = []
        begun, rate, store = monotonic(), self.extractor.sample_rate, self._store("vectors")
        given = () if self.encoder is None else ("kept features",)
        for at, utterance in batch:
            check_stop()
            try:
                wave = load_speech(utterance, rate).wave
                protection = protection_key(wave, rate, utterance, self.transform)
                key = digest(self.extractor.fingerprint, str(rate), *given, *protection, wave)
                cached = None if store is None else store.load_array(key)
                if cached is None:
                    pending.append(_Pending(at, utterance, self._input(wave, utterance), len(wave) / rate, key))
                else:
                    outcomes.append((at, cached))
            except InputError as error:
                outcomes.append((at, utterance_problem(utterance, error)))
            seconds = sum(item.seconds for item in pending)
            # A slow protector or long recordings: what is there is stored before more is begun.
            if pending and (monotonic() - begun > _PATIENCE or seconds > _SPEECH):
                outcomes += self._embed(pending)
                pending, begun = [], monotonic()
        return outcomes + self._embed(pending)

    def _embed(self, pending: list[_Pending]) -> _Outcomes:
        """Embed what is pending, and cache the vectors."""
        if not pending:
            return []
        store = self._store("vectors")
        try:
            embed = self.extractor.embed if self.encoder is None else self.encoder.embed_features
            vectors = embed([item.data for item in pending])
        except InputError as error:
            if len(pending) == 1:
                return [(pending[0].place, utterance_problem(pending[0].utterance, error))]
            # One utterance spoils its batch: find out which.
            return [outcome for item in pending for outcome in self._embed([item])]
        if vectors.shape != (len(pending), self.extractor.dim):
            expected = f"({len(pending)}, {self.extractor.dim})"
            raise InputError(f"{self.extractor.name} gave vectors of shape {vectors.shape}; expected {expected}")
        outcomes: _Outcomes = []
        for item, vector in zip(pending, vectors, strict=True):
            if not np.isfinite(vector).all():
                outcomes.append((item.place, Problem(str(item.utterance.path), None, "its vector is not finite")))
                continue
            if store is not None:
                store.save_array(item.key, vector.astype(np.float32, copy=False))
            outcomes.append((item.place, vector))
        return outcomes


def has_gpu() -> bool:
    """Return whether torch is installed and sees a GPU; a build without GPU support is not imported to find out."""
    torch_spec = importlib.util.find_spec("torch")
    if torch_spec is None:
        return False
    if torch_spec.origin is not None and _is_built_for_none(Path(torch_spec.origin).with_name("version.py")):
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
    transform: VoiceTransform | None = None,
    title: str = "speech",
    run: Run = Run(),
) -> Embeddings:
    """Return one vector per utterance, as `extract` does of kept features.

    Parameters
    ----------
    utterances
        The utterances.
    extractor
        The encoder.
    network
        Its network, as `device_network` gives it.
    transform
        Protects each waveform before features are computed.
    title
        What progress calls the utterances.
    run
        Its cores are threads or processes that read speech. In its cache ``features`` holds the features of every
        utterance; encoders with the same front end, and trainings, share them.

    Raises
    ------
    InputError
        Once all others are read, naming a file that is missing, unreadable, silent or too short, and how many more are.
    """
    import torch

    from zeroevidence.attack.training.compute import EncoderPasses
    from zeroevidence.attack.training.crops import UtteranceFrames

    step = run.progress(f"{title}, {extractor.name}", "utterances")
    frames, _ = read_features(utterances, extractor.card, transform=transform, step=step, run=run)
    short = np.flatnonzero(frames.length < network.least_frames)
    if len(short):
        reason = f"shorter than {network.least_frames} frames, which {extractor.name} takes at least"
        raise InputError.of([Problem(str(utterances[at].path), None, reason) for at in short.tolist()])
    place = torch.device(run.device or "cuda")
    passes = EncoderPasses(network.to(place), place, half=False)
    owners = np.arange(len(frames))
    if isinstance(extractor, CropExtractor):
        frames, owners = crop_frames(frames)
    embedded = run.progress(f"{title}, {extractor.name} on {place.type}", "utterances")
    embedded(0, len(utterances))
    vectors = passes.embed(UtteranceFrames(frames, place)).astype(np.float32)
    embedded(len(utterances), len(utterances))
    pooled = mean_by_owner(vectors, owners)
    bad = np.flatnonzero(~np.isfinite(pooled).all(axis=1)).tolist()
    if bad:
        raise InputError.of([Problem(str(utterances[at].path), None, "its vector is not finite") for at in bad])
    return to_embeddings(utterances, list(pooled))


def crop_frames(frames: FrameSet) -> tuple[FrameSet, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """Return the crops of utterances, which share their frames, and the utterance that each is of."""
    starts = [crop_starts(int(length)) for length in frames.length]
    owners = np.repeat(np.arange(len(frames)), [len(each) for each in starts]).astype(np.int64)
    crops = frames.take(owners)
    first = np.concatenate([np.asarray(each, np.int64) for each in starts])
    return replace(crops, start=crops.start + first, length=np.minimum(crops.length, FRAMES)), owners
