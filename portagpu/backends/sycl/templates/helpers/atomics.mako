<%def name="cell(h)">pg_atomic_${h.space_word}<${h.bits}> cell(*(${h.bits}*)place);</%def>
<%def name="cas_loop(h, next)">
<% bits_of, value_of = (lambda text: h.language.bits_as(h.bits, text)), (lambda text: h.language.bits_as(h.type, text)) %>\
${h.inline} ${h.type} ${h.name}(${h.type}* place, ${h.type} operand) {
    ${cell(h)}
    ${h.bits} expected = cell.load(), desired;
    do {
        const ${h.type} old = ${value_of("expected")};
        const ${h.type} updated = ${next};
        desired = ${bits_of("updated")};
    } while (desired != expected && !cell.compare_exchange_strong(expected, desired));
    return ${value_of("expected")};
}
</%def>
<%def name="atomic_max(h)">${cas_loop(h, "isnan(old) || isnan(operand) ? old : fmax(old, operand)")}</%def>
<%def name="atomic_min(h)">${cas_loop(h, "isnan(old) || isnan(operand) ? old : fmin(old, operand)")}</%def>
<%def name="atomic_nanmax(h)">${cas_loop(h, "fmax(old, operand)")}</%def>
<%def name="atomic_nanmin(h)">${cas_loop(h, "fmin(old, operand)")}</%def>
<%def name="atomic_inc(h)">${cas_loop(h, "old >= operand ? 0 : old + 1")}</%def>
<%def name="atomic_dec(h)">${cas_loop(h, "old == 0 || old > operand ? operand : old - 1")}</%def>
<%def name="atomic_cas(h)">
${h.inline} ${h.type} ${h.name}(${h.type}* place, ${h.type} expected, ${h.type} updated) {
    ${cell(h)}
    ${h.bits} old = ${h.language.bits_as(h.bits, "expected")};
    cell.compare_exchange_strong(old, ${h.language.bits_as(h.bits, "updated")});
    return ${h.language.bits_as(h.type, "old")};
}
</%def>
<%def name="atomic_claim_fault(h)">
static inline int ${h.name}(long* record, int code) {
    int none = 0;
    if (!pg_atomic_global<int>(*(int*)record).compare_exchange_strong(none, code)) return 0;
% for axis in range(3):
    record[${1 + axis}] = (long)${h.language.local_id(axis)};
    record[${4 + axis}] = (long)${h.language.group_id(axis)};
% endfor
    return 1;
}
</%def>
