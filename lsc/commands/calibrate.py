"""The command ``reviewgraph calibrate``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from lsc.model.hypotheses import HYPOTHESES
from reviewgraph.cli.options import given_table, output_option, table_options
from reviewgraph.cli.output import csv_text, print_json, say, write_whole
from reviewgraph.errors import InputError
from reviewgraph.results import Progress

if TYPE_CHECKING:
    from lsc.calibration import Calibration
    from lsc.model.hypotheses import HypothesisLike
    from reviewgraph.reviews import Reviews

#: Seconds between two words of progress.
SILENCE = 3.0


def _share(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[float, bool] | None:
    """Read ``N`` or ``P%``: the number, and whether it is a percentage."""
    if value is None:
        return None
    percent = value.strip().endswith("%")
    try:
        number = float(value.strip().removesuffix("%")) if percent else int(value)
    except ValueError:
        number = -1
    if number < 0 or (percent and number > 100):
        message = f"expected a number of papers, or a percentage as in 10%; found {value!r}"
        raise click.BadParameter(message, ctx, param)
    return number, percent


@click.command()
@table_options
@click.option(
    "--hypothesis",
    type=click.Choice(list(HYPOTHESES)),
    default="linear",
    show_default=True,
    help="How reviewers may differ. " + "; ".join(f"{name}: {kind.words}" for name, kind in HYPOTHESES.items()) + ".",
)
@click.option("--hypotheses", "by_reviewer", metavar="FILE", help="Reviewers who differ (reviewer,hypothesis).")
@click.option("--references", metavar="FILE", help="Papers of known quality (item,quality).")
@click.option(
    "--max-slope", type=float, default=10.0, show_default=True, help="No scoring function is steeper (but offset)."
)
@click.option(
    "--ties",
    type=click.Choice(["equal", "free"]),
    default="equal",
    show_default=True,
    help="Papers that one reviewer scored alike: she saw them alike, or one cannot tell.",
)
@click.option("--select", callback=_share, metavar="N|P%", help="Select the best N papers, or P percent of them.")
@click.option("--by-group-average", is_flag=True, help="Select across groups that no review connects.")
@output_option("Write all papers as CSV (item,quality,average,rank,standard_error,group).")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def calibrate(
    reviews: Reviews,
    hypothesis: str,
    by_reviewer: str | None,
    references: str | None,
    max_slope: float,
    ties: Any,
    select: tuple[float, bool] | None,
    by_group_average: bool,
    output: str | None,
    as_json: bool,
) -> None:
    """Put scores on one scale: correct for harsh and lenient reviewers, and for wide and narrow scales.

    REVIEWS are one or more files with a header: reviewer, item, score. The plain average and its rank stand beside
    every calibrated score, and the output opens with what the scores do not support.
    """
    import lsc
    from lsc.words.page import report, warnings_of
    from reviewgraph.formats.side import read_references

    result = lsc.calibrate(
        reviews,
        _hypotheses(reviews, hypothesis, by_reviewer),
        max_slope=max_slope,
        references=read_references(references, note=say) if references else None,
        ties=ties,
        progress=_progress(),
    )
    selected, refused = _select(result, select, by_group_average)
    if output:
        write_whole(output, csv_text(result.to_columns()))
    if as_json:
        for warning in warnings_of(result):
            say(f"Warning: {warning}")
        print_json({**result.to_dict(), "selected": selected})
    else:
        for line in [*(f"Warning: {warning}" for warning in warnings_of(result)), "", *report(result)]:
            click.echo(line)
        _closing(result, selected, output)
    if result.status != "optimal":
        say(f"Warning: {result.status.text} ({result.message}).")
    if refused:
        say(refused)
        click.get_current_context().exit(1)


def _hypotheses(reviews: Reviews, default: str, path: str | None) -> HypothesisLike:
    if path is None:
        return default
    from reviewgraph.formats.side import read_hypotheses

    scored = set(reviews.reviewer[reviews.scored].tolist())
    everyone = {label: default for code, label in enumerate(reviews.reviewers) if code in scored}
    given = read_hypotheses(path, note=say)
    for label, name in given.items():
        if label not in everyone:
            message = f"hypotheses: expected reviewers of the reviews who gave a score, found {label!r}"
            raise InputError(message)
        if name not in HYPOTHESES:
            message = f"hypotheses: reviewer {label!r}: expected one of {', '.join(HYPOTHESES)}, found {name!r}"
            raise InputError(message)
    return everyone | given


def _progress() -> Callable[[Progress], None]:
    last = 0.0

    def tell(now: Progress) -> None:
        nonlocal last
        if now.seconds - last > SILENCE:
            last = now.seconds
            say(f"calibrating: {now.words}")

    return tell


def _select(
    result: Calibration, share: tuple[float, bool] | None, by_group_average: bool
) -> tuple[list[Any], str | None]:
    """Return the selected papers, and why the selection is refused, if it is."""
    import warnings

    from lsc.errors import Incomparable, UndeterminedWarning

    if share is None:
        return [], None
    number, percent = share
    most = int((result.rank > 0).sum())
    count = int(number / 100 * most + 0.5) if percent else int(number)
    if count > most:
        message = f"select: expected at most {most} papers, those with a score; found {count}"
        raise InputError(message)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UndeterminedWarning)  # the output opens with this warning
            return result.select(count, by_group_average=by_group_average), None
    except Incomparable as refusal:
        return [], str(refusal)


def _closing(result: Calibration, selected: list[Any], output: str | None) -> None:
    """Say what was selected, what is known now, and what to type next."""
    if selected:
        click.echo(f"\nSelected, best first: {', '.join(map(str, selected))}")
    known = "the only best fit" if result.unique else "one of several best fits, the one nearest to straight lines"
    click.echo(f"\nThese scores are {known} (objective {result.objective:.6g}, {result.status.value}).")
    if output:
        click.echo(f"All papers are in {output}.")
    if result.support.degrees_of_freedom:
        click.echo(f"Next, reviews that would join what is apart: reviewgraph plan {given_table()}")
    elif not selected:
        click.echo(f"Next, choose: reviewgraph calibrate {given_table()} --select 10% -o calibrated.csv")
