"""Fine-tune a speaker encoder on a folder of protected speech, and write it with its card."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from zeroevidence._typing import StrArray
from zeroevidence.attack.encoders import find_card
from zeroevidence.attack.extractors import DEFAULT_EXTRACTOR
from zeroevidence.attack.networks import load_network
from zeroevidence.attack.networks.onnx_layers import save_onnx
from zeroevidence.attack.onnx_cards import CARD, EncoderCard, card_text, person_digest
from zeroevidence.attack.training import LEAST_PEOPLE, TrainingSettings, usual_scope
from zeroevidence.attack.training.features import TrainingFrames, read_features
from zeroevidence.attack.training.history import Epoch, TrainedNetwork, ignore_epoch
from zeroevidence.data.corpus import Utterance
from zeroevidence.data.files import naming_file
from zeroevidence.data.formats.corpora import read_corpus
from zeroevidence.data.store import digest
from zeroevidence.data.writing import lock_folder, refuse_used_folder, write_atomically, write_file
from zeroevidence.errors import InputError, UsageError
from zeroevidence.linkage.estimate import format_duration
from zeroevidence.optional import optional
from zeroevidence.run import Run, setting

MODEL = "attacker.onnx"
_DEVELOPMENT = 0.25  # share of the people that training stops on
_CACHE = "cache"  # folder within that of the encoder, as long as the training is unfinished


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


@dataclass(frozen=True, slots=True)
class AttackerOptions:
    """What an attacker's encoder is trained from, and for how long.

    Parameters
    ----------
    extractor
        The encoder to start from, by name or as the file of its card.
    evaluation
        The corpus that will be evaluated: training on its people is refused.
    settings
        Settings of the training; what they leave open suits the device. The seed is that of the run.
    overwrite
        Whether an encoder that the folder holds is replaced.
    """

    extractor: str = setting(
        DEFAULT_EXTRACTOR, "Speaker encoder; the one to start from, by name or by its card.", metavar="NAME"
    )
    evaluation: str | Path | None = setting(
        None, "Corpus to be evaluated later; training on its people is refused.", metavar="CORPUS"
    )
    settings: TrainingSettings = field(default_factory=TrainingSettings)
    overwrite: bool = setting(False, "Replace existing output.")


def train_attacker(
    corpus: str | Path,
    folder: str | Path,
    options: AttackerOptions = AttackerOptions(),
    *,
    on_epoch: Callable[[Epoch], None] = ignore_epoch,
    run: Run = Run(),
) -> TrainedAttacker:
    """Fine-tune a speaker encoder on protected speech, to attack that protection with.

    Parameters
    ----------
    corpus
        Protected speech of people who are not evaluated later: folders speaker/utterance.wav, or what `audit` takes.
        Of a corpus with roles only what is for training is used.
    folder
        Where the encoder and its card are written. An interrupted reading or training continues from its state there.
    options
        What is trained, and for how long.
    on_epoch
        Called with each `Epoch`.
    run
        Device of torch, processes that read speech, and messages, among them an estimate of the duration. With a
        scheduler its workers read the speech; corpus and folder must be where they see them under the same path.
    """
    home = Path(folder)
    _, place = training_loop(run.device)
    run = replace(run, device=place, cache=home / _CACHE)
    settings = replace(options.settings, seed=run.seed).filled(usual_scope(place))
    _refuse_finished(home, overwrite=options.overwrite)
    if not (home / _CACHE).exists():
        refuse_used_folder(home)
    card = find_card(options.extractor)
    network = load_network(card)
    utterances = _training_utterances(corpus, options.evaluation)
    with naming_file(corpus):
        people, stopping = _split(np.array([utterance.speaker for utterance in utterances]), settings.seed)
    with lock_folder(home, continued_from=[_CACHE]):
        step = run.progress("reading speech", "recordings")
        features, conversions = read_features(utterances, card, step=step, run=run)
        for sentence in conversions:
            run.say(sentence)
        training, development = (features.take(np.isin(features.speakers, some)) for some in (people, stopping))
        frames = TrainingFrames(training, development)
        run.say(estimate_text(network, frames, settings, run))
        trained = fine_tune(card, frames, home, settings, on_epoch=on_epoch, run=run)
        shutil.rmtree(home / _CACHE)
    return trained


def _refuse_finished(home: Path, *, overwrite: bool) -> None:
    """Refuse a folder that holds a trained encoder, or with `overwrite` remove the encoder."""
    if not (home / CARD).exists() or (home / _CACHE).exists():
        return
    if not overwrite:
        raise UsageError(f"{home}: holds a trained encoder; --overwrite replaces it")
    for name in (CARD, MODEL):
        (home / name).unlink(missing_ok=True)


def fine_tune(
    card: EncoderCard,
    frames: TrainingFrames,
    folder: Path,
    settings: TrainingSettings,
    *,
    on_epoch: Callable[[Epoch], None] = ignore_epoch,
    run: Run = Run(),
) -> TrainedAttacker:
    """Train the encoder of a card on features, and write it with a card of its own.

    Parameters
    ----------
    card
        The card of the encoder to start from.
    frames
        Features of the people.
    folder
        Where encoder and card are written.
    settings
        With nothing left open.
    on_epoch
        Called with each `Epoch`.
    run
        As in `train_attacker`; its cache keeps what an interrupted training continues from.
    """
    loop, place = training_loop(run.device)
    placed = replace(run, device=place)
    result: TrainedNetwork = loop.train(load_network(card), frames, settings, on_epoch=on_epoch, run=placed)
    before, after = result.epochs[0].development, result.best_score
    assert before is not None
    assert after is not None
    people, stopping = np.unique(frames.training.speakers), np.unique(frames.development.speakers)
    recordings = len(frames.training) + len(frames.development)
    write_atomically(folder / MODEL, lambda path: save_onnx(result.network.cpu(), path))
    note = (
        f"learned from {recordings} protected recordings, of {len(people)} people and {len(stopping)} to stop on; "
        "for audits of other people"
    )
    _write_card(card, folder, note, people, stopping, settings)
    return TrainedAttacker(
        folder / CARD, len(people), len(stopping), recordings, before.bits, after.bits, len(result.epochs) - 1
    )


def training_key(card: EncoderCard, frames: TrainingFrames, settings: TrainingSettings) -> str:
    """Return a digest of everything that a trained encoder depends on."""
    data = frames.training.digest, frames.development.digest
    return digest(Path(card.file).read_bytes(), *data, json.dumps(asdict(settings), sort_keys=True))


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
    write_file(folder / CARD, card_text(trained, asdict(settings)))


def training_loop(device: str | None) -> tuple[Any, str]:
    """Return the training loop, a module that imports torch, and the device to run it on."""
    loop = optional(
        "zeroevidence.attack.training.loop",
        "torch",
        "training an attacker's encoder",
        without="an audit attacks with encoders as they come, which find less than one that learned",
    )
    return loop, device or ("cuda" if loop.torch.cuda.is_available() else "cpu")


def _training_utterances(corpus: str | Path, evaluation: str | Path | None) -> list[Utterance]:
    """Return the utterances to learn from; refused where people are among them who will be evaluated."""
    utterances = [utterance for utterance in read_corpus(corpus, draw=False) if utterance.role in (None, "train")]
    if not utterances:
        reason = "every utterance is enrolled or tried; expected some whose role is train, or none"
        raise InputError(reason, path=corpus)
    if evaluation is not None:
        evaluated = {other.speaker for other in read_corpus(evaluation, draw=False) if other.role != "train"}
        common = sorted(evaluated & {utterance.speaker for utterance in utterances})
        if common:
            reason = f"{len(common)} of its people will be evaluated, among them {common[0]!r}; expected other people"
            raise InputError(reason, path=corpus)
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


def estimate_text(network: Any, frames: TrainingFrames, settings: TrainingSettings, run: Run) -> str:
    """Return a sentence on what will be trained, and how long it takes at most; the arguments are those of `train`."""
    from zeroevidence.attack.training.loop import estimate_seconds

    people = len(np.unique(frames.training.speakers))
    minutes = float(frames.training.length.sum() + frames.development.length.sum()) / 6000.0
    weights = "every weight" if settings.scope == "all" else "pooling and last layers"
    longest = format_duration(estimate_seconds(network, frames, settings, run))
    return (
        f"{people} people to learn from, {minutes:.0f} minutes of speech; {weights}, {settings.epochs} epochs at most, "
        f"on {run.device}: about {longest} at most"
    )


def _digests(people: StrArray) -> tuple[str, ...]:
    return tuple(sorted(person_digest(str(name)) for name in people))
