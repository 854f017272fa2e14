<%def name="syncthreads_count(h)">
${h.inline} int ${h.name}(int* cell, int condition) {
    ${h.barrier}
    if (pg_item().get_local_linear_id() == 0) *cell = 0;
    ${h.local_barrier}
    if (condition) pg_atomic_local<int>(*cell).fetch_add(1);
    ${h.local_barrier}
    int count = *cell;
    ${h.local_barrier}
    return count;
}
</%def>
