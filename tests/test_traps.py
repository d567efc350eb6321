"""Plausible mistakes and traps of alignment, each with what comes of it: right, a warning that says so, or one error.

A case is the mistake, a function that makes it, and what is expected: an answer (``RIGHT`` for that of the clean
table), or an error or a warning with words of its message.
"""

import re
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import igraph
import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

import planner
import reviewgraph as rg
from lsc import calibrate, posterior
from planner import Assignment, assign
from reviewgraph import InputError, Reviews, Rules, check
from reviewgraph.graph import ColumnWarning, LabelWarning, connected_components, doubly_connected_components, to_igraph
from reviewgraph.table import as_reviews

ROWS = [
    *(("ann", "p1", 3.0), ("ann", "p2", 4.0), ("ann", "p3", 7.0), ("bob", "p1", 5.0), ("bob", "p3", 6.0)),
    *(("cy", "p2", 1.0), ("cy", "p3", 2.0), ("cy", "p4", 9.0), ("dan", "p4", 8.0), ("dan", "p1", 2.0)),
]
PEOPLE, PAPERS = ["ann", "bob", "cy", "dan"], ["p1", "p2", "p3", "p4"]
FRAME = pd.DataFrame(ROWS, columns=["reviewer", "paper", "score"])
CLEAN = Reviews(ROWS)
#: More reviewers than papers, so that a turned matrix has another shape; row k has papers k and k + 1.
WIDER = Reviews.from_biadjacency(
    np.where((np.arange(6)[:, None] - np.arange(4)) % 4 < 2, 5.0, np.nan),
    reviewers=[f"r{j}" for j in range(6)],
    items=PAPERS,
)
RIGHT = CLEAN.to_dict()
rng = np.random.default_rng(0)
AFFINITY = rng.random((6, 4))
CONFLICTS = AFFINITY < 0.2
BARRED = {(f"r{j}", f"p{i + 1}") for j, i in np.argwhere(CONFLICTS).tolist()}


def reads(given: Any) -> Callable[[], Any]:
    return lambda: as_reviews(given).to_dict()


def graph(*, sides: bool = True, kind: type = nx.Graph, turned: bool = False, **attributes: Any) -> Any:
    made = kind()
    if sides:
        made.add_nodes_from(PEOPLE, bipartite=int(turned))
        made.add_nodes_from(PAPERS, bipartite=1 - int(turned))
    made.add_edges_from((who, what, {"score": score}) for who, what, score in ROWS)
    made.add_edges_from(attributes.get("more", ()))
    return made


def with_scores(scores: list[Any]) -> pd.DataFrame:
    return FRAME.assign(score=[*scores, *FRAME.score[len(scores) :]])


def of_pairs(rules: Rules, reviews: Reviews = WIDER) -> set[Any]:
    """Return the pairs that a check finds in conflict."""
    return set(check(reviews, rules=rules).violations.conflicts)


def in_conflict(matrix: Any) -> Callable[[], Any]:
    return lambda: of_pairs(Rules(conflicts=matrix))


def without(gone: Any) -> int:
    planned_alone = Reviews([(reviewer, item) for reviewer in WIDER.reviewers for item in WIDER.items])
    return check(planned_alone, gone=gone).reviews.n_reviewers


HAVE = {pair for pair in BARRED if pair in set(zip(WIDER.to_dict()["reviewer"], WIDER.to_dict()["item"], strict=True))}


def over(load: Any, reviews: Reviews = WIDER) -> Callable[[], Any]:
    return lambda: [one.reviewer for one in check(reviews, load=load).violations.over_load]


def assigned(**rules: Any) -> Callable[[], Any]:
    return lambda: assign(AFFINITY, target="none", **{"demand": 2, "load": 3, **rules}).reviews.n_reviews


def planned(**rules: Any) -> Callable[[], Any]:
    return lambda: planner.plan(CLEAN, **rules).status.value


NUMBERS = [3, 1, 4, 1, 5, 2, 5, 3, 5, 2]


def criteria_of(given: Any) -> Callable[[], Any]:
    return lambda: list(as_reviews(given).criteria)


