cimport cython
from libc.stdint cimport int64_t, uint8_t, uint32_t

cdef class Common:
    cdef readonly const double[::1] degree, tilt
    cdef readonly double spread, reviews, lower, upper

cdef class Lines:
    cdef readonly const int64_t[::1] start
    cdef readonly const uint32_t[::1] item
    cdef readonly const double[::1] unit, floor, ceiling
    cdef readonly uint8_t[::1] slope_free, diagonal_free

cpdef double line_residuals(Lines lines, bint fit, const double[::1] x, double[::1] out)
