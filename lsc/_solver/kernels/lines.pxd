cimport cython
from libc.math cimport INFINITY, sqrt
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t

from lsc._solver.kernels.projections cimport LINEAR, Face, Levels, Table, distances, project_bent, project_chains
from reviewgraph.graph.kernels.union_find cimport code_t

cdef class Common:
    cdef readonly const double[::1] degree, tilt
    cdef readonly double spread, reviews, lower, upper

cdef class Gradients:
    cdef readonly double[::1] fit, line, tilt, anchor

cdef class Descent:
    cdef readonly double[::1] inverse, residual, search, image, direction
    cdef readonly double rho, beta

cdef class Part:
    cdef readonly const int64_t[::1] start
    cdef readonly const uint16_t[::1] block
    cdef readonly const double[::1] unit
    cdef readonly const uint16_t[::1] place
    cdef readonly const double[::1] floor, ceiling
    cdef readonly const int64_t[::1] slot
    cdef readonly int64_t size

@cython.locals(free=cython.bint)
cpdef (double, bint, double, double) combine(
    Common common, const uint8_t[::1] fixed, double squares, double line, double line_weight, double common_weight,
    Gradients gradients, const double[::1] x, double[::1] gradient
)
@cython.locals(with_lines=cython.bint)
cpdef (double, double, bint, double, double) evaluate(
    Table table, Face face, Levels levels, Common common, const uint8_t[::1] fixed, double line_weight,
    double common_weight, Gradients gradients, const double[::1] x, double[::1] perceived, double[::1] gradient
)

cpdef void common_diagonal(Common common, bint common_free, double common_weight, double[::1] diagonal)
cpdef double start_descent(
    Descent vectors, const uint8_t[::1] fixed, const double[::1] gradient, int64_t first, int64_t last
)
cpdef (double, double, double) common_image(
    Common common, bint common_free, double common_weight, double squares, double mean, double slope
) noexcept nogil
cpdef (double, double, double) update_search(
    Descent vectors, Common common, double common_weight, double beta, int64_t first, int64_t last
)
cpdef double take_step(
    Descent vectors, Common common, double alpha, double mean, double slope, int64_t first, int64_t last
)

cdef double multiply_lines(Table table, Face face, Descent vectors)
cpdef void start_lines(
    Table table, Face face, Common common, bint common_free, double common_weight, const uint8_t[::1] fixed,
    const double[::1] gradient, Descent vectors
)
cpdef int64_t descend_lines(
    Table table, Face face, Common common, bint common_free, double common_weight, Descent vectors, double tolerance,
    int64_t max_steps
)

cpdef void write_places(
    const uint32_t[::1] item, const uint16_t[::1] block, int64_t[::1] cursor, int64_t size, uint16_t[::1] place
)
cpdef void gather(Part part, const double[::1] x, double[::1] slots)
cpdef void scatter_add(Part part, const double[::1] slots, double[::1] out)
@cython.locals(value=cython.double[::1], slot=int64_t[::1])
cpdef double line_residuals(Part part, uint8_t[::1] slope_free, bint fit, double[::1] slots, int64_t[::1] cursor)
cpdef double line_diagonal(
    Part part, const uint8_t[::1] slope_free, bint fit, double[::1] slots, int64_t[::1] cursor
)

cpdef void keep_shared(
    const int64_t[::1] start, const code_t[::1] item, const double[::1] score, const int64_t[::1] degree,
    uint8_t[::1] keep, int64_t[::1] first
)
cpdef void extrapolate_singles(
    const int64_t[::1] start, const code_t[::1] item, const double[::1] score, const uint8_t[::1] keep,
    const double[::1] lower, const double[::1] upper, double[::1] quality
)
