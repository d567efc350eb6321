"""Every table and figure of the paper [Tan21]_, run again: registry, trials, verdicts and pictures."""
