"""A kernel of SYCL 2020 alone: a member of a thread, a function that calls it, and one that launches it.

Names of what the text adds to the user's begin with ``pg_``, or have no underscore at the end, which the user's have.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from portagpu.backends.c_family.c_types import storage
from portagpu.backends.c_family.dialect import KernelParts, KernelText
from portagpu.backends.c_family.line import Line
from portagpu.ir.program import Parameter, ParameterRole
from portagpu.ir.types import DYNAMIC_SHARED, Pointer, Space

_OWN = "pg_shared"
_EXTENTS = ("sycl::queue& pg_queue", "sycl::range<3> pg_groups")
_BLOCK = "sycl::range<3> pg_block"
_BYTES = "std::size_t pg_shared_bytes"
_AFTER = "const std::vector<sycl::event>& pg_after = {}"


def plain_kernel_text(parts: KernelParts) -> KernelText:
    """The kernel; shared arrays are members of a struct that an accessor holds, dynamic shared memory is another."""
    program, language = parts.program, parts.printer.language
    span, name = program.kernel.span, parts.printer.helpers.function_name(program.kernel.name)
    texts = [_dynamic(p, parts) if is_dynamic(p) else parts.parameter_text(p) for p in parts.parameters]
    names = [parts.printer.name(p.name, p.type) for p in parts.parameters]
    passed = [f"pg_memory_{n}" if is_dynamic(p) else n for n, p in zip(names, parts.parameters, strict=True)]
    declared: list[str] = []
    body: list[str] = []
    for array in program.shared:
        kind, own = storage(array.element), parts.printer.name(array.name, Pointer(array.element, Space.SHARED))
        declared.append(f"    alignas({max(128, array.alignment)}) {kind} {own}[{array.size}];")
        body.append(f"    {kind} (&{own})[{array.size}] = {_OWN}->{own};")
    for parameter, own in zip(parts.parameters, names, strict=True):
        if is_dynamic(parameter):
            kind = language.type(DYNAMIC_SHARED)
            body.append(f"    {kind} const {own} = ({kind})pg_memory_{own};")
    if declared:
        declared = ["// shared memory of a block", "struct shared_memory {", *declared, "};"]
        texts.append(f"shared_memory* {_OWN}")
        passed.append(_OWN)
    lines = [
        *declared,
        f"// {span.line}: {span.text.strip()}",
        *_head(f"{language.always_inline} void {name}", texts),
        f"    {language.first_line}",
        *body,
    ]
    after = ["}", "};", "", *_functions(parts, name, texts, passed, bool(declared))]
    ours = [Line(text, span) for text in lines] + parts.body + [Line(text, span) for text in after]
    return KernelText(lines=ours, parameters=parts.parameters)


def is_dynamic(parameter: Parameter) -> bool:
    """Whether a parameter is dynamic shared memory, not its size."""
    return parameter.role is ParameterRole.DYNAMIC_SHARED and parameter.type == DYNAMIC_SHARED


def _dynamic(parameter: Parameter, parts: KernelParts) -> str:
    return f"pg_line* pg_memory_{parts.printer.name(parameter.name, parameter.type)}"


def _functions(parts: KernelParts, name: str, texts: list[str], passed: list[str], has_shared: bool) -> Iterator[str]:
    """Lines of the functions outside of the thread."""
    if has_shared:
        yield "using shared_memory = pg_thread::shared_memory;"
        yield ""
    yield "// What a work-item does, for kernels of your own."
    yield from _head("inline void kernel", ("const sycl::nd_item<3>& pg_item", *texts))
    yield f"    pg_thread{{pg_item}}.{name}({', '.join(passed)});"
    yield "}"
    yield ""
    yield "class pg_kernel;"
    yield "// Launches the kernel; extents are (z, y, x). Returns the event of its end."
    yield from _launch(parts, texts, passed, has_shared)


def _head(text: str, parameters: Sequence[str]) -> Iterator[str]:
    """The head of a function, a parameter a line."""
    if not parameters:
        yield f"{text}() {{"
        return
    yield f"{text}("
    for parameter in parameters[:-1]:
        yield f"    {parameter},"
    yield f"    {parameters[-1]}) {{"


def _launch(parts: KernelParts, texts: list[str], passed: list[str], has_shared: bool) -> Iterator[str]:
    own, arguments = [], []
    block = parts.program.block_dim
    dynamic = [n for n, p in zip(passed, parts.parameters, strict=False) if is_dynamic(p)]
    for text, argument, parameter in zip(texts, passed, parts.parameters, strict=False):
        if parameter.role is not ParameterRole.DYNAMIC_SHARED:
            own.append(text)
            arguments.append(argument)
        else:
            arguments.append(f"&{argument}[0]" if is_dynamic(parameter) else "(int)pg_shared_bytes")
    if has_shared:
        arguments.append(f"&{_OWN}[0]")
    has_bytes = any(p.role is ParameterRole.DYNAMIC_SHARED for p in parts.parameters)
    head = [*_EXTENTS, *([] if block else [_BLOCK]), *([_BYTES] if has_bytes else []), *own, _AFTER]
    yield from _head("inline sycl::event launch", head)
    if block:
        yield f"    const sycl::range<3> pg_block({', '.join(map(str, reversed(block)))});"
    yield "    return pg_queue.submit([&](sycl::handler& pg_handler) {"
    yield "        pg_handler.depends_on(pg_after);"
    for memory in dynamic:
        yield "        const sycl::range<1> pg_lines(pg_shared_bytes / sizeof(pg_line) + 1);"
        yield f"        const sycl::local_accessor<pg_line, 1> {memory}(pg_lines, pg_handler);"
    if has_shared:
        yield f"        const sycl::local_accessor<shared_memory, 1> {_OWN}(sycl::range<1>(1), pg_handler);"
    attribute = f" [[sycl::reqd_work_group_size({', '.join(map(str, reversed(block)))})]]" if block else ""
    yield "        pg_handler.parallel_for<pg_kernel>("
    yield f"            sycl::nd_range<3>(pg_groups * pg_block, pg_block), [=](sycl::nd_item<3> pg_item){attribute} {{"
    yield f"                kernel({', '.join(('pg_item', *arguments))});"
    yield "            });"
    yield "    });"
    yield "}"
