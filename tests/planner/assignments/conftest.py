"""Few exchanges for smaller errors, which come after everything else, unless a test is of them."""

import pytest

from planner._assign import precision


@pytest.fixture(autouse=True)
def _few_exchanges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "DRAWN", 100)
