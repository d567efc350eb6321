"""The result of every method: qualities, ranks and a selection."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from lsc.errors import ConvergenceWarning, Incomparable, UndeterminedWarning
from reviewgraph._base import (
    BoolArray,
    FloatArray,
    InputError,
    IntArray,
    Label,
    Result,
    checked,
    counted,
    or_none,
    order_of,
    selected_of,
    snapped,
    warn,
)
from reviewgraph.formats import ITEM, QUALITY, WEIGHT
from reviewgraph.graph import LARGEST_SHARE
from reviewgraph.io import Numbered, Valued, by_label, match_labels, match_pairs, numbered_pairs
from reviewgraph.table import Reviews

# References are items of known quality.


def expect_scores(number: int) -> None:
    """Raise InputError unless there are scores."""
    if not number:
        message = "reviews: expected scores, found none; calibrate after they have arrived, or where there "
        message += "are criteria alone, read the one that is to count with score=NAME (--score NAME)"
        raise InputError(message)


def known_values(reviews: Reviews, references: Valued) -> FloatArray:
    """Return the reference value of each item, shape (N,), in the direction of the scores; NaN for other items.

    InputError if no reference is among the items, labels match as text only, or a
    value is not finite; LabelWarning if some references are not among the items.

    >>> known_values(Reviews([("ann", "p1", 1.0), ("ann", "p2", 3.0)]), {"p2": 7.0}).tolist()
    [nan, 7.0]
    """
    values = by_label(references, "references", ITEM, QUALITY.role, reviews._spellings())
    code = match_labels(list(values), reviews.item_code, "references", "paper", other=reviews.reviewer_code)
    for label, value in values.items():
        if value is None or not np.isfinite(value):
            raise InputError(f"references: expected a finite quality, found {value} for item {label!r}")
    reference = np.full(reviews.n_items, np.nan)
    reference[code[code >= 0]] = np.array(list(values.values()), np.float64)[code >= 0]
    return reference


def weights_of_reviews(reviews: Reviews, rows: IntArray, weights: Numbered | None) -> FloatArray | None:
    """Return the reliability weight of each scored review, 1 for pairs that are not listed; None where none are passed.

    ``rows`` are the scored reviews; planned reviews and pairs without a review may have weights. InputError if no pair
    is a review, or a weight is not positive.
    """
    if weights is None:
        return None
    pairs = numbered_pairs(weights, "weights", WEIGHT.role, reviews._spellings())
    reviewer, item = match_pairs(pairs, reviews.reviewer_code, reviews.item_code, "weights")
    number = np.asarray(pairs.score)
    usable = (reviewer >= 0) & (item >= 0) & ~np.isnan(number)
    key = reviews.reviewer * reviews.n_items + reviews.item
    wanted = (reviewer * reviews.n_items + item)[usable]
    place = np.minimum(np.searchsorted(key, wanted), key.size - 1)
    listed = key[place] == wanted
    if wanted.size and not listed.any():
        raise InputError(f"weights: expected pairs that are reviews, found none among {counted(wanted.size, 'pair')}")
    weight = np.ones(reviews.n_reviews)
    weight[place[listed]] = number[usable][listed]
    wrong = rows[~np.isfinite(weight[rows]) | (weight[rows] <= 0)]
    if wrong.size:
        row = int(wrong[0])
        who = reviews.reviewers[int(reviews.reviewer[row])]
        what = reviews.items[int(reviews.item[row])]
        raise InputError(f"weights: expected positive finite numbers, found {weight[row]:g} for {who!r} and {what!r}")
    return weight[rows]


@dataclass(frozen=True, eq=False, repr=False)
class Estimate(Result):
    """Estimated qualities of the items of some reviews.

    Parameters
    ----------
    reviews
        The reviews.
    quality
        Shape (N,): higher is better in either direction of the scores, NaN for an item without a score.
    method
        Name of the method.

    Examples
    --------
    >>> reviews = Reviews([("ann", "p1", 1.0), ("ann", "p2", 3.0)])
    >>> estimate = Estimate(reviews, np.array([1.0, 3.0]), "average")
    >>> estimate.ranking(), estimate.select(1)
    (['p2', 'p1'], ['p2'])
    """

    reviews: Reviews
    quality: FloatArray
    method: str

    _paged_by: ClassVar[str] = "lsc.pages.page:page_of"
    _verified_by: ClassVar[str] = "lsc.verifying:of_estimate"
    _rows_are: ClassVar[str] = "items"

    def _tables(self) -> dict[str, Callable[[], Mapping[str, Sequence[Any]]]]:
        return {**super()._tables(), **({} if self._in_parts else {"reviews": self.reviews.to_columns})}

    #: Whether the reviews are in parts: what takes all of them at once is not known.
    _in_parts: ClassVar[bool] = False

    @property
    def items(self) -> Sequence[Label]:
        """Labels of the items, in the order of :attr:`quality`."""
        return self.reviews.items

    @cached_property
    def average(self) -> FloatArray:
        """Plain average of each item's scores, shape (N,), NaN without a score."""
        return plain_averages(self.reviews)

    @cached_property
    def group(self) -> IntArray:
        """Shape (N,): the group within which an item is ranked, from 1; one group unless the method has several."""
        return np.ones(self.reviews.n_items, np.int64)

    @property
    def n_groups(self) -> int:
        """Number of groups of ranked items: those between which scores cannot compare."""
        return int(np.unique(self.group[self.rank > 0]).size)

    @cached_property
    def rank(self) -> IntArray:
        """Shape (N,): the rank within its group, 1 for the best, ties by index; 0 for an item without a score."""
        return ranks(self.quality, self.group)

    @cached_property
    def average_rank(self) -> IntArray:
        """Shape (N,): the rank by plain average, like :attr:`rank`; equal averages share the best of their ranks."""
        best, _ = self._places_by_average
        return best

    @cached_property
    def gained(self) -> IntArray:
        """Shape (N,): places gained over the plain average; 0 for a rank among those of equal averages."""
        best, worst = self._places_by_average
        places: IntArray = np.maximum(best - self.rank, 0) + np.minimum(worst - self.rank, 0)
        return places

    @cached_property
    def _places_by_average(self) -> tuple[IntArray, IntArray]:
        """The best and the worst rank by plain average of each item and those with an equal one."""
        average = snapped(self.average)
        rank = ranks(average, self.group)
        values = np.column_stack([average, self.group])
        among = np.unique(values, axis=0, return_inverse=True)[1].reshape(-1)
        best = np.full(rank.size, rank.size, np.int64)
        worst = np.zeros(rank.size, np.int64)
        np.minimum.at(best, among, rank)
        np.maximum.at(worst, among, rank)
        return best[among], worst[among]

    def ranking(self) -> list[Label]:
        """Items that have a score, best first, ties by index.

        Returns
        -------
        list
            Labels.

        Examples
        --------
        >>> reviews = Reviews([("ann", "p1", 1.0), ("ann", "p2", 3.0)])
        >>> Estimate(reviews, np.array([1.0, 3.0]), "average").ranking()
        ['p2', 'p1']
        """
        return [self.items[i] for i in best_first(self.quality).tolist()]

    @property
    def undetermined(self) -> list[Label]:
        """Items whose quality, relative to their group, the reviews do not determine: none, but for least squares."""
        return []

    @checked
    def select(self, n_selected: int | str, *, across_groups: bool = False) -> list[Label]:
        """Return the best items, best first, ties by index: by the posterior those most probably among the best.

        Parameters
        ----------
        n_selected
            Number of items to select, or a percentage of those with a score, such as ``"20%"``.
        across_groups
            Select among groups that no review connects, assumed equally good on average. Otherwise items are selected
            in the largest group, and the others are set aside.

        Returns
        -------
        list
            Labels of as many items.

        Raises
        ------
        InputError
            If ``n_selected`` is negative or more than the number of items with a score.
        Incomparable
            If no review connects the items, ``across_groups`` is not set, and the largest group holds less than 90 %
            of the items with a score, or fewer than ``n_selected``.

        Warns
        -----
        UndeterminedWarning
            If the reviews do not determine the qualities of some items relative to their group.

        Examples
        --------
        >>> reviews = Reviews([("ann", "p1", 1.0), ("ann", "p2", 3.0)])
        >>> Estimate(reviews, np.array([1.0, 3.0]), "average").select(1)
        ['p2']
        """
        number = number_of(n_selected, self.quality)
        codes = self._selected(number, across_groups=across_groups)
        if 0 < number < np.isfinite(self.quality).sum() and (open_places := len(self.undetermined)):
            message = (
                f"select: the reviews do not determine the position of {open_places} of {self.reviews.n_items} papers "
                "within their group; among them the selection follows the fit closest to straight lines, not the data"
            )
            warn(message, UndeterminedWarning)
        return [self.items[i] for i in codes.tolist()]

    def _selected(self, number: int, *, across_groups: bool) -> IntArray:
        """Return the codes of as many items as are selected, best first."""
        inside = comparable(self.quality, self.group, number, across_groups=across_groups)
        return best_first(np.where(inside, self.quality, np.nan))[:number]

    @cached_property
    def standard_error(self) -> FloatArray:
        """Shape (N,): standard error of each quality, NaN if the method has none."""
        return np.full(self.reviews.n_items, np.nan)

    def to_dict(self) -> dict[str, Any]:
        """Return the method, keys of other methods (None here), and ``items``, one object each; nothing is selected.

        Qualities and averages are in the direction of the scores.
        """
        columns = self.to_columns()
        rows = zip(*columns.values(), strict=True)
        return {
            "selected": [],
            "set_aside": [],
            "method": self.method,
            "status": None,
            "hypothesis": None,
            "objective": None,
            "unique": None,
            "items": [dict(zip(columns, row, strict=True)) for row in rows],
            **self.reviews.origin.to_dict(),
        }

    def to_columns(self) -> dict[str, list[Any]]:
        """Return columns item, quality, average, rank, standard_error and group, None for missing values."""
        return self._columns(slice(None))

    def _columns(self, some: slice) -> dict[str, list[Any]]:
        """Return :meth:`to_columns` of some items."""
        printed = self.reviews.printed
        return {
            "item": list(self.items[some]),
            "quality": or_none(printed(self.quality[some])),
            "average": or_none(printed(self.average[some])),
            "rank": [rank or None for rank in self.rank[some].tolist()],
            "standard_error": or_none(self.standard_error[some]),
            "group": self.group[some].tolist(),
        }

    def headline(self) -> str:
        """Return the method and the number of items."""
        return f"{self.method}, {counted(self.reviews.n_items, 'item')}"


