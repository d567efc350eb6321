"""Lotteries in words: what a chair may promise, and why caps on probabilities leave no assignment."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.assignments.model.levels import aim_named
from planner.assignments.steps.flow import shortfall
from planner.assignments.words.why_none import each, papers, people
from reviewgraph.words import counted, noun

if TYPE_CHECKING:
    from planner.assignments.findings.randomised import Listed, Randomised
    from planner.assignments.model.problem import Problem
    from planner.assignments.steps.flow import Shortfall
    from reviewgraph.reviews import FloatArray

_REMEDY = "Raise --max-probability, score more pairs, allow unscored ones, or lift conflicts."


def lot_lines(found: Randomised | None, level: str) -> list[str]:
    """Return the lines of the page on a lottery; none where there was none."""
    if found is None:
        return []
    cap = "the caps of the table" if found.max_probability is None else f"a cap of {found.max_probability:g}"
    certain = f" ({counted(found.certain, 'fixed pair is', 'fixed pairs are')} certain)" if found.certain else ""
    wide = f" and perturbation {found.perturbation:g}" if found.perturbation else ""
    return [
        "",
        f"Drawn by lot under {cap}{wide}: {counted(found.support, 'pair')} may be drawn{certain}; the likeliest "
        f"reviewer of a paper has probability {found.mean_largest:.3g} on average.",
        f"Expected affinity: {found.expected:.6g}, {found.percent:.2f} % of the best without a lottery; "
        f"{_gap(found)} than any other probabilities within these caps, whatever the level.",
        *([] if found.listed is None else [_list_line(found, found.listed, level)]),
        f"What you may promise: only these {counted(found.support, 'pair is', 'pairs are')} ever assigned, each with "
        "just its probability, and none with more than its cap.",
    ]


def _gap(found: Randomised) -> str:
    what = "in this gain" if found.perturbation else "in affinity"
    return f"at most {100 * found.gap:.2g} % less {what}" if found.gap > 0 else f"no less {what}"


def _list_line(found: Randomised, listed: Listed, level: str) -> str:
    lost = 100.0 * listed.lost / found.best if found.best else 0.0
    aim, whole = aim_named(level), counted(listed.count, "assignment")
    asked = "obey all rules" if aim.level is None else f"are {aim.name}"
    return (
        f"One of {whole} is drawn, each as likely as any other: {listed.at_level:.0%} {asked} as rounded and "
        f"{listed.mended:.0%} after mending, which changes {listed.changed:.1f} pairs of each and costs {lost:.3f} % "
        "of the affinity."
    )


def why_missed(missed: int, count: int, needed: int | None) -> str:
    """Explain a draw that misses what is asked for.

    Parameters
    ----------
    missed, count
        How many of the assignments to draw from do so under the caps, and how many there are.
    needed
        How many of them hold some pair at most where all reach it; None where that is not known.
    """
    end = (
        "raise caps, demands or loads"
        if needed is None
        else f"all are found with probabilities up to {needed / count:g}"
    )
    whole = counted(count, "assignment")
    return f"Under these caps {missed} of {whole} to draw from miss the level, this one among them; {end}."


def why_too_few(count: int) -> str:
    """Explain caps that leave probabilities, but none in whole shares of the assignments to draw from."""
    whole = counted(count, "assignment")
    return (
        f"As one of {whole} is drawn, caps are rounded down to multiples of 1/{count}, and leave no probabilities "
        "then. Raise --draws or --max-probability."
    )


def why_capped(problem: Problem, most: FloatArray, units: int) -> str:
    """Explain caps that leave no probabilities: papers whose candidates' caps sum to too little, or a cut.

    Parameters
    ----------
    problem
        The problem.
    most
        Cap of each pair, shape (P,).
    units
        Units of one whole review, of which caps are multiples.
    """
    free = ~problem.given
    demand, (load, least) = problem.open_demand(), problem.open_loads()
    given = np.bincount(problem.item[free], most[free], problem.n_items)
    short = np.flatnonzero(given < demand - 1e-9)
    if short.size:
        return _one_paper(problem, most, int(short[0]), short.size - 1)
    capacity = np.rint(most[free] * units).astype(np.int64)
    found = shortfall(problem.item[free], problem.reviewer[free], demand * units, load * units, least * units, capacity)
    if found is None:
        rules = ", ".join(problem.ruled.words())
        return f"Demands and loads can be met with these probabilities, but not with {rules} on each paper. {_REMEDY}"
    return _cut(problem, found, units)


def _one_paper(problem: Problem, most: FloatArray, item: int, others: int) -> str:
    """Say that the caps of one paper's candidates sum to less than it needs."""
    here = (problem.item == item) & ~problem.given
    total, need = float(most[here].sum()), int(problem.open_demand()[item])
    more = f" ({counted(others, 'more paper')} likewise)" if others else ""
    return (
        f"{papers(np.array([item]))} needs {counted(need, 'review')}, and the probabilities of its "
        f"{counted(int(here.sum()), 'candidate')} may sum to {total:g} at most: {need} > {total:g}{more}. {_REMEDY}"
    )


def _cut(problem: Problem, found: Shortfall, units: int) -> str:
    """Say which set needs more than its caps and loads give."""
    needed, supply, pairs = found.needed / units, found.supply / units, found.pairs / units
    rest = f", and the probabilities of other pairs with them sum to {pairs:g} at most" if found.pairs else ""
    if not found.by_items:
        return (
            f"{people(found.reviewers)} must get {needed:g} reviews; {papers(found.items)} can give "
            f"them {supply:g}{rest}: {needed:g} > {supply + pairs:g}. Lower min_load, or raise --max-probability."
        )
    who = people(found.reviewers)
    loads = each(problem.open_loads()[0][found.reviewers], "load", of="of") if found.reviewers.size else "load 0"
    return (
        f"{papers(found.items)} {noun(found.items.size, 'needs', 'need')} {needed:g} reviews; {who} with "
        f"{loads} can give {supply:g}{rest}: {needed:g} > {supply + pairs:g}. {_REMEDY}"
    )
