<%def name="place(h)">\
<% size, id = h.language.local_size, h.language.local_id %>\
    // what the rows before have comes first, in 32 bits: compilers for CPUs then see that neighbours' numbers are, too
    const int row = ((int)${id(2)} * (int)${size(1)} + (int)${id(1)}) * (int)${size(0)};
    const int id = row + (int)${id(0)};
    const int lane = id & 31;
    const int first = id - lane;
    const int lanes = min(32, (int)(${size(0)} * ${size(1)} * ${size(2)}) - first);\
</%def>
<%def name="own(h)">${"value" if h.unsigned == h.type else h.language.bits_as(h.unsigned, "value")}</%def>
<%def name="warp_shuffle(h)">${shuffle(h, some=False)}</%def>
<%def name="warp_shuffle_some(h)">${shuffle(h, some=True)}</%def>
<%def name="shuffle(h, some)">
${h.inline} ${h.type} ${h.name}(${h.local}ulong* cells, ${h.local}uchar* flags, ${h.type} value, uint lane_or_delta, int mode${", bool here" if some else ""}) {
${place(h)}
    ${h.local}${h.unsigned}* values = (${h.local}${h.unsigned}*)cells;
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
        const ${h.type} passed = ${h.language.bits_as(h.type, "values[source]")};
        result = flags[source] ? passed : value; // what is chosen where a thread is not here itself, nobody reads
    }
% else:
    if (from >= 0 && from < lanes) result = ${h.language.bits_as(h.type, "values[source]")};
% endif
    return result;
}
</%def>
<%def name="bytes_of_warp(h)">\
    // a byte for each thread, eight at once: a product moves their bits into its upper byte
    ${h.local}const ulong* bytes = (${h.local}const ulong*)(flags + first);\
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
${h.inline} ulong ${h.name}(${h.local}ulong* cells, ${h.local}uchar* flags, uint mask, bool condition) {
${place(h)}
    flags[id] = condition;
    ${h.barrier}
${bytes_of_warp(h)}
${gathered("ballot", 0)}
    const uint present = ${every_lane()};
    return (ulong)(present & mask) << 32 | (ballot & mask);
}
</%def>
<%def name="warp_ballots_some(h)">
${h.inline} ulong ${h.name}(${h.local}ulong* cells, ${h.local}uchar* flags, uint mask, bool condition, bool here) {
${place(h)}
    flags[id] = here ? condition ? 3 : 1 : 0;
    ${h.barrier}
${bytes_of_warp(h)}
${gathered("present", 0)}
${gathered("ballot", 1)}
    return (ulong)(present & mask) << 32 | (ballot & mask);
}
</%def>
<%def name="warp_match(h)">${match(h, some=False)}</%def>
<%def name="warp_match_some(h)">${match(h, some=True)}</%def>
<%def name="match(h, some)">
${h.inline} ulong ${h.name}(${h.local}ulong* cells, ${h.local}uchar* flags, uint mask, ${h.type} value${", bool here" if some else ""}) {
${place(h)}
    const ${h.unsigned} own = ${own(h)};
    ${h.local}${h.unsigned}* values = (${h.local}${h.unsigned}*)cells;
    values[id] = own;
% if some:
    flags[id] = here;
% endif
    ${h.barrier}
    uint same = 0;
    for (int other = 0; other < 32; other += 1) same |= (uint)(values[first + other] == own) << other;
% if some:
${bytes_of_warp(h)}
${gathered("present", 0)}
% else:
    const uint present = ${every_lane()};
% endif
    return (ulong)(present & mask) << 32 | (same & present & mask);
}
</%def>
