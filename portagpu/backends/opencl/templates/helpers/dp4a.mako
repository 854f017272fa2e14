<%def name="dp4a(h)">
<%
    way, signs = h.variant.split("_")
    a, b = ("char4" if s == "s" else "uchar4" for s in signs)
    first, second = ("int" if s == "s" else "uint" for s in signs)
%>\
static inline ${h.type} ${h.name}(${first} a, ${second} b, ${h.type} c) {
% if way == "ptx":
    ${h.type} result;
    asm("dp4a.${signs[0]}32.${signs[1]}32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(c));
    return result;
% elif way == "builtin":
    return as_${h.type}((uint)c + (uint)dot_4x8packed_${signs}_${h.type}(as_uint(a), as_uint(b)));
% else:
    const ${a} x = as_${a}(a);
    const ${b} y = as_${b}(b);
    return as_${h.type}((uint)c + (uint)(x.s0 * y.s0 + x.s1 * y.s1 + x.s2 * y.s2 + x.s3 * y.s3));
% endif
}
</%def>
