"""A plan in words: its page, what each review joins, how far it gets, and why there is none."""

from __future__ import annotations

from contextlib import suppress
from heapq import nsmallest
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner._plans.constraints import no_pairs
from planner._plans.outcome import NAMED, PlanStatus, named_papers, what_is_missing
from planner._plans.task import Loss, after_loss, allowed_pairs, looked_at
from reviewgraph._base import Clock, Mentions, counted, listed, noun, text_table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from planner._plans.outcome import RuleStanding
    from planner._plans.plan import Plan
    from planner._plans.process import Asked, Rounds, Terms
    from planner._plans.target import Groups, Ledger, Reach, Target
    from planner._plans.task import Losses, Task
    from reviewgraph._base import IntArray
    from reviewgraph.table import Reviews


def page(plan: Plan) -> str:
    reviews = plan.constraints.reviews
    caveats = reviews.origin.caveats(reviews.n_items)
    lines = [*caveats, ""] if caveats else []
    lines += [] if plan.purchase is None else [reviews.direction, ""]
    lines += _table(plan) if plan.reviews else []
    lines += [" ".join(verdict(plan)), *rule_lines(plan)]
    lines += [f"{sentence[:1].upper()}{sentence[1:]}." for sentence in plan.explanation]
    lines += [] if plan.shortage is None else plan.shortage.sentences()
    lines += round_lines(plan)
    return "\n".join(lines)


def rule_lines(plan: Plan) -> list[str]:
    """List the rules on people, the papers on which they hold, and existing violations."""
    if not plan.rules:
        return []
    return ["Rules on who reviews a paper together:", *(f"  {_rule_line(rule)}" for rule in plan.rules)]


def _rule_line(rule: RuleStanding) -> str:
    broken = ""
    if rule.broken:
        more = f" and {len(rule.broken) - NAMED} more" if len(rule.broken) > NAMED else ""
        broken = f", not on {len(rule.broken)} ({', '.join(map(str, rule.broken[:NAMED]))}{more})"
    return f"{rule.words}: holds on {counted(rule.papers, 'paper')}{broken} ({rule.option})"


def verdict(plan: Plan) -> list[str]:
    """Return the status and what is proved, in a few sentences."""
    if plan.status == PlanStatus.INFEASIBLE:
        return [PlanStatus.INFEASIBLE.text]
    if not plan.reviews and plan.status == PlanStatus.OPTIMAL and plan.attained:
        few = " for the papers of this file" if plan.constraints.reviews.origin.unlisted else ""
        return [f"Nothing is missing: no extra review is needed{few}."]
    if plan.status == PlanStatus.CHOSEN:
        return [plan.status.text, f"Reviews: {plan.count}."]
    if plan.status == PlanStatus.BEST_EFFORT:
        return [plan.status.text, f"Reviews: {plan.count}.", *load_words(plan)]
    sentences = [_how_it_ended(plan), f"Reviews: {plan.count}; lower bound: {plan.lower_bound}."]
    if not plan.attained and plan.count < plan.lower_bound:
        few = counted(plan.count, "review")
        sentences = [f"This plan is partial: {few}; the target needs {plan.lower_bound} or more."]
    if plan.lower_bound:
        fixed = len(plan.constraints.fixed)
        beyond = f" beyond the {fixed} fixed" if fixed else ""
        # A partial plan has too few reviews: its bound explains why the target takes more.
        why = "Why not fewer" if plan.attained else f"Why at least {plan.lower_bound - fixed}"
        sentences.append(f"{why}{beyond}: {max(plan.bounds, key=lambda bound: bound.value).sentence}.")
    return sentences + load_words(plan)


