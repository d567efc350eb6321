"""``reviewgraph assign``: an assignment of reviewers to papers with comparable scores."""

from __future__ import annotations

import shlex
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from planner._assign.levels import FAIR, aims
from planner.commands.options import (
    DESTINATION,
    preference_options,
    read_destination,
    read_fixed,
    read_preferences,
    read_rules,
    rule_options,
    say_meta_reviews,
    upload_options,
    without,
)
from reviewgraph._base import counted
from reviewgraph.cli import (
    SHOWN_BY,
    Command,
    Number,
    Session,
    authors_option,
    examples,
    file_options,
    note,
    option,
    pass_session,
    preferring_reviewers,
    result_options,
    reviewers_option,
    say,
    telling,
)
from reviewgraph.formats import takers
from reviewgraph.graph import ALL_NAMES

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from planner._assign.assignment import Assignment
    from planner.commands.options import Destination
    from reviewgraph._base import Next, Page
    from reviewgraph._verify import Answer, Findings
    from reviewgraph.report import Codes


def read_who_wrote(session: Session, reviewers: Collection[str]) -> dict[str, Any]:
    """Read the authors' file as arguments of :func:`planner.assign`, with a note on authors who do not review."""
    path = session.params["authors"]
    if not path:
        return {}
    table = session.read("authors")
    strangers = sum(author not in reviewers for author in table.reviewers)
    if 0 < strangers < len(table.reviewers):
        of = counted(len(table.reviewers), "author")
        say(f"{path}: {strangers} of {of} are not reviewers; if some of them review, check the spelling")
    return {"authors": table}


def _verified(session: Session, answer: Answer) -> Findings:
    from planner.verifying import of_assigned

    request, _, _ = _problem(session)
    return of_assigned(answer, request, request["previous"] is None, session.is_typed("target"))


