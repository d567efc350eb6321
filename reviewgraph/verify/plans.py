"""Answers of ``plan``: rules, counts, costs, the level reached, merges and bounds, recomputed.

Small cases are decided by enumerating plans. Not checked: bounds whose proof takes a search, cheapest and missing plans
of large tables. What an objective or a round is worth is checked by a second run alone.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reviewgraph.graph.levels import ALL_NAMES, Double, level_named
from reviewgraph.verify.answers import Answer, Findings, is_same
from reviewgraph.verify.bounds import MOST_LOADS, Case
from reviewgraph.verify.flows import most_met
from reviewgraph.verify.graphs import groups, pieces
from reviewgraph.verify.levels import TooLarge, holds
from reviewgraph.verify.rules import PlainRules, check_rules

if TYPE_CHECKING:
    from reviewgraph.verify.graphs import Pair

REACHING = {"optimal", "feasible", "extended"}
PARTIAL = {"budget_exhausted", "level_missed", "best_effort"}
OTHER = {"infeasible", "chosen"}
#: Reviews of the tables after each step of a plan, in all, up to which every step is recomputed.
MOST_STEPS = 2_000_000


def verify_plan(answer: Answer, rules: PlainRules | None, target: str, *, named: bool) -> Findings:
    """Check a plan against its rules and its own claims.

    ``target`` is the level it is for, ``named`` whether that was passed or is the default of ``plan``. Without
    ``rules``, which are those of a later round, all is left to a second run.
    """
    findings = Findings(answer)
    status = answer.get("status")
    if not findings.expect(status in REACHING | PARTIAL | OTHER, f"status: there is none called {status!r}"):
        return findings
    if rules is None:
        findings.by_command.append("the reviews of a later round, and its rules")
        return findings
    pairs = answer.pairs
    aim = answer.get("target")
    new = tuple(pair for pair in pairs if pair not in rules.fixed)
    plan = _Plan(findings, answer, rules, Case(rules, aim), status, pairs, new)
    plan.counts()
    if status != "infeasible":
        check_rules(findings, rules, pairs)
    if status == "chosen":
        findings.value("target", None)
        findings.value("lower_bound", 0)
        findings.by_command.append("status chosen: the gains of these reviews")
        return findings
    if named:
        findings.value("target", target)
    findings.expect(aim in ALL_NAMES, f"target: there is no level {aim!r}")
    checks = [plan.level, plan.merges, plan.bounds, plan.short, plan.steps]
    if status == "infeasible":
        checks.append(plan.none)
    elif status == "optimal":
        checks.append(plan.cheapest)
    for check in checks:
        if not findings.wrong:
            check()
    return findings


@dataclass
class _Plan:
    """A plan, ``pairs`` its reviews and ``new`` those that are not fixed."""

    findings: Findings
    answer: Answer
    rules: PlainRules
    case: Case
    status: str
    pairs: list[Pair]
    new: tuple[Pair, ...]

    def counts(self) -> None:
        """Recompute counts, costs, affinities and loads."""
        findings = self.findings
        rules = self.rules
        pairs = self.pairs
        findings.value("count", len(pairs))
        costs = [rules.cost_of(pair) for pair in pairs]
        worth = [rules.worth_of(pair) for pair in pairs]
        for place, (cost, affinity) in enumerate(self.answer.rows("reviews", "cost affinity")):
            findings.same(f"reviews[{place}].cost", cost, costs[place])
            findings.same(f"reviews[{place}].affinity", affinity, worth[place])
        findings.value("cost", float(sum(costs)))
        findings.value("affinity", None if rules.best is None else float(sum(value or 0.0 for value in worth)))
        most = max(Counter(reviewer for reviewer, _ in pairs).values(), default=0)
        findings.value("largest_load", most)
        findings.check("count, cost, affinity and largest_load, recomputed")
        least = self.answer.get("largest_load_lower_bound")
        words = f"largest_load_lower_bound: claims {least}, and nobody gets more than {most}"
        if least and findings.expect(least <= most, words):
            self._least_load(least)

    def _least_load(self, least: int) -> None:
        """Try a smaller largest load than the one called least."""
        key = "largest_load_lower_bound"
        why = self.case.why_no_smaller_load(self.pairs, least)
        if why:
            self.findings.check(f"{key}: {why}")
        elif why is None:
            self.findings.not_checked(f"{key}: there are too many pairs to try smaller loads")
        elif self.rules.value or self.rules.panels:
            self.findings.not_checked(f"{key}: that smaller loads cost more, or break rules, is not checked")
        else:
            words = f"{key}: claims {least}, and {least - 1} would do for what papers need"
            self.findings.expect(False, words)

    def level(self) -> None:
        """Check whether the level is reached."""
        status = self.status
        target = self.case.target
        try:
            if status in REACHING:
                words = f"status {status}: the level {target}, or what every paper needs, is not reached"
                self.findings.expect(self.case.reached(self.new), words)
            elif status in PARTIAL:
                self.findings.expect(not self.case.reached(self.new), f"status {status}: the level {target} is reached")
            self.findings.check(f"whether the level {target} is reached")
        except TooLarge as error:
            self.findings.not_checked(f"target {target}: {error}", decisive=True)

    def merges(self) -> None:
        """Replay the certificate; a plan that reaches ``double`` must have one that covers all papers."""
        merges = self.answer.get("merges")
        items = self.rules.table.items
        wrong, covered = self.case.replayed(self.pairs, merges)
        words = f"merges[{wrong}]: does not join two groups by two papers that both cover"
        if self.findings.expect(wrong < 0, words) and self.status in REACHING and self.case.target == Double.name:
            words = f"merges: lead to a group of {len(covered)} of {len(items)} papers"
            self.findings.expect(len(covered) == len(items), words)
        if merges:
            self.findings.check(f"{len(merges)} merges, replayed")

    def bounds(self) -> None:
        """Check each lower bound, and the number of reviews by the largest."""
        findings = self.findings
        count = len(self.pairs)
        least = self.answer.get("lower_bound")
        bounds = self.answer.rows("bounds", "value kind")
        findings.value("lower_bound", max((value for value, _ in bounds), default=0))
        if self.status in REACHING:
            findings.expect(count >= least, f"count: {count} reviews are fewer than the lower bound {least}")
        if self.status == "optimal":
            findings.same("status optimal: count", count, least)
        unproved = []
        for place, (value, kind) in enumerate(bounds):
            wrong, unchecked = self.case.check_bound(value, kind)
            findings.expect(wrong is None, f"bounds[{place}]: {wrong}")
            if unchecked:
                unproved.append(f"{value} ({kind})")
        if unproved:
            words = f"bounds {', '.join(unproved)}: the proof takes a search, which is not repeated"
            findings.not_checked(words, decisive=True)
        if len(unproved) < len(bounds):
            findings.check("the other bounds, recomputed" if unproved else "all bounds, recomputed")

    def short(self) -> None:
        """Count the reviews that papers lack in a best effort, and test whether fewer could be missing."""
        findings = self.findings
        rules = self.rules
        if self.status != "best_effort":
            findings.rows("short", "item missing", ())
            return
        lacks = rules.lacks(self.pairs)
        findings.rows("short", "item missing", lacks.items())
        before = rules.lacks()
        if rules.panels or rules.max_per_item is not None or rules.max_reviews is not None:
            words = "status best_effort: that no more could be given under these rules is not checked"
            findings.not_checked(words, decisive=True)
        elif len(before) * len(rules.table.reviewers) > MOST_LOADS:
            words = "status best_effort: there are too many pairs to test whether more could be given"
            findings.not_checked(words, decisive=True)
        else:
            fixed = Counter(reviewer for reviewer, _ in rules.fixed)
            loads = {who: (0, rules.spare.get(who, len(before)) - fixed[who]) for who in rules.table.reviewers}
            useful = [pair for pair in self.case.pairs if pair[1] in before]
            needed = sum(before.values()) - most_met(before, useful, loads)
            words = f"short: {sum(lacks.values())} are missing, and {needed} need be"
            findings.expect(sum(lacks.values()) <= needed, words)
            findings.check("short: that no fewer reviews need be missing")

    def steps(self) -> None:
        """Compare the largest group after each review, and before and after a partial plan."""
        findings = self.findings
        pairs = self.pairs
        if not level_named(self.case.target).grouped:
            findings.not_checked("covers, groups, largest_group: blocks are not recomputed")
            return
        if (len(pairs) + 2) * (len(self.case.base.score) + len(pairs)) > MOST_STEPS:
            findings.not_checked("covers, groups: the table is too large to be checked after each review")
            return
        steps = [self._reach(pairs[:n]) for n in range(len(pairs) + 1)]
        for place, claimed in enumerate(self.answer.rows("reviews", "covers groups")):
            findings.same(f"reviews[{place}]: covers, groups", claimed, steps[place + 1])
        largest = {"before": steps[0][0], "after": steps[-1][0]} if self.status in PARTIAL else None
        findings.value("largest_group", largest)
        findings.check("the number of papers that the largest group has after each review, and the number of groups")

    def _reach(self, pairs: list[Pair]) -> tuple[int, int]:
        """Return the papers of the largest group at the target, and the number of groups."""
        table = self.rules.after(pairs)
        if level_named(self.case.target).shared == 1:
            classes = pieces(table.rows(), table.items)
            sizes = list(Counter(classes.of((1, item)) for item in table.items).values())
        else:
            components = groups(table.rows(), table.items, table.score if self.rules.use_scores else None)
            sizes = [len(group.items) for group in components if group.items]
        return max(sizes, default=0), len(sizes)

    def none(self) -> None:
        """Search for a plan where none is claimed to exist."""
        findings = self.findings
        rules = self.rules
        case = self.case
        findings.expect(not self.pairs, "status infeasible: there are reviews")
        beyond = rules.max_reviews is not None and len(rules.fixed) > rules.max_reviews
        if beyond or rules.exceeded(rules.fixed) is not None:
            return
        everything = (*rules.fixed, *case.pairs)
        try:
            if not holds(case.target, rules.after(everything), use_scores=rules.use_scores):
                findings.check("that even all allowed reviews together do not reach the level")
                return
            affordable = rules.max_reviews is None or len(everything) <= rules.max_reviews
            within = affordable and not rules.panels and rules.exceeded(everything) is None
            if within and case.reached(case.pairs):
                findings.expect(False, f"status infeasible: all {len(case.pairs)} reviews that are allowed are a plan")
                return
            plan = next(case.plans(len(rules.table.items) ** 2), None)
        except TooLarge:
            words = "status infeasible: that there is no plan takes a search, which is not repeated"
            findings.not_checked(words, decisive=True)
            return
        words = "" if plan is None else ", ".join(f"{reviewer} on {item}" for reviewer, item in plan)
        if findings.expect(plan is None, f"status infeasible: a plan is {words or 'no review at all'}"):
            findings.check("that none of all sets of reviews is a plan")

    def cheapest(self) -> None:
        """Search for a cheaper plan of equally many reviews, where costs differ.

        With affinities, one in which nobody has a larger load.
        """
        if not self.rules.value or not self.new:
            return
        own_cost = sum(map(self.rules.cost_of, self.new))
        most = math.inf if self.rules.best is None else max(Counter(who for who, _ in self.pairs).values())
        try:
            for pairs in self.case.plans(len(self.new)):
                cost = sum(map(self.rules.cost_of, pairs))
                load = max(Counter(who for who, _ in (*self.rules.fixed, *pairs)).values(), default=0)
                fits = load <= most and len(pairs) == len(self.new)
                if fits and cost < own_cost and not is_same(cost, own_cost):
                    words = f"status optimal: as many reviews cost {cost:.9g}, these {own_cost:.9g}"
                    self.findings.expect(False, words)
                    return
        except TooLarge:
            words = "status optimal: that no plan of as many reviews is cheaper is not checked"
            self.findings.not_checked(words, decisive=True)
            return
        self.findings.check("that no plan of as many reviews is cheaper")
