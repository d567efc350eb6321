"""Which method ``calibrate`` runs, and the options that go to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from lsc.methods.registry import METHODS
from lsc.model.hypotheses import CLASSES, HYPOTHESES
from reviewgraph.cli.options import expect_columns_used, read_side
from reviewgraph.errors import InputError
from reviewgraph.naming import named

if TYPE_CHECKING:
    from lsc.model.hypotheses import HypothesisLike
    from reviewgraph.reviews import Reviews

DEFAULT, LSC = "posterior", "lsc"
#: Whom a hypothesis is about.
SCORED = "the reviews with a score"
#: Options that only one method knows, by the name of the parameter, with what they are called.
OF_LSC = {
    "hypothesis": "--hypothesis",
    "by_reviewer": "--hypotheses",
    "max_slope": "--max-slope",
    "ties": "--ties",
}


def settle_method(given: str | None, options: Mapping[str, Any], *, only_posterior: Mapping[str, Any]) -> str:
    """Return the name of the method: the one given, else lsc where one of its options is, else the posterior.

    Raises
    ------
    InputError
        If an option belongs to another method than the one given.
    """
    lsc_options = [option for name, option in OF_LSC.items() if options[name] is not None]
    name = given or (LSC if lsc_options else DEFAULT)
    if lsc_options and name != LSC:
        message = f"method: {lsc_options[0]} belongs to --method {LSC}, found {name!r}; leave one of the two out"
        raise InputError(message)
    asked = {"weights": options["weights"], **only_posterior}
    foreign = [option for option, value in asked.items() if value and name != DEFAULT]
    if foreign:
        message = f"method: --{foreign[0]} belongs to --method {DEFAULT}, found {name!r}; leave one of the two out"
        raise InputError(message)
    if options["references"] and "references" not in METHODS[name].options:
        message = f"method: {name} knows no references; use posterior or lsc, or leave --references out"
        raise InputError(message)
    return name


def options_of(name: str, reviews: Reviews, options: Mapping[str, Any], progress: Callable[..., Any]) -> dict[str, Any]:
    """Return the options of a method as it takes them, side files read."""
    from reviewgraph.formats.side import read_references, read_weights

    found: dict[str, Any] = {}
    if options["references"]:
        found["references"] = read_side(read_references, options["references"])
    if options["weights"]:
        found["weights"] = read_side(read_weights, options["weights"])
    if name == LSC:
        default = options["hypothesis"] or next(iter(HYPOTHESES))
        found["hypothesis"] = _hypotheses(reviews, default, options["by_reviewer"])
        found |= {key: options[key] for key in ("max_slope", "ties") if options[key] is not None}
    if "progress" in METHODS[name].options:
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
        named(CLASSES, name, f"hypotheses: reviewer {label!r}")
    return everyone | {label: name for label, name in given.items() if label in everyone}
