from libc.stdint cimport int64_t

cdef class Rounding:
    cdef const int64_t[::1] tail, head
    cdef int64_t[::1] part
    cdef const int64_t[::1] start
    cdef int64_t[::1] arc, first
    cdef const double[::1] chance
    cdef int64_t[::1] path, sign, nodes, place
    cdef int64_t units, cycles

cdef int64_t next_arc(Rounding state, int64_t node, int64_t entered) noexcept nogil
cdef void push(Rounding state, int64_t begin, int64_t end) noexcept nogil
cdef void round_from(Rounding state, int64_t root) noexcept nogil
cpdef void round_cycles(Rounding state)
