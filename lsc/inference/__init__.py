"""The posterior of qualities: a Bayesian model of papers and reviewers, by expectation propagation.

Arrays in, arrays out: :func:`lsc.inference.inferring.infer` gives a :class:`lsc.inference.beliefs.Posterior`, from
which :mod:`lsc.inference.joint` draws, :mod:`reviewgraph.chances` gets probabilities of being among the best, and
:mod:`lsc.inference.validation` learns what the correction is worth.
"""
