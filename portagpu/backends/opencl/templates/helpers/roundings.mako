<%def name="float_to_tf32(h)">\
static inline float ${h.name}(float x) {
    uint bits = as_uint(x);
    return isfinite(x) ? as_float((bits + 0x1000u) & 0xffffe000u) : isnan(x) ? as_float(bits | 0x400000u) : x;
}
</%def>\
<%def name="pack_half2(h)">\
static inline uint ${h.name}(float low, float high) {
    ushort packed[2];
    vstore_half_rte(low, 0, (half*)packed);
    vstore_half_rte(high, 1, (half*)packed);
    return packed[0] | (uint)packed[1] << 16;
}
</%def>\
<%def name="pack_bfloat162(h)">\
static inline uint ${h.name}(float low, float high) {
    uint2 bits = (uint2)(as_uint(low), as_uint(high));
    uint2 rounded = bits + 0x7fffu + (bits >> 16 & 1u);
    uint2 quiet = bits | 0x400000u;
    uint a = isnan(low) ? quiet.s0 : rounded.s0;
    uint b = isnan(high) ? quiet.s1 : rounded.s1;
    return a >> 16 | (b & 0xffff0000u);
}
</%def>\
