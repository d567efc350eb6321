cimport cython
from libc.stdint cimport int8_t, int32_t, int64_t

cdef int64_t LOW_BITS

cdef class Piece:
    cdef readonly const int64_t[::1] start, item, own_start, own

cdef class Desk:
    cdef int64_t[::1] inside, covered, shared, trail, covers, near
    cdef readonly int64_t members
    cdef int64_t items, neighbours
    cdef public int64_t steps

cdef class Pool:
    cdef readonly int32_t[::1] member
    cdef readonly int64_t[::1] begin
    cdef readonly int32_t[::1] parent, added
    cdef readonly int8_t[::1] absorbed
    cdef int32_t[::1] table
    cdef public int64_t groups
    cdef readonly int64_t last_parent, last_added
    cdef readonly bint found, full

cdef class Postings:
    cdef const int64_t[::1] start, group
    cdef int64_t[::1] hits, last
    cdef int64_t stamp

cdef void take_in(Piece piece, Desk desk, int64_t done) noexcept nogil
cdef void put(Desk desk, int64_t component) noexcept nogil
cpdef int64_t add(Piece piece, Desk desk, int64_t component) noexcept nogil
cdef void take_back(Piece piece, Desk desk, int64_t members, int64_t items, int64_t neighbours) noexcept nogil
cpdef void lay_out(Piece piece, Desk desk, Pool pool, int64_t group) noexcept nogil
@cython.locals(mixed=int64_t)
cdef int64_t spot_of(Pool pool, int64_t group) noexcept nogil
cdef void refill(Pool pool) noexcept nogil
cdef void put_in_order(Pool pool, int64_t low, int64_t high) noexcept nogil
cdef bint keep(Desk desk, Pool pool, int64_t parent, int64_t added, int64_t absorbed) noexcept nogil
cdef bint ends(
    Desk desk, Pool into, int64_t parent, int64_t added, int64_t absorbed, bint store
) noexcept nogil
cpdef int64_t extend(Piece piece, Desk desk, Pool pool, Pool into, bint store, int64_t first, int64_t work)
cpdef int64_t gains(
    Piece piece, Desk desk, Pool pool, int64_t[::1] parent, int64_t[::1] added, int64_t[::1] cover
)
cpdef void make(
    Piece piece, Desk desk, Pool pool, Pool into, const int64_t[::1] parent, const int64_t[::1] added
)
cdef int64_t overlap(Piece piece, Desk desk, Pool pool, int64_t group) noexcept nogil
cpdef int64_t unite(
    Piece piece, Desk desk, Pool pool, Pool small, Pool earlier, Postings postings, Pool into, int64_t price,
    bint store, int64_t first, int64_t work
)
