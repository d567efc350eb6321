cimport cython
from libc.stdint cimport int64_t, uint8_t

from planner._assign.kernels.flow cimport Network

cdef void sort_by(
    int64_t[::1] owner, int64_t[::1] thing, int64_t size, int64_t[::1] start, int64_t[::1] things
) noexcept nogil

@cython.locals(
    item=int64_t[::1], reviewer=int64_t[::1], held=int64_t[::1], panel=int64_t[::1], held_start=int64_t[::1],
    panel_start=int64_t[::1], label=int64_t[::1], last=int64_t[::1], following=int64_t[::1], covered_in=int64_t[::1],
    met_in=int64_t[::1], witness=int64_t[::1], items=int64_t[::1], size=int64_t, growth=int64_t, total=int64_t,
    most=int64_t, count=int64_t, joined=cython.bint, seed=int64_t, first=int64_t, member=int64_t,
)
cpdef int64_t largest_cover(
    Network net, const int64_t[::1] more, int64_t without, const uint8_t[::1] required, int64_t shared
)
