"""What each review of a plan joins, in the words of a chair; the groups are those of the plan's target."""

from __future__ import annotations

from contextlib import suppress
from heapq import nsmallest
from typing import TYPE_CHECKING, NamedTuple

from planner.plans.model.losses import Loss, after_loss
from planner.plans.model.task import looked_at
from reviewgraph.clock import Clock, TimeOver
from reviewgraph.words import counted, noun

if TYPE_CHECKING:
    from collections.abc import Iterable

    from planner.plans.model.losses import Losses
    from planner.plans.model.target import Groups, Target
    from planner.plans.model.task import Task
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import Reviews

#: Losses looked at for one that a review mends.
LOOKED_AT = 50


class Joined(NamedTuple):
    """What a review joins, in a sentence and in a few words for a table."""

    words: str
    short: str


def joins(task: Task, target: Target, pairs: IntArray, clock: Clock) -> tuple[list[Joined], list[int], list[int]]:
    """Say what each review joins when they arrive in this order, and what there is then.

    That is how many items the largest group covers, and how many groups are left.

    Parameters
    ----------
    task
        What is planned, without fixed reviews.
    target
        Says what a group is, and which groups become one.
    pairs
        Shape (P, 2).
    clock
        When to look no further for losses that reviews mend.
    """
    table = task.constraints.reviews
    known = Known(table, target.groups(table, use_scores=task.use_scores))
    found, covers, left = [], [], []
    backups = None if target.losses is None else Backups(task, target, target.losses, clock)
    for place, others in enumerate(target.merges(task, pairs)):
        j, i = pairs[place].tolist()
        joined = known.arrival(j, i, others)
        if backups is not None and not others:
            joined = backups.after(pairs, place) or joined
        found.append(joined._replace(words=f"{table.reviewers[j]} reads paper {table.items[i]}: {joined.words}"))
        covers.append(known.largest)
        left.append(known.count)
    return found, covers, left


class Backups:
    """What reviews join after a loss, where they join nothing as long as all others arrive."""

    def __init__(self, task: Task, target: Target, losses: Losses, clock: Clock) -> None:
        self.task, self.target, self.losses, self.clock = task, target, losses, clock
        self.open: list[Loss] | None = None

    def after(self, pairs: IntArray, place: int) -> Joined | None:
        """Name a loss that a review helps to mend, once those before it have arrived; None where none is found."""
        with suppress(TimeOver):
            return self._mended(pairs, place)
        return None

    def _mended(self, pairs: IntArray, place: int) -> Joined | None:
        before, table = pairs[:place], self.task.constraints.reviews
        if self.open is None or self.open == [Loss()]:
            self.open = self.losses.failing(self.task.table(before), self.clock)
        for loss in self.clock.watch(self.open[:LOOKED_AT]):
            left = after_loss(self.task, before, loss)
            self.clock.spend(2 * looked_at(table))
            if left.is_done:
                self.open.remove(loss)
            elif loss.reviewer >= 0:
                joined = self._joined(left, pairs[place])
                if joined is not None:
                    lost = self.losses.words(loss, table.reviewers, table.items)
                    return Joined(f"{lost}, {joined.words}", f"{joined.short} {lost}")
        return None

    def _joined(self, left: Task, pair: IntArray) -> Joined | None:
        """Say what a review joins in what is left after a loss; None where it joins nothing."""
        j, i = pair.tolist()
        known = Known(left.constraints.reviews, self.target.groups(left.constraints.reviews))
        (others,) = self.target.merges(left, pair[None, :])
        lost = left.spare[j] <= 0 or not left.constraints.may_read(j, i)
        return None if lost or (not others and i in known.cover[known.group_of(j)]) else known.arrival(j, i, others)


