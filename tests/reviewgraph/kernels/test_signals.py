from __future__ import annotations

import signal

import numpy as np
import pytest

from reviewgraph.graph.kernels import pairs


@pytest.mark.slow
def test_ctrl_c_ends_a_kernel_on_its_way() -> None:
    rng = np.random.default_rng(0)
    M, N = 60_000, 60_000
    reviewer = np.repeat(np.arange(M), 12)
    codes = np.unique(reviewer * N + rng.integers(0, N, reviewer.size))
    graph = pairs.rank_neighbours(codes // N, codes % N, M, N, np.empty(0, np.int64))
    parent = np.arange(M)
    merges = np.zeros((M - 1, 4), np.int64)
    usual = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):  # noqa: PT012
            signal.setitimer(signal.ITIMER_REAL, 0.003)
            pairs.merge_pairs(graph, pairs.Reached(M + N, scored=False), parent, merges)
            signal.pause()
    finally:
        signal.signal(signal.SIGALRM, usual)
    stopped = int(np.count_nonzero(merges[:, 3]))
    whole = np.zeros_like(merges)
    count = pairs.merge_pairs(graph, pairs.Reached(M + N, scored=False), np.arange(M), whole)
    assert stopped < count
