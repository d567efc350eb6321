"""The common interface of results: page, data frames, dictionary, files, pictures, status, and equality by value."""

from __future__ import annotations

import math
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import StrEnum
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeAlias, get_args, overload

from reviewgraph._base.arguments import checked
from reviewgraph._base.errors import InputError, warn
from reviewgraph._base.storing import Content, csv_text, json_text, write_whole

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow
    from matplotlib.axes import Axes
    from narwhals.typing import IntoDataFrame

    from reviewgraph._base.page import Page, Picture


Backend: TypeAlias = Literal["pandas", "polars", "pyarrow"]

#: Attributes and methods of results under the names that they had before 1.0, for one release.
RENAMED = {
    "page": "summary",
    "reviews_with_plan": "reviews",
    "table": "reviews",
    "reviewers": "critical_reviewers",
}


#: Where the content is that attributes of other names may mean, the likelier first.
INSTEAD: dict[str, tuple[str, ...]] = {
    "verdict": ("summary().verdict",),
    **dict.fromkeys(("comparable", "is_comparable"), ("level",)),
    **dict.fromkeys(("n_groups", "components", "n_components"), ("structure.doubly_connected",)),
    **dict.fromkeys(("total", "total_affinity", "objective"), ("affinity",)),
    **dict.fromkeys(("ok", "valid", "holds"), ("good",)),
    **dict.fromkeys(("qualities", "scores", "estimate", "mean"), ("quality",)),
    **dict.fromkeys(("sd", "std", "se", "stderr", "standard_errors"), ("standard_error",)),
    **dict.fromkeys(("averages", "means"), ("average",)),
    **dict.fromkeys(("severity", "severities"), ("reviewers",)),
    **dict.fromkeys(("top", "best"), ("selection()",)),
    **dict.fromkeys(("selected", "accepted"), ("certain", "best")),
    **dict.fromkeys(("drawn", "winners"), ("draw(seed)",)),
    **dict.fromkeys(("intervals", "confint", "conf_int"), ("interval()",)),
    **dict.fromkeys(("to_html", "to_excel", "to_csv", "to_json", "write"), ('save("x.html"), .xlsx, .csv or .json',)),
    **dict.fromkeys(("to_text", "report"), ("summary().text()",)),
    **dict.fromkeys(("asked", "extra", "new", "reviewers_asked"), ("added",)),
}
#: The same of attributes that only other results have.
ELSEWHERE = {
    **dict.fromkeys(("level", "comparable", "is_comparable"), "check(result).level"),
    **dict.fromkeys(("selection", "interval", "probability_in_top"), "the posterior, calibrate(reviews)"),
}


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


