"""Answers of ``check`` and ``plan``: sizes and levels; rules, counts, costs, merges and bounds, recomputed.

Not checked: bounds whose proof takes a search, cheapest and missing plans, and that a best effort lacks least. Left to
a second run: what each review joins, and what an objective or a round is worth; of ``check``, critical reviewers,
violated rules and expected errors.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from reviewgraph._verify.answers import Answer, Findings, expecting_keys
from reviewgraph._verify.bounds import Case
from reviewgraph._verify.graphs import (
    Pair,
    Table,
    TooLarge,
    groups,
    highest_level,
    is_double,
    is_recoverable,
    largest_cover,
    missing_links,
    pieces,
)
from reviewgraph._verify.rules import PlainRules, check_rules
from reviewgraph.graph.levels import ALL_NAMES, Double

REACHING = {"optimal", "feasible", "extended"}
PARTIAL = {"budget_exhausted", "level_missed", "best_effort"}
OTHER = {"infeasible", "chosen"}


@expecting_keys
def verify_plan(answer: Answer, rules: PlainRules, target: str | None) -> Findings:
    """Check a plan against its rules and its own claims; ``target`` is the level that was passed, None without one."""
    findings = Findings(answer)
    status = answer.get("status")
    if not findings.expect(status in REACHING | PARTIAL | OTHER, f"status: there is none called {status!r}"):
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
        findings.same_rows("short", answer.rows("short", "item missing"), rules.lacks(new).items())
        return findings
    if target is not None:
        findings.value("target", target)
    if aim is None and status == "infeasible":
        plan.none()
        return findings
    findings.expect(aim in ALL_NAMES, f"target: there is no level {aim!r}")
    for check in (plan.merges, plan.bounds, plan.none if status == "infeasible" else plan.level):
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
        findings = self.findings
        rules = self.rules
        pairs = self.pairs
        findings.value("count", len(pairs))
        costs = [rules.cost_of(pair) for pair in pairs]
        affinities = [rules.worth_of(pair) for pair in pairs]
        for place, (cost, affinity) in enumerate(self.answer.rows("reviews", "cost affinity")):
            findings.same(f"reviews[{place}].cost", cost, costs[place])
            findings.same(f"reviews[{place}].affinity", affinity, affinities[place])
        findings.value("cost", float(sum(costs)))
        findings.value("affinity", None if rules.best is None else float(sum(value or 0.0 for value in affinities)))
        findings.value("largest_load", max(Counter(reviewer for reviewer, _ in pairs).values(), default=0))
        findings.check("count, cost, affinity and largest_load, recomputed")

    def level(self) -> None:
        """Check whether the level is reached, and what papers lack in a best effort."""
        findings = self.findings
        status = self.status
        target = self.case.target
        try:
            reached = self.case.reached(self.new)
            if status in REACHING:
                words = f"status {status}: the level {target}, or what every paper needs, is not reached"
                findings.expect(reached, words)
            elif status in PARTIAL:
                findings.expect(not reached, f"status {status}: the level {target} is reached")
            findings.check(f"whether the level {target} is reached")
        except TooLarge as error:
            findings.not_checked(f"target {target}: {error}")
        lacking = self.rules.lacks(self.new).items() if status == "best_effort" else ()
        findings.same_rows("short", self.answer.rows("short", "item missing"), lacking)
        if status == "best_effort":
            findings.not_checked("status best_effort: that no more could be given is not checked")

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
            if self.rules.value and self.new:
                findings.not_checked("status optimal: that no plan of as many reviews is cheaper is not checked")
        unproved = []
        for place, (value, kind) in enumerate(bounds):
            wrong, unchecked = self.case.check_bound(value, kind)
            findings.expect(wrong is None, f"bounds[{place}]: {wrong}")
            if unchecked:
                unproved.append(f"{value} ({kind})")
        if unproved:
            findings.not_checked(f"bounds {', '.join(unproved)}: the proof takes a search, which is not repeated")
        if len(unproved) < len(bounds):
            findings.check("the other bounds, recomputed" if unproved else "all bounds, recomputed")

    def none(self) -> None:
        """Test all allowed reviews together where no plan is claimed to exist."""
        findings = self.findings
        rules = self.rules
        findings.expect(not self.pairs, "status infeasible: there are reviews")
        beyond = rules.max_reviews is not None and len(rules.fixed) > rules.max_reviews
        if beyond or rules.exceeded(rules.fixed) is not None:
            return
        new = tuple(rules.open_pairs())
        everything = (*rules.fixed, *new)
        try:
            # More reviews never harm.
            if not self.case.reached(new):
                findings.check("that even all allowed reviews together do not reach the level and meet all needs")
                return
            affordable = rules.max_reviews is None or len(everything) <= rules.max_reviews
            if affordable and not rules.panels and rules.exceeded(everything) is None:
                findings.expect(False, f"status infeasible: all {len(new)} reviews that are allowed are a plan")
                return
        except TooLarge:
            pass
        findings.not_checked("status infeasible: that there is no plan takes a search, which is not repeated")


@expecting_keys
def verify_check(answer: Answer, table: Table) -> Findings:
    findings = Findings(answer)
    _structure(findings, table, "")
    # The same of the reviews with scores, where some have none.
    scored = table.scored()
    partly = 0 < len(scored.score) < len(table.score)
    if findings.same("as_of_now", "as_of_now" in answer.content, partly) and partly:
        _structure(findings, scored, "as_of_now.")
    return findings


def _structure(findings: Findings, table: Table, prefix: str) -> None:
    components = groups(table.rows())
    findings.value(prefix + "reviewers", len(table.reviewers))
    findings.value(prefix + "items", len(table.items))
    findings.value(prefix + "reviews", len(table.score))
    findings.value(prefix + "connected.components", len(pieces(table.rows(), table.items)))
    findings.value(prefix + "doubly_connected.components", len(components))
    findings.value(prefix + "doubly_connected.largest_cover", largest_cover(components))
    findings.value(prefix + "degrees_of_freedom", missing_links(table.rows(), table.items))
    findings.value(prefix + "recovery_resilient", is_double(table))
    findings.value(prefix + "recoverable", is_recoverable(table))
    findings.check(f"{prefix}sizes, components and degrees of freedom, recomputed")
    try:
        findings.value(prefix + "level", highest_level(table))
        findings.check(f"{prefix}level, and every level above it")
    except TooLarge as error:
        findings.not_checked(f"{prefix}level: {error}")
