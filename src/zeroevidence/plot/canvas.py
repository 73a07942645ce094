"""Canvas of figures: style, size, legends, and writing to a file or a string.

matplotlib is imported when something is drawn. `style` holds for its block only, and figures are made without pyplot.
All that changes outside is that matplotlib does not report where it keeps its caches.
"""

from __future__ import annotations

import hashlib
import io
import logging
import re
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from zeroevidence.errors import InputError, MissingExtra
from zeroevidence.optional import optional
from zeroevidence.plot.rows import text_width

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

WIDTH, HEIGHT = 3.5, 2.7  # inches: one column of a paper
WIDE = 1.5 * WIDTH  # beyond which a legend below the axes has as many columns as fit
ROWS = 5  # for which the height of a figure is made
FORMATS = ("pdf", "svg", "png")
_DECADES = 3.0  # of an axis that has ticks at 2 and 5 as well
_LINE = 50  # letters of a legend that fit into one column
_LONGEST_INSIDE = 28  # letters of a line that leave room for curves
_LONGEST_OF_TWO, _LONGEST_OF_THREE = 22, 12  # letters that fit into so many columns of a legend
_BELOW = "below"  # names legends below axes
_EDGE = 0.01  # of the width of a figure: between its edge and a legend
_HANDLE = 0.36  # inches: a sample of a line in a legend, with its gaps
_GAP = 0.1  # inches: between the columns of a legend
_BESIDE_AXES = 55.0  # pixels: numbers and title of a vertical axis

# Okabe & Ito 2008: told apart with any kind of colour vision; line styles and markers repeat the distinction.
BLUE, ORANGE, GREEN, PINK = "#0072B2", "#E69F00", "#009E73", "#CC79A7"
VERMILION, SKY, BLACK, GREY = "#D55E00", "#56B4E9", "#000000", "#767676"
MATED, NONMATED = GREEN, BLUE
_COLOURS = (BLUE, VERMILION, GREEN, PINK, ORANGE, SKY, BLACK)
_LINES: tuple[Any, ...] = ("-", "--", (0, (5, 1.5, 1, 1.5)), (0, (1, 1.2)))
_MARKERS = "osD^vPX<>h"

_STYLE: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Arial", "Helvetica", "sans-serif"],
    "font.size": 8.0,
    "axes.labelsize": 8.0,
    "axes.titlesize": 8.0,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.unicode_minus": True,
    "xtick.labelsize": 7.0,
    "ytick.labelsize": 7.0,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "legend.fontsize": 6.5,
    "legend.title_fontsize": 6.5,
    "legend.frameon": False,
    "legend.handlelength": 2.2,
    "lines.linewidth": 1.2,
    "lines.markersize": 4.0,
    "hatch.linewidth": 0.4,
    "text.usetex": False,
    "text.parse_math": False,  # names in the data may hold a $
    "svg.fonttype": "none",
    "svg.hashsalt": "zeroevidence",
    "pdf.fonttype": 42,
    "savefig.dpi": 300.0,
    "figure.facecolor": "white",
}


_IDS = re.compile(r'(\sid="|url\(#|href="#)')  # what stands before an id in a tag
_CACHE_MESSAGES = ("mkdir -p failed", "Matplotlib created a temporary cache", "Matplotlib is building the font cache")


for _logger in ("matplotlib", "matplotlib.font_manager"):
    logging.getLogger(_logger).addFilter(lambda record: not record.getMessage().startswith(_CACHE_MESSAGES))


class Look(NamedTuple):
    """How one of several things is drawn."""

    colour: str
    line: Any
    marker: str

    @property
    def curve(self) -> dict[str, Any]:
        """Colour and line as matplotlib's parameters."""
        return {"color": self.colour, "ls": self.line}

    @property
    def marked_curve(self) -> dict[str, Any]:
        """The same with small markers."""
        return {**self.curve, "marker": self.marker, "ms": 3.0}


def look(number: int) -> Look:
    """Colour, line and marker of the n-th thing, n from 0; 28 pairs of colour and line before one comes back."""
    return Look(_COLOURS[number % len(_COLOURS)], _LINES[number % len(_LINES)], _MARKERS[number % len(_MARKERS)])


