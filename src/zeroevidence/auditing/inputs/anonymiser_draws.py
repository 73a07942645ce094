"""Draws of the anonymiser: an attacker who has it runs it several times on the speech to train on and to enrol.

The trials are never drawn again: they are what was released.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.attack.backends.vectors import unit
from zeroevidence.attack.extractors.device_extraction import has_gpu
from zeroevidence.attack.ladder.ladder import Effort
from zeroevidence.attack.speech.protection import VoiceTransform, protect
from zeroevidence.auditing.inputs.embedding_sets import EmbeddingSets, rows_of
from zeroevidence.data.embeddings import Embeddings, mated_rows, require_speakers
from zeroevidence.data.speech.audio import load_speech
from zeroevidence.data.speech.corpus import Corpus, Utterance
from zeroevidence.data.speech.mixing import Wave
from zeroevidence.errors import InputError, UsageError

_COMPARED = 5  # recordings whose first two draws are compared, to see whether draws differ
_ERRORS = 3.0  # standard errors over people by which enrolment of the released draw must match trials better


@dataclass(frozen=True, slots=True)
class AnonymiserDraws:
    """Further draws of the anonymiser beside the released one.

    Parameters
    ----------
    recordings
        For each further draw, the recordings to train on and to enrol by their identifiers in the released speech.
    deterministic
        Whether a second draw gave the same samples, so that there are no further ones.
    """

    recordings: tuple[Mapping[str, Utterance], ...] = ()
    deterministic: bool = False

    @property
    def number(self) -> int:
        """How often the anonymiser was run, the release included."""
        return 1 + len(self.recordings)

    def training(self, corpus: Corpus) -> list[Utterance]:
        """Return the training recordings of a corpus in all further draws."""
        training = corpus.select("train")
        return [replace(draw[each.id], role="train", split=None) for draw in self.recordings for each in training]

    def embeddings(self, embedded: Embeddings) -> tuple[Embeddings, ...]:
        """Return the embeddings of each further draw under the identifiers of the released speech."""
        draws = []
        for recordings in self.recordings:
            part = embedded.take(rows_of(embedded, [utterance.id for utterance in recordings.values()]))
            draws.append(Embeddings(part.vectors, np.array(list(recordings)), part.speakers, part.attributes))
        return tuple(draws)


def usual_draws(effort: Effort) -> int:
    """Return how often an effort runs the anonymiser: once, twice without a GPU and five times with one, or ten times.

    Examples
    --------
    >>> usual_draws("quick"), usual_draws("full")
    (1, 10)
    """
    return {"quick": 1, "standard": 5 if has_gpu() else 2, "full": 10}[effort]


def draw_names(recordings: Sequence[Mapping[str, Utterance]]) -> dict[str, tuple[int, str]]:
    """Return, by the identifier of a recording of a further draw, the draw's number and the released identifier."""
    return {each.id: (draw, name) for draw, speech in enumerate(recordings, 1) for name, each in speech.items()}


def number_of_draws(asked: int | None, folders: int, effort: Effort) -> int:
    """Return how many draws there are to be, the release included.

    Parameters
    ----------
    asked
        What the user asked for; None for what is usual.
    folders
        Number of folders of anonymised speech; 0 where the anonymiser can be run.
    effort
        Effort of the attackers.
    """
    if not folders:
        return usual_draws(effort) if asked is None else asked
    if asked is not None and asked > folders:
        raise UsageError(
            f"{asked} draws of {folders} folder{'s'[: folders > 1]} of anonymised speech; expected a folder for each "
            "draw, or a protector that can be run"
        )
    return folders if asked is None else asked


def further_recordings(
    folds: Sequence[Corpus], number: int, folders: Sequence[str | Path]
) -> tuple[Mapping[str, Utterance], ...]:
    """Return the recordings of each further draw, with identifiers of their own.

    Parameters
    ----------
    folds
        The original speech with the roles of each fold of people.
    number
        How many draws there are, the release included.
    folders
        Further folders of anonymised speech; none where a protector makes it of the original.
    """
    needed = {each.id: each for fold in folds for each in fold if each.role in ("train", "enrol")}
    draws = []
    for draw in range(1, number):
        speech = needed
        if folders:
            replaced = folds[0].only(needed.values()).replaced(folders[draw - 1])
            speech = {each.id: each for each in replaced}
        draws.append({name: replace(each, id=f"{name}, draw {draw + 1}") for name, each in speech.items()})
    return tuple(draws)


def without_repeats(
    released: Corpus,
    recordings: tuple[Mapping[str, Utterance], ...],
    transform: VoiceTransform | None,
    rate: int,
) -> AnonymiserDraws:
    """Return the further draws; none where the second one of a few recordings has the samples of the first.

    Parameters
    ----------
    released
        The speech of the release, or the original where `transform` makes it.
    recordings
        The further draws.
    transform
        Protects the waveforms of all draws, where they are not protected yet.
    rate
        Rate at which they are compared.
    """
    if not recordings:
        return AnonymiserDraws()

    def wave(utterance: Utterance) -> Wave:
        return protect(load_speech(utterance, rate).wave, rate, utterance, transform)

    one_each = {each.speaker: each for each in released if each.id in recordings[0]}.values()
    compared = sorted(one_each, key=lambda each: each.id)[:_COMPARED]
    try:
        repeats = all(np.array_equal(wave(each), wave(recordings[0][each.id])) for each in compared)
    except InputError:  # the extraction names all recordings that cannot be used
        repeats = False
    return AnonymiserDraws(deterministic=True) if repeats else AnonymiserDraws(recordings)


def own_draw_is_closer(sets: EmbeddingSets) -> bool:
    """Return whether development trials are closer to enrolment of their own draw than to that of further draws.

    This is so where something is drawn for each speaker: recordings of the release share it. An encoder that learned to
    recognise the same person in all draws would not use it. Compared is the cosine with the own person's profile less
    those with the others', by person; the released draw must be closer by three standard errors.
    """
    if not sets.draws:
        return False
    centre = sets.train.vectors.mean(axis=0, dtype=float)
    released, *further = (_margins(enrol, sets.dev_trial, centre) for enrol in sets.part_draws("dev_enrol"))
    closer = released - np.mean(further, axis=0)
    speakers = require_speakers(sets.dev_trial)
    people = np.array([np.nanmean(closer[speakers == name]) for name in np.unique(speakers[~np.isnan(closer)])])
    if len(people) < 3:
        return False
    return bool(people.mean() > _ERRORS * people.std(ddof=1) / np.sqrt(len(people)) + 1e-9)


def _margins(enrol: Embeddings, trial: Embeddings, centre: FloatArray) -> FloatArray:
    """Return by how much the cosine of each trial with its own person exceeds those with others; NaN of strangers."""
    profiles = enrol.profiles()
    x, y = (unit(part.vectors - centre) for part in (trial, profiles))
    cosines, mated = x @ y.T, mated_rows(trial, profiles)
    own = cosines[np.arange(len(x)), mated]
    result: FloatArray = np.where(mated < 0, np.nan, own - (cosines.sum(axis=1) - own) / (cosines.shape[1] - 1))
    return result
