"""Assign reviewers to papers: maximum affinity within demands, loads, conflicts and at a connection level."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from planner._assign.assignment import Assignment, UsualLoad
from planner._assign.flow import missing_reviews, smallest_load
from planner._assign.inputs import Constraints, build, scored_pairs, without_load
from planner._assign.levels import FAIR, AssignmentTarget, aim_named
from planner._assign.lottery import Lottery
from planner._assign.stages import Run
from planner._assign.why_none import shortage
from planner.rules import asked_rules
from reviewgraph._base import Clock, InputError, Progress, Search, backend_of, check_magnitude, checked, whole_seed
from reviewgraph.io import AssignmentRules

if TYPE_CHECKING:
    from planner._assign.inputs import Scored
    from planner._assign.problem import Affinities
    from planner.rules import Rule
    from reviewgraph._base import Label
    from reviewgraph.formats import Merge
    from reviewgraph.io import Pairs, Rules, Valued


def check_numbers(**bounded: tuple[float | None, float, float, str]) -> None:
    """Refuse numbers out of range: each argument has a value, bounds, and words for what is expected."""
    for name, (value, low, high, expected) in bounded.items():
        if value is not None and not (low <= value <= high and math.isfinite(value)):
            raise InputError(f"{name}: expected {expected}, found {value!r}")
        check_magnitude(name, math.nan if value is None else value)


def check_none(unused: dict[str, bool], expected: str) -> None:
    """Refuse arguments that were passed but would be ignored."""
    for name, passed in unused.items():
        if passed:
            raise InputError(f"{name}: {expected}")


#: Larger loads that are tried where the smallest with which demands can be met does not reach the level.
LARGER = 3

#: The rules that apply to assignments.
HEEDED = ("demand", "load", *AssignmentRules.__annotations__)


class AssignmentOptions(AssignmentRules, total=False):
    """Rarer options of :func:`assign`, and the fields of :class:`reviewgraph.Rules` that it takes as keywords."""

    phase_one: Pairs | None
    allow_unscored: bool
    fair: str | None
    floor: float | None
    merge: Merge | None


#: Names of the last release, and what they are called now.
OLD = {"time_limit": "search.time_limit", "seed": "search.seed", "progress": "search.progress"}


@checked(options=AssignmentOptions, old=OLD)
def assign(
    affinity: Affinities,
    demand: int | Valued | None = None,
    load: int | Valued | None = None,
    target: AssignmentTarget = "double",
    *,
    rules: Rules | Sequence[Rule] | None = None,
    items: Iterable[Label] | None = None,
    reviewers: Iterable[Label] | None = None,
    previous: Pairs | None = None,
    alternates: int = 0,
    max_probability: float | None = None,
    best_effort: bool = False,
    search: Search | None = None,
    **options: Unpack[AssignmentOptions],
) -> Assignment:
    r"""Assign reviewers to items such that total affinity is maximal and the scores will be comparable.

    .. math::
        \max \sum_{(j, i)} a_{ji} z_{ji} \quad \text{subject to} \quad \sum_j z_{ji} = d_i, \quad
        l_j \le \sum_i z_{ji} \le u_j, \quad z_{ji} \in \{0, 1\},

    no conflict, all fixed pairs, and the reviewers with z = 1 reach a connection level: for ``double``, one doubly
    connected component covers all items, so that recovery is guaranteed (Theorem 3.4 of [Tan21]_).

    1. Without the level: a minimum-cost flow, exact. With a previous assignment two more flows, for the fewest changes.
    2. Rules on the reviewers of a paper: one integer programme, by its linear relaxation with priced columns, rounding,
       and constraint programming over what prices leave open.
    3. On request: floors on the affinity of each paper, or the largest smallest one and then the total, by the same
       programme; kept in the following steps as far as the level allows.
    4. The level: pairs that bring papers into the core component, forced along cheapest cycles of the residual
       network, or by bounds in the programme, cheapest first; then those no longer needed are freed again. Where that
       loses more than a ten-thousandth of the affinity beyond what it must, other sets of few cheap pairs.
    5. To survive a loss: the same for the reviews that are missing without this reviewer.

    Parameters
    ----------
    affinity
        A mapping (reviewer, item) -> number, a Series over such pairs, a data frame with columns named as in files, a
        :class:`reviewgraph.formats.columns.Columns` with scores, or a reviewers x items matrix: dense with NaN for
        unscored pairs, or sparse with what is stored; or a table of pandas with a column per item or per reviewer, whose
        axes are named so. Higher is better; any finite numbers. Here and below unknown
        labels are warned of, and refused where no label is known; a conflict with an unknown label is refused.
    demand
        Reviews per item: one number, or one by item; 3 by default.
    load
        Maximum reviews per reviewer: one number, or one by reviewer. By default, and for reviewers with None, the
        smallest with which the demands can be met and the level reached, see :attr:`Assignment.usual_load`.
    target
        ``double`` (default), ``recoverable``, ``connected`` or ``none``; or a level that holds after a loss:
        ``survives-reviewer`` or ``survives-review``, which is ``double`` after any one reviewer, or review, is lost.
    rules
        A :class:`reviewgraph.Rules`: conflicts, fixed pairs, demands, loads, authors, and who reviews together. Fixed
        pairs are kept and counted even if they are in conflict or exceed a demand or load, see
        :attr:`Assignment.facts`. A list
        of :class:`AtMost` and :class:`AtLeast` objects is short for those alone. Rules on who reviews
        together count the reviewers of ``phase_one``, too.
    items, reviewers
        Labels. With a mapping, all of them, those without affinities included; with a matrix, those of its lines.
    previous
        (reviewer, item) pairs of an assignment that this one replaces, or a ``Columns``, or reviews: as few pairs as
        possible are changed, before any affinity. Reviewers and items that are not there any more may be among them.
    alternates
        Number of alternates per paper, who can replace any of its reviewers; 0 by default.
    max_probability
        Randomise the assignment, with this maximum probability of each pair: a number above 0, up to 1.
        Rounded down to ten-thousandths; with a level, or rules that a flow cannot express, to hundredths, since one of
        100 equally likely assignments is sampled. Fixed pairs have probability 1 all the same.
    best_effort
        If demands cannot be met, meet as many as possible, with the missing reviews spread evenly: see
        :attr:`Assignment.shortage`. If no assignment reaches the level, return one that misses it. Cannot be combined
        with ``max_probability``.
    search
        A :class:`reviewgraph.Search`: time limit for steps 2 to 5, seed and progress. No limit by default: every step
        ends by itself. The seed breaks ties between equal affinities; of a randomised assignment another seed is
        another sample from the same probabilities. Progress is the seconds, the current step in words, and the
        completed share if it is known.
    phase_one
        Reviews of a first phase: they connect items, in addition to demands and loads. They may contain papers that are
        not among the items; all items must reach the level.
    allow_unscored
        Whether pairs without affinity may be assigned, at affinity 0; they may not by default.
    fair
        ``maximin``: the smallest sum of the affinities of a paper's reviewers is maximised, and then the total. By
        default only the total counts. Cannot be combined with ``previous``.
    floor
        Minimum sum of the affinities of a paper's reviewers; None by default. Papers with demand 0 are exempt from
        floors, and from rules on who reviews together.
    merge
        How to treat labels, in all tables, that differ only in letter case, blanks or invisible characters: ``"all"``
        merges them, ``"none"`` keeps them apart, ``{label: as}`` maps them. By default they raise InputError, except
        for e-mail addresses, which are merged with a warning.
    **options
        Those from ``phase_one`` on, which are rarer, and rules as keywords of their own, as in
        ``assign(affinity, conflicts=pairs)``.

    Returns
    -------
    Assignment
        With a status; infeasible inputs have an explanation and raise nothing.

    Raises
    ------
    InputError
        If an argument is malformed, a label in ``fixed`` or ``senior`` is unknown, or a rule names an attribute or a
        value without reviewers.

    Notes
    -----
    The flow takes about five seconds for two million pairs; a forced pair takes a search in its neighbourhood, at
    worst O((P + V) log V) for P pairs and V reviewers and items, and O(E) to look at the core. Source: [Goldberg97]_
    for the flow, successive shortest paths ([Ahuja93]_, chapter 9) for the cycles.

    Examples
    --------
    >>> affinity = {(r, p): 1.0 / (1 + abs(r - p)) for r in range(6) for p in range(6)}
    >>> chosen = assign(affinity, demand=3, load=3)
    >>> chosen.status, chosen.reviews.loads.tolist(), chosen.reviews.reviews_per_item.tolist()
    ('optimal', [3, 3, 3, 3, 3, 3], [3, 3, 3, 3, 3, 3])
    >>> print(assign(affinity, demand=4, load=3).explanation)
    6 papers (0, 1, 2, 3, 4, 5) need 4 reviews each = 24 reviews; 6 reviewers (0, 1, 2, 3, 4, 5) with load 3 can give 18: 24 > 18. Raise loads, add reviewers, lower demands or lift conflicts.
    """  # noqa: E501
    # The arguments, and their combinations.
    limits = search or Search()
    phase_one = options.pop("phase_one", None)
    allow_unscored = options.pop("allow_unscored", False)
    fair = options.pop("fair", None)
    floor = options.pop("floor", None)
    merge = options.pop("merge", None)
    stated = asked_rules("assign", rules, {"demand": demand, "load": load, **options}, HEEDED)
    aim = aim_named(target)
    if fair not in (None, *FAIR):
        raise InputError(f"fair: expected {' or '.join(map(repr, FAIR))}, or None, found {fair!r}")
    finite = -math.inf, math.inf, "a finite number"
    check_numbers(
        alternates=(alternates, 0, math.inf, "a whole number, 0 or more"),
        floor=(floor, *finite),
        max_probability=(max_probability, math.ulp(0), 1, "a number above 0, up to 1"),
    )
    drawn = max_probability is not None
    fairly = fair is not None
    check_none(
        {
            "fair": drawn and fairly,
            "floor": drawn and floor is not None,
            "alternates": drawn and alternates > 0,
            "best_effort": drawn and best_effort,
        },
        "expected no max_probability with it, found one; drop one of the two",
    )
    check_none(
        {"previous": fairly and previous is not None},
        "expected no fair with it, found one; each puts other pairs before affinity, and only one can have priority; "
        "drop one, or use a floor instead of fair",
    )

    # The data.
    clock = Clock(limits.time_limit)
    scored = scored_pairs(affinity, reviewers, items, merge)
    stated = stated._with_shared(scored.reviewers, scored.items, scored.spellings)
    if not len(scored.reviewers):
        raise InputError("affinity: expected at least one reviewer, here or among reviewers, found none")
    first = () if phase_one is None else phase_one
    constraints = Constraints(stated, first, allow_unscored, previous, floor)

    def tell(words: str, done: float | None = None) -> None:
        if limits.progress is not None:
            limits.progress(Progress(clock.elapsed(), words, done))

    say = clock.heeding(tell)
    how: dict[str, Any] = {
        "aim": aim, "seed": whole_seed(limits.seed), "clock": clock, "say": say
    }  # fmt: skip

    def attempt(constraints: Constraints) -> Assignment:
        asked = build(scored, constraints)
        if max_probability is not None:
            return replace(Lottery(asked, **how, max_probability=max_probability).result(), facts=asked.facts)
        missing = missing_reviews(asked, clock) if best_effort else None
        problem = asked if missing is None else replace(asked, demand=asked.demand - missing)
        chosen = Run(problem, **how, fairly=fairly, alternates=alternates, best_effort=best_effort).result()
        if missing is not None and missing.any():
            chosen = chosen._short_of(shortage(asked, missing))
        return replace(chosen, facts=asked.facts)

    with clock.stopped_by_interrupts(say):
        chosen = _with_usual_load(scored, constraints, attempt, clock)
        reviews = replace(chosen.reviews, backend=backend_of(affinity))
        return replace(chosen, reviews=reviews, timed_out=clock.timed_out)


def _with_usual_load(
    scored: Scored, constraints: Constraints, attempt: Callable[[Constraints], Assignment], clock: Clock
) -> Assignment:
    """Return the assignment; reviewers without a load get the smallest with which the demands can be met.

    Where the demands can be met, and the level or another rule not, larger loads are tried.
    """
    # Labels are warned of once, by the attempt.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        unstated = without_load(scored, constraints.rules)
        problem = build(scored, constraints) if unstated.any() else None
    if problem is None:
        return attempt(constraints)
    least, all_met = smallest_load(problem, np.pad(unstated, (0, problem.n_reviewers - unstated.size)))
    chosen = replace(attempt(constraints._replace(usual_load=least)), usual_load=UsualLoad(least, least))
    for load in range(least + 1, least + LARGER + 1) if all_met else ():
        if chosen.status.reached or clock.over():
            break
        further = attempt(constraints._replace(usual_load=load))
        if further.status.reached:
            chosen = replace(further, usual_load=UsualLoad(load, least))
    return chosen
