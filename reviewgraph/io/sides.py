"""Side tables as Python objects: pairs, mappings, Series and data frames, converted to one form.

Pairs are (reviewer, item) and become :class:`~reviewgraph.formats.columns.Columns`; columns of data frames are
recognised by name, as in files. ``name`` is the argument in messages. With ``spellings`` labels are respelled as the
reviews have them; :mod:`reviewgraph.io.matching` then matches them with the labels of the reviews.

Matrices and arrays of numbers are refused: without labels they may be in another order, or turned. A wide table of
pandas has labels, which say how it is turned.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from reviewgraph._base.arguments import as_numbers, refuse
from reviewgraph._base.arrays import BoolArray, IntArray, frozen
from reviewgraph._base.errors import ColumnWarning, InputError, LabelWarning, refused, warn
from reviewgraph._base.labels import Label, as_text, first_repeated, is_null, plain_label
from reviewgraph._base.results import Result
from reviewgraph._base.text import counted
from reviewgraph.formats.columns import ITEM, REVIEWER, Columns, Role, locate, normalise
from reviewgraph.formats.people import part_people
from reviewgraph.formats.side import CONFLICT
from reviewgraph.formats.spellings import PAPER, PERSON, Spellings, joined
from reviewgraph.formats.tables import Column
from reviewgraph.io.matching import match_labels, match_pairs, pairs_among
from reviewgraph.table.reviews import Reviews, planned_pairs

#: Types accepted by :func:`pairs_of`, :func:`numbered_pairs`, :func:`by_label` and :func:`labels_of`. Any stands for
#: data frames and Series, which have no type in common.
Pairs: TypeAlias = Columns | Reviews | Mapping[Any, Any] | Iterable[tuple[Label, Label]] | Any
Numbered: TypeAlias = Columns | Mapping[tuple[Label, Label], float] | Iterable[tuple[Label, Label, float]] | Any
Valued: TypeAlias = Mapping[Label, Any] | Iterable[tuple[Label, Any]] | Any
Chosen: TypeAlias = Iterable[Label] | Mapping[Label, bool] | Any

_PAIRS = "(reviewer, item) pairs, a mapping, or a data frame with columns reviewer and item"
_TRIPLES = "a mapping (reviewer, item) -> number, triples, or a data frame with columns reviewer, item and a number"


def pairs_of(table: Pairs, name: str, spellings: Spellings | None = None) -> Columns:
    """Return pairs as codes: from pairs, a mapping, a data frame, codes or reviews.

    The keys of a mapping are (reviewer, item), with True and False as values or none, or reviewers with several items
    each as values. A data frame of conflicts may have a column of yes and no.
    """
    if isinstance(table, Reviews):
        table = Columns(table.reviewer, table.item, table.reviewers, table.items)
    elif isinstance(table, Result):
        table = planned_pairs(table, name)
    if not isinstance(table, Columns):
        _refuse_matrix(table, name, _PAIRS, 2)
        if name == "conflicts" and _has_column(_frame_of(table), CONFLICT.role):
            reviewer, item = _conflicting(table, name)
        elif is_wide(table):
            remedy = "write it as pairs, as by frame.rename_axis(index='reviewer', columns='item').stack()"
            raise refused(name, _PAIRS, "a wide table", remedy)
        else:
            _refuse_flags(_frame_of(table), name)
            reviewer, item = _entries(table, name, (REVIEWER, ITEM), _PAIRS)
        table = _encoded(reviewer, item, name)
    return _spelled(table, name, spellings)


def _refuse_matrix(table: Any, name: str, expected: str, size: int) -> None:
    """Refuse a matrix of reviewers and items, and numbers that may be one or rows of ``size`` entries."""
    dense = isinstance(table, np.ndarray) and table.ndim == 2 and table.dtype.kind in "biuf" and table.size
    if hasattr(table, "tocoo") or (dense and (size == 3 or table.shape[1] != size or np.isin(table, (0, 1)).all())):
        remedy = "name its lines, as in [(reviewers[j], items[i]) for j, i in numpy.argwhere(matrix)]; or, if each row "
        remedy += f"is one of {size} entries, pass array.tolist()"
        raise refused(name, expected, "a matrix without labels", remedy)


def joined_pairs(first: Columns | None, second: Columns | None) -> Columns | None:
    """Concatenate two tables of pairs."""
    if first is None or second is None:
        return second if first is None else first
    return Columns(
        np.concatenate([first.reviewer, second.reviewer + len(first.reviewers)]),
        np.concatenate([first.item, second.item + len(first.items)]),
        [*first.reviewers, *second.reviewers],
        [*first.items, *second.items],
        origin=first.origin._replace(known=frozenset([*first.origin.known, *second.origin.known])),
    )


def _conflicting(table: Any, name: str) -> list[list[Any]]:
    """Return reviewers and items of the rows of a data frame that are conflicts, by its column of yes and no.

    A warning counts the others, and cells that say neither are refused.
    """
    flag = CONFLICT.role
    *labels, cells = _entries(table, name, (REVIEWER, ITEM, flag), _PAIRS)
    meaning = {cell: CONFLICT.parse("" if is_null(cell) else as_text(cell)) for cell in dict.fromkeys(cells)}
    wrong = next((cell for cell, says in meaning.items() if says is None), None)
    barred = [row for row, cell in enumerate(cells) if meaning[cell]]
    if wrong is not None or (any(map(is_null, meaning)) and not barred):
        cells_found = "empty cells and no yes" if wrong is None else repr(wrong)
        raise refused(name, f"yes or no in the column {flag.name}", cells_found, "drop the column if all are conflicts")
    if len(barred) < len(cells):
        free = counted(len(cells) - len(barred), "row is", "rows are")
        warn(f"{name}: {free} no conflict by the column {flag.name}, left out; drop it to read all", ColumnWarning)
    return [[column[row] for row in barred] for column in labels]


def numbered_pairs(table: Numbered, name: str, role: Role, spellings: Spellings | None = None) -> Columns:
    """Return pairs with a number each: from a mapping, triples, a Series over pairs, a data frame, or codes."""
    if isinstance(table, Columns):
        if table.score is None:
            raise refused(name, "a number for each pair", "a table of pairs without numbers")
        return _spelled(table, name, spellings)
    _refuse_matrix(table, name, _TRIPLES, 3)
    reviewer, item, values = _entries(table, name, (REVIEWER, ITEM, role), _TRIPLES)
    return _spelled(replace(_encoded(reviewer, item, name), score=as_numbers(name, values)), name, spellings)


def _entries(table: Any, name: str, roles: Sequence[Role], expected: str) -> list[list[Any]]:
    """Return the columns of some roles: of a data frame, of the keys and values of a mapping, or of rows."""
    frame = _frame_of(table)
    if frame is not None:
        return _columns(frame, roles, name)
    known = _mapping_of(table, name)
    if known is None:
        rows = _rows(table, name, expected, len(roles))
    elif tuple(roles) != (REVIEWER, ITEM):
        pairs = len(roles) == 3
        keys = _rows(list(known), name, "(reviewer, item) as a key", 2) if pairs else [(label,) for label in known]
        rows = [(*key, value) for key, value in zip(keys, known.values(), strict=True)]
    elif _are_rows(known, 2):
        rows = _flagged(known, name)
    else:
        rows = [(key, item) for key, items in known.items() for item in _rows(items, name, expected, 0)]
    return [[row[place] for row in rows] for place in range(len(roles))]


def _refuse_flags(frame: Any, name: str) -> None:
    """Refuse a data frame with a column of an unknown name that is False in some rows: these may not be meant."""
    for header in () if frame is None else frame.columns:
        flags = set(map(_plain_flag, frame.get_column(header).to_list()))
        if False in flags <= {True, False} and normalise(str(header)) not in {*REVIEWER.names, *ITEM.names}:
            remedy = f"keep the rows that are meant, as by frame[frame[{header!r}]], or drop the column"
            raise refused(name, "rows that are all meant", f"a column {header!r} that is False in some", remedy)


def _flags_of(table: Any, name: str) -> Mapping[Any, Any] | None:
    """Return a mapping, or an indexed Series of True and False, as a mapping; None of anything else."""
    if isinstance(table, Mapping) or (_is_indexed(table) and str(table.dtype) == "bool"):
        return _mapping_of(table, name)
    return None


def unflagged(table: Any, name: str) -> Any:
    """Return what is flagged as a list, anything without flags as it is."""
    flags = _flags_of(table, name)
    return table if flags is None else _flagged(flags, name)


def _flagged(known: Mapping[Any, Any], name: str) -> list[Any]:
    """Return the keys whose values are true; all keys where no value says yes or no, as of ``dict.fromkeys``."""
    values = set(map(_plain_flag, known.values()))
    if False not in values:
        return list(known)
    if not values <= {True, False}:
        other = next(value for value in known.values() if _plain_flag(value) is None)
        raise refused(name, "True or False for each pair, or no values", repr(other), "pass the pairs alone")
    kept = [key for key, value in known.items() if _plain_flag(value)]
    warn(f"{name}: {counted(len(known) - len(kept), 'entry is', 'entries are')} False, left out", ColumnWarning)
    return kept


def _plain_flag(value: Any) -> bool | None:
    """Return True or False, also of 1 and 0; None of anything else."""
    known: dict[Any, bool] = {True: True, False: False}
    return known.get(value) if isinstance(value, Hashable) else None


def by_label(table: Any, name: str, label: Role, value: Role, spellings: Spellings | None = None) -> dict[Any, Any]:
    """Return a value by label: from a mapping, a Series indexed by label, a data frame, or (label, value) pairs."""
    expected = f"a mapping or a Series from {label.name} to {value.name}, a data frame, or pairs"
    if name == "capacity" and isinstance(table, int):
        raise refused(name, expected, table, f"spare={table} is the same number for every reviewer")
    # The default index of a Series may be labels, or none.
    if _has_default_index(table):
        index = f"the default index 0 to {len(table) - 1}"
        raise refused(name, f"a Series indexed by {label.name}", index, "write frame.set_index(LABELS)[NUMBERS]")
    keys, values = _entries(table, name, (label, value), expected)
    labels = labels_in(keys, name, label, spellings)
    if len(set(labels)) < len(labels):
        raise InputError(f"{name}: {label.name} {first_repeated(labels)!r} stands twice; remove one of the two")
    return dict(zip(labels, values, strict=True))


def labels_of(
    table: Chosen, name: str, label: Role, chosen: Role | None = None, spellings: Spellings | None = None
) -> list[Any]:
    """Return labels: from anything that lists them, a Series, or a data frame with a column of them.

    Flags, in a mapping, an indexed Series or a column ``chosen`` of a data frame, select the labels whose flag is true.
    """
    frame = _frame_of(table)
    named_flags = _flags_of(table, name)
    if frame is not None:
        if chosen is None:
            _refuse_flags(frame, name)
        roles = (label,) if chosen is None or not _has_column(frame, chosen) else (label, chosen)
        labels, *flags = _columns(frame, roles, name)
        if flags:
            labels = [entry for entry, flag in zip(labels, *flags, strict=True) if flag]
    elif named_flags is not None:
        labels = [entry for entry, flag in named_flags.items() if flag]
    else:
        labels = _rows(table, name, f"several {label.name}s", 0)
        if labels and set(map(type, labels)) <= {bool}:
            raise refused(
                name, f"several {label.name}s", "True and False without labels", "pass dict(zip(labels, flags))"
            )
    return labels_in(labels, name, label, spellings)


def labels_in(labels: list[Any], name: str, role: Role, spellings: Spellings | None = None) -> list[Any]:
    """Return labels of a role as they are spelled; null ones, lists and the like are refused."""
    refuse(name, labels, "Iterable[Label]")
    labels = list(map(plain_label, labels))
    if spellings is None:
        _refuse_null(labels, name, role.name)
        return labels
    texts = [label for label in dict.fromkeys(labels) if isinstance(label, str)] if role.name == REVIEWER.name else []
    parted = part_people(Column(np.arange(len(texts)), texts), spellings.known(PERSON))
    if parted is not None and parted.several:
        raise refused(name, "one reviewer in each entry", repr(parted.several[0]), "make it an entry for each")
    return spellings.respelled(labels, PERSON if role.name == REVIEWER.name else PAPER, name)


def _refuse_null(labels: Sequence[Any], name: str, role: str) -> None:
    if any(map(is_null, dict.fromkeys(labels))):
        row = next(row for row, label in enumerate(labels) if is_null(label))
        raise refused(name, f"one {role} in every row", f"{labels[row]!r} in row {row}")


def _spelled(pairs: Columns, name: str, spellings: Spellings | None) -> Columns:
    """Return pairs with one person each, spelled as before."""
    if spellings is None:
        return pairs
    if set(map(type, pairs.reviewers)) == {str} and not pairs.criteria:
        parted = part_people(Column(pairs.reviewer, [str(label) for label in pairs.reviewers]), spellings.known(PERSON))
        for words in () if parted is None else parted.notes(REVIEWER.name):
            warn(f"{name}: {words}", LabelWarning)
        if parted is not None:
            given = {"item": pairs.item, "score": pairs.score, "scored": pairs.scored}
            rows: dict[str, Any] = {
                name: None if values is None else values[parted.row] for name, values in given.items()
            }
            pairs = replace(pairs, reviewer=parted.column.codes, reviewers=parted.column.values, **rows)
    return joined(pairs, spellings, name)


def _encoded(reviewer: Sequence[Any], item: Sequence[Any], name: str) -> Columns:
    (left, reviewers) = _codes(reviewer, name, REVIEWER)
    (right, items) = _codes(item, name, ITEM)
    return Columns(left, right, reviewers, items)


def _codes(column: Sequence[Any], name: str, role: Role) -> tuple[IntArray, tuple[Label, ...]]:
    refuse("labels", list(column), "Iterable[Label]")
    _refuse_null(column, name, role.name)
    code = {label: number for number, label in enumerate(dict.fromkeys(column))}
    return np.fromiter(map(code.__getitem__, column), np.int64, len(column)), tuple(map(plain_label, code))


def _rows(table: Any, name: str, expected: str, size: int) -> list[Any]:
    """Return rows of ``size`` entries each, or any list where the size is 0."""
    several = not isinstance(table, str | bytes) and isinstance(table, Iterable) and getattr(table, "ndim", 1) > 0
    rows = (table.tolist() if hasattr(table, "tolist") else list(table)) if several else [table]
    if not several or (size and not _are_rows(rows, size)):
        wrong = next((row for row in rows if not _are_rows([row], size)), rows[0])
        if isinstance(wrong, Real) and several:
            remedy = "they may be in another order: give each its label, as by dict(zip(labels, numbers))"
            raise refused(name, expected, f"{counted(len(rows), 'number')} without labels", remedy)
        raise refused(name, expected, repr(wrong))
    return rows


def _are_rows(rows: Collection[Any], size: int) -> bool:
    """Whether all are rows of ``size`` entries, by sets of their types and lengths, for there may be many."""
    return set(map(type, rows)) <= {tuple, list} and set(map(len, rows)) <= {size}


def _mapping_of(table: Any, name: str) -> Mapping[Any, Any] | None:
    """Return a mapping, also of a Series with an index; None of anything else."""
    if isinstance(table, Mapping):
        return table
    if not _is_indexed(table):
        return None
    if not table.index.is_unique:
        raise InputError(f"{name}: {table.index[table.index.duplicated()][0]!r} stands twice; remove one of the two")
    entries = dict(table.items())
    # The levels of an index may be in the order (item, reviewer).
    turned = [normalise(str(level)) in ITEM.names for level in table.index.names] == [True, False]
    return {key[::-1]: value for key, value in entries.items()} if turned else entries


def is_frame(table: Any) -> bool:
    """Whether it is a data frame, or a Series with an index."""
    return _is_indexed(table) or _frame_of(table) is not None


def _is_indexed(table: Any) -> bool:
    return hasattr(table, "index") and hasattr(table, "reset_index") and not hasattr(table, "columns")


def _has_default_index(table: Any) -> bool:
    return _is_indexed(table) and type(table.index).__name__ == "RangeIndex" and table.index.name is None


def _frame_of(table: Any) -> Any:
    if isinstance(table, list | tuple | set | frozenset | str | Mapping) or not hasattr(table, "columns"):
        return None
    import narwhals as nw

    try:
        return nw.from_native(table, eager_only=True)
    except TypeError:
        return None


def _has_column(frame: Any, role: Role) -> bool:
    return frame is not None and any(normalise(str(header)) in role.names for header in frame.columns)


def _columns(frame: Any, roles: Sequence[Role], name: str) -> list[list[Any]]:
    """Return the columns of a data frame in the order of roles; labels may not be null."""
    wanted = [replace(role, required=True) for role in roles]
    places = locate(list(map(str, frame.columns)), wanted, {}, name, lambda message: None, prefix=None)
    columns = [frame.get_column(frame.columns[places[role.name]]).to_list() for role in roles]
    for role, cells in zip(roles, columns, strict=True):
        if role.label:
            _refuse_null(cells, name, role.name)
    return columns


# Reviews without those that will not be delivered.


class Gone(NamedTuple):
    """Reviewers, or single reviews, that will not be delivered."""

    reviewers: tuple[Label, ...] = ()
    pairs: Columns | None = None

    def keys(self, reviews: Reviews) -> IntArray:
        """Return the pairs whose labels are in a table, as ``reviewer * N + item``."""
        if self.pairs is None:
            return np.empty(0, np.int64)
        reviewer, item = pairs_among(self.pairs, reviews.reviewers, reviews.items)
        return reviewer * reviews.n_items + item


def gone_of(table: Any, spellings: Spellings | None = None) -> Gone:
    """Return :class:`Gone` from labels of reviewers or from (reviewer, item) pairs, in any form."""
    if table is None or isinstance(table, Gone):
        return table or Gone()
    if hasattr(table, "columns") or isinstance(table, Reviews):
        listed = table
    else:
        refuse("gone", table, "Iterable | Mapping")
        listed = list(unflagged(table, "gone"))
    in_pairs = isinstance(table, Columns | Reviews) or _has_column(_frame_of(table), ITEM)
    if in_pairs or (len(listed) and all(isinstance(entry, tuple) and len(entry) == 2 for entry in listed)):
        return Gone(pairs=pairs_of(table if in_pairs else listed, "gone", spellings))
    return Gone(tuple(labels_of(listed, "gone", REVIEWER, spellings=spellings)))


def without_gone(reviews: Reviews, gone_ones: Any) -> Reviews:
    """Return reviews without the planned ones of reviewers, or (reviewer, item) pairs, that are gone; scores stay.

    Reviewers without any remaining review are dropped. Unknown labels are warned of, and refused where none is known.
    """
    if gone_ones is None:
        return reviews
    gone = gone_of(gone_ones, reviews._spellings())
    code = match_labels(gone.reviewers, reviews.reviewers, "gone", "reviewer", other=reviews.items)
    lost: BoolArray = np.isin(reviews.reviewer, code[code >= 0])
    if gone.pairs is not None:
        match_pairs(gone.pairs, reviews.reviewers, reviews.items, "gone")
        lost |= np.isin(reviews.reviewer * reviews.n_items + reviews.item, gone.keys(reviews))
    lost &= ~reviews.scored
    if not lost.any():
        return reviews
    kept = reviews.subset(~lost)
    stays = (kept.loads > 0) | (reviews.loads == 0)
    return replace(
        kept,
        reviewer=frozen((np.cumsum(stays) - 1)[kept.reviewer]),
        reviewers=tuple(label for label, remains in zip(kept.reviewers, stays.tolist(), strict=True) if remains),
    )


def is_wide(table: Any) -> bool:
    """Whether it is a wide table of pandas: its axes are named, or no column is named like a reviewer or an item."""
    if not hasattr(table, "reset_index") or not hasattr(table, "columns"):
        return False
    from reviewgraph.formats.memory import rows_of_wide

    if rows_of_wide(table):
        return True
    names = {normalise(str(name)) for name in (*table.columns, *table.index.names)}
    if names & {*REVIEWER.names, *ITEM.names}:
        return False
    return all(getattr(kind, "kind", "O") in "biuf" for kind in table.dtypes)


def pairs_of_wide(frame: Any, name: str, reviewers: Iterable[Label], items: Iterable[Label]) -> Columns:
    """Return the numbers of a wide table as pairs; the names of its axes, or known labels, say how it is turned."""
    from reviewgraph.formats.memory import matrix_of_frame, rows_of_wide

    values, _ = matrix_of_frame(frame, name)
    rows, columns = ([plain_label(label) for label in axis] for axis in (frame.index, frame.columns))
    for labels in (rows, columns):
        if len(set(labels)) < len(labels):
            twice = first_repeated(labels)
            raise InputError(f"{name}: {twice!r} stands twice among the labels; remove one of the two")
    side = rows_of_wide(frame)
    if side is None:
        people = set(reviewers)
        papers = set(items)
        as_it_is = bool(people.intersection(rows) and papers.intersection(columns))
        the_other = bool(people.intersection(columns) and papers.intersection(rows))
        if as_it_is == the_other:
            why = "both fit" if as_it_is else f"found rows {rows[:3]} and columns {columns[:3]}"
            raise InputError(
                f"{name}: expected labels that say whether rows are reviewers or items, {why}; name the axes, as by "
                'frame.rename_axis(index="reviewer", columns="item")'
            )
        side = "reviewer" if as_it_is else "item"
    if side == "item":
        rows, columns = columns, rows
        values = values.T
    score = np.asarray(values, np.float64).ravel()
    known = ~np.isnan(score)
    reviewer, item = (codes.ravel()[known] for codes in np.indices(values.shape))
    return Columns(reviewer, item, rows, columns, score[known])
