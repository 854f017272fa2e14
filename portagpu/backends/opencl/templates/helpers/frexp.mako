<%def name="frexp_mantissa(h)">
static inline ${h.type} ${h.name}(${h.type} x) {
    int exponent;
    return frexp(x, &exponent);
}
</%def>
<%def name="frexp_exponent(h)">
static inline int ${h.name}(${h.type} x) {
    int exponent = 0;
    if (isfinite(x)) frexp(x, &exponent);
    return exponent;
}
</%def>
