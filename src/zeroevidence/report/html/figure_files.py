"""Figures of a report as files, and the picture beside a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from zeroevidence.evaluation import Evaluation, findings
from zeroevidence.forking import Each
from zeroevidence.plot import KINDS
from zeroevidence.plot.canvas import file_bytes, svg_text
from zeroevidence.report.html.figures import PICTURE, FigureJob, figure_jobs


@dataclass(frozen=True, slots=True)
class FigureFile:
    """One figure: the name of its kind, and the content of a file in each format."""

    kind: str
    content: dict[str, bytes]


@dataclass(frozen=True, slots=True)
class VerdictPicture:
    """The picture beside a verdict: `svg` is markup of ours, everything else is text."""

    id: str
    title: str
    caption: str
    svg: str


def figure_titles(rows: Sequence[Evaluation]) -> dict[str, str]:
    """Return the kinds of figures in the report on these rows, and the title of each."""
    return {job.kind: KINDS[job.kind].title for job in _jobs(rows)}


def draw_files(
    rows: Sequence[Evaluation], formats: Sequence[str], *, kinds: Sequence[str] | None = None, each: Each = map
) -> list[FigureFile]:
    """Return figures of the report on these rows as files.

    Parameters
    ----------
    rows
        The results.
    formats
        Some of `zeroevidence.plot.canvas.FORMATS`.
    kinds
        Only these kinds of figures; all unless given.
    each
        Applies a function to every figure, as `map` does.
    """
    jobs = [job for job in _jobs(rows) if kinds is None or job.kind in kinds]
    return list(each(partial(_files, formats=tuple(formats)), jobs))


def _jobs(rows: Sequence[Evaluation]) -> list[FigureJob]:
    return figure_jobs(rows, findings(rows)[0]) if rows else []


def _files(job: FigureJob, formats: tuple[str, ...]) -> FigureFile:
    figure = job.draw()
    return FigureFile(job.kind, {format: file_bytes(figure, format) for format in formats})


def verdict_picture(rows: Sequence[Evaluation], name: str) -> VerdictPicture | None:
    """Return the picture beside the verdict on these rows; None where they have none.

    Parameters
    ----------
    rows
        The results.
    name
        Of the picture on its page, where several of them may stand.
    """
    job = next((job for job in _jobs(rows) if job.kind == PICTURE), None)
    if job is None:
        return None
    kind = KINDS[PICTURE]
    return VerdictPicture(name, kind.title, kind.caption, svg_text(job.draw(), name=name, title=kind.title))
