"""Rows as they come, made fit for a table."""

from __future__ import annotations

from typing import Any

import pytest

from reviewgraph import InputError, Reviews


@pytest.mark.parametrize("codes", [[0.7], [True], ["0"], [None]])
def test_codes_are_whole_numbers(codes: Any) -> None:
    with pytest.raises(InputError, match="item: expected codes, whole numbers from 0 on"):
        Reviews.from_codes([0], codes, reviewers=["ann"], items=["p1", "p2"])


def test_whole_scores_beyond_double_precision_are_refused() -> None:
    with pytest.raises(InputError, match="too large"):
        Reviews([("a", "p", 10**400)])
