<%def name="brev(h)">
static inline ${h.type} ${h.name}(${h.type} x) {
    // a loop over the bits would be seen as their reversal, of which one translator makes nothing but an end of the process
    const ulong bits = (${h.unsigned})x;
% for byte in range(h.width // 8):
    const ulong reversed${byte} = ((bits >> ${8 * byte} & 0xff) * 0x80200802ul & 0x0884422110ul) * 0x0101010101ul >> 32 & 0xff;
% endfor
    return (${h.type})(${" | ".join(f"reversed{byte} << {h.width - 8 - 8 * byte}" for byte in range(h.width // 8))});
}
</%def>
