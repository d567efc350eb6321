"""The page of a check of a table in parts: the verdict, and what is not decided."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reviewgraph._base.page import Fact, Page
from reviewgraph._base.text import counted, listed
from reviewgraph.graph.levels import Connected, level_named
from reviewgraph.report.check import sizes

if TYPE_CHECKING:
    from reviewgraph.graph.connection import Connection


def page_of(connection: Connection) -> Page:
    """Return the page of a check in batches: the verdict, and what is not decided."""
    reviews = connection.reviews
    missing = connection.least_degrees_of_freedom
    level = None if connection.level is None else level_named(connection.level)
    papers = counted(reviews.n_items, "paper")
    every = f"all {papers}" if reviews.n_items != 1 else papers
    good: bool | None
    verdict, summary, good = "Not comparable:", f"{papers}, in {counted(connection.pieces, 'island')}", False
    if level is not None and level.compares:
        verdict, summary, good = "Comparable:", f"{every}, {level.words.removeprefix('comparable').strip()}", True
    if good and level is not None and level.name == Connected.name:
        verdict, good = "Not comparable for certain:", False
        summary = f"{papers}, {level.words.removeprefix('comparable').strip()}"
    if good and 0 < reviews.n_scored < reviews.n_reviews:
        summary, good = f"{every}, once all reviews are in", None
    facts = [Fact("Reviews", sizes(reviews, reviews.n_scored))]
    if missing:
        facts.insert(0, Fact("Needed", f"at least {counted(missing, 'more review')}"))
    if connection.undecided:
        facts.append(
            Fact(
                "Not decided",
                f"{listed(connection.undecided)}: that takes memory that grows with the reviews. One group of "
                f"{counted(connection.least_cover, 'paper')} is comparable for certain",
            )
        )
    return Page("Check of reviews", good, verdict, summary, facts)
