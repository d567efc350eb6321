"""Pages as HTML: one file with all in it, which loads nothing and runs nothing but its own script.

Tables are sorted, filtered and searched by a small script in the browser.
"""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from reviewgraph._base.page import SHOWN, Page, Picture, Table
from reviewgraph._base.text import visible
from reviewgraph._version import __version__
from reviewgraph.report.pictures import NARROW, WIDE, written_out

if TYPE_CHECKING:
    from jinja2 import Environment


def document(page: Page) -> str:
    """Return a page as an HTML file.

    >>> text = document(Page("Check", True, "Comparable:", "all papers.", subject="<script>.csv"))
    >>> text.startswith("<!doctype html>"), "&lt;script&gt;.csv" in text
    (True, True)
    """
    style = asset("pictures.css") + asset("style.css")
    parts = (part for section in page.sections for part in section.parts)
    script = asset("script.js") if any(isinstance(part, Table) and part.live for part in parts) else ""
    hashes = {"style_hash": _hash(style), "script_hash": _hash(script)}
    return _rendered("document", page, scripts=True, version=__version__, style=style, script=script, **hashes)


def fragment(page: Page) -> str:
    """Return what is seen first as an HTML element, for notebooks."""
    # Without sections, nothing links to these.
    facts = [replace(fact, section="") if isinstance(fact, Table) else fact for fact in page.facts]
    return f"<div>{_rendered('page', replace(page, facts=facts, sections=()), scripts=False)}</div>"


def _rendered(template: str, page: Page, **values: Any) -> str:
    sections = [section for section in page.sections if section.parts]
    return _templates().get_template(f"{template}.html").render(page=page, sections=sections, **values)


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
    environment.filters |= {"drawn": drawn, "data_of": data_of}
    environment.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "separators": (",", ":")}
    return environment


# What templates ask of parts.

#: Rows that are printed, where scripts may run.
PRINTED = 500


def drawn(picture: Picture, form: str) -> str:
    """Return a picture as SVG, ``"narrow"`` for a phone or ``"wide"`` for a screen or paper."""
    drawing = picture.draw(NARROW if form == "narrow" else WIDE)
    return _worded(picture, drawing.markup(f"{picture.name}-{form}", picture.title, picture.words))


def svg_of(picture: Picture) -> str:
    """Return a picture as SVG that stands alone."""
    style = written_out(asset("pictures.css"))
    return _worded(picture, picture.draw(WIDE).alone(picture.name, picture.title, picture.words, style))


def _worded(picture: Picture, markup: str) -> str:
    """Return the markup with the words between its tags changed."""
    return re.sub(r">([^<]+)<", lambda text: f">{picture.worded(text[1])}<", markup)


def data_of(table: Table) -> dict[str, Any]:
    """Return all data of a table for the script."""
    return {
        "noun": table.noun,
        "shown": SHOWN,
        "printed": PRINTED,
        "links": list(table.links),
        "columns": [{"name": column.name, "kind": column.kind, "digits": column.digits} for column in table.columns],
        "cells": [column.cells for column in table.columns],
    }


@cache
def asset(name: str) -> str:
    """Return the text of a file beside this module."""
    return (files("reviewgraph.report") / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """Return the hash by which the content security policy admits the style sheet and the script."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
