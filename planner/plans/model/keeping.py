"""How likely a level is kept when reviews fail to arrive: the losses drawn, and what they tell."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from planner.plans.model.task import looked_at

if TYPE_CHECKING:
    from planner.plans.model.target import Target
    from reviewgraph.clock import Clock
    from reviewgraph.reviews import BoolArray, Reviews


class Estimate(NamedTuple):
    """A probability, and its standard error, never 0: that of one success and one failure more than were seen."""

    probability: float
    standard_error: float


#: Losses drawn at least, whatever the time.
LEAST = 10
#: What stands for an estimate that was not made.
UNKNOWN = Estimate(float("nan"), float("nan"))


@dataclass(frozen=True)
class Keeping:
    """What was asked of a plan when reviews fail to arrive, and what it attains.

    Each review, with a score or without, of the table or of the plan, fails to arrive with the same probability,
    independently of the others.

    Parameters
    ----------
    missing
        The probability with which a review fails to arrive.
    wanted
        The probability with which the level shall be kept.
    before, after
        That probability, estimated for the reviews there are and for these with the plan, from losses drawn anew;
        :data:`UNKNOWN` where the search was interrupted.
    """

    missing: float
    wanted: float
    before: Estimate
    after: Estimate

    @property
    def known(self) -> bool:
        """Whether it was estimated at all; an interrupted search has no estimates."""
        return not np.isnan(self.after.probability)

    @property
    def attained(self) -> bool:
        """Whether the estimate is what was wanted, or not two standard errors below."""
        return self.after.probability + 2 * self.after.standard_error >= self.wanted

    def to_dict(self) -> dict[str, Any]:
        """Return it as the command's ``--json`` prints it."""
        estimates = {name: getattr(self, name)._asdict() for name in ("before", "after")}
        return {**asdict(self), **estimates, "attained": self.attained}


def draw_loss(table: Reviews, missing: float, rng: np.random.Generator) -> BoolArray:
    """Shape (E,): the reviews that fail to arrive, each with the same probability."""
    return rng.random(table.n_reviews) < missing


def keeps(target: Target, table: Reviews, lost: BoolArray) -> bool:
    """Whether a level is kept when some rows of a table fail to arrive."""
    return target.reaches(table.subset(~lost))


def estimate(
    target: Target, table: Reviews, missing: float, draws: int, rng: np.random.Generator, clock: Clock
) -> Estimate:
    """Estimate the probability of keeping a level from so many drawn losses; fewer, but some, where time is over."""
    kept = drawn = 0
    while drawn < draws and (drawn < LEAST or not clock.over()):
        kept += keeps(target, table, draw_loss(table, missing, rng))
        clock.spend(looked_at(table))
        drawn += 1
    smoothed = (kept + 1) / (drawn + 2)
    return Estimate(kept / drawn, float(np.sqrt(smoothed * (1 - smoothed) / drawn)))
