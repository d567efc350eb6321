cimport cython
from libc.math cimport fabs, isfinite
from libc.stdint cimport int64_t

cdef enum:
    LINEAR = 0
    MONOTONE = 1
    CONVEX = 2

cdef class Violations:
    cdef double[::1] point, height, push, rise, step, total, force, reach
    cdef readonly double primal, dual, gap

cpdef void add_reviewers(
    const int64_t[::1] start, const int64_t[::1] item, const double[::1] score, const int64_t[::1] shape,
    const double[::1] lower, const double[::1] upper, const double[::1] quality, const double[::1] perceived,
    Violations state
)
cdef void add_steps(int64_t levels, int64_t shape, double lower, double upper, Violations state) noexcept nogil
cdef void add_bounded(double force, double step, double low, double high, Violations state) noexcept nogil
cdef void add_ramps(int64_t count, bint backward, double lower, Violations state) noexcept nogil
