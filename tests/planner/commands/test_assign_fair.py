from __future__ import annotations

import csv
import json

import pytest

from tests.planner.commands.test_assign import folder, run

__all__ = ["folder"]

AFFINITY = ("--affinity", "affinity.csv")


@pytest.mark.slow
def test_fairness_and_alternates_are_in_json_and_in_a_file(folder):
    found = run(*AFFINITY, "--fair", "maximin", "--alternates-file", "by.csv", "--json")
    assert found.exit_code == 0, found.output
    report = json.loads(found.stdout)
    assert set(report["fair"]["smallest"]) == {"before", "after", "at_most"}
    assert report["fair"]["smallest"]["before"] <= report["fair"]["smallest"]["after"] + 1e-9
    assert report["fair"]["way"] == "maximin"
    rows = list(csv.DictReader((folder / "by.csv").read_text().splitlines()))
    listed = report["alternates"]
    assert [(row["item"], row["reviewer"]) for row in rows] == [(one["item"], one["reviewer"]) for one in listed]
    assert list(rows[0]) == ["item", "alternate", "reviewer", "affinity", "replaces"]
    assert {row["alternate"] for row in rows} == {"1", "2"}
    panels = {(review["item"], review["reviewer"]) for review in report["reviews"]}
    assert not panels & {(row["item"], row["reviewer"]) for row in rows}
    assert all(one["everyone"] == (row["replaces"] == "all") for row, one in zip(rows, listed, strict=True))


def test_a_floor_out_of_reach_is_explained_and_nothing_is_written(folder):
    found = run(*AFFINITY, "--floor", "9", "--alternates-file", "by.csv")
    assert found.exit_code == 1
    assert "below the floor of 9" in found.output
    assert not (folder / "by.csv").exists()
