"""From a folder of protected speech to an encoder that learned from it, with a card that says so."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from zeroevidence._typing import StrArray
from zeroevidence.attack.encoders.inventory import find_card
from zeroevidence.attack.encoders.training_speakers import person_digest
from zeroevidence.attack.extractors.extractor import DEFAULT_EXTRACTOR
from zeroevidence.attack.networks.loading import load_network
from zeroevidence.attack.networks.onnx_export import save_onnx
from zeroevidence.attack.onnx_models.cards import CARD, EncoderCard
from zeroevidence.attack.training.data.features import read_features
from zeroevidence.attack.training.data.frame_set import FrameSet
from zeroevidence.attack.training.settings import LEAST_PEOPLE, Scope, TrainingSettings, usual_scope
from zeroevidence.data.files.errors import naming_file
from zeroevidence.data.files.locking import lock_folder
from zeroevidence.data.files.writing import refuse_used_folder, write_atomically
from zeroevidence.data.formats.corpora.read import read_corpus
from zeroevidence.data.speech.corpus import Utterance
from zeroevidence.errors import InputError, MissingExtra, UsageError
from zeroevidence.linkage.estimate import format_duration
from zeroevidence.uncertainty.resampling.draws import Progress

MODEL = "attacker.onnx"
_DEVELOPMENT = 0.25  # share of the people that training stops on
_CHECKPOINT, _FEATURES = "checkpoint", "features"


@dataclass(frozen=True, slots=True)
class TrainedAttacker:
    """An encoder that learned from protected speech.

    Parameters
    ----------
    card
        The card of the encoder, for ``--extractor-anonymised``.
    people, development_people, utterances
        How many it learned from, how many it was stopped on, and how many recordings it heard.
    before, after
        What development people disclosed before and after, in bits.
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
    scope: Scope | None = None,
    device: str | None = None,
    workers: int | None = None,
    overwrite: bool = False,
    told: Callable[[Any], None] | None = None,
    progress: Progress | None = None,
    say: Callable[[str], None] = lambda _: None,
    **settings: Any,
) -> TrainedAttacker:
    """Fine-tune a speaker encoder on protected speech, to attack that protection with.

    Parameters
    ----------
    corpus
        Protected speech of people who are not evaluated later: folders speaker/utterance.wav, or what `audit` takes.
        Of a corpus with roles only what is for training is used.
    folder
        Where the encoder and its card go; reading and training that were cut off go on from the state that it holds.
    encoder
        The encoder to start from, by name or as the file of its card.
    evaluation
        The corpus that will be evaluated: training on its people is refused.
    scope, device, **settings
        What to train, every weight on a GPU and pooling and last layers without one unless given; where; and any field
        of `TrainingSettings`, of which the others are as `TrainingSettings.usual` has them.
    workers
        Threads that read speech, each on one core; as many as there are cores unless given.
    overwrite
        Whether an encoder that the folder holds is replaced.
    told, progress, say
        Called after each epoch; with the number of recordings read; and with notices, among them an estimate.
    """
    home = Path(folder)
    _refuse_finished(home, overwrite=overwrite)
    if not any((home / part).exists() for part in (_CHECKPOINT, _FEATURES)):
        refuse_used_folder(home)
    _, place = training_loop(device)
    chosen = TrainingSettings.usual(scope or usual_scope(place), **settings)
    card = find_card(encoder)
    network = load_network(card)
    utterances = _learnable(corpus, evaluation)
    with naming_file(corpus):
        people, held = _cut(np.array([one.speaker for one in utterances]), chosen.seed)
    with lock_folder(home):
        frames, converted = read_features(utterances, card, store=home / _FEATURES, workers=workers, progress=progress)
        for sentence in converted.sentences():
            say(sentence)
        training, development = (frames.take(np.isin(frames.speakers, group)) for group in (people, held))
        say(estimate_words(network, training, development, chosen, place))
        found = fine_tune(card, training, development, home, chosen, device=place, told=told, say=say)
        shutil.rmtree(home / _FEATURES)
    return found


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
    folder: str | Path,
    settings: TrainingSettings,
    *,
    device: str | None = None,
    told: Callable[[Any], None] | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> TrainedAttacker:
    """Train the encoder of a card on features, and write it with a card of its own.

    Parameters
    ----------
    training, development
        Features of people to learn from, and of others to stop on.
    folder, settings, device, told, say
        As in `train_attacker`.
    """
    home = Path(folder)
    loop, place = training_loop(device)
    found = loop.train(
        load_network(card),
        training,
        development,
        settings,
        device=place,
        checkpoint=home / _CHECKPOINT,
        told=told,
        say=say,
    )
    before, after = found.epochs[0].development, found.kept
    assert before is not None
    assert after is not None
    people, held = np.unique(training.speakers), np.unique(development.speakers)
    heard = len(training) + len(development)
    written = _written(home, card, found.network, settings, people, held, heard)
    return TrainedAttacker(written, len(people), len(held), heard, before.bits, after.bits, len(found.epochs) - 1)


