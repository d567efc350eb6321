"""The hypothesis classes of LSC, one module each; :mod:`lsc.model.hypotheses` lists them."""
