cimport cython
from libc.stdint cimport int64_t

@cython.final
cdef class Structure:
    cdef readonly int64_t[::1] root, head, tail, part, last, cover, first, after, beside, block, item
    cdef readonly int64_t size

    cpdef void restore(self, Structure saved) noexcept nogil

cdef class Growth:
    cdef int64_t[::1] items, blocks, seen, taken, hit, hit_item
    cdef readonly int64_t[::1] inside, touch
    cdef int64_t[::1] touched, near, near_mark
    cdef readonly int64_t[::1] gain, weighed
    cdef int64_t[::1] blur
    cdef public int64_t large
    cdef readonly int64_t covered, joined, stamp
    cdef bint anchored
    cdef int64_t beyond
    cdef public int64_t steps
    cdef readonly int64_t anchor, mark
    cdef readonly bint kept
    cdef int64_t near_stamp

cpdef int64_t find_block(Structure state, int64_t block) noexcept nogil
cpdef void enter(Structure state, int64_t block, int64_t item) noexcept nogil
cdef void enter_all(Structure state, const int64_t[:] block, const int64_t[:] item) noexcept nogil
cpdef void withdraw(Structure state, int64_t tail_before) noexcept nogil
cpdef bint covers_item(Structure state, int64_t block, int64_t item) noexcept nogil
cpdef int64_t largest(Structure state) noexcept nogil
cdef void take(Structure state, Growth space, int64_t block) noexcept nogil
cpdef void grow(Structure state, Growth space, int64_t a, int64_t b) noexcept nogil
cpdef int64_t settle(Structure state, Growth space) noexcept nogil
cpdef bint arrive(Structure state, Growth space, int64_t block, int64_t item) noexcept nogil
cdef bint has_grown(Structure state, Growth space, int64_t block, int64_t before) noexcept nogil
cpdef int64_t close(
    Structure state, Growth space, const int64_t[::1] block, const int64_t[::1] item, int64_t size
) noexcept nogil
cpdef void extend_unfinished(
    Structure state, Growth space, const int64_t[::1] block, const int64_t[::1] item, const int64_t[::1] order,
    int64_t[::1] leaves
)
cpdef void leaving(Structure state, const int64_t[::1] block, const int64_t[::1] item, int64_t[::1] leaves)

cdef int64_t take_inside(Structure state, Growth space, int64_t thing) noexcept nogil
cpdef int64_t drop_anchor(Structure state, Growth space) noexcept nogil
cdef void take_on_trial(Structure state, Growth space, int64_t block) noexcept nogil
cdef void try_take(Structure state, Growth space, int64_t block) noexcept nogil
cpdef int64_t try_join(Structure state, Growth space, int64_t a, int64_t b) noexcept nogil
cpdef void settle_trial(Structure state, Growth space, int64_t block, int64_t covers) noexcept nogil
cdef int64_t blocks_of(Structure state, Growth space, int64_t thing) noexcept nogil
