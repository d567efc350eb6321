import csv
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import planner
from reviewgraph import read_reviews
from reviewgraph.graph import random_assignment
from tests.pages import CHAIN, offered, run


@pytest.fixture(autouse=True)
def folder(folder: Path) -> Path:
    Path("reviews.csv").write_text(CHAIN)
    return folder


def test_a_plan_is_written_and_checks() -> None:
    found = run("plan", "reviews.csv", "-o", "plan.csv")
    assert found.exit_code == 0
    first, *_, written, following = found.stdout.splitlines()
    assert first == "2 REVIEWS make all 4 papers comparable for certain (proved: no fewer)"
    assert written == "Written  plan.csv: 2 reviews, one per row"
    assert following == "Next  reviewgraph check reviews.csv plan.csv --require double"
    assert found.stderr == ""
    with Path("plan.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["item", "reviewer", "cost", "joins"]
    assert len(rows) == 2
    assert [row["joins"] for row in rows] == [
        review.joins for review in planner.plan(read_reviews("reviews.csv")).added
    ]
    assert all(row["joins"] in found.stdout for row in rows)
    assert run("check", "reviews.csv", "plan.csv", "--require", "double").exit_code == 0
    assert run("check", "reviews.csv", "--require", "double").exit_code == 1


def test_json_has_the_keys_of_the_contract() -> None:
    found = run("plan", "reviews.csv", "--json")
    report = json.loads(found.stdout)
    assert (report["status"], report["target"], report["count"], report["lower_bound"]) == ("optimal", "double", 2, 2)
    assert {"reviewer", "item"} <= set(report["reviews"][0])
    assert len(report["mail"]) >= 1


def test_constraints_from_files() -> None:
    Path("conflicts.csv").write_text("item,reviewer\np4,ann\np3,ann\nnowhere,ann\n")
    Path("capacity.csv").write_text("reviewer,spare\nann,0\neve,4\n")
    Path("cost.csv").write_text("item,reviewer,cost\np1,eve,2\n")
    words = ("--conflicts", "conflicts.csv", "--capacity", "capacity.csv", "--cost", "cost.csv", "--json")
    stopped = run("plan", "reviews.csv", *words)
    assert (stopped.exit_code, "add --merge none" in stopped.stderr) == (2, True)
    found = run("plan", "reviews.csv", *words, "--merge", "none")
    report = json.loads(found.stdout)
    assert (
        "--conflicts conflicts.csv: 1 of 3 pairs names a reviewer or paper that is not in the reviews" in found.stderr
    )
    assert {review["reviewer"] for review in report["reviews"]} == {"eve"}
    assert (report["status"], report["count"], report["cost"]) == ("optimal", 4, 5.0)
    spread = json.loads(
        run("plan", "reviews.csv", "--conflicts", "conflicts.csv", "--spare", "1", "--json", "--merge", "none").stdout
    )
    assert (spread["count"], spread["largest_load"]) == (2, 1)


def test_a_budget_too_small_ends_with_status_1() -> None:
    found = run("plan", "reviews.csv", "--max-reviews", "1", "--json")
    report = json.loads(found.stdout)
    assert found.exit_code == 1
    assert (report["status"], report["count"], report["lower_bound"]) == ("budget_exhausted", 1, 2)
    assert "needs more reviews than the budget" in report["explanation"][0]
    page = run("plan", "reviews.csv", "--max-reviews", "1").stdout
    assert page.startswith("1 REVIEW IS NOT ENOUGH: 3 of 4 papers comparable for certain, 2 without\n")
    assert "  Needed  at least 2 reviews\n" in page
    assert report["largest_group"] == {"before": 2, "after": 3}
    assert report["expected_errors"]["before"] > report["expected_errors"]["after"] > 0


def random_table(path: str, size: int) -> None:
    reviews = random_assignment(size, size, 3, np.random.default_rng(1))
    pairs = zip(reviews.reviewer.tolist(), reviews.item.tolist(), strict=True)
    Path(path).write_text("reviewer,paper\n" + "".join(f"r{j},p{i}\n" for j, i in pairs))


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals are sent otherwise there")
def test_control_c_writes_the_best_so_far() -> None:
    random_table("hard.csv", 100)
    words = [sys.executable, "-m", "reviewgraph", "plan", "hard.csv", "-o", "plan.csv", "--time-limit", "300"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        seen = next(line for line in process.stderr if "best so far:" in line and "no plan yet" not in line)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    assert (process.returncode, "Traceback" in err) == (0, False), err
    assert "interrupted: this is the best found so far" in out
    count = int(seen.split("best so far: ")[1].split()[0])
    assert count >= len(Path("plan.csv").read_text().splitlines()) - 1 > 0
    assert run("check", "hard.csv", "plan.csv", "--require", "double").exit_code == 0


def test_no_plan_ends_with_status_1_says_why_and_leaves_the_file_alone() -> None:
    found = run("plan", "reviews.csv", "--spare", "0", "-o", "none.csv")
    assert found.exit_code == 1
    assert "none.csv: not written, since there is no plan" in found.stderr
    assert not Path("none.csv").exists()
    assert found.stdout.startswith("NO PLAN makes all 4 papers comparable for certain within the rules\n")
    assert "  Why  no reviewer has spare load" in found.stdout


def test_a_plan_of_no_reviews_is_a_file_that_checks() -> None:
    Path("done.csv").write_text("reviewer,paper\nann,p1\nann,p2\n")
    assert run("plan", "done.csv", "-o", "plan.csv").exit_code == 0
    assert Path("plan.csv").read_text() == "item,reviewer,cost,joins\n"
    assert run("check", "done.csv", "plan.csv", "--require", "double").exit_code == 0


def test_bad_input_ends_with_status_2() -> None:
    Path("fixed.csv").write_text("item,reviewer\np9,ann\n")
    found = run("plan", "reviews.csv", "--fixed", "fixed.csv")
    assert (found.exit_code, found.stdout) == (2, "")
    assert "(paper 'p9')" in found.stderr
    assert run("plan", "reviews.csv", "--spare", "-1").exit_code == 2
    assert run("plan", "missing.csv").exit_code == 2


def test_what_is_offered_instead_of_an_impossible_plan_can_be_typed() -> None:
    Path("scores.csv").write_text("reviewer,paper,score\nann,p1,1\nann,p2,2\nbob,p2,1\nbob,p3,2\n")
    Path("barred.csv").write_text("reviewer,paper\nann,p3\nbob,p1\n")
    none = run("plan", "scores.csv", "--conflicts", "barred.csv")
    assert none.exit_code == 1
    assert offered(none.stdout) == ["plan", "scores.csv", "--conflicts", "barred.csv", "--best-effort"]
    assert run(*offered(none.stdout)).exit_code == 1
