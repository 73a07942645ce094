"""Figures of a report as files, and the picture beside a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from zeroevidence.evaluation import Evaluation, findings
from zeroevidence.plot import KINDS
from zeroevidence.plot.canvas import file_bytes, svg_text
from zeroevidence.report.html.figure_processes import Each
from zeroevidence.report.html.figures import PICTURE, FigureJob, figure_jobs


@dataclass(frozen=True, slots=True)
class FigureFile:
    """One figure: the name and title of its kind, and the content of a file in each format."""

    kind: str
    title: str
    content: dict[str, bytes]


@dataclass(frozen=True, slots=True)
class VerdictPicture:
    """The picture beside a verdict: `svg` is markup of ours, everything else is text."""

    id: str
    title: str
    caption: str
    svg: str


def draw_files(
    rows: Sequence[Evaluation], formats: Sequence[str], *, hide: bool = False, each: Each = map
) -> list[FigureFile]:
    """Return the figures of the report on these rows as files.

    Parameters
    ----------
    rows
        The results; none where there are none.
    formats
        Some of `zeroevidence.plot.canvas.FORMATS`.
    hide
        Whether people are written as numbers.
    each
        Applies a function to every figure, as `map` does.
    """
    jobs = figure_jobs(rows, findings(rows)[0], hide=hide) if rows else []
    return list(each(partial(_files, formats=tuple(formats)), jobs))


def _files(job: FigureJob, formats: tuple[str, ...]) -> FigureFile:
    figure = job.draw()
    return FigureFile(job.kind, KINDS[job.kind].title, {format: file_bytes(figure, format) for format in formats})


def verdict_picture(rows: Sequence[Evaluation], name: str) -> VerdictPicture | None:
    """Return the picture beside the verdict on these rows; None where they have none.

    Parameters
    ----------
    rows
        The results.
    name
        Of the picture on its page, where several of them may stand.
    """
    job = next((job for job in figure_jobs(rows, findings(rows)[0]) if job.kind == PICTURE), None)
    if job is None:
        return None
    kind = KINDS[PICTURE]
    return VerdictPicture(name, kind.title, kind.caption, svg_text(job.draw(), name=name, title=kind.title))
