"""Pages as HTML: one file with all in it, which loads nothing and runs nothing but its own script.

Tables are sorted, filtered and searched by a small script in the browser.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from reviewgraph._base.text import visible
from reviewgraph._version import __version__
from reviewgraph.report.page import Listed, Page, Table

if TYPE_CHECKING:
    from jinja2 import Environment


def document(page: Page) -> str:
    """Return a page as an HTML file.

    >>> text = document(Page("Check", True, "Comparable:", "all papers.", subject="<script>.csv"))
    >>> text.startswith("<!doctype html>"), "&lt;script&gt;.csv" in text
    (True, True)
    """
    style = asset("pictures.css") + asset("style.css")
    script = asset("script.js") if _acts(page) else ""
    hashes = {"style_hash": _hash(style), "script_hash": _hash(script)}
    return _rendered("document", page, scripts=True, version=__version__, style=style, script=script, **hashes)


def fragment(page: Page) -> str:
    """Return what is seen first as an HTML element, for notebooks."""
    return f"<div>{_rendered('page', replace(page, sections=()), scripts=False)}</div>"


def _rendered(template: str, page: Page, **values: Any) -> str:
    sections = [section for section in page.sections if section.parts]
    return _templates().get_template(f"{template}.html").render(page=page, sections=sections, **values)


def _acts(page: Page) -> bool:
    """Return whether the script has anything to do: live tables, or text that unfolds for printing."""
    parts = [part for section in page.sections for part in section.parts]
    return any(isinstance(part, Table) and part.live for part in parts) or any(
        isinstance(part, Listed) and part.folded for part in parts
    )


@cache
def _templates() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("reviewgraph.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: visible(value) if type(value) is str else value,
    )
    environment.tests["table"] = lambda part: isinstance(part, Table)
    return environment


@cache
def asset(name: str) -> str:
    """Return the text of a file beside this module."""
    return (files("reviewgraph.report") / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """Return the hash by which the content security policy admits the style sheet and the script."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
