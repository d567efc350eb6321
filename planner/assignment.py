"""Assign reviewers to papers: the most affinity that demands, loads, conflicts and a connection level allow."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from planner._clock import Clock
from planner._dropouts import missing_without
from planner._flow import cheapest_assignment, whole_costs
from planner._inputs import Wishes, build, scored_pairs
from planner._linking import Linker
from planner._network import settle_potentials, workspace
from planner._panel_reasons import why_no_panels
from planner._panels import broken_items, repair
from planner._price import least_loss
from planner._reasons import why_apart, why_fragile, why_infeasible, why_unreachable
from planner._robust import Robust, harden
from reviewgraph import check
from reviewgraph._compile import Kernel
from reviewgraph.errors import InputError
from reviewgraph.reviews import Reviews

if TYPE_CHECKING:
    from planner._problem import Problem
    from reviewgraph.labels import IntArray, Label
    from reviewgraph.reviews import BoolArray, FloatArray

Target: TypeAlias = Literal["double", "recoverable", "connected", "none"]
Status: TypeAlias = Literal["optimal", "feasible", "level_missed", "infeasible"]

#: Reviewers up to which the critical ones are looked for: the search takes time M times E.
MOST_CRITICAL = 2_000

#: Passes over all pairs until the search for potentials gives up.
PASSES = 1_000

#: Pairs from which kernels are compiled: the searches look at each many times.
COMPILE_PAIRS = 4_000

#: By default exchanges are looked for only where so many pairs share an affinity, on average.
FEW_TIES = 4

#: What each status means.
MEANING: Mapping[Status, str] = {
    "optimal": "no assignment within the constraints has more affinity, and it reaches the level",
    "feasible": "the constraints hold and the level is reached; the affinity lost for that may not be the least",
    "level_missed": "the constraints hold but the search did not reach the level; give it more time, or add reviews",
    "infeasible": "proved: no assignment obeys everything that was asked for",
}


@dataclass(frozen=True, eq=False, repr=False)
class Assignment:
    """Who reviews what, and what it cost to make the scores comparable.

    Parameters
    ----------
    status
        ``optimal``, ``feasible``, ``level_missed`` or ``infeasible``, as :data:`MEANING` has it.
    target
        The level asked for.
    reviews
        The assignment: planned reviews, without those of a first phase; no reviews when infeasible.
    affinities
        Affinity of each review, shape (E,); 0 where unscored.
    affinity_unconstrained
        The largest total under the same demands, loads, conflicts and fixed pairs without a connection level; NaN
        when there is none.
    critical
        Reviewers without whom the level would not hold; None if they were not looked for.
    forced
        Pairs that the level forced in, beyond what affinity chose.
    explanation
        Why the assignment is infeasible or misses the level; empty otherwise.
    standard_error
        Expected standard error of a paper's quality (root mean square, as a multiple of the noise in the scores)
        before and after exchanges for a better conditioned graph; None if these were not looked for.
    least_loss
        Affinity that the level costs at least, whatever the assignment; None where that is not known.
    loads
        Reviews of each reviewer in the assignment, shape (M,).
    """

    status: Status
    target: Target
    reviews: Reviews
    affinities: FloatArray
    affinity_unconstrained: float
    critical: tuple[Label, ...] | None = None
    forced: int = 0
    explanation: str = ""
    standard_error: tuple[float, float] | None = None
    least_loss: float | None = None
    loads: IntArray = field(default_factory=lambda: np.empty(0, np.int64))

    def __repr__(self) -> str:
        return f"<Assignment: {self.status}, {self.reviews.n_reviews} reviews, affinity {self.affinity:.6g}>"

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
        if self.status == "infeasible":
            return float("nan")
        lost = self.affinity_unconstrained - self.affinity
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
        return None if self.critical is None else self.status in ("optimal", "feasible") and not self.critical


def assign(
    affinity: Any,
    *,
    demand: int | Mapping[Any, int] = 3,
    load: int | Mapping[Any, int] = 5,
    min_load: int | Mapping[Any, int] = 0,
    items: Iterable[Label] | None = None,
    reviewers: Iterable[Label] | None = None,
    conflicts: Iterable[tuple[Label, Label]] = (),
    fixed: Iterable[tuple[Label, Label]] = (),
    institutions: Mapping[Any, Hashable] | None = None,
    senior: Iterable[Label] | None = None,
    target: Target = "double",
    survive: int = 0,
    phase_one: Reviews | Iterable[tuple[Label, Label]] | None = None,
    allow_unscored: bool = False,
    conditioning: float = 0.0,
    seed: int = 0,
    time_limit: float | None = None,
    progress: Callable[[str], object] | None = None,
) -> Assignment:
    r"""Assign reviewers to items so that total affinity is largest and the scores will be comparable.

    .. math::
        \max \sum_{(j, i)} a_{ji} z_{ji} \quad \text{subject to} \quad \sum_j z_{ji} = d_i, \quad
        l_j \le \sum_i z_{ji} \le u_j, \quad z_{ji} \in \{0, 1\},

    no conflict, all fixed pairs, and the reviewers with z = 1 reach a connection level: for ``double``, one doubly
    connected component covers all items, so that recovery is guaranteed (Theorem 3.4 of [Tan21]_).

    1. Without the level: a minimum-cost flow, exact.
    2. Papers without a senior reviewer, or with two of one institution: an integer programme over them.
    3. The level: pairs that bring papers into the core component, forced along cheapest cycles of the residual
       network, cheapest first; then those no longer needed are freed again.
    4. If it shall survive a reviewer: the same for what is missing without her.
    5. Exchanges that cost nothing, or what ``conditioning`` allows, for a better conditioned graph.

    Parameters
    ----------
    affinity
        A mapping (reviewer, item) -> number, or a reviewers x items matrix: dense with NaN for unscored pairs, or
        sparse with what is stored. Higher is better; any finite numbers.
    demand
        Reviews of an item, exactly: one number or one for each label.
    load, min_load
        Most and fewest reviews of a reviewer: one number or one for each label.
    items, reviewers
        Labels. With a mapping, all of them, those without affinities included; with a matrix, those of its lines.
    conflicts
        (reviewer, item) pairs that may not be; unknown labels are left out.
    fixed
        (reviewer, item) pairs that must be; they count in demands and loads and need no affinity.
    institutions
        Institution by reviewer: no two of one institution on an item. Reviewers left out have none.
    senior
        Senior reviewers: each item gets one at least. By default nobody need be senior.
    target
        ``double`` (default), ``recoverable``, ``connected`` or ``none``.
    survive
        1 asks that the level hold after any one reviewer drops out; 0 by default.
    phase_one
        Reviews of a first phase: they link, on top of demands and loads. Papers among them that are not among the
        items were left behind; all items must reach the level.
    allow_unscored
        Whether pairs without affinity may be assigned, at affinity 0; they may not by default.
    conditioning
        Part of the affinity, from 0 to 1, that may be given up for smaller errors of the recovered qualities. By
        default reviews change places only where that costs nothing. Up to 2,000 papers, for ``double``.
    seed
        Breaks ties between equal affinities: the same seed gives the same assignment.
    time_limit
        Seconds for steps 2 to 5; what is reached by then is returned, and so it is after Ctrl-C. By default there is
        no limit: every step ends by itself.
    progress
        Told in words what goes on.

    Returns
    -------
    Assignment
        With a status; infeasible inputs are explained, not raised.

    Raises
    ------
    InputError
        If an argument is malformed, a label in ``fixed`` or ``senior`` is unknown, or a fixed pair is in conflict or
        exceeds a demand or load.

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
    _check_options(target, survive, conditioning)
    clock = Clock(time_limit)
    say = clock.heeding(progress or (lambda words: None))
    first = phase_one if phase_one is not None else ()
    if isinstance(first, Reviews):
        first = [(first.reviewers[j], first.items[i]) for j, i in zip(first.reviewer, first.item, strict=True)]
    wishes = Wishes(demand, load, min_load, conflicts, fixed, institutions, senior, first, allow_unscored)
    problem = build(scored_pairs(affinity, reviewers, items), wishes)
    with clock.stopped_by_interrupts(say):
        return _Run(problem, target, survive, seed, clock, say, conditioning).result()


