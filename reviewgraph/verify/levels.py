"""Levels of tables, by the plain algorithms of :mod:`reviewgraph.verify.graphs`.

What would take too long raises :class:`TooLarge`: it is not checked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reviewgraph._base.errors import InputError
from reviewgraph.graph.levels import NAMES, level_named
from reviewgraph.verify.graphs import groups, largest_cover, missing_links, pieces, tie_classes

if TYPE_CHECKING:
    from collections.abc import Callable

    from reviewgraph.verify.graphs import Table

#: Reviews, summed over all losses, up to which the levels that outlive a loss are tested.
MOST_LOST = 5_000_000


class TooLarge(InputError):
    """A question that the plain algorithms would take too long over."""


class NoTest(TooLarge):
    """A level without a plain algorithm."""


def is_connected(table: Table) -> bool:
    """Whether all items have a review and lie in one component."""
    classes = pieces(table.rows(), table.items)
    reviewed = all(count > 0 for count in table.reviews_of().values())
    return reviewed and len({classes.of((1, item)) for item in table.items}) <= 1


def is_double(table: Table) -> bool:
    """Whether one doubly connected component covers all items."""
    return largest_cover(groups(table.rows(), table.items)) >= len(table.items)


def is_double_by_scores(table: Table) -> bool:
    """Whether one component, where ties carry no scale, covers all items, of two tie classes or more."""
    scored = table.scored()
    items = table.items
    covered = largest_cover(groups(scored.rows(), items, scored.score)) >= len(items)
    return covered and (len(items) < 2 or len(tie_classes(scored.score, items)) > 1)


def is_recoverable(table: Table) -> bool:
    """Whether no links are missing, all items have reviews, and some reviewer has two unless N < 2."""
    rows = table.rows()
    linked = len(table.items) < 2 or any(len(items) >= 2 for items in rows.values())
    return linked and all(table.reviews_of().values()) and missing_links(rows, table.items) == 0


def expect_small(table: Table, losses: int) -> None:
    """Raise TooLarge for a table in which that number of losses cannot be tried one by one."""
    if losses * len(table.score) > MOST_LOST:
        message = f"{losses} losses of a table of {len(table.score)} reviews are too many to be tried one by one"
        raise TooLarge(message)


def survives_reviewer(table: Table) -> bool:
    """Whether a table is doubly connected, and stays so without any one reviewer."""
    expect_small(table, len(table.reviewers))
    return is_double(table) and all(is_double(rest) for _, rest in table.without_each_reviewer())


def survives_review(table: Table) -> bool:
    """Whether a table is doubly connected, and stays so without any one review."""
    expect_small(table, len(table.score))
    return is_double(table) and all(is_double(rest) for _, rest in table.without_each_review())


def test_of(name: str) -> Callable[[Table], bool]:
    """Return the verifier's own test of a level; raise NoTest where it has none."""
    test: Callable[[Table], bool] | None = level_named(name).part("verifier")
    if test is None:
        message = f"the level {name} has no test that shares no code with what made the answer"
        raise NoTest(message)
    return test


def highest_level(table: Table) -> str | None:
    """Return the highest level that holds, or None; raise NoTest where a candidate has no test."""
    return next((name for name in NAMES if test_of(name)(table)), None)


def holds(level: Any, table: Table, *, use_scores: bool = False, survive: bool = False) -> bool:
    """Whether a table is at a level, with ``survive`` also without any one reviewer (some levels imply that)."""
    test = test_of(level)
    if use_scores:
        return is_double_by_scores(table)
    if not survive or level not in NAMES:
        return test(table)
    expect_small(table, len(table.reviewers))
    return test(table) and all(test(rest) for _, rest in table.without_each_reviewer())
