"""``reviewgraph plan``: extra reviews that make papers comparable, or decisions and qualities more certain."""

from __future__ import annotations

import shlex
from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import click

from planner.commands.options import (
    DESTINATION,
    preference_options,
    read_destination,
    read_preferences,
    read_rules,
    rule_options,
    say_meta_reviews,
    upload_options,
)
from reviewgraph._base import Next, counted, listed
from reviewgraph.cli import (
    SHOWN_BY,
    TABLE,
    Command,
    Number,
    Session,
    authors_option,
    examples,
    gone_options,
    note,
    option,
    pass_session,
    read_own_papers,
    result_options,
    reviewers_option,
    say,
    select_option,
    selected_among,
    table_options,
    telling,
)
from reviewgraph.formats import CSV
from reviewgraph.graph import ALL_NAMES, level_named

if TYPE_CHECKING:
    from planner._plans.plan import Plan
    from planner.commands.options import Destination
    from reviewgraph._base import Label, Page
    from reviewgraph._verify import Answer, Findings
    from reviewgraph.report import Codes
    from reviewgraph.table import Reviews


#: Options that the next command does not repeat.
NOT_AGAIN = {*TABLE, *DESTINATION, *SHOWN_BY, "as_json"}

_OF_CHECK = "plan for --target survives-review or survives-reviewer; check --missing tells what a plan keeps"


def _verified(session: Session, answer: Answer) -> Findings:
    from planner.verifying import of_planned

    params = session.params
    reviews = session.read_reviews(*params["paths"], items=params["items"])
    limits = {name: params[name] for name in ("spare", "min_affinity", "max_per_item")}
    request = {**_side_files(session, reviews), **limits, "n": params["max_reviews"]}
    request["min_reviews"] = params["min_reviews"] or None
    return of_planned(answer, reviews, request, params["target"] if session.is_typed("target") else None)


