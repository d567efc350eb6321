cimport cython
from libc.math cimport M_PI as pi, exp, log, sqrt
from libc.stdint cimport int32_t, int64_t

from reviewgraph.graph.kernels.signals cimport heed

cdef enum:
    NODES = 11
    PADDED = 12
    LANES = 4
    PRODUCT = 8

cdef double REACH, SPACING, LEAST_PRECISION, MOST_PRECISION, LEAST_CAVITY, LEAST_SPREAD, MOST_SPREAD

cdef class Hyper:
    cdef readonly double mu, tau_left, tau_right, g0, g1, omega_square, rho, gamma, rounding, prior

cdef class State:
    cdef const int64_t[::1] start
    cdef const int32_t[::1] item
    cdef const double[::1] score, log_weight
    cdef double[::1] precision, shift, centre, spread
    cdef const double[::1] noise
    cdef const double[::1] item_precision, item_shift
    cdef double gauge_centre, gauge_spread

cdef class Sums:
    cdef double[::1] precision, shift

cdef class Columns:
    cdef double[::1] log_slope, log_slope_square, slope, slope_square, offset, offset_square, product
    cdef double[::1] below, below_sum, below_square, squares, information, rho, rho_curvature, gamma, gamma_curvature
    cdef double[::1] evidence

cdef class Work:
    cdef double[::1] score, factor, cavity, cavity_mean, cavity_variance
    cdef double[:, ::1] weight, residual
    cdef double[PADDED] log_slope, slope, noise, share, mean, variance, exponent, product, squares, information, trace
    cdef double[PADDED] of_mean, of_noise, of_slope, of_ratio

cdef Work workspace(load)
cdef double summed(double* term) noexcept nogil
@cython.locals(weighted=cython.bint)
cdef double read_reviewer(Work work, State state, Hyper hyper, int64_t first, int64_t k) noexcept nogil
cdef void place_nodes(Work work, Hyper hyper, double centre, double spread, double noise) noexcept nogil
cdef double weigh_nodes(Work work, Hyper hyper, int64_t k) noexcept nogil
@cython.locals(weighted=cython.bint)
cdef void tilt_papers(
    Work work, State state, Hyper hyper, double damping, Sums sums, Columns moments, int64_t first, int64_t k, int64_t j
) noexcept nogil
cdef void write_moments(Work work, Hyper hyper, double noise, Columns moments, int64_t k, int64_t j) noexcept nogil
cpdef void step_reviewers(part, sites, nodes, items, Hyper hyper, gauge, double damping, sums, moments)
@cython.locals(
    share="double[:, ::1]", slope="double[:, ::1]", noise="double[:, ::1]", offset="double[:, ::1]",
    offset_variance="double[:, ::1]",
)
cpdef void describe_reviewers(part, sites, nodes, items, Hyper hyper, gauge, at)