def plain_averages(reviews: Reviews) -> FloatArray:
    """Return the mean score of each item, shape (N,), NaN without a score.

    >>> plain_averages(Reviews([("ann", "p1", 1.0), ("bob", "p1", 3.0)], items=["p2"])).tolist()
    [2.0, nan]
    """
    return average_by_item(reviews.item[reviews.scored], reviews.score[reviews.scored], reviews.n_items)


def average_by_item(item: IntArray, score: FloatArray, n_items: int) -> FloatArray:
    """Return the mean of the scores (E,) of each item, shape (N,), NaN without a score."""
    total = np.asarray(np.bincount(item, score, n_items), np.float64)
    return averages(np.bincount(item, minlength=n_items), total)


def averages(count: FloatArray | IntArray, total: FloatArray) -> FloatArray:
    """Return the mean score of each item from number and sum, NaN without a score."""
    average: FloatArray = np.divide(total, count, out=np.full(count.size, np.nan), where=count > 0)
    return average


def number_of(n_selected: int | str, quality: FloatArray) -> int:
    """Return the number of items to select, which may be a percentage of those with a quality."""
    return selected_of(n_selected, int(np.isfinite(quality).sum()))


def expect_number(n: int, quality: FloatArray) -> None:
    """Raise InputError unless 0 <= n <= the number of items with a quality."""
    scored = int(np.isfinite(quality).sum())
    if not 0 <= n <= scored:
        raise InputError(f"n_selected: expected 0 to {scored} items to select (those with a score), found {n}")