def training_loop(device: str | None) -> tuple[Any, str]:
    """The training loop and the place to run it."""
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


def _learnable(corpus: str | Path, evaluation: str | Path | None) -> list[Utterance]:
    """The utterances to learn from; refused where people are among them who will be evaluated."""
    utterances = [one for one in read_corpus(corpus, draw=False) if one.role in (None, "train")]
    if not utterances:
        raise InputError(
            "every utterance is enrolled or tried; expected some whose role is train, or none", path=corpus
        )
    if evaluation is not None:
        evaluated = {one.speaker for one in read_corpus(evaluation, draw=False) if one.role != "train"}
        common = sorted(evaluated & {one.speaker for one in utterances})
        if common:
            raise InputError(
                f"{len(common)} of its people will be evaluated, among them {common[0]!r}; expected other people",
                path=corpus,
            )
    return utterances


def _cut(speakers: StrArray, seed: int) -> tuple[StrArray, StrArray]:
    """People to learn from and people to stop on."""
    names = np.random.default_rng(seed).permutation(np.unique(speakers))
    held = max(2, round(_DEVELOPMENT * len(names)))
    if len(names) - held < LEAST_PEOPLE:
        raise InputError(
            f"{len(names)} people; expected at least {LEAST_PEOPLE + 2}, {LEAST_PEOPLE} to learn from and 2 to stop "
            "on: an encoder that learns from fewer learns them by heart"
        )
    return names[held:], names[:held]


def estimate_words(
    network: Any, training: FrameSet, development: FrameSet, settings: TrainingSettings, place: str
) -> str:
    """What will be trained, and how long it takes at most."""
    from zeroevidence.attack.training.duration import estimate_seconds

    people = len(np.unique(training.speakers))
    minutes = float(training.length.sum() + development.length.sum()) / 6000.0
    what = "every weight" if settings.scope == "all" else "pooling and last layers"
    longest = format_duration(estimate_seconds(network, training, development, settings, device=place))
    return (
        f"{people} people to learn from, {minutes:.0f} minutes of speech; {what}, {settings.epochs} epochs at most, on "
        f"{place}: about {longest} at most"
    )


def _digests(people: StrArray) -> list[str]:
    return sorted(person_digest(str(name)) for name in people)


def _written(
    home: Path,
    card: EncoderCard,
    network: Any,
    settings: TrainingSettings,
    people: StrArray,
    held: StrArray,
    utterances: int,
) -> Path:
    """The encoder and its card."""
    write_atomically(home / MODEL, lambda path: save_onnx(network.cpu(), path))
    heard = f"learned from {utterances} protected recordings, of {len(people)} people and {len(held)} to stop on"
    content = {
        "name": f"{card.name}-trained",
        "file": MODEL,
        "architecture": card.architecture,
        "licence": card.licence,
        "origin": f"{card.origin or card.name}, trained further by `zeroevidence train-attacker`",
        "sample_rate": card.sample_rate,
        "dim": card.dim,
        "front_end": card.front_end,
        "input": "feats",
        "output": "embedding",
        "note": f"{heard}; for audits of other people",
        "sha256": hashlib.sha256((home / MODEL).read_bytes()).hexdigest(),
        "bytes": (home / MODEL).stat().st_size,
        "training": settings.to_dict(),
        "training_people": _digests(people),
        "development_people": _digests(held),
    }
    # A card has no empty texts.
    words = {key: value for key, value in content.items() if value != ""}
    text = json.dumps(words, indent=1, ensure_ascii=False) + "\n"
    write_atomically(home / CARD, lambda path: path.write_text(text, encoding="utf-8"))
    return home / CARD
