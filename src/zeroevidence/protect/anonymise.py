"""Anonymising a corpus of speech with a voice protector, so that it can be released, or audited."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from zeroevidence import __version__
from zeroevidence.attack.array_store import VoiceTransform
from zeroevidence.attack.array_store import protect as protect_voice
from zeroevidence.attack.parallel import compute_ahead
from zeroevidence.attack.utterance_batches import utterance_problem
from zeroevidence.data.audio import RATES, encode_audio, load_speech, read_header
from zeroevidence.data.corpus import SUFFIXES, Corpus, Utterance, path_below
from zeroevidence.data.formats.corpora import read_corpus
from zeroevidence.data.formats.corpus_files import read_files
from zeroevidence.data.formats.lists import read_transcripts
from zeroevidence.data.writing import lock_folder, write_atomically
from zeroevidence.errors import InputError, OutputError, Problem, UsageError
from zeroevidence.protect.release import (
    Draws,
    ProtectorCard,
    RefusedRecording,
    Release,
    digest_list,
    file_digest,
    protector_card,
    text_digest,
    write_lists,
    write_release,
)
from zeroevidence.protect.voices import VoiceProtector, find_voice_protectors, load_protector
from zeroevidence.protect.voices.cascade import with_transcripts
from zeroevidence.run import Run, setting

_HEAD = re.compile(r"zeroevidence anonymise 1 seed ([0-9]{1,20}) settings ([0-9a-f]{64})")
_LINE = re.compile("([0-9a-f]{64}) ([0-9a-f]{64}) ([0-9a-f]{64})")  # of identifier, original and anonymised file


@dataclass(frozen=True, slots=True)
class Digests:
    """SHA-256 of an original file and of what was written for one utterance of it."""

    original: str
    anonymised: str


class Journal:
    """The journal of one folder.

    It is a file of its own and not in the folder, because whoever has the seed can undo draws. It is removed when every
    recording was written.

    Parameters
    ----------
    folder
        The folder of anonymised speech.
    """

    def __init__(self, folder: str | Path) -> None:
        place = Path(folder).absolute()
        self.path = place.with_name(f".{place.name}.progress")
        self._stream: IO[str] | None = None
        self.seed: int | None = None  # of the unfinished run, None where there is none
        self._settings = ""
        self._done: dict[str, Digests] = {}
        self._read()

    def _read(self) -> None:
        try:
            lines = self.path.read_text(encoding="ascii", errors="replace").splitlines()
        except OSError:
            return
        head = _HEAD.fullmatch(lines[0]) if lines else None
        if head is None:
            return
        self.seed, self._settings = int(head[1]), head[2]
        for line in lines[1:]:
            digests = _LINE.fullmatch(line)  # the last line of a killed process may be a part
            if digests is not None:
                self._done[digests[1]] = Digests(digests[2], digests[3])

    def continues(self, settings: str) -> bool:
        """Return whether the unfinished run had these settings."""
        return self.seed is not None and self._settings == text_digest(settings)

    def begin(self, seed: int, settings: str) -> None:
        """Start a run, or continue the one with these settings."""
        try:
            if not self.continues(settings):
                self._done = {}
                handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
                with os.fdopen(handle, "w", encoding="ascii") as stream:
                    stream.write(f"zeroevidence anonymise 1 seed {seed} settings {text_digest(settings)}\n")
                self.seed, self._settings = seed, text_digest(settings)
            self._stream = self.path.open("a", encoding="ascii")
            self._stream.write("\n")  # ends what a killed process left
        except OSError as error:
            raise OutputError(error, self.path) from None

    def done(self, utterance: str) -> Digests | None:
        """Return the digests of a recording that was written, None where it was not."""
        return self._done.get(text_digest(utterance))

    def add(self, utterance: str, digests: Digests) -> None:
        """Note that a recording was written."""
        assert self._stream is not None
        try:
            self._stream.write(f"{text_digest(utterance)} {digests.original} {digests.anonymised}\n")
            self._stream.flush()
        except OSError as error:
            raise OutputError(error, self.path) from None

    def close(self) -> None:
        """Close the file, which stays."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def remove(self) -> None:
        """Remove the file."""
        self.close()
        self.path.unlink(missing_ok=True)


FORMATS = tuple(suffix.removeprefix(".") for suffix in SUFFIXES)


