"""Configuration of Sphinx: the documentation builds without a network and with warnings as errors."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import reviewgraph

project = "reviewgraph"
copyright = "The reviewgraph maintainers"
version = release = reviewgraph.__version__
html_title = f"reviewgraph {version}"
html_theme = "furo"

extensions = ["myst_parser", "numpydoc", "sphinx.ext.autodoc", "sphinx.ext.mathjax", "sphinx.ext.viewcode"]
exclude_patterns = ["_build"]
source_suffix = {".md": "markdown"}
suppress_warnings = ["ref.citation"]  # a reference that no docstring cites is still worth listing

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_preserve_defaults = True
autodoc_typehints_format = "short"
autodoc_type_aliases = {  # names that the signatures bear in the source
    alias: alias.split(".")[-1]
    for alias in ("BoolArray", "Duplicates", "FloatArray", "IntArray", "npt.ArrayLike", "npt.NDArray")
}
python_maximum_signature_line_length = 100
autosummary_generate = False
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
