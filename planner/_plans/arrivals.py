"""What each review of a plan joins, in the order in which they arrive; the groups are those of the plan's target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner._plans.constraints import no_pairs
from reviewgraph._base import Mentions, Nouns, counted
from reviewgraph.graph import connected_components

if TYPE_CHECKING:
    from planner._plans.target import Groups, Target
    from planner._plans.task import Task
    from reviewgraph._base import IntArray
    from reviewgraph.table import Reviews

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
