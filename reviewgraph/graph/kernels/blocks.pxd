cimport cython
from libc.stdint cimport int64_t, uint8_t

from reviewgraph.graph.kernels.signals cimport heed

cdef int64_t EMPTY, ENTERED, ABSORBED, PUT, LOOKED_AT

# Those that need memory return -1 after an exception: there is none, or Ctrl-C was pressed while Python made room.
@cython.final
cdef class Blocks:
    cdef public const int64_t[::1] degree
    cdef public int64_t[::1] reviewer, item, parent, fellow, first, length, weight, covered, following, top, beside
    cdef public int64_t[::1] table, brought, shared_u, shared_v, trail, queue, seen, met
    cdef public uint8_t[::1] queued, waits
    cdef public int64_t size, added_from, n_trail, scans, filled, steps
    cdef int64_t n_queue, compared

    cpdef int64_t add(self, int64_t reviewer, int64_t thing) except -1 nogil
    cpdef int64_t enter(self, int64_t review) except -1 nogil
    cpdef void undo(self, int64_t until) noexcept nogil
    @cython.locals(joined=cython.bint)
    cpdef void enter_rows(self)
    cdef int64_t enter_row(self, int64_t low, int64_t high, bint joined) except -1 nogil
    cdef int64_t meet(self, int64_t block, int64_t thing) noexcept nogil
    cpdef int64_t root_of(self, int64_t reviewer) noexcept nogil
    cpdef int64_t bringer(self, int64_t block, int64_t thing) noexcept nogil
    cdef int64_t place_of(self, int64_t key) noexcept nogil
    cdef void note(self, int64_t step) noexcept nogil
    cdef bint cover(self, int64_t block, int64_t review) except -1 nogil
    cdef int64_t enlarge(self) except -1 nogil
    cdef int64_t lengthen(self) except -1 nogil
    cdef void wait(self, int64_t review) noexcept nogil
    cdef int64_t compare(self) except -1 nogil
    cdef int64_t scan_holders(self, int64_t block, int64_t thing) except -1 nogil
    @cython.locals(begun=cython.bint)
    cdef int64_t scan_others(self, int64_t block, int64_t thing) except -1 nogil
    cdef int64_t second_shared(self, int64_t a, int64_t b, int64_t thing) noexcept nogil
    cdef int64_t absorb(self, int64_t a, int64_t b, int64_t u, int64_t v) except -1 nogil
    cdef void join(self, int64_t a, int64_t b, int64_t sign) noexcept nogil
    cdef void add_to_lists(self, int64_t block, int64_t review) noexcept nogil

cdef int64_t slot_of(int64_t key, int64_t size) noexcept nogil

cdef class Units:
    cdef readonly const int64_t[::1] start, review

cdef class Losses:
    cdef const uint8_t[::1] required
    cdef readonly int64_t[::1] missing
    cdef int64_t[::1] count
    cdef int64_t total

cdef int64_t enter_units(
    Blocks blocks, Units units, const int64_t[::1] order, int64_t low, int64_t high
) except -1 nogil
cpdef void enter_all(Blocks blocks, Units units, const int64_t[::1] order)
cdef void need(Blocks blocks, int64_t review, uint8_t[::1] needed, uint8_t[::1] wanted) noexcept nogil
cdef bint covers(Blocks blocks, int64_t block, const uint8_t[::1] required) noexcept nogil
cpdef bint certify(Blocks blocks, const uint8_t[::1] required, uint8_t[::1] needed, uint8_t[::1] wanted)
cdef int64_t most_covered(Blocks blocks, Losses losses) noexcept nogil
cdef int64_t divide(
    Blocks blocks, Units units, Losses losses, const int64_t[::1] order, int64_t low, int64_t high, int64_t most,
    object check
) except -1 nogil
@cython.locals(most=int64_t)
cpdef void divide_all(Blocks blocks, Units units, Losses losses, const int64_t[::1] order, object check)
