import numpy as np

from lsc.inference.inferring import infer
from lsc.inference.preparing import Rows, prepare
from tests.lsc.inference.naive_gibbs import sample
from tests.lsc.inference.simulated_tables import table


def test_means_and_standard_errors_are_those_of_a_gibbs_sampler() -> None:
    who, what, score, _ = table(0)
    posterior = infer(who, what, score, 200, 200)
    assert not posterior.extent.own
    assert not posterior.extent.orders
    assert not posterior.kappa
    theta = {name: posterior.theta[place] for place, name in ((0, "mu"), (3, "g0"), (4, "g1"), (6, "nu"), (7, "rho"))}
    theta |= {name: np.exp(posterior.theta[place]) for place, name in ((1, "tau_left"), (2, "tau_right"), (5, "omega"))}
    scores = prepare(Rows(who, what, score, None), 200, 200)
    rng = np.random.default_rng(1)
    x = sample(who, what, scores.standard, 200, 200, theta, scores.problem.rounding, 2500, 300, rng)
    sd = np.sqrt(posterior.variance)
    # Beside the differences of interest, means are known to .03 standard errors and these to 3 % each.
    assert np.sqrt((((x.mean(axis=0) - posterior.mean) / sd) ** 2).mean()) < 0.05
    ratio = x.std(axis=0) / sd
    assert abs(ratio.mean() - 1) < 0.05
    assert (np.abs(ratio - 1) < 0.12).all()
