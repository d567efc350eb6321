"""Structure of a table of reviews, scores left aside: components, missing links and the level that holds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from reviewgraph._base.results import Result
from reviewgraph._base.text import counted
from reviewgraph.graph.components import (
    Components,
    Recoverability,
    connected_components,
    covers_all,
    doubly_connected_components,
    recoverability,
)
from reviewgraph.graph.levels import LEVELS, Double, level_named
from reviewgraph.table.reviews import as_reviews

if TYPE_CHECKING:
    from reviewgraph.table.reviews import Reviews, ReviewsLike


@dataclass(frozen=True, eq=False, repr=False)
class Structure(Result):
    """Components, missing links and levels of a table, scores left aside.

    Parameters
    ----------
    reviews
        The reviews that count.
    connected
        Pieces of the reviewer-item graph.
    doubly_connected
        Doubly connected components and their certificate.
    recoverability
        Rank, degrees of freedom, blocks.
    """

    reviews: Reviews
    connected: Components
    doubly_connected: Components
    recoverability: Recoverability

    @property
    def recovery_resilient(self) -> bool:
        """Level ``double``: comparable for certain (Theorem 3.4)."""
        return covers_all(self.doubly_connected)

    @property
    def recoverable(self) -> bool:
        """Level ``recoverable``: comparable unless qualities line up by coincidence."""
        return self.recoverability.recoverable

    @property
    def degrees_of_freedom(self) -> int:
        """Missing links."""
        return self.recoverability.degrees_of_freedom

    @property
    def is_connected(self) -> bool:
        """Level ``connected``: comparable only if reviewers differ just in severity."""
        return self.connected.is_one_piece

    @cached_property
    def survives_any_reviewer(self) -> bool:
        """Level ``survives-reviewer``: comparable for certain without any one reviewer."""
        return self.recovery_resilient and not _double_finder().critical_reviewers(self.reviews).size

    @cached_property
    def survives_any_review(self) -> bool:
        """Level ``survives-review``: comparable for certain without any one review."""
        return self.recovery_resilient and not _double_finder().critical_reviews(self.reviews).size

    @property
    def level(self) -> str | None:
        """The name of the highest level that holds, or None."""
        return next((level.name for level in LEVELS if level.holds(self)), None)

    def to_dict(self) -> dict[str, Any]:
        """Return sizes and findings as the command's ``--json`` prints them."""
        return {
            "reviewers": self.reviews.n_reviewers,
            "items": self.reviews.n_items,
            "reviews": self.reviews.n_reviews,
            "connected": {"components": len(self.connected)},
            "doubly_connected": self.doubly_connected.to_dict(),
            "recovery_resilient": self.recovery_resilient,
            "recoverable": self.recoverable,
            "degrees_of_freedom": self.degrees_of_freedom,
            "level": self.level,
        }

    def groups(self) -> dict[str, list[Any]]:
        """Return columns role, label, group: one row per reviewer, and per paper in each of its groups.

        Groups are numbered by size, from 1; the group of a paper in none is None.
        """
        double = self.doubly_connected
        number = {component: rank for rank, component in enumerate(double.largest_first.tolist(), 1)}
        rows: list[tuple[str, Any, int | None]] = [
            ("reviewer", label, number.get(component))
            for label, component in zip(self.reviews.reviewers, double.labels.tolist(), strict=True)
        ]
        groups_of: list[list[int]] = [[] for _ in self.reviews.items]
        for component, rank in number.items():
            for item in double.covers[component].tolist():
                groups_of[item].append(rank)
        for label, ranks in zip(self.reviews.items, groups_of, strict=True):
            rows += [("item", label, rank) for rank in ranks] or [("item", label, None)]
        return {name: [row[column] for row in rows] for column, name in enumerate(("role", "label", "group"))}

    def to_columns(self) -> dict[str, list[Any]]:
        """Return one row per reviewer: reviews, piece (connected component), group (doubly connected component)."""
        return {
            "reviewer": list(self.reviews.reviewers),
            "reviews": self.reviews.loads.tolist(),
            "piece": self.connected.labels.tolist(),
            "group": self.doubly_connected.labels.tolist(),
        }

    def headline(self) -> str:
        """Return the level, and the number of missing links."""
        n_items, missing = self.reviews.n_items, self.degrees_of_freedom
        lacking = f", {counted(missing, 'link')} missing" if missing else ""
        return f"{counted(n_items, 'item')}, {self.level or 'not connected'}{lacking}"


def _double_finder() -> Any:
    return level_named(Double.name).part("finder")


def structure_of(reviews: ReviewsLike) -> Structure:
    """Compute components and missing links of a table, in near-linear time on real and random tables.

    >>> from reviewgraph import Reviews
    >>> structure_of(Reviews.from_pairs([("ann", 1), ("ann", 2), ("bob", 2), ("bob", 3)]))
    <Structure: 3 items, connected, 1 link missing>
    """
    reviews = as_reviews(reviews)
    double = doubly_connected_components(reviews)
    return Structure(reviews, connected_components(reviews), double, recoverability(reviews, components=double))
