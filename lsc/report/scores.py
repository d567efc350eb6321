"""Each paper of a report, which opens to its scores and to what its quality is made of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from lsc.inference.account import accounts_of
from lsc.posteriors import PosteriorEstimate
from lsc.report.papers import intervals
from lsc.words.accounts import MIDDLE, rounded, source_words
from lsc.words.posterior_page import percent
from lsc.words.tables import best_by_group, paper_name
from reviewgraph.report.page import Fold, Folded, Part, Prose
from reviewgraph.words import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lsc.decisions.selection import Selection
    from lsc.estimate import Estimate
    from reviewgraph.labels import IntArray

#: Papers that open, those nearest to the line or the best: a line takes some hundred bytes, and a browser a moment.
OPENED = 5000


def opened(result: Estimate, selection: Selection | None) -> IntArray:
    """Return the codes of the papers that open, best first."""
    order = best_by_group(result)
    if order.size <= OPENED:
        return order
    line = 0 if selection is None else selection.n
    near = np.argsort(np.abs(np.arange(order.size) - line), kind="stable")[:OPENED]
    return order[np.sort(near)]


def links(papers: IntArray, those: IntArray) -> list[str]:
    """Return the identifiers of papers where all of them are among those that open, none else."""
    return [name_of(i) for i in papers.tolist()] if np.isin(papers, those).all() else []


def name_of(paper: int) -> str:
    """Return the identifier of a paper, given by code."""
    return f"paper-{paper}"


def paper_scores(result: Estimate, selection: Selection | None) -> list[Part]:
    """Return the papers of each list, in folds."""
    papers = opened(result, selection)
    folds = dict(zip(papers.tolist(), _folds(result, selection, papers), strict=True))
    parts: list[Part] = [Prose(_introduction(result, int((result.rank > 0).sum()), papers.size))]
    for opening, some in _lists(selection, papers):
        if chosen := [folds[i] for i in some.tolist() if i in folds]:
            parts.append(Folded(f"{opening}: {counted(len(chosen), 'paper')}", chosen))
    return parts


def _lists(selection: Selection | None, papers: IntArray) -> list[tuple[str, IntArray]]:
    if selection is None:
        return [("Best first", papers)]
    return [
        ("To discuss, nearest to the line first", selection.nearest),
        ("In", selection.certain),
        ("Out, best first", selection.out),
        ("Set aside", selection.aside),
    ]


def _introduction(result: Estimate, scored: int, shown: int) -> list[str]:
    lines = ["Each paper opens to its scores."]
    if isinstance(result, PosteriorEstimate):
        middle = float(result.reviews.printed(result.beliefs.location))
        lines = [
            f"Each paper opens to its scores and to what they make of its quality. Every paper starts at {middle:.2f}, "
            f"{MIDDLE}; a line says by how much a score moves the paper from there, what it counts as and why, and "
            "what it weighs. The sum is the quality."
        ]
    if shown < scored:
        lines.append(f"Of {scored:,} papers, the {shown:,} nearest to the line, or best, are here.")
    return lines


def _folds(result: Estimate, selection: Selection | None, papers: IntArray) -> Iterator[Fold]:
    quality, average = (result.reviews.printed(values).tolist() for values in (result.quality, result.average))
    low, high = (values.tolist() for values in intervals(result))
    chance = None if selection is None else selection.probability
    lines = _account_lines(result, papers) if isinstance(result, PosteriorEstimate) else _score_lines(result, papers)
    for i, told in zip(papers.tolist(), lines, strict=True):
        known = f" ({low[i]:.2f} to {high[i]:.2f})" if np.isfinite(low[i]) else ""
        summary = f"{paper_name(result, i)}: quality {quality[i]:.2f}{known}, average {average[i]:.2f}"
        probability = None if chance is None else chance[i]
        if selection is not None and probability is not None:
            summary += f", {percent(probability)} among the best {selection.n}"
        yield Fold(name_of(i), summary, told)


def _account_lines(result: PosteriorEstimate, papers: IntArray) -> Iterator[Sequence[str]]:
    for account in accounts_of(result.beliefs, result.reviews, papers.tolist()):
        lower = account.lower_is_better
        parts = [part for part in account.parts if part.source != "middle"]
        yield [f"{rounded(part.moves):+.2f}: {source_words(part, lower_is_better=lower)}" for part in parts]


def _score_lines(result: Estimate, papers: IntArray) -> Iterator[Sequence[str]]:
    reviews = result.reviews.only_scored()
    order = np.argsort(reviews.item, kind="stable")
    item, score = reviews.item[order], reviews.printed(reviews.score)[order]
    for paper in papers.tolist():
        first, last = np.searchsorted(item, [paper, paper + 1]).tolist()
        who = reviews.reviewer[order[first:last]].tolist()
        yield [f"{reviews.reviewers[j]} gave {y:g}" for j, y in zip(who, score[first:last].tolist(), strict=True)]
