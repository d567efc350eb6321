import random
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Tree

import igraph
import numpy as np
import pytest

import lsc
import reviewgraph as rg
from reviewgraph.report import Bar, BarChart, tally
from reviewgraph.report.groups import Map
from reviewgraph.report.pictures import NARROW, WIDE


@cache
def drawn_map(n: int, width: int, seed: int = 0) -> Tree.Element:
    """A map of groups: a tree with some chords, a tenth of the groups on islands of their own."""
    rng = np.random.default_rng(seed)
    apart = n // 10
    links, papers = [], 0
    for group in range(1, n - apart):
        for other in {int(rng.integers(group)), *rng.integers(group, size=group % 3).tolist()}:
            links += [(group, papers), (other, papers)]
            papers += 1
    groups = Map(
        sizes=np.sort(rng.integers(2, 12, n))[::-1],
        islands=np.maximum(np.arange(n) - (n - apart) + 2, 1),
        names=[f"{number}: ann, bob" for number in range(1, n + 1)],
        papers=[f"p{paper}" for paper in range(papers)],
        links=np.array(links, np.int64).reshape(-1, 2) + np.array([0, n]),
        extra=np.empty((0, 2), np.int64),
    )
    return Tree.fromstring(groups(width).markup("map", "Map", "What it shows."))


def circles(root: Tree.Element) -> np.ndarray:
    marks = [mark for mark in root.iter("circle") if mark.find("title") is not None]
    return np.array([[float(mark.get(name, "nan")) for name in ("cx", "cy", "r")] for mark in marks])


@pytest.mark.parametrize("width", [NARROW, WIDE])
@pytest.mark.parametrize("n", [5, 40, 500])
def test_circles_of_a_map_lie_within_it_and_not_upon_each_other(n: int, width: int) -> None:
    root = drawn_map(n, width)
    height = float(root.get("viewBox", "").split()[3])
    found = circles(root)
    assert len(found) == n - n // 10
    x, y, radius = found.T
    assert (x - radius >= -1).all()
    assert (x + radius <= width + 1).all()
    assert (y + radius <= height + 1).all()
    distance = np.hypot(x[:, None] - x, y[:, None] - y)
    np.fill_diagonal(distance, np.inf)
    assert (distance > (radius[:, None] + radius) * 0.98).all()


def test_bars_are_as_long_as_their_numbers() -> None:
    root = Tree.fromstring(BarChart([Bar("a", 10), Bar("b", 5, True), Bar("c", 0)], "kind")(WIDE).markup("b", "t", "w"))
    lengths = [float(mark.get("width", "nan")) for mark in root.iter("rect")]
    assert lengths[0] == pytest.approx(2 * lengths[1], abs=0.2)
    assert lengths[2] == 0
    assert [mark.get("class") for mark in root.iter("rect")] == ["bar", "bar stands-out", "bar"]


@pytest.mark.parametrize("most", [3, 11, 12, 100, 999])
def test_a_tally_loses_nobody(most: int) -> None:
    numbers = np.random.default_rng(most).integers(0, most + 1, 500)
    found = tally(numbers)
    assert sum(bar.number for bar in found) == 500
    assert len(found) <= 13
    ends = [[int(end) for end in re.findall(r"\d+", bar.name)] for bar in found]
    for bar, span in zip(found, ends, strict=True):
        assert bar.number == ((numbers >= span[0]) & (numbers <= span[-1])).sum()


def test_the_default_picture_says_something(tmp_path: Path) -> None:
    """A bar of its own, such as 4 papers for each of 30 reviewers, is not shown first."""
    even = rg.Reviews([(r, p) for r in range(6) for p in range(4)] + [(9, p) for p in (1, 2, 3, 4)])
    assert even.plot("loads").instead
    assert even.plot().name == "reviews"
    assert not even.plot().instead
    even.plot().save(tmp_path / "reviews.svg")
    assert (tmp_path / "reviews.svg").read_text("utf-8") == even.plot().svg
    with pytest.raises(rg.InputError, match=r"ends with \.svg, \.png or \.pdf, found 'x\.gif'"):
        even.plot().save("x.gif")


