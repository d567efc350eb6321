"""``reviewgraph simulate rounds``: a design before any score, a first phase, and a table played through."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from reviewgraph.cli import main

pytestmark = pytest.mark.usefixtures("infer_once")


DESIGN = ["--papers", "30", "--reviews-total", "90", "--select", "5", "--draws", "2", "--rounds", "2,1"]
#: Each paper by all reviewers but one, in turn.
PANEL = "reviewer,item,score\n" + "".join(
    f"r{j},p{i},{(5 * i + 11 * j + i * i * j) % 17 / 6 + j / 3 + i / 2:.2f}\n"
    for i in range(8)
    for j in range(5)
    if (i + j) % 5
)


def run(*words: str, status: int = 0) -> Result:
    found = CliRunner().invoke(main, ["simulate", "rounds", *words])
    assert found.exit_code == status, found.output
    return found


def test_help_of_simulate_names_it_and_it_has_a_help_of_its_own() -> None:
    shown = CliRunner().invoke(main, ["simulate", "--help"]).output
    assert "rounds            Simulate reviews asked for in rounds" in shown
    shown = run("--help").output
    assert "simulate rounds [OPTIONS] [REVIEWS...]" in shown
    assert "--reviews-total" in shown


def test_a_design_is_printed_written_and_drawn(tmp_path: Path) -> None:
    page = run(*DESIGN, "--html", str(tmp_path / "a.html"), "-o", str(tmp_path / "a.csv")).stdout
    printed = run(*DESIGN, "--json").stdout
    assert "30 papers, 90 reviews, 5 to be selected." in page
    assert "2 rounds after the first phase: ask for" in page
    assert "Next: reviewgraph assign" in page
    told = json.loads(printed)
    assert [one["rounds"] for one in told["best"]] == [1, 2]
    rows = (tmp_path / "a.csv").read_text().splitlines()
    assert len(rows) == 2 + len(told["splits"])
    assert rows[0].startswith("rounds,first,held_back,share,connects,wrong")
    assert "Wrong selections against the share held back" in (tmp_path / "a.html").read_text()
    assert run(*DESIGN, "--json").stdout == printed


def test_a_first_phase_that_is_not_enough_has_status_1(tmp_path: Path) -> None:
    whole, apart, papers = (tmp_path / name for name in ("whole.csv", "apart.csv", "papers.csv"))
    whole.write_text("reviewer,item\nann,p1\nann,p2\nbob,p2\nbob,p3\n")
    apart.write_text("reviewer,item\nann,p1\nann,p2\nbob,p3\nbob,p4\n")
    papers.write_text("item\np1\np2\np3\np4\n")
    assert "Connected enough for a second phase." in run("--assignment", str(whole)).stdout
    assert "fall into 2 pieces" in run("--assignment", str(apart), status=1).stdout
    missing = run("--assignment", str(whole), "--items", str(papers), "--json", status=1).stdout
    told = json.loads(missing)["first_phase"]
    assert (told["unreviewed"], told["enough"]) == (["p4"], False)


@pytest.mark.usefixtures("infer_once")
def test_a_table_is_played_through(tmp_path: Path) -> None:
    table, accepted = tmp_path / "panel.csv", tmp_path / "accepted.csv"
    table.write_text(PANEL)
    accepted.write_text("item\np5\np6\np7\n")
    words = [str(table), "--select", "3", "--draws", "2", "--rounds", "1", "--accepted", str(accepted)]
    page = run(*words, "--html", str(tmp_path / "a.html")).stdout
    for name in ("flat", "random", "borderline", "1 round", "refused then"):
        assert name in page
    told = json.loads(run(*words, "--json").stdout)
    assert [way["name"] for way in told["ways"]] == ["flat", "random", "borderline", "1 round"]
    assert told["total"] == 24
    assert told["files"][0]["rows"] == 32
    assert "Differences from the selection" in (tmp_path / "a.html").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "expected REVIEWS to play through, or --papers N"),
        (["--papers", "10", "--first", "3"], "--first: expected REVIEWS with it, found none"),
        (["TABLE", "--papers", "10"], "--papers: expected no REVIEWS with it, found REVIEWS"),
        (["--papers", "10", "--assignment", "TABLE"], "--papers: expected none beside --assignment"),
        (["--papers", "10", "--rounds", "1,x"], "expected whole numbers from 1 on, separated by commas"),
        (["--papers", "10", "--reviews-total", "9"], "expected 10, one per paper"),
        (["TABLE", "--first", "9"], "expected papers with more than 9 scores"),
        (["--papers", "10", "-o", "a.json"], "expected the name of a table"),
    ],
)
def test_what_does_not_go_together_is_refused(words: list[str], message: str, tmp_path: Path) -> None:
    table = tmp_path / "panel.csv"
    table.write_text(PANEL)
    found = run(*(str(table) if word == "TABLE" else word for word in words), status=2)
    assert message in " ".join(found.output.split())


@pytest.mark.parametrize(("low", "high"), [("0", "1"), ("1", "0")])
@pytest.mark.parametrize("command", [["simulate", "rounds", "--papers", "10"], ["plan", "TABLE"]])
def test_the_probability_of_a_lost_review_has_one_range(
    command: list[str], low: str, high: str, tmp_path: Path
) -> None:
    table = tmp_path / "panel.csv"
    table.write_text(PANEL)
    words = [str(table) if word == "TABLE" else word for word in command]
    for value in (low, high):
        found = CliRunner().invoke(main, [*words, "--missing", value])
        assert found.exit_code == 2
        assert "0<x<1" in found.output.replace(" ", "")


def test_the_next_lines_of_a_design_run_as_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In an empty folder, with files of one's own, and where a split is no whole number of reviews per paper."""
    monkeypatch.chdir(tmp_path)
    words = ["--papers", "12", "--reviews-total", "36", "--select", "3", "--draws", "2", "--rounds", "1"]
    for step in ("empty", "files"):
        page = run(*words).stdout
        lines = [line for line in page.splitlines() if line.startswith("Next: reviewgraph ")]
        assert len(lines) == (2 if step == "empty" else 1)
        for line in lines:
            found = CliRunner().invoke(main, shlex.split(line)[2:])
            assert found.exit_code == 0, (line, found.output)
        assert len((tmp_path / "assigned.csv").read_text().splitlines()) - 1 in (12, 24)
        if step == "empty":
            for name in ("papers", "reviewers"):
                (tmp_path / f"{name}.csv").write_text((tmp_path / "trial" / f"{name}.csv").read_text())
            (tmp_path / "assigned.csv").unlink()


