"""Configuration of Sphinx: the documentation builds and reads without a network, and with warnings as errors."""

import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert

sys.path.insert(0, str(Path(__file__).parents[1]))

import reviewgraph

project = "reviewgraph"
copyright = "The reviewgraph maintainers"
version = release = reviewgraph.__version__
html_title = f"reviewgraph {version}"
html_theme = "furo"
html_math_renderer = "mathml"  # browsers set it themselves; a script from elsewhere would need a network

extensions = ["myst_parser", "numpydoc", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.viewcode"]
templates_path = ["_templates"]
exclude_patterns = ["_build", "paper", "conda"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}  # the pages of the reference are generated as .rst
suppress_warnings = ["ref.citation"]  # a reference that no docstring cites is still worth listing

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath", "substitution"]
myst_heading_anchors = 3
myst_substitutions = {"version": version}

autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_preserve_defaults = True
autodoc_typehints_format = "short"
autodoc_type_aliases = {  # names that the signatures bear in the source
    alias: alias.split(".")[-1]
    for alias in ("BoolArray", "Duplicates", "FloatArray", "IntArray", "npt.ArrayLike", "npt.NDArray")
}
python_maximum_signature_line_length = 100
autosummary_generate = True
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False


def _inline(page: Any, node: nodes.math) -> None:
    page.body.append(convert(node.astext()))
    raise nodes.SkipNode


def _block(page: Any, node: nodes.math_block) -> None:
    page.body.append(convert(node.astext(), display="block").replace("<math", "<math style='padding-block: 0.4em'", 1))
    raise nodes.SkipNode


def setup(app: Any) -> None:
    """Write formulas as MathML."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
