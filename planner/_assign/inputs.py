"""From tables (affinities, demands, loads, conflicts, fixed pairs, a first phase) to the arrays of a problem."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from planner._assign.problem import LISTS, Concerns, Problem, concern_weight
from planner.facts import Pair, facts_of
from planner.rules import ruled
from reviewgraph._base import (
    ColumnWarning,
    InputError,
    as_numbers,
    check_magnitude,
    checked,
    count_of,
    distinct,
    encode,
    first_repeated,
    listed,
    natural_key,
    refuse,
    warn,
)
from reviewgraph.formats import AFFINITY, DEMAND, ITEM, LOAD, MIN_LOAD, REVIEWER, Columns, Merge, Spellings
from reviewgraph.io import (
    by_label,
    codes_among,
    is_frame,
    is_wide,
    labels_in,
    match_labels,
    match_pairs,
    numbered_pairs,
    own_pairs,
    pairs_among,
    pairs_of,
    pairs_of_wide,
)
from reviewgraph.table import Reviews

if TYPE_CHECKING:
    from reviewgraph._base import BoolArray, FloatArray, IntArray, Label
    from reviewgraph.formats import Role
    from reviewgraph.io import Pairs, Rules, Unknown, Valued


#: Above any number of reviews: the meaning of a larger number.
UNLIMITED = 1 << 40
#: Maximum number of pairs when unscored ones count too; more would fill the memory.
MOST_PAIRS = 30_000_000
#: Reviews per paper by default.
USUAL_DEMAND = 3


class Scored(NamedTuple):
    """Scored pairs by code, and the labels."""

    reviewer: IntArray
    item: IntArray
    affinity: FloatArray
    reviewers: Sequence[Label]
    items: Sequence[Label]
    spellings: Spellings


def scored_pairs(
    affinity: Any, reviewers: Iterable[Label] | None, items: Iterable[Label] | None, merge: Merge | None = None
) -> Scored:
    """Read affinities: pairs with a number, in any form but rows, or a matrix, dense or sparse.

    NaN in a dense matrix or a table is an unscored pair, in a sparse matrix an entry that is not stored. A table of
    pandas with a row per reviewer and a column per item, or the other way round, says so by its axes or labels.
    """
    spellings = Spellings.of(merge)
    people = None if reviewers is None else labels_in(list(reviewers), "reviewers", REVIEWER, spellings)
    papers = None if items is None else labels_in(list(items), "items", ITEM, spellings)
    if is_wide(affinity):
        table = pairs_of_wide(affinity, "affinity", people or (), papers or ())
        if people is None and papers is None:
            score = np.asarray(table.score)
            return Scored(table.reviewer, table.item, score, table.reviewers, table.items, spellings)
        return _of_table(table, people, papers, spellings)
    if isinstance(affinity, Mapping | Columns) or is_frame(affinity):
        return _of_table(numbered_pairs(affinity, "affinity", AFFINITY.role, spellings), people, papers, spellings)
    return _of_matrix(affinity, people, papers, spellings)


def _of_matrix(
    affinity: Any, reviewers: Sequence[Label] | None, items: Sequence[Label] | None, spellings: Spellings
) -> Scored:
    # A sparse matrix has the pairs that are stored, a dense one those that are not NaN.
    if hasattr(affinity, "tocoo"):
        matrix = affinity.tocoo()
        row, column = matrix.coords
        value = matrix.data
    else:
        matrix = as_numbers("affinity", affinity)
        if matrix.ndim != 2:
            message = f"affinity: expected a mapping or a reviewers x items matrix, found {matrix.ndim} dimension(s)"
            raise InputError(message)
        row, column = np.nonzero(~np.isnan(matrix))
        value = matrix[row, column]
    if reviewers is None and items is None:
        _warn_square(matrix)
    people = _lines("reviewers", reviewers, matrix.shape[0])
    papers = _lines("items", items, matrix.shape[1])
    scores = row.astype(np.int64), column.astype(np.int64), value.astype(np.float64)
    return Scored(*scores, people, papers, spellings)


def _warn_square(matrix: Any) -> None:
    """Warn of a square matrix without labels, which may be turned; one that is symmetric needs no warning."""
    size, n_columns = matrix.shape
    if size != n_columns:
        return
    if hasattr(matrix, "nnz"):
        is_symmetric = not (matrix.tocsr() != matrix.T.tocsr()).nnz
    else:
        is_symmetric = bool(((matrix == matrix.T) | ((matrix != matrix) & (matrix.T != matrix.T))).all())
    if not is_symmetric:
        warn(
            f"affinity: a square matrix, {size} x {size}, read as reviewers x items; pass affinity.T if it is "
            "items x reviewers, or a data frame with labels, which needs no question",
            ColumnWarning,
        )


def _lines(name: str, labels: Sequence[Label] | None, size: int) -> Sequence[Label]:
    if labels is None:
        return range(size)
    message = ""
    if len(labels) != size:
        message = f"expected {size} labels, one for each line of affinity, found {len(labels)}"
    elif len(set(labels)) < size:
        message = f"expected a label of its own for each line of affinity, found {first_repeated(labels)!r} twice"
    if message:
        raise InputError(f"{name}: {message}")
    return labels


def _of_table(
    table: Columns, reviewers: Sequence[Label] | None, items: Sequence[Label] | None, spellings: Spellings
) -> Scored:
    labels = _declared(table.reviewer, table.reviewers, reviewers), _declared(table.item, table.items, items)
    row, column = match_pairs(table, *labels, "affinity", where=LISTS, spellings=spellings)
    value = np.asarray(table.score, np.float64)
    scored = (row >= 0) & (column >= 0) & ~np.isnan(value)
    return Scored(row[scored], column[scored], value[scored], labels[0], labels[1], spellings)


def _declared(codes: IntArray, labels: Sequence[Label], declared: Iterable[Label] | None) -> Sequence[Label]:
    """Return the labels that are declared, or else those of the rows, in natural order."""
    used = () if declared is not None else [labels[code] for code in np.flatnonzero(np.bincount(codes)).tolist()]
    return encode(used, () if declared is None else declared)[1]


def keys_of(table: Any, scored: Scored, name: str, *, unknown: Unknown = "left out") -> IntArray:
    """Return the distinct pairs of a table as item * M + reviewer, ascending; ``unknown`` as for ``match_pairs``."""
    pairs = pairs_of(table, name, scored.spellings)
    labels = scored.reviewers, scored.items
    reviewer, item = match_pairs(pairs, *labels, name, unknown=unknown, where=LISTS, spellings=scored.spellings)
    matched = (reviewer >= 0) & (item >= 0)
    return distinct(item[matched] * len(scored.reviewers) + reviewer[matched])


def per_label(
    value: int | Valued | None, scored: Scored, name: str, role: Role, column: Role, *, optional: bool = False
) -> IntArray:
    """Return one whole number per label, from one for all or a number by label; -1 for None where it is optional."""
    labels = scored.items if role is ITEM else scored.reviewers
    if value is None:
        return np.full(len(labels), -1)
    if isinstance(value, Real):
        return np.full(len(labels), min(count_of(value, name), UNLIMITED), np.int64)
    numbers = by_label(value, name, role, column, scored.spellings)
    what = "paper" if role is ITEM else "reviewer"
    # The lines of a matrix without labels are complete: any other number is an error.
    unknown: Unknown = "refused" if isinstance(labels, range) else "expected"
    match_labels(list(numbers), labels, name, what, unknown=unknown, where=LISTS, spellings=scored.spellings)
    missing = next((label for label in labels if label not in numbers), None)
    if missing is not None:
        raise InputError(f"{name}: expected a number for every label, found none for {missing!r}")
    whole = []
    for label in labels:
        number = numbers[label]
        whole.append(-1 if optional and number is None else min(count_of(number, name), UNLIMITED))
    return np.array(whole, np.int64)


class Constraints(NamedTuple):
    """The constraints on an assignment, as :func:`planner.assign` takes them."""

    rules: Rules
    phase_one: Pairs = ()
    allow_unscored: bool = False
    previous: Pairs | None = None
    floor: float | None = None
    usual_load: int = UNLIMITED  # of reviewers without a load


def build(scored: Scored, constraints: Constraints) -> Problem:
    """Return the problem of scored pairs and constraints.

    The reviews of a first phase become given pairs on top of demands and loads; papers of that phase that are not
    among the items were left behind and only link.
    """
    n_items = len(scored.items)
    n_reviewers = len(scored.reviewers)
    rules = constraints.rules
    demand, load, least = _numbers(scored, rules, constraints.usual_load)
    if not np.isfinite(scored.affinity).all():
        raise InputError("affinity: expected finite numbers (NaN for unscored pairs), found an infinite one")
    check_magnitude("affinity", scored.affinity)
    # From here on a pair is one number, item * M + reviewer, newcomers of the first phase included.
    first = pairs_of(constraints.phase_one, "phase_one", scored.spellings)
    scored = _with_first_phase(scored, first)
    N = len(scored.items)
    M = len(scored.reviewers)
    demand = np.pad(demand, (0, N - n_items))
    load = np.pad(load, (0, M - n_reviewers))
    least = np.pad(least, (0, M - n_reviewers))
    old = keys_of(first, scored, "phase_one", unknown="refused")
    conflicts = keys_of(rules.conflicts or (), scored, "conflicts", unknown="asked")
    fixed = keys_of(rules.fixed or (), scored, "fixed", unknown="refused")
    meta = _meta_reviews((constraints.phase_one, rules.fixed, constraints.previous), scored)
    conflicts = distinct(conflicts, meta, own_papers(rules, scored))
    if (both := np.intersect1d(fixed, old)).size:
        pair = scored.reviewers[both[0] % M], scored.items[both[0] // M]
        message = f"expected no review of phase_one, which nobody writes again, found {pair!r}; leave it out of one"
        raise InputError(f"fixed: {message}")
    # Fixed pairs are kept whatever they exceed: limits are at least what they take.
    standing = distinct(old, fixed)
    in_force = ruled(scored.reviewers, scored.items, rules, LISTS, spellings=scored.spellings)
    panels = in_force.panels
    new = fixed[np.argsort(fixed % M, kind="stable")]
    kept = np.column_stack([new % M, new // M])
    crowded = np.zeros(new.size, np.bool_)
    if new.size:
        present = panels.counts(standing % M, standing // M, N)
        crowded = panels.crowded(kept, panels.most - present)
    if crowded.any():
        in_force = in_force._replace(panels=panels._replace(most=np.maximum(panels.most, present)))
    against = {"conflicts": np.isin(new, conflicts), "crowded": crowded}
    facts = facts_of(kept, against, (load, demand), (scored.reviewers, scored.items))
    load = np.maximum(load, np.bincount(new % M, minlength=M))
    demand = np.maximum(demand, np.bincount(new // M, minlength=N))
    # Candidates, and the given pairs that are none of them, in one ascending order.
    barred = distinct(np.setdiff1d(conflicts, fixed), old)
    candidate, value = _candidates(scored, n_items, barred, constraints.allow_unscored)
    key = distinct(candidate, standing)
    affinity = np.zeros(key.size)
    affinity[np.searchsorted(key, candidate)] = value
    # Reviews of the first phase come on top of demands and of loads above 0.
    written = np.bincount(old % M, minlength=M)
    concerns = _concerns(constraints.previous, scored, key, old)
    return Problem(
        item=key // M,
        reviewer=key % M,
        affinity=affinity,
        given=np.isin(key, standing, assume_unique=True),
        old=np.isin(key, old, assume_unique=True),
        demand=demand + np.bincount(old // M, minlength=N),
        load=load + written,
        least=least + np.where(least > 0, written, 0),
        required=np.arange(N) < n_items,
        ruled=in_force,
        reviewers=scored.reviewers,
        items=scored.items,
        least_score=constraints.floor,
        unscored=constraints.allow_unscored,
        concerns=concerns,
        weight=concern_weight(affinity),
        facts=facts,
    )


def _concerns(previous: Any, scored: Scored, key: IntArray, old: IntArray) -> Concerns | None:
    """Return which pairs, item * M + reviewer, change a previous assignment; None without one.

    ``key`` are all that may be assigned, ``old`` those of a first phase.
    """
    if previous is None:
        return None
    changed = ~np.isin(key, distinct(old, keys_of(previous, scored, "previous", unknown="expected")))
    table = pairs_of(previous, "previous", scored.spellings)
    codes = zip(table.reviewer.tolist(), table.item.tolist(), strict=True)
    pairs = {Pair(table.reviewers[reviewer], table.items[item]) for reviewer, item in codes}
    ordered = sorted(pairs, key=lambda pair: (natural_key(pair.item), natural_key(pair.reviewer)))
    return Concerns(changed, tuple(ordered))


def without_load(scored: Scored, rules: Rules) -> BoolArray:
    return per_label(rules.load, scored, "load", REVIEWER, LOAD.role, optional=True) < 0


def _numbers(scored: Scored, rules: Rules, usual_load: int) -> tuple[IntArray, IntArray, IntArray]:
    """Return demands, loads and minimum loads by code, and check that no minimum is above its maximum."""
    needed = USUAL_DEMAND if rules.demand is None else rules.demand
    lowest = 0 if rules.min_load is None else rules.min_load
    demand = per_label(needed, scored, "demand", ITEM, DEMAND.role)
    load = per_label(rules.load, scored, "load", REVIEWER, LOAD.role, optional=True)
    least = per_label(lowest, scored, "min_load", REVIEWER, MIN_LOAD.role)
    load = np.where(load < 0, np.maximum(usual_load, least), load)
    bad = np.flatnonzero(least > load)
    if bad.size:
        label = scored.reviewers[int(bad[0])]
        raise InputError(f"min_load: reviewer {label!r} has min_load {least[bad[0]]} above load {load[bad[0]]}")
    # No reviewer has a paper twice: a load that stands for "no limit" costs no more than one of all papers.
    return demand, np.minimum(load, np.maximum(least, len(scored.items))), least


def _with_first_phase(scored: Scored, first: Columns) -> Scored:
    """Append the reviewers and papers of the first phase alone, in the order of their first rows."""
    new: dict[str, Any] = {"unknown": "new", "where": LISTS, "spellings": scored.spellings}
    match_labels(first.reviewers, scored.reviewers, "phase_one", "reviewer", **new)
    match_labels(first.items, scored.items, "phase_one", "paper", **new)
    reviewers = [first.reviewers[code] for code in first.reviewer.tolist()]
    items = [first.items[code] for code in first.item.tolist()]
    if not reviewers:
        return scored
    return scored._replace(
        reviewers=tuple(dict.fromkeys([*scored.reviewers, *reviewers])),
        items=tuple(dict.fromkeys([*scored.items, *items])),
    )


def _meta_reviews(tables: Iterable[Any], scored: Scored) -> IntArray:
    """Return the meta reviews that tables of reviews leave out, as item * M + reviewer: nobody gets a paper twice."""
    read = (table for table in tables if isinstance(table, Columns | Reviews))
    meta = pairs_of([pair for table in read for pair in table.origin.meta], "meta reviews")
    reviewer, item = pairs_among(meta, scored.reviewers, scored.items)
    return distinct(item * len(scored.reviewers) + reviewer)


def _candidates(scored: Scored, n_items: int, barred: IntArray, allow_unscored: bool) -> tuple[IntArray, FloatArray]:
    """Return pairs that may be assigned, as item * M + reviewer ascending, with their affinities."""
    M = len(scored.reviewers)
    key = scored.item * M + scored.reviewer
    order = np.argsort(key, kind="stable")
    key = key[order]
    value = scored.affinity[order]
    if (key[1:] == key[:-1]).any():
        refuse_twice(scored, "affinity")
    if allow_unscored:
        if n_items * M > MOST_PAIRS:
            message = f"allow_unscored: expected at most {MOST_PAIRS} pairs, found {n_items} papers x {M} reviewers"
            raise InputError(message)
        full = np.zeros(n_items * M)
        full[key] = value
        key = np.arange(n_items * M)
        value = full
    free = ~np.isin(key, barred, assume_unique=True)
    return key[free], value[free]


def refuse_twice(scored: Scored, name: str, where: str = "") -> None:
    key = scored.item * len(scored.reviewers) + scored.reviewer
    first = np.unique(key, return_index=True)[1]
    if first.size < key.size:
        row = int(np.setdiff1d(np.arange(key.size), first)[0])
        pair = (scored.reviewers[int(scored.reviewer[row])], scored.items[int(scored.item[row])])
        raise InputError(f"{name}: expected each (reviewer, item) pair once{where}, found {pair!r} twice")


def own_papers(rules: Rules, scored: Scored) -> IntArray:
    """Return the pairs of authors and their papers as item * M + reviewer."""
    pairs = () if rules.authors is None else rules.authors
    if isinstance(pairs, Mapping):
        for label, names in pairs.items():
            refuse(f"authors of {label!r}", names, "Iterable[Label]")
        pairs = [(author, item) for item, names in pairs.items() for author in names]
    named = pairs_of(pairs, "authors", scored.spellings)
    author, item = own_pairs(
        named,
        scored.reviewers,
        scored.items,
        where=LISTS,
        spellings=scored.spellings,
        for_attributes=rules.item_attributes is not None,
    )
    return distinct(item * len(scored.reviewers) + author)


@checked
def merge_affinities(
    affinities: Iterable[tuple[Any, float]], bids: Iterable[tuple[Any, float]] = (), *, all_pairs: bool = False
) -> Columns:
    r"""Add up tables of affinities and bids, each times its weight.

    .. math:: a_{ji} = \sum_t w_t a^{(t)}_{ji}

    A pair that a table lacks counts 0 there. A pair has an affinity where one of the tables of affinities has it, or
    where its bids sum to more than 0: reviewers may get papers that they want, and "no" does not make a pair possible.

    Parameters
    ----------
    affinities
        (table, weight): each table in one of the forms that :func:`planner.assign` takes.
    bids
        (table, weight) likewise, such as ``read_bids(path).table``; numbers from -1 to 1.
    all_pairs
        Whether pairs that nobody has scored may be assigned, as with ``assign(allow_unscored=True)``: then bids of 0 or
        less count for such pairs, too. They do not by default.

    Returns
    -------
    Columns
        For ``assign``: each pair once, reviewers and items in natural order.

    Raises
    ------
    InputError
        If a table is malformed or has a pair twice, or a weight is not finite.

    Notes
    -----
    Takes O(P log P) for P rows in all.

    Examples
    --------
    >>> topics, bids = {("ann", "p1"): 0.4, ("bob", "p1"): 0.2}, {("ann", "p1"): 1.0, ("bob", "p2"): -1.0}
    >>> merged = merge_affinities([(topics, 1.0)], [(bids, 0.5)])
    >>> merged.items, merged.score.tolist()
    (('p1', 'p2'), [0.9, 0.2, nan])
    """
    scored = _tables(affinities)
    tables = scored + _tables(bids)
    reviewers = encode([], [label for table, _ in tables for label in table.reviewers])[1]
    items = encode([], [label for table, _ in tables for label in table.items])[1]
    width = max(len(items), 1)
    # A number for each pair of a table; affinities come first, then bids.
    keys = [
        codes_among(table.reviewers, reviewers)[table.reviewer] * width + codes_among(table.items, items)[table.item]
        for table, _ in tables
    ]
    split = sum(table.item.size for table, _ in scored)
    key, at = np.unique(np.concatenate([np.empty(0, np.int64), *keys]), return_inverse=True)
    value = np.concatenate([np.empty(0), *(weight * table.affinity for table, weight in tables)])
    total = np.bincount(at, value, key.size).astype(np.float64)
    affine = np.bincount(at[:split], minlength=key.size) > 0
    welcome = np.bincount(at[split:], value[split:], key.size) > 0
    if not all_pairs:
        total[~affine & ~welcome] = np.nan
    return Columns(key // width, key % width, reviewers, items, score=total)


def _tables(weighted: Iterable[tuple[Any, float]]) -> list[tuple[Scored, float]]:
    tables = []
    for entry in weighted:
        if not isinstance(entry, tuple | list) or len(entry) != 2:
            raise InputError(f"affinities: expected pairs of a table and its weight, found {listed([repr(entry)])}")
        table, weight = entry
        refuse("affinities", weight, "float")
        if not math.isfinite(weight):
            raise InputError(f"affinities: expected a finite weight for each table, found {weight!r}")
        scored = scored_pairs(table, None, None)
        check_magnitude("affinities", float(weight) * float(np.abs(scored.affinity).max(initial=0.0)))
        refuse_twice(scored, "affinities", " in a table")
        tables.append((scored, float(weight)))
    return tables
