"""The common interface of results: status, dictionary, data frame, display in shells and notebooks, pictures."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import StrEnum
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeAlias, get_args, overload

from reviewgraph._base.arguments import checked
from reviewgraph._base.errors import InputError
from reviewgraph._base.text import counted, visible

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas
    import polars
    import pyarrow
    from narwhals.typing import IntoDataFrame

    from reviewgraph._base.page import Page, Picture


Backend: TypeAlias = Literal["pandas", "polars", "pyarrow"]

#: Rows that a notebook shows of a result.
SHOWN = 10


class Status(StrEnum):
    """How a computation ended: text that equals its name, with its meaning and remedy in :attr:`text`.

    Members are written as ``OPTIMAL = "optimal", "proved to be the best"``.

    >>> class Ending(Status):
    ...     GOOD = "good", "all went well"
    >>> Ending.GOOD, Ending.GOOD.text, Ending("good") is Ending.GOOD
    ('good', 'all went well', True)
    """

    text: str

    def __new__(cls, value: str, text: str = "") -> Self:
        """Make a member of a name and its meaning."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.text = text
        return member

    def __repr__(self) -> str:
        return repr(self.value)


@dataclass(frozen=True)
class Progress:
    """Progress of a long computation, the argument of every ``progress`` callback.

    Parameters
    ----------
    seconds
        Seconds since the start.
    words
        The current step, or the best value so far.
    done
        Completed share, from 0 to 1; None where it is unknown.
    """

    seconds: float
    words: str
    done: float | None = None


class Result(ABC):
    """A result as a dictionary, a data frame and, in a shell, as one line; in a notebook, as its first rows."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the result as the command's ``--json`` prints it.

        Returns
        -------
        dict
            Text, numbers, lists and dictionaries, as JSON has them; labels as passed.

        Examples
        --------
        >>> from reviewgraph import Reviews, check
        >>> check(Reviews.from_pairs([("ann", 1), ("bob", 1)])).to_dict()["level"]
        'double'
        """

    @abstractmethod
    def to_columns(self) -> Mapping[str, Sequence[Any]]:
        """Return the rows of the result by column, as the command's ``-o`` writes them.

        Returns
        -------
        dict
            Lists of equal length by column, None where a value is missing.

        Examples
        --------
        >>> from reviewgraph import Reviews
        >>> Reviews.from_pairs([("ann", 1, 3.0), ("bob", 1)]).to_columns()["score"]
        [3.0, None]
        """

    @abstractmethod
    def headline(self) -> str:
        """Return a summary in half a line.

        Returns
        -------
        str
            A phrase without a full stop.

        Examples
        --------
        >>> from reviewgraph import Reviews
        >>> Reviews.from_pairs([("ann", 1), ("bob", 1)]).headline()
        '2 reviewers, 1 item, 2 reviews'
        """

    @property
    def _why_none(self) -> str:
        """Why there are no rows, in words, where there is no answer; empty otherwise."""
        return ""

    def _refuse_none(self, what: str) -> None:
        """Raise InputError, with the reasons, if there is no answer of which there could be ``what``."""
        if self._why_none:
            message = f"{what}: expected a result with rows, found none ({self.headline()}): {self._why_none}"
            raise InputError(message)

    @property
    def backend(self) -> Backend | None:
        """The kind of data frame that the reviews came in; None for other sources."""
        kind: Backend | None = getattr(getattr(self, "reviews", None), "backend", None)
        return kind

    if TYPE_CHECKING:

        @overload
        def to_frame(self, backend: Literal["pandas"]) -> pandas.DataFrame: ...
        @overload
        def to_frame(self, backend: Literal["polars"]) -> polars.DataFrame: ...
        @overload
        def to_frame(self, backend: Literal["pyarrow"]) -> pyarrow.Table: ...
        @overload
        def to_frame(self, backend: None = None) -> Any: ...

    @checked
    def to_frame(self, backend: Backend | None = None) -> Any:
        """Return :meth:`to_columns` as a data frame.

        Parameters
        ----------
        backend
            ``"pandas"``, ``"polars"`` or ``"pyarrow"``; by default that of the reviews; pandas for reviews from other
            sources.

        Returns
        -------
        DataFrame
            One row per row of the result; columns of mixed types become text.

        Raises
        ------
        InputError
            If the backend is none of these, or not installed; if an assignment or a plan is infeasible.

        Examples
        --------
        >>> from reviewgraph import Reviews
        >>> float(Reviews.from_pairs([("ann", 1, 3.0), ("bob", 1, 4.0)]).to_frame("pandas")["score"].mean())
        3.5
        """
        self._refuse_none("to_frame")
        return frame_of(self.to_columns(), backend or self.backend)

    def _first_rows(self, most: int) -> tuple[Mapping[str, Sequence[Any]], int]:
        """Return the first rows by column, and the number of all rows."""
        columns = self.to_columns()
        total = max(map(len, columns.values()), default=0)
        return {name: column[:most] for name, column in columns.items()}, total

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self._said()}>"

    def _said(self) -> str:
        """Return the headline, and why there are no rows where there is no answer."""
        return ": ".join(filter(None, (self.headline(), self._why_none)))

    def _repr_html_(self) -> str:
        """Return the headline and the first rows for notebooks."""
        columns, total = self._first_rows(SHOWN)
        more = f"and {counted(total - SHOWN, 'more row')}; to_frame() has all" if total > SHOWN else ""
        above = _element("p", f"{type(self).__name__}: {self._said()}")
        return f"<div>{above}{_table(columns)}{_element('p', more) if more else ''}</div>"


