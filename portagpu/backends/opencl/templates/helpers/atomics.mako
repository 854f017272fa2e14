<%def name="seen_as_float(h)">\
% if h.is_float and h.space == "__local":
    ${h.fence}; // else one CPU compiler reads the float that this thread stored before the update
% endif
</%def>
<%def name="cas_loop(h, next)">
${h.inline} ${h.type} ${h.name}(volatile ${h.space} ${h.type}* place, ${h.type} operand) {
    volatile ${h.space} ${h.bits}* cell = (volatile ${h.space} ${h.bits}*)place;
    ${h.bits} seen = ${h.cas}(cell, 0, 0);
    ${h.bits} expected;
    do {
        expected = seen;
        ${h.type} old = as_${h.type}(expected);
        ${h.type} updated = ${next};
        if (as_${h.bits}(updated) == expected) break;
        seen = ${h.cas}(cell, expected, as_${h.bits}(updated));
    } while (seen != expected);
${seen_as_float(h)}\
    return as_${h.type}(expected);
}
</%def>
<%def name="atomic_add(h)">${cas_loop(h, "old + operand")}</%def>
<%def name="atomic_max(h)">${cas_loop(h, "isnan(old) || isnan(operand) ? old : fmax(old, operand)")}</%def>
<%def name="atomic_min(h)">${cas_loop(h, "isnan(old) || isnan(operand) ? old : fmin(old, operand)")}</%def>
<%def name="atomic_nanmax(h)">${cas_loop(h, "fmax(old, operand)")}</%def>
<%def name="atomic_nanmin(h)">${cas_loop(h, "fmin(old, operand)")}</%def>
<%def name="atomic_exch(h)">${cas_loop(h, "operand")}</%def>
<%def name="atomic_inc(h)">${cas_loop(h, "old >= operand ? 0 : old + 1")}</%def>
<%def name="atomic_dec(h)">${cas_loop(h, "old == 0 || old > operand ? operand : old - 1")}</%def>
<%def name="atomic_cas(h)">
${h.inline} ${h.type} ${h.name}(volatile ${h.space} ${h.type}* place, ${h.type} expected, ${h.type} updated) {
    volatile ${h.space} ${h.bits}* cell = (volatile ${h.space} ${h.bits}*)place;
    const ${h.type} old = as_${h.type}(${h.cas}(cell, as_${h.bits}(expected), as_${h.bits}(updated)));
${seen_as_float(h)}\
    return old;
}
</%def>
<%def name="atomic_add_native(h)">
${h.inline} ${h.type} ${h.name}(volatile ${h.space} ${h.type}* place, ${h.type} operand) {
    return atomic_fetch_add_explicit((volatile ${h.space} atomic_${h.type}*)place, operand, memory_order_relaxed, memory_scope_work_group);
}
</%def>
<%def name="atomic_add_ptx(h)">
${h.inline} ${h.type} ${h.name}(volatile ${h.space} ${h.type}* place, ${h.type} operand) {
    ${h.type} old;
% if h.space == "__local":
    asm volatile("atom.shared.add.${h.ptx} %0, [%1], %2;" : "=${h.register}"(old) : "l"(place), "${h.register}"(operand) : "memory");
% else:
    asm volatile("atom.global.add.${h.ptx} %0, [%1], %2;" : "=${h.register}"(old) : "l"(place), "${h.register}"(operand) : "memory");
% endif
    return old;
}
</%def>
<%def name="atomic_claim_fault(h)">
static inline int ${h.name}(__global long* record, int code) {
    if (atomic_cmpxchg((volatile __global int*)record, 0, code) != 0) return 0;
% for axis in range(3):
    record[${1 + axis}] = get_local_id(${axis});
    record[${4 + axis}] = get_group_id(${axis});
% endfor
    return 1;
}
</%def>
<%def name="volatile_load(h)">
${h.inline} ${h.type} ${h.name}(volatile ${h.space} ${h.type}* place) {
% if h.variant:
    ${h.type} found;
    asm volatile("ld.relaxed.gpu.global.${h.ptx} %0, [%1];" : "=${h.register}"(found) : "l"(place) : "memory");
    return found;
% else:
    return *place;
% endif
}
</%def>
<%def name="volatile_store(h)">
${h.inline} void ${h.name}(volatile ${h.space} ${h.type}* place, ${h.type} value) {
% if h.variant:
    asm volatile("st.relaxed.gpu.global.${h.ptx} [%0], %1;" : : "l"(place), "${h.register}"(value) : "memory");
% else:
    *place = value;
% endif
}
</%def>
