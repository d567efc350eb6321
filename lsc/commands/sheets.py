"""``calibrate --sheet DIR``: pages for authors and an index, in a folder that is written atomically."""

from __future__ import annotations

import contextlib
import csv
import os
import re
import shutil
import unicodedata
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from reviewgraph._base import InputError, counted, csv_text, draft_beside, natural_key

if TYPE_CHECKING:
    from lsc.posteriors import PosteriorEstimate
    from reviewgraph._base import Label

#: The index of a folder: ``item,file``.
INDEX = "index.csv"
#: Maximum characters of a label in a file name; file systems allow 255 bytes.
LONGEST = 40
#: Pages of this program contain the mark in their first bytes.
_MARK = b'<meta name="generator" content="reviewgraph'
_LOOKED_AT = 1 << 12
#: Characters that are replaced in file names: all but letters, digits, dots, hyphens and underscores.
_UNFIT = re.compile(r"[^\w.-]+")
#: Device names of Windows, with any extension.
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)


def file_names(labels: Iterable[Label], ending: str) -> dict[Label, str]:
    """Return a portable file name for each label, unique without regard to case.

    >>> file_names(["../p1", "P1", "p1", "?", "con"], ".html")
    {'../p1': 'p1.html', '?': 'paper.html', 'P1': 'P1-2.html', 'con': 'paper-con.html', 'p1': 'p1-3.html'}
    """
    found: dict[Label, str] = {}
    taken: set[str] = set()
    tried: dict[str, int] = {}
    for label in sorted(labels, key=natural_key):
        name = _fit(str(label))
        key = name.casefold()
        while (f"{key}-{tried[key]}" if key in tried else key) in taken:
            tried[key] = tried.get(key, 1) + 1
        name = f"{name}-{tried[key]}" if key in tried else name
        taken.add(name.casefold())
        found[label] = f"{name}{ending}"
    return found


def _fit(text: str) -> str:
    name = _UNFIT.sub("-", unicodedata.normalize("NFKC", text))[:LONGEST].strip(".-")
    return f"paper-{name}" if _DEVICES.match(name) else name or "paper"


def expect_folder(path: str) -> None:
    """Refuse a folder that cannot be written, or that contains other files than an earlier run wrote."""
    target = os.path.realpath(path)
    parent = os.path.dirname(target)
    if os.path.exists(target) and not os.path.isdir(target):
        why = "it is a file"
    elif not os.path.isdir(parent):
        why = f"there is no folder {parent}"
    elif not os.access(parent, os.W_OK):
        why = "permission denied"
    elif os.path.isdir(target) and (other := sorted(set(os.listdir(target)) - _written(target))):
        why = f"it contains {other[0]!r}, which is not a page listed in its {INDEX}"
    else:
        return
    message = f"sheet: {why}; name a new or an empty folder"
    raise InputError(message)


def _written(folder: str) -> set[str]:
    """Return the files of a folder that an earlier run wrote: pages listed in its index, and the index."""
    try:
        with open(os.path.join(folder, INDEX), encoding="utf-8", newline="") as file:
            rows = csv.DictReader(file)
            listed = {str(row["file"]) for row in rows} if rows.fieldnames == ["item", "file"] else set()
    except (OSError, ValueError, csv.Error):
        return set()
    found = {name for name in os.listdir(folder) if name in listed and _is_page(os.path.join(folder, name))}
    return {INDEX, *found} if found else set()


def _is_page(path: str) -> bool:
    if os.path.islink(path) or not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return _MARK in file.read(_LOOKED_AT)


def write_folder(path: str, names: dict[Any, str], texts: Iterable[tuple[Label, str]]) -> None:
    """Write a file for each label and the index atomically: to a draft folder, which then replaces the old one."""
    expect_folder(path)
    target = os.path.realpath(path)
    draft = draft_beside(target)
    before = draft_beside(target)
    try:
        os.mkdir(draft)
        for label, text in texts:
            _write(os.path.join(draft, names[label]), text)
        _write(os.path.join(draft, INDEX), csv_text({"item": list(names), "file": list(names.values())}))
        if os.path.isdir(target):
            os.replace(target, before)
        os.replace(draft, target)
    except OSError as error:
        if os.path.isdir(before) and not os.path.exists(target):
            os.replace(before, target)
        message = f"{path}: cannot be written ({error.strerror or error})"
        raise InputError(message) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)
        if os.path.isdir(target):
            _remove(before)


def _remove(folder: str) -> None:
    """Remove the files of an earlier run; a folder with files added since then stays."""
    with contextlib.suppress(OSError):
        for name in sorted(_written(folder), key=lambda name: name == INDEX):
            os.unlink(os.path.join(folder, name))
        os.rmdir(folder)


def _write(path: str, text: str) -> None:
    with open(path, "x", encoding="utf-8", newline="") as file:
        file.write(text)


def write_sheets(result: PosteriorEstimate, folder: str, explained: Sequence[Label]) -> list[str]:
    """Write a page for each paper with a score, or for the explained ones, and the index; returns lines for people."""
    from lsc.report import scored, sheets
    from reviewgraph.report import html

    papers = explained or scored(result)
    names = file_names(papers, ".html")
    write_folder(folder, names, ((label, html(document)) for label, document in sheets(result, papers)))
    return ["", f"{counted(len(papers), 'sheet')} for authors in {folder}; {INDEX} lists them by paper."]
