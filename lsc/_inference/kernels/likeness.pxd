cimport cython
from libc.math cimport log, log1p
from libc.stdint cimport int32_t, int64_t

from lsc._inference.kernels.step cimport LEAST_CAVITY

@cython.locals(
    start="const int64_t[::1]", item="const int32_t[::1]", site_precision="double[::1]", site_shift="double[::1]",
    item_precision="const double[::1]", item_shift="const double[::1]", sum_precision="double[::1]",
    sum_shift="double[::1]", gauge_centre=double, gauge_spread=double, mean="double[::1]", variance="double[::1]",
)
cpdef (double, double) step_likeness(
    part, sites, items, double prior, double strength, gauge, double damping, sums
)
