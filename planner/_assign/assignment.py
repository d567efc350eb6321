"""The result of an assignment: who reviews what, how much affinity that has, and what the level cost."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from planner._assign.findings import Concerned
from planner.rules import NOTHING_SHORT
from reviewgraph._base.results import Pictured, Status, backend_of
from reviewgraph.table.reviews import Reviews

if TYPE_CHECKING:
    from planner._assign.findings import Alternates, Authored, Below, Changes, Exchanges, Fairness, Kept, Randomised
    from planner.rules import Shortage
    from reviewgraph._base.arrays import FloatArray, IntArray
    from reviewgraph._base.labels import Label
    from reviewgraph.formats.systems.system import Outgoing


class AssignmentStatus(Status):
    """How an assignment ended.

    >>> AssignmentStatus.INFEASIBLE.text
    'proved: no assignment obeys everything that was asked for'
    """

    OPTIMAL = (
        "optimal",
        "no assignment within the constraints has more affinity, less what changes count, and it reaches the level",
    )
    FEASIBLE = (
        "feasible",
        "the constraints hold and the level is reached; the affinity lost for rules or the level may not be the least",
    )
    LEVEL_MISSED = (
        "level_missed",
        "the search did not reach the level, or all that was asked of each paper; give it more time, or add reviews",
    )
    BEST_EFFORT = (
        "best_effort",
        "not all demands can be met: as many are as can be, and the rest says whom to recruit",
    )
    INFEASIBLE = "infeasible", "proved: no assignment obeys everything that was asked for"

    @property
    def reached(self) -> bool:
        """Whether there is an assignment that does what was asked for."""
        return self in (AssignmentStatus.OPTIMAL, AssignmentStatus.FEASIBLE)


def _percent(part: float, whole: float) -> float:
    return 100.0 * part / abs(whole) if whole else 0.0


@dataclass(frozen=True, eq=False, repr=False)
class Assignment(Pictured):
    """Who reviews what, and what it cost to make the scores comparable.

    Parameters
    ----------
    status
        ``optimal``, ``feasible``, ``level_missed``, ``best_effort`` or ``infeasible``; ``status.text`` says what that
        means.
    target
        The level asked for, or ``none``.
    reviews
        The assignment: planned reviews, without those of a first phase; no reviews when infeasible.
    affinities
        Affinity of each review, shape (E,); 0 where unscored.
    affinity_unconstrained
        The largest total under the same demands, loads, conflicts and fixed pairs without a connection level; NaN
        when there is none.
    critical
        Reviewers without whom the level would not hold; None if they were not looked for, or not known in time.
    forced
        Pairs that the level forced in, beyond what affinity chose.
    explanation
        Why the assignment is infeasible or misses the level; empty otherwise.
    exchanges
        What exchanges for smaller errors gave up and bought; None if these were not looked for.
    not_exchanged
        Why they were not looked for, where the assignment is too large for them; empty otherwise.
    least_loss
        Affinity that the level costs at least, whatever the assignment; None where that is not known.
    loads
        Reviews of each reviewer in the assignment, shape (M,).
    concerned
        What became of a previous assignment and of a threshold, and the affinity that these cost.
    authors
        Which rules of an authors' file hold; None without one.
    kept
        The rules on who reviews a paper together, what they cost, and a bound; None where there are none.
    fairness
        How the papers are served, the worst above all; None where nothing of the kind was asked for.
    alternates
        Who can step in on each paper; None if that was not asked for.
    shortage
        Which papers lack reviews, and whom to recruit, for a best effort where demands cannot be met; else None.
    timed_out
        Whether a time limit stopped the search before its end.
    randomised
        With what probability each pair could be assigned, and what draws do, where this assignment was drawn; None
        where it was not.
    """

    status: AssignmentStatus
    target: str
    reviews: Reviews
    affinities: FloatArray
    affinity_unconstrained: float
    critical: tuple[Label, ...] | None = None
    forced: int = 0
    explanation: str = ""
    exchanges: Exchanges | None = None
    not_exchanged: str = ""
    least_loss: float | None = None
    loads: IntArray = field(default_factory=lambda: np.empty(0, np.int64))
    concerned: Concerned = field(default_factory=Concerned)
    authors: Authored | None = None
    kept: Kept | None = None
    fairness: Fairness | None = None
    alternates: Alternates | None = None
    shortage: Shortage | None = None
    timed_out: bool = False

    def short_of(self, shortage: Shortage) -> Assignment:
        """Return the same as what meets as many demands as can be met; infeasible where that is none."""
        if not self.reviews.n_reviews:
            why = self.explanation or shortage.why
            return replace(self, status=AssignmentStatus.INFEASIBLE, affinity_unconstrained=math.nan, explanation=why)
        return replace(self, status=AssignmentStatus.BEST_EFFORT, shortage=shortage)

    def _merit(self) -> tuple[object, ...]:
        """Return what makes an assignment better than another, first things first, the larger the better."""
        few = tuple(-count for count in self.concerned.counts)
        scores = np.bincount(self.reviews.item, self.affinities, self.reviews.n_items)
        served = tuple(np.sort(scores).tolist()) if self.fairness is not None and self.fairness.way else ()
        worth = self.affinity + self.rewards - self.concerned.paid
        return self.status.reached, self.reviews.n_reviews, few, served, worth

    def or_better(self, stricter: Assignment) -> Assignment:
        """Return this assignment, or that of a stricter problem if it does more; its bounds are those of this one."""
        if stricter._merit() <= self._merit():
            return self
        kept = stricter.kept
        if kept is not None and self.kept is not None:
            kept = replace(kept, affinity=max(kept.affinity, self.kept.affinity), bound=self.kept.bound)
        authors = stricter.authors
        if authors is not None and self.authors is not None:
            authors = replace(authors, affinity=max(authors.affinity, self.authors.affinity), bound=self.authors.bound)
        fairness = stricter.fairness
        if fairness is not None and self.fairness is not None:
            fairness = fairness.under(self.fairness)
        return replace(
            stricter,
            status=AssignmentStatus.FEASIBLE if stricter.status.reached else stricter.status,
            affinity_unconstrained=self.affinity_unconstrained,
            least_loss=self.least_loss,
            concerned=stricter.concerned.under(self.concerned),
            kept=kept,
            authors=authors,
            fairness=fairness,
        )

    randomised: Randomised | None = None

    pictured_by: ClassVar[str] = "planner.assignment_report"

    def in_frames_like(self, given: Any) -> Assignment:
        """Return the assignment with data frames of the kind of ``given``; as it is where that is none."""
        return replace(self, reviews=replace(self.reviews, backend=backend_of(given)))

    def headline(self) -> str:
        """Return status, sizes and affinity: whoever passed a matrix the wrong way round sees it."""
        return f"{self.status}, {self.reviews.headline()}, affinity {self.affinity:.6g}"

    def to_columns(self) -> dict[str, list[Any]]:
        """Return ``item``, ``reviewer`` and ``affinity`` of each review, by item."""
        table = self.reviews
        order = table.by_item.tolist()
        return {
            "item": [table.items[table.item[e]] for e in order],
            "reviewer": [table.reviewers[table.reviewer[e]] for e in order],
            "affinity": [float(self.affinities[e]) for e in order],
        }

    def outgoing(self) -> Outgoing:
        """Return the reviews as :mod:`reviewgraph.formats.systems` write them."""
        from reviewgraph.formats.systems.system import Outgoing

        columns = self.to_columns()
        return Outgoing(columns, self.reviews.titles, columns["affinity"], people=self.reviews.reviewers)

    def to_dict(self) -> dict[str, Any]:
        """Return the assignment as the command's ``--json`` prints it."""
        columns = self.to_columns()
        return {
            "status": self.status,
            "target": self.target,
            "reviews": [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
            "affinity": self.affinity,
            "affinity_unconstrained": self.affinity_unconstrained,
            "price_percent": self.price,
            "price_percent_at_least": self.least_price,
            "mean_affinity": self.mean_affinity,
            "minimum_affinity": self.minimum_affinity,
            "rules": [] if self.kept is None else self.kept.to_list(),
            "rewards": self.rewards,
            "price_of_rules_percent": self.price_of_rules,
            "bound": self.bound,
            "gap_percent": self.gap,
            "forced": self.forced,
            "critical": self.critical,
            "survives": self.survives,
            "exchanges": None if self.exchanges is None else self.exchanges.to_dict(),
            "price_percent_of_exchanges": self.price_of_exchanges,
            "price_percent_of_changes_and_threshold": self.price_of_concerns,
            "not_exchanged": self.not_exchanged,
            "changes": None if self.changes is None else self.changes.to_dict(),
            "below": None if self.below is None else self.below.to_dict(),
            "authors": None if self.authors is None else self.authors.to_dict(),
            "fair": None if self.fairness is None else self.fairness.to_dict(),
            **({} if self.alternates is None else self.alternates.to_dict()),
            "explanation": " ".join(
                filter(None, ("" if self.shortage is None else self.shortage.why, self.explanation))
            ),
            "timed_out": self.timed_out,
            **(NOTHING_SHORT if self.shortage is None else self.shortage.to_dict()),
            "probabilities": None if self.randomised is None else self.randomised.to_rows(),
            "draws": None if self.randomised is None else self.randomised.to_dict(),
        }

    @property
    def affinity(self) -> float:
        """Total affinity of the assignment."""
        return math.fsum(self.affinities.tolist())

    @property
    def mean_affinity(self) -> float:
        """Mean affinity of a review; NaN without reviews."""
        return float(self.affinities.mean()) if self.affinities.size else float("nan")

    @property
    def minimum_affinity(self) -> float:
        """Least affinity of a review; NaN without reviews."""
        return float(self.affinities.min()) if self.affinities.size else float("nan")

    @property
    def price(self) -> float:
        """Affinity lost against the unconstrained optimum, in percent of it; an upper bound on what it must be."""
        if self.status is AssignmentStatus.INFEASIBLE:
            return float("nan")
        lost = self.affinity_unconstrained - self.affinity
        scale = abs(self.affinity_unconstrained)
        return 100.0 * lost / scale if scale > 0 else 0.0

    @property
    def rewards(self) -> float:
        """What different reviewers on papers earn by rules, in affinity; no part of the affinity itself."""
        return 0.0 if self.kept is None else self.kept.rewards

    @property
    def bound(self) -> float:
        """What affinity and rewards together are at most under the rules, whatever the level; infinite if unknown."""
        bounds = [found.bound for found in (self.kept, self.authors) if found is not None]
        return min(bounds, default=self.affinity_unconstrained)

    @property
    def gap(self) -> float:
        """By how much affinity and rewards may fall short of the best without a level, in percent; 0 where proved."""
        short = max(self.bound - self.affinity - self.rewards, 0.0)
        return 0.0 if self.status is AssignmentStatus.OPTIMAL else _percent(short, self.bound)

    @property
    def price_of_rules(self) -> float:
        """The part of the price that the rules cost before any level, in percent."""
        best, found = self.affinity_unconstrained, self.kept or self.authors
        return 0.0 if found is None else _percent(best - self.concerned.lost - found.affinity, best)

    @property
    def price_of_exchanges(self) -> float:
        """The part of the price that was given up for smaller errors; the rest is the price of all else."""
        lost = 0.0 if self.exchanges is None else self.exchanges.lost
        scale = abs(self.affinity_unconstrained)
        return 100.0 * lost / scale if scale > 0 else 0.0

    @property
    def price_of_concerns(self) -> float:
        """The part of the price that fewer changes and fewer reviews below a threshold cost before any level."""
        scale = abs(self.affinity_unconstrained)
        return 100.0 * self.concerned.lost / scale if scale > 0 else 0.0

    @property
    def changes(self) -> Changes | None:
        """What changed against the previous assignment; None without one."""
        return self.concerned.changes

    @property
    def below(self) -> Below | None:
        """The reviews of an affinity below the threshold; None without one."""
        return self.concerned.below

    @property
    def price_of_fairness(self) -> float:
        """The part of the price that was given up for the worst-served papers and floors."""
        lost = 0.0 if self.fairness is None else self.fairness.lost
        scale = abs(self.affinity_unconstrained)
        return 100.0 * lost / scale if scale > 0 else 0.0

    @property
    def least_price(self) -> float | None:
        """What the price must be at least, in percent; None where that is not known."""
        if self.least_loss is None:
            return None
        scale = abs(self.affinity_unconstrained)
        return 100.0 * self.least_loss / scale if scale > 0 else 0.0

    @property
    def survives(self) -> bool | None:
        """Whether the level holds after any one reviewer drops out; None if that was not looked into."""
        return None if self.critical is None else self.status.reached and not self.critical
