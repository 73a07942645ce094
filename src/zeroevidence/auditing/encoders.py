"""Further encoders of an audit: others that are present, cues beside the voice, and those that learn from speech."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import ceil, sqrt
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zeroevidence._typing import FloatArray
from zeroevidence.attack.cues import CUES, cue_columns
from zeroevidence.attack.encoders import inventory
from zeroevidence.attack.extractors import Extractor, load_extractor
from zeroevidence.attack.extractors.extract import has_gpu
from zeroevidence.attack.extractors.families import CueExtractor
from zeroevidence.attack.ladder import Effort
from zeroevidence.attack.networks import load_network
from zeroevidence.attack.onnx_cards import CARD, FRONT_ENDS, EncoderCard
from zeroevidence.attack.onnx_runtime import CropExtractor, OnnxExtractor
from zeroevidence.attack.training import LEAST_PEOPLE, Scope, TrainingSettings, usual_scope
from zeroevidence.attack.training.attacker import estimate_text, fine_tune, training_key, training_loop
from zeroevidence.attack.training.features import EncoderOutputs, FrameSet, TrainingFrames, read_features
from zeroevidence.attack.training.history import CHECKPOINTS
from zeroevidence.attack.voice_transforms import VoiceTransform
from zeroevidence.auditing.embedding_sets import EmbeddingSets, EncodedSpeech, FineTuningHistory, LearningCurve
from zeroevidence.data.corpus import Utterance
from zeroevidence.data.embeddings import Embeddings
from zeroevidence.data.store import ENCODERS, Store, digest
from zeroevidence.errors import InputError, MissingExtra
from zeroevidence.run import Run, silent

Embed = Callable[[Extractor], tuple[EmbeddingSets, EmbeddingSets]]
ALL_CUES = "cues"
CROP_STEPS = ("cosine", "whitened", "plda")  # an adapter learns from whole recordings, and takes longest
_STEP = "whitened"  # cues have few dimensions, of very different worth: plain cosine wastes them, PLDA gains nothing


def encode_further(first: Extractor, effort: Effort, embed: Embed) -> Iterator[EncodedSpeech]:
    """Yield both kinds of speech by the further encoders of an effort.

    Parameters
    ----------
    first
        The encoder that was asked for.
    effort
        ``quick`` adds none; ``standard`` adds cues, together and one at a time; ``full`` every encoder that is present.
        Speaker encoders are tried once more with vectors that are means over crops, as `pools_crops` says.
    embed
        Embeds original and protected speech.
    """
    for encoder in used_extractors(first, effort):
        if encoder is not first and isinstance(encoder, CueExtractor):
            yield from encode_cues(*embed(encoder))
        elif encoder is not first:
            yield EncodedSpeech(encoder.name, *embed(encoder))
        for crops in with_crops(encoder, effort):
            yield EncodedSpeech(crops.name, *embed(crops), steps=CROP_STEPS)


def used_extractors(first: Extractor, effort: Effort) -> list[Extractor]:
    """Return the encoder that was asked for among those that an effort adds, and the cues that it adds."""
    others = map(load_extractor, other_encoders(first.name) if effort == "full" else ())
    cues = [load_extractor(ALL_CUES)] if effort != "quick" and not isinstance(first, CueExtractor) else []
    return [*others, first, *cues]


def pools_crops(effort: Effort) -> bool:
    """Return whether an effort tries means over crops: ``full``, and ``standard`` where there is a GPU."""
    return effort == "full" or (effort == "standard" and has_gpu())


def with_crops(encoder: Extractor, effort: Effort) -> list[CropExtractor]:
    """Return the encoder with means over crops; nothing with less effort, or without features that could be cut."""
    if pools_crops(effort) and isinstance(encoder, OnnxExtractor) and encoder.card.front_end in FRONT_ENDS:
        return [CropExtractor(encoder)]
    return []


def other_encoders(name: str) -> list[str]:
    """Return the names of installed encoders but one."""
    return [encoder.name for encoder in inventory().encoders if encoder.name != name]


def encode_cues(original: EmbeddingSets, anonymised: EmbeddingSets) -> Iterator[EncodedSpeech]:
    """Yield all cues together, for every attacker, and each alone, for the attacker who knows most."""
    yield EncodedSpeech(ALL_CUES, original, anonymised, steps=(_STEP,))
    for name in CUES:
        at = np.flatnonzero(cue_columns([name]))
        alone = anonymised.mapped(partial(_between, first=at[0], last=at[-1]))
        yield EncodedSpeech(f"cue:{name}", None, alone, steps=(_STEP,), part_of=ALL_CUES)


def _between(part: Embeddings, first: int, last: int) -> FloatArray:
    """Return some entries of each vector, without a copy."""
    return part.vectors[:, first : last + 1]


_SHARES = (0.25, 0.5)
_BITS = "bits"  # what development people disclose to a trained encoder, beside its history


@dataclass(frozen=True, slots=True)
class FineTuningResult:
    """A fine-tuned encoder, by its card, with its history; or the reason why there is none."""

    card: Path | None = None
    learned: FineTuningHistory | None = None
    reason: str = ""
    further: str = ""  # what more effort would do


@dataclass(frozen=True, slots=True)
class _EncoderTraining:
    """An encoder, what it is trained on, and how."""

    card: EncoderCard
    network: Any
    frames: TrainingFrames
    settings: TrainingSettings
    run: Run

    def estimate(self, settings: TrainingSettings) -> str:
        """Return a sentence on how long a training takes."""
        return estimate_text(self.network, self.frames, settings, self.run)


@dataclass(frozen=True, slots=True)
class FineTuner:
    """Fine-tunes encoders for an audit.

    Parameters
    ----------
    utterances
        Protected speech with roles, of which that of training and development people is used.
    transform
        Protects each waveform, where the utterances are not protected yet.
    effort
        ``standard`` trains what is usual for the machine, the last layers without a GPU; ``full`` trains every weight,
        and again on fewer people and for fewer epochs, to see whether more would help.
    run
        Its cache is the folder for features, checkpoints and encoders, its cores are threads that read speech.
    settings
        Settings of the training; what they leave open follows from effort and machine.
    fold
        Number of the fold of people, from 1, and how many there are: each trains anew.
    draws
        How many draws of the anonymiser `utterances` has of each training recording. An epoch passes over all of them,
        so there are fewer epochs, unless they were set: as many as usual over the square root of the draws.
    """

    utterances: Sequence[Utterance]
    transform: VoiceTransform | None
    effort: Effort
    run: Run
    settings: TrainingSettings = field(default_factory=TrainingSettings)
    fold: tuple[int, int] = (1, 1)
    draws: int = 1

    def __call__(self, extractor: Extractor, outputs: EncoderOutputs | None = None) -> FineTuningResult:
        """Fine-tune an encoder; what it made of utterances may be known."""
        reason = too_few(len({utterance.speaker for utterance in self.utterances if utterance.role == "train"}))
        if reason is not None:
            return FineTuningResult(reason=reason)
        if not isinstance(extractor, OnnxExtractor):
            return FineTuningResult(reason="it is no ONNX file, which could be trained further here")
        try:
            _, place = training_loop(None)
            network = load_network(extractor.card)
        except (MissingExtra, InputError) as error:
            return FineTuningResult(reason=str(error))
        settings = self._filled("all" if self.effort == "full" else usual_scope(place))
        frames = TrainingFrames(*self._features(extractor.card), outputs)
        encoder = _EncoderTraining(extractor.card, network, frames, settings, replace(self.run, device=place))
        further = ""
        if settings.scope == "last" and self.fold[0] == 1:  # said once
            further = f"--effort full: {encoder.estimate(self._filled('all'))}"
            further += "" if self.fold[1] == 1 else f", in each of {self.fold[1]} folds"
        return replace(self._train(encoder), further=further)

    def _filled(self, scope: Scope) -> TrainingSettings:
        """Return the settings for a scope, with fewer epochs where there are several draws."""
        filled = self.settings.filled(scope)
        if self.settings.epochs is not None:
            return filled
        return replace(filled, epochs=ceil(filled.epochs / sqrt(self.draws)))

    def _features(self, card: EncoderCard) -> tuple[FrameSet, FrameSet]:
        """Return the features of training people and of development people."""
        utterances = [each for each in self.utterances if each.role == "train" or each.split == "dev"]
        step = self.run.progress("features to learn from", "utterances")
        frames, conversions = read_features(utterances, card, transform=self.transform, step=step, run=self.run)
        for sentence in conversions:
            self.run.say(sentence)
        trains = np.array([utterance.role == "train" for utterance in utterances])
        return frames.take(trains), frames.take(~trains)

    def _train(self, encoder: _EncoderTraining) -> FineTuningResult:
        assert self.run.cache is not None
        key, store = training_key(encoder.card, encoder.frames, encoder.settings), Store(self.run.cache, "trained")
        home = self.run.cache / ENCODERS / key
        history, bits = store.load_value(key, FineTuningHistory), store.load_array(digest(key, _BITS))
        run = replace(encoder.run, cache=home)
        shown = self.run.progress(f"fine-tuning {encoder.card.name}", "encoders")
        shown(0, 1)
        if history is None or bits is None or not (home / CARD).is_file():
            fold = "" if self.fold[1] == 1 else f", fold {self.fold[0]} of {self.fold[1]}"
            self.run.say(f"fine-tuning {encoder.card.name}{fold}: {encoder.estimate(encoder.settings)}")
            frames, settings = encoder.frames, encoder.settings
            trained = fine_tune(encoder.card, frames, home, settings, on_epoch=self._show_epoch, run=run)
            history = FineTuningHistory(trained.people, len(frames.training), trained.epochs)
            bits = np.array(trained.after)
            store.save_array(digest(key, _BITS), bits)
            store.save_value(key, history)
            Store(home, CHECKPOINTS).remove()  # as soon as nobody may want to go on: they are large
        if self.effort == "full" and history.over_epochs is None:
            history = self._with_curves(history, float(bits), replace(encoder, run=run), store)
            store.save_value(key, history)
        shown(1, 1)
        return FineTuningResult(home / CARD, history)

    def _with_curves(
        self, history: FineTuningHistory, bits: float, encoder: _EncoderTraining, store: Store
    ) -> FineTuningHistory:
        """Train again on fewer people, and for fewer epochs, and return the history with both learning curves."""
        loop, _ = training_loop(None)
        training, settings = encoder.frames.training, encoder.settings
        assert encoder.run.cache is not None
        checkpoints = Store(encoder.run.cache, CHECKPOINTS)

        def retrain(data: FrameSet, changed: TrainingSettings, title: str) -> float:
            frames, quiet = replace(encoder.frames, training=data), replace(encoder.run, say=silent)

            def train() -> NDArray[Any]:
                self.run.say(f"again, {title}")
                return np.array(loop.train(load_network(encoder.card), frames, changed, run=quiet).best_score.bits)

            kept = store.array(digest(training_key(encoder.card, frames, changed), _BITS), train)
            checkpoints.remove()
            return float(kept)

        people = np.random.default_rng(settings.seed).permutation(np.unique(training.speakers))
        sizes = [n for share in _SHARES if (n := round(share * len(people))) >= LEAST_PEOPLE]
        fewer = [retrain(training.take(np.isin(training.speakers, people[:n])), settings, f"{n} people") for n in sizes]
        lengths = [n for share in _SHARES if (n := round(share * settings.epochs)) >= 1]
        shorter = [retrain(training, replace(settings, epochs=n), f"{n} epochs") for n in lengths]
        return replace(
            history,
            over_people=LearningCurve((*sizes, len(people)), (*fewer, bits)) if sizes else None,
            over_epochs=LearningCurve((*lengths, settings.epochs), (*shorter, bits)) if lengths else None,
        )

    def _show_epoch(self, epoch: Any) -> None:
        if epoch.development is not None:
            self.run.say(
                f"epoch {epoch.number}: development people disclose {epoch.development.bits:.2f} bits, EER "
                f"{100 * epoch.development.eer:.1f} %"
            )


def too_few(people: int) -> str | None:
    """Return why so many training people are too few to train an encoder on; None where they are enough."""
    if people >= LEAST_PEOPLE:
        return None
    return f"{people} training people; an encoder needs at least {LEAST_PEOPLE} to learn"
