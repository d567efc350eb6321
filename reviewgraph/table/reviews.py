"""The table of reviews: who reviews what, with a score or, before reviewing, without one."""

from __future__ import annotations

import inspect
from abc import ABCMeta
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cached_property, partial
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from reviewgraph._base.arguments import as_numbers, checked, refuse
from reviewgraph._base.arrays import BoolArray, FloatArray, IntArray, frozen, or_none, starts
from reviewgraph._base.errors import ColumnWarning, DuplicateReview, InputError, warn
from reviewgraph._base.labels import Label, LabelCodes, extended, plain_label, typed_codes
from reviewgraph._base.moved import CONSTRUCTORS
from reviewgraph._base.results import Backend, Result, backend_of
from reviewgraph._base.text import counted
from reviewgraph.formats.audit.audit import Audit
from reviewgraph.formats.audit.finding import in_python
from reviewgraph.formats.columns import UNKNOWN, Columns, Origin
from reviewgraph.formats.spellings import PAPER, PERSON, Merge, Spellings, joined
from reviewgraph.table.forms import is_graph, is_path, read_form
from reviewgraph.table.rows import (
    Duplicates,
    first_repeated,
    order_of_pairs,
    refuse_misfit,
    refuse_no_code,
    refuse_out_of_range,
    say_twice,
    table_rows,
    whole_codes,
)

if TYPE_CHECKING:
    import os

    import scipy.sparse
    from narwhals.typing import IntoDataFrame


class TableOptions(TypedDict, total=False):
    """Rarer options of :class:`Reviews`."""

    paper: str
    title: str
    confidence: str
    criterion: str
    titles: Mapping[Label, str]
    merge: Merge | None
    accept: str | Iterable[str]
    note: Callable[[str], object] | None


class CodeOptions(TypedDict, total=False):
    """Rarer options of :meth:`Reviews.from_codes`."""

    row_name: Callable[[int], str]
    titles: Mapping[Label, str] | None
    target: str | None


class ReviewTable:
    """The sizes of a table, and the direction of its scores; a table in parts has them as well."""

    reviewers: Sequence[Any]
    items: Sequence[Any]
    lower_is_better: bool

    @property
    def n_reviewers(self) -> int:
        """M, the number of reviewers."""
        return len(self.reviewers)

    @property
    def n_items(self) -> int:
        """N, the number of items, those nobody reviews included."""
        return len(self.items)

    @property
    def direction(self) -> str:
        """Which scores are the best ones, in words."""
        return "lower is better" if self.lower_is_better else "higher is better"

    def printed(self, values: npt.ArrayLike) -> FloatArray:
        """Return values on the scale of :attr:`score` in the direction of the original scores.

        The only place that undoes the sign of ``lower_is_better``, for people and other libraries. It is its own
        inverse.

        Parameters
        ----------
        values
            Numbers on the scale of :attr:`score`, of any shape.

        Returns
        -------
        ndarray
            The same shape, in the direction of the scores as passed: negated if lower is better.

        Examples
        --------
        >>> Reviews([("ann", "p1", 2.0)], lower_is_better=True).printed([-2.0]).tolist()
        [2.0]
        """
        array = as_numbers("values", values)
        return 0.0 - array if self.lower_is_better else array  # 0.0 - x has no negative zero


