"""Audits of recordings and embeddings that were sent, and recordings anonymised; they are put into folders first."""

from __future__ import annotations

import os
import stat
import unicodedata
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING

from zeroevidence.data.corpus import SUFFIXES, UNDECODED
from zeroevidence.data.embeddings import Embeddings
from zeroevidence.data.files import naming_file
from zeroevidence.data.formats.corpora import read_corpus
from zeroevidence.data.formats.speech_pairs import examine_speech
from zeroevidence.data.formats.vectors.read import read_embeddings
from zeroevidence.errors import InputError, Problem
from zeroevidence.evaluation import Options
from zeroevidence.evaluation.compared_files import compare_results
from zeroevidence.protect import release
from zeroevidence.protect.anonymise import anonymise
from zeroevidence.protect.release import CARD, DIGESTS
from zeroevidence.report.document import save_audit
from zeroevidence.report.inputs import ReportInputs
from zeroevidence.run import Run
from zeroevidence.web import MOST_FILES, request
from zeroevidence.web.outcome import ANONYMISED, Findings, HeardRecording, Outcome
from zeroevidence.web.request import JobProgress, JobRequest, Upload

if TYPE_CHECKING:  # who only anonymises need not wait for attackers
    from zeroevidence.attack.ladder import Effort
    from zeroevidence.auditing import Audit

_FILE_LISTS = ("wav.scp", "utterances.tsv")
_TABLES = ("speakers.tsv", CARD, DIGESTS)
_LONGEST_PART = 200  # bytes of the name of a file or folder
_DEEPEST = 12  # folders in each other
_PORTION = 1 << 20
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_UNNAMED = "recordings"


@dataclass(frozen=True, slots=True)
class _Member:
    """A file to be put into the folder: the parts of its name, and how to open it."""

    parts: tuple[str, ...]
    open: Callable[[], IO[bytes]]


@dataclass(frozen=True, slots=True)
class PlacedRecordings:
    """Recordings in a folder of their own.

    Parameters
    ----------
    folder
        The folder, called as the user's.
    size
        Bytes of all files.
    left_out
        Number of files that are neither audio nor a table about the speech.
    """

    folder: Path
    size: int
    left_out: int


def place_recordings(files: Sequence[Upload], folder: Path, room: int, most_bytes: int) -> PlacedRecordings:
    """Put the recordings of one side into a new folder.

    Folders around those of the speakers are taken away; the last one gives the new folder its name. Files that are
    neither audio nor a table about the speech are left out. A name is used only after every part of it was checked,
    links and other special files are refused, and what is unpacked is counted against a limit whatever a zip file
    announces. Lists of files, such as ``wav.scp``, are refused: they could name any file of this machine.

    Parameters
    ----------
    files
        One zip file, or the files of a folder, whose names are paths.
    folder
        Where the new folder is made; created where it is missing.
    room
        Bytes that may be written.
    most_bytes
        The limit that messages name, on the recordings of all sides together.

    Raises
    ------
    InputError
        For a file that is no zip file, and for names, links, lists and sizes that are not taken.
    """
    with Path(files[0].path).open("rb") as stream:
        packed = len(files) == 1 and stream.read(4) in _ZIP
    if len(files) == 1 and not packed and "/" not in files[0].name:
        raise InputError("is no zip file; expected one, or a folder of recordings", path=files[0].path)
    with ExitStack() as stack:
        everything = list(_unzipped(files[0], stack)) if packed else [_sent(file) for file in files]
        chosen = [member for member in everything if _is_wanted(member.parts)]
        if len(chosen) > MOST_FILES:
            raise InputError(f"{len(chosen)} files; expected at most {MOST_FILES}", path=files[0].path)
        around = _folders_around([member.parts for member in chosen if _is_audio(member.parts[-1])])
        name = around[-1] if around else _checked_name(files[0].stem) if packed else _UNNAMED
        home = folder / name
        home.mkdir(parents=True, mode=0o700)
        inside = [member for member in chosen if member.parts[: len(around)] == tuple(around)]
        size = 0
        for member in inside:
            size += _write(member, home, member.parts[len(around) :], room - size, most_bytes)
    return PlacedRecordings(home, size, len(everything) - len(inside))


def _sent(file: Upload) -> _Member:
    return _Member(_parts(file.name), lambda: Path(file.path).open("rb"))


