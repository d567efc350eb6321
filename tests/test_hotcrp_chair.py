"""What a chair types with the untouched downloads of a real HotCRP, and what the answers must say."""

import csv
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from tests.pages import all_offered, run_line

EXPORTS = Path(__file__).parent / "hotcrp" / "exports"
EVERY = [f"{version}/stage{stage}" for version in ("3.2", "3.4") for stage in (1, 2)]


@pytest.fixture(params=EVERY)
def place(request: pytest.FixtureRequest) -> Path:
    return EXPORTS / request.param


pytestmark = pytest.mark.usefixtures("folder")


def downloads(place: Path) -> None:
    """Copy the downloads under the names that a chair gives them."""
    for path in place.glob("*.*"):
        Path(path.name.removeprefix("labconf-")).write_bytes(path.read_bytes())


def truth(place: Path, name: str) -> list[dict[str, str]]:
    return list(csv.DictReader((place / "truth" / f"{name}.csv").read_text("utf-8").splitlines()))


def answer(done: Result, status: int = 0) -> Any:
    assert done.exit_code == status, done.output
    return json.loads(done.stdout)


ASSIGN = "assign --items data.csv --reviewers allprefs.csv --bids allprefs.csv --conflicts pcconflicts.csv --load 12"


@pytest.mark.parametrize("existing", ["pcassignments.csv", "api-reviews.json", "scores.csv"])
def test_existing_reviews_are_facts(place: Path, existing: str) -> None:
    downloads(place)
    if not Path(existing).exists():
        pytest.skip("there are no scores yet")
    line = f"{ASSIGN} --fixed {existing}"
    made = answer(run_line(f"{line} --json"))
    live = {row["id"] for row in truth(place, "papers") if row["status"] == "submitted"}
    live -= set(re.findall(r"^(\d+),none,", Path("pcassignments.csv").read_text("utf-8"), re.M))
    inside = {"primary", "secondary", "pc"} | ({"external"} if existing != "pcassignments.csv" else set())
    there = {
        (row["email"], row["paper"])
        for row in truth(place, "reviews")
        if row["paper"] in live and (row["type"] in inside or existing == "scores.csv")
        if row["status"] == "submitted" or existing != "scores.csv"
    }
    assert there <= {(one["reviewer"], one["item"]) for one in made["reviews"]}
    per_paper = Counter(paper for _, paper in there)
    assert made["fixed"]["kept"] == len(there)
    assert {one["item"]: one["reviews"] for one in made["fixed"]["above_demand"]} == {
        paper: number for paper, number in per_paper.items() if number > 3
    }
    got = Counter(one["item"] for one in made["reviews"])
    assert got == {paper: max(3, per_paper[paper]) for paper in live}
    Path("answer.json").write_text(json.dumps(made), "utf-8")
    assert run_line(f"verify answer.json {line.removeprefix('assign ')}").exit_code == 0
    assert f"{len(there)} reviews are kept and counted\n" in run_line(line).stdout


FILES = "scores.csv pcassignments.csv --items data.csv"


def hidden(text: str) -> set[str]:
    return set(re.findall(r"^(\d+),none,", text, re.M))


def test_papers_and_reviews_that_do_not_count_are_in_the_headline_and_the_json(place: Path) -> None:
    downloads(place)
    unseen = hidden(Path("pcassignments.csv").read_text("utf-8"))
    assert len(unseen) == 1
    status = {row["id"]: row["status"] for row in truth(place, "papers")}
    live = {paper for paper in status if status[paper] == "submitted"} - unseen
    external = Counter(
        row["paper"] for row in truth(place, "reviews") if row["type"] == "external" and row["paper"] in live
    )
    checked = answer(run_line("check pcassignments.csv --items data.csv --json"))
    assert set(checked["hidden"]) == unseen
    assert set(checked["withdrawn"]) == {paper for paper in status if status[paper] != "submitted"}
    assert {row["item"]: row["reviews"] for row in checked["lacking"]} == external
    # Nothing is lacking in the file that has all reviews.
    assert answer(run_line("check api-reviews.json --items data.csv --json"))["lacking"] == []
    scope = f"{len(live)} of {len(live) + 1} papers seen"
    aside = f"{min(unseen)} (hidden from you), {len(status) - len(live) - 1} withdrawn or not submitted"
    words = "check pcassignments.csv --items data.csv --html check.html"
    checked_page = " ".join(run_line(words).stdout.split())
    assert checked_page.startswith(f"NOT COMPARABLE: {scope}, in ")
    assert f"! {sum(external.values())} reviews that data.csv counts are in no file" in checked_page
    report = Path("check.html").read_text("utf-8")
    assert scope in report
    for page in (checked_page, report, run_line("plan pcassignments.csv --items data.csv").stdout):
        assert aside in " ".join(page.split())
    assigned = " ".join(run_line(ASSIGN).stdout.split())
    assert f"Hidden from you, so that somebody else must assign reviewers: {min(unseen)}." in assigned
    # Codes stand for papers in an anonymous report, and a hidden one has none.
    run_line(f"{words} --anonymous")
    assert "1 paper (hidden from you)" in Path("check.html").read_text("utf-8")


