"""A short run of the oracles, and that a wrong answer is a finding."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.oracles import graphs
from tests.oracles.__main__ import FINDING, ORACLES, run
from tests.oracles.oracle import FINE, Oracle
from tests.trials import trials


@pytest.mark.parametrize("oracle", ORACLES, ids=lambda oracle: oracle.name)
def test_answers_agree_with_their_oracle(oracle: Oracle) -> None:
    cases = trials(400 if oracle in graphs.ORACLES else 10)
    counts = run([oracle], cases, 1.0, seed=5)[oracle.name]
    assert {*counts} <= {*FINE}
    assert counts["agrees"] > 0


def test_a_wrong_answer_is_a_finding(capsys: pytest.CaptureFixture[str]) -> None:
    wrong = replace(graphs.ORACLES[0], ours=lambda asked: "something else")
    raising = replace(graphs.ORACLES[0], ours=lambda asked: 1 / 0)
    for oracle, kind in ((wrong, "different"), (raising, "raised")):
        assert run([oracle], 2, 1.0)[oracle.name] == {f"{FINDING}{kind}": 2}
    assert "finding 0, components: different: found something else, expected" in capsys.readouterr().out
