"""Recordings that the protection refused: they are left out of the original and of the anonymised speech."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from zeroevidence.attack.speech.batches import compute_ahead
from zeroevidence.attack.speech.protection import VoiceTransform, protect
from zeroevidence.data.formats.corpora.read import read_corpus
from zeroevidence.data.speech.audio import load_speech
from zeroevidence.data.speech.corpus import Corpus, Utterance
from zeroevidence.errors import InputError
from zeroevidence.protect.anonymising.release import CARD, refused_recordings
from zeroevidence.uncertainty.resampling.draws import Progress


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What an audit leaves out on both sides.

    Parameters
    ----------
    refused
        Identifiers of recordings that the protection refused: of which there is no anonymised file.
    unmatched
        Identifiers of trials whose speakers have no enrolment without these.
    total
        Number of recordings of the corpus, these included.
    listed
        Whether a card lists them.

    Examples
    --------
    >>> print(LeftOut(frozenset(["u1"]), frozenset(["u2", "u3"]), 8))
    1 of 8 recordings was refused by the protection, as protector.json lists, and is left out on both sides, and so \
are 2 trials of people who are not enrolled without it
    >>> print(LeftOut(frozenset(["u1", "u2"]), total=8, listed=False))
    2 of 8 recordings were refused by the protection and are left out on both sides
    """

    refused: frozenset[str] = frozenset()
    unmatched: frozenset[str] = frozenset()
    total: int = 0
    listed: bool = True

    @property
    def names(self) -> frozenset[str]:
        """All identifiers that are left out."""
        return self.refused | self.unmatched

    def __bool__(self) -> bool:
        return bool(self.refused)

    def __str__(self) -> str:
        one, count, where = len(self.refused) == 1, len(self.unmatched), f", as {CARD} lists," if self.listed else ""
        sentence = (
            f"{len(self.refused)} of {self.total} recordings {'was' if one else 'were'} refused by the protection"
            f"{where} and {'is' if one else 'are'} left out on both sides"
        )
        if not count:
            return sentence
        trials = "is 1 trial" if count == 1 else f"are {count} trials"
        return f"{sentence}, and so {trials} of people who are not enrolled without {'it' if one else 'them'}"


def read_usable(path: str | Path, folders: Sequence[str | Path]) -> tuple[Corpus, LeftOut]:
    """Return a corpus without what the protection refused, and what that is.

    Parameters
    ----------
    path
        The original speech.
    folders
        Folders of its anonymised speech; what one of them lists as refused and does not hold is left out.
    """
    corpus = read_corpus(path, draw=False)
    left_out = find_left_out(corpus, folders)
    return without(corpus, left_out), left_out


def without(corpus: Corpus, left_out: LeftOut) -> Corpus:
    """Return a corpus without what is left out."""
    return corpus.only(each for each in corpus if each.id not in left_out.names) if left_out else corpus


def try_protection(
    corpus: Corpus, transform: VoiceTransform, rate: int, workers: int, progress: Progress | None
) -> LeftOut:
    """Return what a protector refuses of a corpus, by running it on every recording.

    Parameters
    ----------
    corpus
        The original speech.
    transform
        The protector; what it gives should be cached, as it is asked for again.
    rate
        Sampling rate at which speech is protected.
    workers
        Threads.
    progress
        Called with the number of recordings that are done, and of all.
    """

    def refuses(utterance: Utterance) -> bool:
        wave = load_speech(utterance, rate).wave
        try:
            protect(wave, rate, utterance, transform)
        except InputError:
            return True
        return False

    refused = set()
    for number, (utterance, is_refused) in enumerate(
        zip(corpus, compute_ahead(refuses, corpus, workers), strict=True), start=1
    ):
        if is_refused:
            refused.add(utterance.id)
        if progress is not None:
            progress(number, len(corpus))
    return _left_out(corpus, refused, listed=False)


def find_left_out(corpus: Corpus, folders: Sequence[str | Path]) -> LeftOut:
    """Return what an audit of these folders leaves out of a corpus; a file that no card lists as refused is missed."""
    refused: set[str] = set()
    for folder in folders:
        listed = {each.utterance for each in refused_recordings(folder)}
        if listed:
            there, _ = corpus.counterparts(folder)
            refused |= {each.id for each in corpus if each.id in listed and each.id not in there}
    return _left_out(corpus, refused, listed=True)


def _left_out(corpus: Corpus, refused: set[str], *, listed: bool) -> LeftOut:
    """Return what was refused, and trials whose people are no longer enrolled."""
    if not refused:
        return LeftOut(total=len(corpus))
    enrolled = [{_person(each) for each in corpus.select("enrol") if each.id not in gone} for gone in ((), refused)]
    lost = enrolled[0] - enrolled[1]
    unmatched = {each.id for each in corpus.select("trial") if each.id not in refused and _person(each) in lost}
    return LeftOut(frozenset(refused), frozenset(unmatched), len(corpus), listed)


def _person(utterance: Utterance) -> tuple[str, str | None]:
    return utterance.speaker, utterance.split
