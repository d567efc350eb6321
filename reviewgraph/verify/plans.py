"""Answers of ``plan``: rules, counts, costs, the level reached, certificates and bounds, recomputed.

Small cases are decided by enumerating plans. Not checked: bounds whose proof takes a search, cheapest and missing plans
of large tables, components by blocks, and the gains of a purchase, of which only the sum is recomputed.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from reviewgraph._base.errors import InputError
from reviewgraph.graph.levels import ALL_NAMES, Double, level_named
from reviewgraph.verify.answers import Findings, is_same, number_in, shown
from reviewgraph.verify.bounds import Case, TooMany, check_bound
from reviewgraph.verify.graphs import groups, pieces, replayed
from reviewgraph.verify.levels import TooLarge, can_be_met, holds, most_met
from reviewgraph.verify.rules import check_rules, panels_of

if TYPE_CHECKING:
    from reviewgraph.verify.answers import Answer
    from reviewgraph.verify.graphs import Pair, Table
    from reviewgraph.verify.rules import PlainRules

REACHING = {"optimal", "feasible", "extended"}
PARTIAL = {"budget_exhausted", "level_missed", "best_effort"}
OTHER = {"infeasible", "chosen"}
#: Reviews of the tables after each step of a plan, in all, up to which every step is recomputed.
MOST_STEPS = 2_000_000
#: Pairs of a reviewer and a paper in need up to which smaller loads are tried.
MOST_LOADS = 200_000


def verify_plan(answer: Answer, rules: PlainRules, target: str, *, named: bool) -> Findings:
    """Check a plan, from JSON or CSV, against its rules and its own claims.

    ``target`` is the level it is for, ``named`` whether that was passed or is the default of ``plan``.
    """
    findings = Findings()
    if answer.is_table:
        _table(findings, answer, rules, target)
        return findings
    status = answer.get("status", "a text")
    pairs = answer.rows("reviews", {"reviewer": "a name", "item": "a name"})
    if not findings.expect(status in REACHING | PARTIAL | OTHER, f"status: there is none called {status!r}"):
        return findings
    _counts(findings, answer, rules, pairs)
    infeasible = status == "infeasible"
    if not infeasible:
        check_rules(findings, rules, pairs)
    _panels(findings, answer, rules, None if infeasible else pairs)
    aim = answer.get("target", "a text", null=True)
    fixed = set(rules.fixed)
    new = tuple(pair for pair in pairs if pair not in fixed)
    if status == "chosen":
        findings.same("target", aim, None)
        findings.same("lower_bound", answer.get("lower_bound", "a whole number"), 0)
        _letters(findings, answer, new)
        findings.not_checked("status chosen: that these reviews gain most is not recomputed", decisive=True)
        return findings
    if named:
        findings.same("target", aim, target)
    if aim not in ALL_NAMES:
        findings.expect(False, f"target: there is no level {aim!r}")
    if not findings.wrong:
        _claims(findings, answer, Case(rules, aim), status, pairs, new)
        _letters(findings, answer, new)
    return findings


def _claims(
    findings: Findings, answer: Answer, case: Case, status: str, pairs: list[Pair], new: tuple[Pair, ...]
) -> None:
    """Check the level, the certificate, the bounds and the status."""
    try:
        if status in REACHING:
            words = f"status {status}: the level {case.target}, or what every paper needs, is not reached"
            findings.expect(case.reached(new), words)
        elif status in PARTIAL:
            findings.expect(not case.reached(new), f"status {status}: the level {case.target} is reached")
        findings.check(f"whether the level {case.target} is reached")
    except TooLarge as error:
        findings.not_checked(f"target {case.target}: {error}", decisive=True)
    _merges(findings, answer, case, status, pairs)
    _bounds(findings, answer, case, status)
    _short(findings, answer, case, status, pairs)
    _reach(findings, answer, case, status, pairs)
    if status == "infeasible":
        findings.expect(not pairs, "status infeasible: there are reviews")
        _none(findings, case)
    if status == "optimal":
        _cheapest(findings, case, new)
    if answer.content.get("purchase") is not None:
        gains = [gain for (gain,) in answer.rows("reviews", {"gain": "a number?"}) if gain is not None]
        before, after = (answer.get(f"purchase.{key}", "a number") for key in ("before", "after"))
        words = "purchase: the gains of the reviews do not sum to what they are said to buy"
        findings.expect(is_same(before - sum(gains), after, 1e-6), words)
        findings.check("purchase: the gains of the reviews sum to what they are said to buy")


def _counts(findings: Findings, answer: Answer, rules: PlainRules, pairs: list[Pair]) -> None:
    """Recompute counts, costs, affinities and loads."""
    findings.same("count", answer.get("count", "a whole number"), len(pairs))
    costs = [rules.cost_of(pair) for pair in pairs]
    claimed = answer.rows("reviews", {"cost": "a number", "affinity": "a number?"})
    for place, ((cost, affinity), pair, actual) in enumerate(zip(claimed, pairs, costs, strict=True)):
        findings.same(f"reviews[{place}].cost", cost, actual)
        worth = None if rules.best is None else rules.value.get(pair, rules.default)
        findings.same(f"reviews[{place}].affinity", affinity, worth)
    findings.same("cost", answer.get("cost", "a number"), float(sum(costs)))
    total = None if rules.best is None else float(sum(rules.value.get(pair, rules.default) for pair in pairs))
    findings.same("affinity", answer.get("affinity", "a number", null=True), total)
    most = max(Counter(reviewer for reviewer, _ in pairs).values(), default=0)
    findings.same("largest_load", answer.get("largest_load", "a whole number"), most)
    _least_load(findings, answer, rules, pairs, most)
    findings.check("count, cost, affinity and largest_load, recomputed")


def _panels(findings: Findings, answer: Answer, rules: PlainRules, pairs: list[Pair] | None) -> None:
    """Count the papers on which each rule on panels holds; without a plan there are none."""
    if "rules" not in answer.content:
        return
    panels = panels_of(rules.table.with_pairs(pairs or ()).score)
    counts = []
    for rule in {rule.text: rule for rule in rules.panels}.values() if pairs is not None else ():
        broken = [item for item in rules.table.items if rule.broken(panels.get(item, ()))]
        counts.append((rule.text, len(rules.table.items) - len(broken), tuple(broken)))
    claimed = answer.rows("rules", {"option": "a text", "papers": "a whole number"})
    names = [tuple(answer.names("broken", within=row)) for row in answer.get("rules", "a list")]
    findings.same_rows("rules", [(*row, broken) for row, broken in zip(claimed, names, strict=True)], counts)
    if counts:
        findings.check("rules: the papers on which each holds")


def _letters(findings: Findings, answer: Answer, pairs: tuple[Pair, ...]) -> None:
    """Check that each invited reviewer gets one letter, which names them and their papers."""
    papers: dict[str, list[str]] = {}
    for reviewer, item in pairs:
        papers.setdefault(reviewer, []).append(item)
    letters = answer.rows("mail", {"reviewer": "a name", "text": "a text"})
    findings.same_rows("mail", [reviewer for reviewer, _ in letters], papers)
    for reviewer, text in letters:
        lacks = [name for name in (reviewer, *papers.get(reviewer, ())) if name not in text]
        findings.expect(not lacks, f"mail, {reviewer}: the letter does not name {shown(tuple(lacks))}")


def _least_load(findings: Findings, answer: Answer, rules: PlainRules, pairs: list[Pair], most: int) -> None:
    """Try a smaller largest load than the one called least; earlier versions lack the key."""
    if "largest_load_lower_bound" not in answer.content:
        return
    least = answer.get("largest_load_lower_bound", "a whole number", null=True)
    if not least or not findings.expect(
        least <= most, f"largest_load_lower_bound: says {least}, and nobody gets more than {most}"
    ):
        return
    # One review less than said: can as many be given, and every paper get what it needs?
    fixed = Counter(reviewer for reviewer, _ in rules.fixed)
    available = {who for who in rules.table.reviewers if rules.willing is None or who in rules.willing or fixed[who]}
    room = {who: rules.spare.get(who, len(pairs)) if who in available else 0 for who in rules.table.reviewers}
    loads = {who: (0, max(min(room[who], least - 1) - fixed[who], 0)) for who in room}
    new = len(pairs) - len(rules.fixed)
    if max(fixed.values(), default=0) >= least or sum(high for _, high in loads.values()) < new:
        findings.check("largest_load_lower_bound: with smaller loads there are fewer reviews")
        return
    needs = rules.needs(rules.table.with_pairs(rules.fixed))
    if sum(map(bool, needs.values())) * len(loads) > MOST_LOADS:
        findings.not_checked("largest_load_lower_bound: there are too many pairs to try smaller loads")
    elif not can_be_met(needs, rules.open_pairs(), loads):
        findings.check("largest_load_lower_bound: with smaller loads papers lack what they need")
    elif rules.value or rules.panels:
        findings.not_checked("largest_load_lower_bound: that smaller loads cost more, or break rules, is not checked")
    else:
        findings.expect(False, f"largest_load_lower_bound: says {least}, and {least - 1} would do for what papers need")


def _short(findings: Findings, answer: Answer, case: Case, status: str, pairs: list[Pair]) -> None:
    """Count the reviews that papers lack in a best effort, and test whether fewer could be missing."""
    if status != "best_effort" and "short" not in answer.content:
        return
    claimed = dict(answer.rows("short", {"item": "a name", "missing": "a whole number"}))
    recruit = answer.get("recruit", "an object", null=True)
    if status != "best_effort":
        findings.same("short", len(claimed), 0)
        findings.same("recruit", recruit is not None, False)
        return
    rules, all_pairs = case.rules, [*dict.fromkeys((*case.rules.fixed, *pairs))]
    lacks = {item: number for item, number in rules.needs(rules.table.with_pairs(all_pairs)).items() if number}
    findings.same_rows("short", claimed.items(), lacks.items())
    if recruit is not None:
        papers = dict(answer.rows("papers", {"item": "a name", "reviews": "a whole number"}, within=recruit))
        findings.same("recruit.reviews", answer.get("reviews", "a whole number", within=recruit), sum(papers.values()))
        too_few = [item for item, number in lacks.items() if papers.get(item, 0) < number]
        findings.expect(not too_few, f"recruit.papers: fewer reviews than {', '.join(too_few[:3])} lack")
        number, load = (answer.get(key, "a whole number", within=recruit) for key in ("reviewers", "load"))
        enough = sum(papers.values()) <= number * load and max(papers.values(), default=0) <= number
        findings.expect(enough, f"recruit: {number} reviewers of {load} reviews each cannot write them")
    findings.check("short and recruit: what papers lack with this part of a plan")
    before = rules.needs(rules.table.with_pairs(rules.fixed))
    if rules.panels or rules.max_per_item is not None or rules.max_reviews is not None:
        words = "status best_effort: that no more could be given under these rules is not checked"
        findings.not_checked(words, decisive=True)
    elif sum(map(bool, before.values())) * len(rules.table.reviewers) > MOST_LOADS:
        words = "status best_effort: there are too many pairs to test whether more could be given"
        findings.not_checked(words, decisive=True)
    else:
        fixed = Counter(reviewer for reviewer, _ in rules.fixed)
        room = {who: rules.spare.get(who, len(before)) - fixed[who] for who in rules.table.reviewers}
        most = most_met(before, rules.open_pairs(), {who: (0, left) for who, left in room.items()})
        words = f"short: {sum(lacks.values())} are missing, and {sum(before.values()) - most} need be"
        if findings.expect(sum(lacks.values()) <= sum(before.values()) - most, words):
            findings.check("that no fewer reviews need be missing")


def _merges(findings: Findings, answer: Answer, case: Case, status: str, pairs: list[Pair]) -> None:
    """Replay the certificate; a plan that reaches ``double`` must have one that covers all papers."""
    merges = answer.get("merges", "a list")
    table, names = case.rules.after(pairs), (case.rules.table.reviewers, case.rules.table.items)
    limits = [len(names[0])] * 2 + [len(names[1])] * 2
    rows = []
    for place, row in enumerate(merges):
        whole = isinstance(row, list) and len(row) == 4 and all(type(code) is int for code in row)
        if not findings.expect(
            whole and all(0 <= code < limit for code, limit in zip(row, limits, strict=True)),
            f"merges[{place}]: names reviewers or papers that are not there",
        ):
            return
        rows.append((names[0][row[0]], names[0][row[1]], names[1][row[2]], names[1][row[3]]))
    wrong, covered = replayed(table.rows(), table.items, rows, table.score if case.rules.use_scores else None)
    if not findings.expect(wrong < 0, f"merges[{wrong}]: does not join two groups by two papers that both cover"):
        return
    if status in REACHING and case.target == Double.name:
        words = f"merges: lead to a group of {len(covered)} of {len(table.items)} papers"
        findings.expect(len(covered) == len(table.items), words)
    if merges:
        findings.check(f"{len(merges)} merges, replayed")


def _bounds(findings: Findings, answer: Answer, case: Case, status: str) -> None:
    bounds = answer.rows("bounds", {"value": "a whole number", "kind": "a text"})
    least = answer.get("lower_bound", "a whole number")
    findings.same("lower_bound", least, max((value for value, _ in bounds), default=0))
    count = answer.get("count", "a whole number")
    if status in REACHING:
        findings.expect(count >= least, f"count: {count} reviews are fewer than the lower bound {least}")
    if status == "optimal":
        findings.same("status optimal: count", count, least)
    unproved = []
    for place, (value, kind) in enumerate(bounds):
        try:
            wrong, open_ = check_bound(case, value, kind)
        except TooLarge:
            wrong, open_ = None, True
        findings.expect(wrong is None, f"bounds[{place}]: {wrong}")
        unproved += [f"{value} ({kind})"] if open_ else []
    if unproved:
        words = f"bounds {', '.join(unproved)}: the proof takes a search, which is not repeated"
        findings.not_checked(words, decisive=True)
    if len(unproved) < len(bounds):
        findings.check("the other bounds, recomputed" if unproved else "all bounds, recomputed")


def reach(target: str, table: Table, *, use_scores: bool) -> tuple[int, int] | None:
    """Return the papers of the largest group at the level of a target, and the number of groups.

    None where only blocks could tell.
    """
    level = level_named(target)
    if not level.grouped:
        return None
    if level.shared == 1:
        classes = pieces(table.rows(), table.items)
        sizes = list(Counter(classes.of((1, item)) for item in table.items).values())
    else:
        components = groups(table.rows(), table.items, table.score if use_scores else None)
        sizes = [len(group.items) for group in components if group.items]
    return max(sizes, default=0), len(sizes)


def _reach(findings: Findings, answer: Answer, case: Case, status: str, pairs: list[Pair]) -> None:
    """Compare the largest group after each review, and before and after a partial plan."""
    if (len(pairs) + 2) * (len(case.base.score) + len(pairs)) > MOST_STEPS:
        findings.not_checked("covers, groups: the table is too large to be checked after each review")
        return
    rules, scores = case.rules, case.rules.use_scores
    every = [reach(case.target, rules.after(pairs[:n]), use_scores=scores) for n in range(len(pairs) + 1)]
    steps = [step for step in every if step is not None]
    if len(steps) < len(every):
        findings.not_checked("covers, groups, largest_group: blocks are not recomputed")
        return
    kinds = {"covers": "a whole number", "groups": "a whole number"}
    for place, (claimed, actual) in enumerate(zip(answer.rows("reviews", kinds), steps[1:], strict=True)):
        findings.same(f"reviews[{place}]: covers, groups", claimed, actual)
    claimed = answer.get("largest_group", "an object", null=True)
    if findings.same("largest_group", claimed is not None, status in PARTIAL) and claimed is not None:
        for key, step in (("before", steps[0]), ("after", steps[-1])):
            findings.same(f"largest_group.{key}", answer.get(key, "a whole number", within=claimed), step[0])
    findings.check("the number of papers that the largest group has after each review, and the number of groups")


def _none(findings: Findings, case: Case) -> None:
    """Search for a plan where none is claimed to exist."""
    rules = case.rules
    if rules.max_reviews is not None and len(rules.fixed) > rules.max_reviews:
        return
    if rules.exceeded(rules.fixed) is not None:
        return
    possible = tuple(rules.open_pairs())
    try:
        if not holds(case.target, rules.after((*rules.fixed, *possible)), use_scores=rules.use_scores):
            findings.check("that even all allowed reviews together do not reach the level")
            return
        affordable = rules.max_reviews is None or len(rules.fixed) + len(possible) <= rules.max_reviews
        if (
            affordable
            and not rules.panels
            and rules.exceeded((*rules.fixed, *possible)) is None
            and case.reached(possible)
        ):
            findings.expect(False, f"status infeasible: all {len(possible)} reviews that are allowed are a plan")
            return
        plan = next(case.plans(len(rules.table.items) ** 2), None)
    except (TooMany, TooLarge):
        words = "status infeasible: that there is no plan takes a search, which is not repeated"
        findings.not_checked(words, decisive=True)
        return
    words = "" if plan is None else ", ".join(f"{reviewer} on {item}" for reviewer, item in plan)
    if findings.expect(plan is None, f"status infeasible: a plan is {words or 'no review at all'}"):
        findings.check("that none of all sets of reviews is a plan")


def _cheapest(findings: Findings, case: Case, new: tuple[Pair, ...]) -> None:
    """Search for a cheaper plan of equally many reviews, where costs differ."""
    rules = case.rules
    if not rules.value or len(new) == 0:
        return
    own = sum(map(rules.cost_of, new))
    try:
        for pairs in case.plans(len(new)):
            cost = sum(map(rules.cost_of, pairs))
            if len(pairs) == len(new) and cost < own and not is_same(cost, own):
                findings.expect(False, f"status optimal: as many reviews cost {cost:.9g}, these {own:.9g}")
                return
    except (TooMany, TooLarge):
        words = "status optimal: that no plan of as many reviews is cheaper is not checked"
        findings.not_checked(words, decisive=True)
        return
    findings.check("that no plan of as many reviews is cheaper")


def _table(findings: Findings, answer: Answer, rules: PlainRules, target: str) -> None:
    """Check the CSV of a plan against the rules and the level."""
    rows: list[dict[str, Any]] = answer.content["rows"]
    pairs = [(row["reviewer"], row["item"]) for row in rows]
    check_rules(findings, rules, pairs)
    column = "cost" if rules.best is None else "affinity"
    for number, (row, pair) in enumerate(zip(rows, pairs, strict=True), 2):
        if column not in row:
            message = f"{answer.path}: expected a column {column}, found none; give the options that the plan had"
            raise InputError(message)
        actual = rules.cost_of(pair) if rules.best is None else rules.value.get(pair, rules.default)
        findings.same(f"row {number}, {column}", number_in(answer.path, number, row[column]), actual)
    if findings.wrong:
        return
    fixed = set(rules.fixed)
    try:
        reached = Case(rules, target).reached(tuple(pair for pair in pairs if pair not in fixed))
        findings.expect(reached, f"the level {target}, or what every paper needs, is not reached with these reviews")
        findings.check(f"the level {target}")
    except TooLarge as error:
        findings.not_checked(f"the level {target}: {error}", decisive=True)
    findings.not_checked("that fewer reviews would not do: only --json has bounds")
