"""Anonymising a corpus of speech with a voice protector, so that it can be released, or audited."""

from __future__ import annotations

import hashlib
import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from zeroevidence import __version__
from zeroevidence.attack.voice_transforms import VoiceTransform, utterance_problem
from zeroevidence.attack.voice_transforms import protect as protect_voice
from zeroevidence.data.audio import RATES, encode_audio, is_silent, load_audio, load_speech, read_header
from zeroevidence.data.corpus import SUFFIXES, Corpus, Utterance, path_below
from zeroevidence.data.formats.corpora import read_corpus
from zeroevidence.data.formats.corpus_files import read_files
from zeroevidence.data.formats.lists import read_transcripts
from zeroevidence.data.store import Store, digest
from zeroevidence.data.waves import LONGEST_PIECE
from zeroevidence.data.writing import lock_folder, write_file
from zeroevidence.errors import InputError, OutputError, Problem, UsageError
from zeroevidence.parallel import compute_each
from zeroevidence.protect import release
from zeroevidence.protect.pieces import TABLE, Digests, LongRecording, cut_recording, pieces_table, write_long
from zeroevidence.protect.voices import VoiceProtector, find_voice_protectors, load_protector
from zeroevidence.protect.voices.cascade import recognise_language, with_language, with_transcripts
from zeroevidence.protect.voices.speech_models import RATE
from zeroevidence.run import Run, setting

_SEED = digest("seed and settings")  # key of the entry that holds them
_TOGETHER = 8  # recordings that a process writes at a time
_LANGUAGE_SAMPLE = 12  # recordings in which a language is recognised
AUTO = "auto"  # in place of a language


def journal_of(folder: str | Path) -> Store:
    """Return the journal of an unfinished run: its seed, and the digests of what is written to a folder.

    It is beside the folder and not in it, because whoever has the seed can undo draws.
    """
    place = Path(folder).absolute()
    return Store(place.with_name(f".{place.name}.progress"), "recordings")


