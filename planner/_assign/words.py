"""The text page of an assignment, and explanations of missed floors and caps, for a chair to check by eye.

Sections in the order of the page's parts: alternates, changes and thresholds, fairness, lotteries, rules, the page.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from planner._assign.assignment import AssignmentStatus, percent_of
from planner._assign.fair import too_few_good
from planner._assign.findings import Reason
from planner._assign.flow import shortfall
from planner._assign.levels import aim_named
from planner._assign.problem import unit_of
from planner._assign.why_none import authors_lines, each, papers, people
from reviewgraph._base import Clock, counted, noun, ranging, snapped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner._assign.assignment import Assignment
    from planner._assign.findings import (
        Alternates,
        Facts,
        Fairness,
        Pair,
        Randomised,
    )
    from planner._assign.problem import Problem
    from reviewgraph._base import FloatArray, IntArray


# Alternates: the number of papers with enough, and why the others have fewer.

#: Papers named per reason; the rest is only counted.
PAPERS_NAMED = 6


def alternate_lines(alternates: Alternates | None) -> list[str]:
    """Return the lines on alternates.

    >>> alternate_lines(None)
    []
    """
    if alternates is None:
        return []
    people = counted(alternates.asked, "alternate")
    if not alternates.missing:
        return [f"Every paper has {people}, each of whom can take the place of anyone on its panel."]
    papers = counted(len(alternates.missing), "paper")
    have = noun(len(alternates.missing), "has", "have")
    lines = [f"{papers} {have} fewer than {people} who can replace anyone on the panel:"]
    reasons = Counter(paper.why for paper in alternates.missing)
    for why, count in sorted(reasons.items(), key=lambda reason: (-reason[1], reason[0].value)):
        named = _first([paper.item for paper in alternates.missing if paper.why is why], PAPERS_NAMED)
        lines.append(f"  {why.value}: {counted(count, 'paper')} ({named}).")
    return lines


def _first(labels: Sequence[object], number: int) -> str:
    return ", ".join(map(str, labels[:number])) + (", ..." if len(labels) > number else "")


# Changes of a previous assignment, and reviews below a threshold.

#: Pairs named; the rest is only counted.
CHANGES_NAMED = 5


def concerns(assignment: Assignment) -> list[str]:
    """Return lines on the changes of a previous assignment and on reviews below a threshold; none without either."""
    changes = assignment.changes
    below = assignment.below
    lines = []
    if changes is not None:
        counts = Counter(pair.reason for pair in changes.dropped)
        why = ", ".join(f"{counts[reason]} {reason.text}" for reason in Reason if counts[reason])
        kept = len(changes.kept)
        dropped = len(changes.dropped)
        new = len(changes.new)
        stay = counted(kept, "review of the previous assignment stays", "reviews of the previous assignment stay")
        gone = f", {dropped} {noun(dropped, 'is', 'are')} dropped ({why})" if why else ""
        proof = _proof(new, changes.fewest)
        lines += [f"Changes: {stay}{gone}, {new} {noun(new, 'is', 'are')} new{proof}.", *_named("  new: ", changes.new)]
    if below is not None and not below.pairs:
        lines.append(f"No review has an affinity below {below.min_affinity:g}.")
    elif below is not None:
        has = counted(len(below.pairs), "review has", "reviews have")
        proof = _proof(len(below.pairs), below.fewest)
        lines += [f"{has} an affinity below {below.min_affinity:g}{proof}.", *_named("  ", below.pairs)]
    return lines


def _proof(count: int, fewest: int | None) -> str:
    if fewest is None or not count:
        return ""
    if count == fewest:
        return ", proved to be the fewest"
    return f"; {fewest} or more there must be, whatever the level"


def _named(start: str, pairs: Sequence[Pair]) -> list[str]:
    return [start + _first([f"{who} for {what}" for who, what in pairs], CHANGES_NAMED)] if pairs else []


# Fixed pairs.


def fact_lines(facts: Facts | None) -> list[str]:
    """Return lines on the fixed pairs: their number, and which limits they exceed.

    >>> fact_lines(None)
    []
    """
    if facts is None:
        return []
    lines = [f"{counted(facts.kept, 'fixed review is', 'fixed reviews are')} kept and counted."]
    if facts.conflicts:
        clash = counted(len(facts.conflicts), "fixed review is", "fixed reviews are")
        lines += [f"  {clash} in conflict, and kept all the same:", *_named("    ", facts.conflicts)]
    for above, single, several in (
        (facts.above_demand, "paper has more than its demand", "papers have more than their demand"),
        (facts.above_load, "reviewer has more than their load", "reviewers have more than their load"),
    ):
        if above:
            who = _first([f"{label} has {reviews} of {limit}" for label, reviews, limit in above], CHANGES_NAMED)
            lines.append(f"  {counted(len(above), single, several)}, and no further ones: {who}")
    return lines


# The result of fairness, and why a floor cannot be reached.


def fair_lines(fairness: Fairness | None) -> list[str]:
    """Return the lines on fairness.

    >>> fair_lines(None)
    []
    """
    if fairness is None:
        return []
    before, after = fairness.smallest
    sought = " (maximin)" if fairness.fairly else ""
    # The distance of the smallest score from its bound; figures that are printed alike count as equal.
    most = "" if fairness.at_most is None else f"; {fairness.at_most:.4g} at most, the level aside"
    if fairness.at_most is not None and f"{fairness.at_most:.4g}" == f"{after:.4g}":
        most = "; proved the most there can be"
    lines = [f"Smallest sum of affinities of a paper: {after:.4g}{sought}; by affinity alone {before:.4g}{most}."]
    floors = fairness.floors
    if floors.total is not None:
        lines.append(f"  Every paper has {floors.total:g} or more.")
    if floors.best is not None:
        lines.append(f"  Every paper has a reviewer of affinity {floors.best:g} or more.")
    return lines


def why_no_floor(problem: Problem, cannot: IntArray) -> str:
    """Explain a floor that some papers cannot reach, or that is above the bound by linear programming."""
    floor = f"the floor of {problem.floors.total:g}"
    if not cannot.size:
        return (
            f"Not every paper can have {floor}: some share reviewers whose loads are limited (a bound by linear "
            f"programming). {problem.advice('lower the floor', 'raise loads')}"
        )
    most = unit_of(problem.affinity) * problem.reach(problem.open_demand())[cannot]
    can = f"{most.min():.4g}" if cannot.size == 1 else f"{most.min():.4g} to {most.max():.4g}"
    return (
        f"{papers(cannot)} can have {can} at most, the sum of the best affinities of those who may review "
        f"{noun(cannot.size, 'it', 'them')}, below {floor}. {problem.advice('lower the floor')}"
    )


def why_no_good(problem: Problem) -> str:
    """Explain why not every paper can have a good reviewer, by counting."""
    least = f"of affinity {problem.floors.best:g} or more"
    load, _ = problem.open_loads()
    cut = too_few_good(problem)
    if cut is None:
        return (
            f"Not every paper can have a reviewer {least} beside its other reviews (proved by a flow). "
            f"{problem.advice('lower the floor', 'raise loads')}"
        )
    if not cut.reviewers.size:
        has = noun(cut.items.size, "has", "have")
        it = noun(cut.items.size, "it", "them")
        return f"{papers(cut.items)} {has} no reviewer {least} who may take {it}. {problem.advice('lower the floor')}"
    rest = f", and others have {counted(cut.pairs, 'such pair')} with them" if cut.pairs else ""
    fit = noun(cut.reviewers.size, "fits", "fit")
    return (
        f"{papers(cut.items)} {noun(cut.items.size, 'needs', 'need')} a reviewer {least} each = "
        f"{counted(cut.needed, 'review')}; {people(cut.reviewers)} who {fit} with "
        f"{each(load[cut.reviewers], 'load', of='of')} can give {cut.supply}{rest}: {cut.needed} > "
        f"{cut.supply + cut.pairs}. {problem.advice('lower the floor', 'raise loads')}"
    )


# Lotteries: their guarantees, and why caps on probabilities leave no assignment.


def lottery_lines(lottery: Randomised | None, level: str) -> list[str]:
    if lottery is None:
        return []
    cap = "the caps of the table" if lottery.max_probability is None else f"a cap of {lottery.max_probability:g}"
    certain = f" ({counted(lottery.certain, 'fixed pair is', 'fixed pairs are')} certain)" if lottery.certain else ""
    wide = f" and perturbation {lottery.perturbation:g}" if lottery.perturbation else ""
    what = "in this gain" if lottery.perturbation else "in affinity"
    gap = f"at most {100 * lottery.gap:.2g} % less {what}" if lottery.gap > 0 else f"no less {what}"
    lines = [
        "",
        f"Randomised under {cap}{wide}: {counted(lottery.support, 'pair')} may be drawn{certain}; the most probable "
        f"reviewer of a paper has probability {lottery.mean_largest:.3g} on average.",
        f"Expected affinity: {lottery.expected:.6g}, {lottery.percent:.2f} % of the best without a lottery; "
        f"{gap} than any other probabilities within these caps, whatever the level.",
    ]
    # The list of assignments, where one of them is drawn.
    listed = lottery.listed
    if listed is not None:
        lost = percent_of(listed.lost, lottery.best)
        aim = aim_named(level)
        whole = counted(listed.count, "assignment")
        reached = "obey all rules" if aim.level is None else f"are {aim.name}"
        lines.append(
            f"One of {whole} is drawn with equal probability: {100 * listed.at_level:.0f} % {reached} as rounded and "
            f"{100 * listed.repaired:.0f} % after repair, which changes {listed.changed:.1f} pairs of each and costs "
            f"{lost:.3f} % of the affinity."
        )
    return [
        *lines,
        f"Guarantee: only these {counted(lottery.support, 'pair is', 'pairs are')} ever assigned, each with "
        "exactly its probability, and none above its cap.",
    ]


def why_missed(missed: int, count: int) -> str:
    """Explain a draw that misses the level, as ``missed`` of ``count`` assignments do under the caps."""
    whole = counted(count, "assignment")
    return (
        f"Under these caps {missed} of {whole} to draw from miss the level, this one among them; raise caps, demands "
        "or loads."
    )


def why_too_few(count: int) -> str:
    """Explain caps that leave probabilities, but none in whole shares of the assignments to draw from."""
    whole = counted(count, "assignment")
    return (
        f"As one of {whole} is drawn, caps are rounded down to multiples of 1/{count}, and leave no probabilities "
        "then. Raise --draws or --max-probability."
    )


def why_capped(problem: Problem, most: FloatArray, units: int) -> str:
    """Explain caps ``most``, shape (P,), that leave no probabilities, by a set that needs more than they give.

    ``units`` is the number of units of one whole review, of which caps are multiples.
    """
    free = ~problem.given
    load, least = problem.open_loads()
    advice = problem.advice("raise --max-probability")
    capacity = np.rint(most[free] * units).astype(np.int64)
    demand = problem.open_demand() * units
    cut = shortfall(problem.item[free], problem.reviewer[free], demand, load * units, least * units, capacity)
    if cut is None:
        rules = ", ".join(problem.ruled.words())
        return f"Demands and loads can be met with these probabilities, but not with {rules} on each paper. {advice}"
    needed = cut.needed / units
    supply = cut.supply / units
    pairs = cut.pairs / units
    rest = f", and the probabilities of other pairs with them sum to {pairs:g} at most" if cut.pairs else ""
    if not cut.by_items:
        return (
            f"{people(cut.reviewers)} must get {needed:g} reviews; {papers(cut.items)} can give "
            f"them {supply:g}{rest}: {needed:g} > {supply + pairs:g}. Lower min_load, or raise --max-probability."
        )
    needs = f"{papers(cut.items)} {noun(cut.items.size, 'needs', 'need')} {needed:g} reviews"
    total = f"{needed:g} > {supply + pairs:g}. {advice}"
    if not cut.reviewers.size:
        who = noun(cut.items.size, "its", "their")
        return f"{needs}, and the probabilities of {who} candidates sum to {pairs:g} at most: {total}"
    loads = each(load[cut.reviewers], "load", of="of")
    return f"{needs}; {people(cut.reviewers)} with {loads} can give {supply:g}{rest}: {total}"


# Rules.

#: Gaps, in percent, that are not printed.
LEAST_GAP = 5e-5


def rule_lines(assignment: Assignment) -> list[str]:
    """Return the lines on the rules: where they hold, what rewards earn, and the gap to the bound."""
    kept = assignment.kept
    if kept is None:
        return []
    lines = ["Rules on who reviews a paper together:"]
    for rule in kept.rules:
        what = "holds" if rule.earned is None else f"earned {counted(rule.earned, 'time')}"
        lines.append(f"  {rule.words}: {what} on {counted(rule.papers, 'paper')} ({rule.option})")
    # A draw is not compared with the best assignment, which is no lottery.
    if assignment.randomised is None and assignment.gap > LEAST_GAP:
        total = "affinity and rewards" if kept.rewards else "affinity"
        lines.append(
            f"Under the rules the {total} is {kept.bound:.6g} at most, whatever the level: a gap of "
            f"{assignment.gap:.3f} %."
        )
    return lines


#: Columns of the longest bar, and bins of the histogram.
WIDTH = 40
BINS = 10

#: Critical reviewers listed; the rest is only counted.
CRITICAL_NAMED = 10


def affinity_bins(assignment: Assignment) -> tuple[list[str], IntArray]:
    """Return names and sizes of bins of the affinities; one where these are tied."""
    affinities = snapped(assignment.affinities)
    if affinities.min() == affinities.max():
        return [f"{affinities.min():.3g}"], np.array([affinities.size])
    # An affinity that is tied with an edge is above it.
    edge = np.linspace(affinities.min(), affinities.max(), BINS + 1)
    tied = snapped(np.concatenate([edge, affinities]))
    place = np.searchsorted(tied[: edge.size], tied[edge.size :], "right") - 1
    count = np.bincount(np.minimum(place, BINS - 1), minlength=BINS)
    return [f"{low:.3g} to {high:.3g}" for low, high in pairwise(edge.tolist())], count


def page(assignment: Assignment) -> str:
    """Return the loads, demands, affinities and the level of an assignment as text."""
    if assignment.status is AssignmentStatus.INFEASIBLE or not assignment.reviews.n_reviews:
        why = f"No assignment ({assignment.status}). {assignment.explanation}"
        return "\n".join([why, *fact_lines(assignment.facts)])
    charts = []
    for name, numbers in (("paper", assignment.reviews.reviews_per_item), ("reviewer", assignment.loads)):
        value, count = np.unique(numbers, return_counts=True)
        charts += _chart(f"Reviews per {name}", value.astype(str).tolist(), count)
    names, count = affinity_bins(assignment)
    charts += _chart("Affinity of the reviews", names, count) if len(names) > 1 else []
    lines = [
        f"{headline(assignment)}: {sizes(assignment)}",
        *assignment.reviews.origin.caveats(assignment.reviews.n_items),
        *shortage_lines(assignment),
        *opening(assignment),
        *(["", *charts] if charts else []),
        *(["", *rest] if (rest := sentences(assignment)) else []),
    ]
    return "\n".join(lines)


def headline(assignment: Assignment) -> str:
    """Return in a few words whether the request is satisfied."""
    if assignment.status is AssignmentStatus.INFEASIBLE or not assignment.reviews.n_reviews:
        return "No assignment"
    if assignment.shortage is not None:
        return "A part of what was asked for"
    if assignment.status.reached:
        return "Every paper has its reviewers"
    return "Not all that was asked for" if aim_named(assignment.target).level is None else "The level is missed"


def sizes(assignment: Assignment) -> str:
    """Return the numbers of papers, reviewers and reviews, and the status."""
    reviews = assignment.reviews
    return (
        f"{counted(reviews.n_items, 'paper')}, {counted(reviews.n_reviewers, 'reviewer')}, "
        f"{counted(reviews.n_reviews, 'review')} ({assignment.status})."
    )


def opening(assignment: Assignment) -> list[str]:
    """Return lines on the loads, the level, and the affinity that it cost."""
    per_paper = assignment.reviews.reviews_per_item
    loads = assignment.loads
    return [
        f"Reviews per paper: {_spread(per_paper)}; per reviewer: {_spread(loads)}.{_usual_load(assignment)}",
        f"Level: {_level(assignment)}.",
        *figures(assignment)[:2],
    ]


def _usual_load(assignment: Assignment) -> str:
    return "" if assignment.usual_load is None else f" {assignment.usual_load.words}"


def _spread(numbers: IntArray) -> str:
    least = int(numbers.min())
    most = int(numbers.max())
    return f"{ranging(least, most)}, median {np.median(numbers):g}" if least < most else f"{most}"


def sentences(assignment: Assignment) -> list[str]:
    """Return the lines below the bars."""
    return [
        *fact_lines(assignment.facts),
        *rule_lines(assignment),
        *authors_lines(assignment),
        *fair_lines(assignment.fairness),
        *concerns(assignment),
        *_critical(assignment),
        *alternate_lines(assignment.alternates),
        *lottery_lines(assignment.randomised, assignment.target),
        *([f"{Clock.TIMED_OUT}."] if assignment.timed_out else []),
    ]


def shortage_lines(assignment: Assignment) -> list[str]:
    """Return lines on missing reviews: why, and whom to recruit."""
    gaps = assignment.shortage
    return [] if gaps is None else [" ".join(gaps.sentences()), f"Why: {gaps.why}"]


def figures(assignment: Assignment) -> list[str]:
    """Return lines that name nobody: affinities and their price."""
    return [
        f"Affinity: total {assignment.affinity:.6g}, mean {assignment.mean_affinity:.4g}, "
        f"least {assignment.minimum_affinity:.4g}.",
        f"Best total by demands, loads and conflicts alone: {assignment.affinity_unconstrained:.6g}; all else costs "
        f"{assignment.price:.3f} %{_parts(assignment)}.",
    ]


def _parts(assignment: Assignment) -> str:
    """Return the parts of the price: concerns before affinity, rules, fairness and the level."""
    least = assignment.least_price
    first = assignment.price_of_concerns
    bound = f", and at least {least:.2g} % is what the level must cost" if least else ""
    fair = assignment.price_of_fairness
    # The rest may be rounding; + 0.0 removes its sign.
    rest = round(assignment.price - first - assignment.price_of_rules - fair, 3) + 0.0
    purposes = (assignment.changes, "fewer changes"), (assignment.below, "the threshold")
    purpose = " and ".join(words for part, words in purposes if part is not None)
    parts = [f"{first:.3f} % {purpose}"] if first else []
    parts += [f"{assignment.price_of_rules:.3f} % the rules"] if assignment.kept or assignment.authors else []
    parts += [f"{fair:.3f} % fairness"] if fair else []
    last = "the level" if assignment.randomised is None else "the lottery and the level"
    parts += [f"{rest:.3f} % {last}"] if parts else []
    forced = f"({counted(assignment.forced, 'pair')} forced in for the level)"
    return f"{': ' if parts else ''}{', '.join(parts)}{bound} {forced}"


def _level(assignment: Assignment) -> str:
    aim = aim_named(assignment.target)
    missed = assignment.status is AssignmentStatus.LEVEL_MISSED or (
        assignment.status is AssignmentStatus.BEST_EFFORT and bool(assignment.explanation)
    )
    if missed:
        return f"{aim.name} missed. {assignment.explanation}".rstrip(".")
    return aim.words if aim.level is None else f"all papers are {aim.words}"


def _critical(assignment: Assignment) -> list[str]:
    if assignment.critical is None:
        return []
    number = len(assignment.critical)
    if not number:
        return ["The level holds after any one reviewer drops out."]
    who = counted(number, "reviewer is", "reviewers are")
    without = noun(number, "this one", "any one of them")
    named = _first(assignment.critical, CRITICAL_NAMED)
    return [f"{who} critical: without {without} the level would not hold ({named})."]


def _chart(title: str, names: Sequence[str], counts: IntArray) -> list[str]:
    """Return bars below their title; nothing for a single one."""
    if len(names) < 2:
        return []
    most = max(int(counts.max()), 1)
    width = WIDTH
    bars = zip(names, counts.tolist(), strict=True)
    return [title, *(f"  {name:>18}  {'#' * -(-width * count // most)} {count}" for name, count in bars)]
