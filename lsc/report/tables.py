"""The tables of the report of a calibration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lsc.inference.describing import middle_half
from lsc.report.papers import intervals
from lsc.words.tables import best_by_group
from reviewgraph.report.tables import Column, Table

if TYPE_CHECKING:
    from lsc.decisions.selection import Selection
    from lsc.estimate import Estimate
    from lsc.posteriors import PosteriorEstimate

#: What a paper's list is called.
LISTS = {"in": "in", "discuss": "to discuss", "out": "out", None: None}


def paper_table(result: Estimate, selection: Selection | None) -> Table:
    """Return a row a paper with a score, the best first."""
    reviews = result.reviews
    order = best_by_group(result)
    labels = [reviews.items[i] for i in order.tolist()]
    titles = [reviews.titles.get(label, "") for label in labels]
    low, high = (values[order] for values in intervals(result))
    counts = reviews.only_scored().reviews_per_item[order]
    columns = [Column("paper", labels), *([Column("title", titles)] if any(titles) else [])]
    if int(result.group.max(initial=0)) > 1:
        columns.append(Column("group", result.group[order].tolist(), "number"))
    columns += [
        Column("rank", result.rank[order].tolist(), "number"),
        Column("quality", reviews.printed(result.quality)[order].tolist(), "number", 2),
        *([Column("low", low.tolist(), "number", 2), Column("high", high.tolist(), "number", 2)] if _any(low) else []),
        Column("average", reviews.printed(result.average)[order].tolist(), "number", 2),
        Column("its rank", result.average_rank[order].tolist(), "number"),
        Column("gained", (result.average_rank - result.rank)[order].tolist(), "number"),
        Column("scores", counts.tolist(), "number"),
    ]
    if selection is not None:
        chance = (100 * selection.chance[order]).tolist()
        columns.append(Column("chance, %", chance, "number", 1))
        columns.append(Column("list", [LISTS[selection.lists[i]] for i in order.tolist()], "choice"))
    told = "" if selection is None else f"; the chance is that of being among the best {selection.n}"
    return Table("papers", f"Papers, the best first{told}", columns, "papers")


def _any(values: Any) -> bool:
    return bool(np.isfinite(values).any())


def reviewer_table(result: PosteriorEstimate) -> Table:
    """Return a row a reviewer with a score, the harshest first."""
    reviews, found = result.reviews, result.reviewers
    loads = reviews.only_scored().loads
    who = np.flatnonzero(loads > 0)
    who = who[np.argsort(-found.severity.mean[who], kind="stable")]
    columns = [
        Column("reviewer", [reviews.reviewers[j] for j in who.tolist()]),
        Column("scores", loads[who].tolist(), "number"),
    ]
    for name, quantity in (("severity", found.severity), ("stretch", found.stretch), ("noise", found.noise)):
        heads = (name, f"{name} from", f"{name} to")
        columns += [
            Column(head, values[who].tolist(), "number", 2) for head, values in zip(heads, quantity, strict=True)
        ]
    words = _words(result)
    columns.append(Column("stands out", [words[j] for j in who.tolist()], "choice"))
    return Table("reviewers", "Reviewers, the harshest first; from and to hold with 90 %", columns, "reviewers")


def _words(result: PosteriorEstimate) -> list[str | None]:
    """Return in which way each reviewer lies outside the middle half, None for those who do not."""
    found = result.reviewers
    words: list[str | None] = [None] * result.reviews.n_reviewers
    # What is said of severity goes before what is said of stretch.
    for quantity, above, below in (
        (found.stretch, "scores far apart", "scores close together"),
        (found.severity, "harsh", "lenient"),
    ):
        low, high = middle_half(quantity)
        for outside, word in ((quantity.low > high, above), (quantity.high < low, below)):
            for reviewer in np.flatnonzero(outside).tolist():
                words[reviewer] = word
    return words
