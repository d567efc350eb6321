"""The command calibrate, as a person types it."""

import csv
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from lsc.commands.calibrate import calibrate

KEYS = {"item", "quality", "average", "rank", "standard_error", "group"}
PANEL = [
    (who, f"p{i}", round(a * q + b, 3))
    for who, a, b in (("ann", 1, 0), ("bob", 2, 1), ("cleo", 0.5, 3))
    for i, q in enumerate((1, 2.5, 4, 5, 7))
]


def table(folder: Path, rows: list[tuple[str, str, object]], name: str = "reviews.csv") -> str:
    path = folder / name
    lines = ["reviewer,item,score", *(",".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def run(*words: str) -> Result:
    return CliRunner().invoke(calibrate, list(words))


def test_json_is_one_object_with_the_keys_of_the_contract(tmp_path: Path) -> None:
    done = run(table(tmp_path, [*PANEL, ("dora", "p9", "")]), "--json", "--select", "40%")
    assert done.exit_code == 0
    answer = json.loads(done.stdout)
    assert set(answer) == {"method", "status", "hypothesis", "objective", "unique", "items", "selected"}
    assert [set(row) for row in answer["items"]] == [KEYS] * 6
    assert answer["selected"] == ["p4", "p3"]
    assert answer["status"] == "optimal"
    assert answer["method"] == "lsc"
    last = answer["items"][-1]
    assert last == {"item": "p9", "quality": None, "average": None, "rank": None, "standard_error": None, "group": 2}
    assert "1 paper has no score" in done.stderr


def test_people_get_a_table_with_both_ranks_and_the_next_command(tmp_path: Path) -> None:
    path = table(tmp_path, PANEL)
    done = run(path)
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert "plain average may be the better guide" in lines[0]
    header = next(line for line in lines if line.startswith("rank"))
    assert header.split() == ["rank", "paper", "calibrated", "+/-", "average", "its", "rank"]
    assert lines[lines.index(header) + 1].split()[:2] == ["1", "p4"]
    assert "harsh" in done.stdout
    assert "stretches the scale" in done.stdout
    assert lines[-1] == f"Next, choose: reviewgraph calibrate {path} --select 10% -o calibrated.csv"


def test_a_file_of_all_papers_is_written(tmp_path: Path) -> None:
    target = tmp_path / "calibrated.csv"
    done = run(table(tmp_path, PANEL), "-o", str(target))
    assert done.exit_code == 0
    with target.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["item", "quality", "average", "rank", "standard_error", "group"]
    assert {row["item"] for row in rows} == {f"p{i}" for i in range(5)}


def test_a_selection_across_groups_is_refused(tmp_path: Path) -> None:
    path = table(tmp_path, [*PANEL, ("dora", "q1", 1), ("dora", "q2", 2)])
    done = run(path, "--select", "2")
    assert done.exit_code == 1
    assert "cannot be compared" in done.stdout
    assert "--by-group-average" in done.stderr
    assert json.loads(run(path, "--select", "2", "--json").stdout)["selected"] == []
    assert len(json.loads(run(path, "--select", "2", "--json", "--by-group-average").stdout)["selected"]) == 2


def test_side_files(tmp_path: Path) -> None:
    path = table(tmp_path, PANEL)
    kinds, known = tmp_path / "kinds.csv", tmp_path / "known.csv"
    kinds.write_text("reviewer,hypothesis\nbob,monotone\n", encoding="utf-8")
    known.write_text("item,quality\np0,10\np4,70\n", encoding="utf-8")
    answer = json.loads(run(path, "--hypotheses", str(kinds), "--references", str(known), "--json").stdout)
    assert answer["hypothesis"] == "mixed"
    assert [round(row["quality"], 6) for row in answer["items"]] == [10, 25, 40, 50, 70]
    assert answer["unique"] is True


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--max-slope", "0"], "--max-slope: expected a positive number"),
        (["--select", "many"], "expected a number of papers, or a percentage"),
        (["--select", "99"], "--select: expected at most 5 papers"),
        (["--hypothesis", "wavy"], "Invalid value for '--hypothesis'"),
        (["--references", "{folder}/unknown.csv"], "unknown.csv: expected an item of the reviews, found 'zebra'"),
        (
            ["--hypotheses", "{folder}/nobody.csv"],
            "nobody.csv: expected reviewers of the reviews who gave a score",
        ),
        (["--hypotheses", "{folder}/wavy.csv"], "wavy.csv: reviewer 'ann': expected one of linear, monotone,"),
        (["--hypotheses", "{folder}/none.csv"], "none.csv"),
        (["-o", "{folder}/no/such/folder.csv"], "cannot be written"),
    ],
)
def test_bad_input_is_one_message_and_status_two(tmp_path: Path, words: list[str], message: str) -> None:
    (tmp_path / "unknown.csv").write_text("item,quality\nzebra,1\n", encoding="utf-8")
    (tmp_path / "nobody.csv").write_text("reviewer,hypothesis\neve,linear\n", encoding="utf-8")
    (tmp_path / "wavy.csv").write_text("reviewer,hypothesis\nann,wavy\n", encoding="utf-8")
    done = run(table(tmp_path, PANEL), *(word.format(folder=tmp_path) for word in words))
    assert done.exit_code == 2
    assert message in done.stderr
    assert "Traceback" not in done.output


def test_reviews_without_scores_are_refused(tmp_path: Path) -> None:
    done = run(table(tmp_path, [("ann", "p1", ""), ("bob", "p1", "")]))
    assert done.exit_code == 2
    assert "expected scores, found none" in done.stderr


def test_lower_is_better_is_printed_back(tmp_path: Path) -> None:
    path = table(tmp_path, [(who, paper, 20 - float(y)) for who, paper, y in PANEL])
    answer = json.loads(run(path, "--lower-is-better", "--json").stdout)
    assert answer["items"][4]["rank"] == 1
    assert answer["items"][4]["quality"] == min(row["quality"] for row in answer["items"])
