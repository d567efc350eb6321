"""Configuration of Sphinx: the documentation builds and reads without a network, and with warnings as errors."""

import gc
import re
import sys
from pathlib import Path
from typing import Any

import sphinx.util.inspect
from docutils import nodes
from latex2mathml.converter import convert
from sphinx import addnodes
from sphinx.util.nodes import make_refnode

sys.path.insert(0, str(Path(__file__).parents[1]))

import reviewgraph

gc.disable()  # a sixth of the time: pages stay until the end

project = "reviewgraph"
copyright = "The reviewgraph maintainers"
version = release = reviewgraph.__version__
html_title = f"reviewgraph {version}"
html_theme = "furo"
html_search_scorer = str(Path(__file__).with_name("search.js"))
html_math_renderer = "mathml"  # browsers set it themselves; a script from elsewhere would need a network

extensions = ["myst_parser", "numpydoc", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.viewcode"]
templates_path = ["_templates"]
exclude_patterns = ["_build", "paper", "conda"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}  # the pages of the reference are generated as .rst
suppress_warnings = ["ref.citation"]  # a reference that no docstring cites is still worth listing

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath", "substitution"]
myst_heading_anchors = 3
myst_substitutions = {"version": version}

#: Names that signatures have in the source, and the section that explains them.
ALIASES = ("BoolArray", "Duplicates", "FloatArray", "IntArray", "npt.ArrayLike", "npt.NDArray")
EXPLAINED = dict.fromkeys(("BoolArray", "FloatArray", "IntArray"), ("reference/data", "arrays-in-signatures"))
_OF = r"(?:~\w+\.)?"
#: What Python prints in a signature, and what a reader needs.
SHORTER = {
    r"\(Role\(name='(\w+)'.*?\), (?:<function \w+>|<class '\w+'>), '[^']*'\)": lambda match: match[1].upper(),
    rf"{_OF}ndarray\[tuple\[{_OF}Any, \.\.\.\], {_OF}dtype\[{_OF}(float|int|bool)\w*\]\]": (
        lambda match: f"{match[1].title()}Array"
    ),
    r"<factory>|<function [^<>]*(?:<[^<>]*>[^<>]*)*>|<built-in method[^<>]*>|mappingproxy\(\{\}\)": "...",
}
#: The longest value of a constant that is shown.
LONGEST_VALUE = 60

autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_preserve_defaults = True
autodoc_typehints_format = "short"
autodoc_type_aliases = {alias: alias.split(".")[-1] for alias in ALIASES}
sphinx.util.inspect.TypeAliasForwardRef.__repr__ = lambda self: self.name  # in unions Sphinx prints it, not the name
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


def _shortened(text: str | None) -> str | None:
    for pattern, shorter in SHORTER.items():
        text = text and re.sub(pattern, shorter, text)
    return text


def _signature(app: Any, what: str, name: str, thing: Any, options: Any, signature: str, returns: str) -> Any:
    """Write a signature with names in place of what Python prints of default values and types."""
    return _shortened(signature), _shortened(returns)


def _without_long_values(app: Any, page: nodes.document) -> None:
    """Leave out values of constants, and of defaults of attributes, that are longer than a line."""
    for signature in page.findall(addnodes.desc_signature):
        for part in list(signature.findall(addnodes.desc_annotation)):
            text = part.astext()
            if text.startswith((" = ", "= ")) and (len(text) > LONGEST_VALUE or "<" in text):
                part.parent.remove(part)


def _alias(app: Any, env: Any, node: Any, content: Any) -> Any:
    """Link the names of arrays to the section that explains them."""
    if place := EXPLAINED.get(node.get("reftarget", "").split(".")[-1]):
        return make_refnode(app.builder, node["refdoc"], *place, content)
    return None


def setup(app: Any) -> None:
    """Write formulas as MathML, and signatures for readers."""
    app.connect("autodoc-process-signature", _signature)
    app.connect("doctree-read", _without_long_values)
    app.connect("missing-reference", _alias)
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
