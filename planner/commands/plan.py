"""``reviewgraph plan``: the extra reviews that make papers comparable, or decisions and qualities surer."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from planner.commands.aims import CHOICES, read_aims
from planner.commands.people import people_options, read_people
from planner.plans.objectives import OBJECTIVES
from reviewgraph.cli.options import given_options, given_table, output_option, table_options
from reviewgraph.cli.output import Refusal, csv_text, print_json, say, write_whole
from reviewgraph.cli.progress import say_progress
from reviewgraph.cli.reporting import Reporting, report_options
from reviewgraph.cli.share import Share, read_share
from reviewgraph.levels import ALL, ALL_NAMES, Double

if TYPE_CHECKING:
    from planner.plans.plan import Plan
    from reviewgraph.reviews import Reviews

#: Options that :func:`reviewgraph.cli.options.given_table` tells.
TABLE_OPTIONS = ("columns", "items", "scale", "lower_is_better", "duplicates")


@click.command()
@table_options
@click.option(
    "--target",
    type=click.Choice(ALL_NAMES),
    default=Double.name,
    show_default=True,
    help=f"The level to reach: {'; '.join(f'{level.name}, {level.words}' for level in ALL)}.",
)
@click.option(
    "--for",
    "goals",
    type=click.Choice(CHOICES),
    multiple=True,
    help="What the reviews are for; a level and an objective may be given both, the level comes first. "
    + "; ".join(f"{objective.name}: {objective.words}" for objective in OBJECTIVES)
    + ".",
)
@click.option(
    "--select", callback=read_share, metavar="N|P%", help="How many papers will be selected, for --for decision."
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
@people_options
@click.option("--max-per-item", type=click.IntRange(0), metavar="N", help="At most N extra reviews a paper.")
@click.option(
    "--max-reviews", type=click.IntRange(0), metavar="N", help="A budget: the best N reviews, fixed included."
)
@click.option(
    "--missing",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    metavar="P",
    help="Keep the level when each review, planned ones included, fails to arrive with probability P.",
)
@click.option(
    "--keep",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    metavar="Q",
    help="With --missing: the probability of keeping it.",
)
@click.option("--time-limit", type=click.FloatRange(0), default=60.0, show_default=True, metavar="S", help="Seconds.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the search.")
@output_option("Write the plan as CSV (item,reviewer,cost or affinity,joins; gain with --for).")
@report_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def plan(
    ctx: click.Context,
    /,
    reviews: Reviews,
    target: str,
    goals: tuple[str, ...],
    select: Share | None,
    use_scores: bool,
    spare: int | None,
    min_affinity: float | None,
    min_reviews: int,
    max_per_item: int | None,
    max_reviews: int | None,
    missing: float | None,
    keep: float,
    time_limit: float,
    seed: int,
    output: str | None,
    reporting: Reporting,
    as_json: bool,
    **files: str | None,
) -> None:
    """Suggest the fewest extra reviews that make all papers of REVIEWS comparable, with a proof.

    With --for decision or --for precision: the reviews that, going by the scores there are, gain most.

    Ctrl-C ends the search and gives the best plan so far. With --spare 0 and --capacity only the reviewers named
    there are asked. Reviews given by --fixed are kept; a reviewer who declined is a conflict.
    """
    from planner.plans.planning import plan_extra_reviews

    aims = read_aims(ctx, goals, target)
    if use_scores and not reviews.scored.any():
        message = "--use-scores: expected a table with scores, found planned reviews only"
        raise Refusal(message)
    if missing is None and ctx.get_parameter_source("keep") is click.core.ParameterSource.COMMANDLINE:
        message = "--keep: expected --missing with it, found none; add it, or leave --keep out"
        raise Refusal(message)
    found = plan_extra_reviews(
        reviews,
        aims.target,
        objective=aims.objective,
        select=None if select is None else select.of(int((reviews.only_scored().reviews_per_item > 0).sum())),
        spare=spare,
        min_affinity=min_affinity,
        min_reviews=min_reviews,
        max_per_item=max_per_item,
        max_reviews=max_reviews,
        missing=missing,
        keep=keep,
        time_limit=time_limit,
        seed=seed,
        use_scores=use_scores,
        progress=say_progress,
        **_side_files(reviews, **files),
    )
    # A file is written for what can be acted on, a part of the way included.
    if output and found.status == "infeasible":
        say(f"{output}: not written, since there is no plan")
    elif output:
        write_whole(output, csv_text(found.to_columns()))
    following = f"Next: {_next(found, output)}"
    if reporting.path:
        from planner.report.plan import document

        table, subject = found.constraints.reviews, given_table()
        reporting.write(
            table, table, lambda shown, codes: document(found, shown, subject, [following], coded=codes is not None)
        )
    if as_json:
        print_json(found.to_dict())
    else:
        from planner.plans.words.page import page

        click.echo(f"{page(found)}\n\n{following}")
    if not found.attained:
        ctx.exit(1)


def _side_files(
    reviews: Reviews,
    conflicts: str | None,
    capacity: str | None,
    fixed: str | None,
    cost: str | None,
    **people: str | None,
) -> dict[str, Any]:
    """Read the side files that are given; unknown names in conflicts and costs are counted on stderr."""
    from reviewgraph.formats.side import read_capacity, read_cost, read_pairs

    given: dict[str, Any] = {}
    if capacity:
        given["capacity"] = read_capacity(capacity, note=say)
    given |= read_people(reviews, {*reviews.reviewers, *given.get("capacity", ())}, **people)
    known = {*reviews.reviewers, *given.get("capacity", ()), *given.get("willing", ())}
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


def _next(found: Plan, output: str | None) -> str:
    """Return the next command to type."""
    table, lower = given_table(), ALL_NAMES[ALL_NAMES.index(found.target) + 1 :]
    rules = found.constraints
    if found.status == "infeasible" and lower and (rules.spare > 0).any() and not rules.people.asks:
        return f"{_again(lower[0])}   (to ask for less)"
    if not found.reviews:
        return f"reviewgraph check {table}"
    if output is None:
        return f"{_again()} -o plan.csv   (to keep the plan)"
    require = f" --require {found.target}" if found.status.reaches else ""
    return f"reviewgraph check {_with(table, output)}{require}"


def _again(target: str | None = None) -> str:
    """Return the running command with its options, as a shell would take them, perhaps for another target.

    A lower target goes by who reviews what alone, so scores are left aside with it.
    """
    words = given_options({*TABLE_OPTIONS, "output", "as_json"})
    if target:
        left_out = {*TABLE_OPTIONS, "output", "as_json", "target", "use_scores"}
        words = [*given_options(left_out, dropped=ALL_NAMES), "--target", target]
    return f"reviewgraph plan {given_table()} {shlex.join(words)}".rstrip()


def _with(table: str, output: str) -> str:
    """Name the plan's file after the reviews' files, before the options."""
    words = shlex.split(table)
    first = next((place for place, word in enumerate(words) if word.startswith("-")), len(words))
    return shlex.join([*words[:first], output, *words[first:]])
