"""The problem of assigning: inputs, network."""