class _WithOldNames(ABCMeta):
    """A class, and the constructors of the last release, which warn."""

    if not TYPE_CHECKING:

        def __call__(cls, *arguments: Any, **keywords: Any) -> Any:
            # dataclasses.replace passes the fields themselves.
            return cls._of(**keywords) if "scored" in keywords else super().__call__(*arguments, **keywords)

        @property
        def __signature__(cls) -> inspect.Signature:
            whole = inspect.signature(cls.__init__)
            return whole.replace(parameters=list(whole.parameters.values())[1:])

        def __getattr__(cls, name: str) -> Any:
            if name not in CONSTRUCTORS:
                raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")
            warn(f"Reviews.{name}(...) is Reviews(...) from now on; the old name will be removed", DeprecationWarning)

            def made(*sources: Any, columns: Any = None, **options: Any) -> Any:
                if CONSTRUCTORS[name] in options:
                    sources = (options.pop(CONSTRUCTORS[name]), *sources)
                table, *names = sources
                return cls(table, columns=names[0] if names else columns, **options)

            return made


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Reviews(ReviewTable, Result, metaclass=_WithOldNames):
    """Reviews of items by reviewers: an immutable bipartite multigraph without repeated pairs.

    A review is a (reviewer, item) pair, *scored* or still *planned*. Reviewers have the codes 0..M-1 and items
    0..N-1; labels are their names. Rows are sorted by (reviewer, item). Columns are found by name, as in files. Labels
    are the Python values of the table: 7 and "7" differ. Tables are equal if their labels, reviews, scores, further
    fields and titles are, wherever they came from.

    Parameters
    ----------
    table
        Who reviews what: a data frame of pandas, polars, pyarrow or the like, one row per review (or a wide table of
        pandas whose index and columns are named reviewer and item); rows (reviewer, item) or (reviewer, item, score);
        dictionaries; a mapping from pairs to scores; a bipartite graph of networkx or igraph; a reviewers x items
        matrix; or the name of a file, as for :func:`reviewgraph.read_reviews`. A score that is null or None is a
        planned review.
    reviewer, item
        Names of columns that are called unusually. Papers are items: ``paper`` is the same as ``item``.
    score
        The score that counts where a review has several: a column, or a value of the column ``criterion``; of a graph
        the attribute of edges. The others become :attr:`criteria`.
    criteria
        The columns that are further scores, such as novelty; an empty list for none. By default all columns of numbers
        that may be scores.
    scale
        Grades from the best on, as a list or as text such as ``"A>B>C"``; by default scores are numbers.
    lower_is_better
        Whether 1 is the best score; by default as a graph says, otherwise false.
    duplicates
        What becomes of pairs with two scores: ``"error"`` (default), ``"last"`` or ``"mean"``.
    reviewers, items
        Labels that exist even without a row; of a matrix those of its lines; of a graph the nodes that are reviewers.
    columns
        Names of columns by role, such as ``{"score": "OveMer", "paper": "#"}``: the same as the keywords.
    **options
        ``paper``, ``title``, ``confidence`` and ``criterion``, further names of columns. ``titles``: titles by item, of
        rows and matrices. ``merge``: what becomes of
        labels that differ in letter case, blanks, invisible characters or type alone, and ``accept``: names of findings
        of the audit that are accepted, both as for :func:`reviewgraph.read_reviews`. ``note`` is called with a sentence
        where one of several columns was chosen, or where columns of unusual names are read as criteria; by default each
        sentence is a :class:`~reviewgraph.graph.ColumnWarning`.

    Attributes
    ----------
    reviewer, item
        Codes, shape (E,), sorted by reviewer and then by item, all pairs distinct.
    score
        Shape (E,), higher is better; read it where ``scored`` holds, elsewhere it is NaN.
    scored
        Shape (E,): false where the review is planned and has no score yet.
    reviewers, items
        Labels in the order of the codes, shapes (M,) and (N,). Items without a review may be among them.
    titles
        Titles by label of an item.
    lower_is_better
        The original scores had 1 as the best and were negated; printing negates them back.
    backend
        The original kind of data frame, which :meth:`to_frame` returns; None for other sources.
    origin
        Information of the original system, such as papers that cannot be among the items.
    merge
        Policy for similar labels in side tables: ``"all"``, ``"none"`` or a mapping, as for the reviews.
    target
        Name of the score field that :attr:`score` holds, such as ``"Overall merit"``; None where it has no name.
    criteria
        The further scores of the reviews by name, such as novelty and clarity: shapes (E,), higher is better as in
        :attr:`score`, NaN where missing. A review without a score may have them.
    confidence
        How sure reviewers say they are of a review, or how expert, shape (E,): larger is surer, NaN where missing. None
        where there is no such field.

    Raises
    ------
    InputError
        If the table has no such form, a column is missing or ambiguous, a score is no finite number, labels are null or
        alike, or an option does not apply to the form.
    DuplicateReview
        If a pair has two scores and ``duplicates`` is ``"error"``.

    Examples
    --------
    >>> reviews = Reviews([("ann", "p1", 6.0), ("ann", "p2", 8.0), ("bob", "p2", None)])
    >>> reviews
    <Reviews: 2 reviewers, 2 items, 3 reviews (2 scored, 1 planned)>
    >>> reviews.items_of(0).tolist(), reviews.reviewers_of(1).tolist()
    ([0, 1], [0, 1])
    >>> import polars
    >>> Reviews(polars.DataFrame({"pid": [1, 2], "email": ["a@x", "a@x"], "rating": [3.5, None]}), paper="pid")
    <Reviews: 1 reviewer, 2 items, 2 reviews (1 scored, 1 planned)>
    """

    reviewer: IntArray
    item: IntArray
    score: FloatArray
    scored: BoolArray
    reviewers: Sequence[Label]
    items: Sequence[Label]
    titles: Mapping[Label, str] = field(default_factory=dict)
    lower_is_better: bool = False
    backend: Backend | None = field(default=None, compare=False)
    origin: Origin = field(default=UNKNOWN, compare=False)
    merge: Literal["all", "none"] | Mapping[Any, Any] | None = field(default=None, compare=False)
    target: str | None = field(default=None, compare=False)
    criteria: Mapping[str, FloatArray] = field(default_factory=dict)
    confidence: FloatArray | None = None

    @checked(options=TableOptions)
    def __init__(
        self,
        table: ReviewsLike,
        *,
        reviewer: str | None = None,
        item: str | None = None,
        score: str | None = None,
        criteria: Iterable[str] | None = None,
        scale: str | Sequence[str] | None = None,
        lower_is_better: bool | None = None,
        duplicates: Duplicates = "error",
        reviewers: Iterable[Label] | None = None,
        items: Iterable[Label] | None = None,
        columns: Mapping[str, str] | None = None,
        **options: Unpack[TableOptions],
    ) -> None:
        more: dict[str, Any] = dict(options)
        policies = {name: more.pop(name) for name in ("merge", "accept", "note") if name in more}
        titles = more.pop("titles", None)
        # What is left are names of columns by role.
        by_role = {**(columns or {}), **more}
        by_role |= {name: called for name, called in (("reviewer", reviewer), ("item", item)) if called is not None}
        passed = {
            "columns": by_role or None,
            "score": score,
            "criteria": criteria,
            "scale": scale,
            "lower_is_better": lower_is_better,
            "reviewers": reviewers,
            "items": items,
            "titles": titles,
        }
        read = {name: value for name, value in passed.items() if value is not None}
        made = _read(
            list(table) if isinstance(table, Iterator) else table, "table", read, duplicates=duplicates, **policies
        )
        for entry in fields(self):
            object.__setattr__(self, entry.name, getattr(made, entry.name))

    @classmethod
    def _of(cls, **values: Any) -> Reviews:
        """Build from the fields themselves."""
        made = object.__new__(cls)
        for entry in fields(cls):
            default = entry.default if entry.default_factory is MISSING else entry.default_factory()
            object.__setattr__(made, entry.name, values.pop(entry.name, default))
        return made

    _paged_by: ClassVar[str] = "reviewgraph.report.check:reviews_page"
    _rows_are: ClassVar[str] = "reviews"

    @property
    def reviews(self) -> Reviews:
        """The table itself, as every result has its reviews."""
        return self

    def headline(self) -> str:
        """Return the sizes, how many reviews are scored where not all are, and the further fields, if any."""
        scored = int(self.scored.sum())
        state = f" ({scored:,} scored, {self.n_reviews - scored:,} planned)" if 0 < scored < self.n_reviews else ""
        sizes = counted(self.n_reviewers, "reviewer"), counted(self.n_items, "item"), counted(self.n_reviews, "review")
        names = f"; score {self.target!r}" if self.target and self.criteria else ""
        further = f"; criteria {', '.join(map(repr, self.criteria))}" if self.criteria else ""
        return f"{', '.join(sizes)}{state}{names}{further}{'; confidence' if self.confidence is not None else ''}"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy the fields alone: cached properties are computed again, and arrays are read-only."""
        return _restored, ({entry.name: getattr(self, entry.name) for entry in fields(self)},)

    # Sizes and the two compressed orders

    @property
    def n_reviews(self) -> int:
        """E, the number of reviews."""
        return int(self.reviewer.size)

    @cached_property
    def reviewer_start(self) -> IntArray:
        """Shape (M + 1,): the reviews of reviewer j are ``reviewer_start[j]:reviewer_start[j + 1]``."""
        return frozen(starts(self.reviewer, self.n_reviewers))

    @cached_property
    def item_start(self) -> IntArray:
        """Shape (N + 1,): the reviews of item i are ``by_item[item_start[i]:item_start[i + 1]]``."""
        return frozen(starts(self.item, self.n_items))

    @cached_property
    def by_item(self) -> IntArray:
        """Shape (E,): the reviews sorted by item and then by reviewer."""
        return frozen(np.argsort(self.item, kind="stable").astype(np.int64))

    @cached_property
    def reviewer_by_item(self) -> IntArray:
        """Shape (E,): the reviewers of the reviews in the order of :attr:`by_item`."""
        return frozen(self.reviewer[self.by_item])

    def items_of(self, reviewer: int) -> IntArray:
        """Items of a reviewer, ascending codes.

        Parameters
        ----------
        reviewer
            Code of the reviewer.

        Returns
        -------
        ndarray
            Shape (load,): codes of the items that the reviewer reviews, ascending.

        Examples
        --------
        >>> Reviews([("ann", 7), ("bob", 7), ("bob", 9)]).items_of(1).tolist()
        [0, 1]
        """
        refuse_no_code(reviewer, self.n_reviewers, "reviewer")
        return self.item[self.reviewer_start[reviewer] : self.reviewer_start[reviewer + 1]]

    def reviewers_of(self, item: int) -> IntArray:
        """Reviewers of an item, ascending codes.

        Parameters
        ----------
        item
            Code of the item.

        Returns
        -------
        ndarray
            Shape (reviews of the item,): codes of its reviewers, ascending.

        Examples
        --------
        >>> Reviews([("ann", 7), ("bob", 7), ("bob", 9)]).reviewers_of(0).tolist()
        [0, 1]
        """
        refuse_no_code(item, self.n_items, "item")
        return self.reviewer_by_item[self.item_start[item] : self.item_start[item + 1]]

    @property
    def loads(self) -> IntArray:
        """Shape (M,): reviews per reviewer."""
        return np.diff(self.reviewer_start)

    @property
    def reviews_per_item(self) -> IntArray:
        """Shape (N,): reviews per item."""
        return np.diff(self.item_start)

    @cached_property
    def reviewer_code(self) -> LabelCodes:
        """Code of each reviewer's label."""
        return LabelCodes((label, code) for code, label in enumerate(self.reviewers))

    @cached_property
    def item_code(self) -> LabelCodes:
        """Code of each item's label."""
        return LabelCodes((label, code) for code, label in enumerate(self.items))

    @property
    def _nouns(self) -> tuple[str, str]:
        """What pages call items and reviewers: as the columns were called, unless labels contain our own nouns."""
        if self.origin.nouns == UNKNOWN.nouns:
            return UNKNOWN.nouns
        labels = (str(label).lower() for side in (self.items, self.reviewers, self.titles.values()) for label in side)
        clash = any(noun in label for label in labels for noun in UNKNOWN.nouns)
        return UNKNOWN.nouns if clash else self.origin.nouns

    def _spellings(self) -> Spellings:
        """Return the spellings of these labels, by which similar labels of side tables are joined or refused."""
        return Spellings(self.merge, {PERSON: self.reviewer_code, PAPER: self.item_code})

    # Other tables from this one

    def only_scored(self) -> Reviews:
        """Return the reviews that have a score; reviewers and items stay, so that codes keep their meaning.

        Returns
        -------
        Reviews
            With the same reviewers and items, in the same codes.

        Examples
        --------
        >>> Reviews([("ann", 7, 3.0), ("bob", 7)]).only_scored()
        <Reviews: 2 reviewers, 1 item, 1 review>
        """
        return self if self.scored.all() else self.subset(self.scored)

    @checked
    def subset(self, keep: BoolArray | IntArray) -> Reviews:
        """Return some of the reviews (a mask or ascending indices) with the same reviewers and items.

        Parameters
        ----------
        keep
            Shape (E,): a mask of the reviews, or their numbers in any order.

        Returns
        -------
        Reviews
            With the same reviewers and items, in the same codes.

        Examples
        --------
        >>> Reviews([("ann", 7), ("bob", 7)]).subset(np.array([True, False]))
        <Reviews: 2 reviewers, 1 item, 1 review>
        """
        refuse_misfit(keep, self.n_reviews)
        return replace(
            self,
            reviewer=frozen(self.reviewer[keep]),
            item=frozen(self.item[keep]),
            score=frozen(self.score[keep]),
            scored=frozen(self.scored[keep]),
            criteria={name: frozen(values[keep]) for name, values in self.criteria.items()},
            confidence=None if self.confidence is None else frozen(self.confidence[keep]),
        )

    @checked
    def add(self, planned: Result | Iterable[tuple[Label, Label]] | Iterable[Any]) -> Reviews:
        """Return this table with the reviews of a plan, an assignment or other reviews as planned ones.

        Parameters
        ----------
        planned
            A result with columns reviewer and item, such as a plan, or its ``added``; or (reviewer, item) pairs. Labels
            may be new.

        Returns
        -------
        Reviews
            The table with the reviews added.

        Raises
        ------
        InputError
            If it has no such columns, or is an infeasible plan or assignment.
        DuplicateReview
            If a pair is in the table already or stands twice.

        Examples
        --------
        >>> Reviews([("ann", 1, 5.0)]).add([("bob", 1)])
        <Reviews: 2 reviewers, 1 item, 2 reviews (1 scored, 1 planned)>
        """
        if isinstance(planned, Result):
            new = planned_pairs(planned, "planned")
        else:
            listed = refuse("planned", planned, "Iterable[tuple[Label, Label]]")
            new = [(row.reviewer, row.item) if hasattr(row, "reviewer") else row for row in listed]
            refuse("planned", new, "list of pairs")
        known = self._spellings()
        people = known.respelled([plain_label(who) for who, _ in new], "reviewer", "planned")
        papers = known.respelled([plain_label(what) for _, what in new], "paper", "planned")
        table = self._with_labels(people, papers)
        reviewer = typed_codes(table.reviewers)
        item = typed_codes(table.items)
        return table._with_codes(
            np.array([reviewer[type(label), label] for label in people], np.int64),
            np.array([item[type(label), label] for label in papers], np.int64),
        )

    def _with_codes(self, reviewer: IntArray, item: IntArray, score: FloatArray | None = None) -> Reviews:
        """Return this table with reviews added by code, of pairs that are not in it: planned, or with scores."""
        reviewer = whole_codes(reviewer, "reviewer")
        item = whole_codes(item, "item")
        for codes, size, side in ((reviewer, self.n_reviewers, "reviewer"), (item, self.n_items, "item")):
            refuse_out_of_range(codes, size, side, "row {} of the reviews added".format)
        first = first_repeated(self.reviewer * self.n_items + self.item, reviewer * self.n_items + item)
        if first is not None:
            who = self.reviewers[int(reviewer[first])]
            what = self.items[int(item[first])]
            raise DuplicateReview(say_twice(who, what, "the table", "the reviews added"))
        sign = -1.0 if self.lower_is_better else 1.0
        added = np.zeros(len(reviewer)) if score is None else score
        missing = np.full(len(reviewer), np.nan)
        table = Reviews.from_codes(
            np.concatenate([self.reviewer, reviewer]),
            np.concatenate([self.item, item]),
            sign * np.concatenate([np.where(self.scored, self.score, 0.0), added]),
            scored=np.concatenate([self.scored, np.full(len(reviewer), score is not None)]),
            reviewers=self.reviewers,
            items=self.items,
            titles=self.titles,
            lower_is_better=self.lower_is_better,
            target=self.target,
            criteria={name: sign * np.concatenate([values, missing]) for name, values in self.criteria.items()},
            confidence=None if self.confidence is None else np.concatenate([self.confidence, missing]),
        )
        return replace(table, backend=self.backend, origin=self.origin, merge=self.merge)

    @checked
    def _with_labels(self, reviewers: Iterable[Label] = (), items: Iterable[Label] = ()) -> Reviews:
        """Return this table with further reviewers and items, who have no reviews; codes move to the natural order."""
        known = self._spellings()
        reviewer_of, all_reviewers = extended(self.reviewers, known.respelled(list(reviewers), "reviewer", "reviewers"))
        item_of, all_items = extended(self.items, known.respelled(list(items), "paper", "items"))
        if len(all_reviewers) == self.n_reviewers and len(all_items) == self.n_items:
            return self
        reviewer = reviewer_of[self.reviewer]
        item = item_of[self.item]
        table = replace(self, reviewer=reviewer, item=item, reviewers=all_reviewers, items=all_items)
        return table.subset(order_of_pairs(reviewer, item))

    def to_dict(self) -> dict[str, list[Any]]:
        """Return columns ``reviewer``, ``item`` and ``score`` (None where planned), as any data frame takes them.

        Columns of the further scores by name, and of ``confidence``, follow where there are any, None where missing. A
        criterion that is called like one of the others has ``criterion`` before its name.
        """
        columns = {**self._pairs(), "score": or_none(self.printed(self.score))}
        taken = {*columns, "confidence"}
        for name, values in self.criteria.items():
            columns[f"criterion {name}" if name in taken else name] = or_none(self.printed(values))
        return columns if self.confidence is None else {**columns, "confidence": or_none(self.confidence)}

    def _pairs(self) -> dict[str, list[Any]]:
        """Return the columns ``reviewer`` and ``item``."""
        return {
            "reviewer": [self.reviewers[j] for j in self.reviewer.tolist()],
            "item": [self.items[i] for i in self.item.tolist()],
        }

    def to_columns(self) -> dict[str, list[Any]]:
        """Return what :meth:`to_dict` does: a table is its columns."""
        return self.to_dict()

    def _tables(self) -> dict[str, Callable[[], Mapping[str, Sequence[Any]]]]:
        people = {"reviewer": self.reviewers, "reviews": self.loads.tolist()}
        papers = {"item": self.items, "reviews": self.reviews_per_item.tolist()}
        if self.titles:
            papers["title"] = [self.titles.get(label) for label in self.items]
        return {**super()._tables(), "reviewers": lambda: people, "items": lambda: papers}

    # Constructors

    @classmethod
    @checked(options=CodeOptions)
    def from_codes(
        cls,
        reviewer: npt.ArrayLike,
        item: npt.ArrayLike,
        score: npt.ArrayLike | None = None,
        *,
        reviewers: Sequence[Label] | int,
        items: Sequence[Label] | int,
        scored: npt.ArrayLike | None = None,
        duplicates: Duplicates = "error",
        lower_is_better: bool = False,
        criteria: Mapping[str, npt.ArrayLike] | None = None,
        confidence: npt.ArrayLike | None = None,
        **options: Unpack[CodeOptions],
    ) -> Reviews:
        """Build from integer codes, as every other constructor does; labels are kept as they are.

        Parameters
        ----------
        reviewer, item
            Codes, shape (E,), in any order.
        score
            Scores, shape (E,); none by default: all reviews are planned.
        reviewers, items
            Their labels, or their number (labels are then 0, 1, ...).
        scored
            Mask of the reviews with a score, shape (E,); all of them by default where scores are passed.
        duplicates
            Policy for pairs with two scores: refuse (default), keep the ``last`` row that has one, or take the
            ``mean``, of each score field by itself. A pair that is planned in one row and scored in another is one
            review, and so are rows with different fields of it.
        lower_is_better
            As the attribute; it negates the scores and criteria.
        criteria
            Further scores by name, shapes (E,), NaN where missing.
        confidence
            How sure reviewers say they are, shape (E,), NaN where missing; of several rows of a pair the mean counts,
            or the last where ``duplicates`` says so.
        **options
            ``titles`` and ``target``, as the attributes, and ``row_name``, a function from the number of a row, from 0,
            to its name in messages.

        Returns
        -------
        Reviews
            Sorted by reviewer and item.

        Raises
        ------
        InputError
            If a code is outside its range, arrays differ in length or a score is NaN or infinite.
        DuplicateReview
            If a pair has two scores and ``duplicates`` is ``"error"``.

        Examples
        --------
        >>> Reviews.from_codes([0, 0, 1], [0, 1, 1], [3.0, 5.0, 4.0], reviewers=["ann", "bob"], items=2)
        <Reviews: 2 reviewers, 2 items, 3 reviews>
        """
        reviewer_labels = range(reviewers) if isinstance(reviewers, int) else reviewers
        item_labels = range(items) if isinstance(items, int) else items
        rows = table_rows(
            *(reviewer, item, score, scored),
            reviewers=reviewer_labels,
            items=item_labels,
            duplicates=duplicates,
            row_name=options.get("row_name", "row {}".format),
            lower_is_better=lower_is_better,
            criteria=criteria or {},
            confidence=confidence,
        )
        return cls._of(
            **rows._asdict(),
            reviewers=reviewer_labels,
            items=item_labels,
            titles=dict(options.get("titles") or {}),
            lower_is_better=lower_is_better,
            target=options.get("target"),
        )

    @classmethod
    @checked
    def _from_columns(
        cls,
        columns: Columns,
        *,
        duplicates: Duplicates = "error",
        merge: Merge | None = None,
        accept: str | Iterable[str] = (),
        note: Callable[[str], object] | None = None,
    ) -> Reviews:
        """Build from the columns of a reader, after the audit; raises also where labels are null or similar."""
        columns = joined(columns, merge, "reviews")
        words = str if columns.origin.files else in_python
        columns = Audit(accept, note or partial(warn, category=ColumnWarning), words).of_table(columns)
        known = {entry.name: getattr(columns, entry.name) for entry in fields(columns)}
        origin = known.pop("origin")
        known.pop("audited")
        table = cls.from_codes(**known, duplicates=duplicates)
        return replace(table, origin=origin, merge=Spellings.of(merge).merge)

    @classmethod
    @checked
    def from_biadjacency(
        cls,
        matrix: scipy.sparse.sparray | scipy.sparse.spmatrix | npt.NDArray[Any],
        *,
        scored: bool = True,
        nan_is_planned: bool = False,
        reviewers: Sequence[Label] | None = None,
        items: Sequence[Label] | None = None,
        titles: Mapping[Label, str] | None = None,
        lower_is_better: bool = False,
        duplicates: Duplicates = "error",
        merge: Merge | None = None,
        accept: str | Iterable[str] = (),
    ) -> Reviews:
        """Build from a reviewers x items matrix, also from one whose zeros or few columns the constructor asks about.

        Parameters
        ----------
        matrix
            Shape (M, N): scores, NaN for pairs that are no reviews; of a sparse matrix all stored entries.
        scored
            Whether the entries are scores; otherwise those that are not 0 are planned reviews.
        nan_is_planned
            Whether NaN is a planned review.
        reviewers, items
            Labels of rows and columns, 0, 1, ... by default.
        titles, lower_is_better
            As the attributes.
        duplicates
            What counts where an entry is stored twice: ``"error"`` (default), ``"last"`` or ``"mean"``.
        merge, accept
            As for :class:`Reviews`.

        Returns
        -------
        Reviews
            With labels 0, 1, ... where none are passed.

        Examples
        --------
        >>> Reviews.from_biadjacency(np.array([[5.0, np.nan], [7.0, 0.0]]), items=["p1", "p2"])
        <Reviews: 2 reviewers, 2 items, 3 reviews>
        """
        from reviewgraph.formats.memory import from_biadjacency

        read = from_biadjacency(
            matrix,
            scored=scored,
            nan_is_planned=nan_is_planned,
            reviewers=reviewers,
            items=items,
            titles=titles,
            lower_is_better=lower_is_better,
        )
        return cls._from_columns(read, duplicates=duplicates, merge=merge, accept=accept)


