"""Labels that people take for one are never silently two: addresses are joined, others are asked about."""

import json
import warnings
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import planner
from lsc import calibrate, posterior
from planner import AtMost, assign
from reviewgraph import Reviews, check
from reviewgraph._base import InputError
from reviewgraph.formats import Spellings, side
from reviewgraph.graph import DuplicateReview, LabelWarning, keeps
from reviewgraph.graph.check import violations_of
from reviewgraph.io import read_reviews
from reviewgraph.parts.disk import stream_reviews
from tests.pages import run
from tests.respellings import judged
from tests.trials import trials

TABLES = trials(12)


def write(name: str, pairs: list[tuple[str, str]]) -> None:
    Path(name).write_text("reviewer,item\n" + "".join(f'"{who}","{paper}"\n' for who, paper in pairs), "utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("number", range(TABLES))
def test_a_plan_is_that_of_the_table_as_it_is_meant(number: int, tmp_path: Path) -> None:
    assert judged(number, tmp_path) == []


def test_labels_are_kept_apart_or_joined_as_a_table_says(folder: Path) -> None:
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


def test_side_files_and_answers_go_through_the_same_gate(folder: Path) -> None:
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


def test_what_is_alike_does_not_depend_on_the_order_of_rows(folder: Path) -> None:
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


def test_frames_and_pairs_go_through_the_gate() -> None:
    frame = pd.DataFrame({"reviewer": ["ann", "Ann", "bob"], "paper": ["p1", "p2", "p1"], "score": [1.0, 2.0, 3.0]})
    rows = list(frame.itertuples(index=False, name=None))
    graph = nx.Graph([("ann", "p1"), ("Ann", "p2")])
    nx.set_node_attributes(graph, {"ann": 0, "Ann": 0, "p1": 1, "p2": 1}, "bipartite")
    ways: dict[str, Callable[..., Reviews]] = {
        "frame": lambda **merge: Reviews(frame, **merge),
        "pairs": lambda **merge: Reviews([tuple(row) for row in rows], **merge),
        "matrix": lambda **merge: Reviews.from_biadjacency(
            np.array([[1, np.nan], [np.nan, 2]]), reviewers=["ann", "Ann"], **merge
        ),
        "networkx": lambda **merge: Reviews(graph, **merge),
    }
    for name, build in ways.items():
        with pytest.raises(InputError, match=r"'ann' and 'Ann' differ in letter case alone. One reviewer .* merge of"):
            build()
        with pytest.warns(LabelWarning, match="1 label is spelled as before"):
            joined = build(merge="all")
        assert "ann" not in joined.reviewers, name
        assert {"ann", "Ann"} <= set(build(merge="none").reviewers), name
        with pytest.warns(LabelWarning, match=r"letter case alone \('Ann' as 'ann'\)"):
            assert "Ann" not in build(merge={"Ann": "ann"}).reviewers, name
    assert Reviews.from_codes([0, 1], [0, 0], reviewers=["ann", "Ann"], items=["p"]).n_reviewers == 2
    for function in (check, posterior, calibrate):
        with pytest.raises(InputError, match="read_reviews, Reviews and assign"):
            function(frame)
    with pytest.raises(InputError, match='merge: expected "all", "none" or a mapping'):
        Reviews(frame, merge=True)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="merge: labels become 'b', which becomes 'c'"):
        Reviews(frame, merge={"a": "b", "b": "c"})


def test_numbers_and_their_digits_in_one_column_are_found() -> None:
    rows = [("a", 1, 2.0), ("b", "1", 3.0), ("b", 2.0, 4.0), ("a", 2, 5.0)]
    with pytest.raises(
        InputError, match=r"'1' and 1 differ in type alone\n2.0 and 2 differ in type alone\nEach one paper"
    ):
        Reviews(rows)
    with pytest.warns(LabelWarning, match=r"2 labels are spelled as before, which differs in type alone \('1' as 1\)"):
        assert [*map(repr, Reviews(rows, merge="all").items)] == ["1", "2"]
    assert [*map(repr, Reviews(rows, merge="none").items)] == ["1", "'1'", "2", "2.0"]


