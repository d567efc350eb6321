"""Reviews from what Python holds, one function per form: frames, wide tables, rows, graphs and matrices."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
from narwhals.exceptions import DuplicateError

from reviewgraph._base.arguments import as_numbers
from reviewgraph._base.arrays import FloatArray
from reviewgraph._base.errors import InputError
from reviewgraph._base.labels import Label, encode, first_repeated
from reviewgraph.formats.audit.audit import Audit
from reviewgraph.formats.audit.finding import in_python
from reviewgraph.formats.audit.rows import is_status
from reviewgraph.formats.columns import (
    CONFIDENCE,
    CRITERION,
    ITEM,
    REVIEWER,
    SCORE,
    Columns,
    Role,
    choose_score,
    locate,
    naming,
    normalise,
    recognised,
    require_named,
)
from reviewgraph.formats.files import Note, Problems, quote
from reviewgraph.formats.parts import ROLES, Asked, read_part, say_unusual, together
from reviewgraph.formats.tables import Column, Numbers, Rows, Table, ask_criteria
from reviewgraph.formats.values import parse_scale

if TYPE_CHECKING:
    import igraph
    import networkx as nx
    import pandas
    import scipy.sparse


#: What to do where columns were taken for further scores.
CHOOSE_CRITERIA = "name those that are with Reviews(frame, criteria=[...]), [] for none"


def from_frame(
    frame: Any,
    columns: Mapping[str, str] | None = None,
    *,
    score: str | None = None,
    reviewers: Iterable[Label] = (),
    items: Iterable[Label] = (),
    scale: str | Sequence[str] | None = None,
    lower_is_better: bool = False,
    note: Note | None = None,
    criteria: Iterable[str] | None = None,
    duplicates: str = "error",
    accept: str | Iterable[str] = (),
) -> Columns:
    """Read reviews from a data frame as from a file; the arguments are those of :class:`reviewgraph.Reviews`.

    Levels of an index of pandas that are named like a reviewer or an item are columns, where no column is. A wide table
    of pandas, whose index and columns are named so, is read so. NaN is null in pandas and refused elsewhere.
    """
    if (side := rows_of_wide(frame)) is not None and columns is None and score is None and scale is None:
        return _from_wide(frame, side, lower_is_better=lower_is_better)
    table = FrameTable(_long(frame))
    grades = parse_scale(scale, lower_is_better=lower_is_better)
    problems = Problems()

    def say(message: str) -> None:
        if note:
            note(_in_python(message))

    try:
        wanted = choose_score(columns or {}, score)
        require_named([table.header], (*ROLES, CONFIDENCE, CRITERION), wanted)
        places = locate(table.header, ROLES, wanted, table.name, lambda message: None)
    except InputError as error:
        raise InputError(f"{_in_python(str(error))}{_ask_wide(table, columns or {})}") from error
    try:
        asked = Asked(wanted, grades, duplicates, lower_is_better, criteria)
        part = read_part(table, asked, Audit(accept, say, in_python), problems, say)
        problems.raise_any()
        if SCORE.name not in places and SCORE.name not in wanted:
            taken = {
                name: name for place, name in enumerate(table.header) if place in places.values() or is_status(name)
            }
            # Columns that are named as criteria are not the score.
            taken |= {name: name for name in criteria or ()}
            for name in ask_criteria(table, taken):
                say(f"frame: all reviews count as planned; to read scores say {naming('', SCORE, name)}")
    except InputError as error:
        raise type(error)(_in_python(str(error))) from error
    if criteria is None and part.has_scores:
        unsure = [name for name in part.criteria if name in table.header]
        for message in say_unusual(table.name, unsure, CHOOSE_CRITERIA):
            say(message)
    columns_read = together([part], reviewers, [*items, *part.kept])
    origin = columns_read.origin._replace(meta=frozenset(part.barred))
    return replace(columns_read, lower_is_better=lower_is_better, origin=origin)


class FrameTable(Table):
    """A data frame as a table: its labels keep their types, numbers stay numbers, all else is text."""

    name = "frame"
    decimal_comma = False

    def __init__(self, frame: Any) -> None:
        self.frame = frame
        self.header = list(map(str, frame.columns))
        self.unread = [place for place in range(len(self.header)) if self._has_collections(place)]

    def _has_collections(self, place: int) -> bool:
        column = self.column(place)
        return bool(column.dtype.is_nested()) or (column.dtype == nw.Object and _has_collections(column.to_list()))

    def place(self, line: int) -> str:
        return f"row {line}"

    def holds_numbers(self, place: int) -> bool:
        kind = self.column(place).dtype
        return bool(kind.is_numeric() or kind == nw.Boolean)

    def column(self, place: int) -> Any:
        return self.frame.get_column(self.frame.columns[place])

    def read(self, positions: Sequence[int], problems: Problems) -> Rows:
        for place in positions:
            if place in self.unread:
                raise InputError(
                    f"{self.name}: column {quote(self.header[place])}: expected text or numbers, found lists or "
                    "dictionaries; make one row of each entry (frame.explode), or choose another column"
                )
        return Rows([self._read(place) for place in positions], range(len(self.frame)))

    def _read(self, place: int) -> Column | Numbers:
        column = self.column(place)
        if place in self.labels:
            # Some frames do not count NaN as null.
            codes, values = encode((column.fill_nan(None) if column.dtype.is_float() else column).to_list())
            return Column(codes, list(values))
        if column.dtype.is_numeric():
            known = ~np.asarray(column.is_null().to_numpy(), np.bool_)
            numbers = np.full(known.size, np.nan)
            numbers[known] = column.filter(~column.is_null()).to_numpy()
            return Numbers(numbers, known)
        codes, values = encode(column.to_list())
        return Column(codes, list(values))


def _has_collections(values: Iterable[Any]) -> bool:
    """Whether any of the values of a column is a list, a dictionary or the like, which is neither text nor a number."""
    return any(issubclass(kind, list | dict | set | np.ndarray) for kind in set(map(type, values)))


def _is_missing(value: Any) -> bool:
    if isinstance(value, Real | Decimal):
        return bool(value != value)
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def _long(frame: Any) -> Any:
    """Return a frame in the form of narwhals: collected, and with the levels of its index that are roles as columns."""
    if hasattr(frame, "reset_index") and not hasattr(frame, "columns"):
        raise InputError("frame: expected a data frame, found a Series; write frame.reset_index()")
    if isinstance(getattr(frame, "index", None), Iterable) and hasattr(frame, "reset_index"):
        if getattr(frame.columns, "nlevels", 1) > 1:
            raise InputError(
                f"frame: expected one level of column names, found {frame.columns.nlevels}; select one score "
                '(frame["score"]), or write frame.stack()'
            )
        present = [
            role for role in (REVIEWER, ITEM) if any(normalise(str(header)) in role.names for header in frame.columns)
        ]
        missing = [role for role in (REVIEWER, ITEM) if role not in present]
        levels = [
            level
            for level in frame.index.names
            if level is not None and any(normalise(str(level)) in role.names for role in missing)
        ]
        frame = frame.reset_index(level=levels) if levels else frame
    try:
        table = nw.from_native(frame)
        return table.collect() if isinstance(table, nw.LazyFrame) else table
    except TypeError as error:
        message = f"frame: expected a data frame (pandas, polars, pyarrow ...), found {type(frame).__name__}"
        raise InputError(message) from error
    except DuplicateError as error:
        names = list(map(str, frame.columns))
        twice = first_repeated(names)
        message = (
            f"frame: {names.count(twice)} columns are called {twice!r}; rename or drop all but the one that counts"
        )
        raise InputError(message) from error


def of_roles(frame: Any, roles: Sequence[Role], note: Note) -> tuple[Any, list[str]]:
    """Return a data frame with the columns of some roles only, and the names of the others."""
    table = _long(frame)
    header = list(map(str, table.columns))
    try:
        places = sorted(locate(header, roles, {}, "frame", lambda message: note(_in_python(message))).values())
    except InputError as error:
        raise InputError(_in_python(str(error))) from error
    unused = [name for place, name in enumerate(header) if place not in places]
    return table.select(*(table.columns[place] for place in places)).to_native(), unused


def _ask_wide(table: FrameTable, wanted: Mapping[str, str]) -> str:
    """Return advice for a frame that may have a column per reviewer, or per item; nothing for others."""
    if recognised(table.header, (REVIEWER, ITEM), wanted) == 2:
        return ""
    numbers = sum(map(table.holds_numbers, range(len(table.header))))
    if len(table.header) < 2 or numbers < len(table.header) - 1:
        return ""
    return (
        ". If it is a wide table with a column per reviewer, name index and columns "
        '(frame.rename_axis(index="item", columns="reviewer"), in polars frame.unpivot)'
    )


# Tables with a named index and named columns, and rows.


def rows_of_wide(frame: Any) -> str | None:
    """Return which side the rows of a wide table are, by the names of its two axes; None where these do not say so."""
    if not hasattr(frame, "reset_index") or not hasattr(frame, "columns"):
        return None
    names = [normalise(str(getattr(axis, "name", None))) for axis in (frame.index, frame.columns)]
    sides = [role.name for name in names for role in (REVIEWER, ITEM) if name in role.names]
    return sides[0] if len(sides) == len(set(sides)) == 2 else None


def _from_wide(frame: Any, side: str, *, lower_is_better: bool) -> Columns:
    """Read a table of pandas whose rows are of a side; missing cells are no reviews, and True is a planned review."""
    values, scored = matrix_of_frame(frame, "frame")
    if scored:
        ask_zeros(values, "frame")
    people, papers = (frame.columns, frame.index) if side == "item" else (frame.index, frame.columns)
    return from_biadjacency(
        values.T if side == "item" else values,
        scored=scored,
        reviewers=list(people),
        items=list(papers),
        lower_is_better=lower_is_better,
    )


def matrix_of_frame(frame: Any, name: str) -> tuple[npt.NDArray[Any], bool]:
    """Return the cells of a wide table of pandas, and whether they are numbers rather than True and False."""
    kinds = {getattr(kind, "kind", "O") for kind in frame.dtypes}
    if kinds == {"b"}:
        return frame.to_numpy(bool), False
    if not kinds <= set("iuf"):
        odd = next(column for column, kind in zip(frame.columns, frame.dtypes, strict=True) if kind.kind not in "iuf")
        message = f"{name}: expected numbers in every column of a wide table, found {frame[odd].dtype} in {odd!r}"
        raise InputError(message)
    return frame.to_numpy(float, na_value=np.nan), True


def ask_zeros(values: FloatArray, name: str) -> None:
    """Refuse a table without gaps that has zeros: a zero may be a score, or mean "no review"."""
    zeros = int((values == 0).sum())
    if zeros and not np.isnan(values).any():
        raise InputError(
            f"{name}: {zeros} of {values.size} entries are 0, which may be scores or no reviews; write NaN where there "
            "is no review (scipy.sparse.csr_array(matrix) drops zeros), pass booleans where the numbers only say who "
            "reviews what, or write Reviews.from_biadjacency(matrix) if they are scores"
        )


def from_records(rows: Any, **options: Any) -> Columns:
    """Read reviews from rows with names (dictionaries, named tuples, a record array), or from columns by name.

    ``options`` are those of :func:`from_frame`.
    """
    if isinstance(rows, Mapping):
        for name, values in rows.items():
            if isinstance(values, str) or not isinstance(values, Iterable) or getattr(values, "ndim", 1) != 1:
                raise InputError(f"columns: expected a list of values for each name, found {values!r} for {name!r}")
        columns = {str(name): list(values) for name, values in rows.items()}
    elif isinstance(rows, np.ndarray):
        columns = {name: rows[name].tolist() for name in rows.dtype.names or ()}
    else:
        records = [row if isinstance(row, Mapping) else row._asdict() for row in rows]
        names = dict.fromkeys(name for row in records for name in row)
        columns = {str(name): [row.get(name) for row in records] for name in names}
    sizes = {name: len(values) for name, values in columns.items()}
    if len(set(sizes.values())) > 1:
        raise InputError(f"columns: expected as many values in each, found {sizes}")
    import pandas

    return from_frame(pandas.DataFrame({name: _series(name, values) for name, values in columns.items()}), **options)


def _series(name: str, cells: Sequence[Any]) -> pandas.Series[Any]:
    """Return cells of one type, None or NaN where one is missing, as a column of pandas."""
    import pandas

    values = [None if _is_missing(value) else value for value in cells]
    types = set(map(type, values)) - {type(None)}
    numbers = all(issubclass(kind, Real | Decimal) and not issubclass(kind, bool) for kind in types)
    if numbers and not all(issubclass(kind, Integral) for kind in types):
        values = [np.nan if value is None else float(value) for value in values]
    elif len(types) > 1 and not numbers and not all(issubclass(kind, str) for kind in types):
        kinds = ", ".join(sorted(kind.__name__ for kind in types))
        raise InputError(f"rows: expected values of one type in {name!r}, found {kinds}")
    return pandas.Series(values, dtype=object).infer_objects()


def _in_python(message: str) -> str:
    """Return a message on columns with Python's argument instead of the option of commands."""
    text = re.sub(r"--score ('?)(.+?)\1(?=[;:)]|$)", r'score="\2"', message)
    text = re.sub(r"--columns ('?)(\w+)=(.*?)\1(?=[;:)]|$)", r'columns={"\2": "\3"}', text)
    text = text.replace('with columns={"score": ""}', "with criteria=[...], their names")
    text = in_python(text).replace("--columns: ", "columns: ").replace(" before '='", "")
    return re.sub(r"(?<=\})(?=\)?$)", " of Reviews", text) if text.startswith("frame: ") else text


