"""Why the rules on who reviews a paper together cannot hold, in words a chair can check by counting."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from planner.assignments.steps.flow import shortfall
from planner.assignments.teams.panels import crowded_items, feasible, lacking_items
from planner.assignments.words.authors import rules_on_authors, too_few_strangers
from planner.assignments.words.why_none import each, papers, people
from planner.panels.groups import ruled_by
from reviewgraph.arrays import spread
from reviewgraph.words import counted, noun

if TYPE_CHECKING:
    from collections.abc import Callable

    from planner.assignments.model.problem import Problem
    from planner.panels.attributes import Attribute
    from planner.panels.rules import Rule
    from reviewgraph.clock import Clock
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import BoolArray

#: Papers up to which a smallest set that cannot be served is looked for.
MOST_PAPERS = 5_000

#: Work that this may take.
MOST_WORK = 10.0


def why_no_panels(problem: Problem, clock: Clock) -> str:
    """Explain a proved infeasibility: rule by rule by fixed pairs, one paper or a count; or by papers that clash."""
    ways: tuple[Callable[[Problem, Rule, Attribute], str], ...] = (
        _fixed_clash, _full, _too_small, _too_few_values, _too_few_apart, _too_few_members,
    )  # fmt: skip
    for way in ways:
        for rule, attribute in zip(problem.ruled.rules, problem.ruled.attributes, strict=True):
            alone = replace(problem, ruled=ruled_by([(rule, attribute)], problem.n_reviewers))
            words = way(alone, rule, attribute)
            if words:
                return words
    return (too_few_strangers(problem) if problem.rivals.any else "") or _clash(problem, clock)


def _fixed_clash(problem: Problem, rule: Rule, attribute: Attribute) -> str:
    bad = crowded_items(problem, problem.given)
    if not bad.size:
        return ""
    return f"Fixed pairs leave no room for {rule.words(attribute)} on {papers(bad)}. Lift one of them."


def _full(problem: Problem, rule: Rule, attribute: Attribute) -> str:
    bad = np.intersect1d(lacking_items(problem, problem.given), np.flatnonzero(problem.open_demand() <= 0))
    if not bad.size:
        return ""
    has = noun(bad.size, "has", "have")
    return f"{papers(bad)} {has} all reviews fixed, and not {rule.words(attribute)} among them. Lift one of them."


def _too_small(problem: Problem, rule: Rule, attribute: Attribute) -> str:
    """Find papers whose demand is below what a rule asks for, each reviewer having so many values at most."""
    terms, several = rule.terms(attribute), int(np.diff(attribute.start).max(initial=1))
    asked = max(int(terms.least.max(initial=0)), -(-terms.different // max(several, 1)))
    bad = np.flatnonzero(problem.bound & (problem.demand < asked))
    if not bad.size:
        return ""
    return (
        f"{papers(bad)} {noun(bad.size, 'gets', 'get')} {each(problem.demand[bad], 'review')}, too few for "
        f"{rule.words(attribute)}. Raise the demand, or ask for less."
    )


def _too_few_values(problem: Problem, rule: Rule, attribute: Attribute) -> str:
    """Find papers whose candidates have too few different values."""
    asked = rule.terms(attribute).different
    homes = _values_at_hand(problem, attribute)
    bad = np.flatnonzero(problem.bound & (homes < asked))
    if not bad.size:
        return ""
    return (
        f"{papers(bad[:1])} needs {rule.words(attribute)}, and those who may take it, "
        f"{_candidates(problem, bad[0])}, have {int(homes[bad[0]])}{_others(bad.size - 1)}. Score more pairs, allow "
        "unscored ones, or ask for less."
    )


def _values_at_hand(problem: Problem, attribute: Attribute) -> IntArray:
    """Count the different values among the candidates and given reviewers of each paper."""
    pairs = np.flatnonzero(problem.given | (problem.load[problem.reviewer] > 0))
    size, reviewer = max(len(attribute.values), 1), problem.reviewer[pairs]
    count = np.diff(attribute.start)[reviewer]
    value = attribute.value[spread(attribute.start[reviewer], count)]
    key = np.unique(np.repeat(problem.item[pairs], count) * size + value)
    return np.bincount(key // size, minlength=problem.n_items)


def _too_few_apart(problem: Problem, rule: Rule, attribute: Attribute) -> str:
    """Find papers that get fewer reviews from their candidates than they need, so many of one value at most."""
    most = rule.terms(attribute).most
    # Whoever has several values counts for none here: then the count stays a bound.
    single = np.diff(attribute.start) == 1
    home = np.full(problem.n_reviewers, -1)
    home[single] = attribute.value[attribute.start[:-1][single]]
    pairs = np.flatnonzero(problem.given | (problem.load[problem.reviewer] > 0))
    size = len(attribute.values) + problem.n_reviewers
    own = np.where(home >= 0, home, len(attribute.values) + np.arange(problem.n_reviewers))[problem.reviewer[pairs]]
    key, count = np.unique(problem.item[pairs] * size + own, return_counts=True)
    limit = np.append(most, np.ones(problem.n_reviewers, np.int64))
    can = np.bincount(key // size, np.minimum(count, limit[key % size]), problem.n_items)
    bad = np.flatnonzero(problem.bound & (problem.open_demand() > 0) & (can < problem.demand))
    if not bad.size or problem.old.any():
        return ""
    return (
        f"{papers(bad[:1])} needs {int(problem.demand[bad[0]])} reviewers, {rule.words(attribute)}, and those "
        f"who may take it, {_candidates(problem, bad[0])}, can give {int(can[bad[0]])}{_others(bad.size - 1)}. "
        "Score more pairs, allow unscored ones, or lower the demand."
    )


def _candidates(problem: Problem, item: int) -> str:
    may = (problem.item == item) & (problem.given | (problem.load[problem.reviewer] > 0))
    return people(np.unique(problem.reviewer[may]))


def _others(count: int) -> str:
    return f" ({counted(count, 'more paper')} likewise)" if count else ""


def _too_few_members(problem: Problem, rule: Rule, attribute: Attribute) -> str:
    """Find papers that need more reviewers of a value than these can be: a cut of the flow of them alone."""
    for value in np.flatnonzero(rule.terms(attribute).least).tolist():
        words = _too_few_of(problem, rule, attribute, value)
        if words:
            return words
    return ""


def _too_few_of(problem: Problem, rule: Rule, attribute: Attribute, value: int) -> str:
    member = np.zeros(problem.n_reviewers, np.bool_)
    member[attribute.owner[attribute.value == value]] = True
    # So many units of flow to each paper as it lacks among its fixed reviews.
    have = np.bincount(problem.item[problem.given & member[problem.reviewer]], minlength=problem.n_items)
    wanted = np.where(problem.bound, np.maximum(rule.terms(attribute).least[value] - have, 0), 0)
    load, _ = problem.open_loads()
    pairs = np.flatnonzero(member[problem.reviewer] & ~problem.given & (load[problem.reviewer] > 0))
    found = shortfall(problem.item[pairs], problem.reviewer[pairs], wanted, load, np.zeros_like(load))
    if found is None:
        return ""
    # The cut is the proof: these papers need more than crosses it.
    items = found.items[wanted[found.items] > 0]
    which, need = papers(items), noun(items.size, "needs", "need")
    kind = attribute.kind(value)
    if not found.reviewers.size:
        some = f"only {counted(found.pairs, 'pair')} with a {kind} {noun(found.pairs, 'is', 'are')} allowed"
        may = some if found.pairs else f"no {kind} may take"
        read = f" for {noun(items.size, 'it', 'them')}" if found.pairs else f" {noun(items.size, 'it', 'them')}"
        return (
            f"{which} {need} {rule.words(attribute)}, and {may}{read}. Score such pairs, lift conflicts, or mark more "
            "reviewers who may."
        )
    rest = f", and others have {counted(found.pairs, 'allowed pair')} with them" if found.pairs else ""
    return (
        f"{which} {need} {rule.words(attribute)} each = {found.needed} reviews; "
        f"{people(found.reviewers, 'such reviewer')} who may take them with "
        f"{each(load[found.reviewers], 'load', of='of')} can give {found.supply}{rest}: {found.needed} > "
        f"{found.supply + found.pairs}. Raise their loads, mark more reviewers, or lift conflicts."
    )


def _clash(problem: Problem, clock: Clock) -> str:
    """Name papers that cannot be served together, none of which can be left out: by deletion, O(S log N) programmes."""
    on_each = f"{' and '.join(problem.ruled.words())} on each" if problem.ruled.rules else ""
    cannot = f"cannot all get their reviews with {', '.join(filter(None, [on_each, *rules_on_authors(problem)]))}"
    effort = clock.effort(MOST_WORK)
    whole = problem.required & (problem.open_demand() > 0)
    free = replace(problem, least=np.zeros_like(problem.least))
    if whole.sum() > MOST_PAPERS or feasible(free, whole, effort):
        least = " within everybody's min_load" if problem.least.any() else ""
        return f"The papers {cannot}{least} (proved over all papers they touch, by two solvers)."
    # A smallest set that cannot be served even alone says more than "all papers".
    core = _shrink(free, whole, effort)
    codes = np.flatnonzero(core)
    pairs = core[problem.item] & (problem.load[problem.reviewer] > 0)
    who = np.unique(problem.reviewer[pairs])
    smallest = "Leave any one of them out and it can be done" if not effort.over() else "Fewer papers may do as well"
    return (
        f"{papers(codes)} {cannot}, even if all other papers were left out. They need "
        f"{int(problem.demand[codes].sum())} reviews; {people(who)} may take them, with "
        f"{each(problem.load[who], 'load', of='of')}{_known(problem, who)}. {smallest}."
    )


def _known(problem: Problem, who: IntArray) -> str:
    """Say how many of some reviewers have a yes, or how many different values, of each attribute of a rule."""
    parts = []
    for name, attribute in {attribute.name: attribute for attribute in problem.ruled.attributes}.items():
        values = attribute.value[np.isin(attribute.owner, who)]
        parts.append(f"{values.size} {name}" if attribute.flag else f"of {np.unique(values).size} different {name}")
    return f" ({', '.join(parts)})" if parts else ""


def _shrink(problem: Problem, items: BoolArray, effort: Clock) -> BoolArray:
    """Leave out papers, half of what is left to try at a time, while the rest stays infeasible."""
    core = items.copy()
    todo: list[IntArray] = [np.flatnonzero(items)]
    while todo and not effort.over():
        part = todo.pop()
        if part.size == int(core.sum()) and part.size > 1:
            todo += np.array_split(part, 2)
            continue
        rest = core.copy()
        rest[part] = False
        if rest.any() and not feasible(problem, rest, effort):
            core = rest
        elif part.size > 1:
            todo += np.array_split(part, 2)
    return core
