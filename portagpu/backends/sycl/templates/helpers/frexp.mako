<%def name="frexp_mantissa(h)">
static inline ${h.type} ${h.name}(${h.type} x) {
    return x == 0 || !isfinite(x) ? x : ldexp(x, -1 - ilogb(x));
}
</%def>
<%def name="frexp_exponent(h)">
static inline int ${h.name}(${h.type} x) {
    return x == 0 || !isfinite(x) ? 0 : ilogb(x) + 1;
}
</%def>
