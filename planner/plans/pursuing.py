"""From a plan to a level, or from none, to the reviews that serve an objective."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from planner.plans.model.ledger import Ledger
from planner.plans.model.tables import no_pairs
from planner.plans.objectives.choosing import choose
from planner.plans.objectives.favouring import favoured
from planner.plans.objectives.purchasing import bought, purchase
from reviewgraph.clock import TimeOver
from reviewgraph.errors import InputError

if TYPE_CHECKING:
    from planner.plans.model.target import Target
    from planner.plans.model.task import Task
    from planner.plans.objectives.objective import Objective
    from planner.plans.plan import Plan
    from reviewgraph.clock import Clock
    from reviewgraph.labels import IntArray

#: Share of time and work left for exchanging reviews that do the same join.
FAVOURING = 0.5
#: Work for a plan that connects, to be compared with.
CONNECTING = 2.0


def expect_an_end(aim: Objective, budget: int | None) -> None:
    """Refuse an objective without an end of its own where there is no budget.

    Raises
    ------
    InputError
        If so.
    """
    if budget is None and aim.worth_reading() is None:
        message = "max_reviews: expected how many extra reviews there may be, since each helps a little; found none"
        raise InputError(message)


def pursue(
    aim: Objective, target: Target, task: Task, pairs: IntArray, budget: int | None, clock: Clock
) -> tuple[IntArray, IntArray]:
    """Return the reviews that reach the level, exchanged for such as gain more, and those chosen beyond.

    Parameters
    ----------
    aim
        What a review gains.
    target, task, pairs
        A plan that reaches its level, shape (P, 2), without fixed reviews; or none where no level was asked for.
    budget
        Reviews in all beside the fixed ones; by default as many beyond the level as the objective finds worth reading.
    clock
        When to end.
    """
    if len(pairs) and not task.needs.total:
        pairs = favoured(aim, target, task, pairs, clock.share(FAVOURING))
    beyond = (aim.worth_reading() or 0) if budget is None else budget - len(pairs)
    return pairs, choose(aim, task, pairs, beyond).pairs


def connecting(target: Target, task: Task, clock: Clock, rng: np.random.Generator) -> IntArray:
    """Return reviews that a plan for the level alone would ask for, as far as a short search finds any."""
    ledger = Ledger(clock.effort(CONNECTING))
    with suppress(TimeOver):
        target.fill(task, ledger, rng)
    return no_pairs() if ledger.pairs is None else ledger.pairs[target.order(task, ledger.pairs, clock)]


def priced(plan: Plan, aim: Objective, connection: IntArray, beyond: int) -> Plan:
    """Return a plan that says what each review buys, and all of them.

    Parameters
    ----------
    plan
        Fixed reviews first.
    aim
        What for.
    connection
        Shape (P, 2): what a plan for the level alone would ask for.
    beyond
        How many of its reviews, the last ones, were chosen for the objective.
    """
    fixed = len(plan.constraints.fixed)
    found = bought(aim, plan.constraints.reviews, plan.pairs[fixed:])
    reviews = plan.reviews[:fixed] + tuple(
        replace(review, gain=gain, buys=words)
        for review, gain, words in zip(plan.reviews[fixed:], found.gains, found.words, strict=True)
    )
    deal = purchase(aim, found.after, plan.count - fixed, plan.count - beyond, connection)
    return replace(plan, reviews=reviews, purchase=deal, explanation=(*plan.explanation, *deal.sentences()))