@click.command(
    cls=Command,
    verifier=_verified,
    gone={
        "--alternates-file": "--alternates N; --json has them, and the table of papers of --html",
        "--probabilities": "leave it out; --json has them, of each pair",
        "--author-distance": "list the papers of co-authors in --conflicts",
        "--allow-cycles": "leave it out; two reviewers may review a paper of each other",
        "--allow-coauthors": "leave it out; co-authors may review the same paper",
        "--avoid-below": "leave such pairs out of the file of affinities, or give them lower ones",
        "--min-affinity": "leave such pairs out of the file of affinities",
        "--per-change": "add that amount to the affinities of the pairs of the previous assignment",
        "--reward": "--at-most A=N, so that each paper has reviewers of several values of A",
        "--survive": "--target survives-reviewer",
        "--design": "leave it out; without affinities the choice is random, and doubly connected by default",
        "--floor-best": "--floor X, the minimum sum of affinities of a paper",
        "--perturbation": "--max-probability with a lower number spreads the probabilities over more pairs",
        "--draws": "leave it out; one of 100 assignments is drawn",
        "--conditioning": "no affinity is exchanged for smaller errors any more; see the expected errors by check",
        "--like": "the assignment uses no assumptions on scores any more; see the expected errors by check --like",
    },
    epilog=examples(
        (
            "Three reviews per paper, at most six per reviewer:",
            "assign --items papers.csv --reviewers reviewers.csv --affinity affinity.csv --load 6 -o assignment.csv",
        ),
        (
            "The same, as edges for OpenReview:",
            "assign --items papers.csv --reviewers reviewers.csv --affinity affinity.csv --load 6 "
            "--to openreview --label run-1 -o edges.json",
        ),
        (
            "In addition to the reviews of a first phase:",
            "assign --items papers.csv --reviewers reviewers.csv --demand 1 --phase-one reviews.csv -o second.csv",
        ),
    ),
)
@option("Input", "--items FILE", "items_file", everyday=True, required=True, help="All papers (item[,demand,title]).")
@reviewers_option(
    "reviewers_file",
    everyday=True,
    help="All reviewers (reviewer[,load,min_load]), with the columns that rules refer to.  [default: those of --bids "
    "and --affinity]",
)
@file_options
@preference_options
@option(
    "Preferences",
    "--previous FILE",
    help="Change as few pairs as possible of this previous assignment (item,reviewer).",
)
@option("Preferences", "--allow-unscored", is_flag=True, help="Allow pairs without affinity, as affinity 0.")
@option("Rules", "--conflicts FILE", everyday=True, help="Forbidden pairs (item,reviewer).")
@option(
    "Rules",
    "--fixed FILE",
    help="Pairs that the assignment must contain (item,reviewer), such as existing reviews; they are kept and counted, "
    "whatever demand, load or conflict they exceed.",
)
@rule_options
@authors_option
@option("Rules", "--demand N", everyday=True, minimum=0, default=3, help="Reviews per paper.")
@option(
    "Rules",
    "--load N",
    everyday=True,
    minimum=0,
    help="Maximum reviews per reviewer.  [default: the smallest with which the demands can be met]",
)
@option("Rules", "--min-load N", minimum=0, default=0, help="Minimum reviews per reviewer.")
@option(
    "Input",
    "--phase-one FILE",
    help="Reviews of a first phase (REVIEWS): they connect papers, but do not count in demands and loads.",
)
@option(
    "Level",
    "--target",
    type=click.Choice([aim.name for aim in aims()]),
    default="double",
    help="The level to reach, at which papers are "
    + "; ".join(f"{aim.level.words} ({aim.name})" for aim in aims() if aim.level)
    + ".",
)
@option(
    "Preferences",
    "--fair",
    type=click.Choice(FAIR),
    help="Fairness between papers: the largest smallest sum of affinities of a paper, then the total (maximin).",
)
@option("Preferences", "--floor X", type=Number(), help="Minimum sum of affinities per paper.")
@option(
    "Result",
    "--alternates N",
    minimum=1,
    help="List for each paper the N best alternates, who can replace any reviewer of the paper.",
)
@option(
    "Randomisation",
    "--max-probability Q",
    type=Number(),
    help="Randomise the assignment, with maximum probability Q of each pair.",
)
@option("Search", "--time-limit S", type=Number(0), help="Time limit in seconds.  [default: none]")
@option("Search", "--seed N", minimum=0, default=0, help="Random seed.")
@option(
    "Search",
    "--best-effort",
    is_flag=True,
    help="If the demands cannot be met, meet as many as possible, and list the papers that lack reviews and the "
    "reviewers to recruit.",
)
@result_options(
    "Write the assignment, as CSV (item,reviewer,affinity) or in the format of --to.",
    upload_options,
    sections=("loads", "affinities", "rules", "losses", "papers", "reviewers"),
)
@pass_session
def assign(session: Session, /, **_: Any) -> None:
    """Assign reviewers to papers: maximum affinity within demands, loads and conflicts, and comparable scores.

    Ctrl-C ends the search with the best assignment so far, and reports its level.
    """
    from planner._assign.assignment import AssignmentStatus
    from planner.assigning import assign as solve

    params = session.params
    destination = read_destination(session)
    problem, origin, ignored = _problem(session)
    session.expect_columns_used()
    destination = destination.settled(session, [*problem["reviewers"]], [*problem["items"]])
    with telling() as tell:
        assignment = solve(**{**problem, "search": replace(problem["search"], progress=tell)})
    titles = {label: entry.title for label, entry in problem["items"].items() if entry.title}
    origin = origin._replace(files=tuple(session.files))
    assignment = replace(assignment, reviews=replace(assignment.reviews, titles=titles, origin=origin))

    # An assignment without reviews is written only if there is nothing to assign.
    output = params["output"]
    empty = assignment.reviews.n_reviews == 0 and assignment.status is not AssignmentStatus.OPTIMAL
    complete = empty or destination.write(assignment._outgoing())
    if empty and output:
        say(f"{output}: not written, since there is no assignment")
    following: list[Next] = []
    if params["html"] or not (params["as_json"] or params["quiet"]):
        if assignment.reviews.n_reviews:
            following = [_next(session, assignment, destination, problem)]
        elif empty:
            following = _instead(session, problem)

    def compose(shown: Assignment, codes: Codes | None) -> Page:
        from planner._assign.page import coded, page_of

        wishes = "Bids" if params["bids"] and not params["affinity"] else "Affinity"
        page = page_of(shown if codes is None else coded(shown, codes), wishes)
        lacks = _unknown(session, destination, problem) if not empty else []
        return replace(
            page,
            good=page.good and complete,
            warnings=[*page.warnings, *filter(None, (ignored, *lacks))],
            uploads=[] if empty else destination.uploads(session, assignment.reviews.reviewer),
            following=following,
            subject=", ".join(filter(None, (params["items_file"], params["reviewers_file"]))),
        )

    session.answer(assignment, assignment.reviews, compose, holds=assignment.status.reached and complete)


