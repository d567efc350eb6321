"""Reviewers of whom it is not known whether they use the scale or only put papers in order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lsc.inference.layout import Block
from lsc.inference.model import LOG_S_R, LOGIT_W
from lsc.inference.orders import order_step
from lsc.inference.scale_users import Cavity, Nodes, Step, step
from reviewgraph.reviews import FloatArray


class Mixed(NamedTuple):
    """A step as of :class:`lsc.inference.scale_users.Step`, with nodes as rows and two more entries.

    Parameters
    ----------
    mean, second, nodes, log_evidence, gradient
        As there.
    fresh
        Rows of the nodes given fresh papers.
    orders
        Shape (m,): probability that the reviewer only orders.
    """

    mean: FloatArray
    second: FloatArray
    nodes: FloatArray
    fresh: FloatArray
    log_evidence: FloatArray
    gradient: FloatArray
    orders: FloatArray


def mixed_step(
    block: Block,
    cavity: Cavity,
    uses: Step,
    nodes: Nodes,
    theta: FloatArray,
    factor: FloatArray,
    rounding: float,
    *,
    learn: bool = True,
) -> Mixed:
    """Mix the two kinds by their probabilities given the scores.

    Whoever only orders has the same distribution of scores as anyone, times the probability of the order over that
    of any order: a distribution of another shape would be preferred for its shape alone.

    Parameters
    ----------
    uses
        The step for reviewers who use the scale.
    nodes
        Nodes given fresh papers.
    learn
        Whether gradients are asked for.
    """
    ones = np.ones(block.shape)
    fresh = step(block, Cavity(0 * ones, ones), nodes, theta, factor, None, rounding, learn=learn, papers=False)
    order = order_step(block, cavity, float(np.exp(2 * theta[LOG_S_R])))
    share = 1 / (1 + np.exp(-theta[LOGIT_W]))
    scale = np.log1p(-share) + uses.log_evidence
    orders = np.log(share) + fresh.log_evidence + order.log_probability
    total = np.logaddexp(scale, orders)
    part = np.exp(orders - total)
    gradient = (1 - part) * uses.gradient + part * fresh.gradient
    gradient[LOGIT_W] = part - share
    gradient[LOG_S_R] = part * order.by_noise
    return Mixed(
        (1 - part) * uses.mean + part * order.mean,
        (1 - part) * uses.second + part * order.second,
        rows(uses.nodes),
        rows(fresh.nodes),
        total,
        gradient,
        part,
    )


def rows(nodes: Nodes) -> FloatArray:
    """Nodes as rows of the state: those of the slope, and of own noise where there is any."""
    return np.array(nodes[:2] if nodes.own_spread is None else nodes)
