import json

import pytest

from tests.planner.commands.test_assign import folder, run

__all__ = ["folder"]

AFFINITY = ("--affinity", "affinity.csv")


@pytest.mark.slow
def test_fairness_and_alternates_are_in_json(folder):
    found = run(*AFFINITY, "--fair", "maximin", "--alternates", "2", "--json")
    assert found.exit_code == 0, found.output
    report = json.loads(found.stdout)
    assert set(report["fair"]["smallest"]) == {"before", "after", "at_most"}
    assert report["fair"]["smallest"]["before"] <= report["fair"]["smallest"]["after"] + 1e-9
    assert report["fair"]["way"] == "maximin"
    panels = {(review["item"], review["reviewer"]) for review in report["reviews"]}
    assert not panels & {(one["item"], one["reviewer"]) for one in report["alternates"]}


def test_alternates_are_in_the_table_of_papers(folder):
    page = run(*AFFINITY, "--alternates", "2", "--verbose", "papers").stdout
    listed = json.loads(run(*AFFINITY, "--alternates", "2", "--json").stdout)["alternates"]
    for item in {one["item"] for one in listed}:
        [line] = [line for line in page.splitlines() if line.split()[:1] == [item]]
        assert line.endswith(", ".join(one["reviewer"] for one in listed if one["item"] == item))


def test_a_floor_out_of_reach_is_explained_and_nothing_is_written(folder):
    found = run(*AFFINITY, "--floor", "9", "-o", "by.csv")
    assert found.exit_code == 1
    assert "below the floor of 9" in found.output
    assert not (folder / "by.csv").exists()
