"""Figures of a report: which rows each shows, drawn side by side, as markup of the page and as files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from zeroevidence.evaluation import Evaluation, Finding, findings
from zeroevidence.evaluation.finding.chance import row_chosen_on_development, same_setting
from zeroevidence.plot import KINDS, available, draw
from zeroevidence.plot.canvas import file_bytes, style, svg_text
from zeroevidence.plot.rows import row_names
from zeroevidence.run import Each

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PICTURE = "attackers"  # stands beside the verdict
# What people ask first; the other kinds follow in their usual order.
_FIRST = (
    PICTURE,
    "posterior",
    "people",
    "lid-ccdf",
    "cmc",
    "over-utterances",
    "over-identities",
    "eer-lid",
    "ece",
    "histogram",
)
_WIDTH = 3.8  # inches: letters can be read where a figure is as wide as a phone
_MOST = 6  # curves that can be told apart in one figure
_MOST_SYSTEMS = 24
_TALL = 1.4  # times as high as wide: such a figure takes the whole width
_OVER_SYSTEMS = ("bars", "eer-lid", "scatter")
_SHADED = ("similarity", "t-dcf-surface")
# Of an attribute the two kinds of scores are of two classes, not of pairs of recordings.
_ATTRIBUTE_CAPTIONS = {
    "ece": "How uncertain the attacker remains about the attribute, whatever they believed before: the deeper a line "
    "lies below that of zero evidence, the more these recordings give away.",
    "histogram": "The attacker's scores of recordings of one class and of the other: where the two hills overlap, the "
    "attacker cannot tell the classes apart.",
    "det": "How often the attacker overlooks one class against how often they claim it falsely, for every threshold: "
    "the closer to the dotted diagonal, the closer to guessing.",
    "tippett": "What share of recordings yields evidence of at least a given strength: right of zero it speaks for one "
    "class, left of it for the other.",
    "pav": "What a score of the attacker's classifier is worth as evidence: above zero it speaks for one class, below "
    "zero for the other.",
    "linkability": "Which scores give the class away: where the red line rises towards 1, a score as high as that "
    "tells it.",
    "map": "Recordings as points, near where their vectors are alike: classes that lie apart can still be told apart.",
}


@dataclass(frozen=True, slots=True)
class VerdictPicture:
    """The picture beside a verdict: `svg` is markup of ours, everything else is text."""

    id: str
    title: str
    caption: str
    svg: str


@dataclass(frozen=True, slots=True)
class ReportFigure(VerdictPicture):
    """One figure of a report, and how it stands on the page."""

    shows: str
    wide: bool  # as wide as the page
    shaded: bool  # light and dark stand for numbers, so they must not be exchanged on a dark page


def draw_figures(finding: Finding, *, hide: bool = False, each: Each = map) -> list[ReportFigure]:
    """Draw every figure that these results allow; `each` applies a function to every figure, as `map` does."""
    return list(each(_figure, figure_jobs(finding, hide=hide)))


def figure_jobs(finding: Finding, *, hide: bool = False) -> list[FigureJob]:
    """Return the figures that these results allow, with the rows that each shows.

    Curves of several rows share a figure: the strongest attacker, the others on the same system, its bounds, and the
    strongest on other systems. Figures of one row are of the strongest; maps of protections stand side by side.
    """
    strong, about_attribute = finding.row, finding.question == "attribute"
    together = _of_attribute(finding) if about_attribute else _chosen(finding)
    mapped = [row for row in finding.rows if row.maps and (not about_attribute or _same_attribute(row, strong))][:_MOST]
    rows = together if about_attribute else list(finding.rows)
    first = [row for i, row in enumerate(rows) if i not in finding.further]
    kinds = available([*rows, *mapped]) if rows or mapped else []
    order = [kind for kind in _FIRST if kind in kinds] + [kind for kind in kinds if kind not in _FIRST]
    jobs = []
    for kind in order:
        if kind == "map":
            shown = mapped
        elif kind in _OVER_SYSTEMS:
            shown = KINDS[kind].of(first)[:_MOST_SYSTEMS]
        elif kind == PICTURE or KINDS[kind].whole is not None:
            shown = KINDS[kind].of(rows)
        elif KINDS[kind].together:
            shown = KINDS[kind].of(together)
        else:
            shown = KINDS[kind].of([strong, *together, *rows])[:1]
        if not shown or (kind in _OVER_SYSTEMS and len(shown) < 2):
            continue
        candidates = mapped if kind == "map" else rows
        named = zip(row_names(candidates), candidates, strict=True) if len(shown) == 1 < len(candidates) else ()
        shows = next((f"Shown: {name}." for name, row in named if row is shown[0]), "")
        jobs.append(FigureJob(kind, tuple(map(_drawable, shown)), shows, hide, about_attribute))
    return jobs


@dataclass(frozen=True, slots=True)
class FigureJob:
    """A figure to be drawn."""

    kind: str
    rows: tuple[Evaluation, ...]
    shows: str
    hide: bool
    about_attribute: bool

    def draw(self) -> Figure:
        """Return the figure, as wide as a page has room for."""
        kind = KINDS[self.kind]
        return draw(kind.name, self.rows, hide=self.hide, width=_WIDTH if kind.together else None)


def _drawable(row: Evaluation) -> Evaluation:
    """A row without the parts that no figure shows, which need not be sent to another process."""
    return replace(row, replicates=None, scores=None)


def _figure(job: FigureJob) -> ReportFigure:
    from markupsafe import Markup

    kind = KINDS[job.kind]
    with style():
        drawn = job.draw()
        svg = svg_text(drawn, name=kind.name, title=kind.title)
    across, height = drawn.get_size_inches()
    return ReportFigure(
        f"figure-{kind.name}",
        kind.title,
        _ATTRIBUTE_CAPTIONS.get(kind.name, kind.caption) if job.about_attribute else kind.caption,
        Markup(svg),  # made by us; names in it are escaped where it is written
        shows=job.shows,
        wide=bool(across > 5.0 or height > _TALL * across),
        shaded=kind.name in _SHADED,
    )


def _of_attribute(finding: Finding) -> list[Evaluation]:
    """The rows on the same attribute and class, tested; of many the strongest attacker on each system."""
    rows, strong = finding.rows, finding.row
    same = [
        i
        for i, row in enumerate(rows)
        if _same_attribute(row, strong)
        and row.about.of_class == strong.about.of_class
        and row.about.pooled == strong.about.pooled
    ]
    if len(same) > _MOST:
        systems: dict[str, list[int]] = {}
        for i in same:
            systems.setdefault(rows[i].labels.get("system", ""), []).append(i)
        first = [finding.strongest, *([] if finding.control is None else [finding.control])]
        rest = [
            row_chosen_on_development(rows, places, finding.chance)
            for places in systems.values()
            if not set(places) & set(first)
        ]
        same = sorted([*first, *rest][:_MOST])
    return [rows[i] for i in same]


def _same_attribute(row: Evaluation, other: Evaluation) -> bool:
    """Whether a row is about the same attribute in the same data."""
    return (
        row.about.role in ("attack", "control")
        and row.about.attribute == other.about.attribute
        and row.labels.get("dataset") == other.labels.get("dataset")
    )


def _chosen(finding: Finding) -> list[Evaluation]:
    """Rows to draw together, in the order they came."""
    rows, strong = finding.rows, finding.row
    if len(rows) <= _MOST:
        return list(rows)
    places = [finding.strongest, *(i for i in (finding.control, finding.floor) if i is not None)]
    places += [
        i
        for i, row in enumerate(rows)
        if row.about.role == "attack"
        and row.labels.get("system") == strong.labels.get("system")
        and same_setting(row, strong)
    ]
    first = list(dict.fromkeys([*places, *finding.by_system]))[:_MOST]
    return [rows[i] for i in sorted(first)]


def figure_titles(rows: Sequence[Evaluation]) -> dict[str, str]:
    """Return the kinds of figures in the report on these rows, and the title of each."""
    return {job.kind: KINDS[job.kind].title for job in _jobs(rows)}


def draw_files(
    rows: Sequence[Evaluation], formats: Sequence[str], *, kinds: Sequence[str] | None = None, each: Each = map
) -> dict[str, dict[str, bytes]]:
    """Return figures of the report on these rows by kind: the content of a file in each format.

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
    contents = each(partial(_file_contents, formats=tuple(formats)), jobs)
    return {job.kind: content for job, content in zip(jobs, contents, strict=True)}


def _jobs(rows: Sequence[Evaluation]) -> list[FigureJob]:
    return figure_jobs(findings(rows)[0]) if rows else []


def _file_contents(job: FigureJob, formats: tuple[str, ...]) -> dict[str, bytes]:
    figure = job.draw()
    return {format: file_bytes(figure, format) for format in formats}


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