def load_words(plan: Plan) -> list[str]:
    """Return the maximum extra reviews per reviewer, and whether a smaller maximum may be feasible."""
    least = plan.largest_load_lower_bound
    largest = plan.largest_load
    if not plan.reviews:
        return []
    # With affinities loads come before them.
    costs = plan.constraints.cost and plan.constraints.cost.best is None
    proof = ""
    alike = f"{counted(plan.count, 'review')}{' at this cost' if costs else ''}"
    if least == largest:
        proof = f", the least possible for a plan of {alike}"
    elif least is not None:
        proof = f"; a plan of {alike} needs at least {least}, and whether fewer than {largest} are enough is not known"
    return [f"Maximum extra reviews per reviewer: {largest}{proof}."]


def _how_it_ended(plan: Plan) -> str:
    """Return the status; the number may be proved minimal when the cost is not."""
    if not plan.attained:
        return PlanStatus.LEVEL_MISSED.text
    if plan.status == PlanStatus.FEASIBLE and plan.smallest:
        better = "costs less" if plan.constraints.cost.best is None else "has a higher affinity"
        return (
            "This plan has the fewest reviews that reach the target; whether another plan with the same number of "
            f"reviews {better} is not known."
        )
    return plan.status.text


def _table(plan: Plan) -> list[str]:
    """Return one line per review, after a legend of the columns."""
    table = plan.constraints.reviews
    prices = plan.constraints.cost
    priced = "affinity" if prices.best is not None else "cost" if prices else ""
    deal = plan.purchase
    columns: dict[str, list[str]] = {
        "paper": [f"{review.item} {table.titles.get(review.item, '')}".strip() for review in plan.reviews],
        "reviewer": [str(review.reviewer) for review in plan.reviews],
    }
    if plan.links:
        columns["joins"] = [review.short for review in plan.reviews]
        columns["largest"] = [f"{review.covers}" for review in plan.reviews]
    if priced:
        columns[priced] = [f"{getattr(review, priced):g}" for review in plan.reviews]
    if deal is not None:
        columns["buys"] = ["-" if review.gain is None else f"{review.gain:.2g}" for review in plan.reviews]
    text = [place for place, name in enumerate(columns) if name in ("paper", "reviewer", "joins")]
    rows = list(zip(*columns.values(), strict=True))
    return [*_head(plan), "", *text_table(list(columns), rows, text), ""]


def _head(plan: Plan) -> list[str]:
    table = plan.constraints.reviews
    of = counted(table.n_items, "paper") + table.origin.of_this_file
    lines = [counted(plan.count, "extra review") + (", most helpful first." if plan.count > 1 else ".")]
    if plan.links:
        lines.append(
            "joins: the groups that the review merges, by their numbers of papers. largest: papers in the largest "
            f"group after the review, of {of}."
        )
    if plan.purchase is not None:
        saved = "wrong selections saved, with the cut where it is"
        lines.append(f"buys: {plan.purchase.unit if plan.rounds is None else saved}.")
    return lines


# A round of a process: what is held back, and what each round is expected to save.

#: One sentence for authors.
TO_AUTHORS = (
    "To authors: papers get further reviews where the reviews so far leave it open whether they are selected; all "
    "papers are compared by the same calibrated scores, whatever their number of reviews."
)


def round_lines(plan: Plan) -> list[str]:
    """Return the paragraphs on a round; nothing for other plans."""
    rounds = plan.rounds
    if rounds is None:
        return []
    if rounds.stop is not None:
        return ["", *where_it_stands(rounds), f"The process ends here: {rounds.stop}."]
    return [
        "",
        *where_it_stands(rounds),
        "",
        *_table_of_rounds(rounds),
        "",
        *expectations(rounds),
        "",
        TO_AUTHORS,
    ]


