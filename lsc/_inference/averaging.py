"""What a posterior says, averaged over the members of a mixture (:mod:`lsc._inference.mixture`).

Functions of the same names in other modules are for one model; those here take any posterior.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from lsc._inference import beliefs, predicting, validation
from lsc._inference.beliefs import Difference, Member, Posterior
from lsc._inference.mixture import is_of_numbers, straightened
from lsc._inference.predicting import LeftOut, Mixture, of_reviewers
from lsc._inference.validation import Misfit
from reviewgraph._base import FloatArray, IntArray


def members_of(posterior: Posterior) -> tuple[Member, ...]:
    """Return the members of a mixture; a posterior of one model is its own only member."""
    return posterior.members or (Member(1.0, posterior),)


def of_numbers(posterior: Posterior) -> tuple[Member, ...]:
    """Return the members that model the scores as they are, with weights that sum to 1: they predict scores.

    All members, if the leading one models them otherwise.
    """
    members = tuple(each for each in members_of(posterior) if is_of_numbers(each))
    total = sum(member.weight for member in members)
    return tuple(member._replace(weight=member.weight / total) for member in members) or members_of(posterior)


def scores_of(member: Member, score: FloatArray) -> FloatArray:
    """Return the scores that a member models, from those of the table, shapes (E,)."""
    if not member.straightened:
        return score
    used, value = member.posterior.precision > 0, score.copy()
    value[used] = straightened(score[used])
    return value


def draws(posterior: Posterior, n: int, rng: np.random.Generator) -> FloatArray:
    """Draw qualities jointly, shape (n, N): of each draw first the model, then the qualities."""
    members = members_of(posterior)
    if len(members) == 1:
        return beliefs.draws(posterior, n, rng)
    counts = rng.multinomial(n, [member.weight for member in members]).tolist()
    drawn = [
        beliefs.draws(member.posterior, count, rng) for member, count in zip(members, counts, strict=True) if count
    ]
    sample = np.concatenate([*drawn, np.empty((0, posterior.mean.size))])
    return np.asarray(sample[rng.permutation(n)])


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
    """Predict each score from all others, in standardised units, by the members that model numbers."""
    members = of_numbers(posterior)
    each = [predicting.leave_one_out(member.posterior, score, weight) for member in members]
    if len(each) == 1:
        return each[0]
    share = [member.weight for member in members]

    def mean(value: Callable[[LeftOut], FloatArray]) -> FloatArray:
        return np.asarray(sum(w * value(one) for w, one in zip(share, each, strict=True)))

    centre = mean(lambda one: one.mean)
    sd, typical = (
        np.sqrt(mean(lambda one, name=name: getattr(one, name) ** 2 + (one.mean - centre) ** 2))  # type: ignore[misc]
        for name in ("sd", "typical_sd")
    )
    return LeftOut(centre, sd, mean(lambda one: one.probability), typical, mean(lambda one: one.share))


def spread_expected(posterior: Posterior, score: FloatArray, weight: FloatArray | None = None) -> FloatArray:
    """Return the standard deviation expected of new scores of each reviewer and its freedom, shapes (2, M)."""
    members = of_numbers(posterior)
    each = [predicting.predicted_spread(member.posterior, score, weight) for member in members]
    if len(each) == 1:
        return each[0]
    # Mean and variance of the sample variance, over members.
    share = [member.weight for member in members]
    square = sum(w * one[0] ** 2 for w, one in zip(share, each, strict=True))
    second = sum(w * one[0] ** 4 * (1 + 2 / one[1]) for w, one in zip(share, each, strict=True))
    return np.stack([np.sqrt(square), 2 * square**2 / (second - square**2)])


def new_scores(
    posterior: Posterior, score: FloatArray, weight: FloatArray | None, quality: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Draw new scores of all reviews given joint draws of the qualities, shapes (D, E), from a random member each."""
    members = of_numbers(posterior)
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


def scores_given(
    posterior: Posterior, score: FloatArray, weight: FloatArray | None, codes: tuple[IntArray, IntArray]
) -> Mixture:
    """Predict the standardised scores of pairs of reviewers and items given by code.

    Qualities are those of the mixture, reviewers those of the members that model numbers; a reviewer of code M is new.
    The nodes of all members are the components, shapes (n, G).
    """
    who, what = codes
    # Reviewers are integrated once, whatever the number of pairs.
    people, place = np.unique(who, return_inverse=True)
    parts = []
    for member in of_numbers(posterior):
        population = of_reviewers(member.posterior, score, people, weight)
        pairs = type(population)(*(value[:, place] for value in population))
        given = pairs.given(posterior.mean[what], posterior.variance[what] * posterior.loops[what])
        parts.append((member.weight * given.share, given.centre, given.spread))
    return Mixture(*(np.concatenate(values, axis=-1) for values in zip(*parts, strict=True)))
