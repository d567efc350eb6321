"""Scores on a Dask cluster: validation, unit, layout, null model, and the subset for the first hyperparameters.

As :mod:`lsc._inference.states` and :mod:`lsc._inference.streaming` do it in memory and on disk.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from lsc._inference.categories import Averages
from lsc._inference.inferring import SumsByCount, best_of_sums, sums_by_count
from lsc._inference.model import lay_out
from lsc._inference.states import (
    GROWTH,
    HEAVY_LOAD,
    LARGE,
    MAX_SHARE,
    MIN_SCORES,
    SUBSET,
    TAIL,
    UNIFORM_SHARE,
    Part,
    Problem,
    Rows,
    Unit,
    constant_by_design,
    n_extreme,
    require_like_ranges,
    require_no_outlier,
    top_candidates,
    unit_given,
)
from reviewgraph._base import BoolArray, FloatArray, IntArray
from reviewgraph.streams import Grid, Share, split

#: A result on the cluster, or one yet to come.
Future: TypeAlias = Any


# Exact order statistics by radix selection, and pairs of equal scores: integers in the order of the numbers.

#: Bits counted per pass, and bits of a number.
DIGIT, BITS = 16, 64
KeyArray: TypeAlias = npt.NDArray[np.uint64]


def keys_of(score: FloatArray) -> KeyArray:
    """Integers in the order of the numbers; -0.0 becomes 0.0."""
    bits = np.ascontiguousarray(score + 0.0).view(np.uint64)
    sign = np.uint64(1 << (BITS - 1))
    return np.where(bits & sign, ~bits, bits | sign)


def digits(score: FloatArray, shift: int, prefix: int) -> IntArray:
    """Count the digits at a place of the keys that begin with others; shape (2^DIGIT,)."""
    key = keys_of(score) >> np.uint64(shift)
    key = key[(key >> np.uint64(DIGIT)) == np.uint64(prefix)]
    return np.bincount((key & np.uint64((1 << DIGIT) - 1)).astype(np.int64), minlength=1 << DIGIT)


def select_rank(count_digits: Callable[[int, int], IntArray | int], rank: int) -> float:
    """Return the number of this rank, given how often each digit follows others, as :func:`digits` counts them."""
    prefix = np.uint64(0)
    for shift in range(BITS - DIGIT, -1, -DIGIT):
        count = np.asarray(count_digits(shift, int(prefix)))
        below = np.cumsum(count)
        digit = int(np.searchsorted(below, rank, "right"))
        rank -= int(below[digit] - count[digit])
        prefix = (prefix << np.uint64(DIGIT)) | np.uint64(digit)
    sign = np.uint64(1 << (BITS - 1))
    bits = np.array(prefix ^ sign if prefix & sign else ~prefix)
    return float(bits.view(np.float64))


def ordered_pairs(count: FloatArray | IntArray) -> float:
    """Return the number of ordered pairs within groups of these sizes."""
    each = count.astype(np.float64)
    return float((each * (each - 1.0)).sum())


def mixed(key: KeyArray) -> KeyArray:
    """Hash: scores with few digits share their last bits."""
    key = (key ^ (key >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
    return key ^ (key >> np.uint64(29))


# Scores: validation, unit and layout, as :mod:`lsc._inference.states` and :mod:`lsc._inference.streaming` do it.


def scored_of(share: Share) -> Share:
    return share.scored()


def _scores(share: Share) -> FloatArray:
    return share.score


def _distances(share: Share, median: float) -> FloatArray:
    return np.abs(share.score - median)


def _rank(table: Grid, values: Sequence[Future], rank: int) -> float:
    """Return the number of this rank among values of all partitions."""
    return select_rank(lambda *place: table.total(table.each(digits, values, shift=place[0], prefix=place[1])), rank)


def _farthest(distance: FloatArray, share: Share) -> tuple[float, float, int, int]:
    """Return the largest distance, its score and place, and the number of scores."""
    if not distance.size:
        return -1.0, 0.0, 0, 0
    place = int(distance.argmax())
    return float(distance[place]), float(share.score[place]), place, distance.size


def check_no_outlier(table: Grid, shares: list[Future], size: int) -> None:
    """Do as :func:`lsc._inference.states.check_no_outlier`."""
    if size < MIN_SCORES:
        return
    scores = table.each(_scores, shares)
    median = 0.5 * (_rank(table, scores, (size - 1) // 2) + _rank(table, scores, size // 2))
    distances = table.each(_distances, shares, median=median)
    found = table.fetch(table.each(_farthest, distances, shares))
    before = np.cumsum([0, *(each[3] for each in found)]).tolist()
    best = max(range(len(found)), key=lambda p: (found[p][0], -p))
    _, worst, place, _ = found[best]
    usual = _rank(table, distances, size - n_extreme(size) - 1)
    require_no_outlier(worst, before[best] + place, median, usual, size)


def ranges_of(share: Share) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return number, lowest and highest of the scores of each reviewer of a partition; infinite without scores."""
    load, who = np.diff(share.start), share.reviewer
    low, high = np.full(load.size, np.inf), np.full(load.size, -np.inf)
    np.minimum.at(low, who, share.score)
    np.maximum.at(high, who, share.score)
    return load, low, high


