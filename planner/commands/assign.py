"""``reviewgraph assign``: who reviews what, so that the scores will be comparable."""

from __future__ import annotations

import shlex
from dataclasses import replace
from functools import partial
from itertools import starmap
from typing import TYPE_CHECKING, Any

import click

from planner.assignments.findings.exchanged import CONDITIONING
from planner.assignments.model.designs import DESIGNS
from planner.assignments.model.levels import AIMS, ToDouble
from planner.commands.authors import authors_options, read_who_wrote
from planner.commands.fair import NAMES as FAIR_NAMES
from planner.commands.fair import fair_options, read_fair, write_alternates
from planner.commands.lots import lot_options, read_lots, write_probabilities
from planner.commands.rules import read_rules, reward_option, rule_options
from planner.commands.uploading import DESTINATION, read_destination, upload_options
from planner.commands.wanted import NAMES, joined, read_wanted, wanted_options
from reviewgraph.cli.command import Command, conference_words, is_given, option, taken_from_file
from reviewgraph.cli.numbers import Number
from reviewgraph.cli.options import (
    columns_option,
    command_line,
    examples,
    expect_columns_used,
    given_options,
    given_spellings,
    json_option,
    merge_option,
    output_option,
    print_result,
    read_side,
    reviewers_option,
    show_files,
)
from reviewgraph.cli.output import offer, offered, refusing, say, show
from reviewgraph.cli.progress import telling
from reviewgraph.cli.reporting import Reporting, report_options
from reviewgraph.levels import ALL_NAMES

#: The options on authors by name.
AUTHORS = ("authors", "author_distance", "allow_cycles", "allow_coauthors")

if TYPE_CHECKING:
    from collections.abc import Mapping

    from planner.assignments.assignment import Assignment