def from_frame(*, criteria: Any, **columns: Any) -> Callable[[], Any]:
    return lambda: list(Reviews(FRAME.assign(**columns), criteria=criteria).criteria)


PIVOT = FRAME.pivot(index="paper", columns="reviewer", values="score")
LABELLED = pd.DataFrame(CONFLICTS, index=WIDER.reviewers, columns=WIDER.items)
PAIRS_OF_MATRIX = [(WIDER.reviewers[j], WIDER.items[i]) for j, i in np.argwhere(CONFLICTS).tolist()]
FLAGGED = {
    (reviewer, item): bool(CONFLICTS[j, i])
    for j, reviewer in enumerate(WIDER.reviewers)
    for i, item in enumerate(WIDER.items)
}
FLAGS = pd.DataFrame([(*pair, flag) for pair, flag in FLAGGED.items()], columns=["reviewer", "item", "flag"])
NUMBERED = Reviews([(j, i, 1.0) for j in range(1, 5) for i in range(1, 5) if j != i])


class Trap(NamedTuple):
    name: str
    make: Callable[[], Any]
    answer: Any = None
    error: str = ""
    warning: str = ""


READ = [
    Trap("rows in another order", reads(FRAME.sample(frac=1, random_state=0)), RIGHT),
    Trap("a shuffled index", reads(FRAME.set_axis(rng.permutation(len(FRAME)))), RIGHT),
    Trap("scores as text", reads(FRAME.assign(score=FRAME.score.astype(str))), RIGHT),
    Trap("scores as objects", reads(FRAME.assign(score=FRAME.score.astype(object))), RIGHT),
    Trap("scores of a nullable type (`Int64`)", reads(FRAME.assign(score=FRAME.score.astype("Int64"))), RIGHT),
    Trap("text that is no number", reads(with_scores(["good"])), error="row 0: the score 'good'"),
    Trap("a decimal comma", reads(with_scores(["3,5"])), error="row 0: the score '3,5'"),
    Trap("an infinite score", reads(with_scores([np.inf])), error="inf"),
    Trap("dates as scores", reads(FRAME.assign(score=pd.Timestamp("2026-01-01"))), error="score"),
    Trap("a missing score (a planned review)", lambda: int(as_reviews(with_scores([None])).scored.sum()), 9),
    Trap("NaN in polars", reads(pl.DataFrame(with_scores([np.nan]).to_dict("list"))), error="nan"),
    Trap("a missing reviewer", reads(FRAME.assign(reviewer=[None, *FRAME.reviewer[1:]])), error="row 0: .*null"),
    Trap("a missing paper", reads(FRAME.assign(paper=[np.nan, *FRAME.paper[1:]])), error="row 0: .*null"),
    Trap("no column of reviewers", reads(FRAME.drop(columns="reviewer")), error="no reviewer column"),
    Trap("no column of papers", reads(FRAME.drop(columns="paper")), error="no item column"),
    Trap(
        "a column of scores with an unusual name (`niveau`)",
        reads(FRAME.rename(columns={"score": "niveau"})),
        warning="count as planned",
    ),
    Trap("two columns of scores", reads(FRAME.assign(rating=1)), error="score may be any of"),
    Trap("two columns of papers", reads(FRAME.assign(item=FRAME.paper)), warning="paper|item"),
    Trap("two columns of one name", reads(pd.concat([FRAME, FRAME[["score"]]], axis=1)), error="2 columns"),
    Trap("the same row twice", reads(pd.concat([FRAME, FRAME.head(1)])), error="twice|two|row 10"),
    Trap("two scores of a reviewer for a paper", reads([*ROWS, ("ann", "p1", 9.0)]), error="ann.*p1|row 10"),
    Trap("unused categories", reads(FRAME.assign(paper=pd.Categorical(FRAME.paper, [*PAPERS, "p9"]))), RIGHT),
    Trap("unordered categories of words", reads(with_scores(["a"]).astype({"score": "category"})), error="'a'"),
    Trap(
        "ordered categories of numbers",
        reads(FRAME.assign(score=pd.Categorical(FRAME.score, range(1, 10), ordered=True))),
        RIGHT,
    ),
    Trap("reviewers in the index", reads(FRAME.set_index("reviewer")), RIGHT),
    Trap("columns of two levels", reads(FRAME.pivot(index="paper", columns="reviewer")), error="one level of column"),
    Trap("a pivot filled with 0", reads(PIVOT.fillna(0)), error="may be scores or no reviews"),
    Trap("a pivot without names", reads(PIVOT.rename_axis(index=None, columns=None)), error="wide table"),
    Trap("a pivot with its index reset", reads(PIVOT.reset_index()), error="wide table"),
    Trap("a pivot of text", reads(PIVOT.astype(str)), error="expected numbers in every column"),
    Trap(
        "a pivot with a reviewer twice",
        reads(PIVOT.set_axis(["ann", "ann", "cy", "dan"], axis=1).rename_axis(columns="reviewer")),
        error="'ann' twice",
    ),
    Trap("named tuples with an index", reads(list(FRAME.itertuples())), RIGHT),
    Trap("a record array", reads(FRAME[["score", "paper", "reviewer"]].to_records(index=False)), RIGHT),
    Trap("a dictionary of columns", reads(FRAME.to_dict("list")), RIGHT),
    Trap("columns of different lengths", reads({**FRAME.to_dict("list"), "score": [1.0]}), error="as many values"),
    Trap("a dictionary by reviewer", reads({1: 2}), error=r"\(reviewer, item\) as a key"),
    Trap(
        "tuples (paper, reviewer, score) with e-mail addresses",
        reads([(f"p{k}", "a@b.org", 1.0) for k in range(3)]),
        error="exchange the two",
    ),
    Trap("rows with four values", reads([(0, *row) for row in ROWS]), error="row 0"),
    Trap("tuples and dictionaries mixed", reads([ROWS[0], {"reviewer": "x"}]), error="row 1"),
    Trap("a generator", reads(row for row in ROWS), error="found generator"),
    Trap("`None`", reads(None), error="found NoneType"),
    Trap("an array of rows", reads(np.array([[1, 2, 3.0], [2, 2, 4.0]])), error="may be rows"),
    Trap("labels 1 and '1'", reads([(1, "p", 2.0), ("1", "q", 3.0)]), error="'1'"),
    Trap("labels 1 and '1' in columns", reads({"reviewer": [1, "1"], "item": [1, 2]}), error="one type in 'reviewer'"),
    Trap("labels with blanks", reads([("ann", "p1", 1.0), ("ann ", "p2", 1.0)]), error="ann"),
    Trap("labels in other letter case", reads([("Ann", "p1", 1.0), ("ann", "p2", 1.0)]), error="ann"),
    Trap("an empty frame", reads(FRAME.head(0)), error="reviews: expected a row per review, found no rows"),
    Trap("an empty frame to read", lambda: Reviews(FRAME.head(0)), error="table: expected a row per review"),
    Trap("an empty list", reads([]), error="found no rows"),
    Trap("an empty matrix", lambda: planner.plan(np.zeros((3, 0))), error="found no rows"),
    Trap("labels without rows", lambda: Reviews(FRAME.head(0), items=PAPERS).n_items, 4),
    Trap("one row", lambda: check(FRAME.head(1)).level, "double"),
    Trap("a file that is not there", reads("nowhere.csv"), error="no such file"),
    Trap(
        "99 for a missing criterion",
        lambda: as_reviews(FRAME.assign(novelty=[99, *([1, 2, 3, 4, 5] * 4)[: len(FRAME) - 1]])).n_reviews,
        len(FRAME),
        warning="novelty: 99 in 1 of",
    ),
    Trap("99 for a missing score", reads(with_scores([99])), warning="score: 99 in 1 of 10"),
    Trap(
        "99 in a column of another name",
        reads(with_scores([99]).rename(columns={"score": "Grade"})),
        warning=r'Grade: 99 in 1 of 10.*frame\["Grade"\]\.replace\(99, None\)\), and the review counts as planned',
    ),
    Trap("a criterion of a usual name", criteria_of(FRAME.assign(novelty=NUMBERS)), ["novelty"]),
    Trap("its letter case and further words", criteria_of(FRAME.assign(**{"Technical Quality": NUMBERS})), None),
    Trap(
        "numbers of an unknown name",
        criteria_of(FRAME.assign(x=NUMBERS, orcid=range(10), novelty=NUMBERS)),
        ["x", "orcid", "novelty"],
        warning=r"frame: 'x', 'orcid' are read as further scores.*criteria=\[\.\.\.\]\), \[\] for none",
    ),
    Trap(
        "numbers of an unknown name, read by hand",
        lambda: list(Reviews(FRAME.assign(x=NUMBERS)).criteria),
        ["x"],
        warning="'x' is read as a further score",
    ),
    Trap("an unknown name that is named", from_frame(x=NUMBERS, y=NUMBERS, criteria=["x"]), ["x"]),
    Trap("no criteria", from_frame(x=NUMBERS, novelty=NUMBERS, criteria=[]), []),
    Trap(
        "a criterion that is not there", from_frame(x=NUMBERS, criteria=["y"]), error="criteria: .* found 'y'; .* 'x'"
    ),
    Trap("the score as a criterion", from_frame(criteria=["score"]), error="criteria: .* beside the score"),
    Trap("text as a criterion", from_frame(x=list("abcdefghij"), criteria=["x"]), error="expected numbers in .*'x'"),
    Trap("a criterion that is no list", from_frame(x=NUMBERS, criteria="x"), error="criteria: expected a list"),
    Trap(
        "letters of HotCRP",
        criteria_of(FRAME.assign(Novelty=[*list("ABCDABCDA"), None])),
        [],
        warning="'Novelty' holds letters and is not read as a further score",
    ),
    Trap(
        "letters of HotCRP under its short names",
        criteria_of(FRAME.assign(Nov=list("ABCDABCDAB"), TecQua=NUMBERS)),
        ["TecQua"],
        warning="'Nov' holds letters",
    ),
    Trap("letters that are no criterion", criteria_of(FRAME.assign(track=list("ABCDABCDAB"))), []),
    Trap("-1 for a missing score", reads(with_scores([-1])), warning="score: -1 in 1 of 10"),
    Trap("999 for a missing score in tuples", reads([("eve", "p1", 999.0), *ROWS]), warning="score: 999 in 1 of 11"),
    Trap("0 for a missing score", reads(with_scores([0, 0, 0])), warning="score: 0 in 3 of 10"),
    Trap("a percentage of 99", lambda: as_reviews(FRAME.assign(score=range(90, 100))).n_reviews, 10),
    Trap(
        "scores from -3 to 3", lambda: as_reviews(FRAME.assign(score=[-3, -2, -1, 0, 1, 2, 3, 1, 2, 0])).n_reviews, 10
    ),
]
GRAPHS = [
    Trap("a graph whose nodes have `bipartite`", reads(graph()), RIGHT),
    Trap("a graph without `bipartite`", reads(graph(sides=False)), error="set the attribute of every vertex"),
    Trap("the reviewers as an argument", lambda: Reviews(graph(sides=False), reviewers=PEOPLE).to_dict(), RIGHT),
    Trap("reviewers who are not in the graph", lambda: Reviews(graph(), reviewers=["eve"]), error="found 'eve'"),
    Trap("an incomplete list of reviewers", lambda: Reviews(graph(), reviewers=["ann"]), error="both items"),
    Trap(
        "`bipartite` exchanged, with e-mail addresses",
        reads(nx.relabel_nodes(graph(turned=True), {who: f"{who}@x.org" for who in PEOPLE})),
        error="exchange the two",
    ),
    Trap(
        "an isolated node", lambda: (made := graph(), made.add_node("p9", bipartite=1), as_reviews(made).n_items)[2], 5
    ),
    Trap(
        "an isolated node without `bipartite`",
        lambda: (made := graph(), made.add_node("p9"), as_reviews(made)),
        error="'p9'",
    ),
    Trap("a directed graph", reads(graph(kind=nx.DiGraph)), RIGHT),
    Trap(
        "a directed graph with edges in both directions",
        reads(graph(kind=nx.DiGraph, more=[("p1", "ann", {"score": 9.0})])),
        error="edge",
    ),
    Trap("a graph of igraph", reads(to_igraph(Reviews(ROWS))), RIGHT),
    Trap("a graph of igraph without `type`", reads(igraph.Graph([(0, 1)])), error="set the attribute of every vertex"),
    Trap(
        "a multigraph with two edges for a review",
        reads(graph(kind=nx.MultiGraph, more=[("ann", "p1", {"score": 9.0})])),
        error="edge",
    ),
    Trap("a loop", reads(graph(more=[("ann", "ann")])), error="both reviewers"),
    Trap("an edge between reviewers", reads(graph(more=[("ann", "bob")])), error="both reviewers"),
    Trap(
        "scores as edge attribute `weight`",
        reads(nx.relabel_nodes(nx.Graph(((("reviewer", a), ("item", b), {"weight": s}) for a, b, s in ROWS)), {})),
        warning="score='weight'",
    ),
    Trap(
        "a matrix without labels",
        lambda: as_reviews(np.array([[1, np.nan, 3, 4], [5, 6, 7, 8]])).n_reviewers,
        2,
        warning="read as reviewers x items, 2 x 4",
    ),
    Trap("a sparse matrix", lambda: as_reviews(sp.csr_array(CONFLICTS)).n_items, 4, warning="6 x 4"),
    Trap("a matrix with zeros", reads(np.eye(4) * 5), error="may be scores or no reviews"),
    Trap(
        "a label for two rows of a matrix",
        lambda: Reviews.from_biadjacency(np.eye(2), reviewers=["a", "a"]),
        error="'a' twice",
    ),
    Trap(
        "labels of the wrong number",
        lambda: Reviews.from_biadjacency(np.ones((2, 3)), items=["a", "b"]),
        error="found 2 and 2",
    ),
]
BESIDE = [
    Trap("the pairs of a matrix of conflicts", in_conflict(PAIRS_OF_MATRIX), HAVE),
    Trap("a matrix of conflicts", in_conflict(CONFLICTS), error="a matrix without labels"),
    Trap("a sparse matrix of conflicts", in_conflict(sp.coo_matrix(CONFLICTS)), error="a matrix without labels"),
    Trap("conflicts as 0 and 1", in_conflict(CONFLICTS.astype(int)), error="a matrix without labels"),
    Trap("two columns of 0 and 1", in_conflict(np.eye(2, dtype=int)), error="a matrix without labels"),
    Trap("conflicts as nested lists", in_conflict(CONFLICTS.tolist()), error="expected .*pairs"),
    Trap("conflicts as a wide data frame", in_conflict(LABELLED), error="found a wide table"),
    Trap("conflicts as pairs with True and False", in_conflict(FLAGGED), HAVE, warning="are False"),
    Trap("conflicts as a Series of True and False", in_conflict(pd.Series(FLAGGED)), HAVE, warning="are False"),
    Trap("conflicts as a frame with a flag", in_conflict(FLAGS), error="'flag' that is False in some"),
    Trap("pairs with numbers as conflicts", in_conflict({("r0", "p1"): 0.5, ("r1", "p1"): 0}), error="True or False"),
    Trap("nobody of a mapping is gone", lambda: without({"r0": False, "r1": False}), 6, warning="2 entries are False"),
    Trap("a frame with a flag of those gone", lambda: without(FLAGS[["reviewer", "flag"]]), error="False in some"),
    Trap("a mask of the willing", planned(willing=[True, False, True, True]), error="True and False without labels"),
    Trap("an array of loads", over(np.array([1, 2, 2, 2, 2, 2])), error="numbers without labels"),
    Trap("a Series of loads by reviewer", over(pd.Series({"r1": 2, "r0": 1})), ["r0"]),
    Trap("a Series of loads without labels", over(pd.Series([1, 2, 2, 2, 2, 2])), error="default index 0 to 5"),
    Trap(
        "a Series indexed from 0, with reviewers from 1",
        over(pd.Series([1, 9, 9, 9]), NUMBERED),
        error="default index 0 to 3",
    ),
    Trap("a Series with a label twice", over(pd.Series([1, 2], index=["r0", "r0"])), error="twice"),
    Trap("loads whose labels are papers", over({"p1": 1}), error="expected reviewers here|exchanged|reviewers"),
    Trap("a load of an unknown reviewer", over({"r0": 1, "eve": 2}), ["r0"], warning="'eve'"),
    Trap("negative loads", assigned(load=dict.fromkeys(range(6), -1)), error="0 or more, found -1"),
    Trap("loads that are not whole numbers", assigned(load=dict.fromkeys(range(6), 2.5)), error="whole number"),
    Trap("a load of NaN", assigned(load=dict.fromkeys(range(6), np.nan)), error="whole number"),
    Trap("an array of demands", assigned(demand=np.array([2, 2, 2, 1])), error="numbers without labels"),
    Trap("a list of capacities", planned(capacity=[1, 1, 1, 1]), error="numbers without labels"),
    Trap("a Series of capacities without labels", planned(capacity=pd.Series([1, 1, 1, 1])), error="default index"),
    Trap(
        "capacities as floats",
        planned(capacity=dict.fromkeys(CLEAN.reviewers, 1.0)),
        planned(capacity=dict.fromkeys(CLEAN.reviewers, 1))(),
    ),
    Trap("one capacity for all", planned(capacity=1), error="^capacity: expected"),
    Trap("a spare for each", planned(spare=np.array([1, 1, 1, 1])), error="^spare: expected"),
    Trap("half a review as capacity", planned(capacity={"ann": 0.5}), error="whole number, 0 or more, found 0.5"),
    Trap("negative capacities", planned(capacity={"ann": -1}), error="0 or more, found -1"),
    Trap("a matrix of costs", lambda: planner.plan(WIDER, cost=AFFINITY), error="cost: .* a matrix without labels"),
    Trap(
        "a square affinity",
        lambda: assign(AFFINITY[:4] + 0, demand=1, load=2, target="none").reviews.n_reviews,
        4,
        warning="affinity: a square matrix, 4 x 4",
    ),
    Trap(
        "a square affinity with labels",
        lambda: assign(AFFINITY[:4], reviewers=PEOPLE, demand=1, load=2, target="none").reviews.n_reviews,
        4,
    ),
    Trap("a symmetric affinity", lambda: assign(np.eye(4), demand=1, load=2, target="none").affinity, 4.0),
    Trap(
        "a wide table of affinities whose axes have no names",
        lambda: assign(LABELLED.astype(float)),
        error="name the axes",
    ),
    Trap("an infinite affinity", lambda: assign(np.full((3, 3), np.inf)), error="finite"),
    Trap("weights without pairs", lambda: posterior(FRAME, weights=np.ones(3)), error="weights"),
    Trap(
        "`sample` of an assignment without randomisation",
        lambda: assign(AFFINITY, demand=2, load=3).sample(3),
        error="randomised",
    ),
]
ALL = [*READ, *GRAPHS, *BESIDE]


