from libc.stdint cimport int64_t

from reviewgraph.graph.kernels.blocks cimport ABSORBED, PUT, Blocks

cdef class Trial:
    cdef int64_t[::1] items, seen, taken, hit, hit_item
    cdef readonly int64_t[::1] inside, touch
    cdef int64_t[::1] touched, near, near_mark
    cdef readonly int64_t[::1] gain, weighed
    cdef int64_t[::1] blur
    cdef int64_t covered, met
    cdef readonly int64_t stamp
    cdef bint anchored
    cdef int64_t beyond
    cdef public int64_t steps
    cdef readonly int64_t anchor, mark
    cdef readonly bint kept
    cdef int64_t near_stamp

cpdef int64_t extend(Blocks blocks, Trial trial, int64_t reviewer, int64_t item) except -1 nogil
cpdef int64_t largest(Blocks blocks) noexcept nogil
cpdef int64_t close(
    Blocks blocks, Trial trial, const int64_t[::1] block, const int64_t[::1] item, int64_t size
) except -1 nogil
cpdef void extend_unfinished(
    Blocks blocks, Trial trial, const int64_t[::1] block, const int64_t[::1] item, const int64_t[::1] order,
    int64_t[::1] leaves
)
cpdef void leaving(Blocks blocks, const int64_t[::1] block, const int64_t[::1] item, int64_t[::1] leaves)
cdef void take_inside(Blocks blocks, Trial trial, int64_t thing) noexcept nogil
cpdef int64_t drop_anchor(Blocks blocks, Trial trial) noexcept nogil
cpdef void keep_anchor(Blocks blocks, Trial trial, int64_t since) noexcept nogil
cdef void take_on_trial(Blocks blocks, Trial trial, int64_t block) noexcept nogil
cdef void try_take(Blocks blocks, Trial trial, int64_t block) noexcept nogil
cpdef int64_t try_join(Blocks blocks, Trial trial, int64_t a, int64_t b) noexcept nogil
cdef int64_t blocks_of(Blocks blocks, Trial trial, int64_t thing) noexcept nogil
