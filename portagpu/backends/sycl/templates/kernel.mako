% for struct in view.structs:
struct ${struct.name} {
% for member in struct.members:
    ${member};
% endfor
};
% endfor
% for constant in view.constants:
<% name = constant.name + "_bits" if constant.bits or constant.offset else constant.name %>\
static const ${constant.bits or constant.type} ${name}[${constant.size}]${" __attribute__((aligned(16)))" if constant.aligned else ""} = { ${constant.values} };
% if constant.bits or constant.offset:
#define ${constant.name} ((const ${constant.type}*)${name}${" + " if constant.offset else ""}${constant.offset})
% endif
% endfor
% for h in view.helpers:
${getattr(local.get_namespace(f"helpers/{h.file}.mako"), h.template)(h)}\
% endfor
${view.body}
}  // namespace portagpu
