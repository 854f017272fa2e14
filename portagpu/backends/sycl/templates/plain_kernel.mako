<%! from portagpu.backends.sycl.codegen.members import as_member %>\
% for struct in view.structs:
struct ${struct.name} {
% for member in struct.members:
    ${member};
% endfor
};
% endfor
<% defined = [] %>\
% for constant in view.constants:
<%
    is_hidden = constant.bits or constant.offset
    name = constant.name + "_bits" if is_hidden else constant.name
    if is_hidden: defined.append(constant.name)
%>\
static const ${constant.bits or constant.type} ${name}[${constant.size}]${" __attribute__((aligned(16)))" if constant.aligned else ""} = { ${constant.values} };
% if is_hidden:
#define ${constant.name} ((const ${constant.type}*)${name}${" + " if constant.offset else ""}${constant.offset})
% endif
% endfor

// A work-item: the kernel's functions are members, for they ask for its place.
struct pg_thread {
const sycl::nd_item<3>& pg_place;
const sycl::nd_item<3>& pg_item() const { return pg_place; }
% if "pg_launch_number" in view.body or any("pg_launch_number" in c.offset for c in view.constants):
// 1, which compilers cannot know, neither that it is small nor that it is not 0
unsigned int pg_launch_number() const {
    const unsigned int depth = (unsigned int)pg_item().get_local_range(0);
    return (unsigned int)(depth != 0) + (depth >> 16);
}
% endif
% for h in view.helpers:
${as_member(capture(getattr(local.get_namespace(f"helpers/{h.file}.mako"), h.template), h))}\
% endfor
${view.body}
% for name in defined:
#undef ${name}
% endfor
}  // namespace portagpu_${view.kernel.rstrip("_")}
#undef PG_EXACT