class Counting(random.Random):
    """A generator of random numbers that counts how often it is used."""

    used = 0

    def random(self) -> float:
        self.used += 1
        return super().random()

    def getrandbits(self, k: int, /) -> int:
        self.used += 1
        return super().getrandbits(k)


def test_maps_draw_no_random_numbers_and_are_the_same_again() -> None:
    rng = np.random.default_rng(3)
    rows = [(f"r{j}", f"p{i}") for j in range(60) for i in rng.choice(90, 2 + j % 3, replace=False)]
    report = rg.check(rg.Reviews(rows))
    before = random.getstate()
    numpy_before = np.random.get_state()  # noqa: NPY002 (the state of users who have one)
    first = report.plot("groups").svg
    assert random.getstate() == before
    assert str(np.random.get_state()) == str(numpy_before)  # noqa: NPY002
    counting = Counting()
    igraph.set_random_number_generator(counting)
    try:
        assert rg.check(rg.Reviews(rows)).plot("groups").svg == first
        assert not counting.used
        # It is still the one that igraph uses.
        igraph.Graph.Erdos_Renyi(20, 0.5)
        assert counting.used
    finally:
        igraph.set_random_number_generator(random)


def noisy_scores() -> list[tuple[str, str, float]]:
    rng = np.random.default_rng(0)
    return [
        (f"r{j}", f"p{i}", float(np.round(5 + np.sin(i) + j % 3 + rng.normal(0, 0.6), 1)))
        for j in range(12)
        for i in range(j, j + 6)
    ]


def test_matplotlib_draws_in_the_units_of_the_data(tmp_path: Path) -> None:
    figure = pytest.importorskip("matplotlib.figure")
    reviews = rg.Reviews(noisy_scores())
    estimate = lsc.posterior(reviews)

    def axes() -> Any:
        return figure.Figure().subplots()

    ax = axes()
    assert estimate.plot("moved", ax=ax) is ax
    points = np.concatenate(
        [np.asarray(drawn.get_offsets()) for drawn in ax.collections if len(drawn.get_offsets()) > 1]
    )
    expected = np.column_stack([estimate.average, estimate.quality])
    assert np.allclose(points[np.lexsort(points.T)], expected[np.lexsort(expected.T)])
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title()) == ("plain average", "quality", "Averages and qualities")
    # What is drawn beside it is in points of the scores.
    low, high = ax.get_ylim()
    ax.axhline(5.0)
    assert low < 5.0 < high
    assert ax.get_ylim() == (low, high)

    line = estimate.plot("line", n_selected=4, ax=axes())
    assert len(line.get_legend_handles_labels()[1]) >= 3
    loads = rg.check(reviews).plot("reviews", ax=axes())
    middles = [bar.get_x() + bar.get_width() / 2 for bar in loads.patches]
    assert np.allclose(middles, np.unique(reviews.reviews_per_item))
    apart = rg.Reviews([("ann", 1), ("ann", 2), ("bob", 3), ("bob", 4)])
    with pytest.raises(rg.InputError, match=r"no axes, and is drawn as SVG alone; write it with save\('map.svg'\)"):
        rg.plan(apart).plot("map", ax=axes())

    estimate.plot("severities").save(tmp_path / "severities.png")
    assert (tmp_path / "severities.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(rg.InputError, match=r"^ax: expected axes of Matplotlib, .*, found int$"):
        estimate.plot("moved", ax=3)  # type: ignore[call-overload]


def test_pictures_need_no_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    picture = rg.Reviews(noisy_scores()).plot("reviews")
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    picture.save(tmp_path / "x.svg")
    with pytest.raises(rg.InputError, match=r"^path: \.png needs Matplotlib \(python -m pip install matplotlib\)"):
        picture.save(tmp_path / "x.png")
    assert [path.name for path in tmp_path.iterdir()] == ["x.svg"]
