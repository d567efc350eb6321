cimport cython
from libc.stdint cimport int64_t, uint8_t

from planner._assign.kernels.core cimport Groups, Grown, grow
from planner._assign.kernels.flow cimport Network

cdef class Outside:
    cdef uint8_t[::1] used
    cdef int64_t[::1] root, following, last, stamp, common, through, seen, seen_by
    cdef int64_t scan

cdef void note(
    Network net, Groups groups, Grown grown, Outside outside, int64_t item, int64_t without
) noexcept nogil
cdef void append_chain(Outside outside, int64_t c, int64_t d) noexcept nogil
cdef int64_t absorb(
    Network net, Groups groups, Grown grown, Outside outside, const uint8_t[::1] required, int64_t first
) noexcept nogil
@cython.locals(again=cython.bint, absorbed=cython.bint)
cpdef int64_t close_outside(
    Network net, Groups groups, Grown grown, Outside outside, const uint8_t[::1] required, int64_t without
) noexcept nogil
cpdef int64_t reached(
    Network net, Groups groups, Grown grown, Outside outside, const uint8_t[::1] required, int64_t seed,
    int64_t shared, int64_t without
) noexcept nogil
@cython.locals(covered=cython.bint)
cpdef bint spared(
    Network net, Groups groups, Grown grown, const uint8_t[::1] required, int64_t reviewer
) noexcept nogil
cpdef bint clear(
    Network net, Groups groups, Grown grown, Outside outside, const uint8_t[::1] required, int64_t seed,
    int64_t shared, int64_t total, int64_t[::1] missing
)
cpdef void uncovered_without(
    Network net, Groups groups, Grown grown, Outside outside, const uint8_t[::1] required,
    const int64_t[::1] seeds, int64_t shared, int64_t total, const int64_t[::1] who, int64_t[::1] missing
)
