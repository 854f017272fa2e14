<%def name="dp4a(h)">
<%
    kinds = ["char" if s == "s" else "uchar" for s in h.variant]
    first, second = ("int" if s == "s" else "uint" for s in h.variant)
%>\
static inline ${h.type} ${h.name}(${first} a, ${second} b, ${h.type} c) {
    uint sum = (uint)c;
% for shift in (0, 8, 16, 24):
    sum += (uint)((int)(${kinds[0]})(a >> ${shift}) * (int)(${kinds[1]})(b >> ${shift}));
% endfor
    return (${h.type})sum;
}
</%def>