def where_it_stands(rounds: Rounds) -> list[str]:
    """Return what this round spends and what is held back, and what came of earlier rounds."""
    terms = rounds.terms
    number = rounds.number
    place = f"Round {number} of {number + rounds.left - 1} ({rounds.name} in uploads)"
    kept = f", {rounds.held_back} held back for later rounds"
    if rounds.stop or rounds.left == 1:
        kept = f", {rounds.unspent} not spent" if rounds.unspent else ""
    elif not rounds.held_back:
        kept = "; nothing is held back, so this round is the last"
    lines = [f"{place}: {rounds.now} of {counted(rounds.budget, 'review')} now{kept}."]
    if rounds.capacity < rounds.budget:
        lines.append(
            f"Loads, limits and conflicts allow {rounds.capacity} of the {rounds.budget} at most: the other "
            f"{rounds.budget - rounds.capacity} cannot be asked for, and what is expected below is without them."
        )
    if rounds.required and terms.rules.get("min_reviews"):
        least = terms.rules["min_reviews"]
        lines.append(f"The first {rounds.required} of them bring papers to {counted(int(least or 0), 'review')}.")
    for reviews, words in (
        (terms.outstanding, "of earlier rounds without a score yet, counted as still to come"),
        (terms.lost, "of earlier rounds will not come; the budget has them back"),
    ):
        if reviews:
            lines.append(f"{counted(len(reviews), 'review')} {words}: {_named(reviews)}")
    if terms.absent:
        lines.append(absent_words(terms))
    unplaced = min(rounds.share, rounds.capacity) - (rounds.now - rounds.required)
    if unplaced > 0 and not rounds.stop and not terms.worth:
        words = "loads, conflicts or rules, or no gain, left"
        lines.append(f"{words[:1].upper()}{words[1:]} {counted(unplaced, 'review')} of this round unused.")
    return lines


def absent_words(terms: Terms) -> str:
    """Return what it may mean that outstanding reviews are in none of the files."""
    planned = counted(len(terms.absent), "planned review is", "planned reviews are")
    return (
        f"{planned} in none of the files: not uploaded, or declined? Add the file of the assignments (HotCRP: "
        "pcassignments.csv), upload what is missing, and list in --gone what was declined."
    )


def _named(reviews: tuple[Asked, ...]) -> str:
    return listed([f"{review.item} by {review.reviewer}" for review in reviews], end=".")


def _table_of_rounds(rounds: Rounds) -> list[str]:
    first = rounds.number
    rows = [("now", "", f"{rounds.before:.2f}", "")]
    rows += [
        (
            f"round {first + expected.rounds - 1} ({rounds.name_after(expected.rounds - 1)})",
            f"{expected.reviews:.0f}",
            f"{expected.wrong:.2f}",
            f"{expected.error:.2f}",
        )
        for expected in rounds.after
    ]
    return text_table(["after", "reviews in all", f"wrong of {rounds.terms.select}", "+-"], rows, [0])


def expectations(rounds: Rounds) -> list[str]:
    """Return what other numbers of rounds would reach."""
    first, *more = rounds.reach
    reach = f"{first.wrong:.2f}"
    if more:
        later = ", ".join(f"{expected.wrong:.2f} in {expected.rounds}" for expected in more)
        reach += f" in 1 round, {later} equal rounds"
    lines = [
        f"Expected wrong selections after all {rounds.reach[-1].reviews:.0f} reviews: {reach}; {rounds.even.wrong:.2f} "
        "with these reviews spread evenly over all papers."
    ]
    lines.append(
        f"These are means of {rounds.rollouts} simulated continuations, with standard errors (+-), in which loads and "
        "conflicts do not bind and future scores are as noisy as the existing ones."
    )
    return lines


# What each review of a plan joins; the groups are those of the plan's target.

#: Losses tested for one that a review helps to repair.
LOOKED_AT = 50


class Joined(NamedTuple):
    words: str
    short: str


