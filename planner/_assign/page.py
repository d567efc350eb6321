"""The page of an assignment: verdict, loads, bids, what was asked for; then pictures, rules, losses and tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from planner._assign.assignment import AssignmentStatus, percent_of
from planner._assign.levels import aim_named
from reviewgraph import report
from reviewgraph._base import (
    Clock,
    Column,
    Fact,
    Listed,
    Nouns,
    Page,
    Prose,
    Section,
    Table,
    counted,
    listed,
    natural_key,
    paper_columns,
    percent,
    places,
    ranging,
    snapped,
)

if TYPE_CHECKING:
    from planner._assign.assignment import Assignment, Changes, Fairness, KeptRule, Randomised
    from planner.facts import Pair
    from reviewgraph._base import IntArray, Label, Part
    from reviewgraph.report import Codes


#: Lines of a list that are not folded.
NAMED = 12


def page_of(assignment: Assignment, wishes: str = "Affinity") -> Page:
    """Return the page of an assignment; ``wishes`` is what the numbers of pairs are called."""
    reviews = assignment.reviews
    critical = {"The level depends on": assignment.critical or ()}
    good, verdict, summary = _verdict(assignment)
    sections = [
        Section("loads", "Loads", lambda: report.loads(reviews)),
        Section("affinities", wishes, lambda: _affinities(assignment, wishes)),
        Section("rules", "What was asked for", lambda: [*_lists(_asked(assignment)), *_drawn(assignment.randomised)]),
        Section("losses", "If a reviewer drops out", lambda: _lists(critical)),
        Section("papers", "Papers", lambda: [paper_table(assignment)]),
        Section("reviewers", "Reviewers", lambda: [reviewer_table(assignment)]),
    ]
    return Page(
        "Assignment of reviewers",
        good,
        verdict,
        summary,
        facts=_facts(assignment, wishes) if reviews.n_reviews else [],
        warnings=_warnings(assignment, wishes),
        sections=sections if reviews.n_reviews else [],
        nouns=Nouns(*reviews._nouns),
    )


def _verdict(assignment: Assignment) -> tuple[bool | None, str, str]:
    """Return whether all is well, the verdict, and the rest of its line."""
    aim = aim_named(assignment.target)
    reviews = assignment.reviews
    papers = counted(reviews.n_items, "paper")
    if not reviews.n_reviews:
        if assignment.status.reached:
            return None, "Nothing to assign:", f"the demands of {papers} are 0"
        return False, "No assignment:", assignment.explanation
    number = counted(reviews.n_reviews, "review")
    each = f"{_range(reviews.reviews_per_item)} for {'each of ' if reviews.n_items > 1 else ''}{papers}"
    level = aim.level.words if aim.level else "comparability was not asked for"
    if assignment.shortage is not None:
        level = "not as comparable as asked" if assignment.explanation else level
        whole = f"{reviews.n_reviews:,} of {counted(reviews.n_reviews + assignment.shortage.reviews, 'review')}"
        return False, "Assigned in part:", f"{whole}, {each}, {level}"
    if assignment.status.reached:
        return True, "Assigned:", f"{number}, {each}, {level}"
    missed = "as comparable as asked" if aim.level else "within all rules"
    return False, f"Assigned, but not {missed}:", f"{number}, {each}"


def _range(numbers: IntArray) -> str:
    return ranging(int(numbers.min()), int(numbers.max()))


def _facts(assignment: Assignment, wishes: str) -> list[Fact]:
    gaps = assignment.shortage
    facts: dict[str, str] = {} if gaps is None else gaps.facts()
    facts["Why"] = assignment.why
    facts["Loads"] = _loads(assignment)
    facts[wishes] = _wanted(assignment, wishes)
    if assignment.kept is not None:
        facts["Rules"] = "; ".join(map(_rule, assignment.kept.rules))
    if assignment.fairness is not None:
        facts["Worst paper"] = _fair(assignment.fairness)
    if assignment.changes is not None:
        facts["Changes"] = _changes(assignment.changes)
    if assignment.facts is not None:
        facts["Fixed"] = f"{counted(assignment.facts.kept, 'review is', 'reviews are')} kept and counted"
    critical = assignment.critical
    if critical:
        facts["Unsafe"] = f"the level depends on {counted(len(critical), 'reviewer')} ({listed(critical)})"
    elif critical is not None and not aim_named(assignment.target).outlives:
        facts["Safe"] = "any one reviewer may drop out"
    if (alternates := assignment.alternates) is not None:
        people = counted(alternates.asked, "alternate")
        facts["Alternates"] = f"{people} for every paper, each for anyone on its panel"
        if alternates.missing:
            lack = counted(len(alternates.missing), "paper has", "papers have")
            facts["Alternates"] = f"{lack} fewer than {people} for anyone on the panel"
    if (lottery := assignment.randomised) is not None:
        cap = f"of probability {lottery.max_probability:g} at most"
        certain = f", but for {counted(lottery.certain, 'certain one')}" if lottery.certain else ""
        facts["Lottery"] = f"one draw from {counted(lottery.support, 'pair')}, each {cap}{certain}"
        if (drawn := lottery.listed) is not None and drawn.reached < 1.0:
            facts["Lottery"] += f"; only {percent(drawn.reached)} of the draws have the level and keep all rules"
    # Papers that are hidden are warned of.
    facts["Not counted"] = ", ".join(assignment.reviews.origin._replace(hidden=()).not_counted())
    return [Fact(name, value) for name, value in facts.items() if value]


def _loads(assignment: Assignment) -> str:
    numbers = assignment.loads
    usual = assignment.usual_load
    limit = ""
    if usual is not None:
        higher = f"; {usual.least} would meet the demands" if usual.load > usual.least else ""
        limit = f" of at most {usual.load} (the smallest that works{higher})"
    alike = numbers.min() == numbers.max()
    return f"{_range(numbers)}{limit}{' each' if alike else f', median {np.median(numbers):g}'}"


def _has_wishes(assignment: Assignment) -> bool:
    lottery = assignment.randomised
    expected = lottery is not None and lottery.expected != 0.0
    return expected or assignment.affinity_unconstrained > 0 or bool(assignment.affinities.any())


def _wanted(assignment: Assignment, wishes: str) -> str:
    """Return how far the total is from the best one, and to what it was lost; nothing without any wishes."""
    if not _has_wishes(assignment):
        return ""
    best = assignment.affinity_unconstrained
    level = aim_named(assignment.target).level is not None and not assignment.explanation
    text = f"the best possible total{'; comparability cost nothing' if level else ''}"
    if (lottery := assignment.randomised) is not None:
        expected = lottery.percent
        text = f"{_below(best - lottery.expected, best)} in expectation"
        if expected is not None:
            text = f"{expected:.1f} % of the best total is expected"
    elif assignment.price != 0.0:
        text = f"{_below(best - assignment.affinity, best)}{_lost_to(assignment, level)}"
        bound = assignment.bound
        if assignment.status is AssignmentStatus.OPTIMAL:
            text += "; the least loss possible"
        elif assignment.kept and math.isfinite(bound):
            text += f"; nothing within the rules is better by more than {_loss(bound - assignment.affinity, bound)}"
        elif assignment.least_loss and assignment.least_price != 0.0:
            text += f"; at least {_loss(assignment.least_loss, best)} must be lost"
    wanted = int((assignment.affinities > 0).sum())
    return text + (f"; {wanted:,} of {assignment.affinities.size:,} are above 0" if wishes == "Bids" else "")


def _lost_to(assignment: Assignment, level: bool) -> str:
    """Return what of the request an assignment lost affinity to; ``level`` is whether it reaches one."""
    best = assignment.affinity_unconstrained
    before = assignment.affinity_before_level
    if before is None:
        return ""
    lost = percent_of(best - before, best) != 0.0
    purposes = {"few changes": assignment.changes, "the rules": assignment.kept, "fairness": assignment.fairness}
    others = " or ".join(purpose for purpose, asked in purposes.items() if asked and lost)
    cost = "nothing"
    if assignment.price_of_level != 0.0:
        cost = _loss(before - assignment.affinity, best)
    if others:
        return f", lost to {others}{f'; comparability cost {cost}' if level else ''}"
    return ", lost to comparability" if level else ""


def _loss(lost: float, total: float) -> str:
    """Return a loss in percent of a total, or as it is where that has no percentages."""
    percent = percent_of(lost, total)
    return f"{lost:.3g}" if percent is None else f"{percent:.3g} %"


def _below(lost: float, total: float) -> str:
    whole = f" of {total:.6g}" if percent_of(lost, total) is None else ""
    return f"{_loss(lost, total)} below the best total{whole}"


def _rule(rule: KeptRule) -> str:
    return f"{rule.words} ({counted(rule.papers, 'paper')})"


def _fair(fairness: Fairness) -> str:
    before, after = (f"{smallest:.4g}" for smallest in fairness.smallest)
    proof = ""
    if fairness.proved:
        proof = "proved the most possible"
    elif fairness.at_most is not None:
        proof = f"{fairness.at_most:.4g} at most"
    held = "" if fairness.floor is None else f"every paper has a sum of {fairness.floor:g} or more"
    return "; ".join(filter(None, (f"a sum of {after} ({before} by affinity alone)", proof, held)))


def _changes(changes: Changes) -> str:
    count = len(changes.new)
    proof = ", proved the fewest" if count == changes.fewest else f" ({changes.fewest} or more whatever the level)"
    return f"{len(changes.kept):,} stay, {len(changes.dropped):,} dropped, {count:,} new{proof if count else ''}"


def _warnings(assignment: Assignment, wishes: str) -> list[str]:
    table = assignment.reviews
    hidden = table.origin.hidden
    kept = assignment.facts
    warnings = []
    if hidden:
        which = listed(hidden) if table.origin.named else counted(len(hidden), "paper")
        warnings.append(f"Hidden from you, so that somebody else must assign reviewers: {which}.")
    if table.origin.lacking is not None:
        warnings.append(f"{table.origin.lacking.words}.")
    against = np.flatnonzero(assignment.affinities < 0)
    if against.size:
        pairs = zip(table.reviewer[against].tolist(), table.item[against].tolist(), strict=True)
        names = sorted([f"{table.reviewers[j]} for {table.items[i]}" for j, i in pairs], key=natural_key)
        few = f"{counted(against.size, 'review has', 'reviews have')} {wishes.lower()} below 0"
        warnings.append(f"{few}: {listed(names)}.")
    if kept is not None:
        warnings += kept.warnings()
    return [*warnings, *([f"{Clock.TIMED_OUT}."] if assignment.timed_out else [])]


def _for(pairs: Iterable[Pair]) -> list[str]:
    return [f"{who} for {what}" for who, what in pairs]


def _affinities(assignment: Assignment, wishes: str) -> list[Part]:
    """Return the total and its proof, and how the numbers of the reviews are distributed."""
    if not _has_wishes(assignment):
        return []
    total = (
        f"Total {assignment.affinity:.6g}, mean {assignment.mean_affinity:.4g}, least {assignment.minimum_affinity:.4g}"
    )
    best = f"by demands, loads and conflicts alone {assignment.affinity_unconstrained:.6g} could be had"
    proof = f"Status: {assignment.status} ({assignment.status.text})."
    bins = report.histogram(assignment.affinities)
    words = f"The number of reviews by {wishes.lower()}{', scaled to -1 ... 1' if wishes == 'Bids' else ''}."
    picture = report.chart("affinities", f"{wishes} of reviews", words, bins, wishes.lower(), "reviews")
    return [Prose([f"{total}; {best}.", proof]), picture]


def _asked(assignment: Assignment) -> dict[str, list[str]]:
    """Return the names behind the facts, by opening."""
    facts = assignment.facts
    lists = {}
    if assignment.changes is not None:
        lists["New reviews"] = _for(assignment.changes.new)
    if assignment.alternates is not None:
        lacking = assignment.alternates.missing
        lists["Papers with too few alternates"] = [f"{gap.item} has {gap.found}: {gap.why.value}" for gap in lacking]
    if facts is not None:
        lists |= {f"Fixed against {limit}": names for limit, names in facts.named().items()}
    if assignment.shortage is not None:
        lists["Papers that lack reviews"] = [f"{item}: {number}" for item, number in assignment.shortage.missing]
    return lists


def _lists(lists: Mapping[str, Sequence[Label]]) -> list[Part]:
    return [Listed(f"{opening}: {len(of):,}", list(map(str, of)), NAMED) for opening, of in lists.items() if of]


def _drawn(lottery: Randomised | None) -> list[Part]:
    """Return the guarantee of a lottery, what is lost, and the list that is drawn from."""
    if lottery is None:
        return []
    gap = f"at most {_loss(lottery.most - lottery.expected, lottery.most)} less"
    than = f"{'no less' if lottery.gap == 0.0 else gap} than by other probabilities within these caps"
    if math.isinf(lottery.most):
        than = "it is not proved how much other probabilities within these caps could add"
    lines = [
        "Only these pairs are ever assigned, each with exactly its probability, and none above its cap; the most "
        f"probable reviewer of a paper has {lottery.mean_largest:.3g} on average.",
        f"Expected total: {lottery.expected:.6g}, {than}.",
    ]
    if (drawn := lottery.listed) is not None:
        whole = counted(len(drawn.holds), "assignment")
        lines.append(f"One of {whole} is drawn with equal probability; {percent(drawn.reached)} are at the level.")
    return [Prose(lines)]


def paper_table(assignment: Assignment) -> Table:
    """Return a row per paper, the worst served first."""
    table = assignment.reviews
    total = np.bincount(table.item, weights=assignment.affinities, minlength=table.n_items).astype(np.float64)
    order = np.lexsort((places(table.items), snapped(total)))
    columns = [
        *paper_columns(table, order.tolist()),
        Column("reviews", table.reviews_per_item[order].tolist(), "number"),
        Column("sum", total[order].tolist(), "number", 3),
        Column("reviewers", [_joined(table.reviewers, table.reviewers_of(i)) for i in order.tolist()]),
    ]
    if assignment.alternates is not None:
        others = {label: list[str]() for label in table.items}
        for alternate in assignment.alternates.listed:
            others[alternate.item].append(str(alternate.reviewer))
        columns.append(Column("alternates", [", ".join(others[table.items[i]]) for i in order.tolist()]))
    return Table("papers-table", "Papers, the worst served first", columns, "papers")


def reviewer_table(assignment: Assignment) -> Table:
    """Return a row per reviewer, the largest load first; those without a review have no mean."""
    table = assignment.reviews
    total = np.bincount(table.reviewer, weights=assignment.affinities, minlength=table.n_reviewers)
    order = np.lexsort((places(table.reviewers), -table.loads)).tolist()
    columns = [
        Column("reviewer", [table.reviewers[j] for j in order]),
        Column("reviews", table.loads[order].tolist(), "number"),
        Column("mean", [float(total[j] / table.loads[j]) if table.loads[j] else None for j in order], "number", 3),
        Column("papers", [_joined(table.items, table.items_of(j)) for j in order]),
    ]
    return Table("reviewers-table", "Reviewers, the largest load first", columns, "reviewers")


def _joined(labels: Sequence[Label], codes: IntArray) -> str:
    return ", ".join(map(str, sorted((labels[code] for code in codes.tolist()), key=natural_key)))


def coded(assignment: Assignment, codes: Codes) -> Assignment:
    """Return an assignment under codes with those of critical reviewers, too, in the order of the codes."""
    critical = assignment.critical
    return replace(assignment, critical=critical and tuple(sorted(map(codes.reviewer.get, critical), key=natural_key)))
