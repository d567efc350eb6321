"""A short run of the oracles, and what they do where an answer is wrong."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from tests.oracles import graphs
from tests.oracles.__main__ import ORACLES, run
from tests.oracles.oracle import Oracle, Untold, equal


@pytest.mark.parametrize("oracle", [one for one in ORACLES if one.name != "posterior"], ids=lambda one: one.name)
def test_answers_agree_with_their_oracle(oracle: Oracle) -> None:
    counts = run([oracle], 3, 1.0, seed=5)[oracle.name].counts
    assert counts["findings"] == 0
    assert counts["agrees"] > 0


def test_a_wrong_answer_is_a_finding(capsys: pytest.CaptureFixture[str]) -> None:
    right = graphs.ORACLES[0]

    def fail(asked: object) -> object:
        raise ZeroDivisionError

    def give_up(asked: object) -> object:
        raise Untold

    for wrong, name in (
        (replace(right, ours=lambda asked: "something else"), "findings"),
        (replace(right, ours=fail), "findings"),
        (replace(right, theirs=give_up), "untold"),
        (replace(right, draw=lambda rng: None), "nothing to ask"),
    ):
        assert dict(run([wrong], 2, 1.0)[right.name].counts) == {name: 2}
    assert "finding 0, components: found something else, expected" in capsys.readouterr().out
    assert equal(None, 1, 1) == ""


def test_quick_oracles_are_asked_more_often(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]

    def lasting(seconds: float) -> Oracle:
        def ours(asked: object) -> None:
            clock[0] += seconds

        return replace(graphs.ORACLES[0], name=str(seconds), ours=ours, theirs=lambda asked: None, differ=equal)

    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    tallies = run([lasting(1), lasting(2), lasting(100)], 20, 4.2)
    assert [tally.counts.total() for tally in tallies.values()] == [20, 17, 2]


def test_the_same_number_is_the_same_case() -> None:
    seen: list[object] = []
    oracle = replace(graphs.ORACLES[0], theirs=lambda asked: seen.append(asked) or {})
    for first in (0, 2):
        run([oracle], 4 - first, 1.0, seed=3, first=first)
    assert seen[2:4] == seen[4:]