def _check_options(target: str, survive: int, conditioning: float) -> None:
    if target not in ("double", "recoverable", "connected", "none"):
        message = f"target: expected 'double', 'recoverable', 'connected' or 'none', found {target!r}"
        raise InputError(message)
    if survive not in (0, 1):
        message = f"survive: expected 0 or 1, found {survive!r}"
        raise InputError(message)
    if survive and target not in ("double", "connected"):
        message = f"survive: expected target 'double' or 'connected' with it, found {target!r}"
        raise InputError(message)
    if not 0 <= conditioning <= 1:
        message = f"conditioning: expected a part of the affinity from 0 to 1, found {conditioning!r}"
        raise InputError(message)


@cache
def _compile_kernels() -> float:
    """Compile what the search runs many times, on a toy problem; returns the seconds this took, once a process."""
    from planner import _dropouts, _network, _spread
    from reviewgraph import _covers, _pairs

    start = time.monotonic()
    for module in (_network, _spread, _dropouts, _covers, _pairs):
        for value in vars(module).values():
            if isinstance(value, Kernel):
                value.credit = 0
    wishes = Wishes(2, 4, 0, (), (), None, None, (), True)
    toy = build(scored_pairs(np.zeros((4, 8)), None, None), wishes)
    _Run(toy, "double", 1, 0, Clock(60.0), lambda words: None).result()
    return time.monotonic() - start