def joins(task: Task, target: Target, pairs: IntArray, clock: Clock) -> tuple[list[Joined], list[int], list[int]]:
    """Describe what each review joins when they arrive in this order.

    Returns the descriptions, and after each review the size of the largest group and the number of groups. The task has
    no fixed reviews, ``pairs`` is (P, 2); once the clock is over, reviews are not checked against losses.
    """
    table = task.constraints.reviews
    groups = ArrivingGroups(table, target.groups(table))
    descriptions = []
    covers = []
    left = []
    backups = None if target.losses is None else Backups(task, target, target.losses, clock)
    for place, partners in enumerate(target.merges(task, pairs)):
        j, i = pairs[place].tolist()
        joined = groups.arrival(j, i, partners)
        if backups is not None and not partners:
            joined = backups.after(pairs, place) or joined
        if not target.level.compares:  # groups are no matter
            joined = Joined(f"so that all papers get {target.level.words}", "")
        descriptions.append(joined._replace(words=f"{table.reviewers[j]} reads paper {table.items[i]}: {joined.words}"))
        covers.append(groups.largest)
        left.append(groups.count)
    return descriptions, covers, left


class Backups:
    """What reviews join after a loss, if they join nothing without one."""

    def __init__(self, task: Task, target: Target, losses: Losses, clock: Clock) -> None:
        self.task = task
        self.target = target
        self.losses = losses
        self.clock = clock
        self.open: list[Loss] | None = None

    def after(self, pairs: IntArray, place: int) -> Joined | None:
        """Name a loss that a review helps to repair, once those before it have arrived; None if none is found."""
        with suppress(Clock.Over):
            return self._repaired(pairs, place)
        return None

    def _repaired(self, pairs: IntArray, place: int) -> Joined | None:
        before = pairs[:place]
        table = self.task.constraints.reviews
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
        """Describe what a review joins in the reviews left after a loss; None if it joins nothing."""
        j, i = pair.tolist()
        groups = ArrivingGroups(left.constraints.reviews, self.target.groups(left.constraints.reviews))
        (partners,) = self.target.merges(left, pair[None, :])
        lost = left.spare[j] <= 0 or not left.constraints.may_read(j, i)
        return (
            None if lost or (not partners and i in groups.cover[groups.group_of(j)]) else groups.arrival(j, i, partners)
        )


class ArrivingGroups:
    """Groups as reviews arrive: group g covers ``cover[g]``, in the order in which the items came in.

    ``home`` is the forest of groups, each named by the group that took the others in; ``centres`` caches the papers of
    most reviews in each.
    """

    def __init__(self, table: Reviews, groups: Groups) -> None:
        self.labels = groups.labels.tolist()
        self.table = table
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
        g: int = self.labels[reviewer]
        while self.home[g] != g:
            self.home[g] = self.home[self.home[g]]
            g = self.home[g]
        return g

    def arrival(self, reviewer: int, item: int, joined_reviewers: list[int]) -> Joined:
        """Add a review after which the groups of some other reviewers join; describe what it joins."""
        home = self.group_of(reviewer)
        partners = [self.group_of(reviewer_of_group) for reviewer_of_group in joined_reviewers]
        joined = self._description(home, item, partners)
        centres = self._first({item, *(i for g in (home, *partners) for i in self._centres(g))})
        # A reviewer without reviews makes a group with the first one.
        self.count += (not self.cover[home]) - len(partners) - (item in self.unread)
        self.unread.discard(item)
        self.cover[home][item] = None
        for partner in partners:
            self.home[partner] = home
            self.cover[home].update(self.cover[partner])
        self.centres[home] = centres
        self.largest = max(self.largest, len(self.cover[home]))
        if len(partners) > 1:
            follow = counted(len(partners) - 1, "more group follows", "more groups follow")
            words = f"{joined.words}; {follow}, {len(self.cover[home])} papers in all"
            return Joined(words, f"{joined.short} and {counted(len(partners) - 1, 'group')}")
        return joined

    def _description(self, home: int, item: int, partners: list[int]) -> Joined:
        before = len(self.cover[home])
        if not partners:
            if item in self.cover[home]:
                return Joined("the paper is in the reviewer's group already; a link in reserve", "in reserve")
            if before == 0:
                return Joined("a first paper for this reviewer; with the next it links", "first of two")
            text = f"the paper joins the group of {counted(before, 'paper')} around {self._centre(home)}"
            return Joined(text, f"{before} + the paper")
        shared = self._shared(home, item, partners)
        partner, common = shared or (partners[0], -1)
        if before == 0:
            size = counted(len(self.cover[partner]), "paper")
            text = f"joins the reviewer to the group of {size} around {self._centre(partner)}"
            return Joined(text, f"{len(self.cover[partner])} + the reviewer")
        text = (
            f"joins the group of {counted(before, 'paper')} around {self._centre(home, (item, common))} to the "
            f"group of {len(self.cover[partner])} around {self._centre(partner, (common,))}"
        )
        if shared:
            text += f"; they then share papers {self.table.items[item]} and {self.table.items[common]}"
        return Joined(text, f"{before} + {len(self.cover[partner])}")

    def _shared(self, home: int, item: int, partners: list[int]) -> tuple[int, int] | None:
        """Find the first partner that covers an item and already shares another with a group, and that other item."""
        for partner in partners if item not in self.cover[home] else ():
            if item in self.cover[partner]:
                small, large = sorted((self.cover[partner], self.cover[home]), key=len)
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


