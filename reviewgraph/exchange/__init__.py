"""Reviews as graphs and matrices of other libraries, and the review multigraph."""
