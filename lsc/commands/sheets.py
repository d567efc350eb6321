"""The sheets of papers for their authors: a folder with a page per paper, written whole or not at all."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from reviewgraph._base import InputError, counted, csv_text, draft_beside, natural_key

if TYPE_CHECKING:
    from lsc.posteriors import PosteriorEstimate
    from reviewgraph._base import Fact, Label

#: The index of a folder: ``item,file``.
INDEX = "index.csv"
#: Labels that are file names on every system, which device names of Windows are not.
_PLAIN = re.compile(r"(?!(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$))[\w-][\w.-]{0,39}", re.ASCII | re.IGNORECASE)


def file_names(labels: Iterable[Label]) -> dict[Label, str]:
    """Return a portable file name for each label, unique without regard to case: its own, or a number.

    >>> file_names(["../p1", "P1", "p1", "con"])
    {'../p1': 'paper-1.html', 'P1': 'P1.html', 'con': 'paper-3.html', 'p1': 'p1-.html'}
    """
    names: dict[Label, str] = {}
    taken: set[str] = set()
    for number, label in enumerate(sorted(labels, key=natural_key), 1):
        name = str(label) if _PLAIN.fullmatch(str(label)) else f"paper-{number}"
        while name.casefold() in taken:
            name += "-"
        taken.add(name.casefold())
        names[label] = f"{name}.html"
    return names


def expect_folder(path: str) -> None:
    """Refuse a folder that cannot be written, or is not empty."""
    target = os.path.realpath(path)
    parent = os.path.dirname(target)
    if os.path.exists(target) and not os.path.isdir(target):
        why = "it is a file"
    elif not os.path.isdir(parent):
        why = f"there is no folder {parent}"
    elif not os.access(parent, os.W_OK):
        why = "permission denied"
    elif os.path.isdir(target) and os.listdir(target):
        why = "it contains files"
    else:
        return
    message = f"sheet: {why}; name a new or an empty folder"
    raise InputError(message)


def write_sheets(
    result: PosteriorEstimate, folder: str, explained: Sequence[Label], grades: Sequence[str] = ()
) -> Fact:
    """Write a page for each paper with a score, or for the explained ones, and the index; return what was written.

    ``grades`` are those of a scale, best first. All is written to a draft folder, which then gets the name.
    """
    from lsc.pages.accounts import sheets
    from reviewgraph._base import Fact

    expect_folder(folder)
    papers = explained or result.ranking()
    names = file_names(papers)
    index = csv_text({"item": list(names), "file": list(names.values())})
    pages = ((names[label], page.html()) for label, page in sheets(result, papers, grades))
    target = os.path.realpath(folder)
    draft = draft_beside(target)
    try:
        os.mkdir(draft)
        for name, text in chain(pages, [(INDEX, index)]):
            with open(os.path.join(draft, name), "x", encoding="utf-8", newline="") as file:
                file.write(text)
        if os.path.isdir(target):
            os.rmdir(target)
        os.replace(draft, target)
    except OSError as error:
        message = f"{folder}: cannot be written ({error.strerror or error})"
        raise InputError(message) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return Fact("Sheets", f"{folder}: {counted(len(papers), 'sheet')} for authors; {INDEX} lists them by paper")
