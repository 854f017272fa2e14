<%!
def parts(h, *names):
    """Texts of the real and imaginary part of each."""
    return [h.language.part(name, is_real) for name in names for is_real in (True, False)]


def pair(h, real, imag):
    """Text of a complex number."""
    return h.language.vector(h.type, (real, imag))
%>
<%def name="complex_mul(h)">
<% ax, ay, bx, by, cx, cy, dx, dy = parts(h, "a", "b", "c", "d") %>\
static inline ${h.type} ${h.name}(${h.type} a, ${h.type} b) {
% if h.contract:
    ${h.contract}
% endif
% if h.fuses:
    return ${pair(h, f"{ax} * {bx} - {ay} * {by}", f"{ax} * {by} + {ay} * {bx}")};
% else:
    // Products of vectors: of numbers, a compiler takes 0 * x for 0, also of NaN and infinities (docs/driver-quirks.md)
    ${h.type} c = ${pair(h, ax, ax)} * b, d = ${pair(h, ay, ay)} * ${pair(h, by, bx)};
    return ${pair(h, f"{cx} - {dx}", f"{cy} + {dy}")};
% endif
}
</%def>
<%def name="complex_div(h)">
<% ax, ay, bx, by = parts(h, "a", "b") %>\
static inline ${h.type} ${h.name}(${h.type} a, ${h.type} b) {
% if h.contract:
    ${h.contract}
% endif
    // Smith's division: no intermediate result is much larger than the quotient
    if (fabs(${bx}) >= fabs(${by})) {
        if (${bx} == 0) return a / fabs(${bx});
        ${h.part} ratio = ${by} / ${bx};
        return ${pair(h, f"{ax} + {ay} * ratio", f"{ay} - {ax} * ratio")} / (${bx} + ${by} * ratio);
    }
    ${h.part} ratio = ${bx} / ${by};
    return ${pair(h, f"{ax} * ratio + {ay}", f"{ay} * ratio - {ax}")} / (${by} + ${bx} * ratio);
}
</%def>
<%def name="complex_pow(h)">
<% bx, by, ex, ey = parts(h, "base", "exponent") %>\
static inline ${h.type} ${h.name}(${h.type} base, ${h.type} exponent) {
    if (${ex} == 0 && ${ey} == 0) return ${pair(h, "1", "0")};
    if (${bx} == 0 && ${by} == 0) {
        return ${ex} > 0 ? (${h.type})(0) : (${h.type})((${h.part})NAN);
    }
    if (${ey} == 0 && ${ex} == rint(${ex}) && fabs(${ex}) < 100) { // as NumPy has it
        ${h.type} result = ${pair(h, "1", "0")}, factor = base;
        for (int count = (int)fabs(${ex}); count > 0; count >>= 1) {
            if (count & 1) result = pg_complex_mul_${h.type}(result, factor);
            if (count > 1) factor = pg_complex_mul_${h.type}(factor, factor);
        }
        return ${ex} > 0 ? result : pg_complex_div_${h.type}(${pair(h, "1", "0")}, result);
    }
    ${h.part} modulus = hypot(${bx}, ${by}), phase = atan2(${by}, ${bx});
    ${h.part} length = pow(modulus, ${ex}), angle = phase * ${ex};
    if (${ey} != 0) {
        length *= exp(0 - phase * ${ey});
        angle += ${ey} * log(modulus);
    }
    ${h.part} sine = sin(angle); // 0 * inf would be NaN: a positive base has the phase 0
    return ${pair(h, "length * cos(angle)", "sine == 0 ? sine : length * sine")};
}
</%def>
