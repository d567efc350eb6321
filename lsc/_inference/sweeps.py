"""Expectation propagation and the optimisation of its hyperparameters.

A sweep updates the messages of all reviewers in parallel, from the same state. Sweeps alternate with steps of the
hyperparameters (:func:`optimise`); extensions of the model are selected by log evidence (:func:`run_stages`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsc._inference.halves import Threads, add_messages, step_halves, subtract_means_by_halves
from lsc._inference.model import (
    GAMMA,
    LOG_OWN,
    LOG_S_R,
    LOG_TAU_LEFT,
    LOG_TAU_RIGHT,
    LOGIT_W,
    MU,
    RHO,
    SIZE,
    START,
    Block,
    Extent,
    Gradient,
    Layout,
    Track,
    ascend,
    initial_step,
    log_prior,
    rescaled,
)
from lsc._inference.scale_users import (
    MAX_ORDINAL_LOAD,
    MAX_SHIFT,
    MIN_ORDINAL_LOAD,
    MIN_PRECISION,
    SHIFT_PER_PRECISION,
    Cavity,
    Message,
    Nodes,
    message,
    mixed_step,
    rows,
    step,
)
from lsc._inference.states import (
    Gauge,
    ItemPosterior,
    Messages,
    Part,
    Problem,
    References,
    State,
    are_rankings,
    initial_state,
    is_zeros_view,
    item_posterior,
    parts_with_messages,
)
from reviewgraph._base import BoolArray, FloatArray, IntArray, reaches, snapped

if TYPE_CHECKING:
    import scipy.sparse


# Assortment: the Leroux prior, under which papers that share reviewers are similar; one Gaussian factor per reviewer.
#
# ::
#
#     x ~ N(0, K^-1),  K = (1 - kappa) I + kappa L / dbar,  L = sum_j (I - 11' / k_j)
#
# L acts on the papers of reviewer j; dbar is its mean diagonal. The factor exp(-c/2 sum_i (x_i - xbar)^2), c = kappa /
# dbar, is that of a latent centre z with each paper a measurement of it, of variance 1 / c.

#: Maximum number of items for exact eigenvalues; Lanczos steps above it, and the smaller number used for small kappa.
MAX_EXACT, STEPS, FEW_STEPS = 400, 20, 8
#: Maximum number of Rademacher probes, and sufficient number of probes times items.
PROBES, PROBE_BUDGET = 16, 2_000_000


class Likeness(NamedTuple):
    """Messages, shape (k, m), and log evidence, shape (m,), of the assortment factors of a block."""

    precision: FloatArray
    shift: FloatArray
    log_evidence: FloatArray


def likeness_step(block: Block, cavity: Cavity, strength: float) -> Likeness:
    """Messages of a factor to each paper, from the reviewer's other papers; ``strength`` is c = kappa / dbar."""
    weight = block.used / (cavity.variance + 1 / strength)
    total, weighted = weight.sum(axis=0), weight * cavity.mean
    total_pull = weighted.sum(axis=0)
    others, pull = total - weight, total_pull - weighted
    # A single paper has no others to be compared with.
    others = np.where((block.used > 0) & (block.load > 1), others, 0.0)
    precision = strength * others / (strength + others)
    shift = np.divide(precision * pull, others, out=np.zeros_like(pull), where=others > 0)
    removed = (block.used * np.log1p(strength * cavity.variance)).sum(axis=0)
    evidence = 0.5 * (np.log(strength * block.load / total) - removed)
    evidence -= 0.5 * ((weighted * cavity.mean).sum(axis=0) - total_pull**2 / total)
    return Likeness(precision, shift, evidence)


class Spectrum(NamedTuple):
    """Eigenvalues of L / dbar over the items with scores, their weights, which sum to the number of items, and dbar."""

    value: FloatArray
    weight: FloatArray
    diagonal: float

    def log_determinant(self, kappa: float) -> float:
        """Return log det K."""
        return float(self.weight @ np.log1p(kappa * (self.value - 1.0)))

    def mean_square(self, kappa: float) -> float:
        """Prior mean square of qualities about their mean: tr K^-1 / N minus the part of the mean."""
        size = self.weight.sum()
        total = self.weight @ (1 / (1.0 + kappa * (self.value - 1.0)))
        return float(max(total - 1 / (1.0 - kappa), 0.05 * size) / size)