def comparable(quality: FloatArray, group: IntArray, n: int, *, across_groups: bool) -> BoolArray:
    """Return the items among which ``n`` are selected, shape (N,): all with a quality, or those of the largest group.

    Incomparable if there are several groups, ``across_groups`` is not set, and the largest has less than 90 % of the
    items with a quality, or fewer than ``n``; InputError if ``n`` is not between 0 and their number.

    >>> quality, group = np.arange(20.0), np.array([1] * 19 + [2])
    >>> np.flatnonzero(~comparable(quality, group, 5, across_groups=False)).tolist()
    [19]
    """
    expect_number(n, quality)
    scored = np.isfinite(quality)
    groups, size = np.unique(group[scored], return_counts=True)
    if groups.size < 2 or across_groups:
        return scored
    largest = int(size.max())
    total = int(size.sum())
    most = largest >= LARGEST_SHARE * total
    if most and largest >= n:
        inside: BoolArray = scored & (group == groups[int(size.argmax())])
        return inside
    short = f"{n:,} are to be selected" if most else f"less than {100 * LARGEST_SHARE:.0f} %"
    raise Incomparable(
        f"select: no review connects the {groups.size:,} groups of papers, so they cannot be compared, and the largest "
        f"holds {largest:,} of {total:,} papers with a score ({short}); add the reviews of reviewgraph plan, select "
        "within a group, or assume that groups are equally good: --by-group-average (in Python across_groups=True)"
    )