class Known:
    """Groups as reviews arrive: group g covers ``cover[g]``, in the order in which the items came in.

    ``home`` is the forest of groups, each named by the group that took the others in; ``centres`` are the papers of
    most reviews in each, for groups that were asked for.
    """

    def __init__(self, table: Reviews, groups: Groups) -> None:
        self.table, self.labels = table, groups.labels.tolist()
        self.home = list(range(len(groups.covers)))
        self.cover = [dict.fromkeys(cover.tolist()) for cover in groups.covers]
        self.reviews = table.reviews_per_item.tolist()
        self.centres: dict[int, list[int]] = {}
        self.largest = max(map(len, self.cover), default=0)
        self.count = sum(map(bool, self.cover))
        # Groups without a reviewer: papers nobody reviews, where these count as groups.
        held = set(self.labels)
        self.unread = {i for g, cover in enumerate(self.cover) if g not in held for i in cover}

    def group_of(self, reviewer: int) -> int:
        """Name of a reviewer's group."""
        g: int = self.labels[reviewer]
        while self.home[g] != g:
            self.home[g] = self.home[self.home[g]]
            g = self.home[g]
        return g

    def arrival(self, reviewer: int, item: int, others: list[int]) -> Joined:
        """Let a review arrive after which the groups of some other reviewers join; returns what it joins."""
        own = self.group_of(reviewer)
        partners = [self.group_of(other) for other in others]
        joined = self._said(own, item, partners)
        centres = self._first({item, *(i for g in (own, *partners) for i in self._centres(g))})
        # Who reviewed nothing so far makes a group with the first review.
        self.count += (not self.cover[own]) - len(partners) - (item in self.unread)
        self.unread.discard(item)
        self.cover[own][item] = None
        for partner in partners:
            self.home[partner] = own
            self.cover[own].update(self.cover[partner])
        self.centres[own] = centres
        self.largest = max(self.largest, len(self.cover[own]))
        if len(partners) > 1:
            follow = "1 more group follows" if len(partners) == 2 else f"{len(partners) - 1} more groups follow"
            words = f"{joined.words}; {follow}, {len(self.cover[own])} papers in all"
            return Joined(words, f"{joined.short} and {counted(len(partners) - 1, 'group')}")
        return joined

    def _said(self, own: int, item: int, partners: list[int]) -> Joined:
        before = len(self.cover[own])
        if not partners:
            if item in self.cover[own]:
                return Joined("it is in the reviewer's group already: a link in reserve", "in reserve")
            if before == 0:
                return Joined("a first paper for this reviewer; with the next it links", "first of two")
            text = f"the paper joins the group of {before} {noun(before, 'paper')} around {self._centre(own)}"
            return Joined(text, f"{before} + the paper")
        shared = self._shared(own, item, partners)
        partner, common = shared or (partners[0], -1)
        if before == 0:
            text = f"joins the reviewer to the group of {self._size(partner)} around {self._centre(partner)}"
            return Joined(text, f"{len(self.cover[partner])} + the reviewer")
        text = (
            f"joins the group of {before} {noun(before, 'paper')} around {self._centre(own, (item, common))} to the "
            f"group of {len(self.cover[partner])} around {self._centre(partner, (common,))}"
        )
        if shared:
            text += f"; they then share papers {self.table.items[item]} and {self.table.items[common]}"
        return Joined(text, f"{before} + {len(self.cover[partner])}")

    def _size(self, group: int) -> str:
        return f"{len(self.cover[group])} {noun(len(self.cover[group]), 'paper')}"

    def _shared(self, own: int, item: int, partners: list[int]) -> tuple[int, int] | None:
        """Find the first partner that covers an item and shares another with a group already, and that other one."""
        for partner in partners if item not in self.cover[own] else ():
            if item in self.cover[partner]:
                small, large = sorted((self.cover[partner], self.cover[own]), key=len)
                common = next((thing for thing in small if thing in large), None)
                if common is not None:
                    return partner, common
        return None

    def _centre(self, group: int, but: tuple[int, ...] = ()) -> str:
        """Name of a group: its paper of most reviews, the first of equals, if possible none of those in ``but``."""
        centres = self._centres(group)
        best = next((i for i in centres if i not in but), next(iter(centres), -1))
        return f"paper {self.table.items[best]}" if best >= 0 else "no paper"

    def _centres(self, group: int) -> list[int]:
        if group not in self.centres:
            self.centres[group] = self._first(self.cover[group])
        return self.centres[group]

    def _first(self, items: Iterable[int]) -> list[int]:
        """List the papers of most reviews, the first of equals first; one more than a name leaves out."""
        return nsmallest(3, items, key=lambda i: (-self.reviews[i], i))
