"""``calibrate --sheet DIR``: a page a paper that its authors may see."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reviewgraph.cli.folders import INDEX, file_names, write_folder
from reviewgraph.words import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lsc.posteriors import PosteriorEstimate
    from reviewgraph.labels import Label


def write_sheets(result: PosteriorEstimate, folder: str, explained: Sequence[Label]) -> list[str]:
    """Write the sheet of each paper with a score, or of those explained alone, and the index; returns what was written.

    Raises
    ------
    InputError
        As :func:`reviewgraph.cli.folders.write_folder`.
    """
    from lsc.report.sheet import scored, sheets
    from reviewgraph.report.page import html

    papers = explained or scored(result)
    names = file_names(papers, ".html")
    write_folder(folder, names, ((label, html(document)) for label, document in sheets(result, papers)))
    return ["", f"{counted(len(papers), 'sheet')} for authors in {folder}; {INDEX} lists them by paper."]
