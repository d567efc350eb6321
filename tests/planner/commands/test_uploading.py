"""``plan`` and ``assign`` write what conference systems take."""

import csv
import json
from pathlib import Path

import pytest

from reviewgraph.formats import takers
from reviewgraph.io import read_reviews
from tests.pages import offered, run

#: Two groups of papers, as HotCRP tells of assignments.
ASSIGNMENTS = "paper,action,email,title\n" + "".join(
    f"{paper},primaryreview,{who}@example.org,Paper {paper}\n"
    for who, papers in {"ann": "12", "bob": "12", "cyd": "34", "dan": "34"}.items()
    for paper in papers
)


@pytest.fixture(autouse=True)
def folder(folder: Path) -> None:
    Path("pcassignments.csv").write_text(ASSIGNMENTS, "utf-8")
    Path("papers.csv").write_text("item,title\n1,On ties\n2,On trees\n", "utf-8")
    Path("people.csv").write_text("reviewer\nann@example.org\nbob@example.org\n", "utf-8")


def assigned(*words: str) -> tuple[str, ...]:
    return ("assign", "--items", "papers.csv", "--reviewers", "people.csv", "--demand", "2", *words)


def pairs(*paths: str) -> set[tuple[object, object]]:
    found = read_reviews(*paths).to_dict()
    return set(zip(found["reviewer"], found["item"], strict=True))


def test_a_plan_for_hotcrp_reaches_the_level_and_clears_nothing() -> None:
    told = run("plan", "pcassignments.csv", "--to", "hotcrp", "-o", "upload.csv")
    assert told.exit_code == 0, told.output
    rows = list(csv.DictReader(Path("upload.csv").read_text("utf-8").splitlines()))
    assert rows
    assert [row["paper"] for row in rows] == [f"{row['paper'].split()[0]} -re:{row['email']}" for row in rows]
    assert {(row["action"], row["reviewtype"]) for row in rows} == {("review", "primary")}
    assert "Upload  upload.csv: HotCRP, Assignments, Bulk update (it only adds)" in told.stdout
    assert offered(told.stdout) == [
        *("check", "pcassignments.csv", "upload.csv", "--items", "data.csv", "--require", "double")
    ]
    assert run("check", "pcassignments.csv", "upload.csv", "--require", "double").exit_code == 0
    assert pairs("pcassignments.csv") < pairs("pcassignments.csv", "upload.csv")


@pytest.mark.parametrize("name", takers())
def test_every_form_holds_the_same_assignment(name: str) -> None:
    papers = ["TALKAA", "TALKAB"] if name == "pretalx" else ["1", "2"]
    Path("papers.csv").write_text("item,title\n{},On ties\n{},On trees\n".format(*papers), "utf-8")
    told = run(*assigned("--to", name, "-o", "out"))
    assert told.exit_code == 0, told.output
    text = Path("out").read_text("utf-8")
    assert text.count("ann@example.org") >= 1
    assert papers[0] in text
    if takers()[name].read_back:
        assert pairs("out") == {(f"{who}@example.org", paper) for who in ("ann", "bob") for paper in papers}
        assert offered(told.stdout) == ["check", "out", "--require", "double", "--items", "papers.csv"]
        assert run(*offered(told.stdout)).exit_code == 0


def test_a_plan_is_for_the_system_that_the_reviews_came_from() -> None:
    told = run("plan", "pcassignments.csv", "-o", "upload.csv")
    assert told.exit_code == 0, told.output
    assert "Upload  upload.csv: HotCRP, Assignments, Bulk update (it only adds)" in told.stdout
    assert Path("upload.csv").read_text("utf-8").startswith("paper,action,email,reviewtype,round\n")
    assert run("plan", "pcassignments.csv", "--to", "csv", "-o", "upload.csv").exit_code == 0
    assert Path("upload.csv").read_text("utf-8").startswith("item,reviewer,")


def test_a_plan_for_excel_is_a_workbook_that_check_reads() -> None:
    """Its name says so; the system of the reviews does not count then."""
    for name in ("plan.csv", "plan.xlsx"):
        assert (
            run("plan", "pcassignments.csv", *(["--to", "csv"] if name == "plan.csv" else []), "-o", name).exit_code
            == 0
        )
    assert Path("plan.xlsx").read_bytes().startswith(b"PK")
    assert pairs("plan.xlsx") == pairs("plan.csv")
    assert run("check", "pcassignments.csv", "plan.xlsx", "--require", "double").exit_code == 0
    letters = run("plan", "pcassignments.csv", "--to", "mail", "-o", "letters.xlsx")
    assert letters.exit_code == 0, letters.output
    assert Path("letters.xlsx").read_bytes().startswith(b"PK")


def test_names_that_the_system_does_not_take_are_never_another_format_without_a_word() -> None:
    Path("pcassignments.csv").write_text(ASSIGNMENTS.replace("@example.org", ""), "utf-8")
    told = run("plan", "pcassignments.csv", "-o", "plan.csv")
    assert told.exit_code == 2
    assert "to hotcrp: expected email addresses of reviewers, found 4 other: ann, bob, cyd, ...; " in told.stderr
    assert "--to csv" in told.stderr
    assert not Path("plan.csv").exists()
    assert run("plan", "pcassignments.csv", "--to", "csv", "-o", "plan.csv").exit_code == 0
    assert Path("plan.csv").read_text("utf-8").startswith("item,reviewer,")
    assert run("plan", "pcassignments.csv").exit_code == 0


