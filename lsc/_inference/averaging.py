"""What a posterior says, averaged over the members of a mixture (:mod:`lsc._inference.mixture`).

Functions of the same names in other modules are for one model; those here take any posterior.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from lsc._inference import beliefs, predicting, validation
from lsc._inference.beliefs import Difference, Member, Posterior
from lsc._inference.mixture import is_of_numbers, straightened
from lsc._inference.predicting import Drawn, Law, LeftOut, Mixture, joined
from lsc._inference.validation import Misfit
from reviewgraph._base import FloatArray, IntArray


def members_of(posterior: Posterior) -> tuple[Member, ...]:
    """Return the members of a mixture; a posterior of one model is its own only member."""
    return posterior.members or (Member(1.0, posterior),)


def predictors(posterior: Posterior) -> tuple[Member, ...]:
    """Return the members that predict scores, with weights that sum to 1.

    That of levels, if there is one: it knows which scores there are. Otherwise those that model the scores as they are;
    all members, if there is none.
    """
    members = members_of(posterior)
    chosen = [member for member in members if member.posterior.extent.ordinal]
    chosen = chosen or [member for member in members if is_of_numbers(member)] or list(members)
    total = sum(member.weight for member in chosen)
    return tuple(member._replace(weight=member.weight / total) for member in chosen)


def has_levels(posterior: Posterior) -> bool:
    """Whether scores are modelled as levels, by the posterior or by a member of it."""
    return any(member.posterior.extent.ordinal for member in members_of(posterior))


def scores_of(member: Member, score: FloatArray) -> FloatArray:
    """Return the scores that a member models, from those of the table, shapes (E,)."""
    if not member.straightened:
        return score
    used, value = member.posterior.precision > 0, score.copy()
    value[used] = straightened(score[used])
    return value


def draws(posterior: Posterior, n: int, rng: np.random.Generator) -> FloatArray:
    """Draw qualities jointly, shape (n, N): of each draw first the model, then the qualities."""
    parts, order = _draws_by_member(posterior, n, rng)
    return np.concatenate([quality for _, quality in parts])[order]


def joint_draws(
    posterior: Posterior, score: FloatArray, weight: FloatArray | None, n: int, rng: np.random.Generator
) -> tuple[FloatArray, Drawn]:
    """Draw qualities, shape (n, N), and reviewers, shapes (n, M), jointly: first the model, then both.

    The qualities are those of :func:`draws` for an equal generator. ``score`` are the scores of the table.
    """
    parts, order = _draws_by_member(posterior, n, rng)
    people = [
        predicting.reviewer_draws(member.posterior, scores_of(member, score), weight, quality, rng)
        for member, quality in parts
    ]
    quality = np.concatenate([quality for _, quality in parts])
    return quality[order], Drawn(*(np.concatenate(values)[order] for values in zip(*people, strict=True)))


def _draws_by_member(
    posterior: Posterior, n: int, rng: np.random.Generator
) -> tuple[list[tuple[Member, FloatArray]], IntArray]:
    """Draw qualities, shapes (count, N), of each member of a mixture; then the random order of all draws."""
    members = members_of(posterior)
    if len(members) == 1:
        return [(members[0], beliefs.draws(posterior, n, rng))], np.arange(n)
    counts = rng.multinomial(n, [member.weight for member in members]).tolist()
    parts = [
        (member, beliefs.draws(member.posterior, count, rng)) for member, count in zip(members, counts, strict=True)
    ]
    return parts, rng.permutation(n)


def difference(posterior: Posterior, first: int, second: int) -> Difference:
    """Return the difference of two qualities with its standard error; models that disagree add to it."""
    members = members_of(posterior)
    each = [beliefs.difference(member.posterior, first, second) for member in members]
    if len(each) == 1:
        return each[0]
    weight = [member.weight for member in members]
    mean = sum(w * one.mean for w, one in zip(weight, each, strict=True))
    square = sum(w * (one.standard_error**2 + (one.mean - mean) ** 2) for w, one in zip(weight, each, strict=True))
    return Difference(float(mean), float(np.sqrt(square)))


def leave_one_out(posterior: Posterior, score: FloatArray, weight: FloatArray | None = None) -> LeftOut:
    """Predict each score from all others, in standardised units, by the members that predict scores."""
    members = predictors(posterior)
    each = [predicting.leave_one_out(member.posterior, score, weight) for member in members]
    if len(each) == 1:
        return each[0]
    centre, sd, upper, lower, typical, square, share = (_average(values, members) for values in zip(*each, strict=True))
    # Members that disagree add to the variance.
    apart = [(one.mean - centre) ** 2 for one in each]
    sd, typical = (
        np.sqrt(_average([getattr(one, name) ** 2 + off for one, off in zip(each, apart, strict=True)], members))
        for name in ("sd", "typical_sd")
    )
    return LeftOut(centre, sd, upper, lower, typical, square, share)


def spread_expected(posterior: Posterior, score: FloatArray, weight: FloatArray | None = None) -> FloatArray:
    """Return the standard deviation expected of new scores of each reviewer and its range, shapes (3, M)."""
    members = predictors(posterior)
    each = [predicting.predicted_spread(member.posterior, score, weight) for member in members]
    return each[0] if len(each) == 1 else np.sqrt(_average([one**2 for one in each], members))


def new_scores(
    posterior: Posterior, score: FloatArray, weight: FloatArray | None, quality: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Draw new scores of all reviews given joint draws of the qualities, shapes (D, E), from a random member each."""
    members = predictors(posterior)
    if len(members) == 1:
        return predicting.replicated(members[0].posterior, score, weight, quality, rng)
    kind = rng.choice(len(members), len(quality), p=[member.weight for member in members])
    sample = np.empty((len(quality), score.size))
    for number, member in enumerate(members):
        rows = np.flatnonzero(kind == number)
        sample[rows] = predicting.replicated(member.posterior, score, weight, quality[rows], rng)
    return sample


