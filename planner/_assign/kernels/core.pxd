cimport cython
from libc.stdint cimport int64_t, uint8_t

from planner._assign.kernels.flow cimport FAR, Network

cdef class Parts:
    cdef int64_t[::1] label
    cdef uint8_t[::1] covered
    cdef int64_t[::1] witness
    cdef readonly int64_t core, count

cdef class Lists:
    cdef int64_t[::1] held_start, held, panel_start, panel

@cython.locals(
    item=int64_t[::1], reviewer=int64_t[::1], held_start=int64_t[::1], held=int64_t[::1], panel_start=int64_t[::1],
    panel=int64_t[::1], size=int64_t,
)
cpdef Lists lists_of(Network net, const int64_t[::1] more, int64_t without)
cdef void sort_by(
    int64_t[::1] owner, int64_t[::1] thing, int64_t size, int64_t[::1] start, int64_t[::1] things
) noexcept nogil
@cython.locals(
    last=int64_t[::1], following=int64_t[::1], covers=int64_t[::1], covered_in=int64_t[::1], met_in=int64_t[::1],
    items=int64_t[::1], joined=cython.bint,
)
cpdef void find_parts(Parts parts, Lists lists, const uint8_t[::1] required, int64_t shared)
cdef void mark_core(Parts parts, Lists lists) noexcept nogil

cdef class Steps:
    cdef readonly int64_t[::1] weight, best, best_item, second

cpdef void find_weights(Network net, Parts parts, const uint8_t[::1] required, Steps steps)
cpdef void find_steps(Network net, const int64_t[::1] cost, Parts parts, int64_t floor, Steps steps)
@cython.locals(outside=cython.bint, direct=int64_t)
cpdef void rate_pairs(
    Network net, const int64_t[::1] cost, Parts parts, const uint8_t[::1] required, int64_t shared,
    int64_t floor, Steps steps, int64_t[::1] loss, int64_t[::1] follow, int64_t[::1] gain
)
