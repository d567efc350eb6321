import csv
import json
import re

import pytest
from click.testing import CliRunner

from planner.commands.assign import assign
from reviewgraph.cli import main
from tests.pages import offered


@pytest.fixture
def folder(folder):
    (folder / "items.csv").write_text("item,demand\n" + "".join(f"p{i},\n" for i in range(12)))
    for name, number in (("reviewers.csv", 10), ("fewer.csv", 9)):
        (folder / name).write_text("reviewer,load\n" + "".join(f"r{j},\n" for j in range(number)))
    rows = [f"p{i},r{j},{((7 * i + 3 * j) % 11) / 10}\n" for i in range(12) for j in range(10)]
    (folder / "affinity.csv").write_text("item,reviewer,affinity\n" + "".join(rows))
    return folder


def run(*arguments, reviewers="reviewers.csv"):
    given = ["--items", "items.csv", "--reviewers", reviewers, *arguments]
    return CliRunner().invoke(assign, given, prog_name="reviewgraph assign")


def test_written_file_passes_the_check(folder):
    result = run("--affinity", "affinity.csv", "-o", "out.csv")
    assert result.exit_code == 0
    rows = list(csv.reader((folder / "out.csv").read_text().splitlines()))
    assert rows[0] == ["item", "reviewer", "affinity"]
    assert len(rows) == 37
    assert "check out.csv --require double --items items.csv" in " ".join(offered(result.stdout))
    checked = CliRunner().invoke(main, ["check", "out.csv", "--items", "items.csv", "--require", "double"])
    assert checked.exit_code == 0


def test_page_shows_loads_demands_and_affinities(folder):
    page = run("--affinity", "affinity.csv").stdout
    first, loads, affinity, safe, warning, *_ = page.splitlines()
    assert first == "ASSIGNED: 36 reviews, 3 for each of 12 papers, comparable for certain"
    assert re.fullmatch(r"  Loads     \d to 4 of at most 4 \(the smallest that works\), median [34.5]+", loads)
    assert affinity.startswith("  Affinity  ")
    assert safe == "  Safe      any one reviewer may drop out"
    assert warning == "! No conflicts given: --conflicts FILE keeps papers from their authors."
    assert "reviewers (r0, r1" not in page
    whole = run("--affinity", "affinity.csv", "--verbose").stdout
    assert whole.startswith("\n".join(page.splitlines()[:5]))
    assert "\nReviewers, the largest load first:\n" in whole


def test_infeasible_is_told_and_nothing_is_written(folder):
    result = run("--affinity", "affinity.csv", "--demand", "9", "--load", "5", "-o", "out.csv")
    assert result.exit_code == 1
    assert "need 9 reviews each = 108 reviews" in " ".join(result.stdout.split())
    assert "out.csv: not written, since there is no assignment" in result.stderr
    assert not (folder / "out.csv").exists()


def test_conflicts_fixed_and_first_phase(folder):
    (folder / "conflicts.csv").write_text("item,reviewer\np0,r0\np1,tba\n")
    (folder / "fixed.csv").write_text("item,reviewer\np2,r3\n")
    (folder / "first.csv").write_text("item,reviewer,score\np0,r1,3\np0,r2,4\ngone,r1,2\ngone,r2,1\n")
    files = ["--conflicts", "conflicts.csv", "--fixed", "fixed.csv", "--phase-one", "first.csv"]
    result = run("--affinity", "affinity.csv", "--allow-unscored", *files, "--demand", "2", "--json")
    assert result.exit_code == 0
    assert "conflicts.csv: 1 row left out, whose reviewer is a placeholder ('tba')" in result.stderr
    pairs = {(r["item"], r["reviewer"]) for r in json.loads(result.stdout)["reviews"]}
    assert ("p2", "r3") in pairs
    assert not pairs & {("p0", "r0"), ("p0", "r1"), ("p0", "r2")}
    assert len(pairs) == 24


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--affinity", "nowhere.csv"], "nowhere.csv"),
        (["--affinity", "strange.csv"], "(paper 'zz'); correct the names"),
        (["--survive"], "--survive is no longer an option: --target survives-reviewer"),
    ],
)
def test_bad_input_is_one_message_and_status_2(folder, arguments, message):
    (folder / "strange.csv").write_text("item,reviewer,affinity\nzz,r1,0.5\n")
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.output


def test_help_names_every_level():
    words = " ".join(run("assign", "--help-all").stdout.split())
    assert "[survives-reviewer|survives-review|double|recoverable|connected|none]" in words.replace("| ", "|")


@pytest.mark.slow
def test_nobody_reviews_their_own_paper(folder):
    rows = "".join(f"p{i},r{i % 10}\n" for i in range(12))
    (folder / "authors.csv").write_text("item,author\n" + rows + "p0,r1;zoe\n")
    result = run("--affinity", "affinity.csv", "--authors", "authors.csv", "--json")
    assert result.exit_code == 0
    assert "authors.csv: 1 of 11 authors are not reviewers; if some of them review, check the spelling" in result.stderr
    report = json.loads(result.stdout)
    wrote = {(f"r{i % 10}", f"p{i}") for i in range(12)} | {("r1", "p0")}
    assert not wrote & {(review["reviewer"], review["item"]) for review in report["reviews"]}
    assert "No conflicts" not in run("--affinity", "affinity.csv", "--authors", "authors.csv").stdout
    gone = run("--affinity", "affinity.csv", "--allow-cycles")
    assert gone.exit_code == 2
    assert "--allow-cycles is no longer an option: leave it out" in gone.stderr


def test_lots_have_probabilities(folder):
    lots = ["--affinity", "affinity.csv", "--max-probability", "0.5"]
    result = run(*lots, "--json")
    assert result.exit_code == 0
    report = json.loads(result.stdout)
    rows = report["probabilities"]
    assert sum(row["probability"] for row in rows) == pytest.approx(36)
    assert report["draws"]["assignments"] == 10
    assert report["draws"]["at_level"] == 1.0


@pytest.mark.slow
def test_fairness_and_alternates_are_in_json(folder):
    found = run("--affinity", "affinity.csv", "--fair", "maximin", "--alternates", "2", "--json")
    assert found.exit_code == 0, found.output
    report = json.loads(found.stdout)
    assert set(report["fair"]["smallest"]) == {"before", "after", "at_most"}
    assert report["fair"]["smallest"]["before"] <= report["fair"]["smallest"]["after"] + 1e-9
    assert report["fair"]["way"] == "maximin"
    panels = {(review["item"], review["reviewer"]) for review in report["reviews"]}
    assert not panels & {(one["item"], one["reviewer"]) for one in report["alternates"]}


def test_alternates_are_in_the_table_of_papers(folder):
    page = run("--affinity", "affinity.csv", "--alternates", "2", "--verbose", "papers").stdout
    listed = json.loads(run("--affinity", "affinity.csv", "--alternates", "2", "--json").stdout)["alternates"]
    for item in {one["item"] for one in listed}:
        [line] = [line for line in page.splitlines() if line.split()[:1] == [item]]
        assert line.endswith(", ".join(one["reviewer"] for one in listed if one["item"] == item))


def test_a_floor_out_of_reach_is_explained_and_nothing_is_written(folder):
    found = run("--affinity", "affinity.csv", "--floor", "9", "-o", "by.csv")
    assert found.exit_code == 1
    assert "below the floor of 9" in found.output
    assert not (folder / "by.csv").exists()


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
