cimport cython
from libc.stdint cimport int64_t, uint8_t

from planner._plans.kernels.trials cimport Trial, blocks_of, close, drop_anchor, extend, keep_anchor, largest, try_join
from reviewgraph.graph.kernels.blocks cimport Blocks
from reviewgraph.graph.kernels.pebbles cimport Game, offer

cdef int64_t FEW, UNKNOWN, STALE

cdef class Board:
    cdef const int64_t[::1] home, member_start, member
    cdef readonly int64_t[::1] load
    cdef public int64_t[::1] spare
    cdef readonly int64_t[::1] room
    cdef const int64_t[::1] barred_start, barred, group_start, group
    cdef int64_t[:, ::1] free
    cdef int64_t dice

cdef class Moves:
    cdef readonly int64_t[::1] reviewer, item
    cdef int64_t[::1] block
    cdef readonly int64_t made

cpdef int64_t roll(Board board, int64_t sides) noexcept nogil
cpdef bint may_read(Board board, int64_t reviewer, int64_t item) noexcept nogil
cdef int64_t reader(Blocks blocks, Board board, int64_t block, int64_t item) noexcept nogil
cdef (int64_t, int64_t) review_across(Blocks blocks, Board board, int64_t a, int64_t b) noexcept nogil
cdef (int64_t, int64_t) review_between(Blocks blocks, Board board, int64_t a, int64_t b) noexcept nogil
cdef (int64_t, int64_t) best_join(
    Blocks blocks, Trial trial, Board board, int64_t noise
) noexcept nogil
cpdef (int64_t, int64_t) best_join_of_largest(
    Blocks blocks, Trial trial, Board board, int64_t noise, bint begun
) noexcept nogil
cdef void mark_neighbours(Blocks blocks, Trial trial, int64_t block) noexcept nogil
cdef int64_t weigh(Blocks blocks, Trial trial, int64_t block) noexcept nogil
cdef (int64_t, int64_t) reach_out(Blocks blocks, Board board) noexcept nogil
@cython.locals(begun=cython.bint)
cpdef bint add_reviews(
    Blocks blocks, Trial trial, Board board, Moves moves, int64_t noise, bint local, bint resumed, int64_t most
) except -1 nogil
cpdef void follow(
    Blocks blocks, Trial trial, Board board, Moves moves, const int64_t[::1] left, const int64_t[::1] right
)
cpdef void add_move(Board board, Moves moves, int64_t reviewer, int64_t item) noexcept nogil
cdef void rewrite(Moves moves, Moves source) noexcept nogil
cpdef void use(Board board, int64_t reviewer, int64_t item, int64_t times) noexcept nogil
cpdef void drop_moves(Board board, Moves moves, int64_t[::1] keep) noexcept nogil
cdef int64_t prune(
    Blocks blocks, Trial trial, Board board, Moves moves, int64_t[::1] keep, int64_t start
) except -1 nogil
cpdef int64_t unmark(
    Blocks blocks, Trial trial, Moves moves, int64_t[::1] keep, int64_t start, int64_t shift, int64_t first, int64_t last
) except -1 nogil
@cython.locals(largest_only=cython.bint, done=cython.bint)
cpdef int64_t improve(
    Blocks blocks, Trial trial, Board board, Moves moves, Moves retry, int64_t[::1] keep, int64_t start, bint local,
    int64_t rounds
)
cpdef int64_t take_independent(
    Game game, Board board, const int64_t[::1] body, const int64_t[::1] reviewer, const int64_t[::1] item,
    uint8_t[::1] taken, int64_t wanted
)