def best_first(value: FloatArray) -> IntArray:
    """Return the indices of all finite values, largest first, ties by index.

    >>> best_first(np.array([1.0, 3.0, np.nan, 3.0])).tolist()
    [1, 3, 0]
    """
    order = order_of(-value)
    return order[: int(np.isfinite(value).sum())]


def ranks(value: FloatArray, group: IntArray) -> IntArray:
    """Return the rank of each value within its group, 1 for the largest, ties by index; 0 where it is not finite.

    >>> ranks(np.array([1.0, 3.0, np.nan, 3.0]), np.array([1, 1, 1, 2])).tolist()
    [2, 1, 0, 1]
    """
    order = best_first(value)
    order = order[np.argsort(group[order], kind="stable")]
    first = np.searchsorted(group[order], group[order])
    rank = np.zeros(value.size, np.int64)
    rank[order] = np.arange(order.size) - first + 1
    return rank


def central_interval(quality: FloatArray, standard_error: FloatArray, level: float) -> FloatArray:
    """Return the ends of the central interval of each quality with probability ``level``, shape (N, 2).

    >>> central_interval(np.array([1.0]), np.array([2.0]), 0.9).round(2).tolist()
    [[-2.29, 4.29]]
    """
    from scipy.special import ndtri

    if not 0.0 < level < 1.0:
        raise InputError(f"level: expected a probability between 0 and 1, found {level}")
    reach = float(ndtri((1.0 + level) / 2.0)) * standard_error
    return np.column_stack([quality - reach, quality + reach])


def warn_unconverged(off: float) -> None:
    """Warn unless ``off``, the estimated distance of qualities from convergence in standard errors, is 0."""
    if off > 0:
        distance = f"{off:.2g} standard errors" if np.isfinite(off) else "an unknown distance"
        message = (
            f"posterior: the inference has not converged; qualities may be off by up to {distance}, beside what their "
            f"intervals say. Compare with another method before you rely on small differences"
        )
        warn(message, ConvergenceWarning)