def frame_of(columns: Mapping[str, Sequence[Any]], backend: Backend | None = None) -> IntoDataFrame:
    """Return columns as a data frame, which has values of one type per column: other columns become text.

    >>> frame_of({"item": ["p1", ("p", 2)]}, backend="pandas")["item"].tolist()
    ['p1', "('p', 2)"]
    """
    from importlib.util import find_spec

    import narwhals as nw

    chosen: Backend = backend or "pandas"
    if chosen not in get_args(Backend) or not find_spec(chosen):
        message = f"backend: expected 'pandas', 'polars' or 'pyarrow', installed, found {backend!r}"
        raise InputError(message)
    framable = {name: _framable(column) for name, column in columns.items()}
    frame: IntoDataFrame = nw.from_dict(framable, backend=chosen).to_native()
    return frame


def backend_of(data: Any) -> Backend | None:
    """Return the kind of a data frame or Series; None where it is none, or of another kind."""
    homes = {kind.__module__.partition(".")[0] for kind in type(data).__mro__}
    return next((kind for kind in get_args(Backend) if kind in homes), None)


#: Types that may be mixed in a column of a data frame.
_TOGETHER = ({str}, {bool}, {int, float})
#: The first whole number that does not fit into a column.
_TOO_LARGE = 2**63


def _framable(column: Sequence[Any]) -> Sequence[Any]:
    kinds = {type(entry) for entry in column} - {type(None)}
    fits = any(kinds <= together for together in _TOGETHER)
    if fits and not (int in kinds and any(isinstance(entry, int) and abs(entry) >= _TOO_LARGE for entry in column)):
        # Some libraries take a column for whole numbers where the first entry is one.
        return [None if entry is None else float(entry) for entry in column] if len(kinds) > 1 else column
    return [entry if entry is None else str(entry) for entry in column]


def _table(columns: Mapping[str, Sequence[Any]]) -> str:
    """Return columns as an HTML table, numbers and their headings right-aligned."""
    heads = "".join(_element("th", name, _side(column)) for name, column in columns.items())
    rows = zip(*columns.values(), strict=True)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: Any) -> str:
    text = "" if value is None else str(value)
    return _element("td", f"{value:.4g}" if isinstance(value, float) else text, _side([value]))


def _side(values: Sequence[Any]) -> str:
    """Return the alignment of values: right if all are numbers."""
    known = [value for value in values if value is not None]
    numbers = known and all(isinstance(value, int | float) and not isinstance(value, bool) for value in known)
    return f"text-align: {'right' if numbers else 'left'}"


def _element(tag: str, text: str, style: str = "") -> str:
    from html import escape

    return f"<{tag}{f' style={style!r}' if style else ''}>{escape(visible(text))}</{tag}>"


# Pages and their pictures.


class Paged(Result):
    """A result with a page, whose pictures it draws."""

    #: The function that tells the result as a page, as ``"module:name"``; its module imports that of the result.
    _paged_by: ClassVar[str]

    def page(self) -> Page:
        """Return the result as a page for people to read.

        Returns
        -------
        Page
            Which is printed as the command prints it: ``print(result.page())``. Its methods ``text``, ``markdown`` and
            ``html`` have all details, too.

        Examples
        --------
        >>> from reviewgraph import Reviews, check
        >>> print(check(Reviews.from_pairs([("ann", 1), ("ann", 2), ("bob", 1), ("bob", 2)])).page())
        COMPARABLE: all 2 papers, for certain
          Reviews         4 by 2 reviewers, 2 per paper; no scores yet
          Best 1          picked right: 79 % now, 82 % with 2 more (assumed noise)
          If one is lost  still comparable for certain
        """
        return self._page()

    def _page(self, **options: Any) -> Page:
        page: Page = resolve_name(self._paged_by)(self, **options)
        return page

    def _repr_html_(self) -> str:
        """Return the page for notebooks."""
        return self.page()._repr_html_()

    @checked
    def plot(self, name: str | None = None) -> Picture:
        """Return one of the pictures of the page.

        Parameters
        ----------
        name
            Name of the picture; by default the first that shows more than one number.

        Returns
        -------
        Picture
            Which notebooks show, with ``svg`` and ``save("x.svg")``.

        Raises
        ------
        InputError
            If there is nothing to draw, or no picture has the name; the message lists the valid ones.

        Examples
        --------
        >>> from reviewgraph import Reviews
        >>> Reviews.from_pairs([("ann", 1), ("ann", 2), ("bob", 2)]).plot("loads")
        <Picture loads: Papers per reviewer>
        """
        return self._picture(name)

    def _picture(self, name: str | None, **options: Any) -> Picture:
        pictures: Sequence[Picture] = self._page(**options).pictures
        if not pictures:
            message = f"plot: nothing to draw ({self._said()})"
            raise InputError(message)
        if name is None:
            # A chart whose sentence says as much is not what anybody wants to see first.
            return next((picture for picture in pictures if not picture.instead), pictures[0])
        for picture in pictures:
            if name == picture.name:
                return picture
        message = f"name: expected {' or '.join(repr(picture.name) for picture in pictures)}, found {name!r}"
        raise InputError(message)