def _unzipped(file: Upload, stack: ExitStack) -> Iterator[_Member]:
    """Yield the files of an archive, which stays open until the stack is closed."""
    try:
        archive = stack.enter_context(zipfile.ZipFile(file.path))
    except (zipfile.BadZipFile, OSError, ValueError, EOFError, NotImplementedError):
        raise InputError("a damaged zip file; expected it to be whole", path=file.path) from None
    for item in archive.infolist():
        if item.is_dir():
            continue
        kind = stat.S_IFMT(item.external_attr >> 16)
        if kind not in (0, stat.S_IFREG):
            what = "a link" if kind == stat.S_IFLNK else "no ordinary file"
            raise InputError(f"{item.filename}: is {what}; expected files and folders alone", path=file.path)
        if item.flag_bits & 1:
            raise InputError(f"{item.filename}: is encrypted; expected a zip file without a password", path=file.path)
        if item.compress_type not in _METHODS:
            raise InputError(f"{item.filename}: is compressed in an unusual way; expected deflate", path=file.path)
        yield _Member(_parts(item.filename), partial(archive.open, item))


def _parts(name: str) -> tuple[str, ...]:
    """Return the folders and the file of a name, in the spelling of any system."""
    return tuple(name.replace("\\", "/").split("/"))


def _checked_name(name: str) -> str:
    """Return the name where it is safe as that of a file, another one where it is not."""
    ordinary = name not in ("", ".", "..") and ":" not in name and len(name.encode("utf-8", "replace")) <= _LONGEST_PART
    return name if ordinary and not any(unicodedata.category(letter)[0] == "C" for letter in name) else _UNNAMED


def _is_audio(name: str) -> bool:
    return name.lower().endswith((*SUFFIXES, *UNDECODED))


def _is_wanted(parts: Sequence[str]) -> bool:
    """Return whether a file is audio or about it; lists of files, and names that could lead elsewhere, are refused."""
    name = "/".join(parts)
    if parts[-1] in _FILE_LISTS:
        expected = "folders of speakers with audio files (`zeroevidence audit` reads such a list)"
        raise InputError(f"{name}: a list of files, which may lie anywhere; expected {expected}")
    if not _is_audio(parts[-1]) and parts[-1] not in _TABLES:
        return False
    if len(parts) > _DEEPEST or any(_checked_name(part) != part for part in parts):
        shown = name if len(name) < 100 else f"{name[:100]}..."
        raise InputError(f"{shown!r} is not taken as the name of a file; expected speaker/utterance.wav")
    return not any(part.startswith(".") or part == "__MACOSX" for part in parts)


def _folders_around(recordings: Sequence[tuple[str, ...]]) -> list[str]:
    """Return the folders that hold all speakers: those that all recordings have in common, above the speaker's own."""
    around: list[str] = []
    while recordings and all(len(parts) > 2 for parts in recordings) and len({parts[0] for parts in recordings}) == 1:
        around.append(recordings[0][0])
        recordings = [parts[1:] for parts in recordings]
    return around


def _write(member: _Member, home: Path, parts: Sequence[str], room: int, most_bytes: int) -> int:
    """Write one file, and return its size; refused as soon as it is larger than the room that is left."""
    path, size = home.joinpath(*parts), 0
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with member.open() as source, path.open("xb") as target:
            while part := source.read(_PORTION):
                size += len(part)
                if size > room:
                    raise InputError(f"these recordings hold more than {most_bytes / 1e6:g} MB; expected fewer")
                target.write(part)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError):
        raise InputError("damaged: it does not unpack to its end", path=path) from None
    except FileExistsError:
        raise InputError("is there twice; expected each name once", path=path) from None
    except OSError as error:  # a name that is a file and a folder
        raise InputError(f"cannot be written: {error.strerror}", path=path) from None
    return size


_HEARD = 6  # recordings to listen to