@pytest.mark.parametrize("trap", ALL, ids=[trap.name for trap in ALL])
def test_what_comes_of_it(trap: Trap) -> None:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        if trap.error:
            with pytest.raises(InputError, match=trap.error):
                trap.make()
            return
        answer = trap.make()
    ours = [str(one.message) for one in said if issubclass(one.category, ColumnWarning | LabelWarning)]
    assert len(ours) == bool(trap.warning), ours
    if trap.warning:
        assert re.search(trap.warning, ours[0]), ours[0]
    if trap.answer is not None:
        assert answer == trap.answer


@pytest.mark.parametrize(
    ("call", "meant"),
    [
        (lambda: check(FRAME, capacity={"ann": 1}), "did you mean load?"),
        (lambda: check(FRAME, score="score"), "pass Reviews(table, score=...) as reviews"),
        (lambda: check(FRAME, reviewer="reviewer"), "pass Reviews(table, reviewer=...) as reviews"),
        (lambda: planner.plan(FRAME, load=3), "did you mean capacity?"),
        (lambda: planner.plan(FRAME, demand=3), "did you mean min_reviews?"),
        (lambda: planner.plan(FRAME, max_review=3), "did you mean n?"),
        (lambda: planner.plan(FRAME, columns={}), "pass Reviews(table, columns=...) as reviews"),
        (lambda: assign(AFFINITY, capacity=3), "did you mean load?"),
        (lambda: posterior(FRAME, score="score"), "pass Reviews(table, score=...) as reviews"),
        (lambda: assign(AFFINITY, random_state=3), "did you mean search=Search(seed=...)?"),
        (lambda: calibrate(FRAME, scale="A>B"), "pass Reviews(table, scale=...) as reviews"),
        (lambda: planner.plan(FRAME, budget=3), "did you mean n?"),
        (lambda: planner.plan(FRAME, k=3), "did you mean n?"),
        (lambda: planner.plan(FRAME, reviews_per_paper=3), "did you mean min_reviews?"),
        (lambda: assign(AFFINITY, reviews_per_paper=3), "did you mean demand?"),
        (lambda: rg.calibrate(FRAME, random_state=3), "did you mean seed?"),
        (lambda: rg.calibrate(FRAME, hypotesis="offset"), "did you mean hypothesis?"),
        (lambda: Reviews(FRAME, critera=[]), "did you mean criteria?"),
        (lambda: Reviews(FRAME, rater="reviewer"), "did you mean reviewer?"),
        (lambda: check(FRAME, target="double"), "check(reviews).level == 'double'"),
        (lambda: planner.plan(FRAME, coi=[]), "did you mean conflicts?"),
        (lambda: assign(similarity=AFFINITY), "did you mean affinity?"),
        (lambda: rg.compare(FRAME, cv=3), "did you mean folds?"),
    ],
)
def test_a_keyword_of_another_function_names_the_one_that_is_meant(call: Callable[[], Any], meant: str) -> None:
    with pytest.raises(TypeError, match=rf"got an unexpected keyword argument '\w+'.*{re.escape(meant)}$"):
        call()