def need_matplotlib() -> None:
    """Raise `MissingExtra` where matplotlib is not installed."""
    optional("matplotlib", "report", "a figure")


@contextmanager
def style() -> Iterator[None]:
    """The look of all figures, for the length of a block; a block within another changes nothing.

    Examples
    --------
    >>> import matplotlib as mpl
    >>> before = mpl.rcParams["font.size"]
    >>> with style():
    ...     inside = mpl.rcParams["font.size"]
    >>> inside < before, mpl.rcParams["font.size"] == before
    (True, True)
    """
    need_matplotlib()
    import matplotlib as mpl

    if all(mpl.rcParams[name] == value for name, value in _STYLE.items()):
        yield
        return
    with mpl.rc_context(_STYLE), warnings.catch_warnings():
        # A name in a script that the font lacks: the text is kept all the same, and a page shows it in a font that has.
        warnings.filterwarnings("ignore", r"Glyph .* missing from", UserWarning)
        yield


def new_axes(ax: Axes | None, height: float = HEIGHT) -> Axes:
    """The Axes given, or those of a new figure one column wide."""
    if ax is not None:
        return ax
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from zeroevidence.plot.layout import Layout

    figure = Figure(figsize=(WIDTH, height), layout=Layout())
    FigureCanvasAgg(figure)
    return figure.add_subplot()


def prepare_drawing() -> None:
    """Import matplotlib and find its fonts, where it is installed; for commands."""
    with suppress(MissingExtra):
        need_matplotlib()
        import_without_help()
        svg_text(parent_figure(new_axes(None)), name="none", title="")


def import_without_help() -> None:
    """Import what draws, but not what says which properties each class has: nobody asks a command for that.

    matplotlib writes this documentation anew whenever it is imported, which takes two fifths of the time.
    """
    from matplotlib import artist

    document = artist.kwdoc
    artist.kwdoc = lambda artist: ""  # noqa: ARG005
    try:
        import matplotlib.backends.backend_agg
        import matplotlib.backends.backend_svg
        import matplotlib.figure  # noqa: F401
    finally:
        artist.kwdoc = document


def parent_figure(ax: Axes) -> Figure:
    """The figure that Axes belong to."""
    from matplotlib.figure import Figure

    figure = ax.get_figure(root=True)
    assert isinstance(figure, Figure)
    return figure


