<%def name="round_half(h)">
% if h.part == "double":
<%
    single, bits = f"float{h.lanes}", f"uint{h.lanes}"
%>
/* Rounded to an odd float32 first, so that the second rounding decides as if it were the only one. */
static inline ${single} ${h.name}(${h.type} x) {
    ${single} y = convert_${single}(x);
    ${h.type} back = convert_${h.type}(y);
    ${bits} away = convert_${bits}(fabs(back) > fabs(x)) & 1u, inexact = convert_${bits}(back != x) & 1u;
    y = as_${single}((as_${bits}(y) - away) | inexact);
    ushort${h.lanes} halves;
    vstore_half${h.lanes}_rte(y, 0, (__private half*)&halves);
    return vload_half${h.lanes}(0, (__private const half*)&halves);
}
% else:
static inline ${h.type} ${h.name}(${h.type} x) {
    ushort${h.lanes} bits;
    vstore_half${h.lanes}_rte(x, 0, (__private half*)&bits);
    return vload_half${h.lanes}(0, (__private const half*)&bits);
}
% endif
</%def>
<%def name="half_value(h)">
static inline ${h.type} ${h.name}(ushort${h.lanes} bits) {
    return vload_half${h.lanes}(0, (__private const half*)&bits);
}
</%def>
<%def name="half_bits(h)">
static inline ushort${h.lanes} ${h.name}(${h.type} x) {
    ushort${h.lanes} bits;
    vstore_half${h.lanes}_rte(x, 0, (__private half*)&bits);
    return bits;
}
</%def>
