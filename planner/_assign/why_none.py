"""Why there is no assignment, or none at the level: explanations that a chair can check by counting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING

import numpy as np

from planner._assign.core import largest_cover
from planner._assign.flow import Shortfall, shortfall
from planner._assign.problem import Problem, unit_of
from planner._assign.programme import best_under_rules, crowded_items, lacking_items
from planner.facts import Gap, Shortage, usual_load
from planner.rules import ruled_by
from reviewgraph import check
from reviewgraph._base import BoolArray, Clock, IntArray, Label, Mentions, counted, noun, ranging
from reviewgraph.graph import level_named
from reviewgraph.table import Reviews

if TYPE_CHECKING:
    from planner._assign.levels import Aim


#: Names listed; of more only the first three.
NAMED = 6
#: The proof where few pairs are allowed.
NO_OTHER = (
    "Proved impossible: no choice of the allowed pairs within demands, loads and rules does. Raise demands or loads, "
    "or allow more pairs."
)


def why_infeasible(problem: Problem) -> str:
    """Explain an infeasible flow by a set that needs more than it can get."""
    (load, least) = problem.open_loads()
    demand = problem.open_demand()
    free = ~problem.given
    cut = shortfall(problem.item[free], problem.reviewer[free], demand, load, least)
    if cut is None:
        return ""
    # Reviewers whose minimum loads exceed the papers open to them.
    if not cut.by_items:
        must = f"{people(cut.reviewers)} must get {each(least[cut.reviewers])} = {cut.needed} reviews by their min_load"
        few = f"the {counted(cut.items.size, 'paper')} open to them {noun(cut.items.size, 'needs', 'need')}"
        sums = _sums(cut, f"{few} {cut.supply}", f"{cut.pairs} other allowed pairs")
        return f"{must}; {sums} Lower min_load, raise demands or lift conflicts."
    # Papers whose demands exceed the loads of those who may review them, or the number of allowed pairs.
    needy = f"{papers(cut.items, 'needs', 'need')} {each(demand[cut.items])} = {counted(cut.needed, 'review')}"
    if problem.old.any():
        needy += ", reviewers of the first phase aside where they have read the paper"
    if not cut.reviewers.size:
        return f"{needy}, and only {cut.pairs} (paper, reviewer) pairs are allowed for them. {problem.advice()}"
    able = "" if cut.reviewers.size == problem.n_reviewers else " who may take them"
    rest = f"other reviewers have {counted(cut.pairs, 'allowed pair')} with these papers"
    sums = _sums(cut, f"{_givers(cut, load, able)} {cut.supply}", rest)
    return f"{needy}; {sums} Raise loads, add reviewers, lower demands or lift conflicts."


def _givers(cut: Shortfall, load: IntArray, able: str = "", kind: str = "reviewer") -> str:
    """Return who can give the supply of a cut, and their loads."""
    loads = load[cut.reviewers]
    return f"{people(cut.reviewers, kind)}{able} with load {ranging(int(loads.min()), int(loads.max()))} can give"


def _sums(cut: Shortfall, supply: str, rest: str, units: int = 1) -> str:
    """Return the supply of a cut, with the ``rest`` by other pairs, and that it is less than what is needed."""
    more = f", and {rest}" if cut.pairs else ""
    return f"{supply}{more}: {cut.needed / units:.10g} > {(cut.supply + cut.pairs) / units:.10g}."


def shortage(problem: Problem, missing: IntArray) -> Shortage:
    """Return the papers that lack reviews, given by their number, shape (N,); whom to recruit, and why."""
    why = Mentions.labelled(problem.reviewers, problem.items)(why_infeasible(problem))
    gaps = tuple(Gap(problem.items[i], int(missing[i])) for i in np.flatnonzero(missing).tolist())
    return Shortage(gaps, usual_load(problem.load.tolist()), why=why)


def why_unreachable(problem: Problem, aim: Aim, *, lowered: bool = False) -> str:
    """Explain by counting why no assignment within demands and loads reaches the level; empty if it may.

    ``lowered`` means that demands are those that can be met, not those that were asked for.

    A reviewer of k papers adds at most k - 2 new ones to a component (k - 1 where one shared paper is enough), the
    first one 2 more (1 more). Full loads for as few reviewers as possible reach most.
    """
    if not aim.counts_joins:
        return ""
    N = int(problem.required.sum())
    bare = np.flatnonzero(problem.required & (problem.demand == 0))
    if bare.size and lowered:
        return f"{papers(bare, 'gets', 'get')} no review, and what nobody reviews cannot be compared."
    if bare.size:
        return (
            f"{papers(bare, 'has', 'have')} demand 0, and what nobody reviews cannot be compared. Raise the demand, "
            "leave them out, or ask for no level (target none)."
        )
    if problem.old.any() or N == 0:
        return ""
    reach = _reach(problem, aim.shared, int(problem.load.max(initial=0)))
    if reach >= N or (aim.shared >= N and int(problem.load.max(initial=0)) >= N):
        return ""
    return (
        f"{N} papers cannot be joined by these {int(problem.demand.sum())} reviews: a reviewer of k papers joins at "
        f"most {aim.joins} further ones, so even full loads reach {reach} papers, {aim.shared} at the start included. "
        "Raise demands or let fewer reviewers take more papers each."
    )


def _reach(problem: Problem, shared: int, cap: int) -> int:
    """Return the most papers that one component can cover when nobody takes more than ``cap``."""
    remaining = int(problem.demand.sum())
    reach = shared
    for load in sorted(problem.load.tolist(), reverse=True):
        taken = min(load, cap, remaining)
        reach += max(taken - shared, 0)
        remaining -= taken
    return reach


def why_fragile(problem: Problem, aim: Aim, critical: Sequence[Label], clock: Clock, *, proved: bool = False) -> str:
    """Count the reviewers who are still critical, and prove that somebody must be, where possible."""
    labels = set(critical)
    codes = [j for j, label in enumerate(problem.reviewers) if label in labels]
    who = f"{'single reviews of ' if aim.loses_reviews else ''}{counted(len(codes), 'reviewer')}"
    proof = why_counted(problem, aim)
    # Without a reviewer even all allowed pairs must be enough: tried for those who are critical, in time.
    tried = takewhile(lambda _: not clock.over(), [] if aim.loses_reviews or proof else codes)
    needed = int(problem.required.sum())
    sure = next((j for j in tried if joined_by_all(problem, aim, without=j) < needed), None)
    if sure is not None:
        proof = (
            f"Proved impossible: reviewer {Mentions.REVIEWERS[sure]} stays critical, because without this reviewer "
            f"even all allowed pairs together miss the level. {problem.advice()}"
        )
    unknown = NO_OTHER if proved else "It is not proved that it must: raise demands or loads."
    if not proved and clock.over():
        unknown = "The time limit ended the search: raise it, demands or loads."
    return f"The level still depends on {who}. {proof or unknown}"


def why_counted(problem: Problem, aim: Aim) -> str:
    """Prove by counting alone, if possible, that no assignment survives any one reviewer, or any one review.

    Nobody may be the only reviewer of a paper. Where reviewers may drop out, the one of most reviews, k, takes k - 2
    from what the others can join (k - 1 where one shared paper is enough).
    """
    N = int(problem.required.sum())
    shared = aim.shared
    single = np.flatnonzero(problem.required & (problem.demand == 1))
    if single.size:
        return (
            f"Proved impossible: {papers(single, 'gets', 'get')} one review only, and whoever writes it is critical. "
            "Raise that demand to 2 or more."
        )
    caps = range(shared, int(problem.load.max(initial=0)) + 1)
    reach = max((_reach(problem, shared, cap) - (cap - shared) for cap in caps), default=0)
    if not aim.loses_reviews and not problem.old.any() and shared < N and reach < N:
        return (
            f"Proved impossible: without the busiest reviewer the others can join {reach} of {N} papers at most, "
            f"because a reviewer of k papers joins at most {aim.joins} further ones. Raise demands or loads."
        )
    return ""


def why_apart(problem: Problem, aim: Aim) -> str:
    """Prove that even all allowed pairs together miss the level; empty if they reach it."""
    N = int(problem.required.sum())
    reach = joined_by_all(problem, aim)
    if reach == N:
        return ""
    return (
        f"Even if every allowed pair were assigned, one group of reviewers who {aim.sharing} would cover {reach} of "
        f"{N} papers at most. {problem.advice()}"
    )


def joined_by_all(problem: Problem, aim: Aim, without: int = -1) -> int:
    """Return the most required papers that one group covers if every allowed pair is assigned: an upper bound."""
    N = int(problem.required.sum())
    keep = (problem.load[problem.reviewer] >= min(aim.shared, N)) & (problem.reviewer != without)
    table = Reviews.from_codes(
        problem.reviewer[keep], problem.item[keep], reviewers=problem.n_reviewers, items=problem.n_items
    )
    return largest_cover(aim, table, problem.required)


def level_alone(aim: Aim, reason: str) -> str:
    """Return why there is no assignment at a level where all else can be had."""
    return f"Demands and loads can be met, but not the level (target {aim.name}). {reason}"


def how_it_ended(problem: Problem, assigned: BoolArray, clock: Clock, *, proof: str = "") -> str:
    """Explain why the search ended, and which level the assignment has; ``proof`` is why no assignment reaches it."""
    kept = assigned & problem.required[problem.item]
    codes = (np.cumsum(problem.required) - 1)[problem.item[kept]]
    N = int(problem.required.sum())
    M = problem.n_reviewers
    report = check(Reviews.from_codes(problem.reviewer[kept], codes, reviewers=M, items=N))
    has = (
        f"The papers are {level_named(report.level).words}" if report.level else "Some papers cannot be compared at all"
    )
    end = "The search found no further change that helps; raise demands or loads"
    if proof:
        end = proof.removesuffix(".")
    elif clock.interrupted or clock.over():
        end = "It was interrupted" if clock.interrupted else "The time limit ended the search"
    return f"{end}. {has}."


def each(numbers: IntArray) -> str:
    """Return the number of reviews that all have, or the range of the numbers."""
    least = int(numbers.min())
    most = int(numbers.max())
    return f"{ranging(least, most)} {noun(most, 'review')}{' each' if least == most else ''}"


def papers(codes: IntArray, one: str = "", many: str = "") -> str:
    """Count papers and name them, or the first of them, with a verb for ``one`` and for ``many``."""
    names = people(codes, "paper", Mentions.PAPERS)
    return f"{names} {noun(codes.size, one, many)}" if one else names


def people(codes: IntArray, kind: str = "reviewer", mentions: Mentions = Mentions.REVIEWERS) -> str:
    """Count people and name them, or the first of them."""
    named = [mentions[code] for code in codes.tolist()]
    names = f"{', '.join(named[:3])}, ..." if len(named) > NAMED else ", ".join(named)
    return f"{counted(codes.size, kind)} ({names})"


def rules_in_words(problem: Problem) -> list[str]:
    """Return the rules and floors on each paper, for lists of constraints."""
    floor = problem.least_score
    rules = [f"{' and '.join(problem.ruled.words())} on each"] if problem.ruled.rules else []
    return rules if floor is None else [*rules, f"a sum of affinities of {floor:g} or more each"]


# Why the rules on who reviews a paper together cannot hold.

#: Maximum work of that search.
MOST_WORK = 10.0


def why_no_panels(problem: Problem, clock: Clock) -> str:
    """Explain a proved infeasibility: rule by rule by fixed pairs or a count, or by the fewest papers that clash."""
    for rule, attribute in zip(problem.ruled.rules, problem.ruled.attributes, strict=True):
        alone = replace(problem, ruled=ruled_by([(rule, attribute)], problem.n_reviewers, problem.n_items))
        crowded = crowded_items(alone, alone.given)
        if crowded.size:
            return f"Fixed pairs leave no room for {rule.words(attribute)} on {papers(crowded)}. Lift one of them."
        full = np.intersect1d(lacking_items(alone, alone.given), np.flatnonzero(alone.open_demand() <= 0))
        if full.size:
            all_fixed = f"{papers(full, 'has', 'have')} all reviews fixed"
            return f"{all_fixed}, and not {rule.words(attribute)} among them. Lift one of them."
        too_few = _too_few_members(alone, rule.words(attribute))
        if too_few:
            return too_few
    return _clash(problem, clock)


def _too_few_members(problem: Problem, words: str) -> str:
    """Name papers that need more reviewers of a value than there can be: a cut of the flow of them alone."""
    load, _ = problem.open_loads()
    place, member_group = problem.panels.of(problem.reviewer, problem.item)
    for group, least in enumerate(problem.panels.least.T):
        member = np.zeros(problem.item.size, np.bool_)
        member[place[member_group == group]] = True
        # Each paper demands as many units of flow as it lacks among its fixed reviews.
        have = np.bincount(problem.item[problem.given & member], minlength=problem.n_items)
        wanted = np.where(problem.bound, np.maximum(least - have, 0), 0)
        pairs = np.flatnonzero(member & ~problem.given & (load[problem.reviewer] > 0))
        cut = shortfall(problem.item[pairs], problem.reviewer[pairs], wanted, load, np.zeros_like(load))
        if cut is not None:
            break
    else:
        return ""
    # The cut is the proof: these papers need more than crosses it.
    items = cut.items[wanted[cut.items] > 0]
    needy = f"{papers(items, 'needs', 'need')} {words}"
    kind = problem.ruled.kind(group)
    if cut.reviewers.size:
        rest = f"others have {counted(cut.pairs, 'allowed pair')} with them"
        sums = _sums(cut, f"{_givers(cut, load, ' who may take them', 'such reviewer')} {cut.supply}", rest)
        return f"{needy} each = {cut.needed} reviews; {sums} Raise their loads, mark more reviewers, or lift conflicts."
    them = noun(items.size, "it", "them")
    some = f"only {counted(cut.pairs, 'pair')} with a {kind} {noun(cut.pairs, 'is', 'are')} allowed for {them}"
    may = some if cut.pairs else f"no {kind} may take {them}"
    return f"{needy}, and {may}. {problem.advice('lift conflicts', last='mark more reviewers who may')}"


def _clash(problem: Problem, clock: Clock) -> str:
    """Say that the rules cannot hold together, and without which one of them they can."""
    effort = clock.effort(MOST_WORK)
    asked = list(zip(problem.ruled.rules, problem.ruled.attributes, strict=True))
    ways = []
    for rule, attribute in asked if len(asked) > 1 else []:
        others = [pair for pair in asked if pair[0] is not rule]
        eased = replace(problem, ruled=ruled_by(others, problem.n_reviewers, problem.n_items))
        if not effort.over() and best_under_rules(eased, problem.given, effort).chosen is not None:
            ways.append(rule.words(attribute))
    rules = ", ".join(rules_in_words(problem))
    least = " within everybody's min_load" if problem.least.any() else ""
    remedy = f"They can without {' or without '.join(ways)}." if ways else "Lower demands, or lift a rule."
    return f"The papers cannot all get their reviews with {rules}{least} (proved). {remedy}"


# Why a floor cannot be reached.


def why_no_floor(problem: Problem, cannot: IntArray) -> str:
    """Explain a floor that some papers cannot reach, or that is above the bound by linear programming."""
    floor = f"the floor of {problem.least_score:g}"
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


# Why caps on probabilities leave no assignment.


def why_capped(problem: Problem, cap: int, units: int) -> str:
    """Explain a cap that leaves no probabilities, by a set that needs more than it gives; a review has ``units``."""
    free = ~problem.given
    load, least = problem.open_loads()
    advice = problem.advice("raise --max-probability")
    demand = problem.open_demand() * units
    cut = shortfall(problem.item[free], problem.reviewer[free], demand, load * units, least * units, cap)
    if cut is None:
        rules = ", ".join(problem.ruled.words())
        return f"Demands and loads can be met with these probabilities, but not with {rules} on each paper. {advice}"
    supply = f"{cut.supply / units:g}"
    pairs = f"{cut.pairs / units:g} at most"
    rest = f"the probabilities of other pairs with them sum to {pairs}"
    needed = f"{cut.needed / units:g} reviews"
    if not cut.by_items:
        sums = _sums(cut, f"{papers(cut.items)} can give them {supply}", rest, units)
        return f"{people(cut.reviewers)} must get {needed}; {sums} Lower min_load, or raise --max-probability."
    needs = f"{papers(cut.items, 'needs', 'need')} {needed}"
    if cut.reviewers.size:
        return f"{needs}; {_sums(cut, f'{_givers(cut, load)} {supply}', rest, units)} {advice}"
    who = noun(cut.items.size, "its", "their")
    few = f", and the probabilities of {who} candidates sum to {pairs}"
    return f"{needs}{few}: {cut.needed / units:g} > {cut.pairs / units:g}. {advice}"
