"""The posterior of qualities: a Bayesian model of papers and reviewers, by expectation propagation.

Arrays in, arrays out: :func:`lsc.posterior.inference.infer` gives a :class:`lsc.posterior.beliefs.Posterior`, from
which :mod:`lsc.posterior.joint` draws, :mod:`lsc.posterior.selection` gets probabilities of being among the best, and
:mod:`lsc.posterior.validation` learns what the correction is worth.
"""
