"""The attacker who trains: an encoder is fine-tuned on protected speech of the training people of an audit.

Development people say when to stop. What was trained is kept beside the embeddings under what it was trained from, so
an audit that was cut off goes on, and a second one does not train again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from zeroevidence.attack.extractors.extractor import Extractor
from zeroevidence.attack.ladder.ladder import Effort
from zeroevidence.attack.networks.loading import load_network
from zeroevidence.attack.onnx_models.cards import CARD, EncoderCard
from zeroevidence.attack.onnx_models.runtime import OnnxExtractor
from zeroevidence.attack.speech.protection import VoiceTransform
from zeroevidence.attack.training.attacker import estimate_words, fine_tune, training_loop
from zeroevidence.attack.training.data.features import read_features
from zeroevidence.attack.training.data.frame_set import FrameSet
from zeroevidence.attack.training.settings import LEAST_PEOPLE, TrainingSettings, usual_scope
from zeroevidence.auditing.attacks.learning_curve import LearningCurve
from zeroevidence.auditing.inputs.encoded_speech import FineTuningHistory
from zeroevidence.data.files.writing import write_atomically
from zeroevidence.data.speech.corpus import Utterance
from zeroevidence.data.typed import load_json, plain, typed
from zeroevidence.errors import InputError, MissingExtra
from zeroevidence.uncertainty.resampling.draws import Progress

Say = Callable[[str], None]
_LEARNED = "learned.json"
_SHARES = (0.25, 0.5)


@dataclass(frozen=True, slots=True)
class FineTuningResult:
    """An encoder that learned, by its card, and how it did; or why it could not."""

    card: Path | None = None
    learned: FineTuningHistory | None = None
    reason: str = ""
    further: str = ""  # what more effort would do


@dataclass(frozen=True, slots=True)
class FineTuner:
    """How encoders are fine-tuned for an audit.

    Parameters
    ----------
    utterances
        Protected speech with roles; of these, training and development people are used.
    transform
        Protects each waveform, where the utterances are not protected yet.
    home
        Folder for features, checkpoints and encoders.
    effort
        ``quick`` trains nothing; ``standard`` trains what is usual for the machine, the last layers without a GPU;
        ``full`` trains every weight, and again on fewer people and for fewer epochs, to see whether more would help.
    seed, workers, progress, say
        Of the training; threads that read; called with recordings read; called with notices.
    fold
        Which fold of people this is, and of how many: each trains anew.
    """

    utterances: Sequence[Utterance]
    transform: VoiceTransform | None
    home: Path
    effort: Effort
    seed: int = 0
    workers: int = 1
    progress: Progress | None = None
    say: Say = lambda _: None
    fold: tuple[int, int] = (1, 1)

    def __call__(self, extractor: Extractor) -> FineTuningResult:
        """Fine-tune an encoder."""
        people = {one.speaker for one in self.utterances if one.role == "train"}
        reason = too_few(len(people))
        if reason is not None:
            return FineTuningResult(reason=reason)
        if not isinstance(extractor, OnnxExtractor):
            return FineTuningResult(reason="it is no ONNX file, which could be trained further here")
        card = extractor.card
        try:
            _, place = training_loop(None)
            network = load_network(card)
        except (MissingExtra, InputError) as error:
            return FineTuningResult(reason=str(error))
        training, development = self._features(card)
        scope = "all" if self.effort == "full" else usual_scope(place)
        settings = TrainingSettings.usual(scope, seed=self.seed)
        further = ""
        if scope == "last":
            every = TrainingSettings.usual("all", seed=self.seed)
            further = f"--effort full: {estimate_words(network, training, development, every, place)}"
            further += "" if self.fold[1] == 1 else f", in each of {self.fold[1]} folds"
        found = self._trained(card, training, development, settings, place, network)
        return replace(found, further=further)

    def _features(self, card: EncoderCard) -> tuple[FrameSet, FrameSet]:
        wanted = [one for one in self.utterances if one.role == "train" or one.split == "dev"]
        frames, converted = read_features(
            wanted,
            card,
            transform=self.transform,
            store=self.home / "features",
            workers=self.workers,
            progress=self.progress,
        )
        for sentence in converted.sentences():
            self.say(sentence)
        trains = np.array([one.role == "train" for one in wanted])
        return frames.take(trains), frames.take(~trains)

    def _trained(
        self,
        card: EncoderCard,
        training: FrameSet,
        development: FrameSet,
        settings: TrainingSettings,
        place: str,
        network: Any,
    ) -> FineTuningResult:
        home = self.home / "trained" / _digest(card, training, development, settings)
        if (home / CARD).is_file() and (learned := _read(home / _LEARNED)) is not None:
            if self.effort != "full" or learned.over_epochs is not None:
                return FineTuningResult(home / CARD, learned)
        else:
            which = "" if self.fold[1] == 1 else f", fold {self.fold[0]} of {self.fold[1]}"
            words = estimate_words(network, training, development, settings, place)
            self.say(f"fine-tuning {card.name}{which}: {words}")
        # the checkpoint makes a second call with a finished training a matter of seconds
        found = fine_tune(card, training, development, home, settings, device=place, told=self._told, say=self.say)
        learned = FineTuningHistory(found.people, len(training), found.epochs)
        if self.effort == "full":
            learned = self._with_curves(learned, found.after, card, training, development, settings, home)
        text = json.dumps(plain(asdict(learned)), indent=1) + "\n"
        write_atomically(home / _LEARNED, lambda path: path.write_text(text, encoding="utf-8"))
        return FineTuningResult(home / CARD, learned)

    def _with_curves(
        self,
        learned: FineTuningHistory,
        bits: float,
        card: EncoderCard,
        training: FrameSet,
        development: FrameSet,
        settings: TrainingSettings,
        home: Path,
    ) -> FineTuningHistory:
        """Train again from fewer people, and for fewer epochs."""
        loop, place = training_loop(None)

        def disclosed(some: FrameSet, how: TrainingSettings, which: str) -> float:
            self.say(f"again, {which}")
            checkpoint = home / which.replace(" ", "-")
            found = loop.train(load_network(card), some, development, how, device=place, checkpoint=checkpoint)
            return float(found.kept.bits)

        everyone = np.random.default_rng(self.seed).permutation(np.unique(training.speakers))
        sizes = [n for share in _SHARES if (n := round(share * len(everyone))) >= LEAST_PEOPLE]
        fewer = [
            disclosed(training.take(np.isin(training.speakers, everyone[:n])), settings, f"{n} people") for n in sizes
        ]
        lengths = [n for share in _SHARES if (n := round(share * settings.epochs)) >= 1]
        shorter = [disclosed(training, replace(settings, epochs=n), f"{n} epochs") for n in lengths]
        people = LearningCurve((*sizes, len(everyone)), (*fewer, bits)) if sizes else None
        epochs = LearningCurve((*lengths, settings.epochs), (*shorter, bits)) if lengths else None
        return replace(learned, over_people=people, over_epochs=epochs)

    def _told(self, epoch: Any) -> None:
        if epoch.development is not None:
            self.say(
                f"epoch {epoch.number}: development people disclose {epoch.development.bits:.2f} bits, EER "
                f"{100 * epoch.development.eer:.1f} %"
            )


def too_few(people: int) -> str | None:
    """Why so many training people are too few to train an encoder on, None where they are not."""
    if people >= LEAST_PEOPLE:
        return None
    return f"{people} training people; an encoder needs at least {LEAST_PEOPLE} to learn"


def _digest(card: EncoderCard, training: FrameSet, development: FrameSet, settings: TrainingSettings) -> str:
    facts = [
        hashlib.sha256(Path(card.file).read_bytes()).hexdigest(),
        training.digest,
        development.digest,
        settings.to_dict(),
    ]
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]


def _read(file: Path) -> FineTuningHistory | None:
    """What was kept of an earlier training, or None where it cannot be used: it is then trained anew."""
    try:
        found = typed(FineTuningHistory, load_json(file), "training")
    except InputError:
        return None
    curves = [one for one in (found.over_people, found.over_epochs) if one is not None]
    whole = all(len(one.amount) == len(one.bits) > 1 and np.isfinite(one.bits).all() for one in curves)
    return found if whole and min(found.people, found.recordings, found.epochs) >= 0 else None
