"""Which method ``calibrate`` runs, and the options that go to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from lsc.methods import DEFAULT, METHODS, Method
from lsc.model.hypotheses import HYPOTHESES
from reviewgraph.cli.options import expect_columns_used, read_side
from reviewgraph.errors import InputError
from reviewgraph.naming import named

if TYPE_CHECKING:
    from lsc.model.hypotheses import HypothesisLike
    from reviewgraph.reviews import Reviews

#: Whom a hypothesis is about.
SCORED = "the reviews with a score"
#: Options that choose the first method that takes them where --method names none, by the name of their parameter.
CHOOSING = {"hypothesis": "--hypothesis", "by_reviewer": "--hypotheses", "max_slope": "--max-slope", "ties": "--ties"}


def settle_method(given: str | None, options: Mapping[str, Any], *, of_probabilities: Mapping[str, Any]) -> Method:
    """Return the method: the one given, else the first that takes an option that chooses it, else the posterior.

    Parameters
    ----------
    given
        Name of the method, where it is named.
    options
        What the command was called with.
    of_probabilities
        Options that need probabilities.

    Raises
    ------
    InputError
        If an option belongs to another method than the one given.
    """
    asked = [name for name in CHOOSING if options[name] is not None]
    chosen = _takers(asked[0])[0] if asked else METHODS[DEFAULT]
    method = chosen if given is None else METHODS[given]
    # Each option with the methods that it belongs to, options of probabilities last.
    needed = [(CHOOSING[name], _takers(name)) for name in asked]
    needed += [("--weights", _takers("weights"))] if options["weights"] else []
    sure = [one for one in METHODS.values() if one.probabilities]
    needed += [(f"--{name}", sure) for name, value in of_probabilities.items() if value]
    foreign = [(option, takers) for option, takers in needed if method not in takers]
    if foreign:
        option, takers = foreign[0]
        belongs = f"{option} belongs to --method {_names(takers)}"
        message = f"method: {belongs}, found {method.name!r}; leave one of the two out"
        raise InputError(message)
    if options["references"] and method not in _takers("references"):
        message = (
            f"method: {method.name} knows no references; use {_names(_takers('references'))}, or leave --references out"
        )
        raise InputError(message)
    return method


def _takers(option: str) -> list[Method]:
    """Return the methods that take an option, by the name of its parameter."""
    parameter = "hypothesis" if option == "by_reviewer" else option
    return [method for method in METHODS.values() if parameter in method.options]


def _names(methods: Iterable[Method]) -> str:
    return " or ".join(method.name for method in methods)


def options_of(
    method: Method, reviews: Reviews, options: Mapping[str, Any], progress: Callable[..., Any]
) -> dict[str, Any]:
    """Return the options of a method as it takes them, side files read."""
    from reviewgraph.formats.side import read_references, read_weights

    found: dict[str, Any] = {}
    if options["references"]:
        found["references"] = read_side(read_references, options["references"])
    if options["weights"]:
        found["weights"] = read_side(read_weights, options["weights"])
    if "hypothesis" in method.options:
        default = options["hypothesis"] or next(iter(HYPOTHESES))
        found["hypothesis"] = _hypotheses(reviews, default, options["by_reviewer"])
    found |= {key: options[key] for key in ("max_slope", "ties") if options[key] is not None}
    if "progress" in method.options:
        found["progress"] = progress
    expect_columns_used()
    return found


def _hypotheses(reviews: Reviews, default: str, path: str | None) -> HypothesisLike:
    if path is None:
        return default
    from reviewgraph.formats.side import read_hypotheses
    from reviewgraph.sides.matching import match_labels

    scored = set(reviews.reviewer[reviews.scored].tolist())
    everyone = {label: default for code, label in enumerate(reviews.reviewers) if code in scored}
    given = read_side(read_hypotheses, path)
    match_labels(list(given), list(everyone), "hypotheses", "reviewer", other=reviews.item_code, where=SCORED)
    for label, name in given.items():
        named(HYPOTHESES.values(), name, f"hypotheses: reviewer {label!r}")
    return everyone | {label: name for label, name in given.items() if label in everyone}
