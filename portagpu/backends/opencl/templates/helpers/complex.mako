<%def name="complex_mul(h)">
static inline ${h.type} ${h.name}(${h.type} a, ${h.type} b) {
% if h.contract:
    ${h.contract}
% endif
    return (${h.type})(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}
</%def>
<%def name="complex_div(h)">
static inline ${h.type} ${h.name}(${h.type} a, ${h.type} b) {
% if h.contract:
    ${h.contract}
% endif
    // Smith's division: no intermediate result is much larger than the quotient
    if (fabs(b.x) >= fabs(b.y)) {
        if (b.x == 0) return a / fabs(b.x);
        ${h.part} ratio = b.y / b.x;
        return (${h.type})(a.x + a.y * ratio, a.y - a.x * ratio) / (b.x + b.y * ratio);
    }
    ${h.part} ratio = b.x / b.y;
    return (${h.type})(a.x * ratio + a.y, a.y * ratio - a.x) / (b.y + b.x * ratio);
}
</%def>
<%def name="complex_pow(h)">
static inline ${h.type} ${h.name}(${h.type} base, ${h.type} exponent) {
    if (exponent.x == 0 && exponent.y == 0) return (${h.type})(1, 0);
    if (base.x == 0 && base.y == 0) {
        return exponent.x > 0 ? (${h.type})(0) : (${h.type})((${h.part})NAN);
    }
    if (exponent.y == 0 && exponent.x == rint(exponent.x) && fabs(exponent.x) <= 100) {
        ${h.type} result = (${h.type})(1, 0), factor = base;
        for (int count = (int)fabs(exponent.x); count > 0; count >>= 1) {
            if (count & 1) result = pg_complex_mul_${h.type}(result, factor);
            if (count > 1) factor = pg_complex_mul_${h.type}(factor, factor);
        }
        return exponent.x > 0 ? result : pg_complex_div_${h.type}((${h.type})(1, 0), result);
    }
    ${h.part} modulus = hypot(base.x, base.y), phase = atan2(base.y, base.x);
    ${h.part} length = pow(modulus, exponent.x), angle = phase * exponent.x;
    if (exponent.y != 0) {
        length *= exp(0 - phase * exponent.y);
        angle += exponent.y * log(modulus);
    }
    return (${h.type})(length * cos(angle), length * sin(angle));
}
</%def>
