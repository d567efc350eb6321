"""Every form of a table gives the same answer, and the jobs of the gallery."""

from random import Random
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import planner
from planner import assign
from reviewgraph import Reviews, Search, check
from reviewgraph.graph import to_igraph, to_networkx
from reviewgraph.table import as_reviews
from tests.trials import examples

#: Scores by pair: few reviewers and items, so that they share some.
TABLES = st.dictionaries(
    st.tuples(st.integers(0, 5).map("r{}".format), st.integers(0, 5).map("p{}".format)),
    st.integers(1, 5).map(float),
    min_size=1,
    max_size=20,
)


def frame_of(table: dict[tuple[str, str], float]) -> pd.DataFrame:
    return pd.DataFrame([(*pair, score) for pair, score in table.items()], columns=["reviewer", "paper", "score"])


FORMS = {
    "tuples": lambda table: [(*pair, score) for pair, score in table.items()],
    "mapping": dict,
    "pandas": frame_of,
    "polars": lambda table: pl.from_pandas(frame_of(table)),
    "lazy": lambda table: pl.from_pandas(frame_of(table)).lazy(),
    "dictionaries": lambda table: frame_of(table).to_dict("records"),
    "named tuples": lambda table: list(frame_of(table)[["score", "paper", "reviewer"]].itertuples(index=False)),
    "index": lambda table: frame_of(table).set_index("paper"),
    "pivot": lambda table: frame_of(table).pivot(index="paper", columns="reviewer", values="score"),
    "turned pivot": lambda table: frame_of(table).pivot(index="reviewer", columns="paper", values="score"),
    "networkx": lambda table: to_networkx(Reviews([(*pair, score) for pair, score in table.items()])),
    "igraph": lambda table: to_igraph(Reviews([(*pair, score) for pair, score in table.items()])),
    "categories": lambda table: frame_of(table).astype({"reviewer": "category", "paper": "category"}),
}


@pytest.mark.parametrize("form", FORMS)
@examples(10)
@given(table=TABLES)
def test_every_form_gives_the_same_table(form: str, table: dict[tuple[str, str], float]) -> None:
    found = as_reviews(FORMS[form](table)).to_dict()
    assert dict(zip(zip(found["reviewer"], found["item"], strict=True), found["score"], strict=True)) == table


@pytest.mark.parametrize("seed", range(4))
def test_affinities_are_pairs_a_matrix_or_a_table(seed: int) -> None:
    """A matrix, dense or sparse, and a wide table give the assignment of pairs; labels in any order."""
    random = Random(seed)
    people = [f"r{j}" for j in range(4 + seed % 2)]
    papers = [f"p{i}" for i in range(5)]
    random.shuffle(people)
    random.shuffle(papers)
    affinity = np.array([[random.random() for _ in papers] for _ in people])
    rules: dict[str, Any] = {
        "conflicts": [(who, what) for who in people for what in papers if random.random() < 0.1],
        "load": {who: random.randint(1, 3) for who in people},
    }
    common: dict[str, Any] = {**rules, "target": "none", "demand": 1}
    by_pair = {(who, what): affinity[j, i] for j, who in enumerate(people) for i, what in enumerate(papers)}
    want = assign(by_pair, **common)
    frame = pd.DataFrame(affinity, people, papers).rename_axis(index="reviewer", columns="item")
    ways = [
        assign(affinity, reviewers=people, items=papers, **common),
        assign(sp.csr_array(affinity), reviewers=people, items=papers, **common),
        assign(frame.T, **common),
    ]
    for one in ways:
        assert one.status == want.status
        assert one.affinity == pytest.approx(want.affinity)


# The jobs of the gallery.


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_extra_reviews_are_applied_and_checked_again(kind: str) -> None:
    rows = [(f"r{j}", f"p{i}", float(1 + (3 * i + j) % 5)) for j in range(8) for i in range(12) if (i + j) % 4 == 0]
    frame = pd.DataFrame(rows, columns=["email", "paper", "rating"])
    reviews = Reviews(frame)
    draws = np.random.default_rng(0)
    conflicts = {(who, what) for who in reviews.reviewers for what in reviews.items if draws.random() < 0.2}
    plan = planner.plan(reviews, conflicts=conflicts, capacity=dict.fromkeys(reviews.reviewers, 2))
    after = Reviews(frame if kind == "pandas" else pl.from_pandas(frame)).add(plan)
    report = check(after)
    assert report.reaches("double")
    assert len(after.to_frame()) == len(frame) + plan.count
    assert conflicts.isdisjoint((one.reviewer, one.item) for one in plan.added)
    both = pd.concat([reviews.to_frame(backend="pandas"), plan.to_frame(backend="pandas")[["reviewer", "item"]]])
    assert check(both).reaches("double")


@pytest.mark.parametrize("target", ["none", "connected"])
def test_samples_have_the_published_probabilities(target: str) -> None:
    similarity = np.random.default_rng(0).random((8, 10))
    conflicts = similarity < 0.1
    chosen = assign(
        similarity,
        conflicts=np.argwhere(conflicts),
        demand=2,
        load=4,
        target=target,
        max_probability=0.5,
        search=Search(seed=3),
    )
    sample = chosen.sample(200, seed=3)
    shares = np.array(chosen.probabilities.to_columns()["probability"])
    # Five standard errors of a share of 200 draws.
    assert np.abs(sample.shares - shares).max() < 5 * 0.5 / 200**0.5
    assert sample[0].to_dict() == chosen.reviews.to_dict()
    for draw in sample[:100]:
        assert draw.reviews_per_item.tolist() == [2] * 10
        assert draw.loads.max() <= 4
        assert not conflicts[draw.reviewer, draw.item].any()
        assert target == "none" or check(draw).reaches("connected")
    assert len(sample.to_frame()) == 200 * 20
