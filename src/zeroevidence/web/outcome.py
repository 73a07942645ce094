"""What a job found, as the page of its result shows it: verdicts, the comparison of systems, and files to keep."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

from zeroevidence.data.json_values import load_json, plain, typed
from zeroevidence.data.writing import write_atomically
from zeroevidence.evaluation import Evaluation
from zeroevidence.evaluation.results import read_results, to_json
from zeroevidence.parallel import compute_each
from zeroevidence.plot.canvas import FORMATS
from zeroevidence.report.document import document
from zeroevidence.report.figures import VerdictPicture, draw_files, figure_titles, verdict_picture
from zeroevidence.report.inputs import ReportInputs, ReportOptions
from zeroevidence.report.numbers import Tile, tiles
from zeroevidence.report.page import hidden
from zeroevidence.report.verdict import Verdict, verdict
from zeroevidence.report.verdict.others import comparison_verdict
from zeroevidence.web.request import DRAWING, JobProgress, JobRequest

_compute_each = partial(compute_each, little=True)
REPORT, RESULT, FIGURES, OUTCOME = "report.html", "result.json", "figures.zip", "outcome.json"
ANONYMISED = "anonymised.zip"


@dataclass(frozen=True, slots=True)
class Findings:
    """Results of a job.

    Parameters
    ----------
    inputs
        Everything that the report shows.
    systems
        The rows that each verdict is about, by the name of the system; the name is empty where they are about several.
    """

    inputs: ReportInputs
    systems: dict[str, Sequence[Evaluation]]


@dataclass(frozen=True, slots=True)
class Conclusion:
    """The texts of a `Verdict`, the system that it is about, its picture where there is one, and its first numbers."""

    level: str
    headline: str
    paragraph: str
    others: tuple[str, ...] = ()
    summary: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    assessment: str = ""
    system: str = ""
    picture: VerdictPicture | None = None
    tiles: tuple[Tile, ...] = ()

    @classmethod
    def of(cls, verdict: Verdict, system: str, picture: VerdictPicture | None = None) -> Conclusion:
        """A verdict with what stands beside it."""
        texts = (verdict.others, verdict.summary, verdict.commands, verdict.assessment)
        numbers = () if verdict.finding is None else tiles(verdict.finding)
        return cls(verdict.level, verdict.headline, verdict.paragraph, *texts, system, picture, numbers)


@dataclass(frozen=True, slots=True)
class FigureFiles:
    """One figure, and the names of its files by format."""

    title: str
    files: dict[str, str]


@dataclass(frozen=True, slots=True)
class HeardRecording:
    """A recording to listen to: its name, and the files of the original and of the anonymised one."""

    name: str
    original: str
    anonymised: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the page of a result shows.

    Parameters
    ----------
    conclusions
        The comparison of systems, where there is one, and the verdict on each system.
    notes
        What is good to know about the work.
    figures
        Figures as files.
    files
        Every file that may be fetched; those of figures are drawn when they are.
    heard
        The first of the recordings that were anonymised.
    """

    conclusions: tuple[Conclusion, ...] = ()
    notes: tuple[str, ...] = ()
    figures: tuple[FigureFiles, ...] = ()
    files: tuple[str, ...] = field(default=())
    heard: tuple[HeardRecording, ...] = ()

    @classmethod
    def from_file(cls, path: Path) -> Outcome:
        """The outcome that `write_outcome` wrote."""
        return typed(cls, load_json(path), path.name)

    def write(self, home: Path) -> None:
        """Write it into the folder of the job."""
        (home / OUTCOME).write_text(json.dumps(plain(asdict(self))), encoding="utf-8")


def write_outcome(findings: Findings, request: JobRequest, home: Path, progress: JobProgress) -> None:
    """Draw the report, and write everything into the folder of the job, the outcome last.

    Figures as files are drawn when somebody asks for one (`draw_file`).

    Parameters
    ----------
    findings
        Results of the job.
    request
        Whose title is the heading of the report, unless it is empty. Where it hides people, the file of results, which
        names trials, is not offered.
    home
        The folder of the job.
    progress
        Where progress goes, with the notes on the work.
    """
    progress.progress(DRAWING)
    inputs, hide = findings.inputs, request.hide
    rows = list(hidden(inputs.rows) if hide else inputs.rows)
    page = document(inputs, options=ReportOptions(title=request.title or None, hide=hide, each=_compute_each))
    (home / REPORT).write_text(page, encoding="utf-8")
    drawn = figure_titles(rows).items()
    figures = [FigureFiles(name, {format: f"{kind}.{format}" for format in FORMATS}) for kind, name in drawn]
    files = [name for figure in figures for name in figure.files.values()]
    files += [FIGURES] if figures else []
    if rows:
        (home / RESULT).write_text(to_json(rows), encoding="utf-8")
        files += [] if hide else [RESULT]
    Outcome(tuple(_conclusions(findings, hide=hide)), tuple(progress.notes), tuple(figures), tuple(files)).write(home)


def draw_file(home: Path, name: str) -> None:
    """Draw a file that the outcome of a job names: one figure, or all in a zip file."""
    rows = read_results(home / RESULT)
    if name == FIGURES:
        figures = draw_files(rows, FORMATS, each=_compute_each)
        write_atomically(home / name, lambda path: _pack(figures, path))
        return
    kind, _, format = name.rpartition(".")
    content = draw_files(rows, [format], kinds=[kind])[kind][format]
    write_atomically(home / name, lambda path: path.write_bytes(content))


def _pack(figures: Mapping[str, Mapping[str, bytes]], path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for kind, contents in figures.items():
            for format, content in contents.items():
                archive.writestr(f"{kind}.{format}", content)


def _conclusions(findings: Findings, *, hide: bool) -> list[Conclusion]:
    conclusions, comparisons = [], findings.inputs.comparisons
    if comparisons:  # those that come first: of audits, under the attackers that count
        first = [comparison for comparison in comparisons if comparison.labels == comparisons[0].labels]
        conclusions.append(Conclusion.of(comparison_verdict(first), "the comparison"))
    for number, (name, system) in enumerate(findings.systems.items()):
        rows = list(hidden(system) if hide else system)
        conclusions.append(Conclusion.of(verdict(rows), name, verdict_picture(rows, f"picture-{number}")))
    return conclusions
