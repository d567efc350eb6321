cimport cython
from libc.stdint cimport int64_t

from reviewgraph.graph.kernels.signals cimport heed
from reviewgraph.graph.kernels.union_find cimport unite

cdef class Ranked:
    cdef readonly const int64_t[::1] vertex, first, neighbour, level

cdef class Reached:
    cdef int64_t[::1] last_top, first_middle, top_level, end_level, only_top, only_end

@cython.locals(top_differs=cython.bint, end_differs=cython.bint)
cdef int64_t second_middle(
    Reached reached, int64_t middle, int64_t end, int64_t top_level, int64_t end_level
) noexcept nogil
@cython.locals(scored=cython.bint, top_is_item=cython.bint, heeds_levels=cython.bint)
cpdef int64_t merge_pairs(Ranked graph, Reached reached, int64_t[::1] parent, int64_t[:, ::1] merges)
