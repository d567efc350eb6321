import json

import pytest
from click.testing import CliRunner

from planner.commands.assign import assign

PEOPLE = """reviewer,load,affiliation,senior,region
r0,4,X,yes,Asia;Europe
r1,4,X,no,Asia
r2,4,Y,no,Europe
r3,4,Y,yes,
r4,4,Z,no,Africa
r5,4,Z,yes,Asia
"""


@pytest.fixture(autouse=True)
def folder(folder):
    (folder / "items.csv").write_text("item\n" + "".join(f"p{i}\n" for i in range(5)))
    (folder / "people.csv").write_text(PEOPLE)
    rows = [f"p{i},r{j},{((7 * i + 3 * j) % 11) / 10}\n" for i in range(5) for j in range(6)]
    (folder / "affinity.csv").write_text("item,reviewer,affinity\n" + "".join(rows))
    return folder


def run(*arguments):
    base = ["--items", "items.csv", "--reviewers", "people.csv", "--affinity", "affinity.csv", "--demand", "3"]
    return CliRunner().invoke(assign, [*base, *arguments], prog_name="reviewgraph assign")


def panels(result):
    found = {}
    for review in json.loads(result.stdout)["reviews"]:
        found.setdefault(review["item"], []).append(review["reviewer"])
    return found.values()


def test_a_column_is_no_rule_until_it_is_asked_for():
    result = run("--json")
    assert (
        "people.csv: no rule uses the columns institution and senior; to add one: "
        "--at-most institution=1 --at-least senior=1" in result.stderr
    )
    assert json.loads(result.stdout)["rules"] == []
    homes = dict(zip((f"r{j}" for j in range(6)), "XXYYZZ", strict=True))
    assert any(len({homes[r] for r in panel}) < 3 for panel in panels(result))
    asked = run("--json", "--at-most", "institution=1")
    assert "no rule uses the column senior; to add one: --at-least senior=1" in asked.stderr
    assert all(len({homes[r] for r in panel}) == 3 for panel in panels(asked))


def test_the_page_and_the_json_say_which_rules_hold():
    rules = ("--at-most", "affiliation=2", "--at-least", "region:Asia=1")
    page = " ".join(run(*rules).stdout.split())
    assert "at most 2 of one affiliation (5 papers); at least 1 of region Asia (5 papers)" in page
    report = json.loads(run(*rules, "--json", "--target", "none").stdout)
    assert [rule["option"] for rule in report["rules"]] == [" ".join(rules[k : k + 2]) for k in (0, 2)]
    assert report["affinity"] <= report["bound"] + 1e-6
    assert (report["status"], report["gap_percent"]) == ("optimal", 0.0)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--at-most regions=1", "found 'regions'; did you mean 'region'? Known: "),
        ("--at-least region:Asien=1", "expected a known value of region, found 'Asien'; did you mean 'Asia'?"),
        ("--at-least senior:yes=1", "expected no value of senior, which is only yes or no"),
        ("--at-least senior=-1", "--at-least senior=-1: expected a whole number, 0 or more, found -1"),
    ],
)
def test_a_rule_that_cannot_be_is_one_message(option, message):
    result = run(*option.split(" "))
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("Error: ") == 1
