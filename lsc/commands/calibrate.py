"""The command ``reviewgraph calibrate``."""

from __future__ import annotations

from itertools import starmap
from typing import TYPE_CHECKING, Any

import click

from lsc.commands.asking import Asked
from lsc.commands.choosing import Choice, expect_number_to_draw
from lsc.commands.extras import Extras, read_known
from lsc.commands.methods import DEFAULT, options_of, settle_method
from lsc.commands.sheets import write_sheets
from lsc.commands.streaming import HELP, KNOWN, OF_POSTERIOR, calibrate_by_passes
from lsc.methods.registry import METHODS
from lsc.model.hypotheses import HYPOTHESES
from reviewgraph.cli.command import Command, option
from reviewgraph.cli.folders import expect_folder
from reviewgraph.cli.numbers import Number
from reviewgraph.cli.options import (
    NamesOption,
    command_line,
    examples,
    given_table,
    json_option,
    output_option,
    print_result,
    show_files,
    table_options,
)
from reviewgraph.cli.output import Refusal, offer, offered, say, show, write_table, write_whole
from reviewgraph.cli.progress import telling
from reviewgraph.cli.reporting import Reporting, report_options
from reviewgraph.cli.share import Share, read_share
from reviewgraph.cli.streaming import stream_option
from reviewgraph.clock import Clock
from reviewgraph.errors import InputError
from reviewgraph.formats.systems.known import rated
from reviewgraph.results import Progress
from reviewgraph.words import counted

if TYPE_CHECKING:
    from lsc.estimate import Estimate
    from lsc.words.pages import Page
    from reviewgraph.report.page import Document
    from reviewgraph.reviews import Reviews

#: Reviews that are offered to be planned for a selection, at most; one for each paper to discuss.
MORE = 100


@click.command(
    cls=Command,
    epilog=examples(
        ("What is each paper worth?", "calibrate reviews.csv -o calibrated.csv"),
        ("Which are in, out, or to be discussed?", "calibrate reviews.csv --select 10%"),
        ("Why is one paper where it is?", "calibrate reviews.csv --explain P01"),
        ("A page for the authors of each paper:", "calibrate reviews.csv --sheet sheets"),
    ),
)
@stream_option(calibrate_by_passes, (*KNOWN, *OF_POSTERIOR), HELP)
@table_options
@option(
    "Method",
    "--method",
    type=click.Choice(list(METHODS)),
    help="How qualities are estimated [default: posterior; lsc with an option of its own]. "
    + "; ".join(f"{name}: {method.words}" for name, method in METHODS.items())
    + ".",
)
@option(
    "Method",
    "--hypothesis",
    type=click.Choice(list(HYPOTHESES)),
    help="lsc: how reviewers may differ [default: linear]. "
    + "; ".join(f"{name}: {kind.words}" for name, kind in HYPOTHESES.items())
    + ".",
)
@option(
    "Method", "--hypotheses", "by_reviewer", metavar="FILE", help="lsc: reviewers who differ (reviewer,hypothesis)."
)
@option("Method", "--max-slope", type=Number(), help="lsc: no scoring function is steeper (but offset) [default: 10].")
@option(
    "Method",
    "--ties",
    type=click.Choice(["equal", "free"]),
    help="lsc: papers that one reviewer scored alike: she saw them alike [default], or one cannot tell.",
)
@option(
    "Input",
    "--references",
    everyday=True,
    metavar="FILE",
    help="Papers of known quality (item,quality): measured, in lsc exact.",
)
@option(
    "Input",
    "--on-scale-of",
    metavar="FILE",
    help="Papers of known quality (item,quality): a straight line through three or more, drawn afterwards.",
)
@option("Input", "--weights", metavar="FILE", help="posterior: how much reviews may be worth (item,reviewer,weight).")
@option(
    "Selection",
    "--select",
    everyday=True,
    callback=read_share,
    metavar="N|P%",
    help="Select the best N papers, or P percent of them.",
)
@option(
    "Selection",
    "--error-rate",
    type=Number(0, 0.5, min_open=True, max_open=True),
    default=0.1,
    show_default=True,
    help="Papers are in or out without discussion where the chance that this is wrong is at most that.",
)
@option("Selection", "--by-group-average", is_flag=True, help="Select across groups that no review connects.")
@option(
    "Selection",
    "--lottery",
    everyday=True,
    is_flag=True,
    help="Draw lots among the papers that --select cannot tell apart.",
)
@option("Selection", "--seed", type=click.IntRange(0), help="Of the lots: agree on one before you draw.  [default: 0]")
@option(
    "Result",
    "--explain",
    everyday=True,
    multiple=True,
    metavar="PAPER",
    help="What the quality of a paper is made of; names stand in --json alone. Again for further papers.",
)
@option(
    "Result",
    "--sheet",
    everyday=True,
    metavar="DIR",
    help="Write a page a paper (or those of --explain alone) that its authors may see, and index.csv, to a new folder.",
)
@output_option("Write all papers as CSV, one row each, or as --to says.")
@option(
    "Result",
    "--to",
    cls=NamesOption,
    names=rated,
    text=lambda: "Who takes the file of -o: {}.".format(
        "; ".join(f"{name}, {system.results}" for name, system in rated().items())
    ),
)
@report_options
@json_option
def calibrate(
    reviews: Reviews,
    method: str | None,
    select: Share | None,
    error_rate: float,
    by_group_average: bool,
    lottery: bool,
    seed: int | None,
    explain: tuple[str, ...],
    sheet: str | None,
    on_scale_of: str | None,
    output: str | None,
    to: str | None,
    reporting: Reporting,
    as_json: bool,
    **options: Any,
) -> None:
    """Put scores on one scale, with what is known of every paper and how sure it is.

    REVIEWS are one or more files with a header: reviewer, item, score. The plain average stands beside every quality,
    and the output opens with what the correction for reviewers is worth. With --select it says which papers are in,
    which are out, and which the scores cannot tell apart.
    """
    from lsc.words.pages import Page, page_of

    name = settle_method(method, options, only_posterior={"lottery": lottery, "explain": explain, "sheet": sheet})
    expect_number_to_draw(lottery, select)
    if to and output is None:
        message = f"--to {to}: expected -o FILE with it, found none; name a file, such as -o tags.csv"
        raise Refusal(message)
    explain = tuple(dict.fromkeys(explain))
    for paper in explain:
        _expect_scored(reviews, paper)
    if sheet is not None:
        expect_folder(sheet)
    known = None if on_scale_of is None else read_known(reviews, on_scale_of)
    with telling() as tell:
        clock = Clock(None)
        result: Any = METHODS[name](reviews, **options_of(name, reviews, options, tell))
        asked = Asked(select, error_rate, by_group_average, lottery, seed, explain, known, bool(options["references"]))
        choice, extras = asked.of(result)
        tell(Progress(clock.elapsed(), "what the correction is worth, and the page"))
        # One selection serves page, file and JSON. An account alone needs no page, and so no withheld scores.
        short = bool(explain) and not as_json and not reporting.path
        page = Page([], [], []) if short else page_of(result, choice.selection)
    given = () if choice.selection is None else (choice.selection,)
    if output:
        columns = {**result.to_columns(*given), **extras.columns(choice)}
        if to:
            write_whole(output, rated()[to].write_results(columns))
        else:
            write_table(output, columns)
    if sheet:
        extras.lines += write_sheets(result, sheet, explain)
    if reporting.path:
        reporting.write(result, reviews, lambda shown, codes: _report(shown, asked.coded(codes), output))
    if as_json:
        for line in page.opening:
            say(line)
        lists: dict[str, Any] = {"certain": [], "discuss": []} if name == DEFAULT else {}
        for line in _aside(result, choice):
            say(line)
        found = {
            "selected": choice.selected,
            "set_aside": choice.aside,
            **lists,
            **result.to_dict(*given),
            **extras.record,
        }
        print_result({**found, "items": extras.placed(found["items"])})
    else:
        page = Page([], [], []) if explain else page
        _tell(page, extras, _known(result, choice, page.closing, output))
        show_files()
        for following in _next(result, choice, select):
            offer(*following)
    if choice.refused:
        say(choice.refused)
        click.get_current_context().exit(1)


