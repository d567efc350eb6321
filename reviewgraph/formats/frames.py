"""Reviews from data frames, by narwhals: pandas, polars, pyarrow and others."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from reviewgraph.arrays import BoolArray, FloatArray
from reviewgraph.columns import Columns
from reviewgraph.errors import InputError
from reviewgraph.formats.criteria import may_hold_scores, say_which_score
from reviewgraph.formats.headers import (
    ITEM,
    REVIEWER,
    SCORE,
    TITLE,
    locate,
    naming,
    refuse_row_numbers,
    require_named,
)
from reviewgraph.formats.problems import Problems
from reviewgraph.formats.values import are_scores, ask_direction, parse_scale, read_scores, say_bad_score
from reviewgraph.labels import Label, encode

ROLES = (REVIEWER, ITEM, SCORE, TITLE)


def from_frame(
    frame: Any,
    columns: Mapping[str, str] | None = None,
    *,
    reviewers: Iterable[Label] = (),
    items: Iterable[Label] = (),
    scale: str | Sequence[str] | None = None,
    lower_is_better: bool = False,
    note: Callable[[str], object] | None = None,
) -> Columns:
    """Read reviews from a data frame that narwhals knows.

    Parameters
    ----------
    frame
        A pandas, polars, pyarrow or other eager data frame. Columns are found by name as in a file.
    columns
        Names of columns we do not know, such as ``{"score": "OveMer"}``.
    reviewers, items
        Labels that exist whether or not a row names them.
    scale
        Grades, best first, such as ``"A>B>C"``; they count N, ..., 1.
    lower_is_better
        1 is the best score; false by default.
    note
        Called with each thing a person should know; by default nothing is said.

    Returns
    -------
    Columns
        Labels are the Python values of the frame: 7 and "7" differ. A null score is a planned review; NaN is a null
        in pandas, which has no other, and refused elsewhere.

    Raises
    ------
    InputError
        If it is not a data frame, a column is missing or ambiguous, or a row has no reviewer, no item or a bad score.

    Examples
    --------
    >>> import polars
    >>> from_frame(polars.DataFrame({"paper": [1, 2], "email": ["a@x", "a@x"], "rating": [3.5, None]}))
    <Columns: 1 reviewer, 2 items, 2 rows>
    """
    try:
        table = nw.from_native(frame, eager_only=True)
    except TypeError as error:
        message = f"frame: expected an eager data frame (pandas, polars, pyarrow ...), found {type(frame).__name__}"
        raise InputError(message) from error
    # Columns are found as in a file; cells keep the types of the frame.
    grades, wanted, problems = parse_scale(scale, lower_is_better=lower_is_better), dict(columns or {}), Problems()
    header = list(map(str, table.columns))
    try:
        require_named([header], ROLES, wanted)
        found = locate(header, ROLES, wanted, "frame", lambda message: note(_in_python(message)) if note else None)
    except InputError as error:
        raise InputError(_in_python(str(error))) from error
    column = {role: table.get_column(table.columns[place]) for role, place in found.items()}
    for role in ("reviewer", "item"):
        _note_null(column[role], role, problems)
    score, scored = _scores(column["score"], grades, problems) if "score" in column else (None, None)
    problems.raise_any()
    if "score" not in column and "score" not in wanted:
        _ask_criteria(table, set(found.values()), note)
    try:
        labels = set(map(str, column["item"].unique().to_list()))
        refuse_row_numbers(header, found, wanted, labels, len(table), "frame")
    except InputError as error:
        raise InputError(_in_python(str(error))) from error
    reviewer_codes, reviewer_labels = encode(column["reviewer"].to_list(), reviewers)
    item_codes, item_labels = encode(column["item"].to_list(), items)
    return Columns(
        *(reviewer_codes, item_codes, reviewer_labels, item_labels, score, scored),
        titles=_titles(column["item"], column["title"]) if "title" in column else {},
        lower_is_better=lower_is_better,
    )


def _in_python(message: str) -> str:
    """Return a message on columns with the argument of Python where it names the option of commands."""
    said = re.sub(r"--columns ('?)(\w+)=(.*?)\1(?=[;:)]|$)", r'columns={"\2": "\3"}', message)
    said = said.replace("--columns: ", "columns: ").replace(" before '='", "")
    return re.sub(r"(?<=\})(?=\)?$)", " of Reviews.from_frame", said) if said.startswith("frame: ") else said


def _ask_criteria(table: Any, taken: Collection[int], note: Callable[[str], object] | None) -> None:
    """Refuse a frame of which several columns may be the scores; say so where one may be."""
    columns = enumerate(table.columns)
    unused = [name for place, name in columns if place not in taken and may_hold_scores(str(name))]
    found = [str(name) for name in unused if _may_be_scores(table.get_column(name))]
    if len(found) > 1:
        raise InputError(_in_python(say_which_score("frame", found)))
    if found and note:
        note(_in_python(f"frame: all reviews count as planned; to read scores say {naming('', SCORE, found[0])}"))


def _may_be_scores(column: Any) -> bool:
    if column.dtype.is_numeric():
        return bool(not column.is_null().all() and column.null_count() < len(column))
    values = set(column.drop_nulls().to_list())
    return all(isinstance(value, str) for value in values) and are_scores(list(values))


def _note_null(column: Any, role: str, problems: Problems) -> None:
    # NaN is a number to some frames, and no label.
    missing = column.fill_nan(None) if column.dtype.is_float() else column
    rows = np.flatnonzero(missing.is_null().to_numpy()).tolist()
    problems.add_rows(0, rows, lambda n: f"row {rows[n]}: the {role} is null")


def _scores(column: Any, scale: Sequence[str], problems: Problems) -> tuple[FloatArray, BoolArray]:
    """Return numbers and which rows have one; text is read as in a file."""
    known = ~np.asarray(column.is_null().to_numpy(), np.bool_)
    if column.dtype.is_numeric():
        score = np.full(known.size, np.nan)
        score[known] = column.filter(~column.is_null()).to_numpy()
        return score, known
    # Text is read as in a file: each distinct cell once.
    cells = [value if there else "" for value, there in zip(column.to_list(), known.tolist(), strict=True)]
    code = {text: number for number, text in enumerate(dict.fromkeys(map(str, cells)))}
    codes, values = np.array([code[str(cell)] for cell in cells], np.int64), list(code)
    meaning = read_scores(values, scale)
    at = np.flatnonzero(meaning.bad[codes]).tolist()
    problems.add_rows(0, at, lambda n: f"row {at[n]}: {say_bad_score(values[codes[at[n]]], scale, False)}")
    question = None if scale else ask_direction([values[place] for place in np.flatnonzero(meaning.bad)])
    if question:
        problems.hint(question)
    return meaning.number[codes], meaning.scored[codes]


def _titles(item: Any, title: Any) -> dict[Label, str]:
    """Return title by item; where rows disagree the first in the alphabet."""
    pairs = zip(item.to_list(), title.to_list(), strict=True)
    named = {(label, text.strip()) for label, text in pairs if isinstance(text, str) and text.strip()}
    return dict(sorted(named, key=lambda pair: pair[1], reverse=True))
