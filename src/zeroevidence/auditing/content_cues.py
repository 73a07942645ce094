"""Cues in what is said and when: the words alone, and how long speech units last.

Both learn from the training people of a fold what is usual, so they are no extractors of single recordings.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.attack.voice_transforms import VoiceTransform, compute_one_by_one, protect
from zeroevidence.auditing.embedding_sets import EmbeddingSets, EncodedSpeech
from zeroevidence.auditing.options import AuditOptions
from zeroevidence.auditing.protected_speech import AuditedSpeech
from zeroevidence.auditing.speech_utility import CachedRecogniser, transcribe
from zeroevidence.auditing.word_errors import NO_RECOGNISER, PREFERRED, can_recognise, corpus_transcripts, spoken_words
from zeroevidence.data.audio import load_speech
from zeroevidence.data.corpus import Utterance
from zeroevidence.data.embeddings import Embeddings
from zeroevidence.data.formats.lists import read_durations, read_transcripts
from zeroevidence.data.store import Store
from zeroevidence.data.waves import Wave
from zeroevidence.errors import InputError, MissingExtra
from zeroevidence.protect.voices.onevoice import HOP, load_networks
from zeroevidence.protect.voices.speech_models import RATE
from zeroevidence.registry import Registry
from zeroevidence.run import Run

Durations: TypeAlias = Mapping[str, Sequence[float]]  # seconds of each occurrence of a speech unit
_STEPS = ("whitened", "plda")  # few dimensions of very different worth, as of other cues
_TEXTS_PER_DIMENSION, _DIMENSIONS = 8, (16, 256)  # that texts are reduced to
_MOST_GRAMS = 50_000  # of each kind
_CODES = 64  # units of the content encoder
_PEAK = 0.5  # to which it hears all recordings scaled


@dataclass(frozen=True, slots=True)
class ReleasedSpeech:
    """The released recordings of an audit, and where their content may be told.

    Parameters
    ----------
    speech
        The original speech, which may come with transcripts.
    utterances
        The released recordings by name, or the originals where they are not protected yet.
    transform
        Protects these.
    options
        Files of content that the user gave, and the recogniser.
    run
        Its cores are threads, its cache keeps what was recognised.
    """

    speech: AuditedSpeech
    utterances: Mapping[str, Utterance]
    transform: VoiceTransform | None
    options: AuditOptions
    run: Run

    def wave(self, utterance: Utterance) -> Wave:
        """Return a released recording at 16 kHz."""
        return protect(load_speech(utterance, RATE).wave, RATE, utterance, self.transform)


@dataclass(frozen=True, slots=True)
class ContentCue:
    """A cue in the content of recordings.

    Parameters
    ----------
    name
        Results call it ``cue:NAME``.
    description
        What an attacker compares.
    read
        Returns the content of each released recording, once for all draws; raises where it cannot be known.
    fit
        Learns from the contents of training people, and returns what makes vectors of contents.
    """

    name: str
    description: str
    read: Callable[[ReleasedSpeech], Mapping[str, Any]]
    fit: Callable[[Sequence[Any]], Callable[[Sequence[Any]], FloatArray]]

    @property
    def encoder(self) -> str:
        """Its name in results."""
        return f"cue:{self.name}"

    def encode(self, contents: Mapping[str, Any], released: EmbeddingSets) -> EncodedSpeech:
        """Return the people and recordings of released speech with vectors of their content."""

        def contents_of(part: Embeddings) -> list[Any]:
            return [contents[name] for name in part.ids.tolist()]

        vectors = self.fit(contents_of(released.train))
        sets = replace(released, draws=()).mapped(lambda part: vectors(contents_of(part)))
        return EncodedSpeech(self.encoder, None, sets, steps=_STEPS)


CONTENT_CUES: Registry[ContentCue] = Registry("cue in the content", order=lambda cue: cue.name)


def read_contents(released: ReleasedSpeech) -> tuple[dict[str, Mapping[str, Any]], list[str]]:
    """Return the contents of released recordings by cue, and the cues that are left out, each with its reason."""
    contents: dict[str, Mapping[str, Any]] = {}
    left_out = []
    for cue in CONTENT_CUES.values():
        try:
            contents[cue.name] = cue.read(released)
        except MissingExtra as error:
            left_out.append(f"{cue.encoder}: {error}")
    return contents, left_out


def read_words(released: ReleasedSpeech) -> dict[str, str]:
    """Return the words of each recording: of transcripts that have them all, or of a recogniser that hears them."""
    options, speech = released.options, released.speech
    given = options.transcripts
    said = corpus_transcripts(speech.corpus, speech.path) if given is None else read_transcripts(given)
    if all(name in said for name in released.utterances):
        return {name: spoken_words(said[name]) for name in released.utterances}
    names = PREFERRED if options.recogniser is None else (options.recogniser,)
    recogniser = next((name for name in names if name != NO_RECOGNISER and can_recognise(name)), None)
    if recogniser is None:
        raise MissingExtra("recogniser", "words of recordings that have no transcripts")
    cache = released.run.cache
    hear = CachedRecogniser(recogniser, None if cache is None else Store.optional(cache, "heard"))
    heard = transcribe(list(released.utterances.values()), released.wave, hear, "protected ", released.run)
    return {name: spoken_words(transcript.text) for name, transcript in heard.items()}


def fit_words(training: Sequence[str]) -> Callable[[Sequence[str]], FloatArray]:
    """Return what makes vectors of texts: their words, pairs of words and groups of letters, and how long they are.

    Rare ones count more (tf-idf); they are reduced to the directions in which training texts differ most.

    Examples
    --------
    >>> vectors = fit_words(["to be or not to be", "so be it", "or not", "so it is", "it is not"])
    >>> vectors(["to be", "is it so", "???"]).shape
    (3, 6)
    """
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline, make_union

    least = 2 if len(training) > _DIMENSIONS[0] else 1
    kind = partial(TfidfVectorizer, sublinear_tf=True, min_df=least, max_features=_MOST_GRAMS)
    grams = make_union(
        kind(analyzer="word", token_pattern=r"\S+", ngram_range=(1, 2)), kind(analyzer="char_wb", ngram_range=(2, 4))
    )
    fewest, most = _DIMENSIONS
    number = min(max(len(training) // _TEXTS_PER_DIMENSION, fewest), most, max(len(training) - 1, 1))
    centre, deviation = _lengths(training).mean(axis=0), np.maximum(_lengths(training).std(axis=0), 1e-9)
    try:
        columns = grams.fit_transform(training).shape[1]
    except ValueError:  # nothing is said twice, so only lengths can be compared
        return lambda texts: (_lengths(texts) - centre) / deviation
    reduction = make_pipeline(grams, TruncatedSVD(min(number, columns), random_state=0))
    spread = float(reduction.fit_transform(training).std(axis=0).mean())

    def vectors(texts: Sequence[str]) -> FloatArray:
        lengths = (_lengths(texts) - centre) / deviation
        return np.hstack([reduction.transform(texts), spread * lengths])

    return vectors


def _lengths(texts: Sequence[str]) -> FloatArray:
    return np.log1p([[len(text.split()), len(text)] for text in texts])


def hear_durations(wave: Wave) -> Durations:
    """Return how long each code of the content encoder lasts, of speech at 16 kHz."""
    codes = load_networks().encode(wave * np.float32(_PEAK / max(float(np.abs(wave).max()), 1e-9)), _CODES)
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    seconds: dict[str, list[float]] = defaultdict(list)
    for code, frames in zip(codes[starts].tolist(), np.diff(starts, append=len(codes)).tolist(), strict=True):
        seconds[str(code)].append(frames * HOP / RATE)
    return seconds


def read_unit_durations(released: ReleasedSpeech) -> dict[str, Durations]:
    """Return durations of the phones that a CTM file lists, or of what the content encoder hears in each recording."""
    file = released.options.phones
    if file is not None:
        listed = read_durations(file)
        missing = next((name for name in released.utterances if name not in listed), None)
        if missing is not None:
            raise InputError(f"no phones of {missing!r}; expected some of every recording", path=file)
        return {name: listed[name] for name in released.utterances}
    load_networks().encode(np.zeros(HOP, np.float32), _CODES)  # a missing package is reported before any work
    transform = released.transform

    def hear(utterance: Utterance) -> Durations:
        return hear_durations(protect(load_speech(utterance, RATE).wave, RATE, utterance, transform))

    step = released.run.progress("durations in protected speech", "utterances")
    heard = compute_one_by_one(hear, list(released.utterances.values()), step, released.run)
    return dict(zip(released.utterances, heard, strict=True))


def fit_durations(training: Sequence[Durations]) -> Callable[[Sequence[Durations]], FloatArray]:
    """Return what makes vectors of durations: the mean and the spread of each unit, in deviations of training people.

    Logarithms are compared. A unit that a recording lacks is at the mean of all, and one that it has once is near it.

    Examples
    --------
    >>> vectors = fit_durations([{"a": [0.1, 0.2]}, {"a": [0.1], "b": [0.3, 0.6]}])
    >>> vectors([{"a": [0.2, 0.2]}, {}]).round(2).tolist()
    [[0.71, 0.5, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]
    """
    units = sorted({unit for durations in training for unit in durations})
    pooled = {unit: np.log([x for durations in training for x in durations.get(unit, ())]) for unit in units}
    usual = {unit: (float(logs.mean()), max(float(logs.std()), 1e-3)) for unit, logs in pooled.items()}

    def vector(durations: Durations) -> list[float]:
        values = []
        for unit, (mean, deviation) in usual.items():
            apart = (np.log(durations.get(unit, [])) - mean) / deviation
            number = len(apart) + _PRIOR
            values += [float(apart.sum()) / number, float((apart**2 - 1.0).sum()) / number]
        return values

    return lambda recordings: np.array([vector(durations) for durations in recordings], dtype=np.float64)


_PRIOR = 2.0  # occurrences at the mean of all that every recording is given of each unit

WORDS = CONTENT_CUES.add(
    ContentCue("words", "Words, not voice: words, groups of letters, length of the text.", read_words, fit_words)
)
CONTENT_CUES.add(
    ContentCue("durations", "How long speech units last, mean and spread.", read_unit_durations, fit_durations)
)
