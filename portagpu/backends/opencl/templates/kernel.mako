<%namespace name="arithmetic" file="helpers/arithmetic.mako"/>\
<%namespace name="complex_numbers" file="helpers/complex.mako"/>\
<%namespace name="atomics" file="helpers/atomics.mako"/>\
<%namespace name="bfloat16" file="helpers/bfloat16.mako"/>\
<%namespace name="dot_products" file="helpers/dp4a.mako"/>\
<%namespace name="warp" file="helpers/warp.mako"/>\
% for extension in view.extensions:
#pragma OPENCL EXTENSION ${extension} : enable
% endfor
% for declaration in view.declarations:
${declaration}
% endfor
% for struct in view.structs:
typedef struct {
% for member in struct.members:
    ${member};
% endfor
} ${struct.name};
% endfor
% for constant in view.constants:
<% name = constant.name + "_bits" if constant.bits else constant.name %>\
__constant ${constant.bits or constant.type} ${name}[${constant.size}]${" __attribute__((aligned(16)))" if constant.aligned else ""} = { ${constant.values} };
% if constant.bits:
#define ${constant.name} ((__constant ${constant.type}*)${name})
% endif
% endfor
% for h in view.helpers:
% if h.template.startswith("atomic_"):
${getattr(atomics, h.template)(h)}\
% elif h.template.startswith("bfloat16_"):
${getattr(bfloat16, h.template)(h)}\
% elif h.template.startswith("dp4a_"):
${dot_products.dp4a(h)}\
% elif h.template.startswith("warp_"):
${getattr(warp, h.template)(h)}\
% elif h.template.startswith("complex_"):
${getattr(complex_numbers, h.template)(h)}\
% else:
${getattr(arithmetic, h.template)(h)}\
% endif
% endfor
${view.body}
