import csv
import json

import pytest
from click.testing import CliRunner

from planner.commands.assign import assign
from reviewgraph.cli import main


@pytest.fixture
def folder(folder):
    (folder / "items.csv").write_text("item\n" + "".join(f"p{i}\n" for i in range(12)))
    for name, number in (("reviewers.csv", 10), ("fewer.csv", 9)):
        (folder / name).write_text("reviewer\n" + "".join(f"r{j}\n" for j in range(number)))
    rows = [f"p{i},r{j},{((7 * i + 3 * j) % 11) / 10}\n" for i in range(12) for j in range(10)]
    (folder / "affinity.csv").write_text("item,reviewer,affinity\n" + "".join(rows))
    return folder


def run(*arguments, reviewers="reviewers.csv"):
    given = ["--items", "items.csv", "--reviewers", reviewers, *arguments]
    return CliRunner().invoke(assign, given, prog_name="reviewgraph assign")


def report(*arguments, **options):
    result = run(*arguments, "--json", **options)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def pairs(found):
    return {(review["reviewer"], review["item"]) for review in found["reviews"]}


def test_what_assign_wrote_is_changed_where_somebody_left_and_nowhere_else(folder):
    assert run("--affinity", "affinity.csv", "-o", "first.csv").exit_code == 0
    rows = csv.DictReader((folder / "first.csv").read_text().splitlines())
    before = {(row["reviewer"], row["item"]) for row in rows}
    result = run("--affinity", "affinity.csv", "--previous", "first.csv", "--json", reviewers="fewer.csv")
    assert "affinity.csv: 12 of 120 pairs name a reviewer or paper that is not in the lists" in result.stderr
    found = json.loads(result.stdout)
    assert pairs(found) - before == {(pair["reviewer"], pair["item"]) for pair in found["changes"]["new"]}
    assert len(found["changes"]["new"]) == sum(reviewer == "r9" for reviewer, _ in before) == found["changes"]["fewest"]
    assert {pair["reviewer"] for pair in found["changes"]["dropped"]} == {"r9"}


def test_affinities_of_some_who_are_not_listed_are_counted_and_of_nobody_refused(folder):
    result = run("--affinity", "affinity.csv", reviewers="fewer.csv")
    assert "affinity.csv: 12 of 120 pairs name a reviewer" in result.stderr
    assert "left out (reviewer 'r9')" in result.stderr
    (folder / "strange.csv").write_text("item,reviewer,affinity\nP1,r1,0.5\n")
    result = run("--affinity", "strange.csv")
    assert result.exit_code == 2
    assert "strange.csv: 'P1' and 'p1' differ in letter case alone. One paper or two?" in result.stderr


def test_bids_count_beside_affinity_and_a_conflict_is_one(folder):
    chosen = pairs(report("--affinity", "affinity.csv", "--target", "none"))
    reviewer, item = sorted(chosen)[0]
    (folder / "bids.csv").write_text(f"item,reviewer,bid\n{item},{reviewer},Conflict\np0,r3,Very High\np0,zoe,no\n")
    result = run("--affinity", "affinity.csv", "--bids", "bids.csv=5", "--target", "none", "--json")
    found = pairs(json.loads(result.stdout))
    assert (reviewer, item) not in found
    assert ("r3", "p0") in found
    assert "bids.csv: 1 of 3 pairs names a reviewer or paper that is not in the lists" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--affinity", "affinity.csv=much"), "affinity.csv=much: expected FILE or FILE=WEIGHT with a finite number"),
        (("--affinity", "affinity.csv=nan"), "found the weight 'nan'"),
    ],
)
def test_what_does_not_fit_is_refused(folder, arguments, message):
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in result.output


@pytest.mark.parametrize("command", ["assign", "plan"])
def test_a_bid_of_a_conflict_by_nobody_is_refused_by_its_file(folder, command):
    (folder / "bids.csv").write_text("item,reviewer,bid\np0,r3,yes\np1,r1,conflict\np2,zoe,conflict\n")
    (folder / "conflicts.csv").write_text("item,reviewer\np4,r4\n")
    rows = "".join(f"r{j},p{i},5\n" for i in range(12) for j in (i % 10, (i + 1) % 10))
    (folder / "reviews.csv").write_text(f"reviewer,item,score\n{rows}")
    files = ["--items", "items.csv", "--bids", "bids.csv", "--conflicts", "conflicts.csv"]
    words = [command, *(["reviews.csv"] if command == "plan" else []), *files, "--reviewers", "reviewers.csv"]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 2
    assert "Error: bids.csv: 1 of 2 pairs names a reviewer or paper" in result.stderr
    assert "(reviewer 'zoe')" in result.stderr
    apart = CliRunner().invoke(main, [*words, "--merge", "none", "--json"])
    assert apart.exit_code == 0, apart.stderr
    assert "bids.csv: 1 of 2 pairs names a reviewer" in apart.stderr
    assert ("r1", "p1") not in pairs(json.loads(apart.stdout))
