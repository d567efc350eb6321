"""Bounds of the levels that survive a loss, computed again: what papers lack, and links missing after a loss."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from reviewgraph.levels import SurvivesReviewer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.plans.check.case import Case


def lacking(case: Case) -> int:
    """Reviews that papers lack of two each."""
    counts = Counter(case.table.item.tolist())
    return sum(max(2 - counts[i], 0) for i in range(case.table.n_items))


def after_losses(case: Case) -> Iterator[Case]:
    """Give what is to be planned after each loss of an existing review, or of a reviewer."""
    table, N = case.table, case.table.n_items
    whole = isinstance(case.level, SurvivesReviewer)
    for one in range(table.n_reviewers if whole else table.n_reviews):
        lost = table.reviewer == one if whole else np.arange(table.n_reviews) == one
        spare = np.array(case.spare, np.int64)
        if whole:
            spare[one] = 0
        gone = table.reviewer[lost] * N + table.item[lost]
        rules = replace(
            case.rules,
            reviews=table.subset(~lost),
            spare=spare,
            room=np.array(case.room, np.int64),
            conflicts=np.union1d(case.rules.conflicts, gone),
            fixed=case.rules.fixed[:0],
            people=case.rules.people.without(table.subset(lost)),
        )
        yield replace(case, rules=rules)


def one_more(case: Case) -> int:
    """1 where a review of the plan itself may be the one that is lost, and links are missing."""
    return int(case.links > 0 and not isinstance(case.level, SurvivesReviewer))