def svg_text(figure: Figure, *, name: str, title: str) -> str:
    """An ``<svg>`` element for a page: the same input gives the same text, and ids that no other figure has.

    Text stays text. The element carries `title` for screen readers.
    """
    text = _svg(figure, {"Date": None, "Creator": None, "Format": None, "Type": None})
    text = text[text.index("<svg") :].rstrip()
    text = re.sub(r"\s*<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    prefix = f"ze-{name}-{hashlib.sha256(text.encode()).hexdigest()[:8]}-"
    # Tags only: in the text between them <, > are escaped, so what a speaker is called is never rewritten.
    text = re.sub(r"<[^<>]*>", lambda tag: _IDS.sub(rf"\1{prefix}", tag[0]), text)
    text = text.replace("*{stroke", f"#{prefix}figure_1 *{{stroke", 1)
    head = f'<svg role="img" aria-label="{escape(title)}"'
    start = text.index(">") + 1
    return f"{head}{text[4:start]}\n <title>{escape(title)}</title>{text[start:]}"


@contextmanager
def _of_any_size() -> Iterator[None]:
    """Ticks of infinite size are not drawn; an axis that would have to be longer than any number is refused."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            yield
    except OverflowError:
        raise InputError("the numbers of this figure are too large to be drawn") from None


def _svg(figure: Figure, metadata: dict[str, None]) -> str:
    """A figure as SVG, laid out while it is drawn; `savefig` would draw all of it once more only to lay it out."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    raw, before, dpi = io.StringIO(), figure.canvas, figure.dpi
    try:
        with style(), _of_any_size():
            figure.set_dpi(_STYLE["savefig.dpi"])
            canvas: Any = FigureCanvasSVG(figure)
            canvas.print_svg(raw, metadata=metadata)
    finally:
        figure.set_dpi(dpi)
        figure.set_canvas(before)
    return raw.getvalue()


def file_bytes(figure: Figure, format: str) -> bytes:
    """A figure as PDF, SVG or PNG, without the time it was made."""
    if format == "svg":
        return _svg(figure, {"Date": None}).encode()
    raw = io.BytesIO()
    stamp = {"pdf": {"CreationDate": None}, "png": None}[format]
    with style(), _of_any_size():
        figure.savefig(raw, format=format, metadata=stamp)
    return raw.getvalue()


def plain_ticks(axis: Any) -> None:
    """Ticks of a logarithmic axis as plain numbers."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def decimal_ticks(axis: Any) -> None:
    """Ticks of a logarithmic axis at round numbers, several of them however short the axis is."""
    from matplotlib.ticker import LogLocator, MaxNLocator

    low, high = axis.get_view_interval()
    decades = np.log10(high / low) if 0.0 < low < high else 0.0
    if decades < 1.0:
        axis.set_major_locator(MaxNLocator(5))
    else:
        axis.set_major_locator(LogLocator(10.0, subs=(1.0, 2.0, 5.0) if decades < _DECADES else (1.0,)))
    plain_ticks(axis)


def percent_ticks(axis: Any) -> None:
    """Ticks of a share as percent."""
    from matplotlib.ticker import FuncFormatter

    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:g}"))


def colour_bar(ax: Axes, drawn: Any, label: str) -> Any:
    """A bar beside the axes that says what the colours of something drawn stand for."""
    bar = parent_figure(ax).colorbar(drawn, ax=ax, shrink=0.85, aspect=24)
    bar.outline.set_linewidth(0.0)
    bar.set_label(label)
    return bar


def legend(ax: Axes, *, inside: Any = "best", most_inside: int = 4, title: str | None = None) -> None:
    """A legend in the axes, or below them where it has many lines or long ones."""
    entries = _entries(ax)
    longest = max(map(text_width, entries), default=0)
    if entries and len(entries) <= most_inside and longest <= _LONGEST_INSIDE:
        ax.legend(list(entries.values()), list(entries), loc=inside, title=title)
    elif entries:
        legend_below(ax, columns=1 if longest > _LONGEST_OF_TWO else 2, title=title)


def _entries(ax: Axes) -> dict[str, Any]:
    """What a legend explains, by label: of several things with the same label, the first."""
    handles, labels = ax.get_legend_handles_labels()
    return {label: handles[labels.index(label)] for label in labels}


def legend_below(ax: Axes, *, columns: int, title: str | None = None) -> None:
    """A legend under the title of the horizontal axis, however tall the axes are."""
    drawn = _legend_at_edge(ax, columns=columns, below=0.42, title=title)
    drawn.set_gid(_BELOW)
    for line in drawn.get_texts():
        label = line.get_text()
        room = max(8, _LINE * len(label) // max(1, text_width(label)))
        line.set_text(textwrap.fill(label, room, subsequent_indent="  "))


def drop_repeated(ax: Axes, before: Sequence[Axes], *, several: bool) -> None:
    """Leave out of a legend what those of earlier panels explain: the same label with the same look.

    Where panels have `several` rows, which have their colours by number, only grey lines stand for the same in all.
    """
    drawn = ax.get_legend()
    known = {(label, _appearance(handle)) for panel in before for label, handle in _entries(panel).items()}
    repeated = [
        handle
        for label, handle in _entries(ax).items()
        if (label, _appearance(handle)) in known and (not several or GREY in _appearance(handle))
    ]
    if drawn is None or not repeated:
        return
    title, below, columns = drawn.get_title().get_text() or None, is_below(ax), legend_columns(ax)
    loc = getattr(drawn, "_loc", 0)
    drawn.remove()
    for handle in repeated:
        handle.set_label("_repeated")  # matplotlib leaves out labels that begin so
    if below and _entries(ax):
        legend_below(ax, columns=columns, title=title)
    elif _entries(ax):
        ax.legend(loc=loc, title=title)


def _appearance(handle: Any) -> tuple[str, ...]:
    """How a handle of a legend looks, as far as it has these properties."""
    names = ("color", "edgecolor", "linestyle", "marker", "linewidth")
    return tuple(str(getattr(handle, f"get_{name}", str)()) for name in names)


def legend_above(ax: Axes) -> None:
    """A legend over the axes, in as many columns as fit."""
    longest = max(map(text_width, _entries(ax)))
    _legend_at_edge(ax, columns=1 if longest > _LONGEST_OF_TWO else 2 if longest > _LONGEST_OF_THREE else 3)


def _legend_at_edge(ax: Axes, *, columns: int, below: float | None = None, title: str | None = None) -> Any:
    """A legend that begins at the left edge of the figure, or of its part of a grid: names beside axes may be long.

    Parameters
    ----------
    ax
        Axes.
    columns
        Columns of the legend.
    below
        How far under the axes, in inches; above them unless given.
    title
        Title of the legend.
    """
    from matplotlib.transforms import ScaledTranslation, blended_transform_factory

    figure, place = parent_figure(ax), ax.get_subplotspec()
    across, left = ax.transAxes, 0.0
    if place is not None:
        across, left = figure.transFigure, float(place.colspan.start / place.get_gridspec().ncols) + _EDGE
    transform: Any = blended_transform_factory(across, ax.transAxes)
    if below is not None:
        transform = transform + ScaledTranslation(0.0, -below, figure.dpi_scale_trans)
    entries = _entries(ax)
    return ax.legend(
        list(entries.values()),
        list(entries),
        loc="lower left" if below is None else "upper left",
        bbox_to_anchor=(left, 1.0 if below is None else 0.0),
        bbox_transform=transform,
        ncols=columns,
        borderaxespad=0.2 if below is None else 0.0,
        title=title,
        alignment="left",
    )


def is_below(ax: Axes) -> bool:
    """Whether the legend of Axes stands below them."""
    drawn = ax.get_legend()
    return drawn is not None and drawn.get_gid() == _BELOW


def legend_columns(ax: Axes) -> int:
    """Number of columns of the legend of Axes, 1 where there is none."""
    return int(getattr(ax.get_legend(), "_ncols", 1))


def fit_legend(ax: Axes, width: float) -> None:
    """Break the lines of a legend below the axes where they are longer than the figure, or its part, is wide.

    In a wide figure the legend gets as many columns as fit.

    Parameters
    ----------
    ax
        Axes of a figure with a canvas that can measure text.
    width
        In inches.
    """
    drawn = ax.get_legend()
    if drawn is None or not is_below(ax):
        return
    handle = _HANDLE * parent_figure(ax).dpi
    room = (1.0 - 2.0 * _EDGE) * width * parent_figure(ax).dpi
    columns, title = legend_columns(ax), drawn.get_title().get_text() or None
    longest = max(_length(text, part) for text in drawn.get_texts() for part in text.get_text().split("\n"))
    fitting = min(len(drawn.get_texts()), int(room // (longest + handle + _GAP * parent_figure(ax).dpi)))
    if width > WIDE and fitting > columns:
        legend_below(ax, columns=fitting, title=title)
    elif columns > 1 and columns * (longest + handle) > room:
        legend_below(ax, columns=columns - 1, title=title)
        fit_legend(ax, width)
    elif columns == 1:
        for text in drawn.get_texts():
            _break_lines(text, room - handle, indent="  ")


def panel_title(ax: Axes, title: str, width: float) -> None:
    """Write the title of a panel that is so many inches wide, in as many lines as it needs."""
    _break_lines(ax.set_title(title, loc="left"), (1.0 - 2.0 * _EDGE) * width * parent_figure(ax).dpi - _BESIDE_AXES)


def _break_lines(text: Text, room: float, *, indent: str = "") -> None:
    """Break a text into lines of at most so many pixels, and at least eight letters."""
    label = text.get_text().replace(f"\n{indent}", " ")
    letters = max(map(len, text.get_text().split("\n")))
    while letters > 8 and max(_length(text, part) for part in text.get_text().split("\n")) > room:
        letters -= 1
        text.set_text(textwrap.fill(label, letters, subsequent_indent=indent))


def _length(text: Text, part: str) -> float:
    """The length of a part of a text, in pixels."""
    figure: Any = text.figure
    return float(figure.canvas.get_renderer().get_text_width_height_descent(part, text.get_fontproperties(), False)[0])