def test_steps_that_cannot_connect_and_lines_look_different(tmp_path: Path) -> None:
    run(*DESIGN, "--load", "3", "--html", str(tmp_path / "a.html"))
    html = (tmp_path / "a.html").read_text()
    told = json.loads(run(*DESIGN, "--load", "3", "--json").stdout)
    loose = [split for split in told["splits"] if not split["connects"]]
    assert loose
    wide = html[html.index("held-back-wide") :]
    wide = wide[: wide.index("</svg>")]
    # A cross for each split, and one in the legend.
    assert wide.count('class="cross"') == len(loose) + 1
    assert {'class="link"', 'class="curve"', 'class="link loose"', 'class="curve loose"'} <= set(
        re.findall(r'class="[^"]*"', wide)
    )
    assert wide.count(">1 round<") == wide.count(">2 rounds<") == 2
    lead = re.search(r'<p class="lead">([^<]*)</p>', html)
    assert lead
    best, flat = told["best"][-1], told["flat"]
    assert f"{best['wrong']:.2f} of the 5 selected papers are then expected to be wrong" in lead[1]
    assert f"instead of {flat['wrong']:.2f} with all 90 reviews at once" in lead[1]


def test_neighbours_of_a_split_are_described_in_words() -> None:
    page = " ".join(run(*DESIGN).stdout.split())
    told = json.loads(run(*DESIGN, "--json").stdout)
    for best in told["best"]:
        assert f"{best['saved']:.2f} +- {best['saved_error']:.2f} fewer than at once" in page
    assert "Beside it" not in page
    assert re.search(r"with [\d.]+ first \d\.\d\d \+- \d\.\d\d (?:more|fewer) than that", page)


def test_progress_of_a_replay_names_each_way(tmp_path: Path) -> None:
    import planner
    from reviewgraph import read_reviews

    seen: list[tuple[str, float | None]] = []
    path = tmp_path / "panel.csv"
    path.write_text(PANEL)
    table = read_reviews(str(path))
    planner.replay_rounds(table, 3, draws=2, rounds=[1], progress=lambda one: seen.append((one.words, one.done)))
    assert [words for words, _ in seen[:4]] == [
        f"draw 1 of 2, {name}" for name in ("flat", "random", "borderline", "1 round")
    ]
    assert [done for _, done in seen] == [pytest.approx((place + 1) / 8) for place in range(8)]