@click.command(
    cls=Command,
    verifier=_verified,
    gone={
        "--missing": _OF_CHECK,
        "--keep": _OF_CHECK,
        "--discussion": "leave it out, and hold back reviews of --max-reviews for what is discussed instead",
        "--use-scores": "leave it out; who reviews what decides the level",
        "--same-for": "leave it out; --min-reviews gives all papers a number of reviews first",
        "--after": "give the files of earlier rounds with REVIEWS, and what is left with --rounds and --max-reviews",
        "--worth": "leave it out; the column saves has what each review is expected to avoid",
        "--gone-after": "list the reviewers who are late in a file and give it with --gone",
        "--institutions": "use --reviewers FILE --at-most institution=1",
        "--senior": "use --reviewers FILE --at-least senior=1, with a column senior of yes and no",
    },
    epilog=examples(
        (
            "The fewest reviews, at most one per reviewer:",
            "plan reviews.csv --conflicts conflicts.csv --spare 1 -o plan.csv",
        ),
        ("For HotCRP's bulk assignment:", "plan pcassignments.csv --items data.csv --to hotcrp -o upload.csv"),
        ("Letters to the invited reviewers:", "plan reviews.csv --to mail -o letters.csv"),
        (
            "Six reviews that make the selection more certain:",
            "plan reviews.csv --for decision --select 10% --max-reviews 6",
        ),
        (
            "How many reviews in rounds decide as well as five for every paper, and the first of these rounds:",
            "plan reviews.csv --for decision --select 10% --match 5 -o round1.csv",
        ),
        (
            "The first of four rounds of 100 reviews in all:",
            "plan reviews.csv --for decision --select 10% --max-reviews 100 --rounds 4 -o round1.csv",
        ),
        (
            "The next round, once their scores are in:",
            "plan reviews.csv --for decision --select 10% --max-reviews 75 --rounds 3 -o round2.csv",
        ),
    ),
)
@table_options
@option(
    "Level",
    "--target",
    everyday=True,
    type=click.Choice(ALL_NAMES),
    default="double",
    help=f"The level to reach: {'; '.join(f'{name}, {level_named(name).words}' for name in ALL_NAMES)}.",
)
@option(
    "Level",
    "--for",
    "goal",
    everyday=True,
    type=click.Choice(["decision"]),
    help="Objective of the reviews instead of a level, or after the level of --target. decision: after scores, fewest "
    "wrong among the papers of --select.",
)
@select_option("With --for decision: number of papers to be selected.")
@option(
    "Selection",
    "--rounds R",
    minimum=1,
    help="With --for decision and --max-reviews: spend these reviews in R rounds, each planned from the scores so far; "
    "this is the first of them.",
)
@option(
    "Selection",
    "--match K",
    minimum=2,
    everyday=True,
    help="With --for decision: how many reviews, asked for in rounds, decide as well as K for every paper, and the "
    "first of these rounds; before there are scores a first phase.",
)
@option("Rules", "--conflicts FILE", everyday=True, help="Forbidden pairs (item,reviewer).")
@option("Rules", "--capacity FILE", help="Maximum extra reviews (reviewer,spare); new names are emergency reviewers.")
@option(
    "Rules",
    "--spare N",
    everyday=True,
    minimum=0,
    help="Maximum extra reviews per reviewer not in --capacity.  [default: unlimited; with --capacity, 0]",
)
@option("Rules", "--fixed FILE", help="Extra reviews that the plan must contain (item,reviewer).")
@option("Preferences", "--cost FILE", help="Costs of pairs (item,reviewer,cost); 1 for the others.")
@gone_options
@preference_options
@option("Rules", "--min-affinity X", type=Number(), help="Exclude pairs of affinity below X, or without affinity.")
@option("Rules", "--willing FILE", help="Invite only these reviewers (reviewer[,willing]).")
@option(
    "Rules",
    "--min-reviews K",
    everyday=True,
    minimum=0,
    default=0,
    help="Minimum reviews per paper, existing ones included.",
)
@reviewers_option()
@rule_options
@authors_option
@option("Rules", "--max-per-item N", minimum=0, help="Maximum extra reviews per paper.")
@option("Rules", "--max-reviews N", minimum=0, help="Maximum extra reviews in total, --fixed included: the best N.")
@option(
    "Search",
    "--time-limit S",
    type=Number(0),
    help="Time limit in seconds.  [default: a fixed amount of work, about a minute; the same plan on every machine]",
)
@option(
    "Search",
    "--best-effort",
    is_flag=True,
    help="If there is no plan, return the closest one, with the papers that lack reviews.",
)
@option("Search", "--seed N", minimum=0, default=0, help="Random seed of the search.")
@result_options(
    "Write the plan, as CSV (item,reviewer,cost or affinity,joins; gain with --for) or in the format of --to.",
    upload_options,
    sections=("reviewers", "reviews", "groups", "rounds", "proof", "mail"),
)
@pass_session
def plan(
    session: Session,
    /,
    reviews: Reviews,
    target: str,
    goal: str | None,
    select: int | str | None,
    output: str | None,
    **options: Any,
) -> None:
    """Suggest the fewest extra reviews that make all papers of REVIEWS comparable, with a proof.

    With --for decision: the reviews that, given the existing scores, avoid most wrong selections.

    Ctrl-C ends the search with the best plan so far. With --capacity only the reviewers listed there are invited.
    Enter reviewers who accepted in --fixed, and those who declined in --conflicts.
    """
    from planner._plans.page import page_of
    from planner.planning import plan as plan_reviews
    from reviewgraph._base import Search

    # With an objective there is a level only where one is given.
    levelled = goal is None or session.is_typed("target")
    destination = read_destination(session)
    files = _side_files(session, reviews)
    session.expect_columns_used()
    newcomers = dict.fromkeys([*files.get("capacity", ()), *files.get("willing", ())])
    destination = destination.settled(session, [*reviews.reviewers, *newcomers], reviews.items)
    # Some papers with scores are selected; before there are scores, some of all.
    scored = int((reviews.only_scored().reviews_per_item > 0).sum())
    papers = scored if scored or options["match"] is None else reviews.n_items
    request: dict[str, Any] = {
        "goal": goal or "level",
        "n": options["max_reviews"],
        "n_selected": None if select is None else selected_among(select, papers),
        "min_reviews": options["min_reviews"] or None,
        **{name: options[name] for name in AS_GIVEN},
        **files,
    }
    with telling() as tell:
        request["search"] = Search(options["time_limit"], options["seed"], tell)
        extra = plan_reviews(reviews, target=cast("Any", target if levelled else None), **request)

    # A partial plan is written, too.
    none = extra.status == "infeasible"
    if output and none:
        say(f"{output}: not written, since there is no plan")
    complete = none or destination.write(extra._outgoing())
    rounds = extra.rounds
    if rounds is not None and session.params["as_json"]:
        for proposal in _next_round(session, extra, destination):
            say(f"Next: {proposal}")
    uploads = destination.uploads(session, extra.added)
    known = {*reviews.reviewers, *files.get("willing", ())}
    warnings = _warnings(session, destination, extra, known) if extra.added else []

    def compose(shown: Plan, codes: Codes | None) -> Page:
        page = page_of(shown, output if output and codes is None else "")
        return replace(
            page,
            warnings=[*page.warnings, *warnings],
            uploads=uploads,
            following=_next_round(session, extra, destination) or [_next(session, extra, destination)],
            subject=session.table(),
        )

    session.answer(extra, extra.constraints.reviews, compose, holds=extra.attained and complete)


