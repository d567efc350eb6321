from libc.stdint cimport int64_t, uint8_t

from planner._plans.kernels.cascade cimport Board, may_read, use
from reviewgraph.graph.kernels.pebbles cimport Game, offer

cpdef int64_t take_independent(
    Game game, Board board, const int64_t[::1] body, const int64_t[::1] reviewer, const int64_t[::1] item,
    uint8_t[::1] taken, int64_t wanted
)
