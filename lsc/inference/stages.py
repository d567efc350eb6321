"""The stages of the model: each extension is kept where the evidence asks for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from lsc.inference.climbing import Climb, climb, settle
from lsc.inference.likeness import FEW_STEPS, Spectrum, spectrum
from lsc.inference.model import GAMMA, LOG_OWN, LOG_S_R, LOGIT_W, SIZE, START, Extent
from lsc.inference.orders import LONGEST
from lsc.inference.references import References
from lsc.inference.states import Problem, State, start
from reviewgraph.reviews import BoolArray

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
