<%def name="bits(h)">\
% if h.lanes:
    typedef ${h.unsigned} bits __attribute__((ext_vector_type(${h.lanes})));
% else:
    using bits = ${h.unsigned};
% endif
</%def>\
<%def name="block_read(h)">
static inline ${h.type} ${h.name}(const ${h.part}* place) {
${bits(h)}\
    return sycl::bit_cast<${h.type}>(
        __spirv_SubgroupBlockReadINTEL<bits>((const __attribute__((opencl_global)) ${h.unsigned}*)place));
}
</%def>
<%def name="block_write(h)">
static inline void ${h.name}(${h.part}* place, ${h.type} value) {
${bits(h)}\
    __spirv_SubgroupBlockWriteINTEL(
        (__attribute__((opencl_global)) ${h.unsigned}*)place, sycl::bit_cast<bits>(value));
}
</%def>
