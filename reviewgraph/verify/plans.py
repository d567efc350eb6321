"""Answers of ``plan``: rules, counts, costs, the level reached, certificates and bounds, recomputed.

Small cases are decided by enumerating plans. Not checked: bounds whose proof takes a search, cheapest and missing plans
of large tables, components by blocks, and the gains of a purchase, of which only the sum is recomputed.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reviewgraph._base.errors import InputError
from reviewgraph.graph.levels import ALL_NAMES, Double, level_named
from reviewgraph.verify.answers import Answer, Findings, is_same, shown
from reviewgraph.verify.bounds import MOST_LOADS, Case
from reviewgraph.verify.graphs import groups, pieces
from reviewgraph.verify.levels import TooLarge, holds, most_met
from reviewgraph.verify.rounds import Process, verify_round
from reviewgraph.verify.rules import PlainRules, check_rules, panels_of

if TYPE_CHECKING:
    from reviewgraph.verify.graphs import Pair

REACHING = {"optimal", "feasible", "extended"}
PARTIAL = {"budget_exhausted", "level_missed", "best_effort"}
OTHER = {"infeasible", "chosen"}
#: Reviews of the tables after each step of a plan, in all, up to which every step is recomputed.
MOST_STEPS = 2_000_000


def verify_plan(
    answer: Answer, rules: PlainRules, target: str, *, named: bool, process: Process | None = None
) -> Findings:
    """Check a plan, from JSON or CSV, against its rules and its own claims.

    ``target`` is the level it is for, ``named`` whether that was passed or is the default of ``plan``, ``process``
    the options of a round.
    """
    findings = Findings(answer)
    pairs = answer.pairs
    fixed = set(rules.fixed)
    new = tuple(pair for pair in pairs if pair not in fixed)
    if answer.is_table:
        _table(findings, Case(rules, target), pairs, new)
        return findings
    status = answer.get("status")
    if not findings.expect(status in REACHING | PARTIAL | OTHER, f"status: there is none called {status!r}"):
        return findings
    aim = answer.get("target", null=True)
    # A plan chosen by its gains is for no level; its case serves the counts alone.
    plan = _Plan(findings, answer, rules, Case(rules, aim), status, pairs, new)
    plan.counts()
    if status != "infeasible":
        check_rules(findings, rules, pairs)
    plan.panels()
    if status == "chosen":
        findings.value("target", None)
        findings.value("lower_bound", 0)
        plan.letters()
        if answer.content.get("rounds") is not None:
            plan.purchase()
            verify_round(findings, rules, process or Process(), pairs)
            return findings
        findings.not_checked("status chosen: that these reviews gain most is not recomputed", decisive=True)
        return findings
    if named:
        findings.value("target", target)
    if aim not in ALL_NAMES:
        findings.expect(False, f"target: there is no level {aim!r}")
    if not findings.wrong:
        plan.level()
        plan.merges()
        plan.bounds()
        plan.short()
        plan.steps()
        if status == "infeasible":
            findings.expect(not pairs, "status infeasible: there are reviews")
            plan.none()
        if status == "optimal":
            plan.cheapest()
        plan.purchase()
        plan.letters()
    return findings


@dataclass
class _Plan:
    """A plan in JSON, ``pairs`` its reviews and ``new`` those that are not fixed."""

    findings: Findings
    answer: Answer
    rules: PlainRules
    case: Case
    status: str
    pairs: list[Pair]
    new: tuple[Pair, ...]

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

    def purchase(self) -> None:
        """Compare the gains of the reviews with what they are said to buy."""
        if self.answer.content.get("purchase") is None:
            return
        gains = [gain for gain in self.answer.rows("reviews", "gain?") if gain is not None]
        before, after = (self.answer.get(f"purchase.{key}") for key in ("before", "after"))
        words = "purchase: the gains of the reviews do not sum to what they are said to buy"
        self.findings.expect(is_same(before - sum(gains), after, 1e-6), words)
        self.findings.check("purchase: the gains of the reviews sum to what they are said to buy")

    def counts(self) -> None:
        """Recompute counts, costs, affinities and loads."""
        findings = self.findings
        rules = self.rules
        pairs = self.pairs
        findings.value("count", len(pairs))
        costs = [rules.cost_of(pair) for pair in pairs]
        worth = [rules.worth_of(pair) for pair in pairs]
        claimed = self.answer.rows("reviews", "cost affinity?")
        for place, (claims, cost, affinity) in enumerate(zip(claimed, costs, worth, strict=True)):
            findings.same(f"reviews[{place}].cost", claims[0], cost)
            findings.same(f"reviews[{place}].affinity", claims[1], affinity)
        findings.value("cost", float(sum(costs)))
        findings.value("affinity", None if rules.best is None else float(sum(value or 0.0 for value in worth)))
        most = max(Counter(reviewer for reviewer, _ in pairs).values(), default=0)
        findings.value("largest_load", most)
        # Earlier versions lack the bound on the largest load.
        least = self.answer.content.get("largest_load_lower_bound")
        if least and findings.expect(
            least <= most, f"largest_load_lower_bound: claims {least}, and nobody gets more than {most}"
        ):
            self._least_load(least)
        findings.check("count, cost, affinity and largest_load, recomputed")

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

    def panels(self) -> None:
        """Count the papers on which each rule on panels holds; without a plan there are none."""
        if "rules" not in self.answer.content:
            return
        rules = self.rules
        panels = panels_of(rules.table.with_pairs(self.pairs).score)
        counts = []
        for rule in {rule.text: rule for rule in rules.panels}.values() if self.status != "infeasible" else ():
            broken = [item for item in rules.table.items if rule.broken(panels.get(item, ()))]
            counts.append((rule.text, len(rules.table.items) - len(broken), tuple(broken)))
        claimed = self.answer.rows("rules", "option papers broken")
        self.findings.same_rows("rules", [(*row, tuple(map(str, broken))) for *row, broken in claimed], counts)
        if counts:
            self.findings.check("rules: the papers on which each holds")

    def letters(self) -> None:
        """Check that each invited reviewer gets one letter, which names them and their papers."""
        papers = panels_of((item, reviewer) for reviewer, item in self.new)
        letters = self.answer.rows("mail", "reviewer text")
        self.findings.same_rows("mail", [reviewer for reviewer, _ in letters], papers)
        for reviewer, text in letters:
            lacks = [name for name in (reviewer, *papers.get(reviewer, ())) if name not in text]
            self.findings.expect(not lacks, f"mail, {reviewer}: the letter does not name {shown(tuple(lacks))}")

    def short(self) -> None:
        """Count the reviews that papers lack in a best effort, and test whether fewer could be missing."""
        findings = self.findings
        answer = self.answer
        rules = self.rules
        if self.status != "best_effort":
            if "short" in answer.content:
                findings.same("short", len(answer.get("short")), 0)
                findings.value("recruit", None)
            return
        lacks = rules.lacks(self.pairs)
        findings.rows("short", "item missing", lacks.items())
        if answer.get("recruit", null=True) is not None:
            # Reviewers to recruit: enough for what papers lack, and for their own loads.
            papers = dict(answer.rows("recruit.papers", "item reviews"))
            findings.value("recruit.reviews", sum(papers.values()))
            too_few = [item for item, number in lacks.items() if papers.get(item, 0) < number]
            findings.expect(not too_few, f"recruit.papers: fewer reviews than {', '.join(too_few[:3])} lack")
            number = answer.get("recruit.reviewers")
            load = answer.get("recruit.load")
            enough = sum(papers.values()) <= number * load and max(papers.values(), default=0) <= number
            findings.expect(enough, f"recruit: {number} reviewers of {load} reviews each cannot write them")
        findings.check("short and recruit: what papers lack with this part of a plan")
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
            needed = sum(before.values()) - most_met(before, (p for p in self.case.pairs if p[1] in before), loads)
            words = f"short: {sum(lacks.values())} are missing, and {needed} need be"
            if findings.expect(sum(lacks.values()) <= needed, words):
                findings.check("that no fewer reviews need be missing")

    def merges(self) -> None:
        """Replay the certificate; a plan that reaches ``double`` must have one that covers all papers."""
        merges = self.answer.get("merges")
        items = self.rules.table.items
        wrong, covered = self.case.replayed(self.pairs, merges)
        words = f"merges[{wrong}]: does not join two groups by two papers that both cover"
        if not self.findings.expect(wrong < 0, words):
            return
        if self.status in REACHING and self.case.target == Double.name:
            words = f"merges: lead to a group of {len(covered)} of {len(items)} papers"
            self.findings.expect(len(covered) == len(items), words)
        if merges:
            self.findings.check(f"{len(merges)} merges, replayed")

    def bounds(self) -> None:
        """Check each lower bound, and the number of reviews by the largest."""
        findings = self.findings
        count = self.answer.get("count")
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
            unproved += [f"{value} ({kind})"] if unchecked else []
        if unproved:
            words = f"bounds {', '.join(unproved)}: the proof takes a search, which is not repeated"
            findings.not_checked(words, decisive=True)
        if len(unproved) < len(bounds):
            findings.check("the other bounds, recomputed" if unproved else "all bounds, recomputed")

    def steps(self) -> None:
        """Compare the largest group after each review, and before and after a partial plan."""
        findings = self.findings
        answer = self.answer
        pairs = self.pairs
        if (len(pairs) + 2) * (len(self.case.base.score) + len(pairs)) > MOST_STEPS:
            findings.not_checked("covers, groups: the table is too large to be checked after each review")
            return
        steps = [step for n in range(len(pairs) + 1) for step in self._reach(pairs[:n])]
        if not steps:
            findings.not_checked("covers, groups, largest_group: blocks are not recomputed")
            return
        for place, (claimed, actual) in enumerate(zip(answer.rows("reviews", "covers groups"), steps[1:], strict=True)):
            findings.same(f"reviews[{place}]: covers, groups", claimed, actual)
        if findings.present("largest_group", self.status in PARTIAL):
            findings.value("largest_group.before", steps[0][0])
            findings.value("largest_group.after", steps[-1][0])
        findings.check("the number of papers that the largest group has after each review, and the number of groups")

    def _reach(self, pairs: list[Pair]) -> list[tuple[int, int]]:
        """Return the papers of the largest group at the target, and the number of groups; empty if in blocks."""
        level = level_named(self.case.target)
        table = self.rules.after(pairs)
        if not level.grouped:
            return []
        if level.shared == 1:
            classes = pieces(table.rows(), table.items)
            sizes = [*Counter(classes.of((1, item)) for item in table.items).values()]
        else:
            components = groups(table.rows(), table.items, table.score if self.rules.use_scores else None)
            sizes = [len(group.items) for group in components if group.items]
        return [(max(sizes, default=0), len(sizes))]

    def none(self) -> None:
        """Search for a plan where none is claimed to exist."""
        findings = self.findings
        rules = self.rules
        case = self.case
        beyond = rules.max_reviews is not None and len(rules.fixed) > rules.max_reviews
        if beyond or rules.exceeded(rules.fixed) is not None:
            return
        possible = tuple(case.pairs)
        every = (*rules.fixed, *possible)
        try:
            if not holds(case.target, rules.after(every), use_scores=rules.use_scores):
                findings.check("that even all allowed reviews together do not reach the level")
                return
            affordable = rules.max_reviews is None or len(every) <= rules.max_reviews
            if affordable and not rules.panels and rules.exceeded(every) is None and case.reached(possible):
                findings.expect(False, f"status infeasible: all {len(possible)} reviews that are allowed are a plan")
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
        own = sum(map(self.rules.cost_of, self.new))
        most = math.inf if self.rules.best is None else max(Counter(who for who, _ in self.pairs).values())
        fixed = [who for who, _ in self.rules.fixed]
        try:
            for pairs in self.case.plans(len(self.new)):
                cost = sum(map(self.rules.cost_of, pairs))
                load = max(Counter([*fixed, *(who for who, _ in pairs)]).values(), default=0)
                if load <= most and len(pairs) == len(self.new) and cost < own and not is_same(cost, own):
                    words = f"status optimal: as many reviews cost {cost:.9g}, these {own:.9g}"
                    self.findings.expect(False, words)
                    return
        except TooLarge:
            words = "status optimal: that no plan of as many reviews is cheaper is not checked"
            self.findings.not_checked(words, decisive=True)
            return
        self.findings.check("that no plan of as many reviews is cheaper")


def _table(findings: Findings, case: Case, pairs: list[Pair], new: tuple[Pair, ...]) -> None:
    """Check the CSV of a plan against the rules and the level."""
    answer = findings.answer
    rules = case.rules
    rows: list[dict[str, Any]] = answer.content["rows"]
    check_rules(findings, rules, pairs)
    column = "cost" if rules.best is None else "affinity"
    for number, (row, pair) in enumerate(zip(rows, pairs, strict=True), 2):
        if column not in row:
            message = f"{answer.path}: expected a column {column}, found none; give the options that the plan had"
            raise InputError(message)
        actual = rules.cost_of(pair) if rules.best is None else rules.worth_of(pair)
        findings.same(f"row {number}, {column}", row[column], actual)
    if findings.wrong:
        return
    level = f"the level {case.target}"
    try:
        findings.expect(case.reached(new), f"{level}, or what every paper needs, is not reached with these reviews")
        findings.check(level)
    except TooLarge as error:
        findings.not_checked(f"{level}: {error}", decisive=True)
    findings.not_checked("that fewer reviews would not do: only --json has bounds")