def _widths(ends: tuple[IntArray, FloatArray, FloatArray]) -> FloatArray:
    _, low, high = ends
    return (high - low)[high > low]


def _quantile(table: Grid, values: Sequence[Future], size: int, share: float) -> float:
    """Return a quantile, by linear interpolation as NumPy does."""
    place = share * (size - 1)
    low = int(np.floor(place))
    ends = _rank(table, values, low), _rank(table, values, min(low + 1, size - 1))
    return float(ends[0] + (place - low) * (ends[1] - ends[0]))


def _keys_by_rest(share: Share, parts: int) -> list[IntArray]:
    """Return distinct scores as integers, and their numbers, shape (2, n), by remainder of a hash."""
    key, times = np.unique(keys_of(share.score), return_counts=True)
    home = (mixed(key) % np.uint64(parts)).astype(np.int64)
    order = np.argsort(home, kind="stable")
    pairs = np.array([key.view(np.int64), times])[:, order]
    return np.split(pairs, np.cumsum(np.bincount(home, minlength=parts))[:-1], axis=1)


def _pairs_of_keys(pieces: Sequence[IntArray]) -> float:
    key, times = np.concatenate(pieces, axis=1)
    _, place = np.unique(key, return_inverse=True)
    return ordered_pairs(np.bincount(place, times))


def equal_scores(table: Grid, shares: list[Future], size: int) -> float:
    """Return the probability that two scores are equal, as :func:`lsc._inference.states.equal_scores`."""
    if size < 2:
        return 0.0
    parts = len(shares)
    pieces = table.sent(table.each(_keys_by_rest, shares, parts=parts), parts)
    return float(table.total(table.each(_pairs_of_keys, pieces))) / (size * (size - 1.0))


def _by_design(ends: tuple[IntArray, FloatArray, FloatArray], equal: float) -> IntArray:
    """Count reviewers of constant scores that are not equal by chance, and reviewers with scores."""
    load, low, high = ends
    return np.array([constant_by_design(load, low == high, equal).sum(), (load > 0).sum()])


def _without_constant(share: Share, ends: tuple[IntArray, FloatArray, FloatArray], equal: float) -> Share:
    load, low, high = ends
    return share.only(~constant_by_design(load, low == high, equal)[share.reviewer])


def _size(share: Share) -> int:
    return share.item.size


def used_scores(table: Grid) -> tuple[list[Future], int, float]:
    """Check the scores; return those of reviewers who are not ignored, their number, and how often two are equal."""
    shares, size = table.each(scored_of, table.shares), table.n_scored
    check_no_outlier(table, shares, size)
    ends = table.each(ranges_of, shares)
    widths = table.each(_widths, ends)
    if wide := sum(table.fetch(table.each(len, widths))):
        require_like_ranges(*(_quantile(table, widths, wide, share) for share in (TAIL, 1.0 - TAIL)))
    equal = equal_scores(table, shares, size)
    designed, busy = table.total(table.each(_by_design, ends, equal=equal)).tolist()
    if not 0 < designed <= MAX_SHARE * busy:
        return shares, size, equal
    shares = table.each(_without_constant, shares, ends, equal=equal)
    size = int(table.total(table.each(_size, shares)))
    return shares, size, equal_scores(table, shares, size)