# Reviews from bipartite graphs of networkx and igraph.

#: The two sides of the graph, in the order of the attribute ``bipartite``, or of ``type`` in igraph: False, True.
SIDES = ("reviewer", "item")


class _Graph(NamedTuple):
    """Vertices 0, 1, ... with labels and attributes, edges between them with theirs, and those of the graph."""

    labels: Sequence[Any]
    side: str  #: The attribute of vertices that is 0 for a reviewer and 1 for an item.
    vertices: Sequence[Mapping[str, Any]]
    ends: Sequence[tuple[int, int]]
    edges: Sequence[Mapping[str, Any]]
    general: Mapping[str, Any]


def from_networkx(graph: nx.Graph, **options: Any) -> Columns:
    """Read reviews from a bipartite graph of networkx in O(M log M + N log N + E log E).

    Nodes have the attribute ``bipartite``: 0 for a reviewer, 1 for an item; or ``reviewers`` lists the nodes that are
    reviewers. The label of a node is the node itself, or ``label`` if it is ``("reviewer", label)`` or
    ``("item", label)``. Edges are reviews, in either direction; one whose attribute ``score`` is missing or None is
    planned. The attribute ``title`` of items is kept, ``criteria`` (a mapping of further scores) and ``confidence`` of
    edges, and the graph's ``target`` and, if none is passed, ``lower_is_better``. ``options`` are those of
    :func:`_from_graph`.

    >>> import networkx as nx
    >>> graph = nx.Graph([("ann", "p1"), ("ann", "p2")])
    >>> nx.set_node_attributes(graph, {"ann": 0, "p1": 1, "p2": 1}, "bipartite")
    >>> from_networkx(graph)
    <Columns: 1 reviewer, 2 items, 2 rows>
    """
    nodes = list(graph)
    number = {node: index for index, node in enumerate(nodes)}
    vertices = [{"bipartite": _side_in(node), **attributes} for node, attributes in graph.nodes(data=True)]
    ends = [(number[a], number[b]) for a, b in graph.edges()]
    edges = [edge for *_, edge in graph.edges(data=True)]
    return _from_graph(_Graph(nodes, "bipartite", vertices, ends, edges, graph.graph), **options)


