"""A plan as a page for people: the table, what is proved, and a line a reviewer to mail."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.plans.model.status import PlanStatus
from reviewgraph.words import counted

if TYPE_CHECKING:
    from planner.plans.plan import Plan


def page(found: Plan) -> str:
    """Return the whole page."""
    lines = _table(found) if found.reviews else []
    lines.append(" ".join(verdict(found)))
    lines += [f"{sentence[:1].upper()}{sentence[1:]}." for sentence in found.explanation]
    if found.reviews:
        lines += ["", "To mail:", *(f"  {text}" for text in found.mail().values())]
    return "\n".join(lines)


def verdict(found: Plan) -> list[str]:
    """Say what is proved, in a few sentences."""
    if found.status == PlanStatus.INFEASIBLE:
        return [PlanStatus.INFEASIBLE.text]
    if not found.reviews and found.status == PlanStatus.OPTIMAL and found.attained:
        return ["Nothing is missing: no extra review is needed."]
    if found.status == PlanStatus.CHOSEN:
        return [found.status.text, f"Reviews: {found.count}."]
    status = found.status if found.attained else PlanStatus.BUDGET_EXHAUSTED
    said = [status.text, f"Reviews: {found.count}; needed at least: {found.lower_bound}."]
    if found.lower_bound:
        fixed = len(found.constraints.fixed)
        beyond = f" beyond the {fixed} fixed" if fixed else ""
        said.append(f"Why not fewer{beyond}: {max(found.bounds, key=lambda bound: bound.value).words}.")
    return said


def _table(found: Plan) -> list[str]:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table, prices = found.constraints.reviews, found.constraints.cost
    priced = "affinity" if prices.best is not None else "cost" if prices else ""
    title = counted(found.count, "extra review") + (", those that help most first" if found.count > 1 else "")
    grid = Table(title=title, box=box.SIMPLE_HEAD, title_style="", title_justify="left")
    alone = found.status == PlanStatus.CHOSEN
    effects = ["what it joins", "largest group"] if not alone else []
    buys = ["what it buys"] if found.purchase is not None else []
    for name in ("paper", "reviewer", *([priced] if priced else []), *effects, *buys):
        grid.add_column(name)
    for review in found.reviews:
        name = f"{review.item} {table.titles.get(review.item, '')}".strip()
        price = [f"{getattr(review, priced):g}"] if priced else []
        joins = [] if alone else [review.joins.partition(": ")[2], f"{review.covers} of {table.n_items}"]
        bought = [review.buys.removeprefix(f"{review.item} ")] if buys else []
        grid.add_row(name, str(review.reviewer), *price, *joins, *bought)
    console = Console()
    with console.capture() as printed:
        console.print(grid)
    return [line.rstrip() for line in printed.get().splitlines()]
