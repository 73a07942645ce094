"""From a folder of protected speech to an encoder that learned from it, with a card that says so."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from zeroevidence._typing import StrArray
from zeroevidence.attack.encoders import find_encoder
from zeroevidence.attack.extractors import DEFAULT_EXTRACTOR
from zeroevidence.attack.extractors.cards import CARD, Card
from zeroevidence.attack.features import FRONT_ENDS
from zeroevidence.attack.networks import load_onnx, save_onnx
from zeroevidence.attack.training.frames import FrameSet
from zeroevidence.attack.training.settings import LEAST_PEOPLE, Scope, TrainingSettings
from zeroevidence.data.audio import load_audio
from zeroevidence.data.formats import read_corpus
from zeroevidence.data.speech import Utterance
from zeroevidence.data.writing import refuse_used_folder, write_whole
from zeroevidence.errors import InputError, MissingExtra, Problem
from zeroevidence.uncertainty.draws import Progress

MODEL = "attacker.onnx"
_DEVELOPMENT = 0.25  # share of the people that training stops on
_CHECKPOINT = "checkpoint"
_SECONDS = 0.06  # of one core for the frames of a second of speech, roughly: for the estimate alone


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
    """

    card: Path
    people: int
    development_people: int
    utterances: int
    before: float
    after: float


def train_attacker(
    corpus: str | Path,
    folder: str | Path,
    *,
    encoder: str = DEFAULT_EXTRACTOR,
    scope: Scope | None = None,
    device: str | None = None,
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
    folder
        Where the encoder and its card go; a training that was cut off goes on from the state that it holds.
    encoder
        The encoder to start from.
    scope, device, **settings
        What to train, every weight on a GPU and pooling and last layers without one unless given; where; and any field
        of `TrainingSettings`.
    told, progress, say
        Called after each epoch; with the number of recordings read; and with notices, among them an estimate.
    """
    home = Path(folder)
    if not (home / _CHECKPOINT).exists():
        refuse_used_folder(home)
    training, place = _training()
    usual: Scope = "all" if (device or place) != "cpu" else "last"
    chosen = TrainingSettings(scope=scope or usual, **settings)
    card = find_encoder(encoder).card
    utterances = list(read_corpus(corpus, seed=chosen.seed))
    frames = _features(utterances, card, progress)
    people, held = _cut(frames.speakers, chosen.seed)
    seconds = float(frames.length.sum()) / 100.0
    say(_estimate(seconds, chosen, device or place, len(people)))
    network = load_onnx(card.file)
    found = training.train(
        network,
        frames.take(np.isin(frames.speakers, people)),
        frames.take(np.isin(frames.speakers, held)),
        chosen,
        device=device,
        checkpoint=home / _CHECKPOINT,
        told=told,
    )
    before, after = found.epochs[0].development, found.kept
    assert before is not None
    assert after is not None
    written = _written(home, card, found.network, chosen, (len(people), len(held), len(frames)))
    return TrainedAttacker(written, len(people), len(held), len(frames), before.bits, after.bits)


def _training() -> tuple[Any, str]:
    """The training loop and the place to run it."""
    try:
        import torch

        from zeroevidence.attack.training import loop
    except ImportError as error:
        if isinstance(error, MissingExtra):
            raise
        raise MissingExtra("torch", "training an attacker's encoder") from None
    return loop, "cuda" if torch.cuda.is_available() else "cpu"


def _features(utterances: Sequence[Utterance], card: Card, progress: Progress | None) -> FrameSet:
    front_end = FRONT_ENDS.get(card.front_end)
    if front_end is None:
        raise InputError(f"{card.name}: takes {card.front_end}; expected an encoder of features")
    frames, problems = [], []
    for done, one in enumerate(utterances, 1):
        try:
            frames.append(front_end(load_audio(one.path, card.sample_rate)[one.start : one.end]))
        except InputError as error:
            problems.append(Problem(str(one.path), None, error.reason))
        if progress is not None:
            progress(done, len(utterances))
    if problems:
        raise InputError.of(problems)
    return FrameSet.join(frames, [one.speaker for one in utterances])


def _cut(speakers: StrArray, seed: int) -> tuple[StrArray, StrArray]:
    """People to learn from and people to stop on."""
    names = np.random.default_rng(seed).permutation(np.unique(speakers))
    held = max(2, round(_DEVELOPMENT * len(names)))
    if len(names) - held < LEAST_PEOPLE:
        raise InputError(
            f"{len(names)} people; expected at least {LEAST_PEOPLE + held}, {LEAST_PEOPLE} to learn from and {held} to "
            "stop on"
        )
    return names[held:], names[:held]


def _estimate(seconds: float, settings: TrainingSettings, place: str, people: int) -> str:
    what = "every weight" if settings.scope == "all" else "pooling and last layers"
    words = (
        f"{people} people to learn from, {seconds / 60:.0f} minutes of speech; {what}, {settings.epochs} epochs at most"
    )
    if place != "cpu":
        return f"{words}, on {place}"
    looks = settings.epochs / settings.look
    work = (
        seconds * _SECONDS * (1.0 + looks * _DEVELOPMENT + (4.0 * settings.epochs if settings.scope == "all" else 0.0))
    )
    return f"{words}; without a GPU about {max(1, round(work / 60))} minutes at most"


def _written(home: Path, card: Card, network: Any, settings: TrainingSettings, sizes: tuple[int, int, int]) -> Path:
    """The encoder and its card."""
    write_whole(home / MODEL, lambda path: save_onnx(network.cpu(), path))
    people, held, utterances = sizes
    named = replace(card, name=f"{card.name}-trained", file=home / MODEL)
    content = {
        "name": named.name,
        "file": MODEL,
        "architecture": card.architecture,
        "licence": card.licence,
        "origin": f"{card.origin or card.name}, trained further by `zeroevidence train-attacker`",
        "sample_rate": card.sample_rate,
        "dim": card.dim,
        "front_end": card.front_end,
        "input": "feats",
        "output": "embedding",
        "note": f"learned from {utterances} protected recordings, of {people} people and {held} to stop on; for audits",
        "sha256": hashlib.sha256((home / MODEL).read_bytes()).hexdigest(),
        "training": {**settings.to_dict(), "people": people, "development_people": held, "utterances": utterances},
    }
    text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    write_whole(home / CARD, lambda path: path.write_text(text, encoding="utf-8"))
    return home / CARD