def _restored(values: dict[str, Any]) -> Reviews:
    arrays = {name: frozen(value) for name, value in values.items() if isinstance(value, np.ndarray)}
    criteria = {name: frozen(value) for name, value in values["criteria"].items()}
    return Reviews._of(**{**values, **arrays, "criteria": criteria})


# Arguments that are reviews.

#: Reviews as an argument: the table, a result that has some, any form of :data:`reviewgraph.table.forms.FORMS`, or the
#: name of a file. Graphs, matrices and Series have no type in common, hence Any.
ReviewsLike: TypeAlias = "Reviews | Result | IntoDataFrame | str | os.PathLike[str] | Any"


def as_reviews(source: ReviewsLike | Any, name: str = "reviews") -> Reviews:
    """Return reviews as they are, those of a result, and any other form as :mod:`reviewgraph.table.forms` reads it.

    >>> import pandas
    >>> as_reviews(pandas.DataFrame({"reviewer": ["ann", "bob"], "paper": [1, 1], "score": [3, 4]}))
    <Reviews: 2 reviewers, 1 item, 2 reviews>
    >>> as_reviews([("ann", "p1", 3), ("bob", "p1", 4)])
    <Reviews: 2 reviewers, 1 item, 2 reviews>
    """
    return source if isinstance(source, Reviews) else _read(source, name, {})


