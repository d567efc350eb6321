"""The options of assignments by lot, and the files they name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from planner.assignments.findings.randomised import DRAWS
from reviewgraph.cli.command import option
from reviewgraph.cli.numbers import Number
from reviewgraph.cli.options import read_side, with_options
from reviewgraph.cli.output import Refusal, write_table
from reviewgraph.cli.targets import writable

if TYPE_CHECKING:
    from collections.abc import Callable

    from planner.assignments.assignment import Assignment

    Decorator = Callable[..., Any]

OPTIONS = (
    option(
        "Randomisation",
        "--max-probability",
        metavar="Q|FILE",
        help="Draw the assignment; no pair with a probability above Q, or that of its row (item,reviewer,probability).",
    ),
    option(
        "Randomisation",
        "--perturbation",
        type=Number(0, 0.5),
        default=0.0,
        show_default=True,
        metavar="B",
        help="Draw the assignment; what a pair of probability x counts is a (x - B x^2): spread over more pairs.",
    ),
    option(
        "Randomisation",
        "--draws",
        type=click.IntRange(1),
        default=DRAWS,
        show_default=True,
        metavar="N",
        help="Assignments at the level of which one is drawn; caps are rounded down to multiples of 1/N.",
    ),
    option(
        "Result",
        "--probabilities",
        callback=writable,
        metavar="FILE",
        help="Write the probabilities as CSV (item,reviewer,probability).",
    ),
)


def lot_options(command: Decorator) -> Decorator:
    """Add the options of assignments by lot to a command.

    >>> @click.command()
    ... @lot_options
    ... def draw(**lots): ...
    >>> [option.name for option in draw.params]
    ['max_probability', 'perturbation', 'draws', 'probabilities']
    """
    return with_options(OPTIONS, command)


def read_lots(
    max_probability: str | None, perturbation: float, draws: int, probabilities: str | None
) -> dict[str, Any]:
    """Return the arguments of :func:`planner.assign` on lots: a cap that is no number is the name of a file."""
    if probabilities and max_probability is None and not perturbation:
        message = "--probabilities: expected --max-probability or --perturbation with it, found neither"
        raise Refusal(message)
    return {"max_probability": _cap(max_probability), "perturbation": perturbation, "draws": draws}


def _cap(text: str | None) -> Any:
    from reviewgraph.formats import side

    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        return read_side(side.read_probabilities, text)


def write_probabilities(chosen: Assignment, place: str | None) -> None:
    """Write the probabilities of an assignment that was drawn."""
    if place and chosen.randomised is not None:
        write_table(place, chosen.randomised.to_columns())