def _sum(share: Share) -> tuple[np.longdouble, float]:
    return share.score.sum(dtype=np.longdouble), float(np.abs(share.score).max(initial=0.0))


def _square(share: Share, mean: float) -> np.longdouble:
    return np.asarray((share.score - mean) ** 2).sum(dtype=np.longdouble)  # type: ignore[no-any-return]


def unit_of(table: Grid, shares: list[Future], size: int, equal: float) -> Unit:
    """Return the unit of scores, as :func:`lsc._inference.states.unit_of`."""
    total, largest = zip(*table.fetch(table.each(_sum, shares)), strict=True)
    mean = float(sum(total) / size)
    return unit_given(mean, sum(table.fetch(table.each(_square, shares, mean=mean))), size, max(largest), equal)


def problem_of_partition(share: Share, unit: Unit, compiled: bool) -> Problem:
    """Standardise the scores of a partition and lay them out."""
    n, zeros = share.items.size, np.zeros(share.items.size)
    standard = unit.standardised(share.score)
    layout, _ = lay_out(share.reviewer, share.item.astype(np.int64), standard, share.start.size - 1, n)
    none = np.zeros(n, np.int64)
    return Problem((Part(layout),), layout.load, none, unit.rounding, False, zeros, zeros, compiled)


def totals_by_item(share: Share, cut: IntArray, unit: Unit) -> list[FloatArray]:
    """Return number and sum of the standardised scores of the items of a partition, shape (n, 2), by shard."""
    n = share.items.size
    total = np.bincount(share.item, unit.standardised(share.score), n)
    return split(np.column_stack([np.bincount(share.item, minlength=n), total]), cut)


def count_of(totals: FloatArray) -> IntArray:
    return totals[:, 0].astype(np.int64)


def _average_of(totals: FloatArray) -> FloatArray:
    return np.asarray(totals[:, 1] / np.maximum(totals[:, 0], 1))


def _within(share: Share, averages: Sequence[FloatArray], unit: Unit) -> float:
    return float(((unit.standardised(share.score) - np.concatenate(averages)[share.item]) ** 2).sum())


def _by_count(totals: FloatArray) -> SumsByCount:
    known = totals[:, 0] > 0
    return sums_by_count(count_of(totals)[known], _average_of(totals)[known])


def averages_of(table: Grid, shares: list[Future], totals: list[Future], unit: Unit) -> Averages:
    """Fit the null model."""
    pieces = table.to_partitions(table.each(_average_of, totals))
    within = table.total(table.each(_within, shares, pieces, unit=unit))
    sums = [np.concatenate(values) for values in zip(*table.fetch(table.each(_by_count, totals)), strict=True)]
    size, kind = np.unique(sums[0], return_inverse=True)
    number, total, square = (np.asarray(np.bincount(kind, values), np.float64) for values in sums[1:])
    return best_of_sums(SumsByCount(size, number.astype(np.int64), total, square), float(within), unit.rounding)


def loads_of(share: Share) -> IntArray:
    return np.diff(share.start)


def sums_of_loads(share: Share) -> IntArray:
    load = np.diff(share.start)
    return np.array([load.sum(), (load**2).sum()])


# The subset for the first estimate of the hyperparameters: that of :func:`lsc._inference.states.subset_of`.


class Sampling(NamedTuple):
    """Reviews of sampled items in a partition, their loads, and the random priorities of its reviewers."""

    share: Share
    load: IntArray
    priority: FloatArray


def _uniform(count: IntArray, state: Any, kind: Any, below: float) -> BoolArray:
    return _drawn(state, kind, count.size) < below


def _drawn(state: Any, kind: Any, size: int) -> FloatArray:
    generator = kind()
    generator.state = state
    return np.random.Generator(generator).random(size)


def _sampling(share: Share, sampled: Sequence[BoolArray], state: Any, kind: Any) -> Sampling:
    share = share.only(np.concatenate(sampled)[share.item])
    load = np.diff(share.start)
    return Sampling(share, load, _drawn(state, kind, load.size))


