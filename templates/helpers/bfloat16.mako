<%def name="bfloat16_value(h)">
static inline ${h.type} ${h.name}(ushort${h.lanes} bits) {
    return as_${h.type}(convert_uint${h.lanes}(bits) << 16);
}
</%def>
<%def name="bfloat16_bits(h)">
static inline ushort${h.lanes} ${h.name}(${h.type} x) {  // to nearest, ties to even; a nan stays one
    uint${h.lanes} word = as_uint${h.lanes}(x), upper = word >> 16;
    uint${h.lanes} nearest = (word + 0x7FFFu + (upper & 1u)) >> 16;
    return convert_ushort${h.lanes}(select(nearest, upper | 0x40u, (word & 0x7FFFFFFFu) > 0x7F800000u));
}
</%def>
