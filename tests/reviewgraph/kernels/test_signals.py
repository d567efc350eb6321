import signal

import numpy as np
import pytest

from reviewgraph.graph.kernels.blocks import Blocks


@pytest.mark.slow
def test_ctrl_c_ends_a_kernel_on_its_way() -> None:
    rng = np.random.default_rng(0)
    M, N = 60_000, 60_000
    reviewer = np.repeat(np.arange(M), 12)
    codes = np.unique(reviewer * N + rng.integers(0, N, reviewer.size))
    reviewer = codes // N
    found = Blocks(reviewer, codes % N, M, N)
    usual = signal.signal(signal.SIGVTALRM, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):  # noqa: PT012
            # By the time of this process, which others may delay.
            signal.setitimer(signal.ITIMER_VIRTUAL, 0.003)
            found.enter_rows()
    finally:
        signal.signal(signal.SIGVTALRM, usual)
    assert 0 < found.n_trail < 2 * reviewer.size
