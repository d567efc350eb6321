"""HotCRP's bulk assignment, add-only: a review that is there already is left as it is, and none is ever cleared."""

from __future__ import annotations

import re

from reviewgraph.formats.writing import csv_text
from reviewgraph.uploads.upload import Outgoing, Upload, expect, expect_emails

#: "Unless there is a review already, make a primary one."
NONE_TO_PRIMARY = "none:primary"
#: A paper that is no number would be a search, and so might a user that is no email: both may mean many.
_PAPER = re.compile(r"[1-9][0-9]*")
_ROUND = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


def write(outgoing: Outgoing) -> str:
    r"""Return one row a review, which HotCRP applies all together or not at all.

    Raises
    ------
    InputError
        If a paper is no number, a reviewer no email, or the label cannot be the name of a round.

    Examples
    --------
    >>> write(Outgoing({"item": [7], "reviewer": ["ann@example.org"]}, label="R2"))
    'paper,action,email,reviewtype,round\n7,review,ann@example.org,none:primary,R2\n'
    """
    expect_emails(outgoing, "hotcrp")
    numbers = "name papers by their numbers, or write another form, such as --to csv"
    expect(_PAPER.fullmatch, outgoing.columns["item"], "hotcrp", "numbers of papers", numbers)
    if outgoing.label is not None:
        name = "the name of a round as label, letters and digits that begin with a letter"
        expect(_ROUND.fullmatch, [outgoing.label], "hotcrp", name, "choose another --label")
    count = len(outgoing.pairs)
    return csv_text(
        {
            "paper": outgoing.columns["item"],
            "action": ["review"] * count,
            "email": outgoing.columns["reviewer"],
            "reviewtype": [NONE_TO_PRIMARY] * count,
            "round": [outgoing.label or ""] * count,
        }
    )


HOTCRP = Upload("hotcrp", "HotCRP's bulk assignment, which only adds", ".csv", write, frozenset({"label"}))