def _candidates(
    sampling: Sampling, chosen: BoolArray, inside: Sequence[BoolArray], target: int
) -> tuple[IntArray, FloatArray, FloatArray, IntArray]:
    """Return the first candidates of a partition, their shares of items inside the subset, priorities and loads."""
    share, load, priority = sampling
    within = np.bincount(share.reviewer, np.concatenate(inside)[share.item], load.size)
    shared = within / (load + 1)
    best = top_candidates(np.flatnonzero(~chosen & (load > 0)), shared, priority, target)
    return best, shared[best], priority[best], load[best]


def _choose(chosen: BoolArray, more: IntArray) -> BoolArray:
    chosen = chosen.copy()
    chosen[more] = True
    return chosen


def _touched(sampling: Sampling, chosen: BoolArray, cut: IntArray) -> list[IntArray]:
    share = sampling.share
    return split(np.bincount(share.item[chosen[share.reviewer]], minlength=share.items.size), cut)


def _chosen_rows(sampling: Sampling, chosen: BoolArray, first: int) -> Rows:
    share = sampling.share
    kept = share.only(chosen[share.reviewer])
    return Rows(first + kept.reviewer, kept.items[kept.item], kept.score)


def _no_reviewer(sampling: Sampling) -> BoolArray:
    return np.zeros(sampling.load.size, np.bool_)


def _positive(values: IntArray) -> BoolArray:
    return values > 0


def subset_on_cluster(
    table: Grid, shares: list[Future], counted: list[Future], loads: tuple[int, int], rng: np.random.Generator
) -> Rows | None:
    """Return the reviews of some reviewers who share papers, codes renumbered; None where the table is not large.

    ``loads``: sums of the loads of reviewers and of their squares. The client holds a few times the subset.
    """
    size, squares = loads
    if size <= LARGE:
        return None
    kind = {"kind": type(rng.bit_generator)}

    def states(sizes: Sequence[int]) -> list[Any]:
        """States of the generator before each part of these sizes."""
        found = []
        for each in sizes:
            found.append(rng.bit_generator.state)
            rng.random(each)
        return found

    below = max(HEAVY_LOAD / (squares / size), SUBSET / size)
    sampled = table.to_partitions(table.each(_uniform, counted, states(table.sizes), below=below, **kind))
    firsts = table.first_reviewer
    sampling = table.each(_sampling, shares, sampled, states(np.diff(firsts).tolist()), **kind)
    total = int(table.total(table.each(_load_sum, sampling)))
    target, want, taken = min(SUBSET, total), UNIFORM_SHARE * min(SUBSET, total), 0
    chosen = table.each(_no_reviewer, sampling)
    inside = table.each(_nothing, counted)
    while taken < target:
        best = table.fetch(table.each(_candidates, sampling, chosen, table.to_partitions(inside), target=target))
        code = np.concatenate([each[0] + first for each, first in zip(best, firsts.tolist(), strict=False)])
        shared, priority, load = (np.concatenate([each[n] for each in best]) for n in (1, 2, 3))
        order = top_candidates(np.arange(code.size), shared, priority, target)
        before = taken + np.cumsum(load[order]) - load[order]
        more = order[before < min(want, target)]
        taken += int(load[more].sum())
        places = np.split(np.sort(code[more]), np.searchsorted(np.sort(code[more]), firsts[1:-1]))
        chosen = table.each(_choose, chosen, [each - first for each, first in zip(places, firsts, strict=False)])
        inside = table.each(_positive, table.to_shards(table.each(_touched, sampling, chosen, table.cuts)))
        want *= GROWTH
    rows = table.fetch(table.each(_chosen_rows, sampling, chosen, firsts[:-1].tolist()))
    who, what, score = (np.concatenate([each[n] for each in rows]) for n in (0, 1, 2))
    reviewer, item = (np.unique(code, return_inverse=True)[1] for code in (who, what))
    return Rows(reviewer, item, score)


def _load_sum(sampling: Sampling) -> int:
    return int(sampling.load.sum())


def _nothing(count: IntArray) -> BoolArray:
    return np.zeros(count.size, np.bool_)
