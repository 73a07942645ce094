"""Audits of recordings and embeddings that were sent, as the commands carry them out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from zeroevidence.attack.ladder.ladder import Effort
from zeroevidence.auditing import Audit, audit
from zeroevidence.auditing.corpus_audit import audit_corpora
from zeroevidence.data.embeddings import Embeddings
from zeroevidence.data.files.errors import naming_file
from zeroevidence.data.formats.corpora.pairs import examine_speech
from zeroevidence.data.formats.vectors.read import read_embeddings
from zeroevidence.errors import InputError, Problem
from zeroevidence.evaluation import Options
from zeroevidence.evaluation.comparing.files import compare_results
from zeroevidence.report.audit_folder import save_audit
from zeroevidence.report.inputs import ReportInputs
from zeroevidence.web.messages import on_the_page
from zeroevidence.web.work.outcome import Findings
from zeroevidence.web.work.progress import COMPARING, READING, JobProgress
from zeroevidence.web.work.recordings import PlacedRecordings, place_recordings
from zeroevidence.web.work.request import JobRequest, Upload, titles, with_names

EFFORT: Effort = "quick"
_SPEECH = "speech"
_LISTS = ".scp"  # of vectors in archives, which may lie anywhere


@dataclass(frozen=True, slots=True)
class PlacedSpeech:
    """Original recordings and those of each system, in folders of their own."""

    original: PlacedRecordings
    systems: tuple[PlacedRecordings, ...]

    @property
    def left_out(self) -> int:
        """Number of files that were not used."""
        return sum(side.left_out for side in (self.original, *self.systems))

    def problems(self) -> list[Problem]:
        """Return all problems with the recordings, as `doctor` lists them."""
        problems: dict[Problem, None] = {}
        for side in self.systems:
            problems |= dict.fromkeys(examine_speech(self.original.folder, side.folder).problems)
        return list(problems)


def speech_places(home: Path) -> Mapping[str, str]:
    """Return what messages leave out of the paths of recordings."""
    return {f"{home / _SPEECH / str(number)}/": "" for number in range(3)}


def place_speech(request: JobRequest, home: Path, progress: JobProgress) -> PlacedSpeech:
    """Put the recordings that were sent into folders."""
    progress.begin(READING)
    sides: list[PlacedRecordings] = []
    for number, files in enumerate((request.original, *request.systems)):
        room = request.most_bytes - sum(side.size for side in sides)
        with naming_file(files[0].folder):
            sides.append(place_recordings(files, home / _SPEECH / str(number), room, request.most_bytes))
    speech = PlacedSpeech(sides[0], tuple(sides[1:]))
    if speech.left_out:
        progress.note(f"Files that are neither audio nor a table of speakers, and were left out: {speech.left_out}.")
    return speech


def audit_speech(speech: PlacedSpeech, home: Path, progress: JobProgress) -> Findings:
    """Attack the recordings of each system, as the command `audit` does."""
    progress.work()
    places = speech_places(home)

    def say(message: str) -> None:
        sentence = on_the_page(with_names(message, places)).removeprefix("note: ")
        progress.note(f"{sentence[:1].upper()}{sentence[1:]}.")

    audits = [
        audit_corpora(
            speech.original.folder,
            anonymised=side.folder,
            cache=home / "cache",
            effort=EFFORT,
            progress=progress.counter,
            say=say,
        )
        for side in speech.systems
    ]
    names = titles([side.folder.name for side in speech.systems])
    return audit_findings(audits, names, home, progress)


def audit_embeddings(request: JobRequest, home: Path, progress: JobProgress) -> Findings:
    """Attack the embeddings of each system."""
    progress.begin(READING)
    original = _read(request.original[0], request.speakers)
    systems = [_read(files[0], request.speakers) for files in request.systems]
    progress.work()
    names = titles([files[0].stem for files in request.systems])
    audits = []
    for name, files, embeddings in zip(names, request.systems, systems, strict=True):
        with naming_file(files[0].path):
            audits.append(
                audit(
                    original,
                    embeddings,
                    effort=EFFORT,
                    system=name,
                    dataset=request.original[0].stem,
                    progress=progress.counter(f"Attacking {name}"),
                )
            )
    return audit_findings(audits, names, home, progress)


def _read(file: Upload, speakers: Upload | None) -> Embeddings:
    if file.name.lower().endswith(_LISTS):
        raise InputError("a list of archives, which may lie anywhere; expected the archive itself", path=file.path)
    embeddings = read_embeddings(file.path, ids=None if speakers is None else speakers.path)
    if embeddings.speakers is None:
        raise InputError("the speakers are not named; expected them here, or with --speakers", path=file.path)
    return embeddings


def audit_findings(
    audits: Sequence[Audit], names: Sequence[str], home: Path, progress: JobProgress, options: Options | None = None
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
    progress
        Where progress and notes go.
    options
        How systems are compared.
    """
    inputs = ReportInputs()
    for result in audits:
        inputs.add_audit(result)
        for step in result.left_out:
            progress.note(on_the_page(f"Not tried: {step}."))
    if len(audits) > 1:
        progress.begin(COMPARING)
        folders = [home / f"audit-{number}" for number in range(len(audits))]
        for result, folder in zip(audits, folders, strict=True):
            save_audit(result, folder)
        inputs.comparisons += compare_results(folders, names, options=options)
    shown = names if len(audits) > 1 else [""]
    return Findings(inputs, {name: result.rows for name, result in zip(shown, audits, strict=True)})