def misfit_of(posterior: Posterior, score: FloatArray, weight: FloatArray | None = None) -> Misfit:
    """Compare each reviewer with all others: statistics and p-values averaged over members."""
    members = members_of(posterior)
    each = [validation.misfit_of(member.posterior, scores_of(member, score), weight) for member in members]
    return Misfit(*(_average(column, members) for column in zip(*each, strict=True))) if len(each) > 1 else each[0]


def _average(values: Iterable[FloatArray], members: Sequence[Member]) -> FloatArray:
    return np.asarray(sum(member.weight * value for member, value in zip(members, values, strict=True)))


def predictive(
    posterior: Posterior, score: FloatArray, weight: FloatArray | None, who: IntArray, what: IntArray
) -> Law:
    """Return the distributions of the scores of pairs of codes, shapes (P,), in points.

    Code M is a new reviewer, and code N a new item, drawn from the prior N(0, 1). Qualities are those of the mixture,
    reviewers those of the members that predict scores.
    """
    members = predictors(posterior)
    qualities = np.append(posterior.mean, 0.0), np.append(posterior.variance * posterior.loops, 1.0)
    laws = [predicting.predictive(member.posterior, score, weight, who, what, qualities) for member in members]
    # A member of levels predicts alone; laws of numbers are mixtures of normal distributions, and so is their mixture.
    parts = [
        replace(law, share=member.weight * law.share)
        for member, law in zip(members, laws, strict=True)
        if isinstance(law, Mixture)
    ]
    return joined(*parts) if parts else laws[0]


# Ranks, from joint draws.


def rank_counts(draws: FloatArray, group: IntArray, n_ranks: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return shares of ranks, shape (N, n_ranks), and mean and standard deviation of the rank of each item, (N,).

    ``draws`` (D, N) are joint draws, NaN for items without a score; 1 is the best rank within a ``group``.

    >>> rank_counts(np.array([[1.0, 2.0, 9.0], [3.0, 2.0, 9.0]]), np.array([1, 1, 2]), 2)[0].tolist()
    [[0.5, 0.5], [0.5, 0.5], [1.0, 0.0]]
    """
    size = draws.shape[1]
    share, total, square = np.zeros((size, n_ranks)), np.zeros(size), np.zeros(size)
    for number in np.unique(group).tolist():
        items = np.flatnonzero((group == number) & np.isfinite(draws[:1]).any(axis=0))
        order = np.argsort(-draws[:, items], axis=1, kind="stable")
        places = np.arange(items.size)
        for row in order:
            ranked, shown = items[row], min(items.size, n_ranks)
            share[ranked[:shown], places[:shown]] += 1.0
            total[ranked] += places + 1.0
            square[ranked] += (places + 1.0) ** 2
    known, count = np.isfinite(draws[:1]).any(axis=0), max(len(draws), 1)
    mean = total / count
    spread = np.sqrt(np.maximum(square / count - mean**2, 0.0))
    return share / count, np.where(known, mean, np.nan), np.where(known, spread, np.nan)
