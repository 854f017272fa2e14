<%def name="place()">\
    const int id = (int)((get_local_id(2) * get_local_size(1) + get_local_id(1)) * get_local_size(0) + get_local_id(0));
    const int lane = id & 31;
    const int threads = (int)(get_local_size(0) * get_local_size(1) * get_local_size(2));
    const int first = id - lane;
    const int lanes = min(32, threads - first);\
</%def>
<%def name="own(h)">${"value" if h.unsigned == h.type else f"as_{h.unsigned}(value)"}</%def>
<%def name="warp_shuffle(h)">
${h.inline} ${h.type} ${h.name}(__local ulong2* cells, ${h.type} value, uint lane_or_delta, int mode, bool here) {
${place()}
    cells[id] = (ulong2)((ulong)${own(h)}, (ulong)here);
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const int operand = (int)min(lane_or_delta, 64u);
    const int source = mode == 0 ? (int)(lane_or_delta & 31) : mode == 1 ? lane - operand : mode == 2 ? lane + operand : lane ^ (int)(lane_or_delta & 31);
    ${h.type} result = value;
    if (here && source >= 0 && source < lanes) {
        const ulong2 other = cells[first + source];
        if (other.y) result = as_${h.type}((${h.unsigned})other.x);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    return result;
}
</%def>
<%def name="warp_ballots(h)">
${h.inline} ulong ${h.name}(__local ulong2* cells, uint mask, bool condition, bool here) {
${place()}
    cells[id] = (ulong2)((ulong)(here && condition), (ulong)here);
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    uint present = 0, ballot = 0;
    for (int other = 0; other < lanes; other += 1) {
        const ulong2 cell = cells[first + other];
        present |= (uint)cell.y << other;
        ballot |= (uint)cell.x << other;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    return (ulong)(present & mask) << 32 | (ballot & mask);
}
</%def>
<%def name="warp_match(h)">
${h.inline} ulong ${h.name}(__local ulong2* cells, uint mask, ${h.type} value, bool here) {
${place()}
    const ulong own = (ulong)${own(h)};
    cells[id] = (ulong2)(own, (ulong)here);
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    uint present = 0, same = 0;
    for (int other = 0; other < lanes; other += 1) {
        const ulong2 cell = cells[first + other];
        present |= (uint)cell.y << other;
        same |= (uint)(cell.y != 0 && cell.x == own) << other;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    return (ulong)(present & mask) << 32 | (same & mask);
}
</%def>
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
<%def name="warp_grid_sync(h)">
static inline void ${h.name}(volatile __global uint* cells) {
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (get_local_id(0) == 0 && get_local_id(1) == 0 && get_local_id(2) == 0) {
        const uint blocks = (uint)(get_num_groups(0) * get_num_groups(1) * get_num_groups(2));
        asm volatile("membar.gl;" ::: "memory");
        const uint turn = atomic_or(cells + 1, 0u);
        if (atomic_inc(cells) == blocks - 1) {
            atomic_xchg(cells, 0u);
            asm volatile("membar.gl;" ::: "memory");
            atomic_inc(cells + 1);
        } else {
            while (atomic_or(cells + 1, 0u) == turn) {}
        }
        asm volatile("membar.gl;" ::: "memory");
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
}
</%def>
