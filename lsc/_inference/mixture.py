"""A mixture of models: what their posteriors say together, weighted by tempered evidence.

Members differ in structure: common noise, own noise of each reviewer, ordinal reviewers, scores as levels, and normal
scores, which straighten a scale that is curved or ends. Evidence tells them apart far too surely, since all of them are
wrong in ways that they share; so weights are proportional to ``exp(evidence / TEMPERATURE)``. All internal scales have
qualities of mean 0 and mean square 1, so with the weights w, means m and variances v of an item

::

    mean = sum_k w_k m_k,    variance = sum_k w_k (v_k + (m_k - mean)^2)

and a review contributes ``sum_k w_k v_k shift_kr``: the contributions sum to the mean as they do in each member.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from lsc._inference.beliefs import InferenceStatus, Member, Posterior, Quantity, Reviewers
from lsc._inference.predicting import Mixture as Normals
from lsc._inference.states import Messages
from reviewgraph._base import FloatArray, order_of

#: Nats of evidence by which the weights of two members differ by a factor of e.
TEMPERATURE = 40.0
#: Members of a lower weight are left out.
LEAST_WEIGHT = 0.02
#: Half the width of a central 90 % interval in standard deviations, and the probability of either tail.
WIDTH, TAIL = 1.6448536269514722, 0.05
#: Least standard deviation of a normal component.
LEAST_SPREAD = 1e-12


def tempered(evidence: Sequence[float]) -> FloatArray:
    """Return the weights of members, which sum to 1; those below :data:`LEAST_WEIGHT` are 0.

    >>> tempered([0.0, 0.0, -2000.0]).tolist()
    [0.5, 0.5, 0.0]
    """
    value = np.asarray(evidence, np.float64)
    weight = np.exp((value - value.max()) / TEMPERATURE)
    weight /= weight.sum()
    weight[weight < LEAST_WEIGHT] = 0.0
    return np.asarray(weight / weight.sum())


def straightened(score: FloatArray) -> FloatArray:
    """Replace scores by normal scores of their ranks, ties at their mean rank, with the same mean and spread.

    >>> straightened(np.array([0.0, 1.0, 1.0, 9.0])).round(2).tolist()
    [-2.39, 2.75, 2.75, 7.89]
    """
    from scipy.special import ndtri

    ordered = np.sort(score)
    rank = 0.5 * (np.searchsorted(ordered, score, "left") + np.searchsorted(ordered, score, "right"))
    normal = ndtri(rank / score.size)
    spread = float(normal.std())
    if not spread > 0:
        return score
    return np.asarray(score.mean() + score.std() * (normal - normal.mean()) / spread)


def is_of_numbers(member: Member) -> bool:
    """Whether a member models the scores as they are: not their normal scores, and not levels."""
    return not member.straightened and not member.posterior.extent.ordinal


def combine(members: Sequence[Member]) -> Posterior:
    """Return the mixture as one posterior, whose parts sum exactly; a single member is its own mixture.

    What has no mean over models (hyperparameters, extensions, state, evidence) is that of the member of the largest
    weight among those that model the scores as they are, which comes first. The caller adds what a common bend adds.
    """
    heaviest = order_of(-np.array([member.weight for member in members])).tolist()
    members = sorted((members[place] for place in heaviest), key=lambda member: not is_of_numbers(member))
    lead = members[0].posterior
    if len(members) == 1:
        return lead
    weight = np.array([member.weight for member in members])

    def mean(values: Iterable[Any]) -> Any:
        """Average over members; NaN where one is."""
        return sum(w * value for w, value in zip(weight, values, strict=True))

    location, scale = (float(mean(getattr(member.posterior, name) for member in members)) for name in _LINE)
    members = [m._replace(posterior=replace(m.posterior, location=location, scale=scale)) for m in members]
    each = [member.posterior for member in members]
    centre = mean(one.mean for one in each)
    apart = mean((one.mean - centre) ** 2 for one in each)
    variance = mean(one.variance for one in each) + apart
    raised = mean(one.variance * one.loops for one in each) + apart

    def shares(name: str, place: str) -> FloatArray:
        """Sites of the mixture: those of the members, each times the variance of the item there."""
        where = getattr(lead, place)
        return np.asarray(mean(one.variance[where] * getattr(one, name) for one in each) / variance[where])

    sites: dict[str, Any] = {name: np.nan_to_num(shares(name, "item")) for name in Messages._fields}
    anchors: dict[str, Any] = {
        name: shares(name, "reference_item") for name in ("reference_precision", "reference_shift")
    }
    averaged: dict[str, Any] = {name: mean(getattr(one, name) for one in each) for name in _AVERAGED}
    converged = all(one.status is InferenceStatus.CONVERGED for one in each)
    return replace(
        lead,
        mean=centre,
        variance=variance,
        loops=np.maximum(raised / variance, 1.0),
        location=location,
        scale=scale,
        prior=mean(one.variance * one.prior for one in each) / variance,
        kappa=max(one.kappa for one in each),
        reviewers=_reviewers([one.reviewers for one in each], weight),
        status=InferenceStatus.CONVERGED if converged else InferenceStatus.SWEEPS_EXHAUSTED,
        sweeps=sum(one.sweeps for one in each),
        off=max(one.off for one in each),
        members=tuple(members),
        **sites,
        **anchors,
        **averaged,
    )


#: What is averaged over members: the line from the internal scale to points, and parameters of reviewers.
_LINE = ("location", "scale")
_AVERAGED = ("slope", "offset", "noise_variance", "slope_variance")


def _reviewers(each: Sequence[Reviewers], weight: FloatArray) -> Reviewers:
    """Mean and central 90 % interval of each property under the mixture."""

    def quantity(name: str, *, log: bool) -> Quantity:
        values = [getattr(one, name) for one in each]
        mean = sum(w * value.mean for w, value in zip(weight, values, strict=True))
        low, high = (np.stack([getattr(value, end) for value in values], axis=-1) for end in ("low", "high"))
        if log:
            low, high = np.log(low), np.log(high)
        spread = np.maximum(0.5 * (high - low) / WIDTH, LEAST_SPREAD)
        normals = Normals(np.broadcast_to(weight, low.shape), 0.5 * (low + high), spread)
        ends = [np.where(np.isfinite(mean), normals.quantile(tail), np.nan) for tail in (TAIL, 1.0 - TAIL)]
        return Quantity(np.asarray(mean), *(np.exp(end) if log else end for end in ends))

    orders = sum(w * one.orders for w, one in zip(weight, each, strict=True))
    return Reviewers(
        quantity("severity", log=False),
        quantity("stretch", log=True),
        quantity("noise", log=True),
        np.asarray(orders),
    )