@singledispatch
def spectrum(problem: Problem, rng: np.random.Generator, steps: int = STEPS) -> Spectrum:
    """Return the spectrum of L: exact for few items, otherwise by stochastic Lanczos quadrature with ``steps`` steps.

    Cost: ``steps`` products of L with at most ``PROBES`` columns, each O(E).
    """
    # L = D - B B', B with entries 1 / sqrt k_j, whose squares sum to 1 over the papers of a reviewer.
    known = problem.known
    size, degree = int(known.sum()), problem.count.astype(np.float64)
    mean = float((degree.sum() - np.count_nonzero(problem.load)) / size)
    if mean <= 0:
        return Spectrum(np.zeros(1), np.array([float(size)]), 0.0)
    if size <= MAX_EXACT:
        shared, dense = _matrix(problem)[np.flatnonzero(known)], np.diag(degree[known])
        value = np.linalg.eigvalsh(dense - (shared @ shared.T).toarray())
        return Spectrum(np.maximum(value, 0.0) / mean, np.ones(size), mean)
    probes = min(PROBES, -(-PROBE_BUDGET // size))
    probe = np.zeros((problem.n_items + 1, probes))
    probe[:-1][known] = rng.choice([-1.0, 1.0], (size, probes)) / np.sqrt(size)
    value, weight = lanczos(_laplacian(problem), probe, steps)
    return Spectrum(np.maximum(value, 0.0) / mean, weight * size, mean)


def _laplacian(problem: Problem) -> Callable[[FloatArray], FloatArray]:
    """Return the product of L with columns, shape (N + 1, P); the last row belongs to empty slots."""
    degree = np.append(problem.count, 0)[:, None]
    if not problem.compiled:
        shared = _matrix(problem)
        return lambda vectors: degree * vectors - shared @ (shared.T @ vectors)

    def product(vectors: FloatArray) -> FloatArray:
        # Two threads would write to the same items.
        images = degree * vectors, np.zeros_like(vectors)
        with Threads() as threads:
            for part in problem.parts:
                subtract_means_by_halves(threads, part.layout, vectors, images)
        return images[0] + images[1]

    return product


def _matrix(problem: Problem) -> scipy.sparse.csr_array:
    """Return B, items by reviewers."""
    return shared_matrix(problem.parts, problem.load, problem.n_items)


def shared_matrix(layouts: Iterable[Part], load: IntArray, n_items: int) -> scipy.sparse.csr_array:
    """Return B of some parts, items by reviewers."""
    import scipy.sparse

    parts = []
    for part in layouts:
        used = part.layout.item < n_items
        parts.append((part.layout.item[used], part.layout.reviewer[used]))
    item, who = (np.concatenate(each) for each in zip(*parts, strict=True))
    return scipy.sparse.csr_array((load[who] ** -0.5, (item, who)), (n_items + 1, load.size))


def lanczos(
    product: Callable[[FloatArray], FloatArray], vector: FloatArray, steps: int
) -> tuple[FloatArray, FloatArray]:
    """Ritz values and their weights, which sum to 1, from columns of length 1."""
    probes = vector.shape[1]
    previous, beta = np.zeros_like(vector), np.zeros(probes)
    alphas, betas = [], []
    for _ in range(steps):
        image = product(vector)
        image -= beta * previous
        alpha = np.einsum("ip,ip->p", image, vector)
        image -= alpha * vector
        beta = np.sqrt(np.einsum("ip,ip->p", image, image))
        alphas.append(alpha)
        betas.append(beta)
        image /= np.maximum(beta, 1e-12)
        previous, vector = vector, image
    matrix = np.zeros((probes, steps, steps))
    line = np.arange(steps)
    matrix[:, line, line] = np.array(alphas).T
    matrix[:, line[1:], line[:-1]] = matrix[:, line[:-1], line[1:]] = np.array(betas[:-1]).T
    value, vector = np.linalg.eigh(matrix)
    return value.ravel(), (vector[:, 0] ** 2).ravel() / probes


#: Number of sweeps after convergence of the hyperparameters from which messages are damped by 1/2.
DAMP_AFTER = 20


class BlockInputs(NamedTuple):
    """Arguments of :func:`lsc._inference.scale_users.step` for one block."""

    block: Block
    cavity: Cavity
    nodes: Nodes
    factor: FloatArray
    log_weight: FloatArray | None


class Sweep(NamedTuple):
    """Result of a sweep.

    ``state``: with new messages and nodes; ``evidence``: log evidence of the old state, and ``gradient``: its
    derivatives by the hyperparameters, from reviewers of at least two scores; ``mean``, ``variance`` (N + 1,):
    posterior of the old state, entry N for empty slots.
    """

    state: State
    evidence: float
    gradient: Gradient
    mean: FloatArray
    variance: FloatArray


@singledispatch
def sweep(
    problem: Problem,
    state: State,
    *,
    learn: bool = True,
    changed: BoolArray | None = None,
    n_converged: int = 0,
    share: float = 1.0,
    posterior: ItemPosterior | None = None,
) -> Sweep:
    """Update the messages of every reviewer, all from the old state; the gradient only with ``learn``.

    Compiled steps may be restricted to reviewers of ``changed`` items, (N + 1,); there is no evidence then.
    ``n_converged`` counts the sweeps since the hyperparameters converged: nodes are damped by ``1 / (1 +
    n_converged)``, and beyond :data:`DAMP_AFTER` messages by 1/2; both move at most ``share`` of the way. Fixed points
    are unchanged, and oscillations decay. ``posterior`` replaces that of the state's sums: of reviewers whose items
    have other reviewers elsewhere.
    """
    posterior = posterior or item_posterior(problem, state)
    changed = np.empty(0, np.bool_) if changed is None else changed
    mean, variance = posterior.shift / posterior.precision, 1 / posterior.precision
    potential = 0.5 * (np.log(variance) + mean**2 * posterior.precision)
    # The new state, with room for sums, nodes and probabilities.
    sums = Messages.zeros(problem.n_items + 1, assortment=state.extent.kappa > 0)
    new = replace(_with_nodes(state, np.copy), messages=problem.store(), sums=sums, gauge=Gauge())
    if state.extent.orders:
        new = replace(new, orders=state.orders.copy())
    evidence, gradient = state.extent.half_log_determinant, Gradient.none()
    with Threads() as threads:
        for part, old in parts_with_messages(problem, state):
            fresh = Messages.zeros(part.layout.item.size, assortment=state.extent.kappa > 0)
            arguments = part.layout, old, posterior, state, new, fresh
            if problem.compiled:
                result = step_halves(threads, *arguments, float(problem.rounding), changed, learn=learn)
            else:
                result = _step_blocks(problem, part, *arguments[1:], learn=learn)
            evidence, gradient = evidence + result[0], gradient.plus(result[1])
            if state.extent.kappa:
                evidence += _likeness(problem, part, old, posterior, state, fresh)
            part_way = min(share, 0.5) if n_converged > DAMP_AFTER else share
            if part_way < 1:
                _move_part_way(fresh, old, part_way)
            new.messages.append(fresh)
            if problem.compiled:
                add_messages(threads, part.layout.item, fresh, new.sums)
                continue
            for value, total in zip(fresh, new.sums, strict=True):
                if not is_zeros_view(total):
                    np.add.at(total, part.layout.item, value)
    # In place: at 100 million reviews each copy takes gigabytes.
    nodes = new.nodes
    nodes -= state.nodes
    nodes *= min(share, 1 / (1 + n_converged))
    nodes += state.nodes
    # log Z = sum of factors, of Psi(cavity) - Psi(q) over messages, and of Psi(q) over items with a score; the
    # determinant of the prior is that of these items alone.
    messages = 2.0 if state.extent.kappa else 1.0
    potentials = float((problem.known - messages * problem.count) @ potential[:-1])
    # The prior N(m, 1 / (1 - kappa)) has the factor exp(-(1 - kappa) m^2 / 2).
    potentials -= 0.5 * (1.0 - state.extent.kappa) * _squares_of_means(problem)
    return Sweep(new, evidence + potentials, gradient, mean, variance)


def _move_part_way(fresh: Messages, old: Messages, share: float) -> None:
    """Replace new messages by those at a share of the way from the old ones."""
    for value, before in zip(fresh, old, strict=True):
        if not is_zeros_view(value):
            value *= share
            value += (1 - share) * before


def _squares_of_means(problem: Problem) -> float:
    """Sum of squares of the prior means of the items with a score."""
    return 0.0 if problem.expected is None else float((problem.expected.quality[problem.known] ** 2).sum())


def _step_blocks(
    problem: Problem,
    part: Part,
    old: Messages,
    posterior: ItemPosterior,
    state: State,
    new: State,
    fresh: Messages,
    *,
    learn: bool,
) -> tuple[float, Gradient]:
    """Update a part block by block; returns the evidence and its gradient."""
    evidence, gradient = 0.0, Gradient.none()
    for block, cavity, nodes, factor, log_weight in block_inputs(part, old, posterior, state):
        who, shared = block.reviewer, (state.theta, factor)
        rounding = problem.rounding_of(block)
        result = step(block, cavity, nodes, *shared, log_weight, rounding, learn=learn)
        # A mixture with ordinal reviewers where the model and the load allow them.
        if state.extent.orders and block.shape[0] <= MAX_ORDINAL_LOAD:
            given_fresh = nodes_of(state.fresh, block, state.extent)
            result = mixed_step(block, cavity, result, given_fresh, *shared, log_weight, rounding, learn=learn)
        site = damped(message(cavity, result.mean, result.second), block, old.shift)
        _write(block, site, fresh.precision, fresh.shift)
        next_nodes = rows(result.nodes)
        new.nodes[: len(next_nodes), who] = next_nodes
        if state.extent.orders:
            new.orders[who] = result.orders
        if result.fresh is not None:
            next_nodes = rows(result.fresh)
            new.fresh[: len(next_nodes), who] = next_nodes
        if learn:
            # A single score carries no information about slope and offset beyond the marginal distribution.
            gradient = gradient.plus(Gradient.of(result.gradient * (block.load > 1)))
        evidence += float(result.log_evidence.sum()) + _potential(cavity, block)
    return evidence, gradient


def _likeness(
    problem: Problem, part: Part, old: Messages, posterior: ItemPosterior, state: State, fresh: Messages
) -> float:
    """Update the messages of the assortment prior; returns the evidence of its factors.

    Papers that share reviewers are alike in what their covariates leave unexplained.
    """
    evidence = 0.0
    for block, cavity in cavities(part.layout, posterior, old.likeness_precision, old.likeness_shift):
        centre: FloatArray | float = 0.0
        if problem.expected is not None:
            means = np.append(problem.expected.quality, 0.0)
            centre = means[part.layout.item[block.first : block.last]].reshape(block.shape)
        result = likeness_step(block, cavity._replace(mean=cavity.mean - centre), state.extent.strength)
        shift = result.shift + result.precision * centre
        _write(block, Message(result.precision, shift), fresh.likeness_precision, fresh.likeness_shift)
        evidence += float(result.log_evidence.sum()) + _potential(cavity, block)
    return evidence


def damped(site: Message, block: Block, shift: FloatArray) -> Message:
    """Damp the shifts of messages without precision by 1/2, and bound those of messages with little.

    They keep the tilted mean, each against the same cavity: updated in parallel, they would make a paper oscillate with
    growing amplitude.
    """
    old = shift[block.first : block.last].reshape(block.shape)
    shift = np.where(site.precision <= MIN_PRECISION, 0.5 * (old + site.shift), site.shift)
    largest = MAX_SHIFT + SHIFT_PER_PRECISION * site.precision
    return Message(site.precision, np.clip(shift, -largest, largest))


def _write(block: Block, site: Message, precision: FloatArray, shift: FloatArray) -> None:
    precision[block.first : block.last] = (site.precision * block.used).ravel()
    shift[block.first : block.last] = (site.shift * block.used).ravel()


def _potential(cavity: Cavity, block: Block) -> float:
    """Sum of Psi = 1/2 log v + m^2 / 2 v over the cavities of a block."""
    potential = 0.5 * (np.log(cavity.variance) + cavity.mean**2 / cavity.variance)
    return float((potential * block.used).sum())


def cavities(
    layout: Layout, posterior: ItemPosterior, precision: FloatArray, shift: FloatArray
) -> Iterator[tuple[Block, Cavity]]:
    """Yield each block with its cavities, given precisions and shifts of the messages to remove."""
    cavity_precision = posterior.precision[layout.item] - precision
    mean = (posterior.shift[layout.item] - shift) / cavity_precision
    for block in layout.blocks:
        slots = slice(block.first, block.last)
        yield block, Cavity(mean[slots].reshape(block.shape), 1 / cavity_precision[slots].reshape(block.shape))


def block_inputs(part: Part, messages: Messages, posterior: ItemPosterior, state: State) -> Iterator[BlockInputs]:
    """Yield the inputs of a step, block by block."""
    for block, cavity in cavities(part.layout, posterior, messages.precision, messages.shift):
        factor, log_weight = np.ones((1, block.reviewer.size)), None
        if part.log_weight is not None:
            log_weight = part.log_weight[block.first : block.last].reshape(block.shape)
            factor = np.exp(-state.theta[GAMMA] * log_weight)
        yield BlockInputs(block, cavity, nodes_of(state.nodes, block, state.extent), factor, log_weight)


def nodes_of(nodes: FloatArray, block: Block, extent: Extent) -> Nodes:
    """Nodes of the reviewers of a block."""
    centre, spread, own, own_spread = nodes[:, block.reviewer]
    return Nodes(centre, spread, own, own_spread if extent.own else None)


@singledispatch
def with_hyperparameters(state: State, theta: FloatArray) -> State:
    """Set hyperparameters and shift nodes as the posterior of a log slope, or log own noise, would respond.

    Its prior precision is 1 / tau^2 (of the wider side), or 1 / own^2; with little data a reviewer follows the mode.
    """
    old, new = _prior_precisions(state.theta), _prior_precisions(theta)
    shift = np.array([[theta[MU] - state.theta[MU]], [0.0]])

    def updated(nodes: FloatArray) -> FloatArray:
        centre, spread = nodes[0::2], nodes[1::2]
        likelihood = np.maximum(spread**-2 - old, 0.0)
        new_nodes = np.empty_like(nodes)
        new_nodes[0::2] = centre + shift * new / (new + likelihood)
        new_nodes[1::2] = (new + likelihood) ** -0.5
        return new_nodes

    return replace(_with_nodes(state, updated), theta=theta)


def _with_nodes(state: State, change: Callable[[FloatArray], FloatArray]) -> State:
    """Apply a change to the nodes, and to those given fresh papers where they differ."""
    nodes = change(state.nodes)
    return replace(state, nodes=nodes, fresh=change(state.fresh) if state.extent.orders else nodes)


def _prior_precisions(theta: FloatArray) -> FloatArray:
    """Prior precisions of log slope (on the wider side) and of log own noise, shape (2, 1)."""
    return np.asarray(np.exp(-2 * np.array([[max(theta[LOG_TAU_LEFT], theta[LOG_TAU_RIGHT])], [theta[LOG_OWN]]])))


@singledispatch
def standardised(problem: Problem, state: State) -> State:
    """Rescale qualities to mean 0 and mean square 1 over items with a score, with messages, slopes and offsets.

    Without ordinal reviewers this moves along the direction that the likelihood leaves free, and without it the scale
    of qualities drifts. With assortment the mean square is that of the prior.
    """
    precision, shift = item_posterior(problem, state)
    scored = problem.known
    mean, variance = (shift / precision)[:-1][scored], 1 / precision[:-1][scored]
    centre = float(mean.mean())
    # Prior means add their mean square to that of the rest.
    explained = _squares_of_means(problem) / max(int(scored.sum()), 1)
    spread = float(np.sqrt(((mean**2 + variance).mean() - centre**2) / (state.extent.mean_square + explained)))
    return regauged(state, Gauge(centre, spread))


def regauged(state: State, change: Gauge) -> State:
    """Change the scale of qualities, with messages, slopes and offsets."""

    def stretched(nodes: FloatArray) -> FloatArray:
        nodes = nodes.copy()
        nodes[0] += np.log(change.spread)
        return nodes

    new = _with_nodes(state, stretched)
    return replace(new, gauge=state.gauge.then(change), theta=rescaled(state.theta, *change))


# Alternating sweeps and steps of the hyperparameters until convergence.

#: Converged: changes of means in standard errors, and the predicted gain of a step in nats, are below these.
TOLERANCE, GAIN_TOLERANCE = 2e-3, 1e-2
#: Estimated distance of means from convergence, in standard errors, that counts as converged where sweeps run out.
NEGLIGIBLE = 0.02
#: Sweeps until means respond to a step of the hyperparameters: messages are updated in the next one, read in the other.
RESPONSE = 2
#: In large tables one mean in ``EXEMPT`` may exceed the tolerance, by a factor of at most ``EXEMPT_RATIO``.
EXEMPT, EXEMPT_RATIO = 1_000, 25.0
#: Tolerances for comparing extensions of the model.
ROUGH_TOLERANCE, ROUGH_GAIN_TOLERANCE = 1e-2, 5e-2
#: Number of sweeps over which a change of the objective below the tolerance counts as convergence, too.
PLATEAU = 12
#: Sweeps before the first step: messages have to propagate first.
WARM_UP = 2
#: Number of sweeps after which an optimisation that has not converged goes half of the way, and again after as many.
PATIENT = 30
MAX_SWEEPS, MAX_ROUGH_SWEEPS, MAX_PARTIAL_SWEEPS = 150, 60, 30
#: A loss of the objective of more than this, plus this per review, reverts to the best state, with shorter steps.
MAX_LOSS, LOSS_PER_REVIEW, SHRINK, MIN_DAMPING = 3.0, 0.005, 0.5, 0.1
#: Growth of the tolerated loss after that: the next dip may be deeper.
LOSS_GROWTH = 2.0


@dataclass(frozen=True, eq=False)
class Fit:
    """Result of an optimisation.

    ``state``: from which the last sweep started; ``evidence``, ``mean`` (N + 1,): its log evidence and posterior means;
    ``sweeps``: their number; ``converged``: whether messages and hyperparameters have converged; ``information`` (P,
    P): curvature of the log posterior of the hyperparameters; ``off``: estimated largest distance of a mean from its
    converged value, in standard errors, 0 where converged.
    """

    state: State
    evidence: float
    mean: FloatArray
    sweeps: int
    converged: bool
    information: FloatArray
    off: float = 0.0

    @property
    def objective(self) -> float:
        """Log evidence plus log prior of the hyperparameters."""
        return self.evidence + log_prior(self.state.theta).value


def share_of_the_way(count: int) -> float:
    """Return how far messages, nodes and the scale of qualities move in a sweep.

    >>> [share_of_the_way(count) for count in (1, 30, 60)]
    [1.0, 0.5, 0.25]
    """
    return float(0.5 ** (count // PATIENT))


def optimise(problem: Problem, state: State, free: BoolArray, *, rough: bool = False, warm_up: int = WARM_UP) -> Fit:
    """Alternate sweeps and steps of the ``free`` hyperparameters, (P,), until both have converged.

    In tables of some dozen scores messages, nodes and the scale of qualities can swing for ever: every ``PATIENT``
    sweeps they go half as far as before, and the tolerance shrinks likewise.

    ``rough``: only to the accuracy that comparing extensions needs; ``warm_up``: sweeps before the first step.
    """
    tolerance, gain, max_sweeps = (
        (ROUGH_TOLERANCE, ROUGH_GAIN_TOLERANCE, MAX_ROUGH_SWEEPS) if rough else (TOLERANCE, GAIN_TOLERANCE, MAX_SWEEPS)
    )
    step, previous, best_state, best = initial_step(state.theta), None, None, -np.inf
    objectives: list[float] = []
    n_converged, track = 0, Track(max_sweeps)
    partial = problem.compiled and not state.extent.kappa
    max_loss = MAX_LOSS + LOSS_PER_REVIEW * problem.n_reviews
    for count in range(1, max_sweeps + 1):
        learn = bool(free.any()) and count > warm_up
        share = share_of_the_way(count)
        last = sweep(problem, state, learn=learn, n_converged=n_converged, share=share)
        track.add(count, last.mean)
        objective = last.evidence + log_prior(state.theta).value
        if best_state is not None and objective < best - max_loss:
            # Revert to the best state and continue with shorter steps; tolerate a deeper dip the next time.
            step = initial_step(best_state.theta, max(step.max_damping * SHRINK, MIN_DAMPING))
            max_loss *= LOSS_GROWTH
            state, previous = best_state, None
            continue
        if learn:
            step = ascend(state.theta, last.gradient, problem.n_reviewers, problem.n_reviews, free, step, share)
        # Convergence: first of the hyperparameters, then of the means.
        objectives.append(objective)
        plateau = len(objectives) > PLATEAU and abs(objective - objectives[-PLATEAU]) < gain
        n_converged = n_converged + 1 if (not learn or step.gain < gain or plateau) and count > warm_up else 0
        converged = False
        if n_converged > (RESPONSE if learn else 0) and previous is not None:
            converged = _converged(np.abs(last.mean - previous) / np.sqrt(last.variance), tolerance * share)
        if converged or count == max_sweeps:
            break
        previous, state = last.mean, last.state
        if learn:
            if best_state is None or objective > best:
                best_state, best = state, objective
            if step.gain < gain and partial:
                # Only some messages have not converged: sweep over these. A step, or another scale, would change all.
                previous, state, sweeps = _partial_sweeps(problem, state, previous, tolerance, n_converged)
                n_converged, partial = n_converged + sweeps, sweeps < MAX_PARTIAL_SWEEPS
            else:
                state = with_hyperparameters(state, step.theta)
                # Ordinal reviewers tie the scale of qualities to the spread of their scores: it is learned then.
                if not state.extent.orders:
                    state = standardised(problem, state)
    off = 0.0 if converged else track.distance(last.variance)
    off = off if off > NEGLIGIBLE else 0.0
    return Fit(state, last.evidence, last.mean, count, off == 0.0, step.information, off)


def _partial_sweeps(
    problem: Problem, state: State, previous: FloatArray, tolerance: float, n_converged: int
) -> tuple[FloatArray, State, int]:
    """Sweep over the reviewers of items whose means still change.

    Returns the means before the last sweep, the state after it, and the number of sweeps.
    """
    for count in range(MAX_PARTIAL_SWEEPS):
        precision, shift = item_posterior(problem, state)
        mean = shift / precision
        changes = np.abs(mean - previous) * np.sqrt(precision)
        if _converged(changes, 0.5 * tolerance):
            return previous, state, count
        changed = changes > 0.5 * tolerance
        result = sweep(problem, state, learn=False, changed=changed, n_converged=n_converged + count)
        previous, state = mean, result.state
    return previous, state, MAX_PARTIAL_SWEEPS


def run_sweeps(problem: Problem, state: State, sweeps: int, *, gauge: bool = False) -> Fit:
    """Update messages for some sweeps with hyperparameters fixed, up to the scale of qualities with ``gauge``."""
    for _ in range(sweeps):
        state = sweep(problem, state, learn=False).state
        if gauge:
            state = standardised(problem, state)
    last = sweep(problem, state, learn=False)
    return Fit(state, last.evidence, last.mean, sweeps + 1, False, np.eye(state.theta.size))


def _converged(changes: FloatArray, tolerance: float) -> bool:
    """Whether all changes are within the tolerance, but for one in :data:`EXEMPT`, and none is far outside.

    >>> _converged(np.array([0.001, 0.003]), 0.002), _converged(np.repeat([0.001, 0.003], [999, 1]), 0.002)
    (False, True)
    """
    return bool(
        np.count_nonzero(changes > tolerance) * EXEMPT <= changes.size and changes.max() <= EXEMPT_RATIO * tolerance
    )


# Model selection: extensions are added one by one and kept if the log evidence increases.

#: Sweeps with an extension before its evidence is compared.
TRIAL_SWEEPS = 1
#: Values of kappa, tried in turn while the evidence increases; and the loss at the first of them, with hyperparameters
#: fixed, beyond which assortment is rejected.
KAPPAS, MAX_TRIAL_LOSS = (0.5, 0.75, 0.9, 0.96, 0.985), 3.0
#: Initial standard deviation of log own noise, and initial shares of ordinal reviewers, otherwise and in rankings:
#: these say nothing of slopes, and from a small share some reviewers seem to be without noise.
OWN_TRIAL, SHARE_TRIAL, RANK_TRIAL = 0.3, 0.1, float(1 / (1 + np.exp(-4.0)))
#: Minimum gain of an extension in nats; that of own noise, which costs nothing where reviewers are alike: its scale is
#: estimated, and vanishes.
MIN_GAIN, MIN_OWN_GAIN = 2.0, 0.0


def run_stages(
    problem: Problem, rng: np.random.Generator, tell: Callable[[str], None], subset: Problem | None = None
) -> Fit:
    """Select the extensions of the model and fit it.

    With a ``subset`` of a large problem, extensions and hyperparameters are learned there first, then refined on all
    reviews.
    """
    if subset is None:
        selected, free = _select_extensions(problem, rng, tell)
    else:
        tell(f"{subset.n_reviews:,} of {problem.n_reviews:,} reviews first")
        initial, free = _select_extensions(subset, rng, tell)
        tell("all reviews")
        extent = Extent(own=initial.state.extent.own, orders=initial.state.extent.orders)
        selected = optimise(problem, initial_state(problem, initial.state.theta, extent), free, rough=True)
        selected = _with_likeness(problem, selected, free, rng)
    return optimise(problem, selected.state, free, warm_up=0)


def run_members(
    problem: Problem, rng: np.random.Generator, tell: Callable[[str], None], kept: Callable[[list[float]], FloatArray]
) -> list[Fit]:
    """Fit every extension that raises the evidence, to convergence if ``kept``, their weights, is positive.

    Common noise is own noise of the standard deviation 0: it is no model beside that.
    """
    found = candidates(problem, rng, tell)
    if any(fit.state.extent.own for fit, _ in found):
        found = [each for each in found if each[0].state.extent.own or each[0].state.extent.orders]
    weight = kept([fit.evidence for fit, _ in found])
    return [
        optimise(problem, fit.state, free, warm_up=0) for (fit, free), w in zip(found, weight, strict=True) if w > 0
    ]


def free_of(extent: Extent, *, weighted: bool) -> BoolArray:
    """Return the hyperparameters that a model learns, shape (P,)."""
    free: BoolArray = np.ones(SIZE, bool)
    free[LOG_OWN], free[GAMMA], free[[LOGIT_W, LOG_S_R]] = extent.own, weighted, extent.orders
    free[[LOG_TAU_LEFT, LOG_TAU_RIGHT, RHO]] = not extent.alike
    return free


def _select_extensions(
    problem: Problem, rng: np.random.Generator, tell: Callable[[str], None]
) -> tuple[Fit, BoolArray]:
    """Return the fit with the highest evidence, roughly converged, and its free hyperparameters."""
    # Noisy and ordinal reviewers are hard to distinguish: at most one of the two extensions.
    found = candidates(problem, rng, tell)
    return found[most_evident([fit for fit, _ in found])]


def most_evident(fits: Sequence[Fit]) -> int:
    """Return the place of the fit with the highest evidence, of ties the first."""
    return int(np.argmax(snapped(np.array([fit.evidence for fit in fits]))))


def candidates(problem: Problem, rng: np.random.Generator, tell: Callable[[str], None]) -> list[tuple[Fit, BoolArray]]:
    """Fit scale users; then try assortment, and own noise or ordinal reviewers: those that raise the evidence."""
    free: BoolArray = np.ones(SIZE, bool)
    free[[LOG_OWN, LOGIT_W, LOG_S_R]] = False
    free[GAMMA] = problem.weighted
    tell("reviewers with slope, offset and common noise")
    plain = optimise(problem, initial_state(problem, START, Extent()), free, rough=True)
    tell("assortment of papers and reviewers")
    plain = _with_likeness(problem, plain, free, rng)
    tell("own noise of each reviewer")
    state = with_own_noise(plain.state)
    fits = [(plain, free), _extended(problem, plain, state, free, (0.0, MIN_OWN_GAIN), LOG_OWN)]
    tell("ordinal reviewers")
    busy = problem.load[problem.load > 0]
    if (busy <= MAX_ORDINAL_LOAD).any() and np.median(busy) >= MIN_ORDINAL_LOAD:
        # Rankings say nothing of slopes: those of the others, learned beside ordinal reviewers, would wander.
        by_design = are_rankings(problem)
        state = with_ordinal_reviewers(plain.state, RANK_TRIAL if by_design else SHARE_TRIAL)
        learned = np.zeros_like(free) if by_design else free
        fits.append(_extended(problem, plain, state, learned, (MIN_GAIN, MIN_GAIN), LOGIT_W, LOG_S_R))
    return [fits[0], *(each for each in fits[1:] if each[0] is not plain)]


@singledispatch
def with_own_noise(state: State) -> State:
    """Add own noise of each reviewer."""
    theta, nodes = state.theta.copy(), state.nodes.copy()
    theta[LOG_OWN] = np.log(OWN_TRIAL)
    nodes[2:] = np.array([[0.0], [OWN_TRIAL]])
    return replace(state, theta=theta, nodes=nodes, extent=state.extent._replace(own=True))


@singledispatch
def with_ordinal_reviewers(state: State, share: float = SHARE_TRIAL) -> State:
    """Add a share of ordinal reviewers."""
    theta = state.theta.copy()
    theta[LOGIT_W] = np.log(share / (1 - share))
    return replace(state, theta=theta, fresh=state.nodes, extent=state.extent._replace(orders=True))


def _extended(
    problem: Problem, plain: Fit, state: State, free: BoolArray, gains: tuple[float, float], *more: int
) -> tuple[Fit, BoolArray]:
    """Fit an extension with more free hyperparameters; ``gains`` are required at once and in the end."""
    trial = run_sweeps(problem, state, TRIAL_SWEEPS)
    if trial.evidence < plain.evidence + gains[0]:
        return plain, free
    wider = free.copy()
    wider[list(more)] = True
    extended = optimise(problem, trial.state, wider, rough=True, warm_up=0)
    return (plain, free) if reaches(plain.evidence + gains[1], extended.evidence) else (extended, wider)


def with_references(problem: Problem, plain: Fit, references: References) -> Fit:
    """Update messages for references, with hyperparameters fixed."""
    settled = optimise(references.applied_to(problem), plain.state, np.zeros(SIZE, bool))
    # Evidence and information are those without references; both fits have to have converged.
    converged = plain.converged and settled.converged
    off = max(plain.off, settled.off)
    return replace(settled, evidence=plain.evidence, information=plain.information, converged=converged, off=off)


def _with_likeness(problem: Problem, plain: Fit, free: BoolArray, rng: np.random.Generator) -> Fit:
    """Increase kappa while the evidence increases."""
    if not (problem.count > 1).any():
        return plain
    # The same probes for all values of kappa; few Lanczos steps for the first.
    seed = int(rng.integers(1 << 62))
    best, eigenvalues = plain, spectrum(problem, np.random.default_rng(seed), FEW_STEPS)
    if not eigenvalues.diagonal:
        return plain
    for kappa in KAPPAS:
        if kappa == KAPPAS[1]:
            eigenvalues = spectrum(problem, np.random.default_rng(seed))
        extent = best.state.extent._replace(
            kappa=kappa,
            strength=kappa / eigenvalues.diagonal,
            half_log_determinant=0.5 * eigenvalues.log_determinant(kappa),
            mean_square=eigenvalues.mean_square(kappa),
        )
        trial = run_sweeps(problem, replace(best.state, extent=extent), TRIAL_SWEEPS, gauge=True)
        if trial.evidence < best.evidence - MAX_TRIAL_LOSS * (kappa == KAPPAS[0]):
            break
        trial = optimise(problem, trial.state, free, rough=True)
        if trial.evidence < best.evidence + MIN_GAIN * (kappa == KAPPAS[0]):
            break
        best = trial
    return best
