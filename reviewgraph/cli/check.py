"""``reviewgraph check``: do the reviews put all papers on one scale, and how precisely?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import click

from reviewgraph._base.storing import csv_parts, write_whole
from reviewgraph.cli.command import Command, option
from reviewgraph.cli.options import (
    SHOWN_BY,
    authors_option,
    conflict_by_option,
    examples,
    gone_options,
    read_own_papers,
    read_papers,
    result_options,
    reviewers_option,
    select_option,
    selected_among,
    stream_option,
    table_options,
)
from reviewgraph.cli.output import expect_table, refusing, write_table
from reviewgraph.cli.session import Session, pass_session
from reviewgraph.graph.levels import ALL_NAMES, described

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from reviewgraph._base.page import Page
    from reviewgraph._base.results import Progress
    from reviewgraph._verify.answers import Answer, Findings
    from reviewgraph.graph.check import Report
    from reviewgraph.graph.connection import Connection
    from reviewgraph.parts.parts import PartedReviews
    from reviewgraph.report.codes import Codes
    from reviewgraph.table.reviews import Reviews

_INSTEAD = "use --like FILE, a table with scores, or in Python check(reviews, assumptions=Assumptions(...))"


@refusing
def _missing(ctx: click.Context, param: click.Parameter, value: str | None) -> float | dict[str, float] | None:
    """Return the probability, or the probabilities by reviewer in a file."""
    if value is None:
        return None
    try:
        chance = float(value)
    except ValueError:
        return Session.of(ctx).read("missing", value)  # type: ignore[no-any-return]
    if not 0 <= chance <= 1:
        message = f"expected a probability from 0 to 1, or a file of reviewer,probability; found {value!r}"
        raise click.BadParameter(message, ctx, param)
    return chance


def read_duties(session: Session, reviews: Reviews) -> dict[str, Any]:
    """Read the files as arguments of :func:`reviewgraph.check`, without those that were not passed."""
    from reviewgraph.formats.side import read_items
    from reviewgraph.io.sides import joined_pairs

    items, load, demand, by = (session.params[name] for name in ("items", "load", "demand", "conflict_by"))
    duties = session.read_given("conflicts")
    if (own := read_own_papers(session, reviews.reviewers, reviews.items)) is not None:
        duties["conflicts"] = joined_pairs(duties.get("conflicts"), own)
    if by:
        people_of = session.params["reviewers"]
        attributes = session.read("attributes", people_of) if people_of else {}
        duties["attributes"] = {label: known for label, known in attributes.items() if label in reviews.reviewer_code}
        duties["item_attributes"] = read_papers(session, items, reviews.item_code)
        duties["conflict_by"] = by
    if people := session.read("reviewers"):
        duties["load"] = {label: load if person.load is None else person.load for label, person in people.items()}
    elif load is not None:
        duties["load"] = load
    # The file was read for its papers before, with notes; now without.
    papers = read_items(items, columns=session.columns) if items else {}
    if demand is not None or any(paper.demand is not None for paper in papers.values()):
        needs = {label: demand if paper.demand is None else paper.demand for label, paper in papers.items()}
        duties["demand"] = needs or demand
    return duties


def _check_parts(
    session: Session, table: PartedReviews, options: Mapping[str, Any], _: Callable[[Progress], None]
) -> None:
    from reviewgraph.graph.connection import check_parts

    expect_table(options["output"], "a CSV file", "leave out --stream")
    connection = check_parts(table)
    require = options["require"]
    reached = not require or connection.reaches(require)
    if options["output"]:
        write_whole(options["output"], csv_parts(connection.blocks()))

    def compose(shown: Connection, _: Codes | None) -> Page:
        return _completed(shown._page(), require, options["output"], reached=reached)

    session.answer(connection, None, compose, holds=reached)


def _verified(session: Session, answer: Answer) -> Findings:
    from reviewgraph._verify.answers import Findings
    from reviewgraph._verify.graphs import table_of
    from reviewgraph._verify.plans import verify_check
    from reviewgraph.io.sides import without_gone

    if answer.get("undecided") is not None:
        # Tables larger than memory are left to a second run.
        return Findings(answer)
    reviews = session.read_reviews(*session.params["paths"], items=session.params["items"])
    gone = session.read("gone")
    return verify_check(answer, table_of(reviews if gone is None else without_gone(reviews, gone)))


@click.command(
    cls=Command,
    verifier=_verified,
    gone={
        **dict.fromkeys(("--noise", "--severity", "--stretch"), _INSTEAD),
        "--use-scores": "leave it out; the line So far is about the reviews with scores",
        "--gone-after": "list the reviewers who are late in a file and give it with --gone",
    },
    epilog=examples(
        ("Can all papers be compared?", "check reviews.csv"),
        ("With a plan; exit status 1 if the level is missed:", "check reviews.csv plan.csv --require double"),
        (
            "Which errors to expect, according to last year's scores?",
            "check reviews.csv --like last-year.csv --select 20%",
        ),
    ),
)
@stream_option(
    _check_parts,
    ("require", "output", "as_json", *SHOWN_BY),
    "report the connected components, and the higher levels as far as bounds decide them; -o writes the components",
)
@table_options
@option(
    "Level",
    "--require",
    everyday=True,
    type=click.Choice(ALL_NAMES),
    help=f"Exit with status 1 if this level is missed. {described()}.",
)
@option(
    "Assumptions",
    "--like FILE",
    help="A table with scores, such as last year's, from which noise, severity and stretch are estimated.",
)
@select_option("Number of papers to be selected, for the expected share of right selections.", default="10%")
@option(
    "Level",
    "--fragile/--no-fragile",
    default=None,
    help="Search for critical reviewers and reviews, whose loss would lower the level.  [default: in small tables]",
)
@option(
    "Level",
    "--missing P|FILE",
    callback=_missing,
    help="Estimate the probability that each level holds if each review fails to arrive with probability P, or "
    "that of its reviewer in FILE (reviewer,probability).",
)
@gone_options
@option(
    "Rules",
    "--conflicts FILE",
    everyday=True,
    help="Report which of these forbidden pairs (item,reviewer) are reviewed.",
)
@conflict_by_option
@authors_option
@reviewers_option()
@option(
    "Rules",
    "--load N",
    everyday=True,
    minimum=0,
    help="Maximum reviews per reviewer without a load in --reviewers FILE; report who has more.",
)
@option(
    "Rules",
    "--demand N",
    everyday=True,
    minimum=0,
    help="Minimum reviews per paper without a demand in --items FILE; report which papers have fewer.",
)
@result_options(
    "Write the groups of reviewers and papers as CSV (role,label,group).",
    sections=("groups", "loads", "rules", "errors", "losses", "papers", "reviewers"),
)
@pass_session
def check(
    session: Session,
    /,
    reviews: Reviews,
    require: str | None,
    like: str | None,
    select: int | str,
    fragile: bool | None,
    missing: Any,
    output: str | None,
    **_: Any,
) -> None:
    """Check whether REVIEWS (reviewer, paper and perhaps score) put all papers on one scale, and how precisely.

    Several files are read as one table, so that a plan is checked with its reviews: check reviews.csv plan.csv
    """
    from reviewgraph.graph.check import check as examine
    from reviewgraph.io.matching import are_asked_about

    expect_table(output)
    last_year = session.read_reviews(like) if like else None
    n_selected = selected_among(select, reviews.n_items)
    duties = read_duties(session, reviews)
    gone = session.read("gone")
    session.expect_columns_used()
    report = examine(reviews, last_year, None, n_selected, fragile, missing, **duties, gone=gone)

    # Without --require no level is missed.
    reached = not require or report.reaches(cast("Any", require))
    if output:
        write_table(output, report.structure.groups())
    asked = "conflicts" in duties and are_asked_about(
        duties["conflicts"], reviews.reviewer_code, reviews.item_code, session.spellings
    )
    missed = None if reached else require

    def compose(shown: Report, codes: Codes | None) -> Page:
        if codes is not None and isinstance(missing, dict):
            # Who is not in the table was warned of, and has no code.
            by_code: dict[Any, float] = {
                codes.reviewer[who]: chance for who, chance in missing.items() if who in codes.reviewer
            }
            shown = replace(shown, missing=by_code)
        page = replace(shown._page(), **_next(session, report, missed, asked=asked), subject=session.table())
        return _completed(page, require, output, reached=reached)

    session.answer(report, reviews, compose, holds=reached)


def _completed(page: Page, required: str | None, output: str | None, *, reached: bool) -> Page:
    """Return the page with the file that was written, and the required level: in the verdict where it is missed."""
    from reviewgraph._base.page import Fact

    if output:
        page = replace(page, uploads=[*page.uploads, Fact("Written", f"{output}: reviewers and papers by group")])
    if required is None:
        return page
    if reached:
        return replace(page, facts=[*page.facts, Fact("Required", f"{required}: reached")])
    state = f"{page.verdict[0].lower()}{page.verdict[1:]} {page.summary}"
    return replace(page, good=False, verdict="Level missed:", summary=f"{required}; {state}")


def _next(session: Session, report: Report, missed: str | None, *, asked: bool) -> dict[str, Any]:
    """Return the next command as fields of a page: a plan if the level or reviews are missing, else a calibration.

    What has to wait for others is a fact; a next command runs as it stands.
    """
    from reviewgraph._base.page import Fact, Next
    from reviewgraph.graph.check import unreviewed

    table = session.table(report.reviews)
    if unreviewed(report.reviews)[1].any():
        # A plan would ask for reviews that exist.
        return {"uploads": [Fact("Then", "check again, with files that hold all reviews")]}
    # A plan has one minimum for all papers.
    short = (report.violations and report.violations.short) or ()
    least = max((entry.demand for entry in short), default=0)
    if missed or least or not report.recovery_resilient:
        options = [f"--target {missed}" if missed else "", f"--min-reviews {least}" if least else ""]
        why = "first correct the conflicts that match nobody" if asked else ""
        by = ("conflict_by", "reviewers") if session.params["conflict_by"] else ()
        rules = session.words("conflicts", "gone", "authors", *by)
        return {"following": [Next.of("plan", table, *options, rules, f"-o {session.plan_file()}", why=why)]}
    if report.reviews.origin.unlisted:
        return {"uploads": [Fact("Then", f"check again, with --items {report.reviews.origin.unlisted.beside}")]}
    late = report.reviews.n_reviews - int(report.reviews.scored.sum())
    calibrate = Next.of("calibrate", table)
    if not report.reviews.scored.any():
        return {"uploads": [Fact("Then", f"{calibrate.command}, once the scores are in")]}
    those = "the missing review is" if late == 1 else f"the {late:,} missing reviews are"
    why = f"better once {those} in; if some will not arrive, check --gone FILE" if late else ""
    return {"following": [calibrate._replace(why=why)]}
