from libc.stdint cimport int64_t, uint8_t, uint32_t

ctypedef fused parent_t:
    int64_t
    uint32_t

ctypedef fused code_t:
    int64_t
    uint32_t

cdef int64_t find(parent_t[::1] parent, int64_t vertex) noexcept nogil
cdef bint unite(parent_t[::1] parent, int64_t a, int64_t b) noexcept nogil
cpdef void union_ends(int64_t[::1] parent, const int64_t[::1] left, const int64_t[::1] right)
cpdef void union_chunk(
    parent_t[::1] parent, int64_t first, const int64_t[::1] start, int64_t items, const code_t[::1] item
)
cpdef void point_at_roots(parent_t[::1] parent)
cpdef void grow_cover(uint8_t[::1] covered, const int64_t[::1] start, const uint32_t[::1] item)
