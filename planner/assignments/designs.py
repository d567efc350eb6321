"""The designs of :mod:`reviewgraph.designs` as assignments, for chairs who have no affinities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from planner.assignments.assignment import Assignment
from reviewgraph.components import is_recovery_resilient
from reviewgraph.designs import doubly_connected_assignment, random_assignment

if TYPE_CHECKING:
    from reviewgraph.labels import Label


def design_assignment(
    items: Sequence[Label], loads: Mapping[Any, int], design: Literal["random", "double"] | str, seed: int = 0
) -> Assignment:
    """Assign at random by Algorithm 2 (``random``) or Algorithm 3 (``double``) of [Tan21]_.

    Every reviewer gets exactly her load; demands, affinities and conflicts play no part.

    Parameters
    ----------
    items
        Labels of the papers.
    loads
        Reviews of each reviewer.
    design
        Which algorithm.
    seed
        Seed of the random choice, 0 by default.

    Raises
    ------
    ImpossibleDesign
        If no assignment of the kind has these sizes.

    Examples
    --------
    >>> design_assignment("abcd", {"ann": 3, "bob": 3}, "double").reviews.loads.tolist()
    [3, 3]
    """
    draw = doubly_connected_assignment if design == "double" else random_assignment
    rng = np.random.default_rng(seed)
    reviews = replace(
        draw(len(items), len(loads), list(loads.values()), rng), reviewers=tuple(loads), items=tuple(items)
    )
    return Assignment(
        "feasible",
        "double" if design == "double" or is_recovery_resilient(reviews) else "none",
        reviews,
        np.zeros(reviews.n_reviews),
        0.0,
        loads=reviews.loads,
    )
