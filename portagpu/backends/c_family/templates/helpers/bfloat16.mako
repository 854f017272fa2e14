<%def name="bfloat16_value(h)">
static inline ${h.type} ${h.name}(ushort${h.lanes} bits) {
% if h.lanes:
    return ${h.language.bits_as(h.type, h.language.converted("uint" + h.lanes, "bits") + " << 16")};
% else:
    return ${h.language.bits_as(h.type, "(uint)bits << 16")}; // not convert_uint, which one CPU compiler gets wrong: docs/driver-quirks.md
% endif
}
</%def>
<%def name="bfloat16_bits(h)">
static inline ushort${h.lanes} ${h.name}(${h.type} x) {  // to nearest, ties to even; a nan stays one
    uint${h.lanes} word = ${h.language.bits_as("uint" + h.lanes, "x")}, upper = word >> 16;
    uint${h.lanes} nearest = (word + 0x7FFFu + (upper & 1u)) >> 16;
% if h.lanes:
    return ${h.language.converted("ushort" + h.lanes, "select(nearest, upper | 0x40u, (word & 0x7FFFFFFFu) > 0x7F800000u)")};
% else:
    return (ushort)(isnan(x) ? upper | 0x40u : nearest);
% endif
}
</%def>
