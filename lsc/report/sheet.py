"""The sheet of a paper that its authors may see: scores, what was corrected and why, and nobody's name."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from lsc.words.accounts import MIDDLE, give_or_take, remarks, source_words
from reviewgraph.report.page import Document, Fact, Listed, Picture, Prose, Section
from reviewgraph.report.pictures.shifts import Shift, shifts
from reviewgraph.report.tables import Column, Table
from reviewgraph.words import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lsc.inference.account import Account
    from lsc.posteriors import PosteriorEstimate
    from reviewgraph.labels import Label

#: Half of a central interval of 90 %, in standard errors.
REACH = 1.645


def scored(result: PosteriorEstimate) -> list[Label]:
    """Return the papers that have a score."""
    return [result.items[i] for i in np.flatnonzero(np.isfinite(result.quality)).tolist()]


def sheets(result: PosteriorEstimate, papers: Iterable[Label]) -> Iterator[tuple[Label, Document]]:
    """Yield the sheets of papers, each with its label."""
    scale = scale_of(result)
    for paper in papers:
        yield paper, sheet(result.account(paper), result.reviews.titles.get(paper, ""), scale)


def scale_of(result: PosteriorEstimate) -> tuple[float, float]:
    """Return the least and the greatest score that reviewers gave, as they gave them."""
    score = result.reviews.printed(result.reviews.score[result.reviews.scored])
    return float(score.min()), float(score.max())


def sheet(account: Account, title: str, scale: tuple[float, float]) -> Document:
    """Return the sheet of a paper.

    Parameters
    ----------
    account
        What its quality is made of; names in it are left out.
    title
        Of the paper, or nothing.
    scale
        The least and the greatest score that was given.
    """
    told = account.anonymous()
    low, high = scale
    best = "the least is the best" if told.lower_is_better else "the greatest is the best"
    return Document(
        "Scores of a paper",
        f"{told.item} {title}".strip(),
        None,
        f"Quality {told.quality:.2f}",
        f"Quality is the score to expect of a typical reviewer, on the scale that the reviewers used. It is "
        f"{told.quality:.2f}{give_or_take(told)}; the plain average of the scores is {told.average:.2f}.",
        [f"Scores were given from {low:g} to {high:g}; {best}."],
        facts=_facts(told),
        sections=[
            Section("corrections", "What was corrected, and why", [_corrections(told), _picture(told, scale)]),
            Section("sum", "How it adds up", [_sum(told), Prose(remarks(told, scale))]),
        ],
    )


def _facts(told: Account) -> list[Fact]:
    count = sum(part.source == "review" for part in told.parts)
    found = [
        Fact("Scores", f"{count}"),
        Fact("Plain average", f"{told.average:.2f}"),
        Fact("Quality", f"{told.quality:.2f}", "corrected"),
    ]
    low, high = _interval(told)
    return [*found, Fact("With 90 %", f"{low:.2f} to {high:.2f}")] if math.isfinite(low) else found


def _interval(told: Account) -> tuple[float, float]:
    reach = REACH * told.standard_error
    return told.quality - reach, told.quality + reach


def _corrections(told: Account) -> Listed:
    opening = (
        "A reviewer is harsh or lenient by how her scores of other papers compare with those of their other reviewers; "
        "a score then counts as what a typical reviewer would have given."
    )
    reviews = [part for part in told.parts if part.source == "review"]
    return Listed(opening, [f"{source_words(each, lower_is_better=told.lower_is_better)}." for each in reviews])


def _picture(told: Account, scale: tuple[float, float]) -> Picture:
    reviews = [part for part in told.parts if part.source == "review"]
    found = [Shift(str(part.reviewer), part.score or 0.0, part.says) for part in reviews]
    found.append(Shift("the paper", told.average, told.quality, *_interval(told)))
    words = (
        f"{counted(len(reviews), 'score')} as given and as counted, and below {'it' if len(reviews) == 1 else 'them'} "
        f"the paper: its plain average {told.average:.2f} and its quality {told.quality:.2f}"
        f"{', with a 90 % interval' if math.isfinite(told.standard_error) else ''}."
    )
    return Picture(
        "scores",
        "Scores as given and as counted",
        words,
        lambda width: shifts(found, scale, width, "points", "as given, or plain average", "corrected"),
    )


def _sum(told: Account) -> Table:
    """Return the parts with their weights, down to the sum."""
    rest = [part for part in told.parts if part.source == "middle"]
    others = [part for part in told.parts if part.source != "middle"]
    names = {"review": "{}", "likeness": "{}, other papers", "reference": "known quality"}
    whole = all(float(part.score).is_integer() for part in others if part.score is not None)
    columns = [
        Column("source", ["all papers", *(names[part.source].format(part.reviewer) for part in others), "sum"]),
        Column("score", [None, *(part.score for part in others), None], "number", 0 if whole else 1),
        Column("counts as", [None, *(part.says for part in others), told.total], "number", 2),
        Column("weight, %", [100 * sum(p.weight for p in rest), *(100 * p.weight for p in others), None], "number"),
        Column("moves it by", [told.middle, *(part.moves for part in others), told.total], "number", 2),
    ]
    return Table("parts", f"From {MIDDLE} to its quality, in points", columns, "parts", live=False)
