cimport cython
from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint8_t, uint32_t

from reviewgraph.graph.kernels.union_find cimport code_t

cdef class Common:
    cdef readonly const double[::1] degree, tilt
    cdef readonly double spread, reviews, lower, upper

cdef class Lines:
    cdef readonly const int64_t[::1] start
    cdef readonly const uint32_t[::1] item
    cdef readonly const double[::1] unit, floor, ceiling
    cdef readonly uint8_t[::1] slope_free, diagonal_free

cpdef double line_residuals(Lines lines, bint fit, const double[::1] x, double[::1] out)
cpdef void line_diagonal(Lines lines, double[::1] out)

cpdef (double, double) turn(
    double beta, Common common, const double[::1] unit, const double[::1] residual, double[::1] search,
    double[::1] along
)
cpdef double add_common(
    double weight, double mean, double slope, Common common, const double[::1] unit, const double[::1] along,
    double[::1] image
)
cpdef double advance(
    double step, const double[::1] search, const double[::1] image, double[::1] direction, double[::1] residual
)

cpdef void keep_shared(
    const int64_t[::1] start, const code_t[::1] item, const double[::1] score, const int64_t[::1] degree,
    uint8_t[::1] keep, int64_t[::1] first
)
cpdef void extrapolate_singles(
    const int64_t[::1] start, const code_t[::1] item, const double[::1] score, const uint8_t[::1] keep,
    const double[::1] lower, const double[::1] upper, double[::1] quality
)
