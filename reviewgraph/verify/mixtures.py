"""A mixture of models: weights by tempered evidence, and what follows from all members together.

Members model the scores, their normal scores, or levels; each has a state of its own. Means, messages and variances of
the mixture are sums over members.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reviewgraph._base.arrays import FloatArray
    from reviewgraph.verify.answers import Findings
    from reviewgraph.verify.passes import PrintedState
    from reviewgraph.verify.scores import Problem

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
