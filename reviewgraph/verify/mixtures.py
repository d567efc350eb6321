"""A mixture of models: weights by tempered evidence, and what follows from all members together.

Members model the scores, their normal scores, or levels; each has a state of its own. Means, messages and variances of
the mixture are sums over members.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from reviewgraph._base.arrays import snapped
from reviewgraph.verify.passes import swept
from reviewgraph.verify.scores import LEAST_NOISE, fit_averages

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from reviewgraph._base.arrays import BoolArray, FloatArray, IntArray
    from reviewgraph.verify.answers import Findings
    from reviewgraph.verify.passes import Model, PrintedState
    from reviewgraph.verify.scores import Problem, Scores

#: Nats of evidence by which weights differ by a factor of e, the least weight, and members that may have been left out.
TEMPERATURE, LEAST_WEIGHT, LEFT_OUT = 40.0, 0.02, 3
#: Relative difference allowed for sums in another order.
SUMS = 1e-8


class Member(NamedTuple):
    """A member of a mixture: its weight, its state and scores, what follows from them, and its log evidence."""

    weight: float
    read: PrintedState
    problem: Problem
    implied: Any
    evidence: float


def straightened(problem: Problem) -> Problem:
    """Return the problem with normal scores of the ranks of its scores, ties at their mean rank, standardised."""
    from scipy.special import ndtri

    _, place, count = np.unique(problem.score, return_inverse=True, return_counts=True)
    normal = ndtri(((np.cumsum(count) - count / 2) / problem.score.size)[place])
    return problem._replace(score=(normal - normal.mean()) / (normal.std() or 1.0))


def check_weights(findings: Findings, members: list[Member]) -> None:
    """Compare weights with tempered evidences; levels have half, another likelihood as they are."""
    levels = np.array([member.read.levels for member in members])
    evidence = np.array([member.evidence for member in members])
    weight = np.where(levels, 0.0, np.exp((evidence - evidence[~levels].max()) / TEMPERATURE))
    weight /= weight.sum() * (1 + levels.any())
    weight[levels] = 0.5
    for member, actual in zip(members, weight, strict=True):
        # Members of a low weight are left out, so the others' add up to less.
        low, high = actual * (1 - LEFT_OUT * LEAST_WEIGHT), actual * (1 + LEFT_OUT * LEAST_WEIGHT)
        findings.expect(low <= member.weight <= high, f"{member.read.place}.weight: {actual:.6g} by the evidence")
    total = sum(member.weight for member in members)
    findings.near("model.weight: their sum", total, 1.0, SUMS)
    findings.check("model: the weights of its members, by their evidences")


def mixture_of(members: list[Member], criteria: float, error: FloatArray) -> Any:
    """Return what follows from a mixture: moments, messages and reviewers summed over its members."""
    weights, each = [member.weight for member in members], [member.implied for member in members]
    what, unit = members[0].problem.what, members[0].problem.unit

    def mean(values: Iterable[Any]) -> Any:
        return sum(weight * value for weight, value in zip(weights, values, strict=True))

    line = tuple(mean(one.line[part] for one in each) for part in (0, 1))
    centre = mean(one.mean for one in each)
    apart = mean((one.mean - centre) ** 2 for one in each)
    variance = mean(one.variance for one in each) + apart
    raised = (mean(one.variance * one.loops for one in each) + apart) / variance
    messages = mean(one.messages * one.variance[what] for one in each) / variance[what]
    anchors = each[0].references.copy()
    place = anchors[0].astype(int)
    anchors[2:4] = mean(one.references[2:4] * one.variance[place] for one in each) / variance[place]
    # Severities are in points: those of members whose unit differs count in theirs.
    severity = mean(
        member.problem.unit[1] * ((one.line[0] - member.problem.unit[0]) / member.problem.unit[1] - one.people[1])
        for member, one in zip(members, each, strict=True)
    )
    people = mean(one.people for one in each)
    people[1] = (line[0] - unit[0] - severity) / unit[1]
    prior = mean(one.variance * one.prior for one in each) / variance
    kappa, exact = max(one.kappa for one in each), all(one.exact for one in each)
    implied = each[0]._replace(
        mean=centre,
        variance=variance,
        loops=np.maximum(raised, 1.0),
        messages=messages,
        people=people,
        line=line,
        references=anchors,
        prior=prior,
        kappa=kappa,
        exact=exact,
    )
    if not exact:
        return implied._replace(loops=((error / line[1]) ** 2 - implied.bent()) / variance)
    return implied._replace(loops=implied.loops + criteria / (line[1] ** 2 * variance))


# The gain of the correction on held-out reviewers.

#: Folds of reviewers, predicted reviews after which no other fold begins, sweeps, and the least number of reviewers.
FOLDS, ENOUGH_REVIEWS, FOLD_SWEEPS, FEWEST = 5, 20_000, 8, 5


def gain(scores: Scores, members: Sequence[tuple[float, Problem, Model]]) -> dict[str, float] | None:
    """Predict the ranking of held-out reviewers, fold by fold, by qualities and by averages; None for too few.

    Qualities are averaged over members of a mixture: their weights, scores and models.
    """
    load = np.bincount(scores.problem.who, minlength=scores.problem.sizes[0])
    # Folds of reviewers of two reviews or more.
    several = np.flatnonzero(load > 1)
    fold = np.full(load.size, FOLDS)
    fold[several] = np.random.default_rng(0).permutation(several.size) % FOLDS
    parts: list[FloatArray] = []
    for number in range(FOLDS):
        # Predict the scores that a fold gave to papers which the others cover.
        held_out = fold[scores.who] == number
        covered = np.bincount(scores.what[~held_out], minlength=scores.problem.sizes[1]) > 0
        predicted = held_out & scores.kept & covered[scores.what]
        predicted &= (np.bincount(scores.who[predicted], minlength=load.size) > 1)[scores.who]
        if predicted.any():
            item = scores.what[predicted]
            quality = np.zeros(scores.problem.sizes[1])
            for weight, problem, model in members:
                others = problem.only(~held_out[scores.kept])
                quality += weight * swept(others._replace(references=0 * others.references), model, FOLD_SWEEPS)
            average = _averages(scores, ~held_out)
            parts.append(np.array([scores.who[predicted], scores.score[predicted], quality[item], average[item]]))
        if sum(part.shape[1] for part in parts) >= ENOUGH_REVIEWS:
            break
    who, *values = np.concatenate(parts, axis=1) if parts else np.empty((4, 0))
    # Squared errors of ranks, by reviewer.
    names, code = np.unique(who, return_inverse=True)
    if names.size < FEWEST:
        return None
    truth, corrected, averaged = (_ranks_within(value, code) for value in values)
    corrected, averaged = _squares(truth, corrected), _squares(truth, averaged)
    if not averaged.sum() > 0:
        return None
    relative = 1 - float(corrected.sum() / averaged.sum())
    # Standard error of the ratio, from the deviations of the reviewers.
    deviation = np.bincount(code, averaged - corrected - relative * averaged)
    variance = 2 * float((deviation**2).sum()) * deviation.size / (deviation.size - 1)
    return {
        "relative": relative,
        "standard_error": variance**0.5 / float(averaged.sum()),
        "error": float(np.sqrt(corrected.mean())),
        "average_error": float(np.sqrt(averaged.mean())),
        "reviews": corrected.size,
    }


def _averages(scores: Scores, kept: BoolArray) -> FloatArray:
    """Return averages over the reviews kept, shrunk towards their mean."""
    what, score, size = scores.what[kept], scores.score[kept], scores.problem.sizes[1]
    fit = fit_averages(what, score, LEAST_NOISE * max(float(scores.score.var()), LEAST_NOISE))
    ratio = fit.slope**2 / fit.noise
    part = ratio / (1 + ratio * np.bincount(what, minlength=size))
    return np.asarray(fit.mean + part * np.bincount(what, score - fit.mean, size))


def _ranks_within(value: FloatArray, code: IntArray) -> FloatArray:
    """Return fractional ranks among all values, ties at half, less the mean of each reviewer."""
    place, count = np.unique(snapped(value, float(value.std()) or 1.0), return_inverse=True, return_counts=True)[1:]
    rank = ((np.cumsum(count) - count / 2) / value.size)[place]
    return np.asarray(rank - (np.bincount(code, rank) / np.bincount(code))[code])


def _squares(truth: FloatArray, prediction: FloatArray) -> FloatArray:
    square = float(prediction @ prediction)
    slope = max(float(prediction @ truth) / square, 0.0) if square > 0 else 0.0
    return np.asarray((truth - slope * prediction) ** 2)
