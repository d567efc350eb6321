"""The designs of :mod:`reviewgraph.designs` as assignments, for chairs who have no affinities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from planner.assignments.assignment import Assignment, AssignmentStatus
from planner.assignments.model.designs import design_named
from reviewgraph.components import is_recovery_resilient

if TYPE_CHECKING:
    from reviewgraph.labels import Label


def design_assignment(items: Sequence[Label], loads: Mapping[Any, int], design: str, seed: int = 0) -> Assignment:
    """Assign at random by Algorithm 2 (``random``) or Algorithm 3 (``double``) of [Tan21]_.

    Every reviewer gets exactly her load; demands, affinities and conflicts play no part.

    Parameters
    ----------
    items
        Labels of the papers.
    loads
        Reviews of each reviewer.
    design
        Which algorithm: ``random`` or ``double``.
    seed
        Seed of the random choice, 0 by default.

    Raises
    ------
    InputError
        If there is no such design.
    ImpossibleDesign
        If no assignment of the kind has these sizes.

    Examples
    --------
    >>> design_assignment("abcd", {"ann": 3, "bob": 3}, "double").reviews.loads.tolist()
    [3, 3]
    """
    drawn = design_named(design).draw(len(items), list(loads.values()), np.random.default_rng(seed))
    reviews = replace(drawn, reviewers=tuple(loads), items=tuple(items))
    return Assignment(
        AssignmentStatus.FEASIBLE,
        "double" if is_recovery_resilient(reviews) else "none",
        reviews,
        np.zeros(reviews.n_reviews),
        0.0,
        loads=reviews.loads,
    )
