cimport cython
from libc.stdint cimport int64_t, uint8_t, uint32_t

from lsc._solver.kernels.lines cimport Common
from lsc._solver.kernels.projections cimport IDLE, LINEAR, MONOTONE, Face, Table
from reviewgraph.graph.kernels.union_find cimport find

cdef double WEAK_TIE, ROUNDING
cdef int64_t MAX_CLUSTER, CLASSES

cdef class System:
    cdef readonly const uint32_t[::1] first, column
    cdef const int64_t[::1] begin
    cdef const uint32_t[::1] slot, left, right, tie
    cdef double[::1] value, written, block, local, local_image, node
    cdef int64_t[::1] parent, order, position, stop
    cdef double[::1] inverse, cluster
    cdef double[::1] search, image
    cdef readonly double[::1] residual
    cdef double[::1] diagonal, inverse_diagonal
    cdef double line_weight, common_weight
    cdef int64_t clusters
    cdef readonly double squares
    cdef double rho, mean, slope

@cython.locals(stop=int64_t[::1], review=int64_t[::1], owner=int64_t[::1], where=int64_t[::1])
cpdef int64_t lay_out(
    Table table, const int64_t[::1] begin, uint32_t[::1] first, uint32_t[::1] column, uint32_t[::1] slot
)

cdef void write_line(
    int64_t start, int64_t size, double weight, double slope, Table table, System system
) noexcept nogil
cdef void add_chain(int64_t start, int64_t size, Face face, System system) noexcept nogil
cdef void add_heavy_diagonal(int64_t j, Table table, Face face, double line_weight, System system) noexcept nogil
@cython.locals(rebuild=cython.bint)
cpdef void assemble(
    Table table, Face face, Common common, double line_weight, double common_weight, System system,
    const uint8_t[::1] fixed
)
@cython.locals(linear=cython.bint)
cdef void multiply_reviewer(int64_t j, Table table, Face face, double line_weight, System system) noexcept nogil
cdef void multiply_heavy(Table table, Face face, double line_weight, System system) noexcept nogil
cdef double multiply(System system) noexcept nogil

@cython.locals(
    count=int64_t[::1], grade=uint32_t[::1], chosen=uint32_t[::1], ordered=uint32_t[::1], size=uint8_t[::1], c=int64_t
)
cdef void cluster_items(System system)
@cython.locals(number=int64_t[::1])
cdef int64_t number_clusters(System system)
@cython.locals(block=double[:, ::1], row_of_pivot=double[::1])
cdef void invert_blocks(System system)
cdef double precondition(System system, double[::1] out) noexcept nogil

cpdef void start_gradients(System system, Common common, bint clustered)
cpdef int64_t descend_gradients(
    Table table, Face face, Common common, bint common_free, System system, double tolerance, int64_t max_steps,
    double[::1] direction
)
