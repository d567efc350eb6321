"""Who reviews a paper together: attributes of reviewers, rules on them, and these as arrays."""
