"""Small problems settled by trying: every set of so many reviews, depth first, hopeless branches left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.plans.check.persons import institution_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from planner.plans.check.case import Case, Pair

#: Tables looked at before a search is given up.
TABLES = 2_000


class TooMany(Exception):
    """The sets are too many to be tried."""


def smallest_cost(case: Case, most: int) -> float | None:
    """Return the cost of the cheapest set of at most ``most`` reviews that reaches the level; None if none does.

    Raises
    ------
    TooMany
        If more than :data:`TABLES` tables would have to be looked at.
    """
    best: list[float] = []

    def note(chosen: list[Pair]) -> bool:
        cost = sum(case.rules.cost_of(j, i) for j, i in chosen)
        best[:] = [min([*best, cost])]
        return not case.rules.cost

    _Trial(case, note).extend([], 0, most)
    return best[0] if best else None


class _Trial:
    """The search: a set is extended by pairs of higher number only, as loads and limits allow."""

    def __init__(self, case: Case, found: Callable[[list[Pair]], bool]) -> None:
        self.case, self.found, self.looked = case, found, 0
        self.spare, self.room = list(case.spare), list(case.room)
        self.held = {self._party(j, i) for j, i in case.rules.fixed.tolist()}

    def reached(self, pairs: list[Pair]) -> bool:
        """Ask the level, and count how often."""
        self.looked += 1
        if self.looked > TABLES:
            raise TooMany
        return self.case.reached(pairs)

    def _party(self, reviewer: int, item: int) -> tuple[int, int]:
        """Name what an item has one new review of: an institution, or the reviewer alone (by a negative number)."""
        home = institution_of(self.case.rules, reviewer)
        return item, home if home >= 0 else -1 - reviewer

    def extend(self, chosen: list[Pair], first: int, left: int) -> bool:
        """Try all sets that begin with some pairs; true once no better one is wanted."""
        if self.reached(chosen):
            return self.found(list(chosen))
        # Reaching is monotone: where all that may still come does not suffice, no part of it does.
        rest = self.case.pairs[first:]
        if left == 0 or not rest or not self.reached([*chosen, *rest]):
            return False
        for k, (j, i) in enumerate(rest, first):
            party = self._party(j, i)
            if self.spare[j] > 0 and self.room[i] > 0 and party not in self.held:
                self.spare[j] -= 1
                self.room[i] -= 1
                self.held.add(party)
                done = self.extend([*chosen, (j, i)], k + 1, left - 1)
                self.held.remove(party)
                self.spare[j] += 1
                self.room[i] += 1
                if done:
                    return True
        return False
