"""The forms in which functions take reviews: how to recognise each, and which function reads it.

Nothing is guessed: a form that does not say which labels are reviewers, or whether a number is a score, is refused, or
read with a note that says how.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from reviewgraph._base.arrays import FloatArray
from reviewgraph._base.errors import ColumnWarning, InputError, warn
from reviewgraph._base.labels import Label, encode
from reviewgraph.formats.columns import ITEM, REVIEWER, SCORE, Columns
from reviewgraph.formats.files import quote_all
from reviewgraph.table.rows import split_rows

Note: TypeAlias = Callable[[str], object]


class Form(NamedTuple):
    """A form of reviews: words for it, whether an object has it, its reader, and the options that this takes."""

    words: str
    takes: Callable[[Any], bool]
    read: Callable[..., Columns]
    options: tuple[str, ...]


def is_path(source: Any) -> bool:
    """Whether it is the name of a file.

    >>> is_path("scores.csv"), is_path(["scores.csv"])
    (True, False)
    """
    return isinstance(source, str | os.PathLike)


def is_matrix(source: Any) -> bool:
    """Whether it is a dense or sparse matrix.

    >>> is_matrix(np.zeros((2, 2))), is_matrix([1, 2])
    (True, False)
    """
    return hasattr(source, "tocoo") or (isinstance(source, np.ndarray) and source.dtype.names is None)


def _from(library: str, name: str) -> Callable[[Any], bool]:
    """Return whether an object is of a class of a library, which need not be imported for that."""

    def takes(source: Any) -> bool:
        return any(kind.__name__ == name and kind.__module__.startswith(library) for kind in type(source).__mro__)

    return takes


#: Whether it is a graph, of networkx or of igraph.
_of_networkx = _from("networkx", "Graph")
_of_igraph = _from("igraph", "Graph")


def is_graph(source: Any) -> bool:
    """Whether it is a graph of networkx or igraph."""
    return _of_networkx(source) or _of_igraph(source)


def _are_named(source: Any) -> bool:
    """Whether they are rows with names, or columns by name."""
    if isinstance(source, Mapping):
        return bool(source) and all(isinstance(name, str) for name in source)
    if isinstance(source, np.ndarray):
        return source.dtype.names is not None
    return isinstance(source, list | tuple) and bool(source) and all(map(_is_named, source))


def _is_named(row: Any) -> bool:
    return isinstance(row, Mapping) or hasattr(row, "_fields")


def _are_rows(source: Any) -> bool:
    return isinstance(source, list | tuple | Mapping | set)


def _read_rows(
    source: Any,
    note: Note,
    reviewers: Iterable[Label] = (),
    items: Iterable[Label] = (),
    titles: Mapping[Label, str] | None = None,
    lower_is_better: bool = False,
) -> Columns:
    rows = source
    if isinstance(source, Mapping):
        odd = next((key for key in source if not isinstance(key, tuple) or len(key) != 2), None)
        if odd is not None:
            raise InputError(f"mapping: expected (reviewer, item) as a key, or names of columns, found {odd!r}")
        rows = [(*pair, score) for pair, score in source.items()]
    reviewer, item, score, scored = split_rows(rows)
    (left, people) = encode(reviewer, reviewers)
    (right, papers) = encode(item, items)
    return Columns(left, right, people, papers, score, scored, titles=titles or {}, lower_is_better=lower_is_better)


def _reader(name: str) -> Callable[..., Columns]:
    """Return a function of :mod:`reviewgraph.formats.memory`, which is imported where it is called."""

    def read(source: Any, note: Note, **options: Any) -> Columns:
        from reviewgraph.formats import memory

        columns: Columns = getattr(memory, name)(source, note=note, **options)
        return columns

    return read


def _read_matrix(source: Any, note: Note, **options: Any) -> Columns:
    """Read a reviewers x items matrix: sparse, of numbers with NaN for no review, or of True and False."""
    from reviewgraph.formats.memory import ask_zeros, from_biadjacency

    kind = source.dtype.kind
    dense = isinstance(source, np.ndarray)
    is_named = not options.keys().isdisjoint(("reviewers", "items"))
    if dense and not is_named and source.ndim == 2 and source.shape[1] in (2, 3) and kind != "b":
        raise InputError(
            f"reviews: an array with {source.shape[1]} columns may be rows (reviewer, item, score) or a matrix of "
            f"{source.shape[1]} items; write Reviews(array.tolist()) or Reviews.from_biadjacency(array)"
        )
    if dense and source.ndim == 2 and kind in "iuf":
        ask_zeros(source, "matrix")
    columns = from_biadjacency(source, scored=kind != "b", **options)
    if not is_named:
        note(
            f"matrix: read as reviewers x items, {source.shape[0]:,} x {source.shape[1]:,}, as to_biadjacency writes "
            "it; pass matrix.T if it is items x reviewers, or Reviews(matrix, reviewers=..., items=...)"
        )
    return columns


#: Options of forms with named columns, and of graphs.
_NAMED = ("columns", "score", "criteria", "scale", "lower_is_better", "reviewers", "items", "duplicates", "accept")
_GRAPH = ("score", "reviewers", "lower_is_better")
_LABELS = ("reviewers", "items", "titles", "lower_is_better")

#: The first that an object has is its form.
FORMS = (
    Form("a graph of networkx", _of_networkx, _reader("from_networkx"), _GRAPH),
    Form("a graph of igraph", _of_igraph, _reader("from_igraph"), _GRAPH),
    Form(
        "a data frame (pandas, polars, pyarrow ...)",
        lambda source: hasattr(type(source), "columns"),
        _reader("from_frame"),
        _NAMED,
    ),
    Form("a reviewers x items matrix", is_matrix, _read_matrix, _LABELS),
    Form("dictionaries, named tuples or columns by name", _are_named, _reader("from_records"), _NAMED),
    Form("rows (reviewer, item, score)", _are_rows, _read_rows, _LABELS),
)


def read_form(source: Any, name: str, note: Note, **options: Any) -> Columns:
    """Return reviews in any of the forms as columns, in the order in which it has them.

    Options that are no column names and policies of the form are refused.

    >>> read_form([("ann", "p1", 3), ("bob", "p1", 4)], "reviews", print)
    <Columns: 2 reviewers, 1 item, 2 rows>
    """
    for form in FORMS:
        if form.takes(source):
            # Policies on repeated pairs and findings concern every form; most apply them to what is read.
            for option in options.keys() - {*form.options, "duplicates", "accept"}:
                raise InputError(f"{option}: expected none with {form.words}, found {options[option]!r}; leave it out")
            return form.read(source, note, **{key: options[key] for key in form.options if key in options})
    if hasattr(source, "reset_index") or hasattr(source, "to_frame"):
        message = f"{name}: expected a data frame, found {type(source).__name__}; write .reset_index(), or .to_frame()"
        raise InputError(message)
    words = ", ".join(form.words for form in FORMS)
    message = f"{name}: expected Reviews, the name of a file, {words}, found {type(source).__name__}{_advice(source)}"
    raise InputError(message)


def _advice(source: Any) -> str:
    """Return what to do with a source that is no table, but nearly one."""
    kind = type(source).__name__
    if kind == "PartedReviews":
        return ", a table in parts, which check and calibrate take; for the others read it into memory (read_reviews)"
    if kind == "_GeneratorContextManager":
        return "; open it first, as in with stream_reviews(path) as reviews: check(reviews)"
    return ""


def pairs_in(frame: Any, score: FloatArray | None = None, *, only: bool = True) -> Columns:
    """Read a column of reviewers and one of items, in the order of the rows, and scores that are passed beside them.

    Without ``score`` a column of scores is read, unless there are to be pairs ``only``. Other columns are ignored, with
    a ColumnWarning unless there are to be pairs only.

    >>> import pandas
    >>> frame = pandas.DataFrame({"reviewer": ["ann"], "paper": [1], "rating": [3.5]})
    >>> pairs_in(frame), pairs_in(frame, only=False).score
    (<Columns: 1 reviewer, 1 item, 1 row>, array([3.5]))
    """
    from reviewgraph.formats.memory import from_frame, of_roles

    roles = (REVIEWER, ITEM) if only or score is not None else (REVIEWER, ITEM, SCORE)
    notes = list[str]()
    try:
        kept, unused = of_roles(frame, roles, notes.append)
        read = from_frame(kept, {})
    except InputError as error:
        raise InputError(str(error).replace(" of Reviews", "")) from error
    if score is not None:
        if score.size != read.reviewer.size:
            raise InputError(f"y: expected one score per row of X, {read.reviewer.size}, found {score.size}")
        read = replace(read, score=score, scored=np.isfinite(score))
    if unused and not only:
        used = "reviewer, item and score" if SCORE in roles else "reviewer, item and y"
        notes.append(
            f"X: ignored {quote_all(unused)}: only {used} are used; to use criteria or confidence pass Reviews"
        )
    for note in notes:
        warn(note, ColumnWarning)
    return read
