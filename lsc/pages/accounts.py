"""The contributions to the quality of a paper: its explanation, and its sheet for authors, without names.

All figures are on the scale of the scores.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING

from reviewgraph._base import Column, Fact, Listed, Nouns, Page, Part, Picture, Prose, Section, Table, counted, percent
from reviewgraph.report import Shift, shifts

if TYPE_CHECKING:
    from lsc._inference.beliefs import Account
    from lsc._inference.beliefs import Part as Source
    from lsc.posteriors import PosteriorEstimate
    from reviewgraph._base import Label

#: Corrections smaller than this, in points, are not mentioned.
SLIGHT = 0.05
#: What all papers have in common before their scores are used.
MIDDLE = "the overall mean"
#: What a quality is without references.
TYPICAL = "the expected score of a typical reviewer"
#: Half of a 90 % interval, in standard errors.
REACH = 1.645
#: The names of sources in tables.
SOURCES = {"review": "{}", "likeness": "{}, other papers", "reference": "reference", "covariate": "{}"}


def account_table(account: Account, name: str = "parts") -> Table:
    """Return a row per source: its score, its value after correction, its weight, and what it adds.

    The value is the sum of the score and of the corrections for severity and for slope, that for criteria included.
    """
    rest = sum(100 * part.weight for part in account.parts if part.source == "middle")
    shown = [part for part in account.parts if part.source != "middle"]
    are_whole = all(float(part.score).is_integer() for part in shown if part.score is not None)
    names = [SOURCES[part.source].format(part.covariate or part.reviewer) for part in shown]
    scored = [part.source == "review" for part in shown]
    severity = [part.severity if own else None for part, own in zip(shown, scored, strict=True)]
    slope = [
        part.says - (part.score or 0.0) - part.severity if own else None
        for part, own in zip(shown, scored, strict=True)
    ]
    columns = [
        Column("source", [MIDDLE, *names, "sum"]),
        Column("score", [None, *(part.score for part in shown), None], "number", 0 if are_whole else 1),
        Column("severity", [None, *severity, None], "number", 2),
        Column("slope", [None, *slope, None], "number", 2),
        Column("counts as", [None, *(part.says for part in shown), account.total], "number", 2),
        Column("weight, %", [rest, *(100 * part.weight for part in shown), None], "number"),
        Column("moves it by", [account.middle, *(part.moves for part in shown), account.total], "number", 2),
    ]
    return Table(name, f"From {MIDDLE} to the quality of {account.item}", columns, "parts", live=False)


def source_words(part: Source, account: Account) -> str:
    """Return the name of a source, the value of a score after correction with reasons, and its weight."""
    weight = f"weight {percent(part.weight)}"
    if part.source == "likeness":
        return f"reviewers have similar papers: the other papers of {part.reviewer} ({weight})"
    if part.source == "covariate":
        return f"{part.covariate}: papers like this one are expected at {part.says:.2f}"
    if part.source == "reference":
        return f"its reference {part.score:g}; {weight}"
    counts = f", counts as {part.says:.2f}{_why(part, account)}" if _is_corrected(part) else ""
    return f"{part.reviewer} gave {part.score:g}{counts}; {weight}"


def _is_corrected(part: Source) -> bool:
    return abs(part.severity + part.stretch + sum(part.criteria.values())) >= SLIGHT


def _harsh(part: Source, account: Account) -> str:
    return "harsh" if (part.severity > 0) != account.lower_is_better else "lenient"


def _why(part: Source, account: Account) -> str:
    # The stretch has the rest: the reviewer's slope, and what their other papers add to both estimates.
    by = "by the references and by" if account.of_references else "by"
    reasons = [
        (part.severity, f"as this reviewer is {_harsh(part, account)}"),
        (part.stretch, f"{by} how this reviewer scored other papers"),
        *((value, f"by {name}") for name, value in part.criteria.items()),
    ]
    corrections = [f"{value:+.2f} {reason}" for value, reason in reasons if abs(value) >= SLIGHT]
    return f" ({', '.join(corrections)})"


def contributions(account: Account) -> list[str]:
    """Return what each source adds to the overall mean, with its name."""
    parts = [part for part in account.parts if part.source != "middle"]
    # Rounded first, so that there is no negative zero.
    return [f"{round(part.moves, 2) + 0.0:+.2f}: {source_words(part, account)}" for part in parts]


def scale_of(result: PosteriorEstimate) -> tuple[float, float]:
    """Return the lowest and the highest score, in the direction of the reviews."""
    score = result.reviews.printed(result.reviews.score[result.reviews.scored])
    return float(score.min()), float(score.max())


def corrections(account: Account, scale: tuple[float, float]) -> list[Part]:
    """Return the corrections of a paper with reasons, the weight of its data, and why scores leave the ``scale``."""
    opening = (
        f"{account.item}: whether a reviewer is harsh or lenient is estimated from their scores of other papers, "
        "compared with those of the other reviewers of these; a corrected score is what a typical reviewer would have "
        "given."
    )
    # The mean adds nothing: its weight is the strength of the shrinkage.
    rest = sum(part.weight for part in account.parts if part.source == "middle")
    remarks = [
        f"The data on this paper have {percent(max(1.0 - rest, 0.0))} of the weight, {MIDDLE} {percent(rest)}: the "
        "fewer and the less consistent the scores, the closer the quality is to the mean."
    ]
    says = [part.says for part in account.parts if part.source == "review" and _is_corrected(part)]
    if says and not account.of_references and (min(says) < scale[0] or max(says) > scale[1]):
        remarks.append(
            f"Scores were given from {scale[0]:g} to {scale[1]:g}; a corrected score may be outside this range: the "
            "best score of a harsh reviewer means more than that of a lenient one."
        )
    return [Listed(opening, [f"{line}." for line in contributions(account)]), Prose(remarks)]


def plus_minus(account: Account) -> str:
    """Return the standard error as the end of a clause; empty if it cannot be estimated."""
    error = account.standard_error
    return f" +- {error:.2f} (standard error)" if math.isfinite(error) else ""


def better(result: PosteriorEstimate, papers: list[Label]) -> list[Fact]:
    """Return which of each two papers of one group is better, and how sure that is."""
    code = {label: result.items.index(label) for label in papers}
    facts = []
    for pair in combinations(papers, 2):
        first, second = sorted(pair, key=lambda label: int(result.rank[code[label]]))
        if result.group[code[first]] == result.group[code[second]]:
            chance = percent(result.probability_better(first, second))
            facts.append(Fact("Better", f"{first} than {second} with probability {chance}"))
    return facts


# The sheet of a paper for its authors: scores, corrections with reasons, and no names.


def sheets(result: PosteriorEstimate, papers: Iterable[Label]) -> Iterator[tuple[Label, Page]]:
    """Yield the sheets of papers, each with its label."""
    low, high = scale_of(result)
    of = "on the scale of the references" if result.validity.is_learned else TYPICAL
    for paper in papers:
        account = result.account(paper).anonymous()
        parts = [*corrections(account, (low, high)), _shifts(account, (low, high))]
        facts = [
            Fact("Scores", f"given from {low:g} to {high:g}, {result.reviews.direction}"),
            Fact("Average", f"{account.average:.2f}"),
        ]
        if math.isfinite(account.standard_error):
            facts.append(Fact("90 % range", "{:.2f} to {:.2f}".format(*_interval(account))))
        page = Page(
            "Scores of a paper",
            None,
            f"Quality {account.quality:.2f}",
            f"{plus_minus(account)}, {of}".removeprefix(",").strip(),
            [*facts, account_table(account)],
            sections=[Section("why", "Corrections, with reasons", partial(list, parts))],
            subject=f"{paper} {result.reviews.titles.get(paper, '')}".strip(),
            nouns=Nouns(*result.reviews.nouns),
        )
        yield paper, page


def _interval(account: Account) -> tuple[float, float]:
    reach = REACH * account.standard_error
    return account.quality - reach, account.quality + reach


def _shifts(account: Account, scale: tuple[float, float]) -> Picture:
    shifted = [
        Shift(str(part.reviewer), part.score or 0.0, part.says) for part in account.parts if part.source == "review"
    ]
    words = (
        f"{counted(len(shifted), 'score')} as given and as counted, and below the paper: its plain average "
        f"{account.average:.2f} and its quality {account.quality:.2f}."
    )
    shifted.append(Shift("the paper", account.average, account.quality, *_interval(account)))
    return Picture(
        "scores",
        "Scores as given and as counted",
        words,
        lambda width: shifts(shifted, scale, width, "points", "as given, or plain average", "corrected"),
    )
