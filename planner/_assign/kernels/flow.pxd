cimport cython
from libc.stdint cimport int64_t, uint8_t

cdef int64_t FAR, NEVER, DONE

cdef class Network:
    cdef const int64_t[::1] item, reviewer, item_start
    cdef uint8_t[::1] assigned
    cdef const uint8_t[::1] locked
    cdef uint8_t[::1] leaving
    cdef const int64_t[::1] held_start
    cdef int64_t[::1] n_held, held
    cdef const int64_t[::1] panel_start
    cdef int64_t[::1] n_panel, panel
    cdef const int64_t[::1] least
    cdef int64_t[::1] potential

cdef void drop(Network net, int64_t p) noexcept nogil
cdef void take(Network net, int64_t p) noexcept nogil
cpdef void flip(Network net, const int64_t[::1] pairs)

@cython.locals(changed=cython.bint)
cpdef bint lower_potentials(Network net, const int64_t[::1] cost)

cdef class Work:
    cdef const int64_t[::1] cost
    cdef readonly int64_t[::1] dist
    cdef int64_t[::1] via_node, via_pair
    cdef readonly int64_t[::1] heap, place
    cdef int64_t[::1] finished
    cdef readonly int64_t[::1] path
    cdef int64_t[::1] toward
    cdef public int64_t size
    cdef int64_t pair, source, target, limit
    cdef bint cut, closed

cdef bint nearer(Work work, int64_t a, int64_t b) noexcept nogil
cpdef void sift_up(Work work, int64_t slot) noexcept nogil
cpdef int64_t pop_heap(Work work) noexcept nogil
cdef void reach(Network net, Work work, int64_t u, int64_t v, int64_t pair, int64_t arc) noexcept nogil
@cython.locals(some=cython.bint)
cdef bint look_ahead(Network net, Work work) noexcept nogil
cdef void forget(Network net, Work work) noexcept nogil
cdef void leave_sink(Network net, Work work, int64_t sink) noexcept nogil
cdef void leave_item(Network net, Work work, int64_t item) noexcept nogil
cdef void leave_reviewer(Network net, Work work, int64_t node) noexcept nogil
cdef int64_t search(Network net, Work work) noexcept nogil
cdef int64_t trace(Work work) noexcept nogil
cpdef int64_t cheapest_path(Network net, Work work, int64_t pair, int64_t limit)
