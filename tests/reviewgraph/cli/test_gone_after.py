from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from reviewgraph.cli import main

#: Cleo delivered all; ann owes a review and was last seen in February, bob owes one and delivered late.
HOTCRP = (
    "pid,review,email,round,submitted_at,vtag,status,Overall merit\n"
    "1,1A,ann@x,R1,2026-02-20T10:00:00Z,1,complete,3\n2,2A,ann@x,R1,,,draft,\n"
    "2,2B,bob@x,R1,2026-03-05 09:00:00 +0100,1,complete,2\n3,3A,bob@x,R1,,,draft,\n"
    "1,1B,cleo@x,R1,20260221T101112Z,,complete,4\n3,3B,cleo@x,R1,2026-02-22,,complete,1\n"
)


def run(*words: str) -> Result:
    return CliRunner().invoke(main, list(words), catch_exceptions=False)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("reviews.csv").write_text(HOTCRP)


def counts(*words: str) -> tuple[int, int]:
    report = json.loads(run("check", *words, "--json").stdout)
    return report["reviewers"], report["reviews"]


@pytest.mark.parametrize(
    ("after", "found"),
    [
        ("2026-03-01", (3, 5)),  # ann, whose submitted review stays
        ("2026-03-05", (3, 4)),  # a day counts to its end, so bob is late as well
        ("2026-03-05T07:59Z", (3, 5)),
        ("2026-03-05T09:00+01:00", (3, 4)),
        ("2026-02-20T09:59:59", (3, 6)),
    ],
)
def test_who_owes_a_review_and_was_silent_since_is_gone(after: str, found: tuple[int, int]) -> None:
    assert counts("reviews.csv") == (3, 6)
    assert counts("reviews.csv", "--gone-after", after) == found


def test_a_check_says_who_is_late_and_leads_to_a_plan_that_does_not_ask_them() -> None:
    found = run("check", "reviews.csv", "--gone-after", "2026-03-01")
    said = (
        "--gone-after 2026-03-01: 1 reviewer owes a review and has submitted none after it; the last came on 2026-03-05"
    )
    assert said in found.stderr
    assert "Next: reviewgraph plan reviews.csv --items data.csv --gone-after 2026-03-01" in found.stdout
    plan = run("plan", "reviews.csv", "--gone-after", "2026-03-01", "--to", "csv", "-o", "plan.csv")
    assert "ann@x" not in Path("plan.csv").read_text()
    line = next(line for line in plan.stdout.splitlines() if line.startswith("Next: "))
    assert (
        line == "Next: reviewgraph check reviews.csv plan.csv --items data.csv --require double --gone-after 2026-03-01"
    )
    # Whoever is asked by the plan owes nothing that was due then.
    checked = run(*line.replace(" --items data.csv", "").split()[2:])
    assert checked.exit_code == 0, checked.output
    assert "in files without times, which make nobody late" in checked.stderr


def test_people_who_are_named_are_gone_as_well() -> None:
    Path("gone.csv").write_text("reviewer\nbob@x\n")
    assert counts("reviews.csv", "--gone", "gone.csv", "--gone-after", "2026-03-01") == (3, 4)


def test_openreview_knows_when_edges_and_notes_were_made() -> None:
    notes: list[dict[str, Any]] = [
        {"id": "n1", "invitations": ["V/Submission1/-/Official_Review"], "forum": "f1", "signatures": ["~Ann1"],
         "cdate": 1_771_580_000_000, "content": {"rating": {"value": 5}}},
        {"id": "n2", "invitations": ["V/Submission2/-/Official_Review"], "forum": "f2", "signatures": ["~Bob1"],
         "cdate": 1_772_700_000_000, "content": {"rating": {"value": 3}}},
    ]  # fmt: skip
    edges = [
        {"invitation": "V/Reviewers/-/Assignment", "head": head, "tail": tail, "cdate": made}
        for head, tail, made in [
            ("f1", "~Ann1", 1_770_000_000_000), ("f2", "~Ann1", 1_770_000_000_000), ("f2", "~Bob1", 1_770_000_000_000),
            ("f1", "~Bob1", 1_770_000_000_000), ("f1", "~Dan1", 1_774_000_000_000),
        ]
    ]  # fmt: skip
    Path("notes.json").write_text(json.dumps(notes))
    Path("edges.json").write_text(json.dumps(edges))
    # Ann is late; bob was there in March; dan was asked afterwards.
    assert counts("notes.json", "edges.json") == (3, 5)
    assert counts("notes.json", "edges.json", "--gone-after", "2026-03-01") == (3, 4)


@pytest.mark.parametrize(
    ("text", "after", "message"),
    [
        (
            "reviewer,paper\nann,1\n",
            "2026-03-01",
            "expected a column submitted_at that says when",
        ),
        ("reviewer,paper,submitted_at\nann,1,\n", "2026-03-01", "found no date; name the column with --columns"),
        (
            "reviewer,paper,submitted_at\nann,1,soon\n",
            "2026-03-01",
            "csv:2: submitted_at: expected a date such as",
        ),
        ("reviewer,paper\nann,1\n", "1/3/2026", "expected a date such as 2026-03-01, a time such as"),
        ("", "2026-03-01", "reviews.csv"),
    ],
)
def test_what_says_no_date_ends_with_one_message(text: str, after: str, message: str) -> None:
    Path("reviews.csv").write_text(text)
    found = run("check", "reviews.csv", "--gone-after", after)
    assert found.exit_code == 2
    assert message in found.stderr
    assert found.stderr.count("Error:") == 1


def test_a_column_of_dates_may_have_any_name() -> None:
    Path("reviews.csv").write_text("reviewer,paper,score,came\nann,1,2,2026-02-01\nann,2,,\nbob,1,3,2026-02-03\n")
    words = ("reviews.csv", "--columns", "submitted_at=came", "--gone-after", "2026-03-01")
    assert counts(*words) == (2, 2)


def test_an_answer_without_people_who_are_late_is_verified() -> None:
    words = ("reviews.csv", "--gone-after", "2026-03-01")
    Path("answer.json").write_text(run("check", *words, "--json").stdout)
    assert run("verify", "answer.json", *words).exit_code == 0
    assert run("verify", "answer.json", "reviews.csv").exit_code == 1
