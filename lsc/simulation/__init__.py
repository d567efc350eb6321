"""Drawing qualities, reviewers and scores."""