@pytest.mark.parametrize(("odd", "kept"), [("#cyd@example.org", False), ("o'cyd@example.org", True), ("cyd", False)])
def test_one_odd_address_leaves_the_form_of_the_others(odd: str, kept: bool) -> None:
    Path("pcassignments.csv").write_text(ASSIGNMENTS.replace("cyd@example.org", odd), "utf-8")
    Path("capacity.csv").write_text(f'reviewer,spare\n"{odd}",1\nann@example.org,1\n', "utf-8")
    Path("fixed.csv").write_text(f'item,reviewer\n1,"{odd}"\n3,ann@example.org\n', "utf-8")
    words = ["plan", "pcassignments.csv", "--capacity", "capacity.csv", "--fixed", "fixed.csv", "-o", "upload.csv"]
    told = run(*words)
    rows = list(csv.DictReader(Path("upload.csv").read_text("utf-8").splitlines()))
    assert set(rows[0]) == {"paper", "action", "email", "reviewtype", "round"}
    assert {row["email"] for row in rows} == {"ann@example.org", *([odd] if kept else [])}
    assert told.exit_code == (0 if kept else 1), told.output
    assert (f"1 review left out, to be entered by hand (1 by {odd})" in told.stderr) is not kept


def test_labels_and_invitations_reach_the_edges() -> None:
    words = assigned("--to", "openreview", "--label", "run-1", "--invitation", "V/-/Proposed_Assignment")
    assert run(*words, "-o", "edges.json").exit_code == 0
    edge = json.loads(Path("edges.json").read_text("utf-8"))[0]
    assert (edge["label"], edge["invitation"]) == ("run-1", "V/-/Proposed_Assignment")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--to", "cmt"], "Error: --to cmt: expected -o FILE with it"),
        (["--label", "x"], "Error: --label x: expected -o FILE with it"),
        (
            ["--to", "csv", "-o", "out", "--label", "x"],
            "Error: --label: expected --to hotcrp or openreview with it, found --to csv",
        ),
        (
            ["--to", "hotcrp", "-o", "a.xlsx"],
            "-o a.xlsx: expected the name of a file for HotCRP, such as a.csv; for Excel",
        ),
        (["--to", "hotcrp", "-o", "out", "--invitation", "x"], "Error: --invitation: expected --to openreview with it"),
    ],
)
def test_what_does_not_go_together_is_refused(words: list[str], message: str) -> None:
    for command in (["plan", "pcassignments.csv", *words], assigned(*words)):
        told = run(*command)
        assert told.exit_code == 2
        assert message in told.stderr


def test_a_label_goes_to_the_system_that_the_input_is_from() -> None:
    done = run("plan", "pcassignments.csv", "-o", "upload.csv", "--label", "R2")
    assert done.exit_code == 0, done.stderr
    assert {row["round"] for row in csv.DictReader(Path("upload.csv").read_text().splitlines())} == {"R2"}
    told = run("plan", "pcassignments.csv", "-o", "upload.csv", "--invitation", "x")
    assert told.exit_code == 2
    assert "--invitation: expected --to openreview with it" in told.stderr
    told = run(*assigned("-o", "out", "--label", "x"))
    assert told.exit_code == 2
    assert "--label: expected --to hotcrp or openreview with it" in told.stderr


@pytest.mark.slow
def test_who_is_not_of_the_committee_is_asked_only_by_name_and_for_external_reviews() -> None:
    place = Path(__file__).parents[2] / "hotcrp" / "exports" / "3.4" / "stage1"
    words = ["plan", str(place / "api-reviews.json"), "--items", str(place / "labconf-data.csv"), "--min-reviews", "3"]
    told = run(*words, "-o", "upload.csv")
    assert told.exit_code == 0, told.output
    assert "reviewers are not on the committee and not invited; --willing FILE invites" in told.stderr
    rows = list(csv.DictReader(Path("upload.csv").read_text("utf-8").splitlines()))
    assert {row["reviewtype"] for row in rows} == {"primary"}
    assert not any(row["email"].startswith("ext") for row in rows)
    Path("willing.csv").write_text(
        "reviewer\next4@e.example\next6@e.example\npc1@u1.example\npc2@u2.example\n", "utf-8"
    )
    assert run(*words, "--willing", "willing.csv", "-o", "upload.csv").exit_code == 0
    rows = list(csv.DictReader(Path("upload.csv").read_text("utf-8").splitlines()))
    assert {(row["email"][:3] == "ext", row["reviewtype"]) for row in rows} == {(True, "external"), (False, "primary")}


@pytest.mark.parametrize(
    "label",
    [
        *("any", "ALL", "none", "unnamed", "pc", "meta", "primary", "Secondary", "external", "optional", "default"),
        *("review", "r2draft", "draft2", "response", "x-response", "R2review", "R_", "R--2", "R 2", "2R", "-R", "ré"),
    ],
)
def test_rounds_that_hotcrp_would_not_take_are_refused_in_one_message(label: str) -> None:
    told = run("plan", "pcassignments.csv", "--to", "hotcrp", "-o", "upload.csv", f"--label={label}")
    assert told.exit_code == 2
    assert "label that HotCRP takes as the name of a round (letters and digits" in told.stderr
    assert f"found 1 other: {label}; choose another --label, such as R2" in told.stderr
    assert told.stderr.count("Error") == 1
    assert not Path("upload.csv").exists()


@pytest.mark.parametrize("label", ["R2", "round-2", "A_b", "reviewers", "sec", "pri", "ext", "opt", "preview2", "any2"])
def test_rounds_that_hotcrp_takes(label: str) -> None:
    done = run("plan", "pcassignments.csv", "--to", "hotcrp", "-o", "upload.csv", "--label", label)
    assert done.exit_code == 0, done.output
    assert f",{label}\n" in Path("upload.csv").read_text("utf-8")
