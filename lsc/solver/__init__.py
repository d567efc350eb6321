"""The fast solver: semismooth Newton and its kernels; the general solver beside it."""
