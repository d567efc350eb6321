"""Who a plan asks, for which papers, and what there is then."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.plans.model.status import PlanStatus
from reviewgraph.labels import natural_key, places
from reviewgraph.levels import level_named
from reviewgraph.pages import of_this_file
from reviewgraph.report.page import Picture
from reviewgraph.report.pictures.bars import MOST, Bar, bars
from reviewgraph.report.tables import Column, Table
from reviewgraph.words import counted, ranging

if TYPE_CHECKING:
    from planner.plans.plan import Plan
    from reviewgraph.arrays import IntArray
    from reviewgraph.labels import Label

#: Reviewers with the largest load that are named.
NAMED = 3


class Asked:
    """The reviewers whom a plan asks, those asked for most first, equals in the natural order of their labels.

    Parameters
    ----------
    found
        A plan that holds reviews.
    """

    def __init__(self, found: Plan) -> None:
        self.found, self.table = found, found.constraints.reviews
        extra = np.bincount(found.pairs[:, 0], minlength=self.table.n_reviewers)
        order = np.lexsort((places(self.table.reviewers), -(self.table.loads + extra), -extra))
        self.codes: IntArray = order[: int((extra > 0).sum())]
        self.extra, self.before = extra[self.codes], self.table.loads[self.codes]

    @property
    def n_papers(self) -> int:
        """Papers that get reviews."""
        return int(np.unique(self.found.pairs[:, 1]).size)

    def most(self) -> str:
        """Say who has the largest extra load, and how many reviews that is."""
        largest, who = int(self.extra[0]), self._names(self.codes[self.extra == self.extra[0]])
        if self.codes.size == 1:
            return f"{who[0]} gets {'it' if largest == 1 else f'all {largest:,} of them'}."
        if largest == 1:
            return "Nobody gets more than one of them."
        if len(who) > NAMED:
            return f"The largest extra load is {largest:,}, for {len(who):,} reviewers."
        *others, last = who
        if not others:
            return f"{last} has the largest extra load, {largest:,}."
        return f"{', '.join(others)} and {last} have the largest extra load, {largest:,} each."

    def outcome(self) -> str:
        """Say what there is once the reviews have arrived; nothing of a plan that goes a part of the way."""
        found, deal = self.found, self.found.purchase
        if not found.attained:
            return ""
        if found.status == PlanStatus.CHOSEN and deal is not None:
            return f"With these reviews: {deal.after:.2f} {deal.unit}, without them {deal.before:.2f}."
        least = found.constraints.people.min_reviews
        each = f", and each has {counted(least, 'review')} or more" if least else ""
        papers = f"{self.table.n_items:,} papers{of_this_file(self.table)}"
        return f"With these reviews all {papers} are {level_named(found.target).words}{each}."

    def per_paper(self) -> tuple[str, str]:
        """Return reviews per paper with the plan, and before it."""
        after, before = self.found.reviews_with_plan.reviews_per_item, self.table.reviews_per_item
        return ranging(int(after.min()), int(after.max())), ranging(int(before.min()), int(before.max()))

    def loads(self) -> Picture:
        """Return the loads of those asked for most, before the plan and with it."""
        names = self._names(self.codes[:MOST])
        rows = zip(names, self.before.tolist(), self.extra.tolist(), strict=False)
        shown = [Bar(name, before, extra=extra) for name, before, extra in rows]
        who = f"The {MOST} reviewers asked for most" if self.codes.size > MOST else "Everybody who is asked"
        words = f"{who}: their reviews before the plan, and in another colour the extra ones."
        alike = len({(bar.number, bar.extra) for bar in shown}) == 1
        instead = (
            f"{self.codes.size:,} of {counted(self.table.n_reviewers, 'reviewer')} are asked, at most for "
            f"{self.extra[0]} more, beside {ranging(int(self.before.min()), int(self.before.max()))} they have."
        )
        return Picture(
            "loads", "Who is asked", words, lambda width: bars(shown, width, "reviews"), instead if alike else ""
        )

    def to_table(self) -> Table:
        """Return a row for each reviewer who is asked."""
        papers: dict[int, list[Label]] = {}
        for j, i in self.found.pairs.tolist():
            papers.setdefault(j, []).append(self.table.items[i])
        named = [", ".join(map(str, sorted(papers[j], key=natural_key))) for j in self.codes.tolist()]
        columns = [
            Column("reviewer", self._names(self.codes)),
            Column("extra", self.extra.tolist(), "number"),
            Column("papers", named),
            Column("before", self.before.tolist(), "number"),
            Column("with these", (self.before + self.extra).tolist(), "number"),
        ]
        return Table(
            "asked", "Who is asked, those for most reviews first", columns, "reviewers", live=self.codes.size > MOST
        )

    def _names(self, codes: IntArray) -> list[str]:
        return [str(self.table.reviewers[j]) for j in codes.tolist()]
