"""Short lists of lotteries: a list of a hundred assignments takes long."""

import pytest

from planner._assign import lottery


@pytest.fixture(autouse=True)
def _short_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw one of ten assignments."""
    monkeypatch.setattr(lottery, "DRAWS", 10)