def filled(task: Task, pairs: IntArray, joined: list[Joined]) -> list[Joined]:
    """Add to what each review joins, in turn, the need of its paper that it fills."""
    people = task.constraints.people
    table = task.table(no_pairs())
    needs = people.needs(table)
    count = table.reviews_per_item.tolist()
    missing = needs.members.copy()
    place, group = people.groups_of(pairs[:, 0])
    descriptions = []
    for k, ((_, i), (words, short)) in enumerate(zip(pairs.tolist(), joined, strict=True)):
        count[i] += 1
        if count[i] <= people.min_reviews:
            words += f"; review {count[i]} of the {people.min_reviews} that the paper must have"
            short += f"; review {count[i]} of {people.min_reviews}"
        for panel_group in group[place == k].tolist():
            if missing[i, panel_group] > 0:
                missing[i, panel_group] -= 1
                kind = people.ruled.kind(panel_group)
                words += f"; {'the' if people.panels.least[panel_group] == 1 else 'a'} {kind} of the paper"
                short += f"; {kind.removesuffix(' reviewer').removeprefix('reviewer of ')}"
        descriptions.append(Joined(words, short))
    return descriptions


# How far a partial plan gets.

#: Errors above this multiple of the noise of a score are not distinguished: such papers have no meaningful place.
FAR_OFF = 50


def why_partial(target: Target, ledger: Ledger) -> str:
    """Explain why there is no complete plan within the budget, or the time."""
    if ledger.out_of_reach:
        needs = " and what papers must have need" if any(b.kind == "coverage" for b in ledger.bounds) else " needs"
        return f"the target {target.name}{needs} more reviews than the budget allows"
    if ledger.pairs is not None:
        return f"no plan for the target {target.name} within the budget was found; that there is none is not proved"
    return f"no plan for the target {target.name} was found, and none was proved impossible"


def still_short(task: Task, pairs: IntArray) -> list[str]:
    """Count the papers that stay short of reviews."""
    needs = task.constraints.people.needs(task.table(pairs))
    sentences = []
    if needs.reviews.any():
        short = int((needs.reviews > 0).sum())
        least = task.constraints.people.min_reviews
        sentences.append(
            f"{counted(short, 'paper stays', 'papers stay')} short of {counted(least, 'review')}, "
            f"{int(needs.reviews.sum())} in all"
        )
    for missing, kind in what_is_missing(task.constraints.people, needs, np.ones(task.n_items, np.bool_)):
        sentences.append(f"{counted(missing, 'paper stays', 'papers stay')} with {kind}")
    return sentences