def _unknown(session: Session, destination: Destination, problem: Mapping[str, Any]) -> list[str]:
    """Warn of what nobody passed, without which reviewers get papers that they should not."""
    params = session.params
    pairs = problem["conflicts"]
    settled = ["conflicts"] if params["authors"] or params["conflict_by"] or (pairs and pairs.item.size) else []
    lacks = destination.warnings(session, settled)
    if params["affinity"] or params["bids"]:
        return lacks
    return ["No bids and no affinities given: any paper suits any reviewer; --bids FILE.", *lacks]


def _problem(session: Session) -> tuple[dict[str, Any], Any, str]:
    """Read the files; returns the arguments of assigning, which papers do not count, and what is ignored."""
    from planner._assign.problem import LISTS
    from reviewgraph._base import Search
    from reviewgraph.formats import nouns_of
    from reviewgraph.io import joined_pairs

    params = session.params
    listing = session.read("listing", params["items_file"])
    items = listing.items
    reviewers, attributes, head = _people(session)
    fixed, unlisted = read_fixed(session, reviewers, items)
    people = dict.fromkeys([*reviewers, *unlisted])
    # The page says which papers do not count; their rows in other files bring up nothing.
    aside = {*listing.aside.out, *listing.aside.unseen}
    conflicts = session.read("conflicts")
    conflicts = None if conflicts is None else without(conflicts, aside)
    # Without a file of affinities any pair may be assigned.
    everything = params["allow_unscored"] or not params["affinity"]
    affinity, barred = read_preferences(session, people, items, everything=everything, where=LISTS, aside=aside)
    previous = session.read("previous")
    authors = read_who_wrote(session, people)
    rules = read_rules(session, attributes, people, (params["items_file"], items), LISTS)
    phase_one = session.read("phase_one")
    say_meta_reviews(phase_one, fixed, previous)
    arguments = {
        **{name: params[name] for name in ("target", "fair", "floor", "best_effort")},
        "search": Search(params["time_limit"], params["seed"]),
        "demand": _numbers(session, items, "demand"),
        "load": unlisted | _numbers(session, reviewers, "load"),
        "min_load": dict.fromkeys(unlisted, 0) | _numbers(session, reviewers, "min_load"),
        "items": items,
        "reviewers": [*people],
        "conflicts": joined_pairs(conflicts, barred) or (),
        "fixed": () if fixed is None else fixed,
        **rules,
        "phase_one": phase_one,
        "affinity": affinity,
        "allow_unscored": everything,
        "previous": previous,
        **authors,
        "alternates": params["alternates"] or 0,
        "max_probability": params["max_probability"],
        "merge": session.spellings,
    }
    # Reviews of a paper in these tables are accounted for, the others are ignored.
    tables = [table for table in (phase_one, fixed) if table is not None]
    pairs = {pair for table in tables for pair in table.origin.meta}
    for table in tables:
        codes = zip(table.reviewer.tolist(), table.item.tolist(), strict=True)
        pairs |= {(table.reviewers[j], table.items[i]) for j, i in codes}
    origin = listing.origin(pairs)
    ignored = ""
    if origin.lacking and not tables:
        count = counted(sum(origin.lacking.reviews.values()), "review")
        ignored = f"{count} of {params['items_file']} are ignored: --fixed FILE keeps and counts those in FILE."
        if params["as_json"]:
            note(ignored)
        origin = origin._replace(lacking=None)
    return arguments, origin._replace(nouns=nouns_of([(listing.head, head)])), ignored


