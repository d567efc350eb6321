"""What a search has found and proved so far, and who is told of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from reviewgraph.results import Progress
from reviewgraph.words import noun

if TYPE_CHECKING:
    from collections.abc import Callable

    from reviewgraph.clock import Clock
    from reviewgraph.labels import IntArray


@dataclass(frozen=True)
class Bound:
    """A number of reviews that no plan can do with less than.

    Parameters
    ----------
    value
        The number; ``math.inf`` is never used: what cannot be done at all is said by the status.
    kind
        ``degrees of freedom``, ``loads``, ``expansion``, ``flow``, ``parts``, ``groups`` (made by few reviews),
        ``pieces``, ``cuts``, ``coverage`` or ``unfinished``.
    words
        The proof in a sentence.
    lost
        What is lost in the case that the proof is about, where it is about one: the beginning of the sentence.
    parts
        For the kinds ``parts`` and ``groups``: what each part of the contracted graph takes.
    weights
        For the kind ``flow``: by item of each component of three items or more, how the flow divides among ways.
    """

    value: int
    kind: str
    words: str
    parts: tuple[int, ...] = ()
    weights: tuple[float, ...] = field(default=(), repr=False)
    lost: str = ""

    @property
    def sentence(self) -> str:
        """The proof, with the case that it is about."""
        return f"{self.lost}, {self.words}" if self.lost else self.words


@dataclass(frozen=True)
class PlanProgress(Progress):
    """How far planning is.

    Parameters
    ----------
    count
        Reviews of the best plan; None as long as there is no plan.
    lower_bound
        Reviews that are needed at least.
    """

    count: int | None = None
    lower_bound: int = 0


@dataclass
class Ledger:
    """The best plan and the bounds found so far, and who is told.

    Parameters
    ----------
    clock
        When the search is to end; whoever works for the ledger counts the work there.
    report
        Told of every change.
    budget
        Reviews that are allowed beyond the fixed ones; None if any number is.
    pairs
        The best plan, shape (P, 2), without the fixed reviews; None as long as there is none.
    part
        Reviews that go a part of the way, should there be no time for a plan; None if there are none.
    bounds
        Lower bounds in the order in which they were found, each larger than those before.
    cheapest
        Whether no plan of the same length is cheaper.
    infeasible
        Whether it is proved that there is no plan.
    reasons
        Sentences for people about how the search ended.
    explained
        Whether the reasons say all there is to say of why there is no plan.
    prices, short
        Certificates for a matroid within loads, see :class:`planner.Plan`.
    fills
        The cheapest reviews that fill what items are short of, of even loads, shape (F, 2), and the largest extra load
        that such reviews have at least; none and 0 where that is not proved.
    """

    clock: Clock
    report: Callable[[PlanProgress], object] | None = None
    budget: int | None = None
    pairs: IntArray | None = None
    part: IntArray | None = None
    bounds: list[Bound] = field(default_factory=list)
    cheapest: bool = False
    infeasible: bool = False
    reasons: list[str] = field(default_factory=list)
    explained: bool = False
    prices: IntArray | None = None
    short: IntArray | None = None
    fills: tuple[IntArray, int] | None = None

    @property
    def lower_bound(self) -> int:
        """Largest of the bounds."""
        return max((bound.value for bound in self.bounds), default=0)

    @property
    def closed(self) -> bool:
        """Whether plan and bound meet, or the bound rules the budget out."""
        return self.out_of_reach or (self.pairs is not None and len(self.pairs) <= self.lower_bound)

    @property
    def out_of_reach(self) -> bool:
        """Whether the bound is above the budget."""
        return self.budget is not None and self.lower_bound > self.budget

    @property
    def in_time(self) -> bool:
        """Whether time is left."""
        return not self.clock.over()

    def offer(self, pairs: IntArray) -> None:
        """Take a plan that reaches the target if it is shorter than the one we have."""
        if self.pairs is None or len(pairs) < len(self.pairs):
            self.pairs = pairs
            self.tell()

    def prove(self, bound: Bound | None) -> None:
        """Note a lower bound if it is the largest."""
        if bound is not None and (bound.value > self.lower_bound or not self.bounds):
            self.bounds.append(bound)
            self.tell()

    def nothing_to_do(self, nothing: IntArray) -> None:
        """Note that the target is reached without a further review."""
        self.prove(Bound(0, "unfinished", "nothing is missing"))
        self.cheapest = True
        self.offer(nothing)

    def tell(self) -> None:
        """Report how far we are."""
        if self.report is not None:
            count = None if self.pairs is None else len(self.pairs)
            best = "no plan yet" if count is None else f"{count} {noun(count, 'review')}"
            words = f"best so far: {best}   at least {self.lower_bound} {noun(self.lower_bound, 'is', 'are')} needed"
            self.report(PlanProgress(self.clock.elapsed(), words, None, count, self.lower_bound))
