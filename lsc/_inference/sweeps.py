"""Sweeps of expectation propagation: all reviewers at once, each from what all others say."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsc._inference.halves import Threads, add_up, step_halves, take_middles
from lsc._inference.model import (
    GAMMA,
    LOG_OWN,
    LOG_S_R,
    LOG_TAU_LEFT,
    LOG_TAU_RIGHT,
    LOGIT_W,
    MU,
    SIZE,
    START,
    Block,
    Extent,
    Gradient,
    Layout,
    ascend,
    at_rest,
    log_prior,
    rescaled,
)
from lsc._inference.scale_users import (
    FURTHEST,
    LEAST_PRECISION,
    LONGEST,
    Cavity,
    Message,
    Mixed,
    Nodes,
    message,
    mixed_step,
    rows,
    step,
)
from lsc._inference.states import (
    Believed,
    Gauge,
    Messages,
    Part,
    Problem,
    References,
    State,
    beliefs,
    is_nothing,
    spoken,
    start,
)
from reviewgraph._base.arrays import BoolArray, FloatArray

if TYPE_CHECKING:
    import scipy.sparse


# Papers that share reviewers are alike: the prior of Leroux, a Gaussian factor a reviewer.
#
# ::
#
#     x ~ N(0, K^-1),  K = (1 - kappa) I + kappa L / dbar,  L = sum_j (I - 11' / k_j)
#
# L acts on the papers of reviewer j; dbar is its mean diagonal. The factor exp(-c/2 sum_i (x_i - xbar)^2), c = kappa /
# dbar, is that of an unknown middle z of which each of her papers is a measurement with variance 1 / c.

#: Up to so many items eigenvalues are exact; above, steps of Lanczos, and at least the fewer where kappa is small.
EXACT, STEPS, FEW_STEPS = 400, 20, 8
#: Probes, that is random signs, and items times probes that are enough: the more items, the more a probe tells.
PROBES, ENOUGH = 16, 2_000_000


class Likeness(NamedTuple):
    """Messages, shape (k, m), and log evidence, shape (m,), of the factors of a block."""

    precision: FloatArray
    shift: FloatArray
    log_evidence: FloatArray


def likeness_step(block: Block, cavity: Cavity, strength: float) -> Likeness:
    """Tell each paper what the reviewer's other papers say of their common middle.

    Parameters
    ----------
    strength
        c = kappa / dbar.
    """
    weight = block.used / (cavity.variance + 1 / strength)
    total, weighted = weight.sum(axis=0), weight * cavity.mean
    middle = weighted.sum(axis=0)
    others, told = total - weight, middle - weighted
    # A paper alone learns nothing: there are no others.
    others = np.where((block.used > 0) & (block.load > 1), others, 0.0)
    precision = strength * others / (strength + others)
    shift = np.divide(precision * told, others, out=np.zeros_like(told), where=others > 0)
    removed = (block.used * np.log1p(strength * cavity.variance)).sum(axis=0)
    evidence = 0.5 * (np.log(strength * block.load / total) - removed)
    evidence -= 0.5 * ((weighted * cavity.mean).sum(axis=0) - middle**2 / total)
    return Likeness(precision, shift, evidence)


class Spectrum(NamedTuple):
    """Eigenvalues of L / dbar over the items with scores and how many each stands for; dbar."""

    value: FloatArray
    weight: FloatArray
    diagonal: float

    def log_determinant(self, kappa: float) -> float:
        """Return log det K."""
        return float(self.weight @ np.log1p(kappa * (self.value - 1.0)))

    def mean_square(self, kappa: float) -> float:
        """Mean square of qualities about their mean that the prior expects: tr K^-1 / N less that of the mean."""
        size = self.weight.sum()
        total = self.weight @ (1 / (1.0 + kappa * (self.value - 1.0)))
        return float(max(total - 1 / (1.0 - kappa), 0.05 * size) / size)


def spectrum(problem: Problem, rng: np.random.Generator, steps: int = STEPS) -> Spectrum:
    """Find the spectrum of L, exactly for few items and else by stochastic Lanczos quadrature.

    Parameters
    ----------
    steps
        Of Lanczos, where eigenvalues are not exact.

    Notes
    -----
    As much work as so many products of L with up to ``PROBES`` columns, each linear in reviews.
    """
    # L = D - B B', B with entries 1 / sqrt k_j, whose squares sum to 1 over the papers of a reviewer.
    known = problem.known
    size, degree = int(known.sum()), problem.count.astype(np.float64)
    mean = float((degree.sum() - np.count_nonzero(problem.load)) / size)
    if mean <= 0:
        return Spectrum(np.zeros(1), np.array([float(size)]), 0.0)
    if size <= EXACT:
        shared, dense = _matrix(problem)[np.flatnonzero(known)], np.diag(degree[known])
        value = np.linalg.eigvalsh(dense - (shared @ shared.T).toarray())
        return Spectrum(np.maximum(value, 0.0) / mean, np.ones(size), mean)
    probes = min(PROBES, -(-ENOUGH // size))
    start = np.zeros((problem.n_items + 1, probes))
    start[:-1][known] = rng.choice([-1.0, 1.0], (size, probes)) / np.sqrt(size)
    value, weight = _lanczos(_laplacian(problem), start, steps)
    return Spectrum(np.maximum(value, 0.0) / mean, weight * size, mean)


def _laplacian(problem: Problem) -> Callable[[FloatArray], FloatArray]:
    """Return the product of L with columns, shape (N + 1, P); the last row belongs to empty slots."""
    degree = np.append(problem.count, 0)[:, None]
    if not problem.compiled:
        shared = _matrix(problem)
        return lambda now: degree * now - shared @ (shared.T @ now)

    def passed(now: FloatArray) -> FloatArray:
        # Two threads would write to the same items.
        images = degree * now, np.zeros_like(now)
        with Threads() as threads:
            for part in problem.parts:
                take_middles(threads, part.layout, now, images)
        return images[0] + images[1]

    return passed


def _matrix(problem: Problem) -> scipy.sparse.csr_array:
    """Return B, items by reviewers."""
    import scipy.sparse

    parts = []
    for part in problem.parts:
        used = part.layout.item < problem.n_items
        parts.append((part.layout.item[used], part.layout.reviewer[used]))
    item, who = (np.concatenate(each) for each in zip(*parts, strict=True))
    shape = problem.n_items + 1, problem.n_reviewers
    return scipy.sparse.csr_array((problem.load[who] ** -0.5, (item, who)), shape)


def _lanczos(product: Callable[[FloatArray], FloatArray], now: FloatArray, steps: int) -> tuple[FloatArray, FloatArray]:
    """Ritz values, and their weights, that sum to 1, from columns of length 1."""
    probes = now.shape[1]
    before, beta = np.zeros_like(now), np.zeros(probes)
    alphas, betas = [], []
    for _ in range(steps):
        image = product(now)
        image -= beta * before
        alpha = np.einsum("ip,ip->p", image, now)
        image -= alpha * now
        beta = np.sqrt(np.einsum("ip,ip->p", image, image))
        alphas.append(alpha)
        betas.append(beta)
        image /= np.maximum(beta, 1e-12)
        before, now = now, image
    matrix = np.zeros((probes, steps, steps))
    line = np.arange(steps)
    matrix[:, line, line] = np.array(alphas).T
    matrix[:, line[1:], line[:-1]] = matrix[:, line[:-1], line[1:]] = np.array(betas[:-1]).T
    value, vector = np.linalg.eigh(matrix)
    return value.ravel(), (vector[:, 0] ** 2).ravel() / probes


#: Sweeps after which messages that will not settle, with nothing left to learn, go half of the way.
PATIENCE = 20


class Inputs(NamedTuple):
    """What a step of one block needs; see :func:`lsc._inference.scale_users.step`."""

    block: Block
    cavity: Cavity
    nodes: Nodes
    factor: FloatArray
    log_weight: FloatArray | None


class Sweep(NamedTuple):
    """What a sweep finds.

    Parameters
    ----------
    state
        The state with new messages and nodes.
    evidence
        Log evidence of the old state.
    gradient
        Its derivatives by the hyperparameters, of reviewers of two scores or more.
    mean, variance
        Shape (N + 1,): beliefs of the old state; entry N belongs to empty slots.
    """

    state: State
    evidence: float
    gradient: Gradient
    mean: FloatArray
    variance: FloatArray


def sweep(
    problem: Problem, state: State, *, learn: bool = True, moved: BoolArray | None = None, rested: int = 0
) -> Sweep:
    """Do one step for every reviewer, all from the messages of the old state.

    Parameters
    ----------
    learn
        Whether gradients are asked for.
    moved
        Shape (N + 1,): only reviewers of these items need the step, if it runs compiled, and there is no evidence then.
    rested
        Sweeps since nothing was left to learn: nodes go ``1 / (1 + rested)`` of the way, and beyond :data:`PATIENCE`
        messages half of theirs. Neither changes where all is at rest, and what swings comes to rest.
    """
    believed, moved = beliefs(problem, state), np.empty(0, np.bool_) if moved is None else moved
    mean, variance = believed.shift / believed.precision, 1 / believed.precision
    potential = 0.5 * (np.log(variance) + mean**2 * believed.precision)
    new = _to_be_filled(problem, state)
    evidence, gradient = state.extent.half_log_determinant, Gradient.none()
    with Threads() as threads:
        for part, told in spoken(problem, state):
            fresh = Messages.room(part.layout.item.size, alike=state.extent.kappa > 0)
            given = part.layout, told, believed, state, new, fresh, problem.rounding
            if problem.compiled and not state.extent.orders:
                found = step_halves(threads, *given, moved, learn=learn)
            else:
                found = _step_blocks(problem, part, *given[1:-1], learn=learn)
            evidence, gradient = evidence + found[0], gradient.plus(found[1])
            if state.extent.kappa:
                evidence += _likeness(part, told, believed, state, fresh)
            if rested > PATIENCE:
                _halve(fresh, told)
            new.messages.append(fresh)
            if problem.compiled:
                add_up(threads, part.layout.item, fresh, new.sums)
                continue
            for value, total in zip(fresh, new.sums, strict=True):
                if not is_nothing(total):
                    np.add.at(total, part.layout.item, value)
    new.nodes[:] = state.nodes + (new.nodes - state.nodes) / (1 + rested)
    # log Z = sum of factors, of Psi(cavity) - Psi(q) over their messages, and of Psi(q) over items with a score: of the
    # others the prior, whose determinant is that of these alone, says nothing.
    messages = 2.0 if state.extent.kappa else 1.0
    between = float((problem.known - messages * problem.count) @ potential[:-1])
    return Sweep(new, evidence + between, gradient, mean, variance)


def _halve(fresh: Messages, told: Messages) -> None:
    """Take messages half of the way back."""
    for value, before in zip(fresh, told, strict=True):
        if not is_nothing(value):
            value += before
            value *= 0.5


def _to_be_filled(problem: Problem, state: State) -> State:
    messages, sums = problem.store(), Messages.room(problem.n_items + 1, alike=state.extent.kappa > 0)
    new = replace(_with_nodes(state, np.copy), messages=messages, sums=sums, gauge=Gauge())
    return replace(new, orders=state.orders.copy()) if state.extent.orders else new


def _step_blocks(
    problem: Problem,
    part: Part,
    told: Messages,
    believed: Believed,
    state: State,
    new: State,
    fresh: Messages,
    *,
    learn: bool,
) -> tuple[float, Gradient]:
    """Do the step of every reviewer of a part, block by block; returns the evidence and its derivatives."""
    evidence, gradient = 0.0, Gradient.none()
    for given in inputs(part, told, believed, state):
        block, who = given.block, given.block.reviewer
        found = _block_step(problem, state, given, learn)
        said = damped(message(given.cavity, found.mean, found.second), block, told.shift)
        _write(block, said, fresh.precision, fresh.shift)
        new.nodes[: len(found.nodes), who] = found.nodes
        if state.extent.orders:
            new.fresh[: len(found.fresh), who], new.orders[who] = found.fresh, found.orders
        if learn:
            # One score tells of its reviewer only through the shape of all scores, not for slopes to explain.
            gradient = gradient.plus(Gradient.of(found.gradient * (block.load > 1)))
        evidence += float(found.log_evidence.sum()) + _potential(given.cavity, block)
    return evidence, gradient


def _block_step(problem: Problem, state: State, given: Inputs, learn: bool) -> Mixed:
    """Step of one block, with reviewers who only order mixed in where the model has them, of not too many papers."""
    found = step(*given[:3], state.theta, given.factor, given.log_weight, problem.rounding, learn=learn)
    if state.extent.orders and given.block.shape[0] <= LONGEST:
        fresh = nodes_of(state.fresh, given.block, state.extent)
        same = (state.theta, given.factor, problem.rounding)
        return mixed_step(given.block, given.cavity, found, fresh, *same, learn=learn)
    who = given.block.reviewer
    return Mixed(
        *found[:2], rows(found.nodes), np.zeros((0, who.size)), found.log_evidence, found.gradient, np.zeros(who.size)
    )


def _likeness(part: Part, told: Messages, believed: Believed, state: State, fresh: Messages) -> float:
    """Renew what papers learn from those that share reviewers, and return the evidence of these factors."""
    evidence = 0.0
    for block, cavity in cavities(part.layout, believed, told.likeness_precision, told.likeness_shift):
        found = likeness_step(block, cavity, state.extent.strength)
        _write(block, Message(found.precision, found.shift), fresh.likeness_precision, fresh.likeness_shift)
        evidence += float(found.log_evidence.sum()) + _potential(cavity, block)
    return evidence


def damped(told: Message, block: Block, shift: FloatArray) -> Message:
    """Let messages without precision go half of the way from the old shift, and move a paper by ``FURTHEST`` at most.

    They keep the tilted mean, each of them against the same cavity: all reviewers of a paper at once would throw it to
    and fro, further each time.
    """
    old = shift[block.first : block.last].reshape(block.shape)
    weak = told.precision <= LEAST_PRECISION
    return Message(told.precision, np.where(weak, np.clip(0.5 * (old + told.shift), -FURTHEST, FURTHEST), told.shift))


def _write(block: Block, told: Message, precision: FloatArray, shift: FloatArray) -> None:
    precision[block.first : block.last] = (told.precision * block.used).ravel()
    shift[block.first : block.last] = (told.shift * block.used).ravel()


def _potential(cavity: Cavity, block: Block) -> float:
    """Sum of Psi = 1/2 log v + m^2 / 2 v over the cavities of a block."""
    potential = 0.5 * (np.log(cavity.variance) + cavity.mean**2 / cavity.variance)
    return float((potential * block.used).sum())


def cavities(
    layout: Layout, believed: Believed, precision: FloatArray, shift: FloatArray
) -> Iterator[tuple[Block, Cavity]]:
    """Yield each block with its cavities: beliefs without messages of the given precisions and shifts."""
    left = believed.precision[layout.item] - precision
    mean = (believed.shift[layout.item] - shift) / left
    for block in layout.blocks:
        slots = slice(block.first, block.last)
        yield block, Cavity(mean[slots].reshape(block.shape), 1 / left[slots].reshape(block.shape))


def inputs(part: Part, told: Messages, believed: Believed, state: State) -> Iterator[Inputs]:
    """Yield what a step needs, block by block."""
    for block, cavity in cavities(part.layout, believed, told.precision, told.shift):
        factor, log_weight = np.ones((1, block.reviewer.size)), None
        if part.log_weight is not None:
            log_weight = part.log_weight[block.first : block.last].reshape(block.shape)
            factor = np.exp(-state.theta[GAMMA] * log_weight)
        yield Inputs(block, cavity, nodes_of(state.nodes, block, state.extent), factor, log_weight)


def nodes_of(nodes: FloatArray, block: Block, extent: Extent) -> Nodes:
    """Nodes of the reviewers of a block."""
    centre, spread, own, own_spread = nodes[:, block.reviewer]
    return Nodes(centre, spread, own, own_spread if extent.own else None)


def learned(state: State, theta: FloatArray) -> State:
    """Take new hyperparameters, and let nodes follow as the posterior of a slope, or of own noise, would.

    That is a prior of precision 1 / tau^2 (of the wider side), or 1 / own^2, joined with what the scores said: a
    reviewer of whom little is known moves with the mode.
    """
    old, new = _prior_precisions(state.theta), _prior_precisions(theta)
    shift = np.array([[theta[MU] - state.theta[MU]], [0.0]])

    def followed(nodes: FloatArray) -> FloatArray:
        centre, spread = nodes[0::2], nodes[1::2]
        told = np.maximum(spread**-2 - old, 0.0)
        moved = np.empty_like(nodes)
        moved[0::2] = centre + shift * new / (new + told)
        moved[1::2] = (new + told) ** -0.5
        return moved

    return replace(_with_nodes(state, followed), theta=theta)


def _with_nodes(state: State, change: Callable[[FloatArray], FloatArray]) -> State:
    """Change the nodes, and those given fresh papers where these are others."""
    nodes = change(state.nodes)
    return replace(state, nodes=nodes, fresh=change(state.fresh) if state.extent.orders else nodes)


def _prior_precisions(theta: FloatArray) -> FloatArray:
    """Precisions of the priors of log slope (on the wider side) and of log own noise, shape (2, 1)."""
    return np.asarray(np.exp(-2 * np.array([[max(theta[LOG_TAU_LEFT], theta[LOG_TAU_RIGHT])], [theta[LOG_OWN]]])))


def standardised(problem: Problem, state: State) -> State:
    """Rescale qualities to mean 0 and mean square 1 over items with a score, with messages, slopes and offsets.

    The prior stays where it is, so this is a move along the direction in which all else is free; without it the scale
    of qualities creeps. With assortment the mean square is the one that the prior expects.
    """
    precision, shift = beliefs(problem, state)
    known = problem.known
    mean, variance = (shift / precision)[:-1][known], 1 / precision[:-1][known]
    centre = float(mean.mean())
    spread = float(np.sqrt(((mean**2 + variance).mean() - centre**2) / state.extent.mean_square))
    moved = Gauge(centre, spread)

    def stretched(nodes: FloatArray) -> FloatArray:
        nodes = nodes.copy()
        nodes[0] += np.log(spread)
        return nodes

    same = _with_nodes(state, stretched)
    return replace(same, gauge=state.gauge.then(moved), theta=rescaled(state.theta, *moved))


# Sweeps and steps of the hyperparameters in turn, until both have settled.

#: Settled: no mean moves by more than this part of its standard error, and a step would gain less than so many nats.
STILL, GAIN = 2e-3, 1e-2
#: Of large tables one mean in so many may still move, by so many times more at most.
ONE_IN, FURTHER = 1_000, 25.0
#: Good enough to try the next extension of the model.
ROUGH_STILL, ROUGH_GAIN = 1e-2, 5e-2
#: Or the height has not changed by as much over so many sweeps: steps were too short to follow a flat direction.
PLATEAU = 12
#: Sweeps before hyperparameters move: messages have to arrive first.
WARM_UP = 2
MOST_SWEEPS, MOST_ROUGH_SWEEPS, MOST_HURRIED = 150, 60, 30
#: A height lost by more than so many nats, and so many a review, sends the climb back; from then on it goes slower.
LOSS, LOSS_A_REVIEW, SLOWER, SLOWEST = 3.0, 0.005, 0.5, 0.1
#: From then on it may lose so many times more.
DEEPER = 2.0


class Best(NamedTuple):
    """The highest state so far."""

    height: float
    state: State


@dataclass(frozen=True, eq=False)
class Climb:
    """Where a climb ended.

    Parameters
    ----------
    state
        From which the last sweep started.
    evidence, mean
        Its log evidence, and the means of the items, shape (N + 1,), as the last sweep found them.
    sweeps
        How many it took.
    converged
        Whether messages and hyperparameters have settled.
    information
        Shape (P, P): curvature of the log probability of the hyperparameters.
    """

    state: State
    evidence: float
    mean: FloatArray
    sweeps: int
    converged: bool
    information: FloatArray

    @property
    def objective(self) -> float:
        """Log evidence and log prior of the hyperparameters."""
        return self.evidence + log_prior(self.state.theta).value


def climb(problem: Problem, state: State, free: BoolArray, *, rough: bool = False, warm_up: int = WARM_UP) -> Climb:
    """Sweep and learn until both have settled.

    Parameters
    ----------
    free
        Shape (P,): hyperparameters to learn; with none the messages alone settle.
    rough
        Whether to stop as soon as the next extension of the model can be judged.
    warm_up
        Sweeps before the first step.
    """
    still, gain, most = (ROUGH_STILL, ROUGH_GAIN, MOST_ROUGH_SWEEPS) if rough else (STILL, GAIN, MOST_SWEEPS)
    step, before, best = at_rest(state.theta), None, None
    heights: list[float] = []
    rested = 0
    hurry = problem.compiled and not state.extent.kappa
    slack = LOSS + LOSS_A_REVIEW * problem.n_reviews
    for count in range(1, most + 1):
        learn = bool(free.any()) and count > warm_up
        found = sweep(problem, state, learn=learn, rested=rested)
        height = found.evidence + log_prior(state.theta).value
        if best is not None and height < best.height - slack:
            # The last steps led astray: go back to the best state, and go on from there more slowly. Where the way up
            # leads through a dip it is gone at last, for the next one may be deeper.
            step = at_rest(best.state.theta, max(step.limit * SLOWER, SLOWEST))
            slack *= DEEPER
            state, before = best.state, None
            continue
        if learn:
            step = ascend(state.theta, found.gradient, problem.n_reviewers, problem.n_reviews, free, step)
        heights.append(height)
        level = len(heights) > PLATEAU and abs(height - heights[-PLATEAU]) < gain
        learned_all = not learn or step.gain < gain or level
        rested = rested + 1 if learned_all and count > warm_up else 0
        settled = rested > 0 and before is not None and _at_rest(_moves(found, before), still)
        if settled or count == most:
            break
        before, state = found.mean, found.state
        if learn:
            if best is None or height > best.height:
                best = Best(height, state)
            if step.gain < gain and hurry:
                # Only messages have to settle yet, and few: without waiting for the others, and without a step that
                # all would have to answer.
                before, state, sweeps = _hurried(problem, standardised(problem, state), before, still, rested)
                rested, hurry = rested + sweeps, sweeps < MOST_HURRIED
            else:
                state = standardised(problem, learned(state, step.theta))
    return Climb(state, found.evidence, found.mean, count, bool(settled), step.information)


def _hurried(
    problem: Problem, state: State, before: FloatArray, still: float, rested: int
) -> tuple[FloatArray, State, int]:
    """Sweep over reviewers whose items still move.

    Returns the means before the last sweep, the state after it, and the number of sweeps; after
    :data:`MOST_HURRIED` some items are on the move for so long that it is not worth while again.
    """
    for count in range(MOST_HURRIED):
        precision, shift = beliefs(problem, state)
        mean = shift / precision
        moves = np.abs(mean - before) * np.sqrt(precision)
        if _at_rest(moves, 0.5 * still):
            return before, state, count
        moved = moves > 0.5 * still
        found = sweep(problem, state, learn=False, moved=moved, rested=rested + count)
        before, state = mean, standardised(problem, found.state)
    return before, state, MOST_HURRIED


def settle(problem: Problem, state: State, sweeps: int, *, gauge: bool = False) -> Climb:
    """Let messages answer to a change for a few sweeps; of hyperparameters at most the scale moves, with ``gauge``."""
    for _ in range(sweeps):
        state = sweep(problem, state, learn=False).state
        if gauge:
            state = standardised(problem, state)
    last = sweep(problem, state, learn=False)
    return Climb(state, last.evidence, last.mean, sweeps + 1, False, np.eye(state.theta.size))


def _moves(found: Sweep, before: FloatArray) -> FloatArray:
    """Return by how much each mean changed, in its standard errors."""
    return np.asarray(np.abs(found.mean - before) / np.sqrt(found.variance))


def _at_rest(moves: FloatArray, still: float) -> bool:
    """Whether no mean moves any more, or one in :data:`ONE_IN` at most and none far.

    >>> _at_rest(np.array([0.001, 0.003]), 0.002), _at_rest(np.repeat([0.001, 0.003], [999, 1]), 0.002)
    (False, True)
    """
    return bool(np.count_nonzero(moves > still) * ONE_IN <= moves.size and moves.max() <= FURTHER * still)


# The stages of the model: each extension is kept where the evidence asks for it.

#: Sweeps in which messages answer to an extension before it is judged.
TRIAL_SWEEPS = 1
#: Values of kappa, tried in turn while the evidence rises; and the loss, at the first and before hyperparameters
#: answer, beyond which they are not asked.
KAPPAS, HOPELESS = (0.5, 0.75, 0.9, 0.96, 0.985), 3.0
#: Spread of log own noise, and share of reviewers who only order, at which they are tried.
OWN_TRIAL, SHARE_TRIAL = 0.3, 0.1
#: Nats that an extension must gain to stay.
WORTH = 2.0


def run_stages(
    problem: Problem, rng: np.random.Generator, tell: Callable[[str], None], part: Problem | None = None
) -> Climb:
    """Find out what the model has to include, and fit it.

    Parameters
    ----------
    part
        A part of a large problem: what reviewers are like is learned there first, and improved on the whole.
    """
    if part is None:
        found, free = _chosen(problem, rng, tell)
    else:
        tell(f"{part.n_reviews:,} of {problem.n_reviews:,} reviews first")
        there, free = _chosen(part, rng, tell)
        tell("all reviews")
        extent = Extent(own=there.state.extent.own, orders=there.state.extent.orders)
        found = climb(problem, start(problem, there.state.theta, extent), free, rough=True)
        found = _with_likeness(problem, found, free, rng)
    return climb(problem, found.state, free, warm_up=0)


def _chosen(problem: Problem, rng: np.random.Generator, tell: Callable[[str], None]) -> tuple[Climb, BoolArray]:
    """Fit reviewers who use the scale; then try assortment, and own noise or reviewers who only order."""
    free: BoolArray = np.ones(SIZE, bool)
    free[[LOG_OWN, LOGIT_W, LOG_S_R]] = False
    free[GAMMA] = problem.weighted
    tell("reviewers who use the scale")
    found = climb(problem, start(problem, START, Extent()), free, rough=True)
    tell("like papers to like reviewers")
    found = _with_likeness(problem, found, free, rng)
    tell("a noise of her own for each reviewer")
    own = _with_own_noise(problem, found, free)
    tell("reviewers who only put papers in order")
    orders = _with_orders(problem, found, free)
    # A careless reviewer and one who only orders are hard to tell apart: one of the two, the likelier.
    return max((found, free), own, orders, key=lambda tried: tried[0].evidence)


def settled_with(problem: Problem, found: Climb, references: References) -> Climb:
    """Let messages answer to references, hyperparameters as they are."""
    settled = climb(references.heard_in(problem), found.state, np.zeros(SIZE, bool))
    # The evidence and what is known of hyperparameters are those of the scores; both climbs have to have settled.
    converged = found.converged and settled.converged
    return replace(settled, evidence=found.evidence, information=found.information, converged=converged)


def _with_likeness(problem: Problem, plain: Climb, free: BoolArray, rng: np.random.Generator) -> Climb:
    """Raise kappa while the evidence rises."""
    if not (problem.count > 1).any():
        return plain
    # The same probes for all values of kappa, and few steps until it is known to be needed.
    seed = int(rng.integers(1 << 62))
    best, modes = plain, spectrum(problem, np.random.default_rng(seed), FEW_STEPS)
    if not modes.diagonal:
        return plain
    for kappa in KAPPAS:
        if kappa == KAPPAS[1]:
            modes = spectrum(problem, np.random.default_rng(seed))
        tried = settle(problem, _assorted(best.state, kappa, modes), TRIAL_SWEEPS, gauge=True)
        if tried.evidence < best.evidence - HOPELESS * (kappa == KAPPAS[0]):
            break
        tried = climb(problem, tried.state, free, rough=True)
        if tried.evidence < best.evidence + WORTH * (kappa == KAPPAS[0]):
            break
        best = tried
    return best


def _assorted(state: State, kappa: float, modes: Spectrum) -> State:
    extent = state.extent._replace(
        kappa=kappa,
        strength=kappa / modes.diagonal,
        half_log_determinant=0.5 * modes.log_determinant(kappa),
        mean_square=modes.mean_square(kappa),
    )
    return replace(state, extent=extent)


def _with_own_noise(problem: Problem, plain: Climb, free: BoolArray) -> tuple[Climb, BoolArray]:
    """Give each reviewer a noise of her own where the evidence rises at once."""
    theta, nodes = plain.state.theta.copy(), plain.state.nodes.copy()
    theta[LOG_OWN] = np.log(OWN_TRIAL)
    nodes[2:] = np.array([[0.0], [OWN_TRIAL]])
    state = replace(plain.state, theta=theta, nodes=nodes, extent=plain.state.extent._replace(own=True))
    tried = settle(problem, state, TRIAL_SWEEPS)
    if tried.evidence < plain.evidence:
        return plain, free
    return _kept(problem, plain, tried, free, _freed(free, LOG_OWN))


def _with_orders(problem: Problem, plain: Climb, free: BoolArray) -> tuple[Climb, BoolArray]:
    """Let some reviewers only order where the evidence rises by enough, if any has few enough papers to be asked."""
    if not ((problem.load > 0) & (problem.load <= LONGEST)).any():
        return plain, free
    theta = plain.state.theta.copy()
    theta[LOGIT_W] = np.log(SHARE_TRIAL / (1 - SHARE_TRIAL))
    state = replace(plain.state, theta=theta, fresh=plain.state.nodes, extent=plain.state.extent._replace(orders=True))
    tried = settle(problem, state, TRIAL_SWEEPS)
    if tried.evidence < plain.evidence + WORTH:
        return plain, free
    return _kept(problem, plain, tried, free, _freed(free, LOGIT_W, LOG_S_R))


def _kept(problem: Problem, plain: Climb, tried: Climb, free: BoolArray, wider: BoolArray) -> tuple[Climb, BoolArray]:
    """Learn an extension, and keep it where the evidence rises by enough."""
    found = climb(problem, tried.state, wider, rough=True, warm_up=0)
    return (found, wider) if found.evidence > plain.evidence + WORTH else (plain, free)


def _freed(free: BoolArray, *places: int) -> BoolArray:
    wider = free.copy()
    wider[list(places)] = True
    return wider
