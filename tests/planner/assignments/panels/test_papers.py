"""Rules that differ among papers, in words."""

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
