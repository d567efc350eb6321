"""Files that conference systems take: one object a system says how pairs of reviewers and papers are written for it."""
