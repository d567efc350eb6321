"""The planner: the fewest extra reviews after which all items can be compared."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Unpack, cast, get_args

import numpy as np

from planner._plans.constraints import Constraints, Prices, constrain, no_pairs, with_extra
from planner._plans.objectives import Decision, ObjectiveName, beliefs_of, gains_of, purchase
from planner._plans.outcome import PlanStatus, fixed_too_many, joins, still_short, why_not, why_partial
from planner._plans.plan import Plan, PlannedReview
from planner._plans.process import Rounds, Terms, choose, round_of, why_no_more
from planner._plans.rounds import FIRST_PHASE, expected_beliefs
from planner._plans.target import Ledger, PlanProgress, PlanTarget, Target, target_named
from planner._plans.targets import covered
from planner._plans.targets.covered import least_load, nearest
from planner._plans.task import Task, new_task
from planner.rules import AtLeast, Rule, asked_rules, panel_rules
from reviewgraph._base import Clock, InputError, IntArray, Mentions, Search, checked, selected_of
from reviewgraph.graph import Assumptions
from reviewgraph.io import Numbered, PlanRules, Rules
from reviewgraph.table import ReviewsLike, as_reviews

#: Most rounds, that is mailings, of a process.
MOST_ROUNDS = 20
#: Numbers: minimum, maximum, and what is expected in words.
RANGES: dict[str, tuple[float, float, str]] = {
    "n": (0, math.inf, "a whole number, 0 or more"),
    "match": (2, math.inf, "2 or more reviews per paper"),
    "rounds": (1, MOST_ROUNDS, f"a whole number from 1 to {MOST_ROUNDS}"),
}


def _fault(stated: Rules, given: Mapping[str, Any], *, decides: bool, levelled: bool, in_rounds: bool) -> str:
    """Return which arguments do not go together or are out of range; ``given`` are those that are not None."""
    panels = panel_rules(stated)
    minimum = stated.min_reviews and not in_rounds
    is_needed = minimum or stated.senior is not None or any(isinstance(rule, AtLeast) for rule in panels)
    of_process = [name for name in ("rounds", "match") if name in given]
    if "n_selected" in given and not decides:
        return "n_selected: expected goal 'decision' (--for decision) with it, found none; add that, or leave it out"
    if is_needed and not levelled:
        return "min_reviews, senior, rules: expected a target with them and goal 'decision', found none"
    if "best_effort" in given and not levelled:
        return "best_effort: expected a target with it, since goal 'decision' alone has no level; found none"
    if of_process and not in_rounds:
        without = "without a target; plan for the level first, then in rounds"
        return f"{of_process[0]}: expected goal 'decision' (--for decision) {without}"
    if {"n", "match"} <= given.keys():
        return "n: expected none with match, which determines the number of reviews; drop one of them"
    if "rounds" in given and not given.keys() & {"n", "match"}:
        return (
            f"rounds: expected the number of reviews of all {given['rounds']} rounds with it, found none; "
            "add n (--max-reviews)"
        )
    for name, (low, high, expected) in RANGES.items():
        if name in given and not low <= given[name] <= high:
            return f"{name}: expected {expected}, found {given[name]!r}"
    return ""


#: Work, see :class:`reviewgraph._base.clock.Clock`, of a search: about a minute, and the same on every machine.
WORK = 60.0
#: Shares of time and work: for a complete plan if there is a budget, and at least for the best part of one.
BEFORE_BUDGET = 0.5
LEAST_FOR_BUDGET = 0.3
#: Minimum seconds, and work, for finding the losses that a plan survives and that its reviews repair.
CLOSING = 0.3
#: With affinities: share of time and work for the largest load of a plan without them.
FAIR = 0.3


class PlanOptions(PlanRules, total=False):
    """Rarer options of :func:`plan`, and the fields of :class:`reviewgraph.Rules` that it takes as keywords."""

    rounds: int | None
    match: int | None


#: Names of the last release, and what they are called now.
OLD = {
    "max_reviews": "n",
    "objective": "goal",
    "time_limit": "search.time_limit",
    "seed": "search.seed",
    "progress": "search.progress",
}


@checked(options=PlanOptions, old=OLD)
def plan(
    reviews: ReviewsLike,
    n: int | None = None,
    target: PlanTarget | None = None,
    *,
    rules: Rules | Sequence[Rule] | None = None,
    goal: ObjectiveName = "level",
    n_selected: int | str | None = None,
    cost: Numbered | None = None,
    affinity: Numbered | None = None,
    min_affinity: float | None = None,
    best_effort: bool = False,
    search: Search | None = None,
    **options: Unpack[PlanOptions],
) -> Plan:
    """Find the fewest extra reviews that reach a level of connection and cover every item.

    ::

        minimise    the number of new (reviewer, item) pairs, then their cost; with affinities the largest extra load,
                    then the distance to the highest affinity
        subject to  conflicts, spare loads, limits per item, fixed pairs, affinities above a floor, rules on who reviews
                    an item together; existing and new reviews together are at the level target, and every item is
                    reviewed, min_reviews times or more and by whom rules ask for, where that is asked for

    Among plans of the same length and cost, the largest extra load of a reviewer is minimised by passing reviews to
    interchangeable reviewers; :attr:`Plan.largest_load_lower_bound` is the proved bound. ``optimal`` refers to number
    and cost only. Affinities are a preference: nobody has a larger extra load than in a plan without them.

    Parameters
    ----------
    reviews
        Who reviews what, or a data frame of it. Items nobody reviewed must be among ``reviews.items``.
    n
        Maximum number of extra reviews, fixed pairs included; None (default) for as many as the target takes. If it is
        too small, the plan holds the reviews that let the largest group cover most items; see :attr:`Plan.reach`.
    target
        ``double``, ``recoverable`` or ``connected``, or a level that holds after a loss, ``survives-reviewer`` or
        ``survives-review``: ``double`` after any one reviewer, or review, old or new, fails to arrive. By default
        ``double``, and none with another objective.
    rules
        A :class:`reviewgraph.Rules`; existing reviews count. No new review exceeds a limit of a rule; in the end every
        item satisfies all minimums, which have priority if a budget is too small. A list of :class:`AtMost` and
        :class:`AtLeast` objects is short for those alone.
    goal
        ``level`` (default): nothing beyond the target. ``decision``: fewest wrong among the papers that will be
        selected, which needs scores. A target has priority, and the rest of the budget serves the goal.
    n_selected
        Number of papers to be selected, or a percentage such as ``"20%"``, for ``decision``.
    cost
        Cost by pair, 1 by default: pairs, a mapping, a Series or a data frame with columns named as in files.
    affinity
        Affinities: a mapping (reviewer, item) -> number, a Series or data frame, or a
        :class:`reviewgraph.formats.columns.Columns` with scores; 0 for other pairs. Among plans of one length and
        largest extra load, affinity is maximised: the cost of a pair is the highest affinity minus its own. Cannot be
        combined with ``cost``.
    min_affinity
        Exclude pairs of lower affinity, and pairs without one.
    best_effort
        If there is no plan to the target, return the closest one: first minimise the missing reviews, and people, that
        items must have, spread evenly if rules are only on numbers of reviews; then reach the level, or the largest
        group. :attr:`Plan.shortage` lists the missing reviews and who could write them. With ``decision`` it needs
        a target.
    search
        A :class:`reviewgraph.Search`: time limit, seed and progress. The time includes the preparation of constraints.
        Without a limit the work is counted, about a minute of it, so that the plan is the same on every machine; a
        limit of more than 60 seconds allows more work. Progress is a :class:`PlanProgress` whenever the plan or the
        bound improves.
    rounds
        Plan the first of this number of rounds, for ``decision`` without a target: ``n`` is the number of reviews of
        all of them, see :attr:`Plan.rounds`. Once its reviews have scores, plan the next with one round less and the
        reviews that remain; reviews without a score are still to come. 1 by default with ``min_reviews``.
    match
        Plan the first round of a process that decides as well as this number of reviews for every paper, for
        ``decision``: how many reviews that takes, and in how many rounds unless ``rounds`` is given, is simulated.
        Without scores the first round is a first phase, two reviews per paper or ``min_reviews``, and reviewers are
        assumed to differ as in :class:`reviewgraph.graph.Assumptions`.
    **options
        The two above, which are rarer, and rules as keywords of their own, as in
        ``plan(reviews, conflicts=pairs, spare=2)``.

    Returns
    -------
    Plan
        With status, lower bound, and the certificate of both.

    Raises
    ------
    InputError
        If an argument is malformed or needs another one, an objective lacks scores, a fixed pair is unknown, a rule
        uses an attribute no reviewer has, or a table of pairs or people has no known label.

    Notes
    -----
    ``connected`` takes time near-linear in the allowed pairs. ``recoverable`` is a matroid greedy over the allowed
    pairs, each offered to the pebble game; where loads, limits or reviewers of fewer than two reviews stand in
    the way, and for ``double`` always, the problem contains set cover: a cascade gives a plan, taking reviews out and
    completing it anew improves it, and bounds (degrees of freedom, expansion, listing what fewer reviews can make,
    an implicit hitting set) say how good it is. Sources: Remark 3.5 of [Tan21]_ asks for a review at a time;
    Whiteley (1989) for the matroid.

    Examples
    --------
    >>> from reviewgraph import Reviews
    >>> chain = Reviews([("ann", 1), ("ann", 2), ("bob", 2), ("bob", 3)])
    >>> extra = plan(chain)
    >>> extra.status, extra.count, extra.lower_bound
    ('optimal', 1, 1)
    """
    table = as_reviews(reviews)
    if goal not in get_args(ObjectiveName):
        raise InputError(f"goal: expected one of {', '.join(get_args(ObjectiveName))}, found {goal!r}")
    decides = goal == "decision"
    levelled = target is not None or not decides
    level = target_named(target or "double")
    limits = search or Search()
    rounds = options.pop("rounds", None)
    match = options.pop("match", None)
    # A share is one of the items with scores; before there are scores, of all.
    eligible = int((table.only_scored().reviews_per_item > 0).sum()) or table.n_items
    n_selected = None if n_selected is None else selected_of(n_selected, eligible)
    whole = Clock(limits.time_limit, work=max(WORK, limits.time_limit or 0.0))
    stated = asked_rules("plan", rules, options, PlanRules.__annotations__)
    in_rounds = bool(rounds is not None or match is not None or stated.min_reviews) and not levelled
    numbers = {"n_selected": n_selected, "n": n, "rounds": rounds, "match": match}
    passed = {name: value for name, value in numbers.items() if value is not None}
    if best_effort:
        passed["best_effort"] = True
    if fault := _fault(stated, passed, decides=decides, levelled=levelled, in_rounds=in_rounds):
        raise InputError(fault)
    first_phase = match is not None and not table.scored.any()
    if match is not None and first_phase:
        stated = replace(stated, min_reviews=stated.min_reviews or min(FIRST_PHASE, match - 1))
    least = int(stated.min_reviews or 0)
    constraints = constrain(table, stated, cost, affinity, min_affinity)
    known = constraints.reviews, constraints.fixed
    # The calibration of the existing scores is not part of the search and its time.
    with whole.paused():
        aim = None
        if decides:
            beliefs = expected_beliefs(*known, least, Assumptions()) if first_phase else beliefs_of(*known)
            aim = Decision(beliefs, n_selected)
    terms = None
    if in_rounds and aim is not None:
        # A match finds its number of rounds.
        terms = Terms(rounds or int(match is None), n, least, match, first_phase)

    def searched(constraints: Constraints, clock: Clock) -> Plan:
        budget = None if n is None else n - len(constraints.fixed)
        # A plan has at most this number of reviews: joins, uncovered items, first reviews of new reviewers.
        task = new_task(constraints, 3 * (table.n_items + constraints.reviews.n_reviewers) + 64)
        # With a budget, part of the time is reserved for the best partial plan.
        part = clock if budget is None or terms is not None else clock.share(BEFORE_BUDGET)
        ledger = Ledger(part, limits.progress, budget)
        if too_many := fixed_too_many(task, budget):
            return _plan(task, level, ledger, PlanStatus.INFEASIBLE, no_pairs(), too_many)
        if terms is not None:
            return _round(task, level, ledger, terms, cast("Decision", aim), limits.seed)
        if levelled:
            extra = _levelled(task, level, ledger, clock, np.random.default_rng(limits.seed), best_effort=best_effort)
        else:
            # The plan begins with the fixed reviews alone.
            extra = _plan(task, level, ledger, PlanStatus.CHOSEN, no_pairs(), [])
        return extra if aim is None or not extra.status.may_grow else _beyond(extra, aim, task, ledger)

    extra = _fair(searched, constraints, whole)
    proved = extra.status in (PlanStatus.OPTIMAL, PlanStatus.INFEASIBLE)
    note = (Clock.TIMED_OUT,) if whole.timed_out and not proved else ()
    return replace(extra, levelled=levelled, timed_out=whole.timed_out, explanation=(*extra.explanation, *note))


def plan_extra_reviews(reviews: ReviewsLike, target: PlanTarget | None = None, **options: Unpack[PlanOptions]) -> Plan:
    """Call :func:`plan`, as its name was in the last release, whose second argument was the target."""
    return plan(reviews, target=target, **options)


def _fair(search: Callable[[Constraints, Clock], Plan], rules: Constraints, clock: Clock) -> Plan:
    """Return the plan of a search; where affinities tell pairs apart, one whose largest load is that without them.

    Affinity is a preference: it chooses among plans that are as short and as fair.
    """
    if rules.cost.best is None or not rules.cost:
        return search(rules, clock)
    part = clock.share(FAIR)
    plain = search(replace(rules, cost=Prices()), part)
    clock.interrupted |= part.interrupted
    if not plain.status.may_grow and not part.interrupted:
        return search(rules, clock)
    spare = np.minimum(rules.spare, plain.largest_load)
    plan = plain if part.interrupted else search(replace(rules, spare=spare), clock)
    if part.interrupted or not plan.status.may_grow or plan.count > plain.count:
        # The plan without affinities is not proved to be the best by them.
        codes = rules.codes(plain.pairs)
        prices = zip(plain.added, rules.cost.costs(codes).tolist(), rules.cost.affinities(codes), strict=True)
        reviews = tuple(replace(review, cost=cost, affinity=affinity) for review, cost, affinity in prices)
        plain = replace(plain, constraints=rules, added=reviews)
        return replace(plain, status=PlanStatus.FEASIBLE) if plain.status == PlanStatus.OPTIMAL else plain
    # Bounds without the smaller loads hold in any case.
    unproved = plan.status == PlanStatus.OPTIMAL and plan.count > plain.lower_bound
    least = plain.least_load if plan.count == plain.count else 0
    plan = replace(plan, bounds=plain.bounds, least_load=least)
    return replace(plan, status=PlanStatus.FEASIBLE) if unproved else plan


def _levelled(
    task: Task, target: Target, ledger: Ledger, clock: Clock, rng: np.random.Generator, *, best_effort: bool
) -> Plan:
    """Return the best plan to a level, complete or partial; ``clock`` has the time for a partial one."""
    try:
        with suppress(Clock.Over):
            covered.fill(target, task, ledger, rng)
    except KeyboardInterrupt:
        ledger.reasons.append("interrupted: this is the best found so far")
        clock.interrupted = True
    if not ledger.infeasible or not best_effort:
        return _finish(task, target, ledger, clock)
    # The plan closest to an infeasible request: the required reviews first, then the level.
    why = _why_none(task, target, ledger)
    until = clock.no_less_than(LEAST_FOR_BUDGET)
    pairs = nearest(target, task, ledger, until, rng)
    return _plan(task, target, ledger, PlanStatus.BEST_EFFORT, pairs, why)


def _round(
    task: Task, target: Target, ledger: Ledger, terms: Terms, aim: Decision, seed: int | np.random.Generator
) -> Plan:
    """Plan a round of a process: the reviews of this round, and the outlook on the rest of it."""
    report = ledger.report

    def tell(words: str) -> None:
        if report is not None:
            report(PlanProgress(ledger.clock.elapsed(), words, None))

    ledger.report = None
    number = int(np.random.default_rng(seed).integers(2**32))
    this_round = round_of(aim, task, terms, ledger, number, tell)
    if this_round is None:
        return _finish(task, target, ledger, ledger.clock)
    plan = _plan(task, target, ledger, PlanStatus.CHOSEN, this_round.first, [], this_round.more)
    return _priced(plan, aim, len(this_round.more), this_round.rounds)


def _beyond(plan: Plan, aim: Decision, task: Task, ledger: Ledger) -> Plan:
    """Spend the remaining budget on an objective, and compute the gains of all reviews."""
    pairs = plan.pairs[len(task.constraints.fixed) :]
    beyond = aim.worth_reading if ledger.budget is None else ledger.budget - len(pairs)
    more = choose(aim, task, pairs, beyond)
    if len(more):
        status = PlanStatus.EXTENDED if plan.status.reaches else plan.status
        plan = _plan(task, target_named(plan.target), ledger, status, pairs, [*plan.explanation], more)
    elif plan.status == PlanStatus.CHOSEN:
        plan = replace(plan, explanation=(why_no_more(beyond, task.capacity(pairs), stated=ledger.budget is not None),))
    return _priced(plan, aim, len(more))


def _priced(plan: Plan, aim: Decision, beyond: int, rounds: Rounds | None = None) -> Plan:
    """Return a plan with the gain of each review and of all; its last ``beyond`` reviews are for the objective."""
    fixed = len(plan.constraints.fixed)
    pairs = plan.pairs[fixed:]
    reviews = plan.added[:fixed] + tuple(
        replace(review, gain=gain, buys=aim.effect(item))
        for review, gain, item in zip(plan.added[fixed:], gains_of(aim, pairs), pairs[:, 1].tolist(), strict=True)
    )
    return replace(plan, added=reviews, purchase=purchase(aim, pairs, plan.count - beyond), rounds=rounds)


def _finish(task: Task, target: Target, ledger: Ledger, clock: Clock) -> Plan:
    """Return the result of the search as a plan: complete, partial within a budget or the time, or infeasible."""
    if ledger.infeasible:
        return _plan(task, target, ledger, PlanStatus.INFEASIBLE, no_pairs(), _why_none(task, target, ledger))
    pairs = ledger.pairs
    if pairs is not None and (ledger.budget is None or len(pairs) <= ledger.budget):
        status = PlanStatus.OPTIMAL if ledger.closed and ledger.cheapest else PlanStatus.FEASIBLE
        plan = _plan(task, target, ledger, status, pairs, ledger.reasons)
        return replace(plan, least_load=least_load(task, ledger))
    partial = ledger.part if pairs is None else pairs
    until = clock.no_less_than(LEAST_FOR_BUDGET)
    pairs = covered.best_few(target, task, partial, ledger.budget, until)
    if covered.holds(target, task, pairs, until.no_less_than(CLOSING)):
        return _plan(task, target, ledger, PlanStatus.FEASIBLE, pairs, ledger.reasons)
    why = [*ledger.reasons, why_partial(target, task, ledger), *still_short(task, pairs)]
    status = PlanStatus.LEVEL_MISSED if ledger.budget is None else PlanStatus.BUDGET_EXHAUSTED
    return _plan(task, target, ledger, status, pairs, why)


def _why_none(task: Task, target: Target, ledger: Ledger) -> list[str]:
    """Return the reasons why there is no plan, which no bound needs to prove."""
    ledger.bounds.clear()
    return [*ledger.reasons, *([] if ledger.explained else why_not(task, target))]


def _plan(
    task: Task,
    target: Target,
    ledger: Ledger,
    status: PlanStatus,
    pairs: IntArray,
    why: list[str],
    more: IntArray | None = None,
) -> Plan:
    """Order the reviews, with ``more`` at the end, describe what each joins, and add bounds and certificate."""
    rules = task.constraints
    fixed = rules.fixed if status != PlanStatus.INFEASIBLE else rules.fixed[:0]
    beyond = no_pairs() if more is None else more
    closing = ledger.clock.no_less_than(CLOSING)
    everything = np.concatenate([fixed, pairs[target.order(task, pairs, closing)], beyond])
    plain = new_task(rules.without_fixed(), len(everything) + 1) if len(rules.fixed) else task
    # What a fixed review joins is computed from the reviews without it.
    arrivals = joins(plain, target, everything)
    table = rules.reviews
    shift = len(rules.fixed)
    labelled = Mentions.labelled(table.reviewers, table.items)
    codes = rules.codes(everything)
    prices = rules.cost.costs(codes).tolist(), rules.cost.affinities(codes)
    chosen = tuple(
        PlannedReview(table.reviewers[j], table.items[i], cost, joined, cover, groups, affinity)
        for (j, i), joined, cover, groups, cost, affinity in zip(everything.tolist(), *arrivals, *prices, strict=True)
    )
    # Bounds are on the other reviews; fixed ones are added.
    after = with_extra(table, everything)
    return Plan(
        status=status,
        target=target.name,
        added=chosen,
        bounds=tuple(replace(bound, value=bound.value + shift, lost=labelled(bound.lost)) for bound in ledger.bounds),
        explanation=tuple(map(labelled, why)),
        constraints=rules,
        pairs=everything,
        merges=target.certificate(after) if status.reaches else np.empty((0, 4), np.int64),
        max_reviews=None if ledger.budget is None else ledger.budget + shift,
    )
