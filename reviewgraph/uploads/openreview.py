"""OpenReview's edges: from a submission to a reviewer, with a weight, under the label of a run."""

from __future__ import annotations

import json
from typing import Any

from reviewgraph.uploads.upload import Outgoing, Upload

#: The label of edges whose run has no name of its own.
LABEL = "reviewgraph"
#: The weight of an edge where no affinities are known.
WEIGHT = 1.0


def write(outgoing: Outgoing) -> str:
    r"""Return a list of edges; who may read and write them comes from the invitation they are posted under.

    >>> print(write(Outgoing({"item": ["n1"], "reviewer": ["~Ann_Bo1"]}, weights=[0.5], label="run-2")), end="")
    [
    {"head": "n1", "tail": "~Ann_Bo1", "weight": 0.5, "label": "run-2"}
    ]
    """
    weights = outgoing.weights or [WEIGHT] * len(outgoing.pairs)
    start: dict[str, Any] = {} if outgoing.invitation is None else {"invitation": outgoing.invitation}
    edges = [
        {**start, "head": str(item), "tail": str(reviewer), "weight": weight, "label": outgoing.label or LABEL}
        for (reviewer, item), weight in zip(outgoing.pairs, weights, strict=True)
    ]
    rows = ",\n".join(json.dumps(edge, ensure_ascii=False, allow_nan=False) for edge in edges)
    return f"[\n{rows}\n]\n" if edges else "[]\n"


OPENREVIEW = Upload("openreview", "OpenReview's edges, as JSON", ".json", write, frozenset({"label", "invitation"}))
