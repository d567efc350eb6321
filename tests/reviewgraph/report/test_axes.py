"""Pictures on Matplotlib axes and in files, their labels and what is highlighted."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Tree

import numpy as np
import pytest

import lsc
import planner
import reviewgraph as rg
from reviewgraph.report.axes import _path, draw_on
from reviewgraph.report.svg import Drawing

matplotlib = pytest.importorskip("matplotlib")
from matplotlib.figure import Figure  # noqa: E402

ROWS = [(f"r{j}", f"p{i}", float(i + 2 * (j % 3))) for j in range(8) for i in range(j % 3, j % 3 + 5)]
TABLE = rg.Reviews.from_pairs(ROWS)


@pytest.fixture(scope="module")
def estimate() -> Any:
    return lsc.Calibrator("additive").fit(TABLE).estimate_


def axes() -> Any:
    return Figure(figsize=(8, 5)).add_subplot()


def test_every_mark_is_drawn_where_it_is_in_the_svg() -> None:
    drawing = Drawing(100, 50)
    drawing.circle(10, 20, 3, "dot", "p: 1")
    drawing.box(5, 6, 7, 8, "bar")
    drawing.line(1, 2, 3, 4, "cut")
    drawing.dots([(50, 10), (60, 20)], "hollow")
    drawing.text(30, 40, "5 $x$ < 6", "tick", "end")
    here = axes()
    draw_on(here, drawing, "Title")
    circle, box, line = here.patches
    assert (circle.center, circle.radius) == ((10, 20), 3)
    assert (box.get_xy(), box.get_width(), box.get_height()) == ((5, 6), 7, 8)
    assert line.get_path().vertices.tolist() == [[1, 2], [3, 4]]
    assert here.collections[0].get_offsets().tolist() == [[50, 10], [60, 20]]
    assert [(t.get_text(), t.get_position(), t.get_ha()) for t in here.texts] == [("5 $x$ < 6", (30, 40), "right")]
    assert (here.get_xlim(), here.get_ylim(), here.get_title()) == ((0, 100), (50, 0), "Title")
    # Colours of the style sheet: ink, marks, the accent.
    assert [matplotlib.colors.to_hex(one.get_facecolor()) for one in (circle, box)] == ["#1b1d21", "#8b93a1"]
    assert matplotlib.colors.to_hex(line.get_edgecolor()) == "#b23a0e"
    assert line.get_linestyle() != "-"


def test_paths_end_where_a_reader_of_svg_ends() -> None:
    vertices, codes = _path("M1 1h2v3H0V0l5 5-1-1zm2 2L9 9")
    assert vertices == [(1, 1), (3, 1), (3, 4), (0, 4), (0, 0), (5, 5), (4, 4), (1, 1), (3, 3), (9, 9)]
    assert codes == [1, 2, 2, 2, 2, 2, 2, 79, 1, 2]


@pytest.mark.parametrize("name", [None, "moved", "qualities"])
def test_results_draw_themselves_on_axes(estimate: Any, name: str | None) -> None:
    here = axes()
    picture = estimate.plot(name, ax=here)
    assert here.get_title() == picture.title
    drawn = picture.draw(round(here.get_xlim()[1]))
    texts = [mark.text for mark in drawn.marks if mark.tag == "text"]
    assert [text.get_text() for text in here.texts] == texts


def test_files_have_the_format_of_their_suffix(estimate: Any, tmp_path: Path) -> None:
    begins = {".png": b"\x89PNG", ".pdf": b"%PDF", ".svg": b"<svg", ".PNG": b"\x89PNG"}
    for suffix, begin in begins.items():
        path = tmp_path / f"picture{suffix}"
        estimate.plot().save(path)
        first = path.read_bytes()
        assert first.startswith(begin)
        estimate.plot().save(path)
        assert path.read_bytes() == first
    with pytest.raises(rg.InputError, match=r"ends with \.svg, \.png or \.pdf, found 'x\.gif'"):
        estimate.plot().save("x.gif")


def test_without_matplotlib_the_message_says_what_to_install(
    estimate: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(rg.InputError, match=r"matplotlib, found none; to install: .*reviewgraph\[plots\]"):
        estimate.plot().save(tmp_path / "x.png")
    estimate.plot().save(tmp_path / "x.svg")


def words(picture: Any) -> list[str]:
    return [mark.text or "" for mark in Tree.fromstring(picture.svg).iter() if mark.tag.endswith("text")]


def labelled(picture: Any) -> set[str]:
    return {text for text in words(picture) if re.fullmatch(r"p\d", text)}


def test_labels_and_highlights_are_those_asked_for(estimate: Any) -> None:
    assert labelled(estimate.plot("moved", labels=False)) == set()
    assert labelled(estimate.plot("moved", labels=["p1", "p4"])) == {"p1", "p4"}
    assert labelled(estimate.plot("moved", labels=True)) >= {"p1", "p4"}
    both = estimate.plot("moved", labels=False, highlight=["p2"])
    assert labelled(both) == {"p2"}
    rings = [mark for mark in Tree.fromstring(both.svg).iter() if mark.get("class") == "ring"]
    dots = [
        m
        for m in Tree.fromstring(both.svg).iter()
        if m.get("class") == "dot" and (m.findtext("{*}title") or "")[:3] == "p2:"
    ]
    assert [(ring.get("cx"), ring.get("cy")) for ring in rings] == [(dots[0].get("cx"), dots[0].get("cy"))]
    assert "ring" not in estimate.plot("moved").svg.split("</style>")[1]
    assert 'width="432"' in estimate.plot("moved", size=400).svg


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"labels": ["zz"]}, "found 'zz'; there are labels such as 'p0', 'p1', 'p2'"),
        ({"highlight": ["zz"]}, "found 'zz'"),
        ({"size": 3}, "size: expected a width of 200 to 4000"),
        ({"ax": "here"}, "ax: expected axes of matplotlib, found str"),
    ],
)
def test_mistakes_are_named(estimate: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(rg.InputError, match=message):
        estimate.plot("moved", **options)


def test_many_points_are_labelled_too() -> None:
    rng = np.random.default_rng(0)
    rows = [(r, f"p{i}", rng.normal()) for r in range(3) for i in range(600)]
    estimate = lsc.Calibrator("average").fit(rg.Reviews.from_pairs(rows)).estimate_
    assert "p17" in words(estimate.plot("moved", highlight=["p17"]))


def test_the_default_picture_says_something() -> None:
    """A bar of its own, such as 4 papers for each of 30 reviewers, is not shown first."""
    even = rg.Reviews.from_pairs([(r, p) for r in range(6) for p in range(4)] + [(9, p) for p in (1, 2, 3, 4)])
    assert even.plot("loads").instead
    assert even.plot().name == "reviews"
    assert not even.plot().instead


def test_a_plan_of_no_reviews_draws_the_map_and_says_so() -> None:
    plan = planner.plan_extra_reviews(rg.Reviews.from_pairs([(r, p) for r in range(4) for p in range(4)]))
    picture = plan.plot()
    assert (plan.count, picture.name) == (0, "map")
    assert picture.words.startswith("The plan adds no reviews: optimal, 0 reviews to double")
    assert "<circle" in picture.svg
