"""Embeddings that an audit compares: split by people, of each encoder, with how the encoder was trained."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from zeroevidence._typing import FloatArray, IntArray, StrArray
from zeroevidence.data.corpus import Corpus, Utterance
from zeroevidence.data.embeddings import Embeddings, rank_names, require_embeddings, require_speakers
from zeroevidence.data.folds import LEAST_PEOPLE, default_folds, default_splits, draw_folds
from zeroevidence.data.preparing import sort_by_name
from zeroevidence.data.threat import Material, ThreatModel, Training
from zeroevidence.errors import InputError
from zeroevidence.evaluation import Curve

_SPLITS = {"train": ("train",), "dev": ("dev_enrol", "dev_trial"), "eval": ("eval_enrol", "eval_trial")}
_PARTS = tuple(name for names in _SPLITS.values() for name in names)
_DRAWN = ("train", "dev_enrol", "eval_enrol")  # trials are not drawn again: what was released is attacked
# The sets of recordings that the anonymiser was run on once more, by name.
FurtherDraw: TypeAlias = Mapping[str, Embeddings]


@dataclass(frozen=True, slots=True, eq=False)
class EmbeddingSets:
    """Embeddings of one kind of speech: training speakers, and enrolment and trials of development and evaluation.

    The three groups of speakers must not overlap, all vectors have one dimension, every set names its speakers, and no
    utterance is both enrolment and trial. Each set is put in the order of speakers and identifiers, so that the order
    in which they are given changes no number; identifiers that were not given are row numbers, which change with it.
    `draws` has the same training and enrolment recordings from further runs of the anonymiser.

    Examples
    --------
    >>> import numpy as np
    >>> from zeroevidence import Embeddings
    >>> names = np.repeat(["a", "b", "c", "d", "e", "f"], 2)
    >>> vectors = Embeddings(np.random.default_rng(0).normal(size=(12, 4)), np.arange(12).astype(str), names)
    >>> split = np.repeat(["train", "dev", "eval"], 4)
    >>> sets = EmbeddingSets.from_roles(vectors, split, np.tile(["enrol", "trial"], 6))
    >>> sets.speakers("eval").tolist()
    ['e', 'f']
    """

    train: Embeddings
    dev_enrol: Embeddings
    dev_trial: Embeddings
    eval_enrol: Embeddings
    eval_trial: Embeddings
    draws: tuple[FurtherDraw, ...] = ()

    def __post_init__(self) -> None:
        dimension = require_embeddings(self.train, "train").vectors.shape[1]
        for name, part in self.parts().items():
            if require_embeddings(part, name).speakers is None:
                raise InputError(f"{name}: speakers are not known; an audit needs the speaker of every embedding")
            if part.vectors.shape[1] != dimension:
                raise InputError(f"{name}: {part.vectors.shape[1]} dimensions, but train has {dimension}")
        titles = {"train": "training", "dev": "development", "eval": "evaluation"}
        people = [(title, self.speakers(split)) for split, title in titles.items()]
        for (first, here), (second, there) in combinations(people, 2):
            common = np.intersect1d(here, there)
            if len(common):
                raise InputError(
                    f"{first} and {second} share {len(common)} speaker(s), among them {str(common[0])!r}; an attacker "
                    "trained or calibrated on the evaluated people looks stronger than one is"
                )
        for split in ("dev", "eval"):
            enrol, trial = self.parts()[f"{split}_enrol"], self.parts()[f"{split}_trial"]
            common = np.intersect1d(enrol.ids, trial.ids)
            if len(common):
                raise InputError(f"{split}: utterance {str(common[0])!r} is both enrolment and trial")
            if len(np.unique(require_speakers(enrol))) < 2:
                raise InputError(f"{split}: a search needs at least two enrolled speakers, got one")
            if not np.isin(require_speakers(trial), require_speakers(enrol)).any():
                raise InputError(f"{split}: no trial is of an enrolled speaker")
        for name, part in self.parts().items():
            object.__setattr__(self, name, sort_by_name(part))
        object.__setattr__(self, "draws", tuple(self._checked_draw(draw) for draw in self.draws))

    def _checked_draw(self, draw: FurtherDraw) -> FurtherDraw:
        """Return a further draw in the order of the sets; refused where it is not of the same recordings."""
        parts = {name: sort_by_name(part) for name, part in draw.items()}
        for name, part in parts.items():
            released = getattr(self, name)
            if part.vectors.shape[1] != released.vectors.shape[1] or not np.array_equal(part.ids, released.ids):
                raise InputError(f"{name}: a further draw has other recordings or dimensions; expected the same")
        return parts

    @classmethod
    def from_roles(cls, embeddings: Embeddings, split: StrArray, role: StrArray) -> EmbeddingSets:
        """Return the sets of a table with a split (train, dev, eval) and, where not train, a role (enrol, trial)."""
        embeddings = require_embeddings(embeddings)
        splits, roles = np.asarray(split, dtype=np.str_), np.asarray(role, dtype=np.str_)

        def part(field: str) -> Embeddings:
            name, _, side = field.partition("_")
            chosen = (splits == name) & (roles == side) if side else splits == name
            if not chosen.any():
                raise InputError(f"no embedding is of {field.replace('_', ', ')}")
            return embeddings.take(chosen)

        parts: dict[str, Any] = {name: part(name) for name in _PARTS}
        return cls(**parts)

    def parts(self) -> dict[str, Embeddings]:
        """Return the five sets by name."""
        return {name: getattr(self, name) for name in _PARTS}

    @property
    def most_enrolled(self) -> int:
        """How many recordings are enrolled of a person, at most."""
        return int(recordings_of_each(self.eval_enrol).max())

    def with_draws(self, draws: Iterable[Embeddings]) -> EmbeddingSets:
        """Return the sets with further draws.

        Parameters
        ----------
        draws
            For each draw, embeddings that hold the recordings to train on and to enrol under the same identifiers.
        """
        return replace(self, draws=tuple(self._further_draw(embeddings) for embeddings in draws))

    def _further_draw(self, embeddings: Embeddings) -> FurtherDraw:
        draw = {}
        for name in _DRAWN:
            part: Embeddings = getattr(self, name)
            vectors = embeddings.vectors[rows_of(embeddings, part.ids.tolist(), " in a further draw")]
            draw[name] = Embeddings(vectors, part.ids, part.speakers, part.attributes)
        return draw

    def part_draws(self, name: str) -> tuple[Embeddings, ...]:
        """Return training or enrolment recordings in every draw, the released one first."""
        return (getattr(self, name), *(draw[name] for draw in self.draws))

    def training(self, draws: int | None = None) -> tuple[FloatArray, StrArray]:
        """Return the vectors to train on, in double precision, and who speaks: of all draws, or of the first few."""
        parts = self.part_draws("train")[:draws]
        vectors = np.concatenate([np.asarray(part.vectors, dtype=np.float64) for part in parts])
        return vectors, np.tile(require_speakers(self.train), len(parts))

    def speakers(self, split: str) -> StrArray:
        """Return the distinct speakers of train, dev or eval."""
        return np.unique(np.concatenate([require_speakers(getattr(self, name)) for name in _SPLITS[split]]))

    def mapped(self, change: Callable[[Embeddings], FloatArray]) -> EmbeddingSets:
        """Return the same people and utterances with other vectors."""

        def changed(parts: Mapping[str, Embeddings]) -> dict[str, Any]:
            return {
                name: Embeddings(change(part), part.ids, part.speakers, part.attributes) for name, part in parts.items()
            }

        return EmbeddingSets(**changed(self.parts()), draws=tuple(changed(draw) for draw in self.draws))

    def with_enrolment(self, change: Callable[[Embeddings], Embeddings]) -> EmbeddingSets:
        """Return the sets with other enrolments of development and evaluation, in every draw."""

        def changed(parts: Mapping[str, Embeddings]) -> dict[str, Any]:
            return {name: change(parts[name]) for name in ("dev_enrol", "eval_enrol")}

        return replace(self, **changed(self.parts()), draws=tuple({**draw, **changed(draw)} for draw in self.draws))

    def with_trials(self, change: Callable[[Embeddings], Embeddings]) -> EmbeddingSets:
        """Return the sets with other trials of development and evaluation."""
        return replace(self, dev_trial=change(self.dev_trial), eval_trial=change(self.eval_trial))


def recordings_of_each(part: Embeddings) -> IntArray:
    """Return how many recordings each person has."""
    return np.unique(require_speakers(part), return_counts=True)[1].astype(np.int64)


def rows_of(embeddings: Embeddings, names: Sequence[str], where: str = "") -> IntArray:
    """Return the rows of utterances by their names; an utterance that is missing is refused."""
    place = {name: at for at, name in enumerate(embeddings.ids.tolist())}
    missing = next((name for name in names if name not in place), None)
    if missing is not None:
        raise InputError(f"utterance {missing!r} has no embedding{where}")
    return np.array([place[name] for name in names], dtype=np.int64)


def check_pair(original: EmbeddingSets, anonymised: EmbeddingSets) -> None:
    """Refuse two sets that are not of the same people and extractor."""
    for name, part in original.parts().items():
        other = anonymised.parts()[name]
        if part.vectors.shape[1] != other.vectors.shape[1]:
            raise InputError(
                f"{name}: {part.vectors.shape[1]} dimensions in original and {other.vectors.shape[1]} in protected "
                "speech; expected one extractor"
            )
        missing = np.setxor1d(require_speakers(part), require_speakers(other))
        if len(missing):
            raise InputError(f"{name}: speaker {str(missing[0])!r} is in only one of original and protected speech")


def noise_like(sets: EmbeddingSets, seed: int, fold: int = 0) -> EmbeddingSets:
    """Return independent normal vectors in place of embeddings, with the mean and deviation of the training vectors."""
    rng = np.random.default_rng([seed, 0x6E6F6973, *([fold] if fold else [])])  # other noise in every fold
    mean, deviation = sets.train.vectors.mean(axis=0, dtype=float), sets.train.vectors.std(axis=0, dtype=float)
    return sets.mapped(lambda part: mean + deviation * rng.standard_normal(part.vectors.shape)[rank_names(part.ids)[1]])


def split_people(corpus: Corpus, folds: int | None, seed: int, splits: int | None = None) -> tuple[Corpus, ...]:
    """Return the corpus with roles and splits for each fold of people, split by split; 0 folds for a single part."""
    number = default_folds(corpus) if folds is None else folds
    times = default_splits(corpus) if splits is None else splits
    return draw_folds(corpus, number, seed, times) if number else (corpus.assign(seed),)


def sets_of(embeddings: Embeddings, corpus: Corpus) -> EmbeddingSets:
    """Return embeddings by the roles that a corpus gives to their utterances."""
    utterances = list(corpus)
    split = np.array(["train" if utterance.role == "train" else str(utterance.split) for utterance in utterances])
    role = np.array([str(utterance.role) for utterance in utterances])
    rows = rows_of(embeddings, [utterance.id for utterance in utterances])
    return EmbeddingSets.from_roles(embeddings.take(rows), split, role)


def draw_sets(
    original: Embeddings, anonymised: Embeddings, folds: int | None, seed: int, splits: int | None = None
) -> list[tuple[EmbeddingSets, EmbeddingSets]]:
    """Return both kinds of speech in each fold of people; each embedding counts as a recording of its own."""
    only_one = np.setxor1d(require_embeddings(original).ids, require_embeddings(anonymised).ids)
    if len(only_one):
        raise InputError(f"utterance {str(only_one[0])!r} is in only one of original and protected speech")
    attributes = [
        {name: str(values[at]) for name, values in original.attributes.items()} for at in range(len(original))
    ]
    rows = zip(original.ids.tolist(), require_speakers(original).tolist(), attributes, strict=True)
    corpus = Corpus(tuple(Utterance(name, speaker, Path(name), attributes=values) for name, speaker, values in rows))
    return [(sets_of(original, fold), sets_of(anonymised, fold)) for fold in split_people(corpus, folds, seed, splits)]


def check_trainable(corpus: Corpus, path: str | Path) -> None:
    """Refuse a corpus without training people before hours of work."""
    people = {utterance.speaker for utterance in corpus.select("train")}
    if not people:
        raise InputError(
            "every utterance has a role and none is train, so attackers have nobody to learn from; give some speakers "
            "the role train, or leave the roles out and they are drawn",
            path=path,
        )
    if len(people) < 2:
        raise InputError(
            f"{len(corpus.speakers)} speakers leave one to train attackers on, who learn from at least two; an audit "
            f"needs at least {LEAST_PEOPLE} speakers with two recordings each",
            path=path,
        )


_GAIN = 0.1  # bits from a doubling, below which a curve counts as level


@dataclass(frozen=True, slots=True)
class LearningCurve:
    """Disclosure to an attacker over the amount of training people, epochs, draws or enrolled recordings.

    Parameters
    ----------
    amount
        Training people, epochs, draws of the anonymiser or enrolled recordings; each about twice the one before.
    bits
        Disclosure, averaged over draws where there are several.

    Examples
    --------
    >>> curve = LearningCurve((5, 10, 20), (1.0, 1.5, 1.53))
    >>> curve.levelled_off, round(curve.gain, 2)
    (True, 0.03)
    """

    amount: tuple[int, ...]
    bits: tuple[float, ...]

    @property
    def gain(self) -> float:
        """Gain of the last doubling, in bits."""
        return self.bits[-1] - self.bits[-2]

    @property
    def levelled_off(self) -> bool:
        """Whether more training would hardly make this attacker stronger."""
        return self.gain < _GAIN

    def to_curve(self) -> Curve:
        """Return the curve for figures and files."""
        return Curve(tuple(map(float, self.amount)), self.bits)


@dataclass(frozen=True, slots=True)
class FineTuningHistory:
    """How an encoder was fine-tuned on anonymised speech.

    Parameters
    ----------
    people
        Number of training people.
    recordings
        Number of their recordings.
    epochs
        Passes over them.
    over_people
        Disclosure of development people to encoders that were trained on fewer people.
    over_epochs
        Disclosure to encoders that were trained for fewer epochs.
    """

    people: int
    recordings: int
    epochs: int
    over_people: LearningCurve | None = None
    over_epochs: LearningCurve | None = None


@dataclass(frozen=True, slots=True, eq=False)
class EncodedSpeech:
    """Original and anonymised speech as embedded by one encoder.

    Parameters
    ----------
    name
        What results call the encoder.
    original
        Embeddings before protection; without them, only attackers who need none can use the encoder.
    anonymised
        Embeddings of the same people after protection.
    trained_on
        What the encoder learned from; only one that learned from anonymised speech attacks as semi-informed, and only
        as that.
    steps
        Steps of the ladder to try; all unless given.
    learned
        How it was fine-tuned, where that is known.
    part_of
        The encoder whose vectors contain these; attackers with a part are not fused beside those with the whole.
    """

    name: str
    original: EmbeddingSets | None
    anonymised: EmbeddingSets
    trained_on: Training = "original"
    steps: tuple[str, ...] = ()
    learned: FineTuningHistory | None = None
    part_of: str | None = None

    def __post_init__(self) -> None:
        if self.original is not None:
            check_pair(self.original, self.anonymised)

    def sides(self) -> dict[Material, EmbeddingSets]:
        """Return the sets by the side of a comparison."""
        anonymised: dict[Material, EmbeddingSets] = {"anonymised": self.anonymised}
        return anonymised if self.original is None else {"original": self.original, **anonymised}

    def serves(self, model: ThreatModel, step: str) -> bool:
        """Return whether an attacker can use it at a step of the ladder."""
        needs = required_speech(model) - {"noise"}
        return (
            self.trained_on == model.extractor and needs <= set(self.sides()) and (not self.steps or step in self.steps)
        )


def required_speech(model: ThreatModel) -> set[Material]:
    """Return the kinds of speech that an attacker needs."""
    return {model.enrolment, model.trial, model.training, *model.development}


def check_same_people(encoders: list[EncodedSpeech]) -> None:
    """Refuse encoders that were not given the same utterances: their scores could not be fused."""
    first = encoders[0]
    for other in encoders[1:]:
        for side, sets in other.sides().items():
            for name, part in sets.parts().items():
                here = first.sides()[side].parts()[name]
                if not np.array_equal(np.sort(here.ids), np.sort(part.ids)):
                    raise InputError(f"{other.name} and {first.name} embed other utterances ({side}, {name})")