@click.command(
    cls=Command,
    renamed={"--min-affinity": ("--avoid-below", "from the next release it bars such pairs, as in plan")},
    epilog=examples(
        (
            "Three reviews a paper, six a reviewer at most:",
            "assign --items papers.csv --reviewers reviewers.csv --affinity affinity.csv --load 6 -o assignment.csv",
        ),
        (
            "The same as edges for OpenReview:",
            "assign --items papers.csv --reviewers reviewers.csv --affinity affinity.csv --load 6 "
            "--to openreview --label run-1 -o edges.json",
        ),
        (
            "Beside the reviews of a first phase:",
            "assign --items papers.csv --reviewers reviewers.csv --demand 1 --phase-one reviews.csv -o second.csv",
        ),
    ),
)
@option(
    "Input",
    "--items",
    "items_file",
    everyday=True,
    required=True,
    metavar="FILE",
    help="All papers (item[,demand,title]).",
)
@reviewers_option("reviewers_file", everyday=True, required=True)
@columns_option
@merge_option
@wanted_options
@option("Preferences", "--allow-unscored", is_flag=True, help="Pairs without affinity may be assigned; they count 0.")
@option("Rules", "--conflicts", everyday=True, metavar="FILE", help="Pairs that may not be (item,reviewer).")
@option("Rules", "--fixed", metavar="FILE", help="Pairs that must be (item,reviewer).")
@rule_options
@reward_option
@authors_options
@option(
    "Rules",
    "--demand",
    everyday=True,
    type=click.IntRange(0),
    default=3,
    show_default=True,
    metavar="N",
    help="Reviews per paper.",
)
@option(
    "Rules",
    "--load",
    everyday=True,
    type=click.IntRange(0),
    default=5,
    show_default=True,
    metavar="N",
    help="Maximum reviews per reviewer.",
)
@option(
    "Rules",
    "--min-load",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    metavar="N",
    help="Minimum reviews per reviewer.",
)
@option(
    "Input",
    "--phase-one",
    metavar="FILE",
    help="Reviews of a first phase (REVIEWS): they link, beyond demand and load.",
)
@option(
    "Level",
    "--target",
    type=click.Choice([aim.name for aim in AIMS]),
    default=ToDouble.name,
    show_default=True,
    help="The level to reach; papers are then "
    + "; ".join(f"{aim.level.words} ({aim.name})" for aim in AIMS if aim.level)
    + ".",
)
@option(
    "Level",
    "--survive",
    is_flag=True,
    old="--target survives-reviewer",
    help="The level shall hold after any one reviewer drops out.",
)
@option(
    "Method",
    "--design",
    type=click.Choice([design.name for design in DESIGNS]),
    help="Instead: every reviewer gets exactly her load " + ", or ".join(design.words for design in DESIGNS) + ".",
)
@option(
    "Preferences",
    "--conditioning",
    type=Number(0, 1),
    default=CONDITIONING,
    show_default=True,
    metavar="PART",
    help="Part of the affinity that may be given up for smaller expected errors; 0 gives up none.",
)
@fair_options
@option(
    "Assumptions",
    "--like",
    metavar="FILE",
    help="Scores, such as last year's, from which noise and reviewers are learned.",
)
@lot_options
@option("Search", "--time-limit", type=Number(0), metavar="S", help="Seconds; by default as long as it takes.")
@option("Search", "--seed", type=click.IntRange(0), default=0, show_default=True, help="Decides among equals.")
@option(
    "Search",
    "--best-effort",
    is_flag=True,
    help="Where demands cannot be met, meet as many as can be, and say which papers are short and whom to recruit.",
)
@output_option("Write the assignment, as CSV (item,reviewer,affinity) or as --to says.")
@upload_options
@report_options
@json_option
@refusing
@click.pass_context
def assign(ctx: click.Context, /, output: str | None, reporting: Reporting, as_json: bool, **options: Any) -> None:
    """Assign reviewers to papers: most affinity, within demands, loads and conflicts, and comparable scores.

    Ctrl-C ends the search and gives the best assignment so far, with the level that it has.
    """
    from planner.assignments.assignment import AssignmentStatus

    destination = read_destination(options.pop("to"), output, options.pop("label"), options.pop("invitation"))
    if options["design"]:
        destination.expect_settings_fit()
        chosen = _design(ctx, **options)
    else:
        asked = _asked(**options)
        expect_columns_used()
        destination = destination.settled([*asked["reviewers"]], [*asked["items"]])
        chosen = _assign(asked)
    empty = chosen.reviews.n_reviews == 0 and chosen.status is not AssignmentStatus.OPTIMAL
    write_probabilities(chosen, options["probabilities"])
    if output and empty:
        say(f"{output}: not written, since there is no assignment")
    whole = empty or destination.write(chosen.outgoing())
    write_alternates(chosen, options["alternates_file"])
    kept = None if empty or not destination.upload.read_back else output
    fixed_way = options["design"] or options["max_probability"] or options["perturbation"]
    following = _next(chosen, kept, options["phase_one"], None if fixed_way else options["best_effort"])
    if reporting.path:
        from planner.report.assignment import document
        from planner.report.coded import coded_assignment

        subject = f"{options['items_file']}, {options['reviewers_file']}"
        closing = list(starmap(offered, following))
        reporting.write(
            chosen,
            chosen.reviews,
            lambda shown, codes: document(shown if codes is None else coded_assignment(shown, codes), subject, closing),
        )
    if as_json:
        print_result(chosen.to_dict())
    else:
        from planner.assignments.words.page import page

        show(page(chosen))
        destination.advise(() if empty else chosen.reviews.reviewer)
        show_files()
        for each in following:
            offer(*each)
    if not (chosen.status.reached and whole):
        ctx.exit(1)


def _assign(asked: dict[str, Any]) -> Assignment:
    from planner.assignments.assigning import assign as solve

    with telling() as tell:
        chosen = solve(**asked, progress=tell)
    titles = {label: entry.title for label, entry in asked["items"].items() if entry.title}
    return replace(chosen, reviews=replace(chosen.reviews, titles=titles))