def from_igraph(graph: igraph.Graph, **options: Any) -> Columns:
    """Read reviews from a bipartite graph of igraph, as :func:`from_networkx` does.

    Vertices have the attribute ``type``: False for a reviewer, True for an item. Its label is its ``name``, or its
    index if vertices have no names; ``reviewers`` lists labels.

    >>> import igraph
    >>> from_igraph(igraph.Graph.Full_Bipartite(2, 3))
    <Columns: 2 reviewers, 3 items, 6 rows>
    """
    vertices = [vertex.attributes() for vertex in graph.vs]
    names = [vertex.get("name", number) for number, vertex in enumerate(vertices)]
    edges = [edge.attributes() for edge in graph.es]
    general = {name: graph[name] for name in graph.attributes()}
    return _from_graph(_Graph(names, "type", vertices, graph.get_edgelist(), edges, general), **options)


def _side_in(node: Any) -> int | None:
    """Return the side of a node ``("reviewer", label)`` or ``("item", label)``; None of others."""
    return SIDES.index(node[0]) if isinstance(node, tuple) and len(node) == 2 and node[0] in SIDES else None


def _sides(graph: _Graph, reviewers: Iterable[Any] | None) -> list[int]:
    """Return 0 for reviewers and 1 for items: as listed, otherwise as the attribute of vertices says."""
    if reviewers is not None:
        asked = list(reviewers)
        people = set(asked)
        unknown = people.difference(graph.labels)
        if unknown:
            message = f"reviewers: expected nodes of the graph, found {next(one for one in asked if one in unknown)!r}"
            raise InputError(message)
        return [int(label not in people) for label in graph.labels]
    sides: list[Any] = [vertex.get(graph.side) for vertex in graph.vertices]
    # Report a wrong value first, and a missing one only if there is none.
    for vertex in sorted(range(len(sides)), key=lambda number: sides[number] is None):
        if sides[vertex] not in (0, 1):
            message = (
                f"{graph.side}: expected 0 for a reviewer or 1 for an item, found {sides[vertex]!r} at vertex "
                f"{graph.labels[vertex]!r}"
            )
            if sides[vertex] is None:
                message += "; set the attribute of every vertex, or pass the nodes as reviewers=[...] of Reviews"
            raise InputError(message)
    return list(map(int, sides))


