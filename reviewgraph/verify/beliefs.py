"""What the posterior says beside its qualities, held to what one pass over the answer and the scores can tell."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from reviewgraph.arrays import FloatArray
    from reviewgraph.verify.answers import Answer
    from reviewgraph.verify.findings import Findings
    from reviewgraph.verify.tables import Table
    from reviewgraph.verify.wanted import Wanted

#: Sums of printed numbers; probabilities by standard errors that a common bend may have raised; halvings.
SUMS, CUT, HALVINGS = 1e-6, 1e-3, 60


def check_direction(findings: Findings, scored: Table, quality: Mapping[str, float]) -> None:
    """Refute qualities that go against the scores of reviewers and against averages, both on the whole."""
    within, by_item = 0.0, dict[str, list[float]]()
    for reviewer, items in scored.rows().items():
        own = {item: scored.score[reviewer, item] or 0.0 for item in items if item in quality}
        within += _together((value, quality[item]) for item, value in own.items())
        for item, value in own.items():
            by_item.setdefault(item, []).append(value)
    across = _together((math.fsum(values) / len(values), quality[item]) for item, values in by_item.items())
    words = "quality: the ranking goes against the scores of each reviewer and against the averages, on the whole"
    findings.expect(not (within < 0 and across < 0), words)
    findings.check("that the ranking goes with the scores on the whole")


def _together(pairs: Iterable[tuple[float, float]]) -> float:
    """Return by how much pairs of numbers rise together: the sum of products of what they are beyond their means."""
    listed = list(pairs)
    means = [math.fsum(side) / max(len(listed), 1) for side in zip(*listed, strict=True)]
    return math.fsum((one - means[0]) * (other - means[1]) for one, other in listed)


def check_lottery(
    findings: Findings, answer: Answer, ranked: list[str], chance: Mapping[str, float], count: int, wanted: Wanted
) -> None:
    """Draw the lots once more: whom, and with which probabilities; ``chance`` is in the order of the table."""
    lottery = answer.found.get("lottery")
    if not findings.expect((lottery is None) == (wanted.lottery is None), "lottery: there is one too many, or none"):
        return
    if lottery is None or wanted.lottery is None:
        return
    findings.same("lottery.seed", answer.get("seed", "a whole number", within=lottery), wanted.lottery)
    share = lots(list(chance.values()), count, wanted.error_rate)
    found = {item: value for item, value in zip(chance, share, strict=True) if value > 0}
    said = dict(answer.rows("probabilities", {"item": "a name", "probability": "a number"}, within=lottery))
    if findings.same_rows("lottery.probabilities", said, found):
        for item, value in found.items():
            near = abs(said[item] - value) <= SUMS
            findings.expect(near, f"lottery.probabilities, {item}: says {said[item]:.9g}, found {value:.9g}")
    drawn = {item for item, taken in zip(chance, draw(share, wanted.lottery), strict=True) if taken}
    findings.same("lottery.drawn", answer.names("drawn", within=lottery), [item for item in ranked if item in drawn])
    findings.check("lottery: its probabilities, by the chances, and its papers, drawn once more")


def lots(chance: list[float], count: int, error_rate: float) -> list[float]:
    """Return the probability with which each paper is drawn: the part of its chance between the thresholds, bent.

    >>> [round(value, 3) for value in lots([0.99, 0.6, 0.6, 0.01], 2, 0.1)]
    [1.0, 0.5, 0.5, 0.0]
    """
    part = [min(max((value - error_rate) / (1 - 2 * error_rate), 0.0), 1.0) for value in chance]
    if sum(value > 0 for value in part) < count or sum(value == 1 for value in part) > count:
        part = [min(max(value, 0.0), 1 - 1e-9) for value in chance]
    low, high = -10 * math.log(2), 10 * math.log(2)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if sum(value ** math.exp(middle) for value in part) > count else (low, middle)
    found = [value ** math.exp(low) for value in part]
    free = [place for place, value in enumerate(found) if 0 < value < 1]
    left, whole = count - sum(value for value in found if not 0 < value < 1), sum(found[place] for place in free)
    for place in free:
        found[place] = min(max(found[place] * left / whole, 0.0), 1.0)
    return found


def draw(share: list[float], seed: int) -> list[bool]:
    """Draw papers with given probabilities by the ordered pivotal method, in an order drawn once.

    >>> draw([1.0, 0.5, 0.5, 0.0], 0)
    [True, True, False, False]
    """
    rng = np.random.default_rng(seed)
    order, luck, share = rng.permutation(len(share)).tolist(), rng.random(len(share)).tolist(), list(share)
    holder = None
    for turn, other in enumerate(order):
        if not 0 < share[other] < 1:
            continue
        if holder is None:
            holder = other
            continue
        a, b = share[holder], share[other]
        full = a + b >= 1
        first = luck[turn] < ((1 - b) / (2 - a - b) if full else a / (a + b))
        # One of both has a whole place, or none; the other holds what is left.
        winner, loser = (holder, other) if first else (other, holder)
        share[winner], share[loser] = (1.0, a + b - 1) if full else (a + b, 0.0)
        holder = loser if full else winner
    return [value > 0.5 for value in share]


def check_probabilities(
    findings: Findings,
    known: Mapping[str, tuple[float, float]],
    chance: Mapping[str, float],
    count: int,
    slack: float = CUT,
) -> None:
    """Hold probabilities of being among the best to means and errors: all are those of passing one common cut.

    ``known`` holds the quality, the higher the better, and the standard error of each paper.
    """
    if not 0 < count < len(known):
        certain = float(count > 0)
        wrong = next((item for item in known if chance[item] != certain), None)
        findings.expect(wrong is None, f"{wrong}, probability: not {certain:g}, where all or none are selected")
        return
    names, (mean, error) = list(known), np.array(list(known.values())).T
    low, high = float(mean.min() - 10 * error.max()), float(mean.max() + 10 * error.max())
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if float(_passes(mean, error, middle).sum()) > count else (low, middle)
    found = _passes(mean, error, (low + high) / 2)
    off = np.abs(np.array([chance[item] for item in names]) - found)
    for place in np.flatnonzero((off > slack) & (error > 0)).tolist():
        item = names[place]
        words = f"{item}, probability: says {chance[item]:.6g}, its quality and error give {found[place]:.6g}"
        findings.expect(False, words)
    findings.check("probabilities: those of passing one common cut, by qualities and errors")


def _passes(mean: FloatArray, error: FloatArray, cut: float) -> FloatArray:
    """Return the probability that each is above a cut."""
    from scipy.special import ndtr

    sure = error <= 0
    return np.asarray(np.where(sure, mean >= cut, ndtr((mean - cut) / np.where(sure, 1.0, error))))
