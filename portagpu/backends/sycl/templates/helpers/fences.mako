<%def name="grid_sync(h)">
static inline void ${h.name}(uint* cells) {
    ${h.barrier}
    if (pg_item().get_local_linear_id() == 0) {
        const uint blocks = (uint)pg_item().get_group().get_group_linear_range();
        const bool first = pg_item().get_group_linear_id() == 0;
        sycl::atomic_fence(sycl::memory_order::seq_cst, sycl::memory_scope::device);
        // when all have come, the highest bit has changed and the others are zero again
        const uint before = pg_atomic_global<uint>(*cells).fetch_add(first ? 0x80000000u - (blocks - 1) : 1u);
        while (((pg_atomic_global<uint>(*cells).load() ^ before) & 0x80000000u) == 0) {}
        sycl::atomic_fence(sycl::memory_order::seq_cst, sycl::memory_scope::device);
    }
    ${h.barrier}
}
</%def>