def _warnings(session: Session, destination: Destination, extra: Plan, known: Collection[Label]) -> list[str]:
    """Return what may be wrong with the reviews since options are not given, or since a reviewer is not ``known``."""
    settled = [] if extra.constraints.reviews.origin.outsiders is None else ["willing"]
    settled += ["conflicts"] if session.params["authors"] or session.params["conflict_by"] else []
    warnings = destination.warnings(session, settled)
    strangers = dict.fromkeys(review.reviewer for review in extra.added if review.reviewer not in known)
    if strangers and destination.upload.members:
        names = listed([*strangers])
        warnings.append(f"Not on the committee, as far as the files say: {names}. {destination.upload.members}")
    return warnings


#: Parameters that are arguments of :func:`planner.plan` as they are.
AS_GIVEN = (
    *("spare", "min_affinity", "max_per_item"),
    *("best_effort", "rounds", "match"),
)


def _side_files(session: Session, reviews: Reviews) -> dict[str, Any]:
    """Read the side files, with notes on reviewers without a review."""
    from reviewgraph.io import REVIEWS, joined_pairs

    params = session.params
    say_meta_reviews(reviews)
    files = {
        **session.read_given("capacity", "willing", "fixed", "cost"),
        "gone": session.read("gone"),
    }
    known = dict.fromkeys([*reviews.reviewers, *files.get("capacity", ())])
    if new := sum(label not in known for label in files.get("willing", ())):
        note(f"{params['willing']}: {counted(new, 'reviewer is', 'reviewers are')} in no review; emergency reviewers")
    people = params["reviewers"]
    listed = {people: session.read("roster", people).attributes} if people else {}
    known |= dict.fromkeys(files.get("willing", ()))
    barred = None
    if params["affinity"] or params["bids"]:
        gone = () if files["gone"] is None else files["gone"].reviewers
        files["affinity"], barred = read_preferences(
            session, known, reviews.items, everything=True, where=REVIEWS, gone=gone
        )
    if reviews.origin.outsiders and "willing" not in files:
        who = counted(len(reviews.origin.outsiders), "reviewer is", "reviewers are")
        note(f"{who} not on the committee and not invited; --willing FILE invites all reviewers that it lists")
    files |= read_rules(session, listed, known, (params["items"], reviews.item_code), REVIEWS)
    conflicts = joined_pairs(session.read("conflicts"), barred)
    conflicts = joined_pairs(conflicts, read_own_papers(session, known, reviews.items))
    return {**files, "conflicts": conflicts or ()}


def _next_round(session: Session, extra: Plan, destination: Destination) -> list[Next]:
    """Return how to plan the round after this one, once that is in a file; nothing for a last round."""
    rounds = extra.rounds
    output = session.params["output"]
    if rounds is None or rounds.last or (extra.added and output is None):
        return []
    table = session.table(extra.constraints.reviews)
    if extra.added and output and destination.upload.read_back:
        table = _beside(table, output)
    if rounds.terms.first_phase:
        # The rounds are planned from the scores of the first phase.
        again = session.again(NOT_AGAIN)
        return [Next.of("plan", table, again, why="the first round, once these reviews have scores")]
    again = session.again({*NOT_AGAIN, "rounds", "max_reviews", "match"})
    left = f"--rounds {rounds.left - 1} --max-reviews {rounds.unspent}"
    why = "the next round, once these reviews have scores"
    return [Next.of("plan", table, again, left, why=why)]


def _next(session: Session, extra: Plan, destination: Destination) -> Next:
    """Return the next command: another plan if there is none or no file of it, else the check of its file."""
    from reviewgraph.graph import unreviewed

    reviews = extra.constraints.reviews
    table = session.table(reviews)
    again = session.again(NOT_AGAIN)
    output = destination.output
    upload = destination.upload
    if extra._has_part and not session.params["best_effort"]:
        why = "the closest plan, and the papers that lack reviews"
        return Next.of("plan", table, again, "--best-effort", why=why)
    if not extra.added or (output and not upload.read_back):
        return Next.of("calibrate" if extra.attained and reviews.scored.all() else "check", table)
    if output is None and unreviewed(reviews)[1].any():
        # The plan may ask for reviews that exist.
        return Next.of("check", table, why="with files that hold all reviews")
    if output is None:
        stem, why = ("plan", "") if upload is CSV else ("upload", f"writes {upload.words}")
        return Next.of("plan", table, again, f"-o {session.unread(stem, upload.suffix)}", why=why)
    options = [f"--require {extra.target}"] if extra.status.reaches else []
    of_people = ("conflict_by", "reviewers") if session.params["conflict_by"] else ()
    rules = session.words("conflicts", "gone", "authors", *of_people)
    return Next.of("check", _beside(table, output), *options, rules)


def _beside(table: str, output: str) -> str:
    """Return the words for the files of reviews, and that of the plan after them."""
    words = shlex.split(table)
    first = next((place for place, word in enumerate(words) if word.startswith("-")), len(words))
    return shlex.join([*words[:first], output, *words[first:]])
