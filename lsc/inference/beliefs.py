"""What is believed once the scores are known: qualities, reviewers and hyperparameters, as plain arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lsc.inference.model import Extent
from reviewgraph import results
from reviewgraph.labels import IntArray
from reviewgraph.reviews import FloatArray

#: Probability that the intervals of reviewers hold.
LEVEL = 0.9


class Status(results.Status):
    """How the inference ended; ``.text`` says it in words."""

    CONVERGED = "converged", "messages and hyperparameters have settled"
    NO_SIGNAL = (
        "no_signal",
        "the scores show no differences between reviewers: qualities are averages, drawn to the middle",
    )
    NO_SCORES = "no_scores", "there are no scores: nothing is known of any paper"
    SWEEPS_EXHAUSTED = (
        "sweeps_exhausted",
        "the last sweep still moved qualities; some may be off by more than their errors",
    )


class Quantity(NamedTuple):
    """A property of each reviewer, shapes (M,): posterior mean and the ends of the central 90 % interval."""

    mean: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True, eq=False)
class Reviewers:
    """What is believed of each reviewer; NaN for a reviewer without scores.

    Parameters
    ----------
    severity
        How much *lower* she scores a middling paper than a typical reviewer, in points of the scores.
    stretch
        Her slope over that of a typical reviewer: 2 spreads papers twice as far apart.
    noise
        Standard deviation of her scores about what quality explains, in points of the scores, rounding included.
    orders
        Shape (M,): probability that her scores say only in which order she puts papers.
    """

    severity: Quantity
    stretch: Quantity
    noise: Quantity
    orders: FloatArray


class Hyperparameter(NamedTuple):
    """A number that all reviewers share: its estimate and, where the curvature gives one, its standard error."""

    value: float
    standard_error: float = np.nan


class Fitted(NamedTuple):
    """Where the inference ended, so that whoever did not run it can see that nothing moves.

    Without signal it is the state of the model that did not explain the scores better than averages.

    Parameters
    ----------
    messages
        Shape (4, E): precision and shift of each review, and those of likeness.
    nodes
        Shape (8, M): mean and standard deviation of each reviewer's log slope and of the log of their own noise, and
        the same given fresh papers.
    theta, extent
        Hyperparameters, shape (P,), and what of the model was tried last.
    """

    messages: FloatArray
    nodes: FloatArray
    theta: FloatArray
    extent: Extent


@dataclass(frozen=True, eq=False)
class Beliefs:
    """What is believed of items, of reviewers, and of all of them.

    Internally qualities have mean 0 and mean square about 1; ``location + scale * mean`` is the score that a typical
    reviewer gives.

    Parameters
    ----------
    mean, variance
        Shape (N,), internal scale; NaN for an item of which no score or reference tells anything. The variance is that
        of messages, one paper at a time.
    loops
        Shape (N,): factor, at least 1, by which doubt that papers share raises the variance
        (:mod:`lsc.inference.joint`).
    bend
        Shape (N,), internal scale: added variance of a paper's place on the scale from a bend that all reviewers might
        share, which no score can show. It moves all papers together and leaves their order alone: it belongs into the
        interval of one paper, not into differences and probabilities of being among the best.
    location, scale
        From the internal scale to that of a typical reviewer.
    prior
        Precision of the prior of each item: ``1 - kappa``.
    kappa
        Assortment: 0 where papers fall to reviewers at random, towards 1 where like papers share reviewers.
    slope, offset, noise_variance, slope_variance
        Shape (M,), internal scale: posterior means of each reviewer's a, b and s^2, and variance of a; as
        :mod:`lsc.inference.joint` needs them.
    reviewers
        The same for people, with intervals.
    hyperparameters
        By name: see :mod:`lsc.inference.model`.
    theta
        The same as the vector that :mod:`lsc.inference.model` describes; empty without signal.
    extent
        What of the model was kept: own noise, reviewers who only order, assortment.
    evidence, null_evidence
        Log probability of the (standardised) scores under the model and under the model without reviewer effects.
    status, sweeps
        How the inference ended, and passes over the reviews.
    """

    mean: FloatArray
    variance: FloatArray
    loops: FloatArray
    bend: FloatArray
    location: float
    scale: float
    prior: float
    kappa: float
    slope: FloatArray
    offset: FloatArray
    noise_variance: FloatArray
    slope_variance: FloatArray
    reviewers: Reviewers
    hyperparameters: Mapping[str, Hyperparameter]
    theta: FloatArray
    extent: Extent
    evidence: float
    null_evidence: float
    status: Status
    sweeps: int

    @property
    def quality(self) -> FloatArray:
        """Shape (N,): posterior mean on the scale of a typical reviewer."""
        return self.location + self.scale * self.mean

    @property
    def standard_error(self) -> FloatArray:
        """Shape (N,): of a single paper's place on the scale of a typical reviewer, a common bend included."""
        return self.scale * np.sqrt(self.variance * self.loops + self.bend)

    @property
    def order_error(self) -> FloatArray:
        """Shape (N,): standard error without a common bend, for what depends on the order of papers only."""
        return self.scale * np.sqrt(self.variance * self.loops)

    @property
    def signal(self) -> bool:
        """Whether the scores show that reviewers differ."""
        return self.status not in (Status.NO_SIGNAL, Status.NO_SCORES)


@dataclass(frozen=True, eq=False)
class Posterior(Beliefs):
    """Beliefs with the parts they are made of, from :func:`lsc.inference.inferring.infer`.

    Every sum of parts is exact::

        variance_i = 1 / (prior_i + sum_r precision_r + sum_r likeness_precision_r + sum_q reference_precision_q)
        mean_i = variance_i * (sum_r shift_r + sum_r likeness_shift_r + sum_q reference_shift_q)

    r over the reviews of item i, q over its references. So a review moves its item by ``variance_i * shift_r``, has
    the weight ``variance_i * precision_r`` and by itself says ``shift_r / precision_r``.

    Parameters
    ----------
    reviewer, item
        Shape (E,): codes of the reviews, in the order of the input.
    precision, shift
        Shape (E,): natural parameters of what each review says of its item.
    likeness_precision, likeness_shift
        Shape (E,): what an item learns from the other items of each of its reviewers because like papers go to like
        reviewers; 0 throughout where ``kappa`` is 0.
    reference_item, reference_value, reference_precision, reference_shift
        Shape (R,): the same for references, and their values as given.
    fitted
        Where the inference ended, before any reference was heard.
    """

    reviewer: IntArray
    item: IntArray
    precision: FloatArray
    shift: FloatArray
    likeness_precision: FloatArray
    likeness_shift: FloatArray
    reference_item: IntArray
    reference_value: FloatArray
    reference_precision: FloatArray
    reference_shift: FloatArray
    fitted: Fitted