def _people(session: Session) -> tuple[Mapping[str, Any], dict[str, Any], str]:
    """Read the reviewers; returns also their attributes by file, and the name of their column."""
    path = session.params["reviewers_file"]
    if not path:
        return preferring_reviewers(session), {}, ""
    reviewers, attributes, head = session.read("roster", path)
    return reviewers, {path: attributes}, head


def _numbers(session: Session, entries: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return a number of each entry of a file; where the file leaves it open, the option of that name decides."""
    numbers = {label: getattr(entry, name) for label, entry in entries.items()}
    return {label: session.params[name] if number is None else number for label, number in numbers.items()}


#: Parameters of the page and the report, which the next command has anew.
REPORTED = ("as_json", "html", "anonymous", *SHOWN_BY)

#: Papers up to which lower levels are tried where there is no assignment; above, only none.
TRIED = 300


def _instead(session: Session, problem: Mapping[str, Any]) -> list[Next]:
    """Return a command that gives an assignment where this one gives none: it is tried before it is proposed."""
    from planner.assigning import assign as solve
    from reviewgraph._base import Next

    params = session.params

    def trial(**changes: Any) -> Assignment:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # told before
            return solve(**{**problem, "alternates": 0, **changes})

    def reaches(name: str) -> bool:
        """Whether there is an assignment at a level: one for certain first, since many of a lottery take long."""
        if params["max_probability"] and not trial(target=name, max_probability=None).status.reached:
            return False
        return trial(target=name).status.reached

    names = [aim.name for aim in aims()]
    lower = names[names.index(params["target"]) + 1 :]
    if lower and reaches(lower[-1]):
        levels = lower if len(problem["items"]) <= TRIED else lower[-1:]
        target = next(name for name in levels if name == lower[-1] or reaches(name))
        again = session.again({*REPORTED, "target"})
        why = "all demands can be met without a level" if target == names[-1] else "this lower level can be reached"
        return [Next.of("assign", again, f"--target {target}", why=why)]
    # A randomised assignment cannot be a part of what was requested.
    if params["best_effort"] or params["max_probability"]:
        return []
    if not trial(target=names[-1], best_effort=True).reviews.n_reviews:
        return []
    again = session.again(REPORTED)
    return [Next.of("assign", again, "--best-effort", why="to meet as many demands as possible")]


def _next(session: Session, assignment: Assignment, destination: Destination, problem: Mapping[str, Any]) -> Next:
    """Return the next command: the same with a file, or a check of the file."""
    from reviewgraph._base import Next
    from reviewgraph.io import pairs_among

    params = session.params
    output = destination.output
    if output is None or not destination.upload.read_back:
        again = session.again({*DESTINATION, *REPORTED})
        # The system of the files would refuse other names.
        system = takers().get(session.system or "")
        taken = system is None or destination.asked or destination.upload is system
        name = session.unread("assignment", destination.upload.suffix)
        return Next.of("assign", again, f"-o {name}", "" if taken else "--to csv")
    # Reviews of a first phase link what is assigned now, and may have pairs twice.
    first = params["phase_one"]
    words = [first, output, "--duplicates", "last"] if first else [output]
    words += ["--require", assignment.target] if assignment.target in ALL_NAMES and assignment.status.reached else []
    # Lists of which no row names a reviewer with a paper are refused there.
    table = assignment.reviews
    busy = [label for label, load in zip(table.reviewers, table.loads.tolist(), strict=True) if load]
    lists = {name: problem[name] for name in ("conflicts", "authors") if problem.get(name)}
    listed = [name for name, pairs in lists.items() if pairs_among(pairs, busy, table.items)[0].size]
    # Names of columns may be those of files that a check does not read.
    listed += ["conflict_by", "authors", "reviewers_file"] if params["conflict_by"] else []
    files = "" if session.columns else session.words("items_file", *listed)
    written = session.words("columns", "score", "merge") if first else session.words("merge")
    return Next.of("check", shlex.join(words), files, written)
