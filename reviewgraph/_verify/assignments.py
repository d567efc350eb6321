"""Answers of ``assign``: demands, loads, rules, the level and all sums, recomputed.

The largest affinity within demands and loads is that of a linear programme, and with it the bound where there are no
other rules. Not checked: optima under rules or at a level that costs affinity, that no assignment is at a level, and
that a best effort lacks least. Left to a second run: lotteries, critical reviewers, prices.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from reviewgraph._verify.answers import Answer, Findings, expecting_keys
from reviewgraph._verify.graphs import Pair, TooLarge, holds
from reviewgraph._verify.rules import Market, check_market
from reviewgraph.graph.levels import ALL_NAMES

REACHED = {"optimal", "feasible"}
#: Relative difference of sums of affinities: they have many terms, and solvers have tolerances.
SUMS = 1e-7
#: Pairs that may be assigned up to which the largest affinity is computed.
MOST_PAIRS = 500_000


@expecting_keys
def verify_assignment(answer: Answer, market: Market) -> Findings:
    findings = Findings(answer)
    assignment = _Assignment(findings, answer, market, answer.get("status"), answer.pairs)
    statuses = REACHED | {"level_missed", "best_effort", "infeasible"}
    if not findings.expect(assignment.status in statuses, f"status: there is none called {assignment.status!r}"):
        return findings
    if market.named:
        findings.value("target", market.target)
    if assignment.status == "infeasible" or not answer.pairs:
        assignment.none()
        return findings
    short = dict(answer.rows("short", "item missing"))
    findings.same("short", bool(short), assignment.status == "best_effort")
    check_market(findings, market, answer.pairs, short)
    for number, ((affinity,), pair) in enumerate(zip(answer.rows("reviews", "affinity"), answer.pairs, strict=True)):
        findings.same(f"reviews[{number}].affinity", affinity, market.affinity.get(pair, 0.0))
    for check in (assignment.floors, assignment.level, assignment.sums, assignment.bounds):
        if not findings.wrong:
            check()
    return findings


@dataclass
class _Assignment:
    """An assignment with its constraints."""

    findings: Findings
    answer: Answer
    market: Market
    status: str
    pairs: list[Pair]

    def floors(self) -> None:
        market = self.market
        least = market.floor
        if self.status not in REACHED or least is None:
            return
        sums: dict[str, float] = {}
        for pair in self.pairs:
            sums[pair[1]] = sums.get(pair[1], 0.0) + market.affinity.get(pair, 0.0)
        for item, total in sums.items():
            words = f"--floor: paper {item} has {total:.9g}, and the least is {least}"
            self.findings.expect(total >= least - SUMS * max(abs(least), 1.0), words)

    def level(self) -> None:
        """Check whether the level is reached."""
        findings = self.findings
        market = self.market
        status = self.status
        target = self.answer.get("target")
        findings.expect(target in (*ALL_NAMES, "none"), f"target: there is no level {target!r}")
        try:
            reached = target not in ALL_NAMES or holds(target, market.table(self.pairs))
        except TooLarge as error:
            findings.not_checked(f"target {target}: {error}")
            return
        level = f"the level {target}"
        if status in REACHED:
            findings.expect(reached, f"status {status}: {level} is not reached")
        elif status == "best_effort":
            findings.not_checked("status best_effort: that no fewer reviews must be missing is not checked")
        elif market.floor is None:
            # With a floor it may be that which is missed.
            findings.expect(not reached, f"status {status}: {level} is reached")
        findings.check(f"whether {level} is reached")

    def sums(self) -> None:
        total = sum(self.market.affinity.get(pair, 0.0) for pair in self.pairs)
        self._close("affinity", total, total)
        self.findings.check("affinity, recomputed")
        bound = self.answer.get("bound")
        if bound is None:
            return
        words = f"bound: claims {bound:.9g}, and the affinity is {total:.9g}"
        self.findings.expect(bound >= total - SUMS * max(abs(bound), 1.0), words)
        # With changes or a threshold the total is not what is optimised; a level may cost something.
        if self.status != "optimal" or not self.market.sums_alone:
            return
        if self.answer.get("target") == "none" or bound <= total + SUMS * max(abs(total), 1.0):
            self._close("bound", total, total)
        else:
            self.findings.not_checked("status optimal: that none at the level has more affinity is not checked")

    def bounds(self) -> None:
        """Compare the largest affinity within demands and loads with that of a linear programme."""
        findings = self.findings
        market = self.market
        best = self.answer.get("affinity_unconstrained")
        bound = self.answer.get("bound")
        if best is None or bound is None or not market.plain:
            findings.not_checked("bound: the largest affinity under such rules is not recomputed")
            return
        need = dict.fromkeys(market.demand, 0)
        for _, item in self.pairs:
            need[item] += 1
        try:
            self._close("affinity_unconstrained", most_affinity(market, need), best)
        except TooLarge as error:
            findings.not_checked(f"affinity_unconstrained, bound: {error}")
            return
        findings.check("affinity_unconstrained: no assignment within demands and loads has more")
        if not market.asks_more and self.answer.get("fair") is None:
            self._close("bound", best, best)
        else:
            findings.not_checked("bound: that no assignment within the rules has more is not checked")

    def _close(self, key: str, actual: float | None, size: float) -> None:
        self.findings.value(key, actual, SUMS * max(abs(size), 1.0))

    def none(self) -> None:
        """Test whether demands can be met where no assignment is claimed to exist."""
        findings = self.findings
        market = self.market
        status = self.status
        if not any(market.demand.values()) and status != "infeasible":
            return
        if not findings.expect(not self.pairs, f"status {status}: there are reviews"):
            return
        if status in REACHED or (status != "infeasible" and not market.asks_more):
            findings.expect(False, f"status {status}: there are no reviews")
            return
        try:
            if most_affinity(market, market.demand) is None:
                words = f"status {status}: demands cannot be met within loads and conflicts, whatever the level"
                if findings.expect(status == "infeasible", words):
                    findings.check("that demands cannot be met within loads, conflicts and fixed pairs")
                return
            if status == "infeasible" and not market.asks_more and market.target not in ALL_NAMES:
                findings.expect(False, f"status {status}: demands can be met within loads and conflicts")
                return
            level = market.target in ALL_NAMES
            if level and not holds(market.target, market.table(market.affinity)):
                findings.check("that even all pairs together do not reach the level")
                return
        except TooLarge:
            pass
        findings.not_checked(f"status {status}: that none obeys the rules and reaches the level is not checked")


def most_affinity(market: Market, need: Mapping[str, int]) -> float | None:
    """Return the largest affinity with ``need`` reviews of every paper within loads; None if they cannot be met.

    A linear programme with a variable of 0 to 1 for each pair: its matrix is totally unimodular, so that an optimum has
    whole numbers. Raises TooLarge.

    >>> from reviewgraph._verify.rules import Market
    >>> affinity = {("ann", "p"): 1.0, ("ann", "q"): 0.5, ("bob", "p"): 0.9, ("bob", "q"): 0.1}
    >>> market = Market({"p": 1, "q": 1}, {"ann": (0, 1), "bob": (0, 1)}, affinity)
    >>> most_affinity(market, market.demand)
    1.4
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array

    affinity_of = market.affinity
    if len(affinity_of) > MOST_PAIRS:
        message = (
            f"{len(affinity_of)} pairs may be assigned, and the largest affinity is computed of up to {MOST_PAIRS}"
        )
        raise TooLarge(message)
    if not affinity_of:
        return None if any(need.values()) else 0.0
    # Rows: the papers, which get what they need, then the reviewers, within their loads.
    row_of_item = {item: row for row, item in enumerate(need)}
    row_of_reviewer = {reviewer: row for row, reviewer in enumerate(market.loads, len(need))}
    rows = [(row_of_item[item], row_of_reviewer[reviewer]) for reviewer, item in affinity_of]
    n_pairs = len(rows)
    shape = (len(need) + len(market.loads), n_pairs)
    matrix = csr_array((np.ones(2 * n_pairs), (np.ravel(rows), np.repeat(np.arange(n_pairs), 2))), shape=shape)
    affinity = np.array(list(affinity_of.values()))
    fixed = set(market.fixed)
    solution = milp(
        -affinity / max(float(np.abs(affinity).max()), np.finfo(float).tiny),
        constraints=LinearConstraint(
            matrix,
            [*need.values(), *(low for low, _ in market.loads.values())],
            [*need.values(), *(high for _, high in market.loads.values())],
        ),
        bounds=Bounds([float(pair in fixed) for pair in affinity_of], np.ones(n_pairs)),
    )
    if solution.status not in (0, 2):
        raise TooLarge("the largest affinity was not computed")
    return float(np.round(solution.x) @ affinity) if solution.status == 0 else None