class Computed(Status):
    """The status of what is computed directly."""

    EXACT = "exact", "computed directly, without a search that could end early"


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
    """A result: printed as a page, with its rows as data frames, its pictures, and its content as a dictionary or file.

    Results of equal content are equal; they cannot be hashed.

    Attributes
    ----------
    status
        How the computation ended; ``status.text`` explains it.
    reviews
        The reviews that it is about, of a plan with those that are planned.
    """

    #: The function that tells the result as a page, as ``"module:name"``; its module imports that of the result.
    _paged_by: ClassVar[str] = "reviewgraph.report.rows:page_of"
    #: What :meth:`to_columns` has a row of, in the plural.
    _rows_are: ClassVar[str] = "rows"

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
        >>> check(Reviews([("ann", 1), ("bob", 1)])).to_dict()["level"]
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
        >>> Reviews([("ann", 1, 3.0), ("bob", 1)]).to_columns()["score"]
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
        >>> Reviews([("ann", 1), ("bob", 1)]).headline()
        '2 reviewers, 1 item, 2 reviews'
        """

    @property
    def _why_none(self) -> str:
        """Why there are no rows, in words, where there is no answer; empty otherwise."""
        return ""

    def _refuse_none(self, what: str) -> None:
        """Raise InputError, with the reasons, if there is no answer of which there could be ``what``."""
        if self._why_none:
            raise InputError(f"{what}: expected a result with rows, found none ({self.headline()}): {self._why_none}")

    # Equality

    def __eq__(self, other: object) -> bool:
        """Whether another result is of the same kind and equal content; NaN equals NaN."""
        return is_same(self, other) if isinstance(other, Result) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    # Printing

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self._said()}>"

    def _said(self) -> str:
        """Return the headline, and why there are no rows where there is no answer."""
        return ": ".join(filter(None, (self.headline(), self._why_none)))

    def __str__(self) -> str:
        """Return the page as text."""
        return str(self.summary())

    def _repr_html_(self) -> str:
        """Return the page for notebooks."""
        return self.summary()._repr_html_()

    def summary(self) -> Page:
        """Return the result as a page for people to read, which ``print(result)`` prints.

        Returns
        -------
        Page
            Its methods ``text`` and ``html`` have all details, too.

        Examples
        --------
        >>> from reviewgraph import Reviews, check
        >>> print(check(Reviews([("ann", 1), ("ann", 2), ("bob", 1), ("bob", 2)])).summary())
        COMPARABLE: all 2 papers, for certain
          Reviews         4 by 2 reviewers, 2 per paper; no scores yet
          Best 1          picked right: 79 % now, 82 % with 2 more (assumed noise)
          If one is lost  still comparable for certain
        """
        return self._in_python(self._page())

    def _in_python(self, page: Page) -> Page:
        """Return a page for readers who call methods: with keywords in the place of the options of commands."""
        from reviewgraph._base.page import reworded_by

        return replace(reworded_by(page, keywords_of), where="summary().text('{}')")

    def _page(self, **options: Any) -> Page:
        page: Page = resolve_name(self._paged_by)(self, **options)
        return page

    # Data frames

    @property
    def _backend(self) -> Backend | None:
        """The kind of data frame that the reviews came in; None for other sources."""
        own: Backend | None = vars(self).get("backend")
        return own or getattr(getattr(self, "reviews", None), "backend", None)

    def _tables(self) -> dict[str, Callable[[], Mapping[str, Sequence[Any]]]]:
        """Return the tables of the result by name, that of :meth:`to_columns` first."""
        return {self._rows_are: self.to_columns}

    if TYPE_CHECKING:

        @overload
        def to_frame(self, what: str | None = None, *, backend: Literal["pandas"]) -> pandas.DataFrame: ...
        @overload
        def to_frame(self, what: str | None = None, *, backend: Literal["polars"]) -> polars.DataFrame: ...
        @overload
        def to_frame(self, what: str | None = None, *, backend: Literal["pyarrow"]) -> pyarrow.Table: ...
        @overload
        def to_frame(self, what: str | None = None, *, backend: None = None) -> Any: ...

    @checked
    def to_frame(self, what: str | None = None, *, backend: Backend | None = None) -> Any:
        """Return a table of the result as a data frame.

        Parameters
        ----------
        what
            Name of the table; by default that of :meth:`to_columns`. An unknown name raises InputError, which lists the
            valid ones.
        backend
            ``"pandas"``, ``"polars"`` or ``"pyarrow"``; by default that of the reviews; for reviews from other sources
            the first of these that is installed.

        Returns
        -------
        DataFrame
            One row per row of the table; columns of mixed types become text.

        Raises
        ------
        InputError
            If there is no such table; if the backend is none of these, or not installed; if an assignment or a plan is
            infeasible.

        Examples
        --------
        >>> from reviewgraph import Reviews
        >>> reviews = Reviews([("ann", 1, 3.0), ("bob", 1, 4.0)])
        >>> float(reviews.to_frame(backend="pandas")["score"].mean())
        3.5
        """
        if what in get_args(Backend):
            words = f"to_frame({what!r}) is to_frame(backend={what!r}) from now on; the old form will be removed"
            warn(words, DeprecationWarning)
            what, backend = None, what
        tables = self._tables()
        name = what or next(iter(tables))
        if name not in tables:
            raise InputError(f"what: expected {_either(map(repr, tables))}, found {what!r}")
        self._refuse_none("to_frame")
        return frame_of(tables[name](), backend or self._backend)

    # Files

    @checked
    def save(self, path: str | os.PathLike[str]) -> None:
        r"""Write the result to a file, whole or not at all; the end of its name says what is written.

        Parameters
        ----------
        path
            ``.json`` for :meth:`to_dict`, ``.html`` for the page with all details, ``.csv`` and ``.xlsx`` for the rows
            of :meth:`to_columns`.

        Raises
        ------
        InputError
            If the name has another ending, the file cannot be written, or there are no rows.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from reviewgraph import Reviews
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Reviews([("ann", 1, 3.0)]).save(f"{folder}/reviews.csv")
        ...     Path(folder, "reviews.csv").read_text()
        'reviewer,item,score\nann,1,3.0\n'
        """
        self._write(path, self._contents())

    def _write(self, path: str | os.PathLike[str], contents: Mapping[str, Callable[[], Content]]) -> None:
        ending = Path(path).suffix.lower()
        if ending not in contents:
            raise InputError(f"path: expected a name that ends with {_either(contents)}, found {os.fspath(path)!r}")
        write_whole(path, contents[ending]())

    def _contents(self) -> dict[str, Callable[[], Content]]:
        """Return what files hold, by the end of their names."""

        def table(write: Callable[[Mapping[str, Sequence[Any]]], Content]) -> Content:
            self._refuse_none("save")
            return write(self.to_columns())

        return {
            ".json": lambda: json_text(self.to_dict()),
            ".html": lambda: self.summary().html(),
            ".csv": lambda: table(csv_text),
            ".xlsx": lambda: table(resolve_name("reviewgraph.formats.workbooks:write_xlsx")),
        }

    # Pictures

    if TYPE_CHECKING:

        @overload
        def plot(self, name: str | None = None, *, ax: None = None) -> Picture: ...
        @overload
        def plot(self, name: str | None = None, *, ax: Axes) -> Axes: ...

    @checked
    def plot(self, name: str | None = None, *, ax: Axes | None = None) -> Any:
        """Return one of the pictures of the page, or draw it with Matplotlib.

        Parameters
        ----------
        name
            Name of the picture; by default the first that shows more than one number.
        ax
            Axes of Matplotlib to draw on, in the units of the data: ``ax.axhline(5)`` is at a score of 5.

        Returns
        -------
        Picture or Axes
            The picture, which notebooks show, with ``svg`` and ``save("x.svg")``; with ``ax`` these axes.

        Raises
        ------
        InputError
            If there is nothing to draw, or no picture has the name; the message lists the valid ones.

        Examples
        --------
        >>> from reviewgraph import Reviews
        >>> Reviews([("ann", 1), ("ann", 2), ("bob", 2)]).plot("loads")
        <Picture loads: Papers per reviewer>
        """
        return self._picture(name, ax)

    def _picture(self, name: str | None, ax: Axes | None, **options: Any) -> Picture | Axes:
        pictures: Sequence[Picture] = self._page(**options).pictures
        if not pictures:
            raise InputError(f"plot: nothing to draw ({self._said()})")
        named = {picture.name: picture for picture in pictures}
        if name is not None and name not in named:
            raise InputError(f"name: expected {_either(map(repr, named))}, found {name!r}")
        # By default no chart whose sentence says as much.
        telling = next((picture for picture in pictures if not picture.instead), pictures[0])
        picture = telling if name is None else named[name]
        return picture if ax is None else picture.on(ax)

    if TYPE_CHECKING:

        @property
        def status(self) -> Status: ...
        @property
        def reviews(self) -> Any: ...

    else:

        def __dir__(self) -> list[str]:
            return sorted({*super().__dir__(), "status"})

        def __getattr__(self, name: str) -> Any:
            """Return the status of a result without one of its own; what an old name meant, with a warning."""
            if name == "status":
                return Computed.EXACT
            if hasattr(type(self), name):
                # A property raised AttributeError: it says why.
                return object.__getattribute__(self, name)
            new = RENAMED.get(name, "")
            if not new or not hasattr(self, new):
                message = f"{type(self).__name__!r} object has no attribute {name!r}{self._instead_of(name)}"
                raise AttributeError(message, name=name, obj=self)
            owner = type(self).__name__
            warn(f"{owner}.{name} is {owner}.{new} from now on; the old name will be removed", DeprecationWarning)
            return getattr(self, new)

        def _instead_of(self, name: str) -> str:
            """Return where the content is that an attribute of another name may mean."""
            for words in INSTEAD.get(name, ()):
                if words.partition("(")[0].partition(".")[0] in dir(self):
                    return f"; see {words}"
            stored = getattr(type(self), "__dataclass_fields__", {})
            if not name.startswith("_") and name not in stored and name in self._tables():
                return f"; see to_frame({name!r})"
            return f"; see {ELSEWHERE[name]}" if name in ELSEWHERE else ""


#: Keywords by option of commands where a page names one; those that take a value, and those that do not.
VALUED = {
    "target": "target",
    "for": "goal",
    "select": "n_selected",
    "max-reviews": "n",
    "like": "like",
    "items": "items",
}
FLAGS = {"lower-is-better": "lower_is_better=True", "by-group-average": "across_groups=True"}
OPTION = re.compile(rf"--(?:({'|'.join(VALUED)}) ([\w%-]*\w%?)|({'|'.join(FLAGS)}))(?: (?=--))?")


def keywords_of(text: str) -> str:
    """Return a sentence with keywords of Python in the place of options of commands.

    >>> keywords_of("where they decide: --target double --for decision --select 10% --max-reviews 9")
    'where they decide: target="double", goal="decision", n_selected="10%", n=9'
    >>> keywords_of("higher is better (or --lower-is-better)"), keywords_of("--like FILE takes them")
    ('higher is better (or lower_is_better=True)', 'like=... takes them')
    """

    def keyword(match: re.Match[str]) -> str:
        option, value, flag = match.groups()
        comma = ", " * match[0].endswith(" ")
        if flag:
            return FLAGS[flag] + comma
        written = "..." if value.isupper() else value if value.isdigit() else f'"{value}"'
        return f"{VALUED[option]}={written}{comma}"

    return OPTION.sub(keyword, text)


def _either(names: Any) -> str:
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else str(last)


def is_same(first: Any, second: Any) -> bool:
    """Whether two values have equal content, NaN like NaN; dataclasses are compared by their fields.

    Fields with ``compare=False`` do not count.

    >>> is_same([1, float("nan")], [1, float("nan")]), is_same({"a": (1,)}, {"a": (2,)})
    (True, False)
    """
    if first is second:
        return True
    if is_dataclass(first) and not isinstance(first, type):
        names = [entry.name for entry in fields(first) if entry.compare]
        return type(first) is type(second) and all(
            is_same(getattr(first, name), getattr(second, name)) for name in names
        )
    if hasattr(first, "tolist") and hasattr(first, "shape"):  # an array or a number of NumPy
        return getattr(second, "shape", None) == first.shape and _same_arrays(first, second)
    if isinstance(first, float) and isinstance(second, float):
        return first == second or (math.isnan(first) and math.isnan(second))
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return first.keys() == second.keys() and all(is_same(value, second[key]) for key, value in first.items())
    if isinstance(first, Sequence) and isinstance(second, Sequence) and not isinstance(first, str | bytes):
        return len(first) == len(second) and all(map(is_same, first, second))
    if getattr(type(first), "__eq__", None) is object.__eq__ and hasattr(first, "__dict__"):
        return type(first) is type(second) and is_same(vars(first), vars(second))
    return bool(first == second)


def _same_arrays(first: Any, second: Any) -> bool:
    import numpy as np

    if first.dtype.kind == "O":
        return is_same(first.tolist(), second.tolist())
    return bool(np.array_equal(first, second, equal_nan=first.dtype.kind == second.dtype.kind == "f"))


def frame_of(columns: Mapping[str, Sequence[Any]], backend: Backend | None = None) -> IntoDataFrame:
    """Return columns as a data frame, which has values of one type per column: other columns become text.

    >>> frame_of({"item": ["p1", ("p", 2)]}, backend="pandas")["item"].tolist()
    ['p1', "('p', 2)"]
    """
    from importlib.util import find_spec

    import narwhals as nw

    chosen: Backend = backend or "pandas"
    if chosen not in get_args(Backend) or not find_spec(chosen):
        raise InputError(f"backend: expected 'pandas', 'polars' or 'pyarrow', installed, found {backend!r}")
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
