"""The status of a plan, its expected gain, what is missing and why in words, the rules on it, and what reviews join."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from planner._plans.constraints import Needs, People, no_pairs
from planner._plans.task import Task, allowed_pairs
from planner.rules import first_named, ruled_by
from reviewgraph._base import BoolArray, IntArray, Label, Mentions, Nouns, Status, counted, noun
from reviewgraph.graph import connected_components

if TYPE_CHECKING:
    from planner._plans.target import Groups, Ledger, Target
    from reviewgraph.table import Reviews


class PlanStatus(Status):
    """Status of a plan; :attr:`text` explains it.

    >>> PlanStatus("feasible").text
    'This plan reaches the target; whether a smaller one does is open.'
    """

    OPTIMAL = "optimal", "This is proved to be the smallest plan."
    FEASIBLE = "feasible", "This plan reaches the target; whether a smaller one does is open."
    INFEASIBLE = "infeasible", "There is no such plan."
    BUDGET_EXHAUSTED = "budget_exhausted", "This plan is partial."
    LEVEL_MISSED = "level_missed", "This plan is partial."
    BEST_EFFORT = "best_effort", "No plan meets the request: this is the best partial plan found."
    EXTENDED = "extended", "The target is reached; further reviews were chosen one by one, each for the largest gain."
    CHOSEN = "chosen", "Reviews were chosen one by one, each for the largest gain after those before it."

    @property
    def may_grow(self) -> bool:
        """Whether more reviews may be added."""
        return self is not PlanStatus.INFEASIBLE and not self.is_partial

    @property
    def is_partial(self) -> bool:
        """Whether such a plan may miss its target."""
        return self in (PlanStatus.BUDGET_EXHAUSTED, PlanStatus.LEVEL_MISSED, PlanStatus.BEST_EFFORT)

    @property
    def reaches(self) -> bool:
        """Whether such a plan reaches its target."""
        return self in (PlanStatus.OPTIMAL, PlanStatus.FEASIBLE, PlanStatus.EXTENDED)


@dataclass(frozen=True)
class Purchase:
    """Expected gain of a plan, under the model from which it was made.

    ``before`` and ``after`` are totals in ``unit`` without and with the reviews of the plan, fixed ones included in
    both, ``at_random`` with as many reviews of random papers. Reviews from number ``first`` on serve the objective;
    ``helps`` explains them to the reviewers invited.
    """

    unit: str
    before: float
    after: float
    at_random: float
    first: int
    helps: str

    def to_dict(self) -> dict[str, Any]:
        return {"unit": self.unit, "before": self.before, "after": self.after, "at_random": self.at_random}


def what_is_missing(people: People, needs: Needs, among: BoolArray) -> list[tuple[int, str]]:
    """Count some papers by the requirement that they miss, described by what they have instead."""
    # What differs among papers is said for the one that needs most.
    most = people.panels.least.max(axis=0, initial=0).tolist()
    words = [fewer(people, group, least) for group, least in enumerate(most)]
    missing = (needs.members[among] > 0).sum(axis=0).tolist()
    return [(count, kind) for count, kind in zip(missing, words, strict=True) if count]


def named_papers(codes: IntArray) -> str:
    """Name some papers, given by code."""
    return f"{noun(codes.size, 'paper')} {first_named([Mentions.PAPERS[i] for i in codes.tolist()])}"


def fewer(people: People, group: int, least: int) -> str:
    """Describe a shortage of a panel group: no senior reviewer, fewer than 2 senior reviewers."""
    kind = people.ruled.kind(group, least)
    return f"no {kind}" if least == 1 else f"fewer than {least} {kind}"


# Reasons why a plan is partial, or why there is none.


def why_partial(target: Target, task: Task, ledger: Ledger) -> str:
    """Explain why there is no complete plan within the budget, or the time."""
    if ledger.out_of_reach and (most := task.capacity(no_pairs())) < ledger.lower_bound:
        beyond = " beyond the fixed ones" if len(task.constraints.fixed) else ""
        needs = f"the target {target.name} needs {counted(ledger.lower_bound, 'review')} or more{beyond}"
        return f"{needs}, and loads, limits and conflicts allow {most} at most, whatever the budget"
    if ledger.out_of_reach:
        needs = " and what papers must have need" if any(b.kind == "coverage" for b in ledger.bounds) else " needs"
        return f"the target {target.name}{needs} more reviews than the budget allows"
    if ledger.pairs is not None:
        return f"no plan for the target {target.name} within the budget was found; that there is none is not proved"
    return f"no plan for the target {target.name} was found, and none was proved impossible"


def still_short(task: Task, pairs: IntArray) -> list[str]:
    """Count the papers that stay short of reviews."""
    people = task.constraints.people
    needs = people.needs(task.table(pairs))
    lacking = [(count, f"with {kind}") for count, kind in what_is_missing(people, needs, np.ones(task.n_items, bool))]
    if short := int((needs.reviews > 0).sum()):
        least = counted(people.min_reviews, "review")
        lacking.insert(0, (short, f"short of {least}, {int(needs.reviews.sum())} in all"))
    return [f"{counted(count, 'paper stays', 'papers stay')} {words}" for count, words in lacking]


def why_not(task: Task, target: Target) -> list[str]:
    """Explain why a target cannot be reached: unreadable papers, unreachable groups, insufficient loads."""
    rules = task.constraints
    table = rules.reviews
    if not table.n_reviewers:
        return ["there are no reviewers; add the files with their reviews, or name emergency reviewers"]
    if not (task.spare > 0).any():
        return ["no reviewer has spare load; raise loads, or name emergency reviewers"]
    # Each reason alone suffices: unread papers, papers outside, and insufficient loads.
    readers = np.zeros(task.n_items, np.int64)
    for j in np.flatnonzero(task.spare > 0).tolist():
        readers[rules.readable(j)] += 1
    is_unread = (table.reviews_per_item == 0) & (readers == 0)
    is_apart = (readers == 0) & ~is_unread
    is_apart[target.largest_group(task.table(no_pairs()))] = False
    reasons = []
    if is_unread.any():
        papers = named_papers(np.flatnonzero(is_unread))
        reasons.append(f"nobody has reviewed, or may review, {papers}: conflicts or loads prevent it")
    if is_apart.any():
        papers = named_papers(np.flatnonzero(is_apart))
        are = noun(int(is_apart.sum()), "is", "are")
        reasons.append(f"no one with spare load may read {papers}, which {are} outside the largest group")
    remedy = "allow more pairs, raise loads or limits, or name emergency reviewers"
    pairs = allowed_pairs(task)
    if not target.reaches(task.table(pairs)):
        all_written = "even if every allowed review were written, some papers would not be"
        return [*reasons, f"{all_written} {target.apart}; {remedy}"]
    useful = np.minimum(task.spare, np.bincount(pairs[:, 0], minlength=task.spare.size))
    limits = "" if (task.room >= task.spare.size).all() else " and the limits of the papers"
    loads = f"within the spare loads (which add up to {int(useful.sum())}){limits}"
    return [*reasons, f"all allowed reviews together would suffice, but no choice of them {loads}; {remedy}"]


def fixed_too_many(task: Task, budget: int | None) -> list[str]:
    """Say that the fixed reviews exceed the budget, of which ``budget`` remains for others; empty if they do not."""
    fixed = len(task.constraints.fixed)
    if budget is None or budget >= 0:
        return []
    return [f"{counted(fixed, 'review is', 'reviews are')} fixed, which is more than the {fixed + budget} allowed"]


# Rules.


class RuleStanding(NamedTuple):
    """Rule of an ``option``, in ``words``: the number of ``papers`` on which it holds, and the others.

    Existing reviews may break a rule, and a partial plan may leave one unfulfilled.
    """

    option: str
    words: str
    papers: int
    broken: tuple[Label, ...]


def standing(people: People, table: Reviews) -> list[RuleStanding]:
    """Return for each rule the papers of a table on which it holds."""
    standings = []
    for rule, attribute in zip(people.ruled.rules, people.ruled.attributes, strict=True):
        alone = People(ruled_by([(rule, attribute)], table.n_reviewers, table.n_items))
        holds = (alone.needs(table).each == 0) & (alone.free(table) >= 0).all(axis=1)
        broken = tuple(table.items[i] for i in np.flatnonzero(~holds).tolist())
        standings.append(RuleStanding(rule.text, rule.words(attribute), int(holds.sum()), broken))
    return standings


# What each review of a plan joins, in the order in which they arrive; the groups are those of the plan's target.

#: Of a review that joins nothing.
IN_RESERVE = "in reserve"
#: Groups of which not all sizes are said.
MANY = 4


def joins(task: Task, target: Target, pairs: IntArray) -> tuple[list[str], list[int], list[int]]:
    """Describe what each review joins when they arrive in this order.

    Returns the descriptions, and after each review the size of the largest group and the number of groups. The task has
    no fixed reviews, ``pairs`` is (P, 2).
    """
    table = task.constraints.reviews
    groups = ArrivingGroups(table, target.groups(table))
    descriptions = []
    covers = []
    left = []
    for place, partners in enumerate(target.merges(task, pairs)):
        j, i = pairs[place].tolist()
        why = groups.arrival(j, i, partners)
        descriptions.append(why)
        covers.append(groups.largest)
        left.append(groups.count)
    worded = Nouns(*table._nouns).worded
    labelled = Mentions.labelled(table.reviewers, table.items)
    return [labelled(worded(why)) for why in filled(task, pairs, descriptions)], covers, left


class Forest:
    """Groups that join, each named by the group that took the others in."""

    def __init__(self, size: int) -> None:
        self.home = list(range(size))

    def root(self, group: int) -> int:
        """Return the name of the group that a group is a part of."""
        while self.home[group] != group:
            self.home[group] = self.home[self.home[group]]
            group = self.home[group]
        return group


class Islands(Forest):
    """The connected components of a table as reviews arrive, and their numbers of papers."""

    def __init__(self, table: Reviews) -> None:
        components = connected_components(table)
        super().__init__(len(components))
        self.of_reviewer = components.labels.tolist()
        self.of_item = components.item_labels.tolist()
        self.papers = components.cover_sizes.tolist()

    def arrival(self, reviewer: int, item: int) -> tuple[int, int] | None:
        """Add a review; return the numbers of papers of two islands that it joins, None if it joins none."""
        home = self.root(self.of_reviewer[reviewer])
        other = self.root(self.of_item[item])
        if other == home:
            return None
        sizes = self.papers[home], self.papers[other]
        self.home[other] = home
        self.papers[home] = sum(sizes)
        return sizes


def in_a_row(words: list[str]) -> str:
    """Return words as a list in a sentence.

    >>> in_a_row(["19", "17"]), in_a_row(["19", "17", "2 more"])
    ('19 and 17', '19, 17 and 2 more')
    """
    return f"{', '.join(words[:-1])} and {words[-1]}"


class ArrivingGroups(Forest):
    """Groups as reviews arrive: group g covers ``cover[g]``, in the order in which the items came in."""

    def __init__(self, table: Reviews, groups: Groups) -> None:
        super().__init__(len(groups.covers))
        self.labels = groups.labels.tolist()
        self.lack = "review" if table.scored.all() and table.n_reviews else "reviewer"
        self.islands = Islands(table)
        self.reviewed = (table.reviews_per_item > 0).tolist()
        self.cover = [dict.fromkeys(cover.tolist()) for cover in groups.covers]
        self.largest = max(map(len, self.cover), default=0)
        self.count = sum(map(bool, self.cover))
        # Groups without a reviewer: papers nobody reviews, where these count as groups.
        held = set(self.labels)
        self.unread = {i for g, cover in enumerate(self.cover) if g not in held for i in cover}

    def arrival(self, reviewer: int, item: int, joined_reviewers: list[int]) -> str:
        """Add a review after which the groups of some other reviewers join; describe what it joins."""
        home, *partners = (self.root(self.labels[code]) for code in (reviewer, *joined_reviewers))
        why = self._description(reviewer, home, item, partners)
        # A reviewer without reviews makes a group with the first one.
        self.count += (not self.cover[home]) - len(partners) - (item in self.unread)
        self.unread.discard(item)
        self.cover[home][item] = None
        for partner in partners:
            self.home[partner] = home
            self.cover[home].update(self.cover[partner])
        self.largest = max(self.largest, len(self.cover[home]))
        return why

    def _description(self, reviewer: int, home: int, item: int, partners: list[int]) -> str:
        before = len(self.cover[home])
        islands = self.islands.arrival(reviewer, item)
        if not self.reviewed[item]:
            self.reviewed[item] = True
            return f"has no {self.lack}"
        if before == 0:
            return "brings in a reviewer"
        partner, common = self._shared(home, item, partners)
        others = [len(self.cover[group]) for group in partners if group != partner]
        if not partners and islands is None:
            return IN_RESERVE if item in self.cover[home] else f"joins a group of {counted(before, 'paper')}"
        if islands is not None and common < 0:
            of = in_a_row([*map(str, islands), *(["more"] if others else [])])
            return f"joins islands of {of} papers"
        sizes = [str(size) for size in (before, len(self.cover[partner]), *others)]
        joined = in_a_row(sizes if len(sizes) < MANY else [*sizes[:2], f"{len(others)} more"])
        return f"joins groups of {joined}{f' sharing {Mentions.PAPERS[common]}' if common >= 0 else ''}"

    def _shared(self, home: int, item: int, partners: list[int]) -> tuple[int, int]:
        """Return the first partner that covers an item and already shares another with a group, and that other item.

        Without one, the first partner and -1.
        """
        for partner in partners if item not in self.cover[home] else ():
            if item in self.cover[partner]:
                small, large = sorted((self.cover[partner], self.cover[home]), key=len)
                common = next((thing for thing in small if thing in large), -1)
                if common >= 0:
                    return partner, common
        return (partners[0] if partners else -1), -1


def filled(task: Task, pairs: IntArray, descriptions: list[str]) -> list[str]:
    """Replace what reviews in reserve join, in turn, by the needs of their papers that they fill."""
    people = task.constraints.people
    table = task.table(no_pairs())
    count = table.reviews_per_item.tolist()
    missing = people.needs(table).members.copy()
    place, group = people.groups_of(pairs[:, 0], pairs[:, 1])
    with_needs = []
    for k, (i, why) in enumerate(zip(pairs[:, 1].tolist(), descriptions, strict=True)):
        needs = []
        if 0 < count[i] < people.min_reviews:
            needs.append(f"has {count[i]} of {people.min_reviews} reviews")
        count[i] += 1
        for panel_group in group[place == k].tolist():
            lacking = int(missing[i, panel_group])
            if lacking > 0:
                needs.append(f"lacks {lacking} {people.ruled.kind(panel_group, lacking)}")
                missing[i, panel_group] -= 1
        with_needs.append("; ".join(needs) if why == IN_RESERVE and needs else why)
    return with_needs