@dataclass(frozen=True, slots=True)
class Anonymised:
    """What was anonymised.

    Parameters
    ----------
    folder
        The folder of anonymised speech.
    card
        Its card, as ``protector.json`` holds it.
    refused
        Recordings that could not be anonymised, and why; they are not in the folder.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np, soundfile
    >>> home = Path(tempfile.mkdtemp())
    >>> (home / "speech" / "ada").mkdir(parents=True)
    >>> wave = 0.1 * np.random.default_rng(0).normal(size=16000)
    >>> soundfile.write(home / "speech" / "ada" / "u1.wav", wave, 16000)
    >>> done = anonymise(home / "speech", home / "anonymised", protect="mcadams")
    >>> done.folder.name, done.refused
    ('anonymised', ())
    """

    folder: Path
    card: ProtectorCard
    refused: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class AnonymiseOptions:
    """How recordings are anonymised, beside the protector.

    Parameters
    ----------
    rate
        Sample rate of the files; that of each original unless given.
    format
        Format of the files, such as flac; that of each original unless given.
    transcripts
        File of what was said (Kaldi ``text``), in place of the recogniser of a cascade.
    seed
        Decides what is drawn; a secret one unless given, because whoever has it can undo draws.
    keep_seed
        Whether the card states the seed.

    Examples
    --------
    >>> AnonymiseOptions(format="pdf")
    Traceback (most recent call last):
    ...
    zeroevidence.errors.UsageError: unknown format 'pdf'; expected one of wav, flac, ogg, opus, mp3
    """

    rate: int | None = setting(None, "Sample rate of the files [default: as they are].", least=RATES[0], most=RATES[1])
    format: str | None = setting(
        None, "Format of the files [default: as they are].", spelling="--audio-format", choices=FORMATS
    )
    transcripts: str | Path | None = setting(
        None,
        "What was said: lines of `utterance word ...` (Kaldi text); in place of the recogniser of a cascade.",
        metavar="FILE",
    )
    seed: int | None = setting(
        None,
        "Seed of all random choices; decides what the protector draws, and whoever has it can undo draws [default: a "
        "secret one].",
        least=0,
    )
    keep_seed: bool = setting(False, "State the seed in protector.json.")

    def __post_init__(self) -> None:
        """Refuse what cannot be written."""
        if self.rate is not None and not RATES[0] <= self.rate <= RATES[1]:
            raise UsageError(f"{self.rate} Hz; expected {RATES[0]} to {RATES[1]}")
        if self.format is not None and self.format not in FORMATS:
            raise UsageError(f"unknown format {self.format!r}; expected one of {', '.join(FORMATS)}")


def anonymise(
    corpus: str | Path,
    folder: str | Path,
    protect: str,
    options: AnonymiseOptions = AnonymiseOptions(),
    *,
    overwrite: bool = False,
    run: Run = Run(),
) -> Anonymised:
    """Write a corpus of the same layout with the voice of every recording protected.

    Speakers, roles, splits, attributes and transcripts are kept, and so are rates and formats unless asked otherwise.
    Channels are averaged. A run that was interrupted continues where it stopped.

    Parameters
    ----------
    corpus
        A folder speaker/utterance.wav, a Kaldi data folder, or a table with utterance, speaker and path.
    folder
        Where the anonymised corpus is written, apart from the original.
    protect
        Name of a voice protector, as on the command line.
    options
        Rates, formats, transcripts, and the seed of what is drawn.
    overwrite
        Whether files that are there are replaced.
    run
        Cores that share the work, on which the result does not depend, and the progress.

    Returns
    -------
    Anonymised
        The card of the release, and the recordings that were refused.

    Raises
    ------
    UsageError
        Where the folder holds the original, or files and `overwrite` is not set.
    InputError
        Where the corpus cannot be read, or no recording can be anonymised.

    Examples
    --------
    >>> anonymise("speech", "anonymised", "mcadams", AnonymiseOptions(format="pdf"))
    Traceback (most recent call last):
    ...
    zeroevidence.errors.UsageError: unknown format 'pdf'; expected one of wav, flac, ogg, opus, mp3
    """
    make = _protector_maker(protect, options.transcripts)
    make(0)  # an unknown name is refused before anything is read
    original, home = read_corpus(corpus, draw=False), Path(folder)
    refuse_original(original, corpus, folder)
    targets = target_paths(original, options.format)
    with lock_folder(home, continued_from=["."]):
        journal = Journal(home)
        unfinished = None if overwrite else journal.seed
        seed = next(seed for seed in (options.seed, unfinished, secrets.randbits(62)) if seed is not None)
        protector = make(seed)
        settings = (
            f"{protector.name} {protector.fingerprint} rate {options.rate} format {options.format} "
            f"version {__version__}"
        )
        _refuse_existing(home, journal, settings, overwrite=overwrite)
        if overwrite:
            journal.remove()
            journal = Journal(home)
        journal.begin(seed, settings)
        try:
            outcomes = _write_all(original, _Writing(protector, home, targets, options.rate, journal), run)
        finally:
            journal.close()
        problems = {name: outcome for name, outcome in outcomes.items() if isinstance(outcome, Problem)}
        written = {name: outcome for name, outcome in outcomes.items() if isinstance(outcome, Digests)}
        if not written:
            raise InputError.of(list(problems.values()), "")
        write_lists(read_files(corpus), Path(corpus), home, {name: targets[name] for name in written})
        digests = digest_list({targets[name].as_posix(): each.anonymised for name, each in written.items()})
        draws = _draws(protect)
        release = Release(
            version=__version__,
            rate=options.rate,
            format=options.format,
            draws=draws,
            seed=seed if options.keep_seed and draws == "seeded" else None,
            recordings=len(written),
            refused=tuple(
                RefusedRecording(name, problem.reason.removeprefix(f"utterance {name!r}: "))
                for name, problem in problems.items()
            ),
            original=text_digest(digest_list({name: each.original for name, each in written.items()})),
            digests=text_digest(digests),
        )
        card = replace(protector_card(protect), release=release)
        write_release(home, card, digests)
        if not problems:
            journal.remove()
    return Anonymised(home, card, tuple(problems.values()))


