"""Small problems settled by trying: every set of so many reviews, depth first, hopeless branches left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.plans.check.persons import groups_of, held

if TYPE_CHECKING:
    from collections.abc import Callable

    from planner.plans.check.case import Case, Pair

#: Tables looked at before a search is given up.
TABLES = 2_000


class TooMany(Exception):
    """The sets are too many to be tried."""


def smallest_cost(case: Case, most: int) -> int | None:
    """Return the cost of the cheapest set of at most ``most`` reviews that reaches the level; None if none does.

    Costs are counted in the whole units in which plans are proved to be the cheapest.

    Raises
    ------
    TooMany
        If more than :data:`TABLES` tables would have to be looked at.
    """
    best: list[int] = []
    unit = case.rules.cost.unit

    def note(chosen: list[Pair]) -> bool:
        cost = sum(round(case.rules.cost_of(j, i) / unit) for j, i in chosen)
        best[:] = [min([*best, cost])]
        return not case.rules.cost

    _Trial(case, note).extend([], 0, most)
    return best[0] if best else None


class _Trial:
    """The search: a set is extended by pairs of higher number only, as loads and limits allow."""

    def __init__(self, case: Case, found: Callable[[list[Pair]], bool]) -> None:
        self.case, self.found, self.looked = case, found, 0
        self.spare, self.room = list(case.spare), list(case.room)
        people, table = case.rules.people, case.table
        self.most = people.panels.most.tolist()
        who = [table.reviewers_of(i).tolist() for i in range(table.n_items)] if people.limits else []
        self.held = [held(case.rules, i, there) for i, there in enumerate(who)]

    def reached(self, pairs: list[Pair]) -> bool:
        """Ask the level, and count how often."""
        self.looked += 1
        if self.looked > TABLES:
            raise TooMany
        return self.case.reached(pairs)

    def _fits(self, reviewer: int, item: int) -> bool:
        """Whether the item may have one more of each of the reviewer's panel groups."""
        groups = groups_of(self.case.rules, reviewer) if self.held else []
        return all(self.held[item][group] < self.most[group] for group in groups)

    def _take(self, reviewer: int, item: int, times: int) -> None:
        """Take a review; with ``times`` = -1 give it back."""
        self.spare[reviewer] -= times
        self.room[item] -= times
        if self.held:
            self.held[item].update(dict.fromkeys(groups_of(self.case.rules, reviewer), times))

    def extend(self, chosen: list[Pair], first: int, left: int) -> bool:
        """Try all sets that begin with some pairs; true once no better one is wanted."""
        if self.reached(chosen):
            return self.found(list(chosen))
        # Reaching is monotone: where all that may still come does not suffice, no part of it does.
        rest = self.case.pairs[first:]
        if left == 0 or not rest or not self.reached([*chosen, *rest]):
            return False
        for k, (j, i) in enumerate(rest, first):
            if self.spare[j] > 0 and self.room[i] > 0 and self._fits(j, i):
                self._take(j, i, 1)
                done = self.extend([*chosen, (j, i)], k + 1, left - 1)
                self._take(j, i, -1)
                if done:
                    return True
        return False
