"""OpenReview's edges: from a submission to a reviewer, with a weight, and proposed ones under the label of a run."""

from __future__ import annotations

import json
from typing import Any

from reviewgraph.errors import InputError
from reviewgraph.uploads.upload import Outgoing, Upload

#: The label of proposed edges whose run has no name of its own.
LABEL = "reviewgraph"
#: How the invitations end under which edges propose reviews, and under which they are reviews.
_PROPOSED, _DEPLOYED = "/-/Proposed_Assignment", "/-/Assignment"
#: The weight of an edge where no affinities are known.
WEIGHT = 1.0


def write(outgoing: Outgoing) -> str:
    r"""Return a list of edges; who may read and write them comes from the invitation they are posted under.

    A run is told apart by its label, and only proposed edges belong to one: the invitation of those that are assigned
    has no place for it.

    Raises
    ------
    InputError
        If a label is given for edges that cannot have one.

    Examples
    --------
    >>> print(write(Outgoing({"item": ["n1"], "reviewer": ["~Ann_Bo1"]}, weights=[0.5], label="run-2")), end="")
    [
    {"head": "n1", "tail": "~Ann_Bo1", "weight": 0.5, "label": "run-2"}
    ]
    """
    invitation = outgoing.invitation or ""
    if outgoing.label is not None and invitation.endswith(_DEPLOYED):
        message = f"to openreview: expected no label under the invitation {invitation}, whose edges have none, found "
        message += f"{outgoing.label!r}; leave --label out, or name the invitation that ends in {_PROPOSED}"
        raise InputError(message)
    label = outgoing.label or (LABEL if invitation.endswith(_PROPOSED) else None)
    end = {} if label is None else {"label": label}
    weights = outgoing.weights or [WEIGHT] * len(outgoing.pairs)
    start: dict[str, Any] = {} if outgoing.invitation is None else {"invitation": outgoing.invitation}
    edges = [
        {**start, "head": str(item), "tail": str(reviewer), "weight": weight, **end}
        for (reviewer, item), weight in zip(outgoing.pairs, weights, strict=True)
    ]
    rows = ",\n".join(json.dumps(edge, ensure_ascii=False, allow_nan=False) for edge in edges)
    return f"[\n{rows}\n]\n" if edges else "[]\n"


OPENREVIEW = Upload("openreview", "OpenReview's edges, as JSON", ".json", write, frozenset({"label", "invitation"}))
