"""``reviewgraph simulate rounds``: reviews in rounds, before any score or on last year's table."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reviewgraph._base import counted
from reviewgraph.cli import (
    Command,
    Next,
    Number,
    Session,
    Share,
    any_table_options,
    assumption_options,
    examples,
    expect_table,
    json_option,
    option,
    pass_session,
    read_assumptions,
    select_option,
    telling,
    write_table,
)

if TYPE_CHECKING:
    from planner.simulating import FirstPhase, RoundsDesign
    from reviewgraph.report import Document
    from reviewgraph.table import Reviews

#: Options of one of the two uses alone.
OF_DESIGN = ("papers", "load", "missing", "assignment", "like")
OF_REPLAY = ("first", "accepted")


def _numbers(ctx: click.Context, param: click.Parameter, value: str) -> tuple[int, ...]:
    """Read ``1,2,4``."""
    words = [word.strip() for word in value.split(",")]
    if not all(word.isdecimal() and int(word) for word in words):
        message = f"expected whole numbers from 1 on, separated by commas, as in 1,2,4; found {value!r}"
        raise click.BadParameter(message, ctx, param)
    return tuple(int(word) for word in words)


@click.command(
    cls=Command,
    epilog=examples(
        ("How many reviews to hold back?", "simulate rounds --papers 400 --reviews-total 1200 --select 10%"),
        (
            "With last year's noise:",
            "simulate rounds --papers 400 --reviews-total 1200 --select 10% --like last-year.csv --html rounds.html",
        ),
        ("Is a first phase connected enough?", "simulate rounds --assignment assigned.csv --reviews-total 1200"),
        ("Last year, in rounds:", "simulate rounds last-year.csv --select 10% --first 2"),
    ),
)
@any_table_options
@select_option("Number of papers to be selected.", default="10%", everyday=True)
@option("Input", "--papers N", everyday=True, minimum=2, help="Without REVIEWS: number of papers.")
@option(
    "Input",
    "--reviews-total N",
    everyday=True,
    minimum=1,
    help="Reviews in all; with REVIEWS, scores shown in all.  [default: 3 per paper; with REVIEWS, one more per paper "
    "than --first]",
)
@option("Input", "--rounds N,...", everyday=True, callback=_numbers, default="1,2,4", help="Numbers of rounds.")
@option("Input", "--load N", type=Number(1), help="Reviews per reviewer.  [default: that of --like, or 5]")
@option(
    "Input",
    "--assignment FILE",
    everyday=True,
    multiple=True,
    help="Who reviews what in the first phase. May be repeated.",
)
@option(
    "Input",
    "--missing P",
    type=Number(0, 1, min_open=True, max_open=True),
    help="Probability that a review fails to arrive.  [default: all arrive]",
)
@option(
    "Input",
    "--first N",
    everyday=True,
    minimum=1,
    default=2,
    help="With REVIEWS: scores per paper that are shown first.",
)
@option("Input", "--accepted FILE", help="With REVIEWS: the papers accepted then (item).")
@assumption_options
@option(
    "Search",
    "--draws N",
    minimum=2,
    help="Simulated conferences; with REVIEWS draws, each of a dozen calibrations.  [default: by size; 10]",
)
@option("Search", "--seed N", minimum=0, default=0, help="Random seed.")
@option("Result", "-o", "--output FILE", everyday=True, writes=True, help="Write the table, one row per split or way.")
@option("Result", "--html FILE", writes=True, help="Write a report with its picture for a browser.")
@json_option("Result")
@pass_session
def rounds(session: Session, /, reviews: Reviews | None, output: str | None, html: str | None, **options: Any) -> None:
    """Simulate reviews asked for in rounds: how many to hold back before any score, or last year's REVIEWS in rounds.

    Without REVIEWS: expected wrong selections against the share of reviews that is held back, and, with --assignment,
    whether that first phase is connected enough for a second one. With REVIEWS, a table with many scores per paper:
    scores are hidden and shown again where `plan --for decision` would ask for reviews.
    """
    expect_table(output)
    for name in OF_DESIGN if reviews is not None else OF_REPLAY:
        if session.is_typed(name):
            found = "REVIEWS" if reviews is not None else "none"
            message = f"--{name}: expected {'no REVIEWS' if reviews is not None else 'REVIEWS'} with it, found {found}"
            raise click.UsageError(message)
    if reviews is not None:
        _replay(session, reviews, output, html, **options)
    else:
        _design(session, output, html, **options)


def _design(
    session: Session,
    output: str | None,
    html: str | None,
    select: Share,
    papers: int | None,
    reviews_total: int | None,
    rounds: tuple[int, ...],
    load: float | None,
    missing: float | None,
    assignment: tuple[str, ...],
    draws: int | None,
    seed: int,
    **_: Any,
) -> None:
    """Compare splits before any score, and check a first phase."""
    from planner.rounds_report import design_document, design_page, phase_page
    from planner.simulating import LOAD, check_like, design_rounds, first_phase

    like = session.read_reviews(session.params["like"]) if session.params["like"] else None
    if like is not None:
        check_like(like)
    assumptions = read_assumptions(session)
    assigned = session.read_reviews(*assignment, items=session.params["items"]) if assignment else None
    if assigned is not None and papers is not None:
        message = "--papers: expected none beside --assignment, whose papers count"
        raise click.UsageError(message)
    if assigned is None and papers is None:
        message = "expected REVIEWS to play through, or --papers N (or --assignment FILE) for a design; found neither"
        raise click.UsageError(message)
    phase: FirstPhase | None = None if assigned is None else first_phase(assigned, assumptions=assumptions)
    design: RoundsDesign | None = None
    if papers is None and assigned is not None and reviews_total is not None:
        papers = assigned.n_items
    if papers is not None:
        if reviews_total is not None and reviews_total < papers:
            message = f"--reviews-total: expected {papers:,}, one per paper, or more, found {reviews_total:,}"
            raise click.UsageError(message)
        if load is None and like is not None:
            load = float(like.loads[like.loads > 0].mean())
        with telling() as tell:
            design = design_rounds(
                papers,
                reviews_total or 3 * papers,
                _share(select, papers),
                assumptions=assumptions,
                load=load or LOAD,
                rounds=rounds,
                missing=missing or 0.0,
                draws=draws,
                seed=seed,
                progress=tell,
            )
    if output and design is not None:
        write_table(output, design.to_columns())
    following = _next_of_design(design)
    subject = " ".join(assignment) if assignment else "before any score"
    if html:
        _write(session, html, design_document(design, phase, subject, [str(one) for one in following]))

    def page() -> str:
        parts = [design_page(design)] if design is not None else []
        return "\n\n".join([*parts, *([phase_page(phase)] if phase is not None else [])])

    def content() -> dict[str, Any]:
        told = {} if design is None else design.to_dict()
        return told | ({} if phase is None else {"first_phase": phase.to_dict()})

    session.answer(content, page, following, holds=phase is None or phase.enough)


def _share(select: Share, papers: int) -> int:
    return max(select.of(papers), 1)


#: Files of a conference, as ``simulate conference`` writes them, by option: those that an assignment needs, and others.
FILES = {name: f"{name}.csv" for name in ("items", "reviewers", "bids", "conflicts")} | {"items": "papers.csv"}
NEEDED = ("items", "reviewers")
WELCOME = ("bids", "conflicts")
#: Folder of a simulated one.
TRIAL = "trial"


def _next_of_design(design: RoundsDesign | None) -> list[Next]:
    """Return the assignment of the best first phase; before it, where its files are missing, how to try it."""
    if design is None or not design.rounds:
        return []
    low, rest = divmod(design.n_reviews - design.best(design.rounds[-1]).held_back, design.n_items)
    up = 2 * rest >= design.n_items and (low + 1) * design.n_items < design.n_reviews
    why = "the first phase; plan --for decision --rounds then asks for the rest"
    if rest:
        exact = f"{low + 1} for {counted(rest, 'paper')} and {low} for the others"
        why += f"; exactly as above with a column demand in papers.csv, {exact}"
    files = [*NEEDED, *(name for name in WELCOME if Path(FILES[name]).exists())]
    folder = ""
    first = []
    if not all(Path(FILES[name]).exists() for name in NEEDED):
        size = f"--papers {design.n_items} --reviewers {math.ceil(design.n_reviews / design.load)}"
        first = [Next.of("simulate conference", size, f"-o {TRIAL}", why="to try it, without files of your own")]
        files = list(FILES)
        folder = f"{TRIAL}/"
    options = [f"--{name} {folder}{FILES[name]}" for name in files]
    options += [f"--demand {low + up}", "--target connected", "-o assigned.csv"]
    return [*first, Next.of("assign", *options, why=why)]


def _replay(
    session: Session,
    reviews: Reviews,
    output: str | None,
    html: str | None,
    select: Share,
    reviews_total: int | None,
    rounds: tuple[int, ...],
    first: int,
    draws: int | None,
    seed: int,
    **_: Any,
) -> None:
    """Play a table through."""
    from planner.rounds_report import replay_document, replay_page
    from planner.simulating import REPLAYS, replay_rounds

    accepted = session.params["accepted"]
    chosen = list(session.read("items", accepted)) if accepted else None
    session.expect_columns_used()
    scored = int((reviews.only_scored().reviews_per_item > 0).sum())
    with telling() as tell:
        replay = replay_rounds(
            reviews,
            _share(select, scored),
            first=first,
            rounds=rounds,
            total=reviews_total,
            draws=draws or REPLAYS,
            accepted=chosen,
            seed=seed,
            progress=tell,
        )
    if output:
        write_table(output, replay.to_columns())
    if html:
        _write(session, html, replay_document(replay, session.table(whole=True)))
    session.answer(replay.to_dict, lambda: replay_page(replay))


def _write(session: Session, path: str, document: Document) -> None:
    from reviewgraph._base import line_of, write_whole
    from reviewgraph.report import html

    write_whole(path, html(replace(document, files=line_of(session.files))))
