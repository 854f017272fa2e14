<%def name="wrap_index(h)">
static inline ${h.type} ${h.name}(${h.type} index, ${h.type} extent) {
    return index < 0 ? index + extent : index;
}
</%def>
<%def name="floordiv(h)">
% if h.type == "half":
static inline half ${h.name}(half x, half y) {  // in float, as NumPy: a half has too few digits for the quotient
    const float a = x, b = y;
    if (b == 0) return (half)(a / b);
    float rest = fmod(a, b);
    float quotient = (a - rest) / b;
    if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1;
    if (quotient == 0) return (half)copysign(0.0f, a / b);
    float whole = floor(quotient);
    return (half)(quotient - whole > 0.5f ? whole + 1 : whole);
}
% elif h.is_float:
static inline ${h.type} ${h.name}(${h.type} a, ${h.type} b) {
    if (b == 0) return a / b;
    ${h.type} rest = fmod(a, b);
    ${h.type} quotient = (a - rest) / b;
    if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1;
    if (quotient == 0) return copysign((${h.type})0, a / b);
    ${h.type} whole = floor(quotient);
    return quotient - whole > (${h.type})0.5f ? whole + 1 : whole;
}
% elif h.is_signed:
static inline ${h.type} ${h.name}(${h.type} a, ${h.type} b) {
    if (b == 0) return 0;
    if (b == -1) return (${h.type})(0 - (${h.unsigned})a);
    ${h.type} quotient = a / b;
    return (a - quotient * b != 0 && (a < 0) != (b < 0)) ? quotient - 1 : quotient;
}
% else:
static inline ${h.type} ${h.name}(${h.type} a, ${h.type} b) {
    return b == 0 ? 0 : a / b;
}
% endif
</%def>
<%def name="mod(h)">
% if h.is_float:
static inline ${h.type} ${h.name}(${h.type} a, ${h.type} b) {
    ${h.type} rest = fmod(a, b);
    if (rest == 0) return copysign((${h.type})0, b);
    return (b < 0) != (rest < 0) ? rest + b : rest;
}
% elif h.is_signed:
static inline ${h.type} ${h.name}(${h.type} a, ${h.type} b) {
    if (b == 0 || b == -1) return 0;
    ${h.type} rest = a - a / b * b;
    return (rest != 0 && (rest < 0) != (b < 0)) ? rest + b : rest;
}
% else:
static inline ${h.type} ${h.name}(${h.type} a, ${h.type} b) {
    return b == 0 ? 0 : a - a / b * b;
}
% endif
</%def>
<%def name="shl(h)">
static inline ${h.type} ${h.name}(${h.type} a, ${h.type} count) {
    return (${h.unsigned})count >= ${h.width} ? 0 : (${h.type})((${h.unsigned})a << count);
}
</%def>
<%def name="shr(h)">
static inline ${h.type} ${h.name}(${h.type} a, ${h.type} count) {
% if h.is_signed:
    return a >> ((${h.unsigned})count >= ${h.width} ? ${h.width - 1} : count);
% else:
    return count >= ${h.width} ? 0 : a >> count;
% endif
}
</%def>
<%def name="ipow(h)">
static inline ${h.type} ${h.name}(${h.type} base, ${h.type} exponent) {
% if h.is_signed:
    if (exponent < 0) return base == 1 ? 1 : base == -1 ? ((exponent & 1) ? -1 : 1) : 0;
% endif
<% wide = "ulong" if h.unsigned == "ulong" else "uint" %>\
    ${wide} result = 1, factor = (${wide})base;
    while (exponent > 0) {
        if (exponent & 1) result *= factor;
        exponent >>= 1;
        factor *= factor;
    }
    return (${h.type})result;
}
</%def>
<%def name="slice_bound(h)">
static inline ${h.type} ${h.name}(${h.type} bound, ${h.type} extent, ${h.type} low, ${h.type} high) {
    ${h.type} wrapped = bound < 0 ? bound + extent : bound;
    return max(low, min(high, wrapped));
}
</%def>
<%def name="slice_length(h)">
static inline ${h.type} ${h.name}(${h.type} distance, ${h.type} step) {
    return distance > 0 ? (distance - 1) / step + 1 : 0;
}
</%def>
<%def name="min(h)">
static inline ${h.type} ${h.name}(${h.type} a, ${h.type} b) {
    return b < a ? b : a;
}
</%def>
<%def name="max(h)">
static inline ${h.type} ${h.name}(${h.type} a, ${h.type} b) {
    return b > a ? b : a;
}
</%def>
<%def name="minimum(h)">
static inline ${h.type} ${h.name}(${h.type} a, ${h.type} b) {
    return isnan(a) ? a : isnan(b) ? b : fmin(a, b);
}
</%def>
<%def name="maximum(h)">
static inline ${h.type} ${h.name}(${h.type} a, ${h.type} b) {
    return isnan(a) ? a : isnan(b) ? b : fmax(a, b);
}
</%def>
<%def name="compare_mixed(h)">
static inline int ${h.name}(long a, ulong b) {
    return a < 0 || (ulong)a < b ? -1 : (ulong)a == b ? 0 : 1;
}
</%def>
<%def name="ffs(h)">
static inline int ${h.name}(${h.type} x) {
    return x == 0 ? 0 : ${h.width} - (int)clz((${h.unsigned})x & (0 - (${h.unsigned})x));
}
</%def>
<%def name="brev(h)">
static inline ${h.type} ${h.name}(${h.type} x) {
    ${h.unsigned} rest = (${h.unsigned})x;
    ${h.unsigned} result = 0;
    for (int bit = 0; bit < ${h.width}; bit += 1) {
        result = (${h.unsigned})((result << 1) | (rest & 1));
        rest >>= 1;
    }
    return (${h.type})result;
}
</%def>
<%def name="iabs(h)">
static inline ${h.type} ${h.name}(${h.type} a) {
% if h.is_signed:
    return a < 0 ? ${h.language.bits_as(h.type, f"0 - ({h.unsigned})a")} : a;
% else:
    return a;
% endif
}
</%def>
<%def name="ineg_small(h)">
static inline ${h.type} ${h.name}(${h.type} a) {
    return (${h.type})((int)(0u - ((uint)(${h.unsigned})a << ${32 - h.width})) >> ${32 - h.width});
}
</%def>
<%def name="iabs_small(h)">
static inline ${h.type} ${h.name}(${h.type} a) {
% if h.is_signed:
    return a >= 0 || a == (${h.type})(1 << ${h.width - 1}) ? a : (${h.type})-a;
% else:
    return a;
% endif
}
</%def>
<%def name="erf(h)">\
static inline ${h.type} ${h.name}(${h.type} x) {
    // up to 1 a polynomial, above 1 - exp(-p(|x|)); errors stay below 2.5 units in the last place
    const ${h.type} square = x * x, a = fmin(fabs(x), (${h.type})(4.0f));
    ${h.type} small = (${h.type})(7.8538607e-05f), power = (${h.type})(-0.00018557407f);
% for coefficient in (-0.00080101937, 0.0051883277, -0.026853813, 0.11283585, -0.37612626, 1.1283791):
    small = fma(small, square, (${h.type})(${coefficient}f));
% endfor
% for coefficient in (0.0029396079, -0.02180532, 0.10303737, 0.63822567, 1.12704, 0.00035371876):
    power = fma(power, a, (${h.type})(${coefficient}f));
% endfor
    return ${h.language.chosen("fabs(x) > 1.0f", "copysign(1.0f - exp(-power), x)", "x * small", lanes=h.lanes)};
}
</%def>\
<%def name="tanh(h)">\
static inline ${h.type} ${h.name}(${h.type} x) {
    // up to 0.625 a polynomial, above 1 - 2 / (exp(2 |x|) + 1); errors stay below 3 units in the last place
    const ${h.type} square = x * x, a = fmin(fabs(x), (${h.type})(10.0f));
    ${h.type} small = (${h.type})(-0.0056599886f);
% for coefficient in (0.020590987, -0.053721067, 0.13331127, -0.3333326):
    small = fma(small, square, (${h.type})(${coefficient}f));
% endfor
    return ${h.language.chosen("fabs(x) > 0.625f", "copysign(1.0f - 2.0f / (exp(a + a) + 1.0f), x)", f"x * fma(small, square, ({h.type})(1.0f))", lanes=h.lanes)};
}
</%def>\
<%def name="one_plus_tanh(h)">\
static inline ${h.type} ${h.name}(${h.type} x) {
    // 2 / (1 + exp(-2 x)), which is 0 and 2 far away; errors stay below 3 units in the last place of 1 + |tanh(x)|
    return 2.0f / (exp(-2.0f * x) + 1.0f);
}
</%def>\
<%def name="one_plus_erf(h)">\
static inline ${h.type} ${h.name}(${h.type} x) {
    // erfc(-x): 2**-p(|x|), or 2 minus that; errors stay below 3 units in the last place of 1 + |erf(x)|
    const ${h.type} a = fabs(x);
    ${h.type} p = (${h.type})(5.4272903e-07f);
% for coefficient in (-1.2526266e-05, 0.00012306368, -0.00064955169, 0.0017161829, 0.00075467071, -0.028426081, 0.14862116, 0.9183771, 1.6279119):
    p = fma(p, a, (${h.type})(${coefficient}f));
% endfor
    const ${h.type} power = exp2(-p * a);
    return ${h.language.chosen("x < 0.0f", "power", "2.0f - power", lanes=h.lanes)};
}
</%def>\
<%def name="negated(h)">
<% words = h.unsigned + h.lanes %>\
static inline ${h.type} ${h.name}(${h.type} x) {
    // the sign's place: known to nobody before the launch, whose work-groups have 1 to 3 dimensions
    const ${h.unsigned} sign = (${h.unsigned})1 << ${h.width - 1} >> (${h.language.launch_number} >> 3);
    return ${h.language.bits_as(h.type, f"({words})({h.language.bits_as(words, 'x')} ^ sign)")};
}
</%def>
<%def name="rounded(h)">
static inline ${h.type} ${h.name}(${h.type} product) {
    return product;
}
</%def>
