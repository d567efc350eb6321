cimport cython
from libc.math cimport INFINITY as inf
from libc.stdint cimport int64_t, uint8_t

from planner._assign.kernels.flow cimport FAR

cdef class Growth:
    cdef const int64_t[::1] item, reviewer, item_start, by_reviewer, start, price
    cdef const uint8_t[::1] given, required
    cdef uint8_t[::1] covered, joined
    cdef int64_t[::1] room, spare
    cdef readonly uint8_t[::1] taken
    cdef readonly double[::1] score
    cdef uint8_t[::1] stale
    cdef int64_t[::1] link, further_link
    cdef int64_t shared, floor

cdef void rate_item(Growth growth, int64_t item) noexcept nogil
cdef void rate_reviewer(Growth growth, int64_t reviewer) noexcept nogil
cdef void rate(Growth growth, int64_t node) noexcept nogil
@cython.locals(fresh=cython.bint)
cdef int64_t add(Growth growth, int64_t p) noexcept nogil
cdef int64_t join(Growth growth, int64_t node) noexcept nogil
cpdef void rate_stale(Growth growth)
cpdef int64_t join_all(Growth growth, const int64_t[::1] nodes)
