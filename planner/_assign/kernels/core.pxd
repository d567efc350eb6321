cimport cython
from libc.stdint cimport int64_t, uint8_t

from planner._assign.kernels.flow cimport FAR, Network

cdef class Groups:
    cdef const int64_t[::1] label, start, member

cdef class Grown:
    cdef uint8_t[::1] covered, joined
    cdef int64_t[::1] witness, first, items, waiting

cdef int64_t open_group(
    Network net, Groups groups, Grown grown, int64_t group, int64_t without, int64_t end
) noexcept nogil
cpdef int64_t grow(
    Network net, Groups groups, Grown grown, const uint8_t[::1] required, int64_t seed, int64_t shared, int64_t without
) noexcept nogil

cdef class Steps:
    cdef readonly int64_t[::1] weight, best, best_item, second

cpdef void find_weights(Network net, Groups groups, Grown grown, const uint8_t[::1] required, Steps steps)
cpdef void find_steps(
    Network net, const int64_t[::1] cost, Groups groups, Grown grown, int64_t floor, Steps steps
)
@cython.locals(outside=cython.bint, direct=int64_t)
cpdef void rate_pairs(
    Network net, const int64_t[::1] cost, Groups groups, Grown grown, const uint8_t[::1] required, int64_t shared,
    int64_t floor, Steps steps, int64_t[::1] loss, int64_t[::1] follow, int64_t[::1] gain
)
@cython.locals(
    held_start=int64_t[::1], item_start=int64_t[::1], end=int64_t[::1], held=int64_t[::1],
    label=int64_t[::1], last=int64_t[::1], following=int64_t[::1], covered_in=int64_t[::1],
    met_in=int64_t[::1], witness=int64_t[::1], items=int64_t[::1], joined=cython.bint,
)
cpdef int64_t largest_of(
    const int64_t[::1] reviewer, const int64_t[::1] item, const uint8_t[::1] required, int64_t n_reviewers,
    int64_t shared
)