def test_titles_and_both_reviews_of_a_joined_paper_are_settled() -> None:
    rows = [("a", "P1", 1.0), ("a", "p1", 3.0)]
    titles = {"P1": "Zebras", "p1": "Ants"}
    with (
        pytest.warns(LabelWarning),
        pytest.raises(DuplicateReview, match="'a' reviews item 'P1' twice: row 0 and row 1"),
    ):
        Reviews(rows, merge="all")
    with pytest.warns(LabelWarning):
        found = Reviews(rows, merge="all", duplicates="mean", titles=titles)
    assert (found.to_dict()["score"], found.titles) == ([2.0], {"P1": "Ants"})


MEANT = Reviews([("ann", "p1", 1.0), ("ann", "p2", 4.0), ("bob", "p1", 2.0), ("bob", "p3", 3.0)])
BESIDE: dict[str, Callable[[Reviews, str], object]] = {
    "conflicts": lambda table, who: planner.plan(table, conflicts=[(who, "p3")]).added,
    "capacity": lambda table, who: planner.plan(table, capacity={who: 1, "bob": 2}).added,
    "willing": lambda table, who: planner.plan(table, willing=[who]).added,
    "fixed": lambda table, who: planner.plan(table, fixed=[(who, "p3")]).added,
    "cost": lambda table, who: planner.plan(table, cost={(who, "p3"): 9.0}).added,
    "affinity": lambda table, who: planner.plan(table, affinity={(who, "p3"): 9.0}).added,
    "institutions": lambda table, who: planner.plan(table, institutions={who: "x", "bob": "x"}).added,
    "senior": lambda table, who: planner.plan(table, senior=[who, "bob"]).added,
    "attributes": lambda table, who: (
        planner.plan(table, attributes={who: {"area": "x"}, "bob": {"area": "x"}}, rules=[AtMost("area", 2)]).added
    ),
    "gone": lambda table, who: check(with_plan(table), gone=[(who, "p3")]).to_dict(),
    "load": lambda table, who: violations_of(table, load={who: 1}),
    "barred": lambda table, who: violations_of(table, conflicts={who: ["p1"]}),
    "missing": lambda table, who: keeps(table, {who: 0.5}, draws=20).levels,
    "weights": lambda table, who: posterior(table, weights={(who, "p1"): 5.0}).quality.tolist(),
    "add": lambda table, who: table.add([(who, "p3")]).to_dict(),
    "with labels": lambda table, who: table._with_labels([who], ["p9"]).reviewers,
    "assign": lambda table, who: assign(GRID, demand=1, load={who: 2, "bob": 2}, target="none").reviews.to_dict(),
    "barred from": lambda table, who: assign(
        GRID, demand=1, load=3, conflicts=[(who, "p1")], fixed=[(who, "p2")], target="none"
    ).reviews.to_dict(),
    "authors": lambda table, who: assign(
        GRID, demand=1, load=3, authors={"p1": [who]}, target="none"
    ).reviews.to_dict(),
}
GRID = {(who, paper): 1.0 + (who == "ann") for who in ("ann", "bob") for paper in ("p1", "p2", "p3")}


def with_plan(table: Reviews) -> Reviews:
    return table._with_codes(np.array([0]), np.array([2]))


@pytest.mark.parametrize("use", BESIDE)
def test_what_stands_beside_the_reviews_is_spelled_as_they_are(use: str) -> None:
    ask = BESIDE[use]
    right = ask(MEANT, "ann")
    with pytest.raises(InputError, match=r"'ANN' and 'ann' differ in letter case alone. One reviewer or two?"):
        ask(MEANT, "ANN")
    if "assign" not in ask.__code__.co_names:
        with pytest.warns(LabelWarning, match="'ANN' as 'ann'"):
            assert ask(replace(MEANT, merge="all"), "ANN") == right


