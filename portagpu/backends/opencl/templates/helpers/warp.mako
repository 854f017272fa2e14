<%def name="own(h)">${"value" if h.unsigned == h.type else f"as_{h.unsigned}(value)"}</%def>
<%def name="shuffled(target, source)">\
    if (mode == 0) asm volatile("shfl.sync.idx.b32 %0, %1, %2, 31, %3;" : "=r"(${target}) : "r"(${source}), "r"(lane_or_delta), "r"(mask) : "memory");
    else if (mode == 1) asm volatile("shfl.sync.up.b32 %0, %1, %2, 0, %3;" : "=r"(${target}) : "r"(${source}), "r"(lane_or_delta), "r"(mask) : "memory");
    else if (mode == 2) asm volatile("shfl.sync.down.b32 %0, %1, %2, 31, %3;" : "=r"(${target}) : "r"(${source}), "r"(lane_or_delta), "r"(mask) : "memory");
    else asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 31, %3;" : "=r"(${target}) : "r"(${source}), "r"(lane_or_delta), "r"(mask) : "memory");\
</%def>
<%def name="warp_shuffle_ptx(h)">
static inline ${h.type} ${h.name}(uint mask, ${h.type} value, uint lane_or_delta, int mode) {
% if h.width == 64:
    const ulong bits = ${own(h)};
    uint low = (uint)bits, high = (uint)(bits >> 32), first, second;
${shuffled("first", "low")}
${shuffled("second", "high")}
    return as_${h.type}((ulong)second << 32 | first);
% else:
    const uint bits = (uint)${own(h)};
    uint result;
${shuffled("result", "bits")}
    return as_${h.type}((${h.unsigned})result);
% endif
}
</%def>
<%def name="vote_ptx(h, instruction)">
static inline uint ${h.name}(uint mask, uint condition) {
    uint result;
    asm volatile("{ .reg .pred p, q; setp.ne.u32 p, %1, 0; vote.sync.${instruction}.pred q, p, %2; selp.u32 %0, 1, 0, q; }"
                 : "=r"(result) : "r"(condition), "r"(mask) : "memory");
    return result;
}
</%def>
<%def name="warp_all_ptx(h)">${vote_ptx(h, "all")}</%def>
<%def name="warp_any_ptx(h)">${vote_ptx(h, "any")}</%def>
<%def name="warp_eq_ptx(h)">${vote_ptx(h, "uni")}</%def>
<%def name="warp_ballot_ptx(h)">
static inline uint ${h.name}(uint mask, uint condition) {
    uint result;
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; vote.sync.ballot.b32 %0, p, %2; }"
                 : "=r"(result) : "r"(condition), "r"(mask) : "memory");
    return result;
}
</%def>
<%def name="warp_active_ptx(h)">
static inline uint ${h.name}(void) {
    uint result;
    asm volatile("activemask.b32 %0;" : "=r"(result));
    return result;
}
</%def>
<%def name="match_ptx(h, instruction, predicate)">
static inline uint ${h.name}(uint mask, ${h.type} value) {
    uint result;
% if h.width == 64:
    asm volatile("{ .reg .pred p; match.${instruction}.sync.b64 %0${predicate}, %1, %2; }"
                 : "=r"(result) : "l"((ulong)${own(h)}), "r"(mask) : "memory");
% else:
    asm volatile("{ .reg .pred p; match.${instruction}.sync.b32 %0${predicate}, %1, %2; }"
                 : "=r"(result) : "r"((uint)${own(h)}), "r"(mask) : "memory");
% endif
    return result;
}
</%def>
<%def name="warp_match_any_ptx(h)">${match_ptx(h, "any", "")}</%def>
<%def name="warp_match_all_ptx(h)">${match_ptx(h, "all", "|p")}</%def>
<%def name="warp_match_bits_ptx(h)">
<%
    bits = int(h.variant)
    pairs = [range(low, min(low + 2, bits)) for low in range(0, bits, 2)]
%>\
static inline uint ${h.name}(uint mask, uint value) {
    uint result;
    asm volatile("{ .reg .pred p; .reg .b32 v0, v1; mov.b32 %0, %2;"
% for pair in pairs:
% for bit in pair:
                 " and.b32 v${bit % 2}, %1, ${1 << bit}; setp.ne.u32 p, v${bit % 2}, 0;"
                 " vote.sync.ballot.b32 v${bit % 2}, p, %2; @!p not.b32 v${bit % 2}, v${bit % 2};"
% endfor
                 " ${"and.b32 %0, %0, v0;" if len(pair) == 1 else "lop3.b32 %0, %0, v0, v1, 0x80;"}"
% endfor
                 " }" : "=&r"(result) : "r"(value), "r"(mask) : "memory");
    return result;
}
</%def>
<%def name="warp_grid_sync(h)">
<% fence = "fence.acq_rel.gpu" if h.variant else "membar.gl" %>\
static inline void ${h.name}(volatile __global uint* cells) {
    ${h.barrier}
    if (get_local_id(0) == 0 && get_local_id(1) == 0 && get_local_id(2) == 0) {
        const uint blocks = (uint)(get_num_groups(0) * get_num_groups(1) * get_num_groups(2));
        const bool first = get_group_id(0) == 0 && get_group_id(1) == 0 && get_group_id(2) == 0;
        asm volatile("${fence};" ::: "memory");
        // when all have come, the highest bit has changed and the others are zero again
        const uint before = atomic_add(cells, first ? 0x80000000u - (blocks - 1) : 1u);
        while (((cells[0] ^ before) & 0x80000000u) == 0) {}
        asm volatile("${fence};" ::: "memory");
    }
    ${h.barrier}
}
</%def>
