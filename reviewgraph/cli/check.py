"""``reviewgraph check``: will these reviews let us put every paper on one scale?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from reviewgraph.cli.assuming import assumption_options
from reviewgraph.cli.losing import losing_options
from reviewgraph.cli.options import given_table, table_options
from reviewgraph.cli.output import print_json
from reviewgraph.cli.reporting import Reporting, report_options
from reviewgraph.cli.share import Share, read_share
from reviewgraph.errors import InputError
from reviewgraph.levels import ALL_NAMES, NAMES, Double, described, level_named

if TYPE_CHECKING:
    from reviewgraph.assumptions import Assumptions
    from reviewgraph.checking import Report
    from reviewgraph.reviews import Reviews


@click.command()
@table_options
@click.option(
    "--require",
    type=click.Choice(ALL_NAMES),
    help=f"Exit with status 1 if this level is missed. {described()}.",
)
@click.option("--use-scores", is_flag=True, help="The required level counts scores, not only who reviews what.")
@assumption_options
@click.option(
    "--select",
    callback=read_share,
    default="10%",
    show_default=True,
    metavar="N|P%",
    help="How many of the best will be selected, for the share expected to be right.",
)
@losing_options
@report_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def check(
    ctx: click.Context,
    reviews: Reviews,
    assumptions: Assumptions,
    require: str | None,
    use_scores: bool,
    select: Share,
    fragile: bool | None,
    missing: Any,
    reporting: Reporting,
    as_json: bool,
) -> None:
    """Check whether REVIEWS (reviewer, paper and perhaps score) put all papers on one scale, and how precisely.

    Several files are read as one table, so that a plan is checked with its reviews: check reviews.csv plan.csv
    """
    from reviewgraph.checking import check as examine

    if not select.number:
        message = f"select: expected one paper or more; found {select}"
        raise InputError(message)
    n_selected = max(1, select.of(reviews.n_items))
    report = examine(reviews, assumptions=assumptions, n_selected=n_selected, fragile=fragile, missing=missing)
    reached = report.reaches(require or NAMES[-1], use_scores=use_scores)
    closing = _closing(report, require, reached=reached, use_scores=use_scores)
    if reporting.path:
        from reviewgraph.report.check.document import document

        reporting.write(report, reviews, lambda result, _: document(result, given_table(), closing))
    if as_json:
        print_json(report.to_dict())
    else:
        click.echo(report.page())
        for line in closing:
            click.echo(f"\n{line}")
    if require and not reached:
        ctx.exit(1)


def _closing(report: Report, require: str | None, *, reached: bool, use_scores: bool) -> list[str]:
    """Return the verdict on a required level, and the next command to type."""
    going_by = ", going by the scores" if use_scores else ""
    verdict = [f"Required level {require}{going_by}: {'reached' if reached else 'missed'}."] if require else []
    return [*verdict, f"Next: {_next(report, None if reached else require, use_scores=use_scores)}"]


def _next(report: Report, missed: str | None, *, use_scores: bool) -> str:
    """Return the next command to type: a plan for the level that was required and missed, or for ``double``."""
    table = given_table()
    if missed or not report.recovery_resilient:
        level = level_named(missed or Double.name)
        options = [f" --target {missed}"] if missed else []
        options += [" --use-scores"] if missed and use_scores and level.heeds_ties else []
        what = f"the fewest extra reviews that make all papers {level.words}"
        return f"reviewgraph plan {table}{''.join(options)}   ({what})"
    if report.scored is None:
        return f"when the scores are in, reviewgraph calibrate {table}"
    return f"reviewgraph calibrate {table}"
