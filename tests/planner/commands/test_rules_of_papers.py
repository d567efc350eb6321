"""Rules that differ among papers and conflicts by affiliation, from downloads to the verifier."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from tests.pages import run

KIT = Path(__file__).parents[2] / "hotcrp" / "exports" / "3.4" / "stage1"


def rows(name: str) -> list[dict[str, str]]:
    with open(name, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(autouse=True)
def conference(folder: Path) -> None:
    """The downloads of a HotCRP conference, and a list of its committee with affiliations and countries."""
    for name in ("labconf-data.csv", "labconf-authors.csv", "labconf-data.json", "labconf-allprefs.csv"):
        Path(name).write_bytes((KIT / name).read_bytes())
    committee = [row["email"] for row in rows(str(KIT / "truth" / "pc.csv"))]
    lines = [f"{who},UNIVERSITY  {place % 30 + 1},{'DFI'[place % 3]}\n" for place, who in enumerate(committee)]
    Path("pc.csv").write_text("email,affiliation,country\n" + "".join(lines), encoding="utf-8")
    own = ["D", "F", "D;F", "", "I"]
    papers = [f"{row['ID']},{own[place % 5]},{place % 2}\n" for place, row in enumerate(rows("labconf-data.csv"))]
    Path("papers.csv").write_text("item,country,locals\n" + "".join(papers), encoding="utf-8")


def answered(*words: str) -> tuple[dict[str, Any], Result]:
    result = run(*words, "--json")
    assert result.exit_code == 0, result.output
    Path("answer.json").write_text(result.stdout, encoding="utf-8")
    return json.loads(result.stdout), result


def refuted(answer: dict[str, Any], *words: str) -> str:
    Path("answer.json").write_text(json.dumps(answer), encoding="utf-8")
    result = run("verify", "answer.json", *words)
    assert result.exit_code == 1
    return result.stdout


@pytest.mark.parametrize("authors", ["labconf-authors.csv", "labconf-data.json"])
def test_nobody_reviews_a_paper_from_their_affiliation(authors: str) -> None:
    options = ("--reviewers", "pc.csv", "--authors", authors, "--conflict-by", "affiliation")
    words = ("--items", "labconf-data.csv", "--bids", "labconf-allprefs.csv", *options, "--load", "12")
    words = (*words, "--target", "none")
    answer, result = answered("assign", *words)
    assert "--conflict-by affiliation: 119 conflicts by an affiliation of 24 reviewers" in result.stderr
    home = {row["email"]: row["affiliation"].split()[-1] for row in rows("pc.csv")}
    wrote: dict[str, set[str]] = {}
    for row in rows("labconf-authors.csv"):
        wrote.setdefault(row["paper"], set()).add(row["affiliation"].removeprefix("University "))
    assert not any(home[row["reviewer"]] in wrote[row["item"]] for row in answer["reviews"])
    assert run("verify", "answer.json", *words).exit_code != 1
    # Whoever is moved to a paper from their affiliation is found by the check and by the verifier.
    moved = next(
        (row, who) for row in answer["reviews"] for who in home
        if home[who] in wrote[row["item"]] and who != row["reviewer"]
    )  # fmt: skip
    item, before, after = moved[0]["item"], moved[0]["reviewer"], moved[1]
    moved[0]["reviewer"] = after
    assert f"reviews: {after} on {item} may not be: a conflict" in refuted(answer, *words)
    Path("reviews.csv").write_text(f"reviewer,paper\n{after},{item}\n{before},{item}\n", encoding="utf-8")
    found = json.loads(run("check", "reviews.csv", *options, "--json").stdout)
    assert {"reviewer": after, "item": item} in found["violations"]["conflicts"]


def test_a_plan_keeps_domains_apart() -> None:
    people = [f"{who}@{host}" for host in ("a.edu", "cs.a.edu", "b.org") for who in ("ann", "bob")]
    Path("reviews.csv").write_text(
        "".join(["reviewer,paper\n", *(f"{who},p{k % 4}\n" for k, who in enumerate(people))])
    )
    lines = ["p0,w@a.edu,Eve", "p1,x@cs.a.edu,Fay", "p2,y@b.org,Gus", f"p3,{people[4]},Ann"]
    Path("authors.csv").write_text("\n".join(["paper,email,name", *lines, ""]))
    words = ("reviews.csv", "--authors", "authors.csv", "--conflict-by", "domain", "--min-reviews", "2")
    answer, result = answered("plan", *words)
    assert (
        "--conflict-by domain: 12 conflicts by an e-mail domain of 6 reviewers and the authors of 4 papers"
        in result.stderr
    )
    barred = {"p0": "a.edu", "p1": "a.edu", "p2": "b.org", "p3": "b.org"}
    assert not any(row["reviewer"].endswith(barred[row["item"]]) for row in answer["reviews"])
    assert run("verify", "answer.json", *words).exit_code == 0
    answer["reviews"][0]["reviewer"] = next(who for who in people if who.endswith(barred[answer["reviews"][0]["item"]]))
    assert "is a conflict" in refuted(answer, *words)


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (("--at-least", "country:same=1"), "at least 1 of the paper's country"),
        (("--at-most", "country:same=0"), "at most 0 of the paper's country"),
        (("--at-most", "country:other=1"), "at most 1 of one country but the paper's"),
        (("--at-least", "country:same=locals"), "at least n (by locals) of the paper's country"),
        (("--at-most", "country:D=locals"), "at most n (by locals) of country D"),
    ],
)
def test_rules_of_papers_hold_and_the_verifier_counts_by_itself(rule: tuple[str, str], words: str) -> None:
    options = ("--items", "papers.csv", "--reviewers", "pc.csv", *rule, "--load", "12", "--target", "none")
    answer, _ = answered("assign", *options)
    assert [entry["words"] for entry in answer["rules"]] == [words]
    assert run("verify", "answer.json", *options).exit_code != 1
    country = {row["email"]: row["country"] for row in rows("pc.csv")}
    # All reviewers of one country, of each: some paper cannot take them.
    outcomes = []
    for home in "DFI":
        changed = json.loads(json.dumps(answer))
        people = [who for who, where in country.items() if where == home]
        for place, row in enumerate(changed["reviews"]):
            row["reviewer"] = people[place % len(people)]
        outcomes.append(f"{rule[0]} {rule[1]}: paper" in refuted(changed, *options))
    assert any(outcomes)
