"""Answers of ``assign``: demands, loads, rules, the level and all sums, recomputed.

The largest affinity, without rules and with them, is that of a programme of its own. Not checked: optima under rules in
large cases and at a level, and that a lottery gains most.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from reviewgraph.graph.levels import ALL_NAMES, NAMES
from reviewgraph.verify.answers import Answer, Findings
from reviewgraph.verify.flows import best_assignment, beyond_fixed, can_be_met, most_met
from reviewgraph.verify.levels import TooLarge, holds, is_double, test_of
from reviewgraph.verify.rules import check_market, earned

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from reviewgraph.verify.graphs import Pair
    from reviewgraph.verify.rules import Market

REACHED = {"optimal", "feasible"}
#: Relative difference of sums of affinities: they have many terms, and solvers have tolerances.
SUMS = 1e-7
#: Pairs of a paper and a reviewer up to which the largest number of reviews is recomputed.
MOST_TRIED = 500_000


def verify_assignment(answer: Answer, market: Market) -> Findings:
    """Check an assignment, against its constraints and its own claims."""
    findings = Findings(answer)
    assignment = _Assignment(findings, answer, market, answer.get("status") or "", answer.pairs)
    statuses = REACHED | {"level_missed", "best_effort", "infeasible"}
    if not findings.expect(assignment.status in statuses, f"status: there is none called {assignment.status!r}"):
        return findings
    if market.named:
        findings.value("target", market.target)
    if assignment.status == "infeasible" or not answer.pairs:
        assignment.none()
        return findings
    check_market(findings, market, answer.pairs, assignment.short())
    for number, (value, pair) in enumerate(zip(answer.rows("reviews", "affinity"), answer.pairs, strict=True)):
        findings.same(f"reviews[{number}].affinity", value, market.affinity.get(pair, 0.0))
    for check in (assignment.level, assignment.sums, assignment.bounds, assignment.lottery):
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

    def short(self) -> Mapping[str, int]:
        """Return the reviews that papers are said to lack; test whether fewer could be missing."""
        findings = self.findings
        market = self.market
        short = dict(self.answer.rows("short", "item missing"))
        if not findings.same("short", bool(short), self.status == "best_effort") or not short:
            return {}
        words = f"short: that {sum(short.values())} reviews must be missing"
        if len(market.demand) * len(market.loads) > MOST_TRIED:
            findings.not_checked(f"{words} takes too long to recompute", decisive=True)
            return short
        demands, pairs, loads = beyond_fixed(market)
        most = most_met(demands, pairs, loads) + len(market.fixed)
        if market.asks_more and most > len(self.pairs):
            findings.not_checked(f"{words} by the rules is not checked", decisive=True)
        elif findings.expect(most <= len(self.pairs), f"short: {len(self.pairs)} reviews, and {most} could be given"):
            findings.check(words)
        return short

    def reaches(self, pairs: Iterable[Pair]) -> bool:
        """Whether pairs reach the level, if there is one; raise TooLarge."""
        market = self.market
        if market.target not in ALL_NAMES:
            return True
        return holds(market.target, market.table(pairs), survive=market.survive)

    def level(self) -> None:
        """Check whether the level is reached, and who is critical for it."""
        findings = self.findings
        market = self.market
        status = self.status
        target = self.answer.get("target")
        if target not in ALL_NAMES:
            findings.value("target", "none")
            words = f"status {status}: no level was asked for"
            findings.expect(status in REACHED | {"best_effort"} or market.asks_more, words)
            return
        table = market.table(self.pairs)
        level = f"the level {target}{' after the loss of any one reviewer' if market.survive else ''}"
        try:
            reached = holds(target, table, survive=market.survive)
        except TooLarge as error:
            findings.not_checked(f"target {target}: {error}", decisive=True)
            return
        if status in REACHED:
            findings.expect(reached, f"status {status}: {level} is not reached")
        elif status == "best_effort":
            outcome = "reaches" if reached else "misses"
            findings.not_checked(f"status best_effort: this part of an assignment {outcome} the level")
        elif market.floor is None and market.floor_best is None:
            findings.expect(not reached, f"status {status}: {level} is reached")
        findings.check(f"whether {level} is reached")
        critical = self.answer.get("critical")
        # Levels that outlive a loss are the level double without it.
        test = test_of(target) if target in NAMES else is_double
        if critical is not None and test(table):
            losses = [who for who, rest in table.without_each_reviewer() if not test(rest)]
            findings.same_rows("critical", map(str, critical), losses)
            findings.value("survives", status in REACHED and not losses)
            findings.check("critical: the level without each reviewer")

    def sums(self) -> None:
        """Recompute sums of affinities, the price of the level and the gap to the bound."""
        values = [self.market.affinity.get(pair, 0.0) for pair in self.pairs]
        total = sum(values)
        rewards = earned(self.market, self.pairs)
        self._close("affinity", total, total)
        self._close("mean_affinity", total / len(values), total)
        self._close("minimum_affinity", min(values), total)
        self._close("rewards", rewards, total)
        self.findings.check("affinity, mean_affinity, minimum_affinity and rewards, recomputed")
        best = self.answer.get("affinity_unconstrained")
        bound = self.answer.get("bound")
        if best is None or bound is None:
            return
        self._close("price_percent", 100.0 * (best - total) / abs(best) if best else 0.0, 100.0)
        short = 0.0 if self.status == "optimal" else max(bound - total - rewards, 0.0)
        self._close("gap_percent", 100.0 * short / abs(bound) if bound else 0.0, 100.0)
        words = f"bound: claims {bound:.9g}, and affinity and rewards are {total + rewards:.9g}"
        self.findings.expect(bound >= total + rewards - SUMS * max(abs(bound), 1.0), words)
        # With changes or a threshold the total is not what is optimised.
        if self.status == "optimal" and self.market.sums_alone:
            self._close("bound", total + rewards, total)

    def bounds(self) -> None:
        """Compare the largest affinity, without rules and with them, with what a programme of its own finds."""
        findings = self.findings
        market = self.market
        optimal = self.status == "optimal"
        best = self.answer.get("affinity_unconstrained")
        bound = self.answer.get("bound")
        if best is None or bound is None or not market.plain:
            words = "affinity_unconstrained, bound, status: the largest affinity under such rules is not recomputed"
            findings.not_checked(words, decisive=optimal)
            return
        need = dict.fromkeys(market.demand, 0)
        for _, item in self.pairs:
            need[item] += 1
        try:
            unruled = best_assignment(market, need)
            if unruled is not None:
                self._close("affinity_unconstrained", unruled[0], best)
                findings.check("affinity_unconstrained: no assignment within demands and loads has more")
            if not market.asks_more:
                self._close("bound", best, best)
                return
            ruled = best_assignment(market, need, rules=True)
        except TooLarge as error:
            findings.not_checked(f"affinity_unconstrained, bound: {error}", decisive=optimal)
            return
        if ruled is not None:
            most, _ = ruled
            words = f"bound: claims {bound:.9g}; an assignment within the rules has {most:.9g}"
            slack = SUMS * max(abs(bound), 1.0)
            findings.expect(bound >= most - slack, words)
            if optimal and bound > most + slack:
                findings.expect(False, f"status optimal: bound: claims {bound:.9g}; recomputed {most:.9g}")
            findings.check("bound: no assignment within the rules has more affinity and rewards")

    def _close(self, key: str, actual: float, size: float) -> None:
        """Compare sums that are taken in another order."""
        self.findings.value(key, actual, SUMS * max(abs(size), 1.0))

    def lottery(self) -> None:
        """Check the probabilities of a lottery: their sums, the cap, the shares of the list, and the draw."""
        market = self.market
        expect = self.findings.expect
        if self.answer.get("probabilities") is None:
            return
        rows = self.answer.rows("probabilities", "reviewer item probability")
        cap = self.answer.get("draws.max_probability")
        count = self.answer.get("draws.assignments")
        total = dict.fromkeys(market.demand, 0.0)
        for reviewer, item, value in rows:
            name = f"probabilities: {reviewer} on {item}"
            within = cap is None or value <= cap + SUMS or (reviewer, item) in market.fixed
            expect(within, f"{name}: {value:.9g} exceeds the cap {cap}")
            if count:
                share = abs(value * count - round(value * count)) <= SUMS * count
                expect(share, f"{name}: {value:.9g} is no whole share of {count} assignments")
            if expect(reviewer in market.loads and item in total, f"{name}: there is no such pair"):
                expect(market.may((reviewer, item)), f"{name} may not be")
                expect(0 <= value <= 1 + SUMS, f"{name}: {value:.9g} is no probability")
                total[item] += value
        # Each paper gets its demand on average, and pairs are drawn among those that can be.
        for item, demand in market.demand.items():
            near = abs(total[item] - demand) <= 1e-4 * max(demand, 1)
            expect(near, f"probabilities: those of paper {item} sum to {total[item]:.9g}, its demand is {demand}")
        for reviewer, item in {*self.pairs} - {(reviewer, item) for reviewer, item, value in rows if value > 0}:
            expect(False, f"probabilities: {reviewer} on {item} is drawn and has none")
        words = "probabilities: allowed pairs within the cap, those drawn among them, each paper's sum to its demand"
        self.findings.check(words)
        words = "probabilities, draws: that no others gain more is not recomputed"
        self.findings.not_checked(words, decisive=True)

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
        demands, pairs, loads = beyond_fixed(market)
        exceeded = min([*demands.values(), *(high for _, high in loads.values())], default=0) < 0
        if exceeded or not can_be_met(demands, pairs, loads):
            words = f"status {status}: demands cannot be met within loads and conflicts, whatever the level"
            if findings.expect(status == "infeasible", words):
                findings.check("that demands cannot be met within loads, conflicts and fixed pairs")
        elif status == "infeasible" and not market.asks_more and market.target not in ALL_NAMES:
            findings.expect(False, f"status {status}: demands can be met within loads and conflicts")
        else:
            self._search()

    def _search(self) -> None:
        """Test whether all pairs together miss the level, or no assignment obeys the rules.

        One that obeys them, and happens to reach the level, refutes the claim that there is none.
        """
        market = self.market
        try:
            if not self.reaches(market.pairs()):
                self.findings.check("that even all pairs together do not reach the level")
                return
            ruled = best_assignment(market, market.demand, rules=True) if market.plain else (0.0, [])
            if ruled is None:
                self.findings.check("that no assignment obeys the rules")
                return
            _, pairs = ruled
            if pairs and self.reaches(pairs) and market.sums_alone:
                named = ", ".join(f"{who} on {what}" for who, what in pairs)
                self.findings.expect(False, f"status {self.status}: an assignment is {named}")
                return
        except TooLarge:
            pass
        words = f"status {self.status}: that none obeys the rules and reaches the level is not checked"
        self.findings.not_checked(words, decisive=True)
