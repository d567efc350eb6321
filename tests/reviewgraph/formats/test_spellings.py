"""Labels that people take for one are never silently two: addresses are joined, others are asked about."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from reviewgraph.cli import main
from reviewgraph.errors import InputError
from reviewgraph.formats import side
from reviewgraph.formats.spellings import Spellings
from reviewgraph.labels import identity
from reviewgraph.reading import read_reviews

#: Eight ways to spell a label otherwise that a person does not see, or takes for the same.
WAYS: dict[str, Callable[[str], str]] = {
    "capitals": str.upper,
    "blank before": lambda label: f" {label}",
    "blank behind": lambda label: f"{label} ",
    "no-break blank": lambda label: f"\u00a0{label}",
    "zero width": lambda label: f"{label[:1]}\u200b{label[1:]}",
    "byte order mark": lambda label: f"\ufeff{label}",
    "full width": lambda label: label[:-1] + chr(ord(label[-1]) + 0xFEE0),
    "soft hyphen": lambda label: f"{label[:1]}\u00ad{label[1:]}",
}
TABLES = 400 if os.environ.get("HYPOTHESIS_PROFILE") == "nightly" else 24


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_each_way_leaves_the_identity(way: Callable[[str], str]) -> None:
    for label in ("r12", "ann@example.org1", "p7"):
        assert way(label) != label
        assert identity(way(label)) == identity(label)
    assert len({identity(label) for label in ("p1", "p 1", "p11", "p-1", "P2", "é", "e", "1", "01")}) == 9


def drawn(seed: int, mail: str) -> list[tuple[str, str]]:
    """Draw reviews of sixteen papers by nine reviewers."""
    rng = np.random.default_rng(seed)
    return [(f"r{who}{mail}", f"p{paper}") for who in range(9) for paper in rng.choice(16, 4, replace=False).tolist()]


def respelled(pairs: list[tuple[str, str]], seed: int, *, papers: bool) -> list[tuple[str, str]]:
    """Spell 15 % of rows otherwise, in reviewers and perhaps papers."""
    rng, ways = np.random.default_rng(seed + 1_000), list(WAYS.values())
    found = []
    for who, paper in pairs:
        other = ways[int(rng.integers(len(ways)))] if rng.random() < 0.15 else str
        found.append((other(who), other(paper) if papers else paper))
    return found


def write(name: str, pairs: list[tuple[str, str]]) -> None:
    Path(name).write_text("reviewer,item\n" + "".join(f'"{who}","{paper}"\n' for who, paper in pairs), "utf-8")


def run(*words: str) -> Result:
    return CliRunner().invoke(main, words)


@pytest.mark.parametrize("seed", range(TABLES))
def test_a_plan_is_that_of_the_table_as_it_is_meant(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    mail = "@example.org" if seed % 2 else ""
    pairs = drawn(seed, mail)
    barred = [
        (f"r{seed % 9}{mail}", f"p{paper}") for paper in range(16) if (f"r{seed % 9}{mail}", f"p{paper}") not in pairs
    ]
    write("meant.csv", pairs)
    write("barred.csv", barred)
    written = respelled(pairs, seed, papers=not mail)
    write("written.csv", written)
    write("conflicts.csv", respelled(barred, seed, papers=not mail))
    meant = run("plan", "meant.csv", "--conflicts", "barred.csv", "--json")
    words = ["plan", "written.csv", "--conflicts", "conflicts.csv", "--json"]
    if mail:
        told = run(*words)
    else:
        if len({*written}) > len({(identity(who), identity(paper)) for who, paper in written}):
            pytest.skip("two rows became one review, spelled alike")
        odd = {who for who, _ in written} - {who for who, _ in pairs} or {p for _, p in written} - {p for _, p in pairs}
        refused = run(*words)
        assert (refused.exit_code == 2) is bool(odd) or "conflicts.csv" in refused.stderr, refused.output
        assert not odd or "--merge all to join" in refused.stderr
        told = run(*words, "--merge", "all")
    assert told.exit_code == meant.exit_code == 0, told.output
    found, expected = json.loads(told.stdout), json.loads(meant.stdout)
    assert (found["status"], found["count"], found["lower_bound"]) == tuple(
        expected[key] for key in ("status", "count", "lower_bound")
    )
    new = {(identity(row["reviewer"]), identity(row["item"])) for row in found["reviews"]}
    assert not new & {(identity(who), identity(paper)) for who, paper in [*pairs, *barred]}


def test_labels_are_kept_apart_or_joined_as_a_table_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write("reviews.csv", [("ann", "p1"), ("Ann", "p2"), ("bob", "p1"), ("bob", "P2")])
    refused = run("check", "reviews.csv")
    assert refused.exit_code == 2
    assert "Error: reviews.csv: 'ann' and 'Ann' differ in letter case alone. One reviewer or two? Say" in refused.stderr
    for merge, reviewers, papers in (("none", 3, 3), ("all", 2, 2)):
        found = json.loads(run("check", "reviews.csv", "--merge", merge, "--json").stdout)
        assert (found["reviewers"], found["items"]) == (reviewers, papers)
    Path("merge.csv").write_text("label,as\nann,Ann\n", "utf-8")
    refused = run("check", "reviews.csv", "--merge", "merge.csv")
    assert "'p2' and 'P2' differ in letter case alone. One paper or two?" in refused.stderr
    Path("merge.csv").write_text("label,as\nann,Ann\nP2,p2\n", "utf-8")
    found = run("check", "reviews.csv", "--merge", "merge.csv", "--json")
    assert (json.loads(found.stdout)["reviewers"], json.loads(found.stdout)["items"]) == (2, 2)
    assert "--merge merge.csv" in run("check", "reviews.csv", "--merge", "merge.csv").stdout


def test_side_files_and_answers_go_through_the_same_gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write("reviews.csv", [("ann", "p1"), ("ann", "p2"), ("bob", "p3"), ("bob", "p4"), ("cyd", "p4"), ("cyd", "p5")])
    write("conflicts.csv", [("ANN", "p3")])
    assert run("plan", "reviews.csv", "--conflicts", "conflicts.csv").exit_code == 2
    words = ["reviews.csv", "--conflicts", "conflicts.csv", "--merge", "all"]
    told = run("plan", *words, "--json")
    assert ("ann", "p3") not in {(row["reviewer"], row["item"]) for row in json.loads(told.stdout)["reviews"]}
    Path("plan.json").write_text(told.stdout, "utf-8")
    assert run("verify", "plan.json", *words).exit_code == 0
    known = Spellings()
    known.respelled(["ann"], "reviewer", "reviews.csv", print)
    with pytest.raises(InputError, match="One reviewer or two"):
        side.read_conflicts("conflicts.csv", merge=known)


def test_what_is_alike_does_not_depend_on_the_order_of_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [("Ann@x.org", "p1"), ("ann@x.org", "p2"), ("ANN@X.org", "p3"), ("bob@x.org", "p1")]
    notes: list[list[str]] = []
    for order in (rows, rows[::-1]):
        write("reviews.csv", order)
        notes.append([])
        found = read_reviews("reviews.csv", note=notes[-1].append)
        assert found.reviewers == ("ANN@X.org", "bob@x.org")
        assert found.n_reviews == 4
    assert notes[0] == notes[1]
    told = "reviews.csv: 2 addresses are spelled as before, which differs in letter case alone"
    assert notes[0][0] == f"{told} ('Ann@x.org' as 'ANN@X.org')"