PIECES = (1.0, LONGEST_PIECE)  # seconds
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
    silenced
        Pieces of long recordings that could not be anonymised, and why; they are silent.

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
    card: release.ProtectorCard
    refused: tuple[Problem, ...]
    silenced: tuple[Problem, ...] = ()


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
        File of what was said (Kaldi ``text``), in place of the recogniser of a cascade, which hears the others.
    language
        Language of the speech, for a cascade: its code, or ``auto`` to recognise it.
    seed
        Decides what is drawn; a secret one unless given, because whoever has it can undo draws.
    keep_seed
        Whether the card states the seed.
    piece
        Longest piece that a recording which is longer than two of them is cut into, and standard input.

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
        "What was said: lines of `utterance word ...` (Kaldi text); in place of the recogniser of a cascade, which "
        "hears recordings that are not in it.",
        metavar="FILE",
    )
    language: str | None = setting(
        None,
        f"Language of the speech, for a cascade: a code such as de, or {AUTO} to recognise it [default: that of the "
        "cascade's voice, English].",
        metavar="CODE",
    )
    seed: int | None = setting(
        None,
        "Seed of all random choices; decides what the protector draws, and whoever has it can undo draws [default: a "
        "secret one].",
        least=0,
    )
    keep_seed: bool = setting(False, "State the seed in protector.json.")
    piece: float | None = setting(
        None,
        "Longest piece in seconds; recordings longer than two are cut at pauses [default: 28, and 4 from standard "
        "input].",
        least=PIECES[0],
        most=PIECES[1],
        metavar="SECONDS",
    )

    def __post_init__(self) -> None:
        """Refuse what cannot be written."""
        if self.rate is not None and not RATES[0] <= self.rate <= RATES[1]:
            raise UsageError(f"{self.rate} Hz; expected {RATES[0]} to {RATES[1]}")
        if self.piece is not None and not PIECES[0] <= self.piece <= PIECES[1]:
            raise UsageError(f"pieces of {self.piece:g} s; expected {PIECES[0]:g} to {PIECES[1]:g} s")
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
    Channels are averaged. A run that was interrupted continues where it stopped. Long recordings are protected in
    pieces, cut at pauses; ``pieces.csv`` says where each piece lies in the original and in the anonymised recording.

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
        Cores that share the work, or the workers of its scheduler, which must see both folders under the same paths;
        the result does not depend on them.

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
    said = {} if options.transcripts is None else read_transcripts(options.transcripts)
    if options.language not in (None, AUTO):
        protect = with_language(protect, str(options.language))
    make = load_protector if options.transcripts is None else partial(_load_with_transcripts, said)
    make(protect)  # an unknown name is refused before anything is read
    original, home = read_corpus(corpus, draw=False), Path(folder)
    if options.language == AUTO:
        protect = with_language(protect, _recognised_language(original, run))
    refuse_original(original, corpus, folder)
    targets = target_paths(original, options.format)
    with lock_folder(home, continued_from=["."]):
        journal = journal_of(home)
        if overwrite:
            journal.remove()
        kept_seed, kept_settings = seed_and_settings(journal)
        seed = next(seed for seed in (options.seed, kept_seed, secrets.randbits(62)) if seed is not None)
        protector, plain = make(protect, seed=seed), load_protector(protect, seed=seed)
        seconds = options.piece or LONGEST_PIECE
        chosen = (str(options.rate), str(options.format), str(seconds))
        settings = digest(plain.name, plain.fingerprint, *chosen, __version__)
        if kept_settings != settings:
            _refuse_existing(home, unfinished=kept_seed is not None, overwrite=overwrite)
            _begin(journal, seed, settings)
        writing = _Writing(protector, options.rate, seconds, journal, settings, said)
        outcomes = _write_all(original, {name: home / target for name, target in targets.items()}, writing, run)
        problems = {name: outcome for name, outcome in outcomes.items() if isinstance(outcome, Problem)}
        written = {name: outcome for name, outcome in outcomes.items() if isinstance(outcome, Digests)}
        if not written:
            first, *others = problems.values()
            helps = f"; what helps: {first.remedy}" if first.remedy else ""
            raise InputError.of([replace(first, reason=f"{first.reason}{helps}"), *others], "")
        for name in problems:  # what an earlier run wrote for it is not this protection
            (home / targets[name]).unlink(missing_ok=True)
        release.write_lists(read_files(corpus), Path(corpus), home, {name: targets[name] for name in written})
        digests = release.digest_list({targets[name].as_posix(): each.anonymised for name, each in written.items()})
        draws, silenced = _draws(protect), _silenced(original, written)
        if table := pieces_table(written):
            write_file(home / TABLE, table)
        else:  # that of an earlier run
            (home / TABLE).unlink(missing_ok=True)
        description = release.Release(
            version=__version__,
            rate=options.rate,
            format=options.format,
            draws=draws,
            seed=seed if options.keep_seed and draws == "seeded" else None,
            recordings=len(written),
            refused=tuple(
                release.RefusedRecording(name, problem.reason.removeprefix(f"utterance {name!r}: "))
                for name, problem in problems.items()
            ),
            original=release.text_digest(release.digest_list({name: each.original for name, each in written.items()})),
            digests=release.text_digest(digests),
            mixed=sum(each.channels > 1 for each in written.values()),
            silenced=len(silenced),
        )
        card = release.protector_card(protect)
        heard = any(name not in said for name in written)
        parts = tuple(part for part in card.parts if heard or part.role != "recogniser")
        card = replace(card, parts=parts, release=description)
        release.write_release(home, card, digests)
        if not problems and not silenced:
            journal.remove()
    return Anonymised(home, card, tuple(problems.values()), silenced)


def _load_with_transcripts(said: Mapping[str, str], name: str, *, seed: int = 0) -> VoiceProtector:
    return with_transcripts(load_protector(name, seed=seed), said)