@cache
def estimate() -> Any:
    return posterior(Reviews([(j, f"p{i}", i / 5 + (3 * i + 7 * j) % 5) for j in range(10) for i in range(60)]))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: estimate().account(7),
            "item: expected an item with a score, found 7 (int), but labels are str, such as",
        ),
        (lambda: estimate().account("P7"), "item: expected an item with a score, found 'P7'; did you mean 'p7'?"),
        (
            lambda: estimate().difference("p1", "q"),
            "second: expected an item with a score, found 'q'; there are labels such as 'p0', 'p1'",
        ),
        (lambda: estimate().predict("7", "p1"), "found '7' (str), but labels are int; did you mean 7?"),
        (lambda: estimate().predict([7, "7"], ["p1", "p1"]), "found '7' (str), but labels are int; did you mean 7?"),
        (lambda: estimate().predict(7, 1), "None for a new one, found 1 (int), but labels are str, such as 'p0'"),
    ],
)
def test_a_label_that_is_not_there_is_told_from_one_of_another_type(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        call()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: estimate().selection(0.2), 'found 0.2; write "20%" for a share of the items'),
        (lambda: estimate().plot("line"), "n_selected: expected a number of papers with 'line', found None"),
        (lambda: rg.calibrate(FRAME, n_selected=2), "write calibrate(...).selection(2)"),
        (lambda: rg.calibrate(FRAME, n_selected="20%"), "write calibrate(...).selection('20%')"),
        (lambda: rg.plan(FRAME, rules={"spare": 1}), "pass Rules(**rules)"),
        (lambda: rg.plan(FRAME, capacity=1), "spare=1 is the same number for every reviewer"),
        (
            lambda: check(FRAME, planner.plan(FRAME)),
            "found a Plan; check(plan) checks the table together with the plan",
        ),
        (lambda: check(FRAME).summary().text("error"), "detail: expected names of sections (groups,"),
        (lambda: check(FRAME["score"]), "found Series; write .reset_index()"),
        (lambda: check(rg.stream_reviews("reviews.csv")), "open it first, as in with stream_reviews(path)"),
    ],
)
def test_a_value_that_is_nearly_right_is_answered_with_what_to_write(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        call()


@pytest.mark.parametrize(
    ("result", "name", "place"),
    [
        (lambda: check(FRAME), "verdict", "summary().verdict"),
        (lambda: check(FRAME), "groups", "to_frame('groups')"),
        (lambda: planner.plan(FRAME), "level", "check(result).level"),
        (lambda: planner.plan(FRAME), "asked", "added"),
        (lambda: assign(AFFINITY), "total", "affinity"),
        (lambda: estimate(), "sd", "standard_error"),
        (lambda: calibrate(FRAME), "selection", "the posterior, calibrate(reviews)"),
    ],
)
def test_an_attribute_under_another_name_says_where_the_content_is(
    result: Callable[[], Any], name: str, place: str
) -> None:
    with pytest.raises(AttributeError, match=re.escape(f"has no attribute '{name}'; see {place}") + "$"):
        getattr(result(), name)


def test_pages_name_keywords_to_readers_in_python() -> None:
    page = str(planner.plan(Reviews([("a", 1), ("a", 2), ("b", 3), ("b", 4), ("c", 1)])))
    assert 'goal="decision"' in page
    assert "--" not in page


def test_the_reviews_of_a_plan_can_be_added_to_the_table() -> None:
    plan = planner.plan(CLEAN, target="survives-reviewer")
    assert plan.added
    assert CLEAN.add(plan.added) == CLEAN.add(plan) == plan.reviews


def test_groups_have_the_same_numbers_in_all_tables_of_a_check() -> None:
    report = check([("a", 1), ("b", 2), ("b", 3), ("c", 2), ("c", 3), ("d", 4), ("d", 3)])
    groups = report.to_frame("groups")
    people = groups[groups["role"] == "reviewer"].set_index("label")["group"]
    assert people.to_dict() == report.to_frame().set_index("reviewer")["group"].to_dict()
    assert report.to_frame()["piece"].tolist() == [2, 1, 1, 1]


REFUSED = assign(np.ones((3, 3)), demand=3, load=1)
NO_PLAN = planner.plan(Reviews([("a", 1), ("b", 2)]), spare=0)


@pytest.mark.parametrize(
    ("result", "why"),
    [(REFUSED, "3 reviewers .* with load 1 can give 3: 9 > 3"), (NO_PLAN, "no reviewer has spare load")],
)
def test_a_result_without_an_answer_says_why_wherever_it_is_used(result: Any, why: str) -> None:
    assert re.search(f"infeasible.*{why}", repr(result))
    assert re.search(why, result._repr_html_().replace("&gt;", ">"))
    assert result.to_columns()["item"] == []
    uses: list[Callable[[], Any]] = [result.to_frame, lambda: CLEAN.add(result)]
    if isinstance(result, Assignment):
        uses += [lambda: result.sample(3), lambda: result.probabilities, result.plot]
    for use in uses:
        with pytest.raises(InputError, match=why):
            use()


def test_nodes_of_several_groups_and_of_none_are_mapped_as_documented() -> None:
    reviews = Reviews(
        [(who, what) for who in "abc" for what in (1, 2, 3)] + [(who, what) for who in "de" for what in (3, 4)],
        items=[9],
    )
    groups = doubly_connected_components(reviews)
    of_node = groups.to_mapping()
    large = groups.labels[reviews.reviewer_code["a"]]
    small = groups.labels[reviews.reviewer_code["d"]]
    assert large != small
    assert [of_node.get(("item", item)) for item in (1, 3, 4, 9)] == [large, large, small, None]
    assert connected_components(reviews).to_mapping()["item", 9] == 1
