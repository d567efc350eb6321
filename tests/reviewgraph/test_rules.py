"""Rules are one object: the same answers as by keywords of their own, and refused as a whole."""

import json
import re
from dataclasses import fields
from typing import Any

import numpy as np
import pandas as pd
import pytest

import planner
from planner import assign
from planner.assigning import HEEDED as ASSIGNED
from reviewgraph import InputError, Reviews, Rules, check
from reviewgraph.graph.check import HEEDED as CHECKED
from reviewgraph.io import PlanRules
from tests.bad_arguments import BAD
from tests.planner.plans.plan_cases import InvalidPlan, verify_plan

pytestmark = pytest.mark.filterwarnings("ignore::reviewgraph._base.errors.LabelWarning")

PEOPLE, PAPERS = ("ann", "bob", "cyd", "dan", "eve", "fay"), tuple(f"p{n}" for n in range(6))
AFFINITY = {(who, what): ((3 * j + 5 * i) % 7) / 7 for j, who in enumerate(PEOPLE) for i, what in enumerate(PAPERS)}
CHAIN = Reviews(
    [("ann", "p0"), ("ann", "p1"), ("bob", "p1"), ("bob", "p2"), ("cyd", "p2"), ("cyd", "p3")], items=PAPERS[:5]
)
KNOWN = {
    who: {"region": ["Asia", "Europe"][n % 2], "senior": n < 3, "institution": "XYZ"[n % 3]}
    for n, who in enumerate(PEOPLE)
}
PAIRS = pd.DataFrame({"reviewer": ["ann", "bob"], "paper": ["p3", "p0"]})

COUNTRIES = {
    what: {"region": ["Asia", "Europe"][n % 2], "institution": ["X", "Y"]} for n, what in enumerate(PAPERS[:5])
}

#: A value of each rule, with what else it needs; all are heeded by something.
STATED: dict[str, dict[str, Any]] = {
    "conflicts": {"conflicts": PAIRS},
    "fixed": {"fixed": [("bob", "p3")]},
    "gone": {"gone": ["cyd"]},
    "demand": {"demand": 2},
    "load": {"load": dict.fromkeys(PEOPLE, 4)},
    "min_load": {"min_load": pd.Series(dict.fromkeys(PEOPLE, 2))},
    "capacity": {"capacity": {"ann": 2, "bob": 2, "zoe": 3}},
    "spare": {"spare": 2},
    "min_reviews": {"min_reviews": 2},
    "max_per_item": {"max_per_item": 2},
    "willing": {"willing": ["ann", "zoe", "bob"]},
    "institutions": {"institutions": {"ann": "X", "bob": "X", "cyd": "Y"}},
    "senior": {"senior": ["ann", "bob"]},
    "attributes": {"attributes": KNOWN},
    "item_attributes": {"item_attributes": COUNTRIES},
    "conflict_by": {"conflict_by": "affiliation", "attributes": KNOWN, "item_attributes": COUNTRIES},
    "at_most": {"at_most": {"region": 2}, "attributes": KNOWN},
    "at_least": {"at_least": {"senior": 1, ("region", "Asia"): 1}, "attributes": KNOWN},
    "authors": {"authors": {"p0": ["ann"], "p1": ["bob", "cyd"]}},
}
#: What takes rules, which of them, and a call.
TAKERS: dict[str, tuple[tuple[str, ...], Any]] = {
    "check": (CHECKED, lambda **rules: check(CHAIN, **rules)),
    "plan": (tuple(PlanRules.__annotations__), lambda **rules: planner.plan(CHAIN, **rules)),
    "assign": (ASSIGNED, lambda **rules: assign(AFFINITY, target="none", **rules)),
}
HEEDED = [(taker, name) for taker, (names, _) in TAKERS.items() for name in names]


def told(result: Any) -> str:
    """All that is in a result, as text."""
    return json.dumps(result.to_dict(), default=repr)


def refusal(name: str, value: Any) -> str:
    """What an object of one rule is refused with; the name where it is made."""
    try:
        Rules(**{name: value})
    except InputError as error:
        return str(error)
    return name


def test_every_rule_is_heeded_by_something_and_stands_in_the_table():
    names = [field.name for field in fields(Rules)]
    assert sorted(STATED) == sorted(names)
    assert {name for _, name in HEEDED} == set(names)


@pytest.mark.parametrize(("taker", "name"), HEEDED)
def test_an_object_is_the_same_as_keywords(taker, name):
    call, given = TAKERS[taker][1], STATED[name]
    alone, parted = told(call(**given)), {name: given[name]}
    assert told(call(rules=Rules(**given))) == alone
    # One rule in the object and the others beside it are the same, too.
    rest = {other: value for other, value in given.items() if other != name}
    assert told(call(rules=Rules(**parted), **rest)) == alone


@pytest.mark.parametrize("taker", TAKERS)
def test_rules_that_are_not_heeded_are_named_and_can_be_left_out(taker):
    names, call = TAKERS[taker]
    for name in STATED.keys() - set(names):
        stated = Rules(**{name: STATED[name][name]})
        with pytest.raises(InputError, match=re.escape(f"found {name}; pass rules.without({name!r})")):
            call(rules=stated)
        assert stated.without(name).stated == ()
        with pytest.raises(TypeError, match=rf"^{taker}\(\) got an unexpected keyword argument '{name}'(; |$)"):
            call(**STATED[name])


@pytest.mark.parametrize("name", STATED)
def test_a_malformed_rule_is_refused_by_its_name(name):
    for value in BAD.values():
        assert refusal(name, value).startswith((name, "labels")), value
    # Whatever passes is answered or refused by what heeds it.
    for value in (object(), 1j, np.zeros((2, 3, 4))):
        for names, call in TAKERS.values():
            if name in names:
                with pytest.raises(InputError):
                    call(rules=Rules(**{name: value}))


@pytest.mark.parametrize(("name", "value"), [("load", "x"), ("min_load", -1), ("demand", True), ("load", [("ann",)])])
def test_numbers_are_refused_before_rules_are_used(name, value):
    with pytest.raises(InputError, match=f"^{name}: expected"):
        Rules(**{name: value})


def test_a_plan_is_held_to_rules_that_it_was_not_made_under():
    rules = Rules(conflicts=[("ann", "p3")], spare=2, max_per_item=2, gone=[("cyd", "p0")])
    verify_plan(planner.plan(CHAIN, rules=rules), rules=rules)
    plan = planner.plan(CHAIN)
    verify_plan(plan, rules=Rules())
    pair = (plan.added[0].reviewer, plan.added[0].item)
    for broken in (
        Rules(conflicts=[pair]),
        Rules(spare=0),
        Rules(max_per_item=0),
        Rules(gone=["cyd"]),
        Rules(fixed=[("ann", "p2"), ("ann", "p3"), ("bob", "p0")]),
        Rules(institutions=dict.fromkeys(PEOPLE, "X")),
    ):
        with pytest.raises(InvalidPlan):
            verify_plan(plan, rules=broken)
    with pytest.raises(InputError, match=r"rules: expected only what verify heeds .*, found load"):
        verify_plan(plan, rules=Rules(load=3))
