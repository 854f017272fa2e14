<%def name="place()">\
    // what the rows before have comes first, in 32 bits: compilers for CPUs then see that neighbours' numbers are, too
    const int row = ((int)get_local_id(2) * (int)get_local_size(1) + (int)get_local_id(1)) * (int)get_local_size(0);
    const int id = row + (int)get_local_id(0);
    const int lane = id & 31;
    const int first = id - lane;
    const int lanes = min(32, (int)(get_local_size(0) * get_local_size(1) * get_local_size(2)) - first);\
</%def>
<%def name="own(h)">${"value" if h.unsigned == h.type else f"as_{h.unsigned}(value)"}</%def>
<%def name="warp_shuffle(h)">${shuffle(h, some=False)}</%def>
<%def name="warp_shuffle_some(h)">${shuffle(h, some=True)}</%def>
<%def name="shuffle(h, some)">
${h.inline} ${h.type} ${h.name}(__local ulong* cells, __local uchar* flags, ${h.type} value, uint lane_or_delta, int mode${", bool here" if some else ""}) {
${place()}
    __local ${h.unsigned}* values = (__local ${h.unsigned}*)cells;
    values[id] = ${own(h)};
% if some:
    flags[id] = here;
% endif
    ${h.barrier}
    const int operand = mode == 1 || mode == 2 ? (int)min(lane_or_delta, 64u) : (int)(lane_or_delta & 31);
    const int from = mode == 0 ? operand : mode == 1 ? lane - operand : mode == 2 ? lane + operand : lane ^ operand;
    const int source = mode == 0 ? first + operand : mode == 1 ? id - operand : mode == 2 ? id + operand : id ^ operand;
    ${h.type} result = value;
% if some:
    if (from >= 0 && from < lanes) {
        const ${h.type} passed = as_${h.type}(values[source]);
        result = flags[source] ? passed : value; // what is chosen where a thread is not here itself, nobody reads
    }
% else:
    if (from >= 0 && from < lanes) result = as_${h.type}(values[source]);
% endif
    return result;
}
</%def>
<%def name="bytes_of_warp()">\
    // a byte for each thread, eight at once: a product moves their bits into its upper byte
    __local const ulong* bytes = (__local const ulong*)(flags + first);\
</%def>
<%def name="every_lane()">lanes < 32 ? (1u << lanes) - 1 : 0xFFFFFFFF</%def>
<%def name="gathered(name, bit)">\
    uint ${name} = 0;
% for k in range(4):
    ${name} |= (uint)((bytes[${k}] ${f">> {bit} " if bit else ""}& 0x0101010101010101ul) * 0x0102040810204080ul >> 56) << ${8 * k};
% endfor
    ${name} &= ${every_lane()};\
</%def>
<%def name="warp_ballots(h)">
${h.inline} ulong ${h.name}(__local ulong* cells, __local uchar* flags, uint mask, bool condition) {
${place()}
    flags[id] = condition;
    ${h.barrier}
${bytes_of_warp()}
${gathered("ballot", 0)}
    const uint present = ${every_lane()};
    return (ulong)(present & mask) << 32 | (ballot & mask);
}
</%def>
<%def name="warp_ballots_some(h)">
${h.inline} ulong ${h.name}(__local ulong* cells, __local uchar* flags, uint mask, bool condition, bool here) {
${place()}
    flags[id] = here ? condition ? 3 : 1 : 0;
    ${h.barrier}
${bytes_of_warp()}
${gathered("present", 0)}
${gathered("ballot", 1)}
    return (ulong)(present & mask) << 32 | (ballot & mask);
}
</%def>
<%def name="warp_match(h)">${match(h, some=False)}</%def>
<%def name="warp_match_some(h)">${match(h, some=True)}</%def>
<%def name="match(h, some)">
${h.inline} ulong ${h.name}(__local ulong* cells, __local uchar* flags, uint mask, ${h.type} value${", bool here" if some else ""}) {
${place()}
    const ${h.unsigned} own = ${own(h)};
    __local ${h.unsigned}* values = (__local ${h.unsigned}*)cells;
    values[id] = own;
% if some:
    flags[id] = here;
% endif
    ${h.barrier}
    uint same = 0;
    for (int other = 0; other < 32; other += 1) same |= (uint)(values[first + other] == own) << other;
% if some:
${bytes_of_warp()}
${gathered("present", 0)}
% else:
    const uint present = ${every_lane()};
% endif
    return (ulong)(present & mask) << 32 | (same & present & mask);
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
