"""Sphinx configuration."""

import html
import re
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx

from zeroevidence import __version__

project = "zeroevidence"
author = "The zeroevidence developers"
copyright = author
release = version = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_enable_extensions = ["dollarmath", "amsmath"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = f"zeroevidence {__version__}"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["formulas.css"]
exclude_patterns = ["_build", "gallery/*.md"]  # tables that a page includes
autodoc_typehints = "description"
autodoc_type_aliases = {"StrArray": "StrArray"}  # numpy.str_ would read as a link
autodoc_member_order = "bysource"


def _mathml(text: str, *, inline: bool) -> str:
    """A formula as MathML, which browsers draw by themselves: the pages need no network."""
    # docutils reads the digits of \tfrac12 as one number, and knows one size of fraction.
    text = re.sub(r"\\[td]?frac\s*(\d)\s*(\w)", r"\\frac{\1}{\2}", text)
    text = re.sub(r"\\[td]frac(?=\W)", r"\\frac", text)
    # Words in indices stand upright, and a logarithm keeps its distance.
    text = re.sub(r"([_^])\{((?:cm|fa|[a-z]{3,})(?:,[a-z]+)*)\}", r"\1{\\mathrm{\2}}", text)
    text = re.sub(r"\\ln\b\s*", r"\\,\\ln\\,", text)
    return tex2mathml(text, as_block=not inline)


def _inline(self: Any, node: nodes.math) -> None:
    self.body.append(_mathml(node.astext(), inline=True))
    raise nodes.SkipNode


def _block(self: Any, node: nodes.math_block) -> None:
    self.body.append(f'<div class="math" role="math" aria-label="{html.escape(node.astext())}">')
    self.body.append(_mathml(node.astext(), inline=False))
    self.body.append("</div>\n")
    raise nodes.SkipNode


def _table(family: str) -> str:
    """The measures of a family as a table."""
    from zeroevidence.cli.commands.metrics import direction
    from zeroevidence.measure.measures import measures_of

    lines = ["| measure | name | unit | range | direction |", "| --- | --- | --- | --- | --- |"]
    for measure in measures_of(family):
        cells = (f"[{measure.title}]({measure.name}.md)", f"`{measure.name}`", measure.unit, measure.range)
        lines.append(f"| {' | '.join(cells)} | {direction(measure)} |")
    return "\n".join(lines)


def _pages(family: str) -> str:
    """The pages of a family as a table of contents."""
    from zeroevidence.measure.measures import measures_of

    return "\n".join(["```{toctree}", ":hidden:", "", *(measure.name for measure in measures_of(family)), "```"])


def _fill(_app: Sphinx, docname: str, source: list[str]) -> None:
    """Let the registry say which measures there are."""
    from typing import get_args

    from zeroevidence.measure.measures import Family

    if docname.startswith("measures/"):
        for family in get_args(Family):
            source[0] = source[0].replace(f"<!-- table of {family} -->", _table(family))
            source[0] = source[0].replace(f"<!-- pages of {family} -->", _pages(family))


def setup(app: Sphinx) -> None:
    """Register the renderer of formulas and the hook of the measures."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    app.connect("source-read", _fill)