def anonymise_speech(job: JobRequest, speech: PlacedSpeech, home: Path, progress: JobProgress) -> None:
    """Anonymise the recordings as the command `anonymise` does, and pack them with the card of the protector."""
    progress.progress(request.WORK["anonymise"])
    folder = home / "anonymised" / speech.original.folder.name
    done = anonymise(speech.original.folder, folder, job.protect, run=progress.run(home))
    progress.progress(request.PACKING)
    if done.card.release is not None:
        for sentence in done.card.release.sentences:
            progress.say(sentence)
    for problem in (*done.refused, *done.silenced):
        progress.say(request.on_the_page(request.with_names(problem.with_heard, request.speech_places(home))))
    with zipfile.ZipFile(home / ANONYMISED, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(file for file in folder.rglob("*") if file.is_file()):
            archive.write(file, Path(folder.name) / file.relative_to(folder))
    heard = []
    refused = {each.utterance for each in release.refused_recordings(folder)}
    recordings = [each for each in read_corpus(speech.original.folder, draw=False) if each.id not in refused]
    for number, utterance in enumerate(recordings[:_HEARD], 1):
        below, suffix = utterance.path.relative_to(speech.original.folder), utterance.path.suffix.lower()
        names = f"original-{number}{suffix}", f"anonymised-{number}{suffix}"
        for file, name in zip((utterance.path, folder / below), names, strict=True):
            os.link(file, home / name)
        heard.append(HeardRecording(str(below), *names))
    files = (ANONYMISED, *(name for each in heard for name in (each.original, each.anonymised)))
    Outcome(notes=tuple(progress.notes), files=files, heard=tuple(heard)).write(home)


EFFORT: Effort = "quick"
_ARCHIVE_LISTS = ".scp"  # of vectors in archives, which may lie anywhere


@dataclass(frozen=True, slots=True)
class PlacedSpeech:
    """Original recordings and those of each system, in folders of their own."""

    original: PlacedRecordings
    systems: tuple[PlacedRecordings, ...]

    def problems(self) -> list[Problem]:
        """Return all problems with the recordings, as `doctor` lists them."""
        problems: dict[Problem, None] = {}
        for side in self.systems:
            problems |= dict.fromkeys(examine_speech(self.original.folder, side.folder).problems)
        return list(problems)


def place_speech(job: JobRequest, home: Path, run: Run) -> PlacedSpeech:
    """Put the recordings that were sent into folders."""
    run.progress(request.READING, "files")
    sides: list[PlacedRecordings] = []
    for number, files in enumerate((job.original, *job.systems)):
        room = job.most_bytes - sum(side.size for side in sides)
        with naming_file(files[0].folder):
            sides.append(place_recordings(files, home / request.SPEECH / str(number), room, job.most_bytes))
    if left_out := sum(side.left_out for side in sides):
        run.say(f"Files that are neither audio nor a table of speakers, and were left out: {left_out}.")
    return PlacedSpeech(sides[0], tuple(sides[1:]))


def audit_speech(speech: PlacedSpeech, home: Path, run: Run) -> Findings:
    """Attack the recordings of each system, as the command `audit` does."""
    from zeroevidence.auditing import AuditOptions
    from zeroevidence.auditing.corpus_audit import audit_corpora
    from zeroevidence.auditing.protected_speech import read_speech

    run.progress(request.WORK["speech"], "systems")
    places = request.speech_places(home)

    def say(message: str) -> None:
        sentence = request.on_the_page(request.with_names(message, places)).removeprefix("note: ")
        run.say(f"{sentence[:1].upper()}{sentence[1:]}.")

    attacking = replace(run, say=say)
    audits = [
        audit_corpora(read_speech(speech.original.folder, side.folder), AuditOptions(effort=EFFORT), attacking)
        for side in speech.systems
    ]
    return audit_findings(audits, request.titles([side.folder.name for side in speech.systems]), home, run)


def audit_embeddings(job: JobRequest, home: Path, run: Run) -> Findings:
    """Attack the embeddings of each system."""
    from zeroevidence.auditing import AuditOptions, audit

    run.progress(request.READING, "files")
    original = _read(job.original[0], job.speakers)
    systems = [_read(files[0], job.speakers) for files in job.systems]
    run.progress(request.WORK["embeddings"], "systems")
    names = request.titles([files[0].stem for files in job.systems])
    audits = []
    for name, files, embeddings in zip(names, job.systems, systems, strict=True):
        options = AuditOptions(effort=EFFORT, system=name, dataset=job.original[0].stem)
        with naming_file(files[0].path):
            audits.append(audit(original, embeddings, options, run=run.titled(f"Attacking {name}")))
    return audit_findings(audits, names, home, run)


def _read(file: Upload, speakers: Upload | None) -> Embeddings:
    if file.name.lower().endswith(_ARCHIVE_LISTS):
        raise InputError("a list of archives, which may lie anywhere; expected the archive itself", path=file.path)
    embeddings = read_embeddings(file.path, ids=None if speakers is None else speakers.path)
    if embeddings.speakers is None:
        raise InputError("the speakers are not named; expected them here, or with --speakers", path=file.path)
    return embeddings


def audit_findings(
    audits: Sequence[Audit], names: Sequence[str], home: Path, run: Run, options: Options = Options()
) -> Findings:
    """Return the results of audits of the same speech, compared where there are two.

    Parameters
    ----------
    audits
        The audit of each system.
    names
        A name for each system.
    home
        The folder of the job.
    run
        Where progress and notes go.
    options
        How systems are compared.
    """
    inputs = ReportInputs()
    for result in audits:
        inputs.add_audit(result)
        for step in result.left_out:
            run.say(request.on_the_page(f"Not tried: {step}."))
    if len(audits) > 1:
        run.progress(request.COMPARING, "systems")
        folders = [home / f"audit-{number}" for number in range(len(audits))]
        for result, folder in zip(audits, folders, strict=True):
            save_audit(result, folder)
        inputs.comparisons += compare_results(folders, names, options=options)
    shown = names if len(audits) > 1 else [""]
    return Findings(inputs, {name: result.rows for name, result in zip(shown, audits, strict=True)})
