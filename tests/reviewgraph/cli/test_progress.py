"""Progress on stderr: silence for short work, new words soon, old words ever more rarely."""

import threading

import pytest

from reviewgraph._base import Progress
from reviewgraph.cli import output, telling


def test_short_work_says_nothing(capsys) -> None:
    with telling(silence=60.0) as tell:
        tell(Progress(0.0, "beginning"))
        tell(Progress(1.0, "3 of 3", 1.0))
    assert capsys.readouterr().err == ""


def test_a_terminal_has_one_line_that_is_redrawn_and_cleared(capsys, monkeypatch) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    drawn = threading.Event()
    echo = output.click.echo
    monkeypatch.setattr(output.click, "echo", lambda *words, **how: (echo(*words, **how), drawn.set()))
    with telling(silence=0.01) as tell:
        tell(Progress(0.0, "first"))
        assert drawn.wait(30.0)
    shown = capsys.readouterr().err
    assert "first" in shown
    assert "\n" not in shown
    assert shown.endswith(output.REDRAWN)


def test_long_work_is_told_while_it_lasts_even_without_further_words(monkeypatch) -> None:
    said: list[str] = []
    heard = threading.Event()

    def hear(line: str) -> None:
        said.append(line)
        heard.set()

    monkeypatch.setattr(output, "say", hear)
    with telling(silence=0.01) as tell:
        for words in ("first", "second"):
            heard.clear()
            tell(Progress(0.0, words))
            assert heard.wait(30.0)
    assert any("first" in line for line in said)
    assert "second" in said[-1]


def test_ctrl_c_ends_the_watch() -> None:
    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt), telling(silence=60.0):
        raise KeyboardInterrupt
    assert threading.active_count() == before
