"""A plan as a page for people: the table, and what is proved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.plans.model.status import PlanStatus
from reviewgraph.pages import of_this_file
from reviewgraph.terminal import text_table
from reviewgraph.words import counted

if TYPE_CHECKING:
    from planner.plans.model.standing import RuleStanding
    from planner.plans.plan import Plan

#: Papers named before the rest is only counted.
NAMED = 5


def page(found: Plan) -> str:
    """Return the whole page."""
    unlisted = found.constraints.reviews.origin.unlisted
    lines = [f"{unlisted.words}.", ""] if unlisted else []
    lines += _table(found) if found.reviews else []
    lines.append(" ".join(verdict(found)))
    lines += rule_lines(found)
    lines += [f"{sentence[:1].upper()}{sentence[1:]}." for sentence in found.explanation]
    lines += [] if found.shortage is None else found.shortage.sentences()
    return "\n".join(lines)


def rule_lines(found: Plan) -> list[str]:
    """Say which rules on people hold with the plan, and where reviews that are there break one."""
    if not found.rules:
        return []
    return ["Rules on who reviews a paper together:", *(f"  {_rule_line(rule)}" for rule in found.rules)]


def _rule_line(rule: RuleStanding) -> str:
    broken = ""
    if rule.broken:
        more = f" and {len(rule.broken) - NAMED} more" if len(rule.broken) > NAMED else ""
        broken = f", not on {len(rule.broken)} ({', '.join(map(str, rule.broken[:NAMED]))}{more})"
    return f"{rule.words}: holds on {counted(rule.papers, 'paper')}{broken} ({rule.option})"


def verdict(found: Plan) -> list[str]:
    """Say what is proved, in a few sentences."""
    if found.status == PlanStatus.INFEASIBLE:
        return [PlanStatus.INFEASIBLE.text]
    if not found.reviews and found.status == PlanStatus.OPTIMAL and found.attained:
        few = " for the papers of this file" if found.constraints.reviews.origin.unlisted else ""
        return [f"Nothing is missing: no extra review is needed{few}."]
    if found.status == PlanStatus.CHOSEN:
        return [found.status.text, f"Reviews: {found.count}."]
    if found.status == PlanStatus.BEST_EFFORT:
        return [found.status.text, f"Reviews: {found.count}.", *load_words(found)]
    said = [_how_it_ended(found), f"Reviews: {found.count}; needed at least: {found.lower_bound}."]
    if not found.attained and found.count < found.lower_bound:
        few = counted(found.count, "review")
        said = [f"This goes a part of the way only: {few}, and the whole takes {found.lower_bound} or more."]
    if found.lower_bound:
        fixed = len(found.constraints.fixed)
        beyond = f" beyond the {fixed} fixed" if fixed else ""
        said.append(f"Why not fewer{beyond}: {max(found.bounds, key=lambda bound: bound.value).sentence}.")
    return said + load_words(found)


def load_words(found: Plan) -> list[str]:
    """Say how many extra reviews one reviewer gets at most, and whether that could be fewer."""
    least, largest = found.largest_load_lower_bound, found.largest_load
    if not found.reviews:
        return []
    alike = "as many reviews" + (" at this cost" if found.constraints.cost else "")
    proof = "" if least is None else f"; {least} or more with {alike}, and whether fewer than {largest} do is open"
    if least == largest:
        proof = f", the least possible with {alike}"
    return [f"Largest extra load: {counted(largest, 'review')} for one reviewer{proof}."]


def _how_it_ended(found: Plan) -> str:
    """Say what a plan is; the number may be proved where its cost is not."""
    if not found.attained:
        return PlanStatus.LEVEL_MISSED.text
    if found.status == PlanStatus.FEASIBLE and found.smallest:
        better = "costs less" if found.constraints.cost.best is None else "has more affinity"
        return f"This plan does it, and none of fewer reviews does; whether one of as many {better} is open."
    return found.status.text


def _table(found: Plan) -> list[str]:
    """Return a line a review, after a line that says what the columns are."""
    table, prices, alone = found.constraints.reviews, found.constraints.cost, found.status == PlanStatus.CHOSEN
    priced = "affinity" if prices.best is not None else "cost" if prices else ""
    deal = found.purchase
    columns: dict[str, list[str]] = {
        "paper": [f"{review.item} {table.titles.get(review.item, '')}".strip() for review in found.reviews],
        "reviewer": [str(review.reviewer) for review in found.reviews],
    }
    if not alone:
        columns["joins"] = [review.short for review in found.reviews]
        columns["largest"] = [f"{review.covers}" for review in found.reviews]
    if priced:
        columns[priced] = [f"{getattr(review, priced):g}" for review in found.reviews]
    if deal is not None:
        columns["buys"] = ["-" if review.gain is None else f"{review.gain:.2g}" for review in found.reviews]
    text = [place for place, name in enumerate(columns) if name in ("paper", "reviewer", "joins")]
    rows = list(zip(*columns.values(), strict=True))
    return [*_head(found, alone), "", *text_table(list(columns), rows, text), ""]


def _head(found: Plan, alone: bool) -> list[str]:
    """Say what the table lists, and what its columns are."""
    table = found.constraints.reviews
    of = counted(table.n_items, "paper") + of_this_file(table)
    lines = [counted(found.count, "extra review") + (", those that help most first." if found.count > 1 else ".")]
    if not alone:
        lines.append(f"joins: papers of the groups that become one. largest: those of the largest group then, of {of}.")
    if found.purchase is not None:
        lines.append(f"buys: {found.purchase.unit}.")
    return lines
