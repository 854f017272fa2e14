<%def name="round_half(h)">
static inline ${h.type} ${h.name}(${h.type} x) {
    ushort${h.lanes} bits;
    vstore_half${h.lanes}_rte(x, 0, (__private half*)&bits);
    return vload_half${h.lanes}(0, (__private const half*)&bits);
}
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
