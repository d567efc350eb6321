"""The answers of the posterior as the model of issue 52 prints them. TO BE DELETED when that model is merged.

Delete this module, ``tests/reviewgraph/verify/conftest.py``, and its uses in ``tests/verifying/cases.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from lsc._inference import beliefs
from lsc.posteriors import PosteriorEstimate

MODEL = ("evidence", "null_evidence", "hyperparameters", "kappa")


@contextmanager
def new_answers() -> Iterator[None]:
    """Let ``calibrate`` print the keys of the new model, and probabilities that follow from standard errors."""
    to_dict = PosteriorEstimate.to_dict
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PosteriorEstimate, "to_dict", lambda *given, **named: stripped(to_dict(*given, **named)))
        for kind in vars(beliefs).values():
            if isinstance(kind, type) and "order_error" in vars(kind):
                patch.setattr(kind, "order_error", kind.standard_error)
        yield


def stripped(answer: dict[str, Any]) -> dict[str, Any]:
    """Return an answer without the keys that the new model does not print."""
    answer = answer | {"model": {key: answer["model"][key] for key in MODEL}}
    if "confidence" in answer:
        answer["confidence"] = {key: answer["confidence"][key] for key in ("used", "gain")}
    if "criteria" in answer and isinstance(answer["criteria"]["used"], bool):
        criteria = answer["criteria"]
        names = [row["criterion"] for row in criteria["weights"]]
        answer["criteria"] = {
            "target": criteria["target"],
            "weights": {row["criterion"]: row["weight"] for row in criteria["weights"]},
            "gain": criteria["gain"],
            "used": names if criteria["used"] else [],
            "rejected": [] if criteria["used"] else names,
            **{key: value for key, value in criteria.items() if key == "severities"},
        }
    return answer
