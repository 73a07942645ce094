"""Sphinx configuration."""

import html
import re
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx

from zeroevidence import __version__

sys.path.append(str(Path(__file__).parent / "_ext"))

project = "zeroevidence"
author = "The zeroevidence developers"
copyright = author
release = version = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "generated"]
myst_enable_extensions = ["dollarmath", "amsmath"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = f"zeroevidence {__version__}"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["formulas.css"]
exclude_patterns = ["_build", "_ext", "gallery/*.md"]  # tables that a page includes
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


def setup(app: Sphinx) -> None:
    """Register the renderer of formulas."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
