"""Whether a table is at a level, by the plain algorithms of :mod:`reviewgraph.verify.graphs`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reviewgraph.errors import InputError
from reviewgraph.levels import NAMES, level_named
from reviewgraph.verify.graphs import groups, missing_links, pieces, tie_classes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from reviewgraph.closure import Group
    from reviewgraph.verify.tables import Pair, Table

#: Reviews that are looked at in all, over all losses, before the levels that outlive a loss are taken on trust.
MOST_LOST = 5_000_000


class TooLarge(InputError):
    """A question that the plain algorithms would take too long over."""


class NoTest(TooLarge):
    """A level for which there is no plain algorithm."""


def is_connected(table: Table) -> bool:
    """Whether all items have a review and lie in one piece."""
    found = pieces(table.rows(), table.items)
    reviewed = all(count > 0 for count in table.reviews_of().values())
    return reviewed and len({found.of((1, item)) for item in table.items}) <= 1


def is_double(table: Table) -> bool:
    """Whether one doubly connected component covers all items."""
    return largest_cover(groups(table.rows(), table.items)) >= len(table.items)


def is_double_by_scores(table: Table) -> bool:
    """Whether one doubly connected component, ties carrying no scale, covers all items, of two tie classes or more."""
    scored, items = table.scored(), table.items
    covered = largest_cover(groups(scored.rows(), items, scored.score)) >= len(items)
    return covered and (len(items) < 2 or len(tie_classes(scored.score, items)) > 1)


def is_recoverable(table: Table) -> bool:
    """Whether no links are missing, all items have a review, and of two items or more someone reviews two."""
    rows = table.rows()
    linked = len(table.items) < 2 or any(len(own) >= 2 for own in rows.values())
    return linked and all(table.reviews_of().values()) and missing_links(rows, table.items) == 0


def largest_cover(found: list[Group]) -> int:
    """Return the items that the group of most items covers."""
    return max((len(group.items) for group in found), default=0)


def without_each_reviewer(table: Table) -> Iterator[tuple[str, Table]]:
    """Yield each reviewer who has reviews, and the table without them."""
    for reviewer, own in table.rows().items():
        if own:
            yield reviewer, table.without({(reviewer, item) for item in own})


def without_each_review(table: Table) -> Iterator[tuple[Pair, Table]]:
    """Yield each review, and the table without it."""
    for pair in table.score:
        yield pair, table.without({pair})


def expect_small(table: Table, losses: int) -> None:
    """Refuse a table that is too large to look at what each of so many losses leaves.

    Raises
    ------
    TooLarge
        If it is.
    """
    if losses * len(table.score) > MOST_LOST:
        message = f"{losses} losses of a table of {len(table.score)} reviews are too many to be looked at one by one"
        raise TooLarge(message)


def survives_reviewer(table: Table) -> bool:
    """Whether a table is doubly connected, and without any one reviewer."""
    expect_small(table, len(table.reviewers))
    return is_double(table) and all(is_double(rest) for _, rest in without_each_reviewer(table))


def survives_review(table: Table) -> bool:
    """Whether a table is doubly connected, and without any one review."""
    expect_small(table, len(table.score))
    return is_double(table) and all(is_double(rest) for _, rest in without_each_review(table))


def test_of(name: str) -> Callable[[Table], bool]:
    """Return the verifier's own test of a level.

    Raises
    ------
    InputError
        If no level bears the name.
    NoTest
        If the level has none.
    """
    found: Callable[[Table], bool] | None = level_named(name).part("verifier")
    if found is None:
        message = f"the level {name} has no test that shares no code with what made the answer"
        raise NoTest(message)
    return found


def highest_level(table: Table) -> str | None:
    """Return the name of the highest level that holds, or none.

    Raises
    ------
    NoTest
        If a level that may be the highest has no test.
    """
    return next((name for name in NAMES if test_of(name)(table)), None)


def holds(level: Any, table: Table, *, use_scores: bool = False) -> bool:
    """Whether a table is at a level.

    Raises
    ------
    InputError
        If no level bears the name.
    TooLarge
        If it cannot be told in reasonable time.
    """
    test = test_of(level)
    return is_double_by_scores(table) if use_scores else test(table)
