"""What ``plan`` answers: reviews that are new and allowed, the level that they reach, and bounds."""

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
#: Reviews of the tables after each review of a plan, in all, up to which they are all looked at.
MOST_STEPS = 2_000_000
#: Pairs of a paper that needs reviews and a reviewer up to which smaller loads are tried.
MOST_LOADS = 200_000


def verify_plan(answer: Answer, rules: PlainRules, target: str, *, named: bool) -> Findings:
    """Hold a plan, from JSON or CSV, to its rules, and count what it says of itself.

    Parameters
    ----------
    answer, rules
        The plan, and what it was to respect.
    target
        The level that was asked for.
    named
        Whether somebody asked for it, or it is what ``plan`` does where nobody says anything.
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
    if status not in ("infeasible",):
        check_rules(findings, rules, pairs)
    _panels(findings, answer, rules, pairs if status != "infeasible" else None)
    asked = answer.get("target", "a text", null=True)
    if status == "chosen":
        findings.same("target", asked, None)
        findings.same("lower_bound", answer.get("lower_bound", "a whole number"), 0)
        _letters(findings, answer, [pair for pair in pairs if pair not in set(rules.fixed)])
        findings.trust("status chosen: that these reviews gain most is not computed again", decisive=True)
        return findings
    if named:
        findings.same("target", asked, target)
    if asked not in ALL_NAMES:
        findings.expect(False, f"target: there is no level {asked!r}")
    if not findings.wrong:
        _claims(findings, answer, Case(rules, asked), status, pairs)
        _letters(findings, answer, [pair for pair in pairs if pair not in set(rules.fixed)])
    return findings


def _claims(findings: Findings, answer: Answer, case: Case, status: str, pairs: list[Pair]) -> None:
    """Look at the level, the certificate, the bounds and the status."""
    fixed = set(case.rules.fixed)
    new = tuple(pair for pair in pairs if pair not in fixed)
    try:
        if status in REACHING:
            words = f"status {status}: the level {case.target}, or what every paper needs, is not reached"
            findings.expect(case.reached(new), words)
        elif status in PARTIAL:
            findings.expect(not case.reached(new), f"status {status}: the level {case.target} is reached")
        findings.check(f"whether the level {case.target} is reached")
    except TooLarge as error:
        findings.trust(f"target {case.target}: {error}", decisive=True)
    _merges(findings, answer, case, status, pairs)
    _bounds(findings, answer, case, status)
    _short(findings, answer, case, status, pairs)
    _reach(findings, answer, case, status, pairs)
    if status == "infeasible":
        findings.expect(not pairs, "status infeasible: there are reviews")
        _none(findings, case)
    if status == "optimal":
        _cheapest(findings, case, new)
    if answer.found.get("purchase") is not None:
        _purchase(findings, answer)


def _counts(findings: Findings, answer: Answer, rules: PlainRules, pairs: list[Pair]) -> None:
    """Add up reviews, costs, affinities and loads."""
    findings.same("count", answer.get("count", "a whole number"), len(pairs))
    costs = [rules.cost_of(pair) for pair in pairs]
    said = answer.rows("reviews", {"cost": "a number", "affinity": "a number?"})
    for place, ((cost, affinity), pair, found) in enumerate(zip(said, pairs, costs, strict=True)):
        findings.same(f"reviews[{place}].cost", cost, found)
        worth = None if rules.best is None else rules.value.get(pair, rules.default)
        findings.same(f"reviews[{place}].affinity", affinity, worth)
    findings.same("cost", answer.get("cost", "a number"), float(sum(costs)))
    total = None if rules.best is None else float(sum(rules.value.get(pair, rules.default) for pair in pairs))
    findings.same("affinity", answer.get("affinity", "a number", null=True), total)
    most = max(Counter(reviewer for reviewer, _ in pairs).values(), default=0)
    findings.same("largest_load", answer.get("largest_load", "a whole number"), most)
    _least_load(findings, answer, rules, pairs, most)
    findings.check("count, cost, affinity and largest_load, added up again")


def _panels(findings: Findings, answer: Answer, rules: PlainRules, pairs: list[Pair] | None) -> None:
    """Count the papers on which each rule on panels holds; without a plan nothing is said of them."""
    if "rules" not in answer.found:
        return
    panels = panels_of(rules.table.with_pairs(pairs or ()).score)
    found = []
    for rule in {rule.text: rule for rule in rules.panels}.values() if pairs is not None else ():
        broken = [item for item in rules.table.items if rule.broken(panels.get(item, ()))]
        found.append((rule.text, len(rules.table.items) - len(broken), tuple(broken)))
    said = answer.rows("rules", {"option": "a text", "papers": "a whole number"})
    names = [tuple(answer.names("broken", within=row)) for row in answer.get("rules", "a list")]
    findings.same_rows("rules", [(*row, broken) for row, broken in zip(said, names, strict=True)], found)
    if found:
        findings.check("rules: the papers on which each holds")


def _letters(findings: Findings, answer: Answer, pairs: list[Pair]) -> None:
    """Look whether everybody who is asked for reviews gets one letter, which names them and their papers."""
    papers: dict[str, list[str]] = {}
    for reviewer, item in pairs:
        papers.setdefault(reviewer, []).append(item)
    letters = answer.rows("mail", {"reviewer": "a name", "text": "a text"})
    findings.same_rows("mail", [reviewer for reviewer, _ in letters], papers)
    for reviewer, text in letters:
        lacks = [name for name in (reviewer, *papers.get(reviewer, ())) if name not in text]
        findings.expect(not lacks, f"mail, {reviewer}: the letter does not name {shown(tuple(lacks))}")


def _least_load(findings: Findings, answer: Answer, rules: PlainRules, pairs: list[Pair], most: int) -> None:
    """Try to do with a smaller largest load than is said to be the least; older answers say nothing of it."""
    if "largest_load_lower_bound" not in answer.found:
        return
    least = answer.get("largest_load_lower_bound", "a whole number", null=True)
    if not least or not findings.expect(
        least <= most, f"largest_load_lower_bound: says {least}, and nobody gets more than {most}"
    ):
        return
    # One review less than said: can as many be given, and every paper get what it needs?
    fixed = Counter(reviewer for reviewer, _ in rules.fixed)
    asked = {who for who in rules.table.reviewers if rules.willing is None or who in rules.willing or fixed[who]}
    room = {who: rules.spare.get(who, len(pairs)) if who in asked else 0 for who in rules.table.reviewers}
    loads = {who: (0, max(min(room[who], least - 1) - fixed[who], 0)) for who in room}
    new = len(pairs) - len(rules.fixed)
    if max(fixed.values(), default=0) >= least or sum(high for _, high in loads.values()) < new:
        findings.check("largest_load_lower_bound: with smaller loads there are fewer reviews")
        return
    needs = rules.needs(rules.table.with_pairs(rules.fixed))
    if sum(map(bool, needs.values())) * len(loads) > MOST_LOADS:
        findings.trust("largest_load_lower_bound: there are too many pairs to try smaller loads")
    elif not can_be_met(needs, rules.open_pairs(), loads):
        findings.check("largest_load_lower_bound: with smaller loads papers lack what they need")
    elif rules.value or rules.panels:
        findings.trust("largest_load_lower_bound: that smaller loads cost more, or break rules, is not searched again")
    else:
        findings.expect(False, f"largest_load_lower_bound: says {least}, and {least - 1} would do for what papers need")


def _short(findings: Findings, answer: Answer, case: Case, status: str, pairs: list[Pair]) -> None:
    """Count what papers lack in a best effort, and look whether fewer reviews need be missing."""
    if status != "best_effort" and "short" not in answer.found:
        return
    said = dict(answer.rows("short", {"item": "a name", "missing": "a whole number"}))
    recruit = answer.get("recruit", "an object", null=True)
    if status != "best_effort":
        findings.same("short", len(said), 0)
        findings.same("recruit", recruit is not None, False)
        return
    rules, all_pairs = case.rules, [*dict.fromkeys((*case.rules.fixed, *pairs))]
    lacks = {item: number for item, number in rules.needs(rules.table.with_pairs(all_pairs)).items() if number}
    findings.same_rows("short", said.items(), lacks.items())
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
        words = "status best_effort: that no more could be given under these rules is not searched again"
        findings.trust(words, decisive=True)
    elif sum(map(bool, before.values())) * len(rules.table.reviewers) > MOST_LOADS:
        words = "status best_effort: there are too many pairs to look whether more could be given"
        findings.trust(words, decisive=True)
    else:
        fixed = Counter(reviewer for reviewer, _ in rules.fixed)
        room = {who: rules.spare.get(who, len(before)) - fixed[who] for who in rules.table.reviewers}
        most = most_met(before, rules.open_pairs(), {who: (0, left) for who, left in room.items()})
        words = f"short: {sum(lacks.values())} are missing, and {sum(before.values()) - most} need be"
        if findings.expect(sum(lacks.values()) <= sum(before.values()) - most, words):
            findings.check("that no fewer reviews need be missing")


def _merges(findings: Findings, answer: Answer, case: Case, status: str, pairs: list[Pair]) -> None:
    """Replay the certificate; a plan that reaches the level ``double`` must have one that covers all papers."""
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
    trusted = []
    for place, (value, kind) in enumerate(bounds):
        try:
            wrong, on_trust = check_bound(case, value, kind)
        except TooLarge:
            wrong, on_trust = None, True
        findings.expect(wrong is None, f"bounds[{place}]: {wrong}")
        trusted += [f"{value} ({kind})"] if on_trust else []
    if trusted:
        words = f"bounds {', '.join(trusted)}: the proof takes a search that is not done again"
        findings.trust(words, decisive=True)
    if len(trusted) < len(bounds):
        findings.check("the other bounds, counted again" if trusted else "all bounds, counted again")


def reach(target: str, table: Table, *, use_scores: bool) -> tuple[int, int] | None:
    """Return the papers of the largest group at the level of a target, and how many groups there are.

    None where only blocks could tell.
    """
    level = level_named(target)
    if not level.grouped:
        return None
    if level.shared == 1:
        joined = pieces(table.rows(), table.items)
        sizes = list(Counter(joined.of((1, item)) for item in table.items).values())
    else:
        found = groups(table.rows(), table.items, table.score if use_scores else None)
        sizes = [len(group.items) for group in found if group.items]
    return max(sizes, default=0), len(sizes)


def _reach(findings: Findings, answer: Answer, case: Case, status: str, pairs: list[Pair]) -> None:
    """Compare how far each review gets, and how far a partial plan gets."""
    if (len(pairs) + 2) * (len(case.base.score) + len(pairs)) > MOST_STEPS:
        findings.trust("covers, groups: the table is too large to be looked at after each review")
        return
    rules, scores = case.rules, case.rules.use_scores
    every = [reach(case.target, rules.after(pairs[:n]), use_scores=scores) for n in range(len(pairs) + 1)]
    steps = [step for step in every if step is not None]
    if len(steps) < len(every):
        findings.trust("covers, groups, largest_group: blocks are not found again")
        return
    kinds = {"covers": "a whole number", "groups": "a whole number"}
    for place, (said, found) in enumerate(zip(answer.rows("reviews", kinds), steps[1:], strict=True)):
        findings.same(f"reviews[{place}]: covers, groups", said, found)
    said = answer.get("largest_group", "an object", null=True)
    if findings.same("largest_group", said is not None, status in PARTIAL) and said is not None:
        for key, step in (("before", steps[0]), ("after", steps[-1])):
            findings.same(f"largest_group.{key}", answer.get(key, "a whole number", within=said), step[0])
    findings.check("how many papers the largest group has after each review, and how many groups there are")


def _none(findings: Findings, case: Case) -> None:
    """Look for a plan where there is said to be none."""
    rules = case.rules
    if rules.max_reviews is not None and len(rules.fixed) > rules.max_reviews:
        return
    if rules.exceeded(rules.fixed) is not None:
        return
    every = tuple(rules.open_pairs())
    try:
        if not holds(case.target, rules.after((*rules.fixed, *every)), use_scores=rules.use_scores):
            findings.check("that even all allowed reviews together do not reach the level")
            return
        few = rules.max_reviews is None or len(rules.fixed) + len(every) <= rules.max_reviews
        if few and not rules.panels and rules.exceeded((*rules.fixed, *every)) is None and case.reached(every):
            findings.expect(False, f"status infeasible: all {len(every)} reviews that are allowed are a plan")
            return
        found = next(case.plans(len(rules.table.items) ** 2), None)
    except (TooMany, TooLarge):
        words = "status infeasible: that there is no plan takes a search that is not done again"
        findings.trust(words, decisive=True)
        return
    words = "" if found is None else ", ".join(f"{reviewer} on {item}" for reviewer, item in found)
    if findings.expect(found is None, f"status infeasible: a plan is {words or 'no review at all'}"):
        findings.check("that none of all sets of reviews is a plan")


def _cheapest(findings: Findings, case: Case, new: tuple[Pair, ...]) -> None:
    """Look for a cheaper plan of as many reviews, where costs differ."""
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
        words = "status optimal: that no plan of as many reviews is cheaper is not searched again"
        findings.trust(words, decisive=True)
        return
    findings.check("that no plan of as many reviews is cheaper")


def _purchase(findings: Findings, answer: Answer) -> None:
    gains = [gain for (gain,) in answer.rows("reviews", {"gain": "a number?"}) if gain is not None]
    before, after = (answer.get(f"purchase.{key}", "a number") for key in ("before", "after"))
    words = "purchase: the gains of the reviews do not sum to what they are said to buy"
    findings.expect(is_same(before - sum(gains), after, 1e-6), words)
    findings.check("purchase: the gains of the reviews sum to what they are said to buy")


def _table(findings: Findings, answer: Answer, rules: PlainRules, target: str) -> None:
    """Hold the CSV of a plan to the rules, and look at the level."""
    rows: list[dict[str, Any]] = answer.found["rows"]
    pairs = [(row["reviewer"], row["item"]) for row in rows]
    check_rules(findings, rules, pairs)
    column = "cost" if rules.best is None else "affinity"
    for number, (row, pair) in enumerate(zip(rows, pairs, strict=True), 2):
        if column not in row:
            message = f"{answer.path}: expected a column {column}, found none; give the options that the plan had"
            raise InputError(message)
        found = rules.cost_of(pair) if rules.best is None else rules.value.get(pair, rules.default)
        findings.same(f"row {number}, {column}", number_in(answer.path, number, row[column]), found)
    if findings.wrong:
        return
    fixed = set(rules.fixed)
    try:
        reached = Case(rules, target).reached(tuple(pair for pair in pairs if pair not in fixed))
        findings.expect(reached, f"the level {target}, or what every paper needs, is not reached with these reviews")
        findings.check(f"the level {target}")
    except TooLarge as error:
        findings.trust(f"the level {target}: {error}", decisive=True)
    findings.trust("that fewer reviews would not do: the CSV says nothing of it, what --json prints does")
