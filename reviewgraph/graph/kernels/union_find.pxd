cimport cython
from libc.stdint cimport int64_t, uint8_t, uint32_t

ctypedef fused parent_t:
    int64_t
    uint32_t

ctypedef fused code_t:
    int64_t
    uint32_t

cdef int64_t EMPTY

cdef class Ranked:
    cdef readonly const int64_t[::1] vertex, first, neighbour, level

cdef class Reached:
    cdef int64_t[::1] last_top, first_middle, top_level, end_level, only_top, only_end

cdef class Merges:
    cdef readonly int64_t[::1] a, b, u, v

cdef class Covers:
    cdef const int64_t[::1] start, item, class_of
    cdef readonly int64_t[::1] parent
    cdef const int64_t[::1] degree, place
    cdef int64_t[::1] holders, holder, members, cover, weight, head, tail, following, scanned, hub, table, queue, seen
    cdef int64_t filled

cdef int64_t find(parent_t[::1] parent, int64_t vertex) noexcept nogil
cdef bint union(parent_t[::1] parent, int64_t a, int64_t b) noexcept nogil
cpdef void union_chunk(parent_t[::1] parent, int64_t first, const int64_t[::1] start, int64_t items, const code_t[::1] item)
cpdef void point_at_roots(parent_t[::1] parent)
cpdef int64_t grow_cover(
    uint8_t[::1] joined, uint8_t[::1] covered, int64_t first, const int64_t[::1] start, const uint32_t[::1] item
)

@cython.locals(top_differs=cython.bint, end_differs=cython.bint)
cdef int64_t second_middle(
    Reached reached, int64_t middle, int64_t end, int64_t top_level, int64_t end_level
) noexcept nogil
cdef void record(Merges merges, int64_t row, int64_t a, int64_t b, int64_t u, int64_t v) noexcept nogil
@cython.locals(scored=cython.bint, top_is_item=cython.bint, heeds_levels=cython.bint)
cpdef int64_t merge_pairs(Ranked graph, Reached reached, int64_t[::1] parent, Merges merges)

cdef int64_t slot_of(int64_t key, int64_t size) noexcept nogil
cdef bint put(Covers state, int64_t component, int64_t thing) noexcept nogil
cdef bint holds(Covers state, int64_t component, int64_t thing) noexcept nogil
cdef void put_cover(Covers state, int64_t component) noexcept nogil
cdef void make_room(Covers state, int64_t wanted) noexcept nogil
cdef void absorb(Covers state, int64_t large, int64_t small) noexcept nogil
cdef int64_t gather(Covers state) noexcept nogil
cdef (int64_t, int64_t) shared_pair(Covers state, int64_t a, int64_t b) noexcept nogil
cdef int64_t next_item(Covers state, int64_t component) noexcept nogil
cdef int64_t join_holders(
    Covers state, int64_t component, int64_t thing, int64_t stamp, Merges merges, int64_t count
) noexcept nogil
cpdef int64_t merge_covers(Covers state, Merges merges, int64_t count)