def _tell(page: Page, extras: Extras, known: list[str]) -> None:
    """Print a page."""
    opening = [*page.opening, ""] if page.opening else []
    closing = ["", *known] if known else []
    show("\n".join([*opening, *page.body, *extras.lines, *closing]))


def _report(result: Estimate, asked: Asked, output: str | None) -> Document:
    """Return the report of a result, names as they stand in it."""
    from lsc.report.document import document
    from lsc.words.pages import page_of

    choice, extras = asked.of(result)
    closing = [*_known(result, choice, [], output), *starmap(offered, _next(result, choice, asked.select))]
    page = page_of(result, choice.selection)
    return document(
        result,
        choice.selection,
        page,
        given_table(whole=True),
        lists=choice.lists,
        extras=extras.lines,
        closing=closing,
    )


def _expect_scored(reviews: Reviews, paper: str) -> None:
    """Refuse a paper that cannot be explained before the work begins."""
    code = reviews.item_code.get(paper)
    if code is None or not (reviews.item[reviews.scored] == code).any():
        message = f"explain: expected a paper with a score, found {paper!r}; check its spelling"
        raise InputError(message)


def _known(result: Estimate, choice: Choice, known: list[str], output: str | None) -> list[str]:
    """Say what is known now, and where it is."""
    lines = []
    if choice.selected and choice.selection is None:
        lines += [f"Selected, best first: {', '.join(map(str, choice.selected))}", *_aside(result, choice), ""]
    lines += known
    if output:
        lines.append(f"All papers are in {output}.")
    return lines


def _aside(result: Estimate, choice: Choice) -> list[str]:
    """Name the papers that were set aside, if there are any."""
    from lsc.words.aside import aside_lines

    codes = [result.reviews.item_code[label] for label in choice.aside]
    others = int((result.rank > 0).sum()) - len(codes)
    return aside_lines(choice.aside, result.group[codes], others)


def _next(result: Estimate, choice: Choice, share: Share | None) -> list[tuple[str, str]]:
    """Return what to type next, and what for, where there is anything."""
    table, found = given_table(), []
    if choice.aside:
        words = f"reviews that would connect the {counted(len(choice.aside), 'paper')} set aside"
        found.append((command_line("plan", table, "--target connected"), words))
    elif int(result.group.max(initial=0)) > 1:
        found.append((command_line("plan", table), "reviews that would join what is apart"))
    elif not choice.selected:
        found.append((command_line("calibrate", table, "--select 10% -o calibrated.csv"), "to choose"))
    if choice.selection is not None and choice.selection.discuss.size:
        more = min(choice.selection.discuss.size, MORE)
        words = f"where {counted(more, 'more review')} would help this decision most"
        options = f"--for decision --select {share} --max-reviews {more}"
        found.append((command_line("plan", table, options), words))
    return found
