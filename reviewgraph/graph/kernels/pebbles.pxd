from libc.stdint cimport int64_t, uint8_t

from reviewgraph.graph.kernels.signals cimport heed
from reviewgraph.graph.kernels.union_find cimport find

cdef int64_t FREE, NONE, UNKNOWN

cdef class Game:
    cdef public int64_t[::1] points, covers, parent
    cdef readonly int64_t[::1] seen, came_by, stack
    cdef public uint8_t[::1] redundant
    cdef readonly int64_t stamp

cdef class RigidBlocks:
    cdef int64_t[::1] member_of, loose, next_part, last_part, queue
    cdef int64_t queued

cdef int64_t free_pebble(Game game, int64_t vertex) noexcept nogil
cdef int64_t pebbles(Game game, int64_t vertex) noexcept nogil
cdef int64_t search(Game game, int64_t source, int64_t pinned, int64_t also_pinned) noexcept nogil
cdef void reverse(Game game, int64_t source, int64_t holder) noexcept nogil
cdef int64_t gather(Game game, int64_t body, int64_t thing) noexcept nogil
cdef void contract(Game game, int64_t body, int64_t thing) noexcept nogil
cdef void mark(Game game, int64_t review) noexcept nogil
cdef bint offer(Game game, int64_t b, int64_t r, int64_t thing) noexcept nogil
cpdef int64_t play(
    Game game, const int64_t[::1] start, const int64_t[::1] item, const int64_t[::1] bodies, int64_t[::1] accepted
)

cdef bint is_rigid_with(Game game, RigidBlocks blocks, int64_t vertex, int64_t body) noexcept nogil
cdef void enter(RigidBlocks blocks, int64_t vertex, int64_t body) noexcept nogil
cdef void grow_block(
    Game game, RigidBlocks blocks, int64_t body, const int64_t[::1] start, const int64_t[::1] item,
    const int64_t[::1] item_start, const int64_t[::1] body_by_item
) noexcept nogil
cpdef void join_blocks(
    Game game, RigidBlocks blocks, const int64_t[::1] start, const int64_t[::1] item, const int64_t[::1] item_start,
    const int64_t[::1] body_by_item
)
