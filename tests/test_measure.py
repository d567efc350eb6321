"""What the table of sizes counts, on a tree of four files whose figures anybody can count."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.measure import PACKAGES, ROOT, dotted, layers, measured, modules, rooms, table

TREE = {
    "__init__.py": '"""A toy."""\n\nfrom toy.top import rise as rise\n',
    "top.py": '''"""On top."""

from __future__ import annotations

from reviewgraph._base.text import noun

from .middle.words import say as tell
from .middle.words import shout

LIMIT = 3


def rise(height: int) -> str:
    """Rise.

    Further.
    """
    # Why it is done so.
    if height > LIMIT:
        return shout(noun(height, "floor"))

    return tell("up") + tell("again")
''',
    "middle/__init__.py": "",
    "middle/words.py": """from toy.base import LIMIT


def say(
    text: str,
) -> str:
    # Three lines of signature, two of body.
    return text[:LIMIT]


def shout(text: str) -> str:
    return say(text).upper()
""",
    "base.py": "LIMIT = 9  # not a body\n",
    "words.py": "",
    "tests/test_top.py": "def test(): pass\n",
}


def test_a_toy_tree_is_counted_right(tmp_path: Path) -> None:
    folder = tmp_path / "toy"
    for name, text in TREE.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    assert dotted(folder / "middle") == "toy.middle"
    sources = modules(folder)
    graph = rooms("toy", sources)
    assert set(graph) == {"top", "middle", "base", "words"}
    assert set(graph.edges) == {("top", "middle"), ("middle", "base")}
    assert layers(graph) == 3
    figures = measured({"toy": sources})
    assert figures == {
        "source files": "6",
        "lines": "38",
        "lines of code": "18",
        "lines of file headers": "12",
        "entries": "4",
        "layers": "3",
        "arrows": "2",
        "names from reviewgraph, modules": "1 from 1",
        "file names of several files": "1 of 2",
        "names defined more than once": "1",
        "functions referenced once": "1 of 3",
        "comments per 100 body lines": "28.6",
    }
    assert table({"toy": figures}).splitlines()[1].split() == ["source", "files", "6"]


@pytest.mark.slow
@pytest.mark.nightly
def test_the_packages_are_measured() -> None:
    figures = measured({package: modules(ROOT / package) for package in PACKAGES})
    assert int(figures["source files"].replace(",", "")) > 100
    assert figures["names from reviewgraph, modules"] != "0 from 0"
