"""What every way in returns: reviews as codes and labels, not yet checked, sorted or freed of repeated pairs."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from reviewgraph.arrays import BoolArray, FloatArray, IntArray
from reviewgraph.labels import Label
from reviewgraph.provenance import FileRead
from reviewgraph.words import counted


class Unlisted(NamedTuple):
    """Papers that an export cannot hold, and the download of its system that lists all papers.

    Parameters
    ----------
    which
        "papers that nobody reviews".
    download
        The download that lists all, as messages call it.
    names
        How the name of the export ends, as a regular expression, and in its place that of the other download.
    file
        The export; nothing until it is read.
    """

    which: str
    download: str
    names: tuple[str, str]
    file: str = ""

    @property
    def beside(self) -> str:
        """The name that the other download has beside this file.

        >>> Unlisted("", "", ("scores.csv", "data.csv"), "may/conf-scores.csv").beside
        'may/conf-data.csv'
        """
        own, other = self.names
        start, replaced = re.subn(f"{own}$", "", self.file)
        return (start if replaced else os.path.join(os.path.dirname(self.file), "")) + other

    @property
    def words(self) -> str:
        """What a chair has to know first."""
        return (
            f"{self.file} cannot hold {self.which}. {self.download} lists all papers: add --items "
            f"{shlex.quote(self.beside)}"
        )


class Origin(NamedTuple):
    """What the files that reviews come from say beyond their rows.

    Parameters
    ----------
    unlisted
        Which papers cannot be among the items, since its export holds reviewed papers only; None where the items are
        all there are, or nobody knows.
    outsiders
        Reviewers who are not of the committee; None where nobody knows who is.
    files
        What was read; nothing where the reviews come from no file.
    """

    unlisted: Unlisted | None = None
    outsiders: Collection[Label] | None = None
    files: tuple[FileRead, ...] = ()


#: Reviews that come from no system that is known.
UNKNOWN = Origin()


@dataclass(frozen=True, eq=False)
class Columns:
    """The rows of a source in its own order, read by a format and made a table by :meth:`Reviews.from_columns`.

    Parameters
    ----------
    reviewer, item
        Codes, shape (E,), in any order; a pair may stand twice.
    reviewers, items
        Their labels, shapes (M,) and (N,).
    score
        Shape (E,), as they came; None where the source has no scores.
    scored
        Shape (E,): which rows have a score; by default all of them, where there are scores.
    titles
        Title by the label of an item, where known; none by default.
    lower_is_better
        1 is the best score; false by default.
    origin
        What the system that they come from says beyond them; nothing by default.
    row_name
        Says where row number r (from 0) came from, for messages; by default "row r".
    """

    reviewer: IntArray
    item: IntArray
    reviewers: Sequence[Label]
    items: Sequence[Label]
    score: FloatArray | None = None
    scored: BoolArray | None = None
    titles: Mapping[Label, str] = field(default_factory=dict)
    lower_is_better: bool = False
    origin: Origin = UNKNOWN
    row_name: Callable[[int], str] = "row {}".format

    def __repr__(self) -> str:
        sizes = (len(self.reviewers), "reviewer"), (len(self.items), "item"), (self.reviewer.size, "row")
        return f"<Columns: {', '.join(counted(size, noun) for size, noun in sizes)}>"
