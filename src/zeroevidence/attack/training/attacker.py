"""Fine-tune a speaker encoder on a folder of protected speech, and write it with its card."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from zeroevidence._typing import StrArray
from zeroevidence.attack.array_store import EncoderOutputs
from zeroevidence.attack.encoders import find_card
from zeroevidence.attack.extractors import DEFAULT_EXTRACTOR
from zeroevidence.attack.networks import load_network
from zeroevidence.attack.networks.onnx_layers import save_onnx
from zeroevidence.attack.onnx_cards import CARD, EncoderCard, card_text, person_digest
from zeroevidence.attack.training import LEAST_PEOPLE, TrainingSettings, usual_scope
from zeroevidence.attack.training.features import read_features
from zeroevidence.attack.training.frame_set import FrameSet
from zeroevidence.attack.training.history import TrainedNetwork, train_within
from zeroevidence.data.corpus import Utterance
from zeroevidence.data.files import naming_file
from zeroevidence.data.formats.corpora import read_corpus
from zeroevidence.data.writing import lock_folder, refuse_used_folder, write_atomically
from zeroevidence.errors import InputError, MissingExtra, UsageError
from zeroevidence.linkage.estimate import format_duration
from zeroevidence.uncertainty.groups import Progress

MODEL = "attacker.onnx"
_DEVELOPMENT = 0.25  # share of the people that training stops on
_CHECKPOINT, _FEATURES = "checkpoint", "features"


@dataclass(frozen=True, slots=True)
class TrainedAttacker:
    """An encoder that was fine-tuned on protected speech.

    Parameters
    ----------
    card
        The card of the encoder, for ``--extractor-anonymised``.
    people
        Number of training people.
    development_people
        Number of people that training was stopped on.
    utterances
        Recordings of both.
    before
        Disclosure of development people to the encoder before training, in bits.
    after
        Their disclosure to the trained encoder, in bits.
    epochs
        Passes over the recordings.
    """

    card: Path
    people: int
    development_people: int
    utterances: int
    before: float
    after: float
    epochs: int = 0


def train_attacker(
    corpus: str | Path,
    folder: str | Path,
    *,
    encoder: str = DEFAULT_EXTRACTOR,
    evaluation: str | Path | None = None,
    settings: TrainingSettings | None = None,
    device: str | None = None,
    workers: int | None = None,
    scheduler: Any = None,
    hours: float | None = None,
    overwrite: bool = False,
    on_epoch: Callable[[Any], None] | None = None,
    progress: Progress | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> TrainedAttacker:
    """Fine-tune a speaker encoder on protected speech, to attack that protection with.

    Processes that `torchrun` started share the work: the first reads the speech and writes the encoder.

    Parameters
    ----------
    corpus
        Protected speech of people who are not evaluated later: folders speaker/utterance.wav, or what `audit` takes.
        Of a corpus with roles only what is for training is used.
    folder
        Where the encoder and its card are written. An interrupted reading or training continues from its state there.
    encoder
        The encoder to start from, by name or as the file of its card.
    evaluation
        The corpus that will be evaluated: training on its people is refused.
    settings
        Settings of the training; what they leave open suits the device.
    device
        Device of torch; a GPU where there is one by default.
    workers
        Threads that read speech, each on one core; as many as there are cores by default.
    scheduler
        Address of a Dask scheduler, or a client of it, whose workers read the speech; corpus and folder must be where
        they see them under the same path. None to read it on this machine.
    hours
        Train again with other learning rates and more epochs until development people disclose no more, or so many
        hours are spent; None to train once.
    overwrite
        Whether an encoder that the folder holds is replaced.
    on_epoch
        Called with each `Epoch`.
    progress
        Called with the number of recordings read and of all.
    say
        Called with messages, among them an estimate of the duration.
    """
    if hours is not None and not hours > 0:
        raise UsageError(f"hours: expected more than 0, got {hours:g}")
    home = Path(folder)
    _, place = training_loop(device)
    from zeroevidence.attack.training.compute import joined_processes

    with ExitStack() as stack:
        group, place = stack.enter_context(joined_processes(place))
        settings = (settings or TrainingSettings()).filled(usual_scope(place))
        if group.is_first:
            _refuse_finished(home, overwrite=overwrite)
            if not any((home / part).exists() for part in (_CHECKPOINT, _FEATURES)):
                refuse_used_folder(home)
        else:
            say, on_epoch, progress = (lambda _: None), None, None
        card = find_card(encoder)
        network = load_network(card)
        utterances = _training_utterances(corpus, evaluation)
        with naming_file(corpus):
            people, stopping = _split(np.array([utterance.speaker for utterance in utterances]), settings.seed)
        frames: FrameSet | None = None
        if group.is_first:
            stack.enter_context(lock_folder(home, continued_from=[_FEATURES, _CHECKPOINT]))
            frames, conversions = read_features(
                utterances, card, store=home / _FEATURES, workers=workers, scheduler=scheduler, progress=progress
            )
            for sentence in conversions:
                say(sentence)
        frames = group.of_first(frames)
        training, development = (frames.take(np.isin(frames.speakers, some)) for some in (people, stopping))
        say(estimate_text(network, training, development, settings, place))
        trained = fine_tune(
            card, training, development, home, settings, device=place, hours=hours, on_epoch=on_epoch, say=say
        )
        if group.is_first:
            shutil.rmtree(home / _FEATURES)
    return trained


def is_first_process() -> bool:
    """Return whether this process speaks for all that `torchrun` started; alone it does."""
    return os.environ.get("RANK", "0") == "0"


def _refuse_finished(home: Path, *, overwrite: bool) -> None:
    """Refuse a folder that holds a trained encoder, or with `overwrite` remove the encoder."""
    if not (home / CARD).exists() or (home / _FEATURES).exists():
        return
    if not overwrite:
        raise UsageError(f"{home}: holds a trained encoder; --overwrite replaces it")
    for name in (CARD, MODEL):
        (home / name).unlink(missing_ok=True)
    shutil.rmtree(home / _CHECKPOINT, ignore_errors=True)


def fine_tune(
    card: EncoderCard,
    training: FrameSet,
    development: FrameSet,
    folder: Path,
    settings: TrainingSettings,
    *,
    device: str | None = None,
    hours: float | None = None,
    on_epoch: Callable[[Any], None] | None = None,
    say: Callable[[str], None] = lambda _: None,
    outputs: EncoderOutputs | None = None,
) -> TrainedAttacker:
    """Train the encoder of a card on features, and write it with a card of its own.

    Parameters
    ----------
    card
        The card of the encoder to start from.
    training
        Features of people to learn from.
    development
        Features of other people, to stop on.
    folder
        As in `train_attacker`, and so are the other arguments.
    settings
        With nothing left open.
    outputs
        What the encoder made of some of the utterances before training, where that is known.
    """
    loop, place = training_loop(device)
    group = loop.current_group()

    def train(settings: TrainingSettings, checkpoint: Path, stop: Callable[[], bool] = lambda: False) -> TrainedNetwork:
        network, shown = load_network(card), {"on_epoch": on_epoch, "say": say, "outputs": outputs}
        trained: TrainedNetwork = loop.train(
            network, training, development, settings, device=place, checkpoint=checkpoint, stop=stop, **shown
        )
        return trained

    if hours is None:
        result = train(settings, folder / _CHECKPOINT)
    else:
        result, settings = train_within(
            hours, settings, folder / _CHECKPOINT, train, agreed=group.of_first, save=group.is_first, say=say
        )
    before, after = result.epochs[0].development, result.best_score
    assert before is not None
    assert after is not None
    people, stopping = np.unique(training.speakers), np.unique(development.speakers)
    recordings = len(training) + len(development)
    if group.is_first:
        write_atomically(folder / MODEL, lambda path: save_onnx(result.network.cpu(), path))
        note = (
            f"learned from {recordings} protected recordings, of {len(people)} people and {len(stopping)} to stop on; "
            "for audits of other people"
        )
        _write_card(card, folder, note, people, stopping, settings)
    return TrainedAttacker(
        folder / CARD, len(people), len(stopping), recordings, before.bits, after.bits, len(result.epochs) - 1
    )


def _write_card(
    card: EncoderCard, folder: Path, note: str, people: StrArray, stopping: StrArray, settings: TrainingSettings
) -> None:
    """Write the card of the encoder that a folder holds, trained from that of another card."""
    trained = replace(
        card,
        name=f"{card.name}-trained",
        file=folder / MODEL,
        input="feats",
        output="embedding",
        origin=f"{card.origin or card.name}, trained further by `zeroevidence train-attacker`",
        note=note,
        sha256=hashlib.sha256((folder / MODEL).read_bytes()).hexdigest(),
        bytes=(folder / MODEL).stat().st_size,
        reference=None,
        training_people=_digests(people),
        development_people=_digests(stopping),
    )
    text = card_text(trained, training=settings.to_dict())
    write_atomically(folder / CARD, lambda path: path.write_text(text, encoding="utf-8"))


def training_loop(device: str | None) -> tuple[Any, str]:
    """Return the training loop, a module that imports torch, and the device to run it on."""
    try:
        import torch

        from zeroevidence.attack.training import loop
    except ImportError as error:
        if isinstance(error, MissingExtra):
            raise
        raise MissingExtra(
            "torch",
            "training an attacker's encoder",
            without="an audit attacks with encoders as they come, which find less than one that learned",
        ) from None
    return loop, device or ("cuda" if torch.cuda.is_available() else "cpu")


def _training_utterances(corpus: str | Path, evaluation: str | Path | None) -> list[Utterance]:
    """Return the utterances to learn from; refused where people are among them who will be evaluated."""
    utterances = [utterance for utterance in read_corpus(corpus, draw=False) if utterance.role in (None, "train")]
    if not utterances:
        raise InputError(
            "every utterance is enrolled or tried; expected some whose role is train, or none", path=corpus
        )
    if evaluation is not None:
        evaluated = {other.speaker for other in read_corpus(evaluation, draw=False) if other.role != "train"}
        common = sorted(evaluated & {utterance.speaker for utterance in utterances})
        if common:
            raise InputError(
                f"{len(common)} of its people will be evaluated, among them {common[0]!r}; expected other people",
                path=corpus,
            )
    return utterances


def _split(speakers: StrArray, seed: int) -> tuple[StrArray, StrArray]:
    """Return the people to learn from and the people to stop on."""
    names = np.random.default_rng(seed).permutation(np.unique(speakers))
    number = max(2, round(_DEVELOPMENT * len(names)))
    if len(names) - number < LEAST_PEOPLE:
        raise InputError(
            f"{len(names)} people; expected at least {LEAST_PEOPLE + 2}, {LEAST_PEOPLE} to learn from and 2 to stop "
            "on: an encoder that learns from fewer learns them by heart"
        )
    return names[number:], names[:number]


def estimate_text(
    network: Any,
    training: FrameSet,
    development: FrameSet,
    settings: TrainingSettings,
    place: str,
    outputs: EncoderOutputs | None = None,
) -> str:
    """Return a sentence on what will be trained, and how long it takes at most; the arguments are those of `train`."""
    from zeroevidence.attack.training.loop import estimate_seconds

    people = len(np.unique(training.speakers))
    minutes = float(training.length.sum() + development.length.sum()) / 6000.0
    weights = "every weight" if settings.scope == "all" else "pooling and last layers"
    longest = format_duration(estimate_seconds(network, training, development, settings, device=place, outputs=outputs))
    return (
        f"{people} people to learn from, {minutes:.0f} minutes of speech; {weights}, {settings.epochs} epochs at most, "
        f"on {place}: about {longest} at most"
    )


def _digests(people: StrArray) -> tuple[str, ...]:
    return tuple(sorted(person_digest(str(name)) for name in people))
