<%def name="bfloat16_value(h)">
static inline ${h.type} ${h.name}(ushort${h.lanes} bits) {
% if h.lanes:
    return as_${h.type}(convert_uint${h.lanes}(bits) << 16);
% else:
    return as_${h.type}((uint)bits << 16); // not convert_uint, which one CPU compiler gets wrong: docs/driver-quirks.md
% endif
}
</%def>
<%def name="bfloat16_bits(h)">
static inline ushort${h.lanes} ${h.name}(${h.type} x) {  // to nearest, ties to even; a nan stays one
    uint${h.lanes} word = as_uint${h.lanes}(x), upper = word >> 16;
    uint${h.lanes} nearest = (word + 0x7FFFu + (upper & 1u)) >> 16;
% if h.lanes:
    return convert_ushort${h.lanes}(select(nearest, upper | 0x40u, (word & 0x7FFFFFFFu) > 0x7F800000u));
% else:
    return (ushort)(isnan(x) ? upper | 0x40u : nearest);
% endif
}
</%def>
<%def name="bfloat16_ptx(h)">
<% lanes = "0123456789abcdef"[: int(h.lanes or 1)] %>\
static inline ushort${h.lanes} ${h.name}(${h.type} x) {
% if len(lanes) == 1:
    uint word;  // of 32 bits: the driver takes the bytes of a 16-bit result wrongly apart
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(0.0f), "f"(x));
    return (ushort)word;
% else:
<% pairs = [(lanes[n], lanes[n + 1 : n + 2]) for n in range(0, len(lanes), 2)] %>\
    uint ${", ".join(f"w{low}" for low, _ in pairs)};
% for low, high in pairs:
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(w${low}) : "f"(${f"x.s{high}" if high else "0.0f"}), "f"(x.s${low}));
% endfor
    return (ushort${h.lanes})(${", ".join(f"as_ushort2(w{low})" + ("" if high else ".s0") for low, high in pairs)});
% endif
}
</%def>