def _note_weights(score: str, edges: Sequence[Mapping[str, Any]], note: Note | None) -> None:
    """Note that no edge has a score where all have another number."""
    if note is None or not edges or any(score in edge and edge[score] is not None for edge in edges):
        return
    numbers = [name for name, value in edges[0].items() if isinstance(value, Real) and not isinstance(value, bool)]
    if numbers:
        note(
            f"edges: all reviews count as planned, for none has the attribute {score!r}; to read scores say "
            f"Reviews(graph, score={numbers[0]!r})"
        )


def _from_graph(
    graph: _Graph,
    *,
    score: str = "score",
    reviewers: Iterable[Any] | None = None,
    lower_is_better: bool | None = None,
    note: Note | None = None,
) -> Columns:
    _note_weights(score, graph.edges, note)
    side = np.array(_sides(graph, reviewers), np.int64)
    in_pairs = zip(graph.labels, side.tolist(), strict=True)
    # Only networkx has nodes that say their side.
    labels = [label[1] if graph.side == "bipartite" and _side_in(label) == at else label for label, at in in_pairs]
    code = np.empty(side.size, np.int64)
    distinct: list[Sequence[Label]] = []
    # Each side is numbered separately: a reviewer and an item may have the same label, two reviewers may not.
    for at, name in enumerate(SIDES):
        members = np.flatnonzero(side == at)
        code[members], distinct_labels = encode([labels[vertex] for vertex in members.tolist()])
        distinct.append(distinct_labels)
        if len(distinct_labels) < members.size:
            twice = distinct_labels[int(np.flatnonzero(np.bincount(code[members]) > 1)[0])]
            raise InputError(f"{name}: expected one vertex per label, found two vertices with the label {twice!r}")
    # An edge must join the sides, in either direction.
    pairs = np.array(graph.ends, np.int64).reshape(-1, 2)
    alike = np.flatnonzero(side[pairs[:, 0]] == side[pairs[:, 1]])
    if alike.size:
        a, b = pairs[alike[0]].tolist()
        raise InputError(
            f"edges: expected a reviewer and an item, found {labels[a]!r} and {labels[b]!r}, both {SIDES[side[a]]}s"
        )
    pairs = np.where((side[pairs[:, 0]] == 0)[:, None], pairs, pairs[:, ::-1])
    scores = [edge.get(score) for edge in graph.edges]
    fields = [edge["criteria"] if isinstance(edge.get("criteria"), Mapping) else {} for edge in graph.edges]
    sure = [edge.get("confidence") for edge in graph.edges]
    papers = [(label, vertex) for label, at, vertex in zip(labels, side, graph.vertices, strict=True) if at]
    target = graph.general.get("target")
    lower = graph.general.get("lower_is_better", False) if lower_is_better is None else lower_is_better
    return Columns(
        *(code[pairs[:, 0]], code[pairs[:, 1]], distinct[0], distinct[1]),
        score=_or_nan("score", scores),
        scored=np.array([value is not None for value in scores], np.bool_),
        row_name=lambda edge: "edge {} ({!r}, {!r})".format(edge, *(labels[end] for end in graph.ends[edge])),
        titles={label: vertex["title"] for label, vertex in papers if vertex.get("title") is not None},
        lower_is_better=bool(lower),
        target=None if target is None else str(target),
        criteria={
            str(name): _or_nan(str(name), [entry.get(name) for entry in fields])
            for name in sorted({name for entry in fields for name in entry}, key=str)
        },
        confidence=None if all(value is None for value in sure) else _or_nan("confidence", sure),
    )