def _recognised_language(corpus: Corpus, run: Run) -> str:
    """Return the language of most recordings, of the beginnings of some from all over the corpus."""
    some, waves = list(corpus)[:: -(-len(corpus) // _LANGUAGE_SAMPLE)], []
    for each in some:
        with suppress(InputError):  # it is refused later
            first = cut_recording(each, read_header(each.path)[0], LONGEST_PIECE)[0][0]
            waves.append(load_speech(first, RATE).wave)
    counts = recognise_language(waves)
    if not counts:
        raise InputError(f"no language is sure in {len(some)} recordings; expected --language with its code")
    language, number = counts.most_common(1)[0]
    run.say(f"note: the language is {language}, as recognised in {number} of {len(some)} recordings")
    return language


def seed_and_settings(journal: Store) -> tuple[int | None, str | None]:
    """Return the seed of the unfinished run and a digest of its settings, None where there is none."""
    content = journal.load(_SEED)
    if content is None:
        return None, None
    seed, settings = content.decode().split()
    return int(seed), settings


def _refuse_existing(home: Path, *, unfinished: bool, overwrite: bool) -> None:
    if not overwrite and home.exists() and (not home.is_dir() or any(home.iterdir())):
        if unfinished:
            raise UsageError(f"{home}: holds an unfinished run with other settings; --overwrite starts again")
        raise UsageError(f"{home}: exists; expected a new folder, or --overwrite to replace files in it")


def _begin(journal: Store, seed: int, settings: str) -> None:
    try:
        if not journal.folder.is_dir():
            journal.folder.unlink(missing_ok=True)
        journal.folder.mkdir(0o700, exist_ok=True)
    except OSError as error:
        raise OutputError(error, journal.folder) from None
    journal.save(_SEED, f"{seed} {settings}".encode())


def _draws(name: str) -> release.Draws:
    """Return what a protector draws by: protectors of one fingerprint give the same speech."""
    if load_protector(name, seed=0).fingerprint != load_protector(name, seed=1).fingerprint:
        return "seeded"
    return "program" if any(kind.name == "command" for kind in find_voice_protectors(name)) else "none"


def _silenced(corpus: Corpus, written: Mapping[str, Digests]) -> tuple[Problem, ...]:
    """Return which pieces of recordings are silent because they were refused."""
    return tuple(
        Problem(
            str(utterance.path),
            None,
            f"utterance {utterance.id!r}, {piece.start:.1f} to {piece.end:.1f} s: {piece.refused}; silent there",
        )
        for utterance in corpus
        if utterance.id in written
        for piece in written[utterance.id].pieces
        if piece.refused
    )


@dataclass(frozen=True, slots=True)
class _Writing:
    """Anonymises recordings, writes them, and notes each in the journal."""

    protector: VoiceTransform
    rate: int | None
    seconds: float
    journal: Store
    settings: str
    said: Mapping[str, str]

    def __call__(self, part: Sequence[tuple[Utterance, Path]]) -> list[Digests | LongRecording | Problem]:
        """Return the digests of both files of each recording, why it is refused, or how it is cut if it is long."""
        return [self._write(utterance, target) for utterance, target in part]

    def _write(self, utterance: Utterance, target: Path) -> Digests | LongRecording | Problem:
        try:
            original = release.file_digest(utterance.path)
            key = digest(self.settings, utterance.id, original, self.said.get(utterance.id, ""))
            before = self.journal.load_value(key, Digests)
            if before is not None and target.is_file() and release.file_digest(target) == before.anonymised:
                return before
            original_rate, length, subtype, channels = read_header(utterance.path)
            rate, written = self.rate or original_rate, Digests(original, "", channels)
            if length > 2 * self.seconds:  # of the file
                pieces, *facts = cut_recording(utterance, original_rate, self.seconds)
                if len(pieces) > 1 and utterance.id not in self.said:
                    return LongRecording(utterance, target, rate, subtype, written, key, pieces, *facts)
                # a part that is heard is all that a protector needs which reads what was said in all of it
                utterance = next((part for part in pieces if not is_silent(load_audio(part, rate))), utterance)
            wave = protect_voice(load_speech(utterance, rate).wave, rate, utterance, self.protector)
            data = encode_audio(target, wave, rate, subtype)
        except InputError as error:
            return utterance_problem(utterance, error)
        write_file(target, data)
        written = replace(written, anonymised=hashlib.sha256(data).hexdigest())
        self.journal.save_value(key, written)
        return written


def _write_all(corpus: Corpus, targets: dict[str, Path], writing: _Writing, run: Run) -> dict[str, Digests | Problem]:
    """Return the outcome of each recording, in the order of the corpus."""
    size = max(1, min(_TOGETHER, len(corpus) // (4 * run.workers)))
    pairs = [(utterance, targets[utterance.id]) for utterance in corpus]
    if run.scheduler is not None:  # its workers are in other folders
        pairs = [(replace(each, path=each.path.absolute()), target.absolute()) for each, target in pairs]
    # the first by itself, which shows whether it is slow
    parts = [pairs[:1], *(pairs[first : first + size] for first in range(1, len(pairs), size))]
    outcomes: dict[str, Digests | LongRecording | Problem] = {}
    step = run.progress("anonymising", "recordings")
    for part, results in zip(parts, compute_each(writing, parts, run, little=True), strict=True):
        outcomes |= {utterance.id: outcome for (utterance, _), outcome in zip(part, results, strict=True)}
        step(len(outcomes), len(corpus))
    recordings = [outcome for outcome in outcomes.values() if isinstance(outcome, LongRecording)]
    written = dict(write_long(recordings, writing.protector, writing.journal, run) if recordings else ())
    return {
        name: written[name] if isinstance(outcome, LongRecording) else outcome for name, outcome in outcomes.items()
    }


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
