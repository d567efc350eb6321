"""``reviewgraph plan``: the fewest extra reviews that make all papers comparable."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import click

from reviewgraph.cli.options import given_table, output_option, table_options
from reviewgraph.cli.output import csv_text, print_json, say, write_whole

if TYPE_CHECKING:
    from planner.plans.plan import Plan, Target
    from planner.plans.planning import Progress
    from reviewgraph.reviews import Reviews

#: Options that :func:`reviewgraph.cli.options.given_table` tells.
TABLE_OPTIONS = ("columns", "items", "scale", "lower_is_better", "duplicates")


@click.command()
@table_options
@click.option(
    "--target",
    type=click.Choice(["double", "recoverable", "connected"]),
    default="double",
    show_default=True,
    help="The level to reach: comparable for certain, coincidences aside, or if reviewers differ in severity only.",
)
@click.option("--use-scores", is_flag=True, help="Tied scores of the existing reviews carry no scale.")
@click.option("--conflicts", metavar="FILE", help="Pairs that may not be (item,reviewer).")
@click.option(
    "--capacity",
    metavar="FILE",
    help="Extra reviews each reviewer can take (reviewer,spare); new names are emergency reviewers.",
)
@click.option(
    "--spare", type=click.IntRange(0), metavar="N", help="The same for all others (unlimited; with --capacity: 0)."
)
@click.option("--fixed", metavar="FILE", help="Extra reviews that must be in the plan (item,reviewer).")
@click.option("--cost", metavar="FILE", help="Cost of pairs (item,reviewer,cost); 1 where none is given.")
@click.option("--max-per-item", type=click.IntRange(0), metavar="N", help="At most N extra reviews a paper.")
@click.option(
    "--max-reviews", type=click.IntRange(0), metavar="N", help="A budget: the best N reviews, fixed included."
)
@click.option("--time-limit", type=click.FloatRange(0), default=60.0, show_default=True, metavar="S", help="Seconds.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the search.")
@output_option("Write the plan as CSV (item,reviewer,cost,joins).")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def plan(
    ctx: click.Context,
    /,
    reviews: Reviews,
    target: Target,
    use_scores: bool,
    spare: int | None,
    max_per_item: int | None,
    max_reviews: int | None,
    time_limit: float,
    seed: int,
    output: str | None,
    as_json: bool,
    **files: str | None,
) -> None:
    """Suggest the fewest extra reviews that make all papers of REVIEWS comparable, with a proof.

    Ctrl-C ends the search and gives the best plan so far. With --spare 0 and --capacity only the reviewers named
    there are asked. Reviews given by --fixed are kept; a reviewer who declined is a conflict.
    """
    from planner.plans.planning import plan_extra_reviews

    found = plan_extra_reviews(
        reviews,
        target,
        spare=spare,
        max_per_item=max_per_item,
        max_reviews=max_reviews,
        time_limit=time_limit,
        seed=seed,
        use_scores=use_scores,
        progress=_progress(),
        **_side_files(reviews, **files),
    )
    if output and found.status == "infeasible":
        say(f"{output}: not written, since there is no plan")
    elif output:
        write_whole(output, csv_text(_columns(found)))
    if as_json:
        print_json(to_dict(found))
    else:
        show(found, output, _again(ctx), _again(ctx, _LOWER.get(found.target)))
    if found.status in ("infeasible", "budget_exhausted"):
        ctx.exit(1)


def _side_files(
    reviews: Reviews, conflicts: str | None, capacity: str | None, fixed: str | None, cost: str | None
) -> dict[str, Any]:
    """Read the side files that are given; unknown names in conflicts and costs are counted on stderr."""
    from reviewgraph.formats.side import read_capacity, read_cost, read_pairs

    given: dict[str, Any] = {}
    if capacity:
        given["capacity"] = read_capacity(capacity, note=say)
    known = set(reviews.reviewers) | set(given.get("capacity", ()))
    if conflicts:
        given["conflicts"] = read_pairs(conflicts, note=say)
        _count_unknown(conflicts, given["conflicts"], known, reviews)
    if fixed:
        given["fixed"] = read_pairs(fixed, note=say)
    if cost:
        given["cost"] = {pair: price for pair, price in read_cost(cost, note=say).items() if price is not None}
        _count_unknown(cost, given["cost"], known, reviews)
    return given


def _count_unknown(path: str, pairs: Iterable[tuple[str, str]], reviewers: set[Any], reviews: Reviews) -> None:
    items = set(reviews.items)
    unknown = sum(reviewer not in reviewers or item not in items for reviewer, item in pairs)
    if unknown:
        rows = "row names" if unknown == 1 else "rows name"
        say(f"{path}: {unknown} {rows} a reviewer or paper that is not in the reviews; ignored")


def _progress() -> Callable[[Progress], None]:
    def tell(now: Progress) -> None:
        best = "no plan yet" if now.count is None else "1 review" if now.count == 1 else f"{now.count} reviews"
        needed = "1 is" if now.lower_bound == 1 else f"{now.lower_bound} are"
        say(f"{now.seconds:6.1f} s   best so far: {best}   at least {needed} needed")

    return tell


def _columns(found: Plan) -> dict[str, list[Any]]:
    return {
        "item": [review.item for review in found.reviews],
        "reviewer": [review.reviewer for review in found.reviews],
        "cost": [review.cost for review in found.reviews],
        "joins": [review.joins for review in found.reviews],
    }


def to_dict(found: Plan) -> dict[str, Any]:
    """Return a plan in the terms of JSON."""
    return {
        "status": found.status,
        "target": found.target,
        "count": found.count,
        "cost": found.cost,
        "lower_bound": found.lower_bound,
        "largest_load": found.largest_load,
        "bounds": [{"value": bound.value, "kind": bound.kind, "words": bound.words} for bound in found.bounds],
        "explanation": list(found.explanation),
        **_reach(found),
        "reviews": [
            {
                "reviewer": review.reviewer,
                "item": review.item,
                "cost": review.cost,
                "joins": review.joins,
                "covers": review.covers,
            }
            for review in found.reviews
        ],
        "mail": [{"reviewer": reviewer, "text": text} for reviewer, text in found.mail().items()],
        "merges": found.merges,
    }


def _reach(found: Plan) -> dict[str, Any]:
    """How far a partial plan gets; null for others, which reach their target."""
    keys = {"largest_group": "papers", "expected_error": "error"}
    if found.status != "budget_exhausted":
        return dict.fromkeys(keys)
    before, after = found.reach
    return {key: {"before": getattr(before, of), "after": getattr(after, of)} for key, of in keys.items()}


_VERDICT = {
    "optimal": "This is proved to be the smallest plan.",
    "feasible": "This plan does it; whether fewer would do is open.",
    "infeasible": "There is no such plan.",
    "budget_exhausted": "This is a part of the way only.",
}
_LOWER = {"double": "recoverable", "recoverable": "connected"}


def show(found: Plan, output: str | None, again: str, less: str) -> None:
    """Print the table, what is proved, a line a reviewer, and the next command to type.

    ``again`` is this command, ``less`` the same for a lower target.
    """
    if found.reviews:
        _print_table(found)
    click.echo(" ".join(_verdict(found)))
    for sentence in found.explanation:
        click.echo(f"{sentence[:1].upper()}{sentence[1:]}.")
    if found.reviews:
        click.echo("\nTo mail:")
        for text in found.mail().values():
            click.echo(f"  {text}")
    click.echo(f"\nNext: {_next(found, output, again, less)}")


def _print_table(found: Plan) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = found.constraints.reviews
    title = "1 extra review" if found.count == 1 else f"{found.count} extra reviews, those that help most first"
    grid = Table(title=title, box=box.SIMPLE_HEAD, title_style="", title_justify="left")
    priced = bool(found.constraints.cost)
    size_of = "largest group" if found.target == "double" else "largest group, for certain"
    for name in ("paper", "reviewer", *(["cost"] if priced else []), "what it joins", size_of):
        grid.add_column(name)
    for review in found.reviews:
        name = f"{review.item} {table.titles.get(review.item, '')}".strip()
        price = [f"{review.cost:g}"] if priced else []
        size = f"{review.covers} of {table.n_items}"
        grid.add_row(name, str(review.reviewer), *price, review.joins.partition(": ")[2], size)
    console = Console()
    with console.capture() as printed:
        console.print(grid)
    click.echo("\n".join(line.rstrip() for line in printed.get().splitlines()))


def _verdict(found: Plan) -> list[str]:
    """Say what is proved, in a few sentences."""
    if found.status == "infeasible":
        return [_VERDICT["infeasible"]]
    if not found.reviews and found.status == "optimal":
        return ["Nothing is missing: no extra review is needed."]
    said = [_VERDICT[found.status], f"Reviews: {found.count}; needed at least: {found.lower_bound}."]
    if found.bounds:
        fixed = len(found.constraints.fixed)
        beyond = f" beyond the {fixed} fixed" if fixed else ""
        said.append(f"Why not fewer{beyond}: {max(found.bounds, key=lambda bound: bound.value).words}.")
    return said


def _next(found: Plan, output: str | None, again: str, less: str) -> str:
    table = given_table()
    if found.status == "infeasible" and found.target in _LOWER and (found.constraints.spare > 0).any():
        return f"{less}   (to ask for less)"
    if not found.reviews:
        return f"reviewgraph check {table}"
    if output is None:
        return f"{again} -o plan.csv   (to keep the plan)"
    require = f" --require {found.target}" if found.status != "budget_exhausted" else ""
    return f"reviewgraph check {_with(table, output)}{require}"


def _again(ctx: click.Context, target: str | None = None) -> str:
    """Return the running command with its options, as a shell would take them, perhaps for another target."""
    import shlex

    words = []
    for option in ctx.command.params:
        name = option.name or ""
        given = ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
        left_out = (*TABLE_OPTIONS, "output", "as_json", *(["target"] if target else []))
        if given and isinstance(option, click.Option) and name not in left_out:
            words += [option.opts[-1]] if option.is_flag else [option.opts[-1], f"{ctx.params[name]}"]
    words += ["--target", target] if target else []
    return f"reviewgraph plan {given_table()} {shlex.join(words)}".rstrip()


def _with(table: str, output: str) -> str:
    """Name the plan's file after the reviews' files, before the options."""
    import shlex

    words = shlex.split(table)
    first = next((place for place, word in enumerate(words) if word.startswith("-")), len(words))
    return shlex.join([*words[:first], output, *words[first:]])
