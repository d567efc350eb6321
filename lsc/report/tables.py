"""The tables of the report of a calibration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lsc.inference.describing import middle_half
from lsc.report.papers import intervals
from lsc.report.scores import links, opened
from lsc.words.tables import best_by_group
from reviewgraph.report.tables import Column, Table

if TYPE_CHECKING:
    from lsc.decisions.selection import Selection
    from lsc.estimate import Estimate
    from lsc.posteriors import PosteriorEstimate
    from reviewgraph.labels import IntArray

#: What a paper's list is called.
LISTS = {"in": "in", "discuss": "to discuss", "out": "out", "aside": "set aside", None: None}


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
        columns.append(_chances(selection, order))
        columns.append(Column("list", [LISTS[selection.lists[i]] for i in order.tolist()], "choice"))
    told = "" if selection is None else f"; the chance is that of being among the best {selection.n}"
    return Table("papers", f"Papers, the best first{told}", columns, "papers", links(order, opened(result, selection)))


def discuss_table(result: PosteriorEstimate, selection: Selection) -> Table:
    """Return a row a paper to discuss, those nearest to the line first."""
    reviews, order = result.reviews, selection.nearest
    labels = [reviews.items[i] for i in order.tolist()]
    titles = [reviews.titles.get(label, "") for label in labels]
    low, high = (values[order] for values in intervals(result))
    columns = [
        Column("paper", labels),
        *([Column("title", titles)] if any(titles) else []),
        _chances(selection, order),
        Column("quality", reviews.printed(result.quality)[order].tolist(), "number", 2),
        *([Column("low", low.tolist(), "number", 2), Column("high", high.tolist(), "number", 2)] if _any(low) else []),
        Column("average", reviews.printed(result.average)[order].tolist(), "number", 2),
        Column("scores", reviews.only_scored().reviews_per_item[order].tolist(), "number"),
    ]
    if not selection.comparable[order].all():
        connected = ["yes" if known else "no" for known in selection.comparable[order].tolist()]
        columns.append(Column("connected with most", connected, "choice"))
    caption = f"To discuss, nearest to the line first; the chance is that of being among the best {selection.n}"
    return Table("discuss", caption, columns, "papers", links(order, opened(result, selection)))


def _chances(selection: Selection, order: IntArray) -> Column:
    known = selection.probability
    chances = (known[i] for i in order.tolist())
    return Column("chance, %", [None if chance is None else 100 * chance for chance in chances], "number", 1)


def _any(values: Any) -> bool:
    return bool(np.isfinite(values).any())


def reviewer_table(result: PosteriorEstimate) -> Table:
    """Return a row a reviewer with a score, the harshest first."""
    reviews, found, misfit = result.reviews, result.reviewers, result.misfit
    loads = reviews.only_scored().loads
    who = np.flatnonzero(loads > 0)
    who = who[np.argsort(-found.severity.mean[who], kind="stable")]
    known = (("severity", found.severity), ("stretch", found.stretch), ("noise", found.noise))
    columns = [
        Column("reviewer", [reviews.reviewers[j] for j in who.tolist()]),
        Column("scores", loads[who].tolist(), "number"),
    ]
    for name, quantity in known if result.beliefs.signal else ():
        heads = (name, f"{name} from", f"{name} to")
        columns += [
            Column(head, values[who].tolist(), "number", 2) for head, values in zip(heads, quantity, strict=True)
        ]
    words = _words(result)
    columns += [
        Column("agreement", misfit.agreement[who].tolist(), "number", 2),
        Column("mean square", misfit.mean_square[who].tolist(), "number", 2),
        Column("stands out", [words[j] for j in who.tolist()], "choice"),
    ]
    caption = "Reviewers, the harshest first; from and to hold with 90 %" if result.beliefs.signal else "Reviewers"
    return Table("reviewers", caption, columns, "reviewers")


def _words(result: PosteriorEstimate) -> list[str | None]:
    """Return in which way each reviewer stands out, None for those who do not."""
    found = result.reviewers
    words: list[str | None] = [None] * result.reviews.n_reviewers
    # What is said of severity goes before what is said of stretch, and contradictions before both.
    for quantity, above, below in (
        (found.stretch, "scores far apart", "scores close together"),
        (found.severity, "harsh", "lenient"),
    ):
        low, high = middle_half(quantity)
        for outside, word in ((quantity.low > high, above), (quantity.high < low, below)):
            for reviewer in np.flatnonzero(outside).tolist():
                words[reviewer] = word
    for reviewer in np.flatnonzero(result.misfit.contradicts).tolist():
        words[reviewer] = "contradicts the others"
    return words
