cimport cython
from libc.math cimport INFINITY, fabs
from libc.stdint cimport int64_t, uint8_t, uint32_t

cdef enum:
    LINEAR = 0
    MONOTONE = 1
    CONVEX = 2
    CONCAVE = 3
    IDLE = 4

cdef double ROUNDING

cdef class Table:
    cdef readonly const int64_t[::1] start
    cdef readonly const uint32_t[::1] item
    cdef readonly const double[::1] score, unit, norm
    cdef readonly const int64_t[::1] kind
    cdef readonly const double[::1] lower, upper

cdef class Face:
    cdef uint8_t[::1] changed
    cdef readonly uint8_t[::1] slope_free
    cdef int64_t[::1] end, bent, node
    cdef double[::1] share
    cdef int64_t[::1] nodes
    cdef double[::1] pivot, link
    cdef const int64_t[::1] begin
    cdef double[::1] block
    cdef uint8_t[::1] known

cdef class Levels:
    cdef readonly double[::1] score, value, weight, fit, share
    cdef readonly int64_t[::1] node, bent
    cdef readonly double[::1] change, coefficient, at, height, pivot, link
    cdef readonly int64_t[::1] level
    cdef readonly double[::1] quality, projection, gap

cdef int64_t fit_spline(int64_t n, Levels levels) noexcept nogil
@cython.locals(guessing=cython.bint)
cdef int64_t fit_concave(int64_t n, Levels levels) noexcept nogil
cdef void advance(int64_t start, int64_t n, double step, Levels levels) noexcept nogil
cdef int64_t entering(int64_t n, int64_t start, Levels levels) noexcept nogil
cpdef void project_chains(Table table, Face face, Levels levels, const double[::1] x, double[::1] perceived)
cdef int64_t read_levels(int64_t j, Table table, Face face, Levels levels) noexcept nogil
cdef void write_face(int64_t j, int64_t n, int64_t nodes, Table table, Face face, Levels levels) noexcept nogil
cdef void write_block(int64_t j, Table table, Face face, Levels levels) noexcept nogil
@cython.locals(bent=cython.bint)
cdef bint stays(int64_t j, Table table, Face face, Levels levels) noexcept nogil
cpdef void project_bent(Table table, Face face, Levels levels, const double[::1] x, double[::1] perceived)
@cython.locals(linear=cython.bint, free=cython.bint)
cpdef (double, double) distances(
    Table table, Face face, bint with_lines, const double[::1] x, double[::1] perceived, double[::1] fit_gradient,
    double[::1] line_gradient
)