def test_an_assignment_joins_labels_as_it_is_told() -> None:
    pairs = {**GRID, ("ANN", "p4"): 7.0}
    with pytest.raises(InputError, match="affinity: 'ann' and 'ANN' differ"):
        assign(pairs, demand=1, load=4, target="none")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", LabelWarning)
        chosen = assign(
            pairs, demand=1, load={"ann": 4, "bob": 4}, conflicts=[("Ann", "p1")], target="none", merge="all"
        )
    assert [str(one.message).partition(":")[0] for one in caught] == ["affinity", "load", "conflicts"]
    assert chosen.reviews.reviewers == ("ANN", "bob")
    assert ("ANN", "p1") not in zip(*list(chosen.reviews.to_dict().values())[:2], strict=True)
    assert assign(pairs, demand=1, load=4, target="none", merge="none").reviews.n_reviewers == 3
    with pytest.raises(InputError, match="expected a label of its own for each line of affinity, found 'ann' twice"):
        assign(np.ones((2, 1)), reviewers=["ann", "ann"], demand=1, load=1, target="none")


NULLS = [None, np.nan, float("nan"), pd.NA, pd.NaT, "", " ", "\u200b"]


@pytest.mark.parametrize("null", NULLS, ids=repr)
def test_null_labels_are_refused_with_their_row(null: Any) -> None:
    rows = [("a", "p", 1.0), (null, "p", 2.0), (null, "p", 3.0)]
    frame = pd.DataFrame({"reviewer": pd.Series([who for who, _, _ in rows], dtype=object), "paper": "p", "score": 1.0})
    for build in (lambda: Reviews(rows), lambda: Reviews(frame)):
        with pytest.raises(
            InputError, match=r"expected one reviewer in .* in row 1|row 1: the reviewer is (null|empty)"
        ):
            build()
    with pytest.raises(InputError, match=r"expected one paper in every row, found .* in the labels beside the rows"):
        Reviews(rows[:1], items=[null])
    for name, ask in BESIDE.items():
        if name not in ("with labels", "with pairs"):
            with pytest.raises(InputError, match=r"expected one reviewer in every row, found .* in row 0"):
                ask(MEANT, null)


def test_tables_read_by_batches_go_through_the_gate(folder: Path) -> None:
    rows = [("ann", "p1"), ("Ann", "p2"), ("bob", "p1"), ("bob", "p2"), ("Cyd@x", "p1"), ("cyd@X", "p2"), ("ann", "p3")]
    pq.write_table(pa.table({"reviewer": [who for who, _ in rows], "item": [what for _, what in rows]}), "t.parquet")
    assert "'ann' and 'Ann' differ" in run("check", "t.parquet", "--stream").stderr
    for merge, people in (("all", ["Ann", "bob", "Cyd@x"]), ("none", ["ann", "Ann", "bob", "Cyd@x"])):
        notes: list[str] = []
        with stream_reviews("t.parquet", merge=merge, batch=2, note=notes.append) as stream:
            assert sorted(stream.reviewers[:]) == sorted(people)
            pairs = [
                (stream.reviewers[part.first + row], stream.items[int(item)])
                for part in stream.parts.states
                for row, (low, high) in enumerate(pairwise(part.start.tolist()))
                for item in part.item[low:high]
            ]
        whole = read_reviews("t.parquet", merge=merge, note=notes.append).to_dict()
        assert sorted(pairs) == sorted(zip(whole["reviewer"], whole["item"], strict=True))
        assert notes[0] == notes[-2]
    Path("merge.csv").write_text("label,as\nann,Ann\n", "utf-8")
    assert "for a table read by batches" in run("check", "t.parquet", "--stream", "--merge", "merge.csv").stderr
