"""Answers of ``assign``: demands, loads, rules, the level and all sums, recomputed.

The largest affinity is recomputed by a linear programme, or by enumeration where there are rules and few assignments.
Not checked: optima under rules in large cases, that no fewer pairs change or lie below a threshold, that the
worst-served papers cannot be served better, and that a lottery gains most.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reviewgraph.graph.levels import ALL_NAMES, NAMES
from reviewgraph.verify.answers import Answer, Findings
from reviewgraph.verify.levels import (
    TooLarge,
    can_be_met,
    every_assignment,
    expect_small,
    holds,
    is_double,
    most_affinity,
    most_met,
    test_of,
)
from reviewgraph.verify.rules import Market, check_panels, earned

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reviewgraph.verify.graphs import Pair, Table

REACHED = {"optimal", "feasible"}
#: Relative difference of sums of affinities: they have many terms, and solvers have tolerances.
SUMS = 1e-7
#: Pairs of a paper and a reviewer up to which the largest number of reviews is recomputed.
MOST_TRIED = 500_000


def verify_assignment(answer: Answer, market: Market) -> Findings:
    """Check an assignment, from JSON or CSV, against its constraints and its own claims."""
    findings = Findings(answer)
    status = "" if answer.is_table else answer.get("status")
    assignment = _Assignment(findings, answer, market, status, answer.pairs)
    claimed = answer.rows("rows" if answer.is_table else "reviews", "affinity?")
    if answer.is_table:
        assignment.affinities("row {}, affinity", 2, claimed)
        assignment.respects({})
        if not findings.wrong and market.target in ALL_NAMES:
            assignment.level_of_table()
        return findings
    statuses = REACHED | {"level_missed", "best_effort", "infeasible"}
    if not findings.expect(status in statuses, f"status: there is none called {status!r}"):
        return findings
    target = answer.get("target")
    if market.named:
        findings.same("target", target, market.target)
    if status == "infeasible" or not claimed:
        assignment.none()
        return findings
    assignment.respects(assignment.short())
    assignment.affinities("reviews[{}].affinity", 0, claimed)
    if not findings.wrong:
        assignment.level(target)
        assignment.sums()
        assignment.lottery()
        assignment.beside()
    return findings


@dataclass
class _Assignment:
    """An assignment with its constraints."""

    findings: Findings
    answer: Answer
    market: Market
    status: str
    pairs: list[Pair]

    def affinities(self, place: str, first: int, claimed: list[float | None]) -> None:
        """Compare the affinity of each pair."""
        for number, (value, pair) in enumerate(zip(claimed, self.pairs, strict=True), first):
            self.findings.same(place.format(number), value, self.market.affinity.get(pair, 0.0))

    def short(self) -> Mapping[str, int]:
        """Return the reviews that papers are said to lack; test whether fewer could be missing."""
        findings = self.findings
        answer = self.answer
        market = self.market
        if self.status != "best_effort" and "short" not in answer.content:
            return {}
        short = dict(answer.rows("short", "item missing"))
        if not findings.same("short", bool(short), self.status == "best_effort"):
            return {}
        if not findings.present("recruit", bool(short)):
            return short
        # Reviewers to recruit, by what is missing and by their loads.
        total = sum(short.values())
        findings.value("recruit.reviews", total)
        findings.value("recruit.reviewers", max(*short.values(), -(-total // max(answer.get("recruit.load"), 1))))
        missing = f"short: that {total} reviews must be missing"
        if len(market.demand) * len(market.loads) > MOST_TRIED:
            findings.not_checked(f"{missing} takes too long to recompute", decisive=True)
            return short
        demands, open_pairs, loads = self._open()
        most = most_met(demands, open_pairs, {who: (0, high) for who, (_, high) in loads.items()}) + len(market.fixed)
        if market.asks_more and most > len(self.pairs):
            findings.not_checked(f"{missing} by the rules is not checked", decisive=True)
        elif findings.expect(most <= len(self.pairs), f"short: {len(self.pairs)} reviews, and {most} could be given"):
            findings.check(f"that {total} of {sum(market.demand.values())} demanded reviews must be missing")
        return short

    def _open(self) -> tuple[dict[str, int], list[Pair], dict[str, tuple[int, int]]]:
        """Return demands, pairs and loads beyond the fixed pairs."""
        market = self.market
        who = Counter(reviewer for reviewer, _ in market.fixed)
        what = Counter(item for _, item in market.fixed)
        demands = {item: need - what[item] for item, need in market.demand.items()}
        loads = {name: (max(low - who[name], 0), high - who[name]) for name, (low, high) in market.loads.items()}
        return demands, [pair for pair in market.pairs() if pair not in market.fixed], loads

    def respects(self, short: Mapping[str, int]) -> None:
        """Check demands (less what papers are said to lack), loads, conflicts, fixed pairs and rules on panels."""
        market = self.market
        expect = self.findings.expect
        # Each pair by itself, then all of them by paper and by reviewer.
        seen = Counter(self.pairs)
        for (who, what), times in seen.items():
            name = f"reviews: {who} on {what}"
            expect(times == 1, f"{name} is listed twice")
            listed = expect(who in market.loads, f"{name}: there is no such reviewer")
            if listed and expect(what in market.demand, f"{name}: there is no such paper"):
                expect(
                    market.may((who, what)), f"{name} may not be: a conflict, of the first phase or without affinity"
                )
        for pair in market.fixed:
            expect(pair in seen, f"reviews: lacks {pair[0]} on {pair[1]}, which is fixed")
        load = Counter(reviewer for reviewer, _ in self.pairs)
        count = Counter(item for _, item in self.pairs)
        for item, demand in market.demand.items():
            need = demand - short.get(item, 0)
            expect(count[item] == need, f"paper {item} has {count[item]} reviews, its demand is {need}")
        for reviewer, (least, most) in market.loads.items():
            words = f"reviewer {reviewer} has {load[reviewer]} reviews, the load is {least} to {most}"
            expect(least <= load[reviewer] <= most, words)
        check_panels(self.findings, market.panels, self.pairs, market.demand, market.phase_one)
        self.findings.check(f"{len(self.pairs)} reviews: demands, loads, conflicts, fixed pairs and rules on panels")

    def level(self, target: str) -> None:
        """Check whether the level is reached, and who is critical for it."""
        findings = self.findings
        market = self.market
        status = self.status
        if target not in ALL_NAMES:
            findings.same("target", target, "none")
            words = f"status {status}: no level was asked for"
            findings.expect(status in REACHED | {"best_effort"} or market.asks_more, words)
            return
        table = market.table(self.pairs)
        try:
            reached = _reached(target, table, survive=market.survive)
        except TooLarge as error:
            findings.not_checked(f"target {target}: {error}", decisive=True)
            return
        level = f"the level {target}{' after the loss of any one reviewer' if market.survive else ''}"
        if status in REACHED:
            findings.expect(reached, f"status {status}: {level} is not reached")
        elif status == "best_effort":
            outcome = "reaches" if reached else "misses"
            findings.not_checked(f"status best_effort: this part of an assignment {outcome} the level")
        elif market.floor is None and market.floor_best is None:
            findings.expect(not reached, f"status {status}: {level} is reached")
        findings.check(f"whether {level} is reached")
        critical = self.answer.get("critical", null=True)
        # Levels that outlive a loss are the level double without it.
        test = test_of(target) if target in NAMES else is_double
        if critical is not None and test(table):
            losses = [who for who, rest in table.without_each_reviewer() if not test(rest)]
            findings.same_rows("critical", map(str, critical), losses)
            findings.value("survives", status in REACHED and not losses)
            findings.check("critical: the level without each reviewer")

    def level_of_table(self) -> None:
        """Check whether a CSV reaches the level."""
        target = self.market.target
        try:
            reached = _reached(target, self.market.table(self.pairs), survive=self.market.survive)
            self.findings.expect(reached, f"the level {target} is not reached with these reviews")
            self.findings.check(f"the level {target}")
        except TooLarge as error:
            self.findings.not_checked(f"the level {target}: {error}", decisive=True)
        self.findings.not_checked("that no other assignment has more affinity: only --json has a bound")

    def sums(self) -> None:
        """Recompute sums of affinities, and compare them with the largest possible."""
        findings = self.findings
        answer = self.answer
        market = self.market
        values = [market.affinity.get(pair, 0.0) for pair in self.pairs]
        total, best, bound = sum(values), *(answer.get(key, null=True) for key in ("affinity_unconstrained", "bound"))
        rewards = earned(market.panels, self.pairs, market.phase_one)
        optimal = self.status == "optimal"
        for key, actual in {
            "affinity": total,
            "mean_affinity": total / len(values),
            "minimum_affinity": min(values),
            "rewards": rewards,
        }.items():
            self._close(key, answer.get(key), actual, total)
        findings.check("affinity, mean_affinity, minimum_affinity and rewards, recomputed")
        if best is None or bound is None:
            findings.not_checked("bound: there is none", decisive=optimal)
            return
        # Prices and gaps follow from the sums; the bound is at least what the assignment has.
        price = 100.0 * (best - total) / abs(best) if best else 0.0
        self._close("price_percent", answer.get("price_percent"), price, 100.0)
        short = 0.0 if optimal else max(bound - total - rewards, 0.0)
        gap = 100.0 * short / abs(bound) if bound else 0.0
        self._close("gap_percent", answer.get("gap_percent"), gap, 100.0)
        words = f"bound: claims {bound:.9g}, and affinity and rewards are {total + rewards:.9g}"
        findings.expect(bound >= total + rewards - SUMS * max(abs(bound), 1.0), words)
        if optimal and market.previous is None and market.min_affinity is None:
            self._close("status optimal: bound", bound, total + rewards, total)
        # The largest affinity, without rules and, where there are few assignments, with them.
        if not market.plain:
            words = "affinity_unconstrained, bound, status: the largest affinity under such rules is not recomputed"
            findings.not_checked(words, decisive=optimal)
            return
        if not market.asks_more:
            self._close("bound", bound, best, best)
        elif optimal:
            self._best(bound)
        try:
            most = most_affinity(self.pairs, market.pairs(), market.fixed, market.loads)
        except TooLarge as error:
            findings.not_checked(f"affinity_unconstrained, bound: {error}", decisive=optimal)
            return
        self._close("affinity_unconstrained", best, most, most)
        findings.check("affinity_unconstrained: no cycle of exchanges gains more")

    def _close(self, key: str, claimed: float, actual: float, size: float) -> None:
        """Compare sums that are taken in another order."""
        self.findings.near(key, claimed, actual, SUMS * max(abs(size), 1.0))

    def _best(self, bound: float) -> None:
        """Compare the bound of an optimal assignment under rules with the best of all assignments."""
        market = self.market
        try:
            gains = [
                sum(market.affinity.get(pair, 0.0) for pair in other) + earned(market.panels, other, market.phase_one)
                for other in every_assignment(market)
            ]
        except TooLarge:
            words = "status optimal: that none within the rules has more affinity and rewards is not checked"
            self.findings.not_checked(words, decisive=True)
            return
        self._close("status optimal: bound", bound, max(gains, default=bound), bound)
        self.findings.check("that none of all assignments within the rules has more affinity and rewards")

    def beside(self) -> None:
        """Compare what follows from a previous assignment, a threshold, and the worst-served papers."""
        findings = self.findings
        market = self.market
        pairs = {*self.pairs}
        if findings.present("changes", market.previous is not None) and market.previous is not None:
            findings.value("changes.kept", len(market.previous & pairs))
            findings.rows("changes.dropped", "reviewer item", market.previous - pairs)
            findings.rows("changes.new", "reviewer item", pairs - market.previous)
            findings.check("changes: pairs kept, dropped and new")
            findings.not_checked("changes.fewest: that no fewer pairs change is not recomputed")
        if findings.present("below", market.min_affinity is not None) and market.min_affinity is not None:
            low = [pair for pair in self.pairs if market.affinity.get(pair, 0.0) < market.min_affinity]
            findings.rows("below.reviews", "reviewer item", low)
            findings.not_checked("below.fewest: that no fewer pairs are below is not recomputed")
        if self.answer.get("fair", null=True) is not None:
            sums: dict[str, float] = {}
            for pair in self.pairs:
                sums[pair[1]] = sums.get(pair[1], 0.0) + market.affinity.get(pair, 0.0)
            least = min(sums.values(), default=0.0)
            self._close("fair.smallest.after", self.answer.get("fair.smallest.after"), least, least)
            findings.not_checked("fair: that papers cannot be served better is not recomputed")

    def lottery(self) -> None:
        """Check the probabilities of a lottery: their sums, the cap, the shares of the list, and the draw."""
        answer = self.answer
        market = self.market
        expect = self.findings.expect
        if answer.content.get("probabilities") is None:
            return
        rows = answer.rows("probabilities", "reviewer item probability")
        draws = answer.get("draws")
        cap = answer.get("max_probability", within=draws, null=True)
        count = draws.get("assignments")
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
        demands, open_pairs, loads = self._open()
        exceeded = min([*demands.values(), *(high for _, high in loads.values())], default=0) < 0
        if exceeded or not can_be_met(demands, open_pairs, loads):
            words = (
                f"status {status}: demands cannot be met within loads, conflicts and fixed pairs, whatever the level"
            )
            if findings.expect(status == "infeasible", words):
                findings.check("that demands cannot be met within loads, conflicts and fixed pairs")
        elif status == "infeasible" and not market.asks_more and market.target not in ALL_NAMES:
            findings.expect(False, f"status {status}: demands can be met within loads and conflicts")
        else:
            self._search()

    def _search(self) -> None:
        """Search for an assignment within the rules and at the level, where none is claimed to exist."""
        findings = self.findings
        market = self.market

        def reaches(pairs: list[Pair]) -> bool:
            aims = market.target in ALL_NAMES
            return not aims or _reached(market.target, market.table(pairs), survive=market.survive)

        words = f"status {self.status}: that none obeys the rules and reaches the level is not checked"
        try:
            if not reaches([*market.pairs()]):
                findings.check("that even all pairs together do not reach the level")
                return
            counterexample = next(filter(reaches, every_assignment(market)), None)
        except TooLarge:
            findings.not_checked(words, decisive=True)
            return
        if counterexample is None:
            findings.check("that none of all assignments obeys the rules and reaches the level")
        elif market.plain and market.previous is None and market.min_affinity is None:
            named = ", ".join(f"{who} on {what}" for who, what in counterexample)
            findings.expect(False, f"status {self.status}: an assignment is {named}")
        else:
            findings.not_checked(words, decisive=True)


def _reached(target: str, table: Table, *, survive: bool) -> bool:
    """Whether a table is at a level, and stays there without any one reviewer; some levels imply that."""
    if not holds(target, table):
        return False
    if not survive or target not in NAMES:
        return True
    expect_small(table, len(table.reviewers))
    return all(holds(target, rest) for _, rest in table.without_each_reviewer())
