"""What a protection gives of a corpus: further draws of the anonymiser, and recordings that it refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.attack.backends import unit
from zeroevidence.attack.extractors.extract import has_gpu
from zeroevidence.attack.ladder import Effort
from zeroevidence.attack.voice_transforms import VoiceTransform, compute_one_by_one, name_draw, protect
from zeroevidence.auditing.embedding_sets import EmbeddingSets, rows_of
from zeroevidence.auditing.options import AuditOptions
from zeroevidence.data.audio import load_speech
from zeroevidence.data.corpus import Corpus, Utterance
from zeroevidence.data.embeddings import Embeddings, mated_rows, require_speakers
from zeroevidence.data.formats.corpora import to_corpus
from zeroevidence.data.formats.corpus_files import CorpusRows, read_files
from zeroevidence.data.waves import Wave
from zeroevidence.errors import InputError, MissingExtra, UsageError
from zeroevidence.protect.release import CARD, protector_card, read_card, refused_recordings
from zeroevidence.protect.voices import ProtectorPart, seeded_protectors
from zeroevidence.run import Run


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
        single, count, where = len(self.refused) == 1, len(self.unmatched), f", as {CARD} lists," if self.listed else ""
        sentence = (
            f"{len(self.refused)} of {self.total} recordings {'was' if single else 'were'} refused by the protection"
            f"{where} and {'is' if single else 'are'} left out on both sides"
        )
        if not count:
            return sentence
        trials = "is 1 trial" if count == 1 else f"are {count} trials"
        return f"{sentence}, and so {trials} of people who are not enrolled without {'it' if single else 'them'}"


@dataclass(frozen=True, slots=True)
class AuditedSpeech:
    """Original speech and how it was or will be protected, as `read_speech` gives it.

    Parameters
    ----------
    path
        Folder or table of the original speech.
    rows
        Its files, as they were read.
    corpus
        The original speech, without what the protection refused.
    left_out
        What that is.
    folders
        Folders of anonymised speech; the first was released, the others are further runs of the same anonymiser.
    protector
        Name of the protector of voices that protects it.
    """

    path: str | Path
    rows: CorpusRows
    corpus: Corpus
    left_out: LeftOut
    folders: tuple[str | Path, ...] = ()
    protector: str | None = None

    @property
    def system(self) -> str:
        """The name of the protection."""
        return self.protector or Path(self.folders[0]).name

    @property
    def parts(self) -> tuple[ProtectorPart, ...]:
        """Models and programs of the protection, as far as they are known."""
        card = read_card(self.folders[0]) if self.protector is None else protector_card(self.protector)
        return () if card is None else card.parts

    def without(self, left_out: LeftOut) -> AuditedSpeech:
        """Return the speech without what is left out."""
        if not left_out:
            return replace(self, left_out=left_out)
        kept = self.corpus.only(each for each in self.corpus if each.id not in left_out.names)
        return replace(self, corpus=kept, left_out=left_out)


def read_speech(
    path: str | Path, anonymised: str | Path | Sequence[str | Path] = (), protector: str | None = None
) -> AuditedSpeech:
    """Read a corpus, and leave out what the protection refused.

    Parameters
    ----------
    path
        A folder speaker/utterance.wav, a Kaldi data folder, or a table with utterance, speaker and path.
    anonymised
        A folder with the same utterances as an anonymiser wrote them, or several, of which the first was released;
        what one of them lists as refused and does not hold is left out.
    protector
        The name of a protector of voices, instead of `anonymised`.

    Examples
    --------
    >>> read_speech("speech", "anonymised")
    Traceback (most recent call last):
    ...
    zeroevidence.errors.InputError: speech: no such file
    """
    folders = (anonymised,) if isinstance(anonymised, (str, Path)) else tuple(anonymised)
    rows = read_files(path)
    corpus = to_corpus(rows, path)
    speech = AuditedSpeech(path, rows, corpus, LeftOut(), folders, protector)
    return speech.without(find_left_out(corpus, folders))


def try_protection(corpus: Corpus, transform: VoiceTransform, rate: int, run: Run) -> LeftOut:
    """Return what a protector refuses of a corpus, by running it on every recording.

    Parameters
    ----------
    corpus
        The original speech.
    transform
        The protector; what it gives should be cached, as it is asked for again.
    rate
        Sampling rate at which speech is protected.
    run
        Its cores are processes.
    """

    def refuses(utterance: Utterance) -> bool:
        wave = load_speech(utterance, rate).wave
        try:
            protect(wave, rate, utterance, transform)
        except InputError:
            return True
        return False

    outcomes = compute_one_by_one(refuses, list(corpus), run.progress("protecting", "recordings"), run)
    refused = {utterance.id for utterance, outcome in zip(corpus, outcomes, strict=True) if outcome}
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


def plan_draws(
    folders: Sequence[str | Path], protector: str | None, options: AuditOptions, seed: int
) -> tuple[int, Sequence[VoiceTransform]]:
    """Return how many draws there are to be, the release included, and what makes each of them here.

    Parameters
    ----------
    folders
        Folders of anonymised speech.
    protector
        Name of the protector instead, which can be run.
    options
        The draws that the user asked for, or the effort of the attackers.
    seed
        Of the protector.
    """
    asked, number = options.draws, len(folders)
    if bool(folders) == (protector is not None):
        raise UsageError("expected either a folder of anonymised speech or a protector, and not both")
    if protector is not None:
        draws = usual_draws(options.effort) if asked is None else asked
        return draws, seeded_protectors(protector, seed, draws)
    if asked is not None and asked > number:
        raise UsageError(
            f"{asked} draws of {number} folder{'s'[: number > 1]} of anonymised speech; expected a folder for each "
            "draw, or a protector that can be run"
        )
    return number if asked is None else asked, ()


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
        draws.append({name: replace(each, id=name_draw(name, draw + 1)) for name, each in speech.items()})
    return tuple(draws)


def without_repeats(
    released: Corpus, recordings: tuple[Mapping[str, Utterance], ...], transform: VoiceTransform | None, rate: int
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


def ignores_speakers(corpus: Corpus, transform: VoiceTransform | None, rate: int) -> bool:
    """Return whether a few recordings are protected the same whoever is said to speak; False where that is not known.

    A protection may treat each speaker in another way and draw nothing, so that it gives the same speech again.
    """
    if transform is None:
        return False
    compared = sorted({each.speaker: each for each in corpus}.values(), key=lambda each: each.id)[:_COMPARED]
    try:
        for each in compared:
            wave, other = load_speech(each, rate).wave, replace(each, speaker=f"not {each.speaker}")
            if not np.array_equal(protect(wave, rate, each, transform), protect(wave, rate, other, transform)):
                return False
    except (InputError, MissingExtra):  # one of them is refused, by chance or not
        return False
    return True


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
    true = cosines[np.arange(len(x)), mated]
    return np.where(mated < 0, np.nan, true - (cosines.sum(axis=1) - true) / (cosines.shape[1] - 1))
