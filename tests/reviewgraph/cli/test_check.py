import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pages import run

DATA = Path(__file__).parents[4] / "shared" / "data"
# connected, doubly connected, degrees of freedom; by the scores: components, largest cover
FIGURES = {
    "auckland": (1, 301, 85),
    "mooc_peer_grading": (1, 472, 0),
    "aibs_grants": (1, 4, 0),
    "skating_2018": (1, 1, 0),
    "strictly": (1, 1, 0),
    "nih_r01": (973, 4_454, 1_844),
    "vqeg_525_high": (1, 1, 0),
}
#: What takes long to load.
HEAVY = {"duckdb", "narwhals", "networkx", "numpy", "ortools", "pandas", "pyarrow", "scipy"}
TABLE = "reviewer,paper,score\nann,p1,3\nann,p2,5\nbob,p1,2\nbob,p2,8\nbob,p3,4\n"


@pytest.mark.slow
@pytest.mark.skipif(not DATA.exists(), reason="the shared tables are not here")
@pytest.mark.parametrize("name", FIGURES)
def test_figures_of_real_tables(folder: Path, name: str) -> None:
    connected, double, missing = FIGURES[name]
    with (DATA / name / "scores.csv").open(newline="") as file:
        rows = [row[:2] for row in csv.reader(file)]
    with Path("structure.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    structure = json.loads(run("check", "structure.csv", "--json").stdout)
    scored = json.loads(run("check", str(DATA / name / "scores.csv"), "--json").stdout)
    for found in (structure, scored):
        assert found["connected"]["components"] == connected
        assert found["doubly_connected"]["components"] == double
        assert found["degrees_of_freedom"] == missing


def test_page_for_people(folder: Path) -> None:
    Path("r.csv").write_text(TABLE)
    assert run("check", "r.csv").stdout.splitlines() == [
        "COMPARABLE: all 3 papers, for certain",
        "  Reviews         5 by 2 reviewers, 1 to 2 per paper; higher is better (or --lower-is-better)",
        "  If one is lost  not comparable without bob",
        "! Papers without a review are not in these files: --items FILE lists them.",
        "Next  reviewgraph calibrate r.csv",
    ]
    details = run("check", "r.csv", "--verbose").stdout
    assert "Expected error of a paper once all scores are in: 0.62 in spreads of quality" in details
    assert "Not comparable for certain without any one of 3 reviews:\n  bob on p1\n  bob on p2\n  bob on p3" in details
    assert "Read r.csv: 5 rows." in details
    mistyped = run("check", "--verbose", "grops", "r.csv")
    assert mistyped.exit_code == 2
    assert "found 'grops'; did you mean groups?" in mistyped.stderr
    Path("grops").write_text(TABLE)
    assert run("check", "--verbose", "grops").stdout.splitlines()[0] == "COMPARABLE: all 3 papers, for certain"


@pytest.mark.usefixtures("infer_once")
def test_last_year_is_read_as_this_year_and_gives_points(folder: Path) -> None:
    pairs = [(j, (j + 3 * i) % 20) for j in range(20) for i in range(5)]
    rows = [f"r{j},p{i},{20 + 3 * i - 4 * (j % 3) + (7 * i * j) % 5}" for j, i in pairs]
    Path("now.csv").write_text("who,item\n" + "".join(f"r{j},p{i}\n" for j, i in pairs))
    Path("last.csv").write_text("who,item,score\n" + "\n".join(rows) + "\n")
    words = ["check", "now.csv", "--columns", "reviewer=who", "--like", "last.csv"]
    assert "points (median; plain average" in " ".join(run(*words, "--verbose=errors").stdout.split())
    found = json.loads(run(*words, "--json").stdout)["expected_error"]
    assert found["assumptions"]["spread"] > 5
    assert 0 < found["median"] < found["assumptions"]["spread"]


@pytest.mark.parametrize(("level", "status"), [("double", 1), ("recoverable", 1), ("connected", 0)])
def test_required_level_sets_the_exit_status(folder: Path, level: str, status: int) -> None:
    Path("r.csv").write_text("reviewer,item\na,1\na,2\nb,2\nb,3\n")
    result = run("check", "r.csv", "--require", level)
    assert result.exit_code == status
    assert result.stdout.startswith(f"LEVEL MISSED: {level}; not comparable for certain: 3 papers") == bool(status)
    assert bool(re.search(f"^  Required +{level}: reached$", result.stdout, re.M)) == (not status)
    assert "Next  reviewgraph plan r.csv" in result.stdout


def test_a_plan_is_checked_with_its_reviews(folder: Path) -> None:
    Path("r.csv").write_text("reviewer,item,score\na,1,5\na,2,4\nb,2,1\nb,3,2\n")
    Path("plan.csv").write_text("item,reviewer,cost,joins\n1,b,1,joins b to a\n")
    assert run("check", "r.csv", "--require", "double").exit_code == 1
    result = run("check", "r.csv", "plan.csv", "--require", "double")
    assert result.exit_code == 0
    assert result.stdout.startswith("COMPARABLE: all 3 papers, once all reviews are in\n")
    assert "4 of 5 are in, every paper has one or more; not comparable yet" in result.stdout
    assert "(better once the missing review is in; if some will not arrive, check --gone FILE)" in result.stdout


@pytest.mark.usefixtures("infer_once")
def test_demo_writes_its_table_and_never_over_another(folder: Path) -> None:
    first, again = run("demo"), run("demo")
    assert (first.exit_code, again.exit_code) == (0, 0)
    assert first.stdout == again.stdout
    assert first.stdout.startswith("$ reviewgraph check reviewgraph-demo.csv")
    planned = first.stdout.split("$ reviewgraph plan reviewgraph-demo.csv")[1]
    assert "1 REVIEW makes all 48 papers comparable for certain (proved: no fewer)" in planned
    chosen = first.stdout.split("$ reviewgraph calibrate reviewgraph-demo.csv --select 10%")[1]
    assert re.match(r"\s+1 IN, 8 TO DISCUSS FOR 4 PLACES, 39 OUT \(90 %; higher is better, assumed\)", chosen)
    Path("reviewgraph-demo.csv").write_text("mine")
    refused = run("demo")
    assert refused.exit_code == 2
    assert Path("reviewgraph-demo.csv").read_text() == "mine"
    assert "expected no such file" in refused.stderr


def test_help_of_every_command_loads_nothing_heavy() -> None:
    script = (
        "import sys\nfrom reviewgraph.cli import main\n"
        "for name in main.list_commands(None):\n"
        "    try:\n        main([name, '--help'])\n    except SystemExit:\n        pass\n"
        f"print(*{HEAVY!r} & set(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr.split() == []
    assert done.stdout.count("Usage:") > 8


def test_small_tables_do_not_need_scipy(folder: Path) -> None:
    Path("r.csv").write_text(TABLE)
    script = (
        "import sys\nfrom reviewgraph.cli import main\n"
        "try:\n    main(['check', 'r.csv'])\nexcept SystemExit as end:\n    assert not end.code\n"
        f"print(*{HEAVY - {'numpy'}!r} & set(sys.modules), file=sys.stderr)"
    )
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=env)
    assert done.stderr.split() == []


def test_a_level_that_is_missed_is_what_the_next_plan_is_for(folder: Path) -> None:
    Path("r.csv").write_text(TABLE)
    missed = run("check", "r.csv", "--require", "survives-review")
    assert missed.exit_code == 1
    assert "\nNext  reviewgraph plan r.csv --target survives-review -o plan.csv\n" in missed.stdout


HANGING = "reviewer,paper,score\na,p1,3\na,p2,4\nb,p1,4\nb,p2,5\nc,p2,1\nc,p3,2\nd,p3,4\n"


def test_groups_of_the_verdict_are_those_of_the_section(folder: Path) -> None:
    Path("hanging.csv").write_text(HANGING)
    page = " ".join(run("check", "hanging.csv", "--verbose", "groups,losses", "--missing", "0.2").stdout.split())
    assert "3 papers in 2 groups (2, 2 papers)" in page
    assert "The map shows 2 groups" in page
    assert "Not comparable even if reviewers differ just in severity without this reviewer: c" in page
    assert "papers are at least comparable for certain:" in page


def test_a_stream_with_missing_scores_is_comparable_only_once_they_are_in(folder: Path) -> None:
    Path("late.csv").write_text("reviewer,paper,score\na,p1,3\na,p2,\nb,p1,4\nb,p2,5\n")
    first, streamed = (run("check", "late.csv", *words).stdout.splitlines()[0] for words in ((), ("--stream",)))
    assert first == streamed == "COMPARABLE: all 2 papers, once all reviews are in"


def test_noise_of_last_year_is_not_advised_where_it_is_used(folder: Path) -> None:
    Path("hanging.csv").write_text(HANGING)
    pages = [
        run("check", "hanging.csv", "--verbose", "errors", *more).stdout for more in ((), ("--like", "hanging.csv"))
    ]
    assert ["--like FILE" in page for page in pages] == [True, False]


def test_the_next_command_repeats_what_the_findings_and_rules_were(folder: Path) -> None:
    Path("s.csv").write_text("reviewer,paper\nann,p1\nann,p2\nbob,p2\nbob,p3\nTBD,p1\n")
    Path("authors.csv").write_text("item,author\np1,bob\n")
    done = run("check", "s.csv", "--authors", "authors.csv", "--accept", "placeholders")
    assert "Next  reviewgraph plan s.csv --accept placeholders --authors authors.csv" in done.stdout
    planned = run("plan", "s.csv", "--authors", "authors.csv", "-o", "plan.csv")
    assert "No conflicts given" not in planned.stdout
    assert "--require double --authors authors.csv" in planned.stdout


@pytest.mark.parametrize("command", ["check", "plan"])
def test_authors_of_whom_nobody_reviews_are_refused_unless_they_have_affiliations(folder: Path, command: str) -> None:
    Path("s.csv").write_text("reviewer,paper,affiliation\nann,p1,Oslo\nann,p2,Oslo\nbob,p2,Bath\nbob,p3,Bath\n")
    Path("people.csv").write_text("reviewer,affiliation\nann,Oslo\nbob,Bath\n")
    Path("authors.csv").write_text("item,author,affiliation\np1,Bob Smith,Rome\np2,Cyd Who,Oslo\n")
    refused = run(command, "s.csv", "--authors", "authors.csv")
    assert refused.exit_code == 2
    assert "--authors authors.csv: none of 2 authors is in the reviews" in refused.stderr
    by = ("--conflict-by", "affiliation", "--reviewers", "people.csv")
    assert run(command, "s.csv", "--authors", "authors.csv", *by).exit_code in (0, 1)


def test_a_plan_for_papers_short_of_their_own_demands_has_the_largest_of_these(folder: Path) -> None:
    Path("s.csv").write_text("reviewer,paper\nann,p1\nann,p2\nbob,p1\nbob,p2\n")
    Path("papers.csv").write_text("item,demand\np1,3\np2,2\n")
    done = run("check", "s.csv", "--items", "papers.csv", "--demand", "1")
    assert "plan s.csv --items papers.csv --min-reviews 3" in done.stdout


@pytest.mark.parametrize(("command", "share"), [("check", "0%"), ("calibrate", "0"), ("plan", "0")])
def test_none_to_select_is_refused_and_a_share_is_one_at_least(folder: Path, command: str, share: str) -> None:
    Path("s.csv").write_text("reviewer,paper,score\nann,p1,3\nann,p2,4\nbob,p1,1\nbob,p2,5\n")
    goal = ("--for", "decision", "--max-reviews", "1") if command == "plan" else ()
    refused = run(command, "s.csv", "--select", share, *goal)
    assert refused.exit_code == 2
    assert "expected 1 to 2 papers, of those with a score; found 0" in refused.stderr
    assert run(command, "s.csv", "--select", "10%", *goal).exit_code == 0


def test_letters_are_no_table_of_reviews(folder: Path) -> None:
    Path("s.csv").write_text("reviewer,paper\nann,p1\nann,p2\nbob,p2\nbob,p3\n")
    run("plan", "s.csv", "--to", "mail", "-o", "letters.csv")
    refused = run("check", "s.csv", "letters.csv")
    assert refused.exit_code == 2
    assert "found letters for mail merge" in refused.stderr
