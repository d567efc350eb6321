"""Rules that differ among papers, in words."""

from dataclasses import replace

import pytest

from planner import AtLeast, AtMost, assign
from reviewgraph import InputError, Rules
from reviewgraph._base.errors import LabelWarning

pytestmark = pytest.mark.filterwarnings("ignore::reviewgraph._base.errors.LabelWarning")


PEOPLE = {"ann": {"country": "DE"}, "bob": {"country": "FR"}, "cyd": {"country": "FR"}}
PAPERS = {"p": {"country": ["DE", "MT"]}, "q": {"country": "MT"}, "r": {"country": "", "few": 1}}


def test_no_reviewer_of_the_country_is_said_in_words():
    rules = Rules(attributes=PEOPLE, item_attributes=PAPERS, at_least={("country", "same"): 1})
    affinity = {(r, p): 1.0 for r in PEOPLE for p in PAPERS}
    with pytest.warns(LabelWarning, match="1 paper has no country for --at-least country:same=1: r"):
        result = assign(affinity, rules=rules, demand=2, load=3, target="none")
    expected = "1 paper (q) needs at least 1 of the paper's country, and no reviewer who shares a country with "
    assert f"{expected}the paper may take it" in result.explanation


@pytest.mark.parametrize(
    ("rule", "people", "message"),
    [
        (AtMost("country", 1, "same"), PEOPLE, ""),
        (AtMost("country", "few"), PEOPLE, ""),
        (AtMost("country", {"p": 1, "q": 2}), PEOPLE, ""),
        (
            AtMost("country", "fewer"),
            PEOPLE,
            "expected a known attribute of papers, or a number, found 'fewer'; did you",
        ),
        (AtMost("country", {"p": -1}), PEOPLE, "expected a whole number, 0 or more, found -1"),
        (AtLeast("country", 1, "other"), PEOPLE, "expected a known value of country, found 'other'"),
        (AtMost("country", 1, "same"), {"ann": {"country": "same"}}, "expected no reviewer whose country is 'same'"),
        (AtMost("home", 1, "same"), {"ann": {"home": "x"}}, "expected home of papers, too, found none; add it"),
    ],
)
def test_rules_of_papers_that_cannot_be_meant_are_refused(rule, people, message):
    kind = "at_most" if isinstance(rule, AtMost) else "at_least"
    rules = Rules(attributes=people, item_attributes=PAPERS, **{kind: [rule]})
    affinity = {(r, p): 1.0 for r in PEOPLE for p in PAPERS}
    if message:
        with pytest.raises(InputError, match=message):
            assign(affinity, rules=rules, target="none")
    else:
        assert assign(affinity, rules=rules, demand=1, target="none").status == "optimal"


def test_the_number_of_papers_of_a_rule_is_of_those_that_it_is_about():
    people = {f"r{j}": {"country": ["Malta", "Chad"][j % 2], "senior": j < 2} for j in range(4)}
    papers = {
        "p1": {"country": "Malta", "seniors_needed": 1},
        "p2": {"country": "Malta"},
        "p3": {"seniors_needed": 2},
        "p4": {"country": "Chad", "seniors_needed": 1},
    }
    affinity = {(reviewer, paper): 1.0 for reviewer in people for paper in papers}
    numbered = [
        (AtLeast("country", 1, "same"), 2),
        (AtLeast("senior", "seniors_needed"), 2),
        (AtLeast("senior", 0), 0),
        (AtMost("country", 2, "same"), 2),
        (AtMost("country", 2), 3),
        (AtMost("senior", {"p2": 1, "p4": 1}), 1),
    ]
    rules = Rules(attributes=people, item_attributes=papers)
    rules = replace(rules, at_least=[rule for rule, _ in numbered[:3]], at_most=[rule for rule, _ in numbered[3:]])
    chosen = assign(affinity, {"p1": 2, "p2": 2, "p3": 2, "p4": 0}, target="none", rules=rules)
    assert sorted(rule.papers for rule in chosen.kept.rules) == sorted(n for _, n in numbered)
    by_text = {rule.option: rule.papers for rule in chosen.kept.rules}
    assert all(by_text[rule.text] == n for rule, n in numbered[:5])
