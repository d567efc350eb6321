from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int64_t

cdef int64_t OFTEN

cdef int64_t heed(int64_t step) except -1 nogil