def how_far(target: Target, reach: tuple[Reach, Reach], allowed: int | None, count: int, sure: bool) -> list[str]:
    """Describe how far a partial plan of ``count`` reviews gets, and whether none gets further."""
    before, after = reach
    limit = "these" if allowed is None else f"{count} extra {noun(count, 'review')}"
    grows = f"grows from {before.papers} to" if after.papers != before.papers else "stays at"
    sentences = [f"with {limit} the largest group of papers {target.together} {grows} {after.papers} of {after.of}"]
    if after.error is not None and np.isfinite(after.error) and after.papers > 2:
        now = "" if before.error is None or before.papers <= 2 else f" (before: {_times(before.error)})"
        sentences.append(
            f"expected error of a paper in that group: {_times(after.error)} times the noise of one score{now}, "
            "up to a common shift and scale of all scores"
        )
    if sure:
        sentences.append("all choices within the budget were tried: none is better")
    return sentences


def _times(error: float) -> str:
    return f"{error:.2g}" if error < FAR_OFF else f"over {FAR_OFF}"


def why_not(task: Task, target: Target) -> list[str]:
    """Explain why a target cannot be reached: unreadable papers, unreachable groups, insufficient loads."""
    rules = task.constraints
    table = task.constraints.reviews
    if not (task.spare > 0).any():
        if not table.n_reviewers:
            return ["there are no reviewers; add the files with their reviews, or name emergency reviewers"]
        return ["no reviewer has spare load; raise loads, or name emergency reviewers"]
    # Each reason alone suffices: unread papers, papers outside, and insufficient loads.
    readers = np.zeros(task.n_items, np.int64)
    for j in np.flatnonzero(task.spare > 0).tolist():
        readers[rules.readable(j)] += 1
    reasons = []
    unread = np.flatnonzero((table.reviews_per_item == 0) & (readers == 0))
    if unread.size:
        reasons.append(f"nobody has reviewed, or may review, {named_papers(unread)}: conflicts or loads prevent it")
    inside = np.zeros(task.n_items, np.bool_)
    inside[target.largest_group(task.table(no_pairs()))] = True
    apart = np.setdiff1d(np.flatnonzero(~inside & (readers == 0)), unread)
    if apart.size:
        are = noun(apart.size, "is", "are")
        reasons.append(f"no one with spare load may read {named_papers(apart)}, which {are} outside the largest group")
    return [*reasons, _all_together(task, target)]


def fixed_too_many(task: Task, budget: int | None = None) -> list[str]:
    """Name the spare loads and papers' limits that the fixed reviews exceed; empty if there are none.

    The budget is what remains for others; below 0 they exceed that, too.
    """
    fixed = len(task.constraints.fixed)
    reasons = []
    if budget is not None and budget < 0:
        are = counted(fixed, "review is", "reviews are")
        reasons.append(f"{are} fixed, which is more than the {fixed + budget} allowed")
    loaded = np.flatnonzero(task.spare < 0).tolist()
    full = np.flatnonzero(task.room < 0).tolist()
    reasons += [f"reviewer {Mentions.REVIEWERS[j]} has more fixed reviews than spare load" for j in loaded]
    return reasons + [f"paper {Mentions.PAPERS[i]} has more fixed reviews than its limit" for i in full]


def _all_together(task: Task, target: Target) -> str:
    remedy = "allow more pairs, raise loads or limits, or name emergency reviewers"
    pairs = allowed_pairs(task)
    if not target.reaches(task.table(pairs)):
        return f"even if every allowed review were written, some papers would not be {target.apart}; {remedy}"
    useful = np.minimum(task.spare, np.bincount(pairs[:, 0], minlength=task.spare.size))
    limits = "" if (task.room >= task.spare.size).all() else " and the limits of the papers"
    return (
        f"all allowed reviews together would suffice, but no choice of them within the spare loads (which add up to "
        f"{int(useful.sum())}){limits}; {remedy}"
    )
