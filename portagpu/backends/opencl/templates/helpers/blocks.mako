<%def name="syncthreads_count(h)">
${h.inline} int ${h.name}(__local int* cell, int condition) {
    ${h.barrier}
    if (get_local_id(0) == 0 && get_local_id(1) == 0 && get_local_id(2) == 0) *cell = 0;
    ${h.local_barrier}
    if (condition) atomic_inc(cell);
    ${h.local_barrier}
    int count = *cell;
    ${h.local_barrier}
    return count;
}
</%def>