def _or_nan(name: str, values: Sequence[Any]) -> FloatArray:
    return as_numbers(name, [np.nan if value is None else value for value in values])


# Matrices.


def from_biadjacency(
    matrix: scipy.sparse.sparray | scipy.sparse.spmatrix | npt.NDArray[Any],
    *,
    scored: bool = True,
    nan_is_planned: bool = False,
    reviewers: Sequence[Label] | None = None,
    items: Sequence[Label] | None = None,
    titles: Mapping[Label, str] | None = None,
    lower_is_better: bool = False,
) -> Columns:
    """Read reviews from a reviewers x items matrix in O(E log E).

    The reviews are the stored entries of a sparse matrix, stored zeros included, or the entries of a dense one that are
    not NaN (with ``scored=False``: not 0). With ``nan_is_planned`` NaN is a planned review.
    """
    import scipy.sparse

    sparse = bool(scipy.sparse.issparse(matrix))
    if isinstance(matrix, np.ma.MaskedArray) and matrix.dtype.kind in "biuf":
        # A masked entry is no review.
        matrix = np.ma.filled(matrix.astype(np.float64), np.nan) if scored else np.ma.filled(matrix, 0)
    try:
        table: Any = matrix if sparse else np.asarray(matrix)
    except ValueError as error:
        message = "matrix: expected real numbers in reviewers x items, found rows of different lengths"
        raise InputError(message) from error
    if table.ndim != 2 or table.dtype.kind not in "biuf":
        message = f"matrix: expected real numbers in reviewers x items, found {table.dtype} in {table.ndim} dimensions"
        raise InputError(message)
    row_labels = range(table.shape[0]) if reviewers is None else reviewers
    column_labels = range(table.shape[1]) if items is None else items
    if (len(row_labels), len(column_labels)) != table.shape:
        raise InputError(
            f"reviewers and items: expected {table.shape[0]} and {table.shape[1]} labels, one per row and column "
            f"of the matrix, found {len(row_labels)} and {len(column_labels)}"
        )
    for side, labels in (("reviewers", reviewers), ("items", items)):
        if labels is not None and len(set(labels)) < len(labels):
            twice = first_repeated(labels)
            raise InputError(f"{side}: expected a label of its own for each line of the matrix, found {twice!r} twice")
    # What is stored is a review; of those, NaN may mean that the score is yet to come.
    if sparse:
        entries = table.tocoo()
        row = entries.row.astype(np.int64)
        column = entries.col.astype(np.int64)
        value = entries.data.astype(np.float64)
    else:
        values = table.astype(np.float64)
        present = values != 0 if not scored else np.full(values.shape, True) if nan_is_planned else ~np.isnan(values)
        row, column = np.nonzero(present)
        value = values[row, column]
    known = ~np.isnan(value) if nan_is_planned else np.ones(value.size, np.bool_)
    return Columns(
        *(row, column, row_labels, column_labels),
        score=value if scored else None,
        scored=known if scored else None,
        titles=titles or {},
        lower_is_better=lower_is_better,
        row_name=lambda entry: f"row {row[entry]}, column {column[entry]} of the matrix",
    )