def test_reviews_by_external_reviewers_alone_are_not_planned_again(place: Path) -> None:
    downloads(place)
    lines = Path("pcassignments.csv").read_text("utf-8").splitlines()
    Path("pcassignments.csv").write_text("\n".join([lines[0], *(line for line in lines if ",none," in line), ""]))
    shown = run_line("check pcassignments.csv --items data.csv")
    text = shown.stdout.replace("\n", " ")
    counts = list(csv.DictReader(Path("data.csv").read_text("utf-8").splitlines()))
    cells = [row["# Reviews"] for row in counts if row["Status"] == "Submitted" and row["# Reviews"]]
    reviewed = sum(cell.rpartition("/")[2] != "0" for cell in cells)
    assert text.startswith(f"NOT KNOWN: {reviewed} of {len(cells)} papers have reviews, but none in these files")
    nobody = re.search(r"  No reviewer +(.*?)  ", text)
    assert nobody
    assert len(nobody[1].split(", ")) == len(cells) - reviewed
    # Nothing is planned before the files with the reviews are here.
    assert not all_offered(shown.stdout)
    assert "check again, with files that hold all reviews" in text
    done = run_line("plan pcassignments.csv --items data.csv")
    assert done.exit_code == 1
    assert "there are no reviewers; add the files with their reviews" in " ".join(done.stdout.split())


def test_a_file_to_be_uploaded_adds_to_no_count() -> None:
    downloads(EXPORTS / "3.4" / "stage1")
    before = answer(run_line("check pcassignments.csv --items data.csv --json"))["lacking"]
    assert before
    assert run_line("plan pcassignments.csv --items data.csv --min-reviews 5 -o upload.csv").exit_code == 0
    assert answer(run_line("check pcassignments.csv upload.csv --items data.csv --json"))["lacking"] == before


def test_papers_without_an_order_get_none_in_the_tags() -> None:
    downloads(EXPORTS / "3.4" / "stage2")
    done = run_line(f"calibrate {FILES} --select 15% --to hotcrp -o tags.csv --json")
    rows = json.loads(done.stdout)["items"]
    group_of = {row["item"]: row["group"] for row in rows if row["quality"] is not None}
    assert len({*group_of.values()}) > 1
    words = f"tags.csv: no review connects the {len({*group_of.values()})} groups of papers, so each group of two"
    assert words in done.stderr
    tags = list(csv.DictReader(Path("tags.csv").read_text("utf-8").splitlines()))
    order = {row["paper"]: row["tag"] for row in tags if row["action"] == "tag" and "#" in row["tag"]}
    sizes = Counter(group_of.values())
    assert {paper: tag.partition("#")[0] for paper, tag in order.items()} == {
        paper: f"~~calibrated-group{group}" for paper, group in group_of.items() if sizes[group] > 1
    }
    # With the assumption that makes groups comparable there is one order.
    assert run_line(f"calibrate {FILES} --select 15% --by-group-average --to hotcrp -o tags.csv").exit_code == 0
    tags = list(csv.DictReader(Path("tags.csv").read_text("utf-8").splitlines()))
    assert {row["tag"].partition("#")[0] for row in tags if "#" in row["tag"]} == {"~~calibrated"}


def test_bids_of_a_plan_choose_among_plans_that_are_as_fair() -> None:
    downloads(EXPORTS / "3.4" / "stage1")
    line = "plan pcassignments.csv --items data.csv --conflicts pcconflicts.csv --min-reviews 3"
    plain, by_bids = (answer(run_line(f"{line} {more} --json")) for more in ("", "--bids allprefs.csv"))
    assert by_bids["count"] == plain["count"]
    assert by_bids["largest_load"] == plain["largest_load"]
    assert by_bids["affinity"] > 0
    # Nobody gets a paper that they marked as a conflict.
    marked = {
        (row["email"], row["paper"])
        for row in csv.DictReader(Path("allprefs.csv").read_text("utf-8").splitlines())
        if row["preference"] == "-100"
    }
    assert marked
    assert not marked & {(one["reviewer"], one["item"]) for one in by_bids["reviews"]}
    Path("answer.json").write_text(json.dumps(by_bids), "utf-8")
    assert run_line(f"verify answer.json {line.removeprefix('plan ')} --bids allprefs.csv").exit_code in (0, 4)


@pytest.mark.parametrize(
    "text", ["", "paper,reviewer,bid\n1,ann,yes\n2,ann,no\n", "item,reviewer,preference\n1,ann,no\n"]
)
@pytest.mark.parametrize(
    "line", ["plan pcassignments.csv --items data.csv", "assign --items data.csv --reviewers allprefs.csv"]
)
def test_bids_are_no_affinities_and_the_option_for_them_is_named(text: str, line: str) -> None:
    downloads(EXPORTS / "3.4" / "stage1")
    name = "bids.csv" if text else "allprefs.csv"
    if text:
        Path(name).write_text(text, "utf-8")
    done = run_line(f"{line} --affinity {name}")
    assert done.exit_code == 2
    assert done.stderr.endswith(
        f"{name}: expected affinities, found bids; give the file with --bids instead of --affinity\n"
    )
    # A choice of the column is one of affinities.
    if not text:
        assert run_line(f"{line} --affinity {name} --columns affinity=topic_score").exit_code == 0


def test_fewer_reviews_are_enough_for_a_level_only() -> None:
    downloads(EXPORTS / "3.2" / "stage2")
    plan = "plan pcassignments.csv scores.csv --items data.csv"
    pages = [run_line(f"{plan}{more}").stdout for more in ("", " --for decision --select 20% --max-reviews 2")]
    assert ["fewer may be" in page for page in pages] == [True, False]