@dataclass
class _Run:
    """The steps of :func:`assign` on a problem."""

    problem: Problem
    target: Target
    survive: int
    seed: int
    clock: Clock
    say: Callable[[str], object]
    conditioning: float = 0.0
    errors: tuple[float, float] | None = None
    least_loss: float | None = None

    def result(self) -> Assignment:
        problem = self.problem
        if problem.item.size >= COMPILE_PAIRS:
            self.clock.deadline += _compile_kernels()
        cost = whole_costs(problem.affinity, self.seed)
        self.say(f"best affinity for {int(problem.required.sum())} papers and {problem.n_reviewers} reviewers")
        best = self._flow(cost, problem.given)
        if best is None:
            return self._infeasible(why_infeasible(problem), float("nan"))
        unconstrained = math.fsum(problem.affinity[best].tolist())
        reason = why_unreachable(problem, self.target) if self.target != "none" else ""
        if reason:
            return self._infeasible(reason, unconstrained)
        chosen = best
        if problem.special and broken_items(problem, best).size:
            self.say("senior reviewers and institutions")
            repaired, proved = repair(problem, best, self.clock)
            if repaired is None:
                return self._unrepaired(proved, unconstrained)
            chosen = repaired
        return self._connected(cost, best, chosen, unconstrained)

    def _flow(self, cost: IntArray, given: BoolArray) -> BoolArray | None:
        problem = self.problem
        free = np.flatnonzero(~given)
        load, least = problem.open_loads()
        found = cheapest_assignment(
            problem.item[free], problem.reviewer[free], cost[free], problem.open_demand(), load, least
        )
        if found is None:
            return None
        chosen = given.copy()
        chosen[free[found]] = True
        return chosen

    def _connected(self, cost: IntArray, best: BoolArray, chosen: BoolArray, unconstrained: float) -> Assignment:
        """Bring an assignment to the level, and say what that took."""
        problem = self.problem
        net = problem.network(chosen)
        repaired = np.zeros(problem.n_items, np.bool_)
        repaired[problem.item[chosen != best]] = True
        if self.target == "none":
            return self._answer(chosen, unconstrained, None, 0, reached=True, same=not repaired.any())
        net.locked[repaired[problem.item]] = True
        settled = settle_potentials(net, cost, PASSES)
        net.locked[:] = problem.given
        work = workspace(net.potential.size)
        shared = 1 if self.target == "connected" else 2
        linker = Linker(net, cost, work, problem.required, shared, self.clock)
        linker.say = lambda count: self.say(f"{count} of {linker.total} papers in the core")
        if self.target == "recoverable":
            linker.enough = lambda: self._recoverable(linker)
        if settled and not repaired.any() and not self._at_level(linker):
            self.least_loss = least_loss(linker, problem)
        reached = linker.link()
        apart = why_apart(problem, self.target) if not reached and self.target != "recoverable" else ""
        if apart:
            return self._infeasible(apart, unconstrained)
        if reached and self.target != "recoverable":
            linker.release(lambda pairs: linker.holds_after(pairs, linker.total))
        critical = self._critical(linker) if reached and self.target != "recoverable" else None
        if reached and self.target == "double":
            self._condition(linker, robust=bool(self.survive and not critical), unconstrained=unconstrained)
            critical = self._critical_again(linker, critical)
        same = bool((net.assigned == best).all())
        return self._answer(net.assigned, unconstrained, critical, len(linker.forced), reached=reached, same=same)

    def _at_level(self, linker: Linker) -> bool:
        return linker.count == linker.total or (self.target == "recoverable" and self._recoverable(linker))

    def _recoverable(self, linker: Linker) -> bool:
        from reviewgraph.recoverable import recoverability

        return recoverability(linker.table()).recoverable

    def _condition(self, linker: Linker, *, robust: bool, unconstrained: float) -> None:
        """Exchange reviews for smaller errors, where that is worth looking for."""
        from planner import _conditioning as better

        problem, values = self.problem, np.unique(self.problem.affinity)
        if problem.n_items > better.MOST_ITEMS or linker.total < 3 or not linker.net.assigned.any():
            return
        if self.conditioning == 0 and values.size > problem.item.size / FEW_TIES:
            return
        self.say("a better conditioned graph")
        watch = Robust(linker) if robust else None
        linker.regroup()
        self.errors = better.improve(
            linker,
            problem,
            self.conditioning * abs(unconstrained),
            np.random.default_rng(self.seed),
            watch.holds if watch else lambda pairs: linker.holds_after(pairs, linker.total),
        )
        linker.regroup()

    def _critical_again(self, linker: Linker, critical: tuple[Label, ...] | None) -> tuple[Label, ...] | None:
        """Critical reviewers after exchanges, if they were looked for before."""
        if critical is None or self.errors is None:
            return critical
        missing = missing_without(linker)
        return tuple(self.problem.reviewers[int(j)] for j in np.flatnonzero(missing > 0))

    def _critical(self, linker: Linker) -> tuple[Label, ...] | None:
        if self.problem.n_reviewers > MOST_CRITICAL and not self.survive:
            return None
        self.say("reviewers on whom the level hangs")
        rng = np.random.default_rng(self.seed)
        missing = harden(linker, rng) if self.survive else missing_without(linker)
        return tuple(self.problem.reviewers[int(j)] for j in np.flatnonzero(missing > 0))

    def _answer(
        self,
        assigned: BoolArray,
        unconstrained: float,
        critical: tuple[Label, ...] | None,
        forced: int,
        *,
        reached: bool,
        same: bool,
    ) -> Assignment:
        problem = self.problem
        new = np.flatnonzero(assigned & ~problem.old)
        N, M = int(problem.required.sum()), problem.n_reviewers
        reviews = Reviews.from_codes(
            problem.reviewer[new], problem.item[new], reviewers=problem.reviewers, items=problem.items[:N]
        )
        order = np.lexsort((problem.item[new], problem.reviewer[new]))
        short = bool(self.survive and critical)
        status: Status = "level_missed" if not reached or short else "optimal" if same else "feasible"
        why = ""
        if not reached:
            why = self._unreached(assigned)
        elif short:
            why = self._fragile(critical or ())
        return Assignment(
            *(status, self.target, reviews, problem.affinity[new][order], unconstrained, critical, forced, why),
            standard_error=self.errors,
            least_loss=0.0 if status == "optimal" else self.least_loss,
            loads=np.bincount(problem.reviewer[new], minlength=M),
        )

    def _unreached(self, assigned: BoolArray) -> str:
        """Say why the search ended and what the assignment has all the same."""
        problem = self.problem
        kept = assigned & problem.required[problem.item]
        codes = (np.cumsum(problem.required) - 1)[problem.item[kept]]
        N, M = int(problem.required.sum()), problem.n_reviewers
        report = check(Reviews.from_codes(problem.reviewer[kept], codes, reviewers=M, items=N))
        has = f"{report.level}, no more" if report.level else "not even connected"
        end = (
            "It was interrupted"
            if self.clock.interrupted
            else "The time was over"
            if self.clock.over()
            else "The search found no further change that helps; raise demands or loads"
        )
        return f"{end}. This assignment is {has}."

    def _fragile(self, critical: Sequence[Label]) -> str:
        problem = self.problem
        codes = [j for j, label in enumerate(problem.reviewers) if label in set(critical)]
        proof = why_fragile(problem, self.target, codes)
        number = "1 reviewer" if len(codes) == 1 else f"{len(codes)} reviewers"
        return f"The level hangs on {number} still. " + (
            proof or "Whether it must is not known: raise demands or loads."
        )

    def _unrepaired(self, proved: bool, unconstrained: float) -> Assignment:
        if proved:
            return self._infeasible(
                "Demands and loads can be met, but not all that is asked of each paper. "
                + why_no_panels(self.problem, self.clock),
                unconstrained,
            )
        empty = self._infeasible("", unconstrained)
        return Assignment(
            *("level_missed", self.target, empty.reviews, empty.affinities, unconstrained),
            explanation="No assignment with senior reviewers and distinct institutions was found in the time given.",
        )

    def _infeasible(self, reason: str, unconstrained: float) -> Assignment:
        problem = self.problem
        N = int(problem.required.sum())
        none: Sequence[int] = ()
        reviews = Reviews.from_codes(none, none, reviewers=problem.reviewers, items=problem.items[:N])
        return Assignment(*("infeasible", self.target, reviews, np.empty(0), unconstrained), explanation=reason)