#: Options of files.
_OF_FILES = ("columns", "score", "items", "scale", "lower_is_better")


def _read(
    source: Any,
    name: str,
    options: Mapping[str, Any],
    *,
    duplicates: Duplicates = "error",
    merge: Merge | None = None,
    accept: str | Iterable[str] = (),
    note: Callable[[str], object] | None = None,
) -> Reviews:
    """Return reviews in any form, with notes once they are read; ``options`` are those that were passed."""
    say = note or partial(warn, category=ColumnWarning)
    noted: list[str] = []
    policies: dict[str, Any] = {"duplicates": duplicates, "merge": merge, "accept": accept, "note": noted.append}
    if isinstance(source, Result):
        if options.keys() - {"reviewers", "items"}:
            message = f"{min(options)}: expected reviewers and items alone with Reviews, found more; leave it out"
            raise InputError(message)
        return _reviews_of(source, name)._with_labels(**options)
    if is_path(source):
        for option in options.keys() - set(_OF_FILES):
            message = (
                f"{option}: expected none with a file, found {options[option]!r}; leave it out, or read a data frame"
            )
            raise InputError(message)
        # Files are read by a room above, named here and loaded on demand.
        reviews: Reviews = resolve_name("reviewgraph.io.reading:read_reviews")(source, **options, **policies)
    else:
        read = read_form(source, name, noted.append, **options, duplicates=duplicates, accept=accept)
        # Labels that are passed, and the nodes of a graph, exist without a review.
        if not (options.keys() & {"reviewers", "items"} or is_graph(source)):
            _refuse_empty(read, name)
        reviews = replace(Reviews._from_columns(read, **policies), backend=backend_of(source))
    for message in noted:
        say(message)
    return reviews


def planned_pairs(result: Result, name: str) -> list[tuple[Label, Label]]:
    """Return the pairs that a plan or an assignment asks for, or that another table lists."""
    result._refuse_none(name)
    columns = result.to_columns()
    if not {"reviewer", "item"} <= set(columns):
        raise InputError(f"{name}: expected columns reviewer and item, found {', '.join(columns)}")
    return list(zip(columns["reviewer"], columns["item"], strict=True))


def _reviews_of(result: Result, name: str) -> Reviews:
    """Return the reviews of a result, of a plan with those that are planned."""
    result._refuse_none(name)
    reviews = getattr(result, "reviews", None)
    if not isinstance(reviews, Reviews):
        what = "without reviews" if reviews is None else "whose reviews are in parts"
        message = (
            f"{name}: expected reviews, or a result that has them in memory, found a {type(result).__name__} {what}"
        )
        raise InputError(message)
    return reviews


def _refuse_empty(read: Columns, name: str) -> None:
    if not len(read.items):
        raise InputError(
            f"{name}: expected a row per review, found no rows; where no review is assigned yet, say who and what "
            "there is, as Reviews([], reviewers=..., items=...)"
        )
