import numpy as np
import pytest

from lsc._inference.inferring import infer
from lsc._inference.model import NAMES
from lsc._inference.states import Rows, prepare
from tests.lsc.inference.naive_gibbs import sample
from tests.lsc.inference.simulated_tables import ordering, table


def hyperparameters(posterior):
    """By the names of the sampler: scales as themselves, own noise and reviewers who only order where there are any."""
    value = dict(zip(NAMES, posterior.theta.tolist(), strict=True))
    theta = {name: value[name] for name in ("mu", "g0", "g1", "nu", "rho")}
    theta |= {name: np.exp(value[f"log_{name}"]) for name in ("tau_left", "tau_right", "omega")}
    if posterior.extent.own:
        theta["own"] = np.exp(value["log_own"])
    if posterior.extent.orders:
        theta |= {"w": 1 / (1 + np.exp(-value["logit_w"])), "s_r": np.exp(value["log_s_r"])}
    return theta


def against(drawn, n_reviewers, sweeps):
    """Root mean square of differences of means in standard errors, and standard errors of the sampler over ours."""
    who, what, score, _ = drawn
    posterior = infer(who, what, score, n_reviewers, 200)
    scores = prepare(Rows(who, what, score, None), n_reviewers, 200)
    theta, rng = hyperparameters(posterior), np.random.default_rng(1)
    x = sample(who, what, scores.standard, n_reviewers, 200, theta, scores.problem.rounding, sweeps, sweeps // 8, rng)
    sd = posterior.order_error / posterior.scale
    return posterior, float(np.sqrt((((x.mean(axis=0) - posterior.mean) / sd) ** 2).mean())), x.std(axis=0) / sd


SCALE_USERS = table(0), 200
OWN_NOISE = table(1, 200, 100, 12, own=0.6, noise=0.8), 100
ORDERING = ordering(2, 200, 200, 6), 200


@pytest.mark.slow
@pytest.mark.nightly
def test_means_and_standard_errors_are_those_of_a_gibbs_sampler() -> None:
    posterior, off, ratio = against(*SCALE_USERS, 2500)
    assert (posterior.extent.own, posterior.extent.orders, posterior.kappa) == (False, False, 0.0)
    # Beside the differences of interest, means are known to .03 standard errors and these to 3 % each.
    assert off < 0.05
    assert abs(ratio.mean() - 1) < 0.05
    assert (np.abs(ratio - 1) < 0.12).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("drawn", "n_reviewers", "extent", "most"),
    [
        (*SCALE_USERS, (False, False), 0.12),
        (*OWN_NOISE, (True, False), 0.12),
        pytest.param(*ORDERING, (False, True), 0.2, marks=pytest.mark.nightly),
    ],
    ids=["scale users", "own noise", "some only order"],
)
def test_a_short_chain_of_a_gibbs_sampler_has_the_same_means_and_spreads(drawn, n_reviewers, extent, most) -> None:
    # So short a chain knows means to a tenth of a standard error; the long ones: benchmarks/test_posterior_gibbs.py.
    posterior, off, ratio = against(drawn, n_reviewers, 400)
    assert (posterior.extent.own, posterior.extent.orders, posterior.kappa) == (*extent, 0.0)
    assert off < most
    assert abs(ratio.mean() - 1) < 0.05