def _protector_maker(name: str, transcripts: str | Path | None) -> Callable[[int], VoiceProtector]:
    """Return what makes the protector of a seed."""
    if transcripts is None:
        return lambda seed: load_protector(name, seed=seed)
    said = read_transcripts(transcripts)
    return lambda seed: with_transcripts(load_protector(name, seed=seed), said)


def _refuse_existing(home: Path, journal: Journal, settings: str, *, overwrite: bool) -> None:
    if overwrite or journal.continues(settings):
        return
    if journal.seed is not None:
        raise UsageError(f"{home}: holds an unfinished run with other settings; --overwrite starts again")
    if home.exists() and (not home.is_dir() or any(home.iterdir())):
        raise UsageError(f"{home}: exists; expected a new folder, or --overwrite to replace files in it")


def _draws(name: str) -> Draws:
    """Return what a protector draws by: protectors of one fingerprint give the same speech."""
    if load_protector(name, seed=0).fingerprint != load_protector(name, seed=1).fingerprint:
        return "seeded"
    return "program" if any(kind.name == "command" for kind in find_voice_protectors(name)) else "none"


@dataclass(frozen=True, slots=True)
class _Writing:
    """Anonymises one recording and writes it."""

    protector: VoiceTransform
    home: Path
    targets: dict[str, Path]
    rate: int | None
    journal: Journal

    def __call__(self, utterance: Utterance) -> Digests | Problem:
        """Return the digests of both files, or why the recording is refused."""
        try:
            source = file_digest(utterance.path)
            target = self.home / self.targets[utterance.id]
            before = self.journal.done(utterance.id)
            if (
                before is not None
                and before.original == source
                and target.is_file()
                and file_digest(target) == before.anonymised
            ):
                return before
            original_rate, _, subtype = read_header(utterance.path)
            rate = self.rate or original_rate
            wave = protect_voice(load_speech(utterance, rate).wave, rate, utterance, self.protector)
            data = encode_audio(target, wave, rate, subtype)
        except InputError as error:
            return utterance_problem(utterance, error)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(error, target.parent) from None
        write_atomically(target, lambda temporary: temporary.write_bytes(data))
        return Digests(source, hashlib.sha256(data).hexdigest())


def _write_all(corpus: Corpus, writing: _Writing, run: Run) -> dict[str, Digests | Problem]:
    """Return the outcome of each recording, in the order of the corpus."""
    outcomes: dict[str, Digests | Problem] = {}
    step = run.progress("anonymising", "recordings")
    for utterance, outcome in zip(corpus, compute_ahead(writing, corpus, run.workers), strict=True):
        outcomes[utterance.id] = outcome
        if isinstance(outcome, Digests) and writing.journal.done(utterance.id) != outcome:
            writing.journal.add(utterance.id, outcome)
        step(len(outcomes), len(corpus))
    return outcomes


def target_paths(corpus: Corpus, suffix: str | None = None) -> dict[str, Path]:
    """Return the path of each anonymised recording below its folder, by identifier.

    It is the path of the original below the corpus. Parts of files, and utterances that share a file, get a file each,
    named by the identifier: the lengths of parts may change, and what lies between them is not anonymised.

    Parameters
    ----------
    corpus
        The original speech.
    suffix
        Of the files; that of each original unless given.

    Raises
    ------
    InputError
        Where an identifier cannot be a file name, or two recordings would get the same file.
    """
    whole = {each.id: path_below(each, corpus.root) for each in corpus if each.start is None and each.end is None}
    claims = Counter(whole.values())
    paths = {each.id: _target(each, whole.get(each.id), claims, suffix) for each in corpus}
    names: dict[Path, str] = {}
    for name, path in paths.items():
        if path in names:
            raise InputError(f"utterances {names[path]!r} and {name!r} would both be written to {path}", path=path)
        names[path] = name
    return paths


def _target(utterance: Utterance, whole: Path | None, claims: Counter[Path], suffix: str | None) -> Path:
    if whole is not None and claims[whole] == 1:
        path = whole
    else:
        path = Path(f"{utterance.id}{utterance.path.suffix}")
        if path.is_absolute() or ".." in path.parts:
            raise InputError(f"utterance {utterance.id!r} cannot be the name of a file", path=utterance.path)
    return path if suffix is None else path.with_suffix(f".{suffix.removeprefix('.')}")


def refuse_original(corpus: Corpus, source: str | Path, folder: str | Path) -> None:
    """Refuse a folder for anonymised speech that is, holds or lies in one with the original recordings."""
    place, home = Path(folder).resolve(), Path(source).resolve()
    recorded = {utterance.path.parent.resolve() for utterance in corpus} | ({home} if home.is_dir() else set())
    for original in sorted(recorded):
        if place == original or place in original.parents or original in place.parents:
            raise UsageError(f"{folder}: the original speech is in {original}; expected a folder apart from it")