def _asked(
    items_file: str, reviewers_file: str, conflicts: str | None, fixed: str | None,
    phase_one: str | None, like: str | None, target: str, seed: int, time_limit: float | None,
    max_probability: str | None, perturbation: float, draws: int, probabilities: str | None, **options: Any,
) -> dict[str, Any]:  # fmt: skip
    """Read the files; returns the arguments of assigning."""
    from planner.assignments.wishes.pairs import LISTS
    from reviewgraph.formats import side
    from reviewgraph.precision.expected import assumptions_like
    from reviewgraph.reading import read_reviews

    lots = read_lots(max_probability, perturbation, draws, probabilities)
    items = read_side(side.read_items, items_file)
    reviewers, known = read_side(side.read_roster, reviewers_file)
    barred = read_side(side.read_conflicts, conflicts) if conflicts else None
    wanted = read_wanted(
        reviewers, items, allow_unscored=options["allow_unscored"], **{name: options[name] for name in NAMES}
    )
    wrote = read_who_wrote(reviewers=reviewers, **{option: options[option] for option in AUTHORS})
    # What the files leave open is left open; numbers come from the options.
    rules = (options["attributes"], options["at_most"], options["at_least"], options["reward"])
    return dict(
        demand=_filled({label: entry.demand for label, entry in items.items()}, options["demand"]),
        load=_filled({label: entry.load for label, entry in reviewers.items()}, options["load"]),
        min_load=_filled({label: entry.min_load for label, entry in reviewers.items()}, options["min_load"]),
        items=items,
        reviewers=reviewers,
        conflicts=joined(barred, wanted.conflicts) or (),
        fixed=read_side(side.read_assigned, fixed) if fixed else (),
        **read_rules({reviewers_file: known}, reviewers, LISTS, *rules),
        target=target,
        survive=int(options["survive"]),
        phase_one=read_side(partial(read_reviews, duplicates="last"), phase_one) if phase_one else None,
        conditioning=options["conditioning"],
        assumptions=assumptions_like(read_side(read_reviews, like)) if like else None,
        **wanted.arguments,
        **wrote,
        **read_fair(options),
        **lots,
        seed=seed,
        time_limit=time_limit,
        best_effort=options["best_effort"],
        merge=given_spellings(),
    )


def _filled(numbers: Mapping[str, int | None], default: int) -> dict[str, int]:
    return {label: default if number is None else number for label, number in numbers.items()}


def _design(
    ctx: click.Context, items_file: str, reviewers_file: str, design: str, load: int, seed: int, **options: Any
) -> Assignment:
    """Algorithm 2 or 3, which know loads alone."""
    from planner.assignments.designs import design_assignment
    from reviewgraph.cli.output import Refusal
    from reviewgraph.formats import side

    # The algorithms would pass over these in silence.
    for name in (
        *NAMES,
        "conflicts",
        "fixed",
        "phase_one",
        "demand",
        "min_load",
        "survive",
        "allow_unscored",
        "conditioning",
        "like",
        *AUTHORS,
        "attributes",
        "at_most",
        "at_least",
        "reward",
        *FAIR_NAMES,
        "max_probability",
        "perturbation",
        "draws",
        "probabilities",
        "best_effort",
    ):
        if is_given(ctx, name):
            taken = taken_from_file(ctx).get(name)
            found = taken.place if taken else f"--{name.replace('_', '-')}"
            message = f"--design: expected loads alone with it, found {found}; drop one of the two"
            raise Refusal(message)
    items = read_side(side.read_items, items_file)
    reviewers = read_side(side.read_reviewers, reviewers_file)
    loads = _filled({label: entry.load for label, entry in reviewers.items()}, load)
    return design_assignment(tuple(items), loads, design, seed)


def _next(
    chosen: Assignment, output: str | None, phase_one: str | None, best_effort: bool | None
) -> list[tuple[str, str]]:
    """Return the next command to type, and what for, where there is one; ``best_effort`` None where it cannot be."""
    from planner.assignments.assignment import AssignmentStatus

    if chosen.status is AssignmentStatus.INFEASIBLE:
        if best_effort is not False:
            return []
        again = shlex.join(given_options({"as_json"}))
        return [(command_line("assign", again, "--best-effort"), "to meet as many demands as can be met")]
    if output is None:
        again = shlex.join(given_options({*DESTINATION, "as_json", "probabilities"}))
        return [(command_line("assign", again, "-o assignment.csv"), "to keep the assignment")]
    # Reviews of a first phase link what is assigned now, and may have pairs twice.
    words = ["reviewgraph", "check", *([phase_one] if phase_one else []), output]
    words += ["--duplicates", "last"] if phase_one else []
    words += ["--require", chosen.target] if chosen.target in ALL_NAMES and chosen.status.reached else []
    return [(shlex.join([*words, *conference_words()]), "")]
