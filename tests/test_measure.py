"""What the table of sizes counts, on a file whose figures anybody can count."""

from pathlib import Path

from tests.measure import layers, modules, row

TOP = '''"""On top."""

from toy.middle.words import say


def rise(height: int, other: int) -> str:
    """Rise.

    Further.
    """
    # Why it is done so.
    height, other = other, height
    low, high = 0, height  # two steps in one
    low, high = divmod(high, 2)
    return say("up") if high else ""
'''


def test_a_toy_is_counted_right(tmp_path: Path) -> None:
    folder = tmp_path / "toy"
    for name, text in {"top.py": TOP, "middle/words.py": "LIMIT = 9\n", "tests/test_top.py": "assert True\n"}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    assert layers(folder) == 2
    # Seven lines of code; one tuple assignment, one conditional, two vague names, two comments.
    assert row("toy", modules(folder), 2) == ["toy", "2", "16", "7", "2", "14.3", "14.3", "28.6", "28.6"]
