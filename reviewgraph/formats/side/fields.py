"""The columns that side files have: the names they go by, and what their cells mean."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from reviewgraph.formats.bids import EXPECTED, parse_bid
from reviewgraph.formats.headers import ITEM, REVIEWER, Role
from reviewgraph.formats.values import parse_flag, parse_number, parse_whole


class Field(NamedTuple):
    """A column of a side file: its role, what its cells mean, and what is expected, for messages."""

    role: Role
    parse: Callable[[str], Any]
    expected: str


def _whole(name: str, *synonyms: str, required: bool = False) -> Field:
    return Field(Role(name, synonyms, required=required), parse_whole, "a whole number, 0 or more")


def _number(name: str, *synonyms: str) -> Field:
    return Field(Role(name, synonyms, ranked=False), parse_number, "a finite number")


def _text(role: Role) -> Field:
    return Field(role, str.strip, "text")


#: The columns that side files have, beside labels.
DEMAND = _whole("demand", "reviews_needed", "num_reviews", "user_demand")
LOAD = _whole("load", "max_load", "max_papers", "max_reviews", "quota", "maximum")
MIN_LOAD = _whole("min_load", "min_papers", "min_reviews", "minimum")
INSTITUTION = _text(Role("institution", ("affiliation", "organization", "organisation"), required=False))
AFFINITY = _number(
    "affinity", "affinity_score", "similarity", "aggregate_score", "tpms_score", "preference", "score", "weight"
)
BID = Field(Role("bid", ("preference", "label"), required=False), parse_bid, EXPECTED)
SPARE = _whole("spare", "capacity", "spare_capacity", "extra", required=True)
COST = _number("cost", "price")
PROBABILITY = _number("probability", "missing", "chance")
WEIGHT = _number("weight", "confidence", "expertise", "revexp")
HYPOTHESIS = _text(Role("hypothesis", ("class", "hypothesis_class")))
QUALITY = _number("quality", "true_quality", "reference", "truth")
TRUTH = _number("truth", "true_quality", "quality")
SENIOR, WILLING = (Field(Role(name, required=False), parse_flag, "yes or no") for name in ("senior", "willing"))
PERSON, PAPER = Field(REVIEWER, str, "a label"), Field(ITEM, str, "a label")

#: When a review was submitted, and when it was asked for.
SUBMITTED_AT = Role("submitted_at", ("submission_date", "date_submitted"), required=False)
ASKED_AT = Role("asked_at", ("assigned_at",), required=False)

#: Roles of all side files, beside those of reviews.
ROLES = (
    *(
        field.role
        for field in (
            *(DEMAND, LOAD, MIN_LOAD, INSTITUTION, SENIOR, WILLING, SPARE),
            *(AFFINITY, BID, COST, PROBABILITY, WEIGHT, HYPOTHESIS, QUALITY, TRUTH),
        )
    ),
    *(SUBMITTED_AT, ASKED_AT),
)
