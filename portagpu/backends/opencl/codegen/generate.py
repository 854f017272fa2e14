"""From a typed program to OpenCL C: views for the templates, and the table that leads from C lines back to Python."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from portagpu.backends.opencl.codegen.analysis import Facts, analyse
from portagpu.backends.opencl.codegen.c_types import c_type, storage
from portagpu.backends.opencl.codegen.emitter import Emitter, Line
from portagpu.backends.opencl.codegen.helpers import INLINE, INLINE_SHARED, HelperSet, HelperView
from portagpu.backends.opencl.codegen.lowerings import REGISTERED as REGISTERED
from portagpu.backends.opencl.codegen.names import Names, distinct, identifier
from portagpu.backends.opencl.codegen.negations import has_hidden_constants
from portagpu.backends.opencl.codegen.printer import Printer, literal
from portagpu.backends.opencl.codegen.rendering import render
from portagpu.backends.opencl.codegen.subgroups import subgroup_attribute
from portagpu.backends.source import KernelSource
from portagpu.device.capabilities import Capabilities, DeviceType
from portagpu.dtypes import BOOL
from portagpu.errors import SharedMemoryError
from portagpu.ir.analysis.memory_access import findings
from portagpu.ir.analysis.memory_order import communicates
from portagpu.ir.analysis.spin_loops import waiting_loop
from portagpu.ir.analysis.uniform import Marks
from portagpu.ir.names import DYNAMIC_SHARED_ARRAY, WARP_VALUES
from portagpu.ir.nodes import Constant, Print
from portagpu.ir.program import ConstantArray, Function, MemoryArray, Parameter, ParameterRole, Program
from portagpu.ir.recursion import deeply_nested
from portagpu.ir.types import DYNAMIC_SHARED, Pointer, Scalar, Space, Struct, Vector, element_size
from portagpu.ir.walk import all_statements
from portagpu.passes.nested_loops import has_diverging_nest
from portagpu.source import Span


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstantView:
    """A program-scope constant array."""

    type: str
    bits: str  # unsigned type in which the values are written, where C has no constants for them
    name: str
    size: int
    values: str
    aligned: bool
    offset: str  # zero, where compilers must not see which element is loaded


@dataclass(frozen=True, slots=True, kw_only=True)
class StructView:
    """The struct a device function returns."""

    name: str
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramView:
    """Everything `kernel.mako` prints."""

    extensions: tuple[str, ...]
    declarations: tuple[str, ...]
    structs: tuple[StructView, ...]
    constants: tuple[ConstantView, ...]
    helpers: tuple[HelperView, ...]
    body: str


@deeply_nested
def generate(
    program: Program, caps: Capabilities, *, static_dynamic_shared: int = 0, subgroup_size: int | None = None
) -> KernelSource:
    """Print a program for a device.

    ``subgroup_size`` is what the kernel's subgroups must have. With ``static_dynamic_shared`` bytes, dynamic shared
    memory becomes a static array: some drivers allow less for an argument than for a static array.

    Raises `MissingCapabilityError` for what the device cannot do, `SharedMemoryError` when the shared arrays exceed its
    local memory.
    """
    static_shared = sum(_shared_size(a) for a in program.shared)
    limit = max(caps.local_memory_static, caps.local_memory_argument)
    if static_shared > limit:
        largest = max(program.shared, key=_shared_size)
        raise SharedMemoryError(
            f"the kernel's shared arrays take {static_shared} bytes; this device has {limit}",
            span=largest.span,
            hint="make the tiles smaller",
        )
    functions = distinct(f.name for f in (*program.functions, program.kernel))
    helpers = HelperSet(caps, functions, has_barriers=_has_barrier(program))
    taken = frozenset(functions.values())
    whole = _Whole(program, communicates(program))
    lines: list[Line] = []
    for function in program.functions:
        lines += _function(function, whole, helpers, taken, caps)
        lines.append(Line("", None))
    kernel_lines, parameters = _kernel(whole, helpers, taken, static_dynamic_shared, subgroup_size)
    lines += kernel_lines
    if caps.line_directives:
        lines = _with_directives(lines)
    body = "\n".join(line.text for line in lines)
    helpers.note_extensions_of_types()
    view = ProgramView(
        extensions=tuple(helpers.extensions),
        declarations=tuple(helpers.declarations),
        structs=tuple(_struct(s) for s in program.structs),
        constants=tuple(_constant(c, helpers) for c in program.constants),
        helpers=helpers.views,
        body=body,
    )
    source = render("kernel.mako", view)
    start = source.index(body)
    offset = source[:start].count("\n")
    spans: list[Span | None] = [None] * offset
    spans += [line.span for line in lines]
    spans += [None] * (source.count("\n") + 1 - len(spans))
    waiting = waiting_loop(program, steered=True)
    return KernelSource(
        source=source,
        name=functions[program.kernel.name],
        parameters=parameters,
        lines=tuple(spans),
        static_shared=static_shared,
        findings=findings(program) if caps.device_type is DeviceType.GPU else (),
        block_dim=program.block_dim,
        cooperative=program.cooperative,
        fused=program.fused,
        max_threads=next((a.shape[1] for a in program.shared if a.name == WARP_VALUES), None),
        has_line_directives=caps.line_directives,
        constant_bytes=sum(len(c.data) * element_size(c.element) for c in program.constants),
        shared_bytes=sum(map(_bytes, program.shared)),
        local_bytes=sum(_bytes(a) for f in (*program.functions, program.kernel) for a in f.locals),
        prints=_prints(program),
        faults=program.faults,
        remarks=program.remarks,
        python_name=program.kernel.name,
        waits=None if waiting is None or caps.device_type is not DeviceType.CPU else waiting.span,
    )


def _prints(program: Program) -> bool:
    return any(isinstance(s, Print) for f in (*program.functions, program.kernel) for s in all_statements(f.body))


def _with_directives(lines: list[Line]) -> list[Line]:
    """The lines with ``#line`` before each that has a place, so that a simulator reports places in Python files."""
    result: list[Line] = []
    for line in lines:
        if line.span is not None and not line.text.lstrip().startswith("//"):
            name = line.span.filename.replace("\\", "/").replace('"', "'")
            result.append(Line(f'#line {line.span.line} "{name}"', line.span))
        result.append(line)
    return result


def _bytes(array: MemoryArray) -> int:
    return array.size * element_size(array.element)


def _shared_size(array: MemoryArray) -> int:
    return -(-array.size * element_size(array.element) // 128) * 128


@dataclass(frozen=True, slots=True)
class _Whole:
    """A program, and what of all its functions counts in each of them."""

    program: Program
    communicates: bool


def _printer(function: Function, whole: _Whole, helpers: HelperSet, taken: frozenset[str]) -> tuple[Printer, Facts]:
    program = whole.program
    facts = analyse(function)
    arrays = {a.name: a for a in (*function.locals, *program.shared)}
    names = Names(taken)
    fixed = (
        set(arrays)
        | {c.name for c in program.constants}
        | {p.name for p in function.parameters if isinstance(p.type, Pointer)}
    )
    printer = Printer(facts, names, helpers, arrays)
    printer.wide = program.wide_index
    printer.communicates = whole.communicates
    printer.fixed = frozenset(fixed)
    return printer, facts


def _has_barrier(program: Program) -> bool:
    return any(Marks(f.body, frozenset()).barrier for f in (*program.functions, program.kernel))


def _parameter_text(parameter: Parameter, printer: Printer, facts: Facts) -> str:
    kind = parameter.type
    printer.helpers.note(kind)
    name = printer.names(parameter.name, kind)
    if isinstance(kind, Pointer):
        readonly = kind.readonly or (parameter.name in facts.constant_pointers and kind.space is not Space.THREAD)
        free = printer.communicates and (
            not readonly or parameter.name in facts.polled
        )  # `portagpu.ir.analysis.memory_order`
        restrict = kind.restrict and not free and parameter.name not in facts.merged
        kind = Pointer(kind.element, kind.space, readonly, restrict)
    return f"{c_type(kind)} {name}"


def _function(
    function: Function, whole: _Whole, helpers: HelperSet, taken: frozenset[str], caps: Capabilities
) -> list[Line]:
    printer, facts = _printer(function, whole, helpers, taken)
    # a caller may pass pointers of its own that are not const, so only pointers known to be read-only are const here
    parameters = ", ".join(_parameter_text(p, printer, facts) for p in function.parameters) or "void"
    name = helpers.function_name(function.name)
    span = function.span
    spaces = {p.type.space for p in function.parameters if isinstance(p.type, Pointer)}
    # a GPU's registers have no addresses: an array of a thread that a call gets would be moved to memory; those that
    # return one are left to the compiler: inlined, they end in an intrinsic of LLVM's that Oclgrind does not know
    private = Space.THREAD in spaces and caps.device_type is DeviceType.GPU and c_type(function.result) == "void"
    inline = INLINE_SHARED if Space.SHARED in spaces or private else INLINE
    lines = [
        Line(f"// {span.line}: {span.text.strip()}", span),
        Line(f"{inline} {c_type(function.result)} {name}({parameters}) {{", span),
    ]
    helpers.note(function.result)
    body = Emitter(function, facts, printer).run()
    lines += _local_declarations(function, printer, facts) + _block_sizes(printer, span) + body
    lines.append(Line("}", span))
    return lines


def _block_sizes(printer: Printer, span: Span) -> list[Line]:
    return [
        Line(f"    const int {name} = (int){function}({axis});", span)
        for function, names in (("get_local_size", printer.block_sizes), ("get_local_id", printer.thread_ids))
        for axis, name in sorted(names.items())
    ]


def _local_declarations(function: Function, printer: Printer, facts: Facts) -> list[Line]:
    lines = []
    for array in function.locals:
        if array.name not in facts.used and array.name not in facts.split:
            continue
        pointer = Pointer(array.element, Space.THREAD)
        printer.helpers.note(pointer)
        name = printer.names(array.name, pointer)
        if array.name in facts.split:
            lines += _split_declaration(array, name, printer)
        else:
            usual = 64 if isinstance(array.element, Vector) or array.size >= 4 else 0
            wanted = max(usual, array.alignment)
            align = f" __attribute__((aligned({wanted})))" if wanted else ""
            lines.append(Line(f"    {storage(array.element)} {name}[{array.size}]{align};", array.span))
    return lines


def _split_declaration(array: MemoryArray, name: str, printer: Printer) -> list[Line]:
    lines, row = [], []
    for position in range(array.size):
        rest, parts = position, []
        for extent in reversed(array.shape):
            parts.append(str(rest % extent))
            rest //= extent
        scalar = f"{name}_{'_'.join(reversed(parts))}"
        printer.names.reserve(scalar)
        row.append(scalar)
        if len(row) == 8 or position == array.size - 1:
            kind = "bool" if getattr(array.element, "dtype", None) is BOOL else storage(array.element)
            lines.append(Line(f"    {kind} {', '.join(row)};", array.span))
            row = []
    return lines


def _kernel(
    whole: _Whole, helpers: HelperSet, taken: frozenset[str], static_dynamic: int, subgroup_size: int | None
) -> tuple[list[Line], tuple[Parameter, ...]]:
    program, kernel = whole.program, whole.program.kernel
    printer, facts = _printer(kernel, whole, helpers, taken)
    for parameter in kernel.parameters:  # parameters get the plain names
        printer.names(parameter.name, parameter.type)
    shared = [
        f"    __local {storage(a.element)} {printer.names(a.name, Pointer(a.element, Space.SHARED))}[{a.size}]"
        f" __attribute__((aligned({max(128, a.alignment)})));"
        for a in program.shared
    ]
    statements = Emitter(kernel, facts, printer).run()
    for array in program.shared:
        helpers.note(array.element)
    body = _local_declarations(kernel, printer, facts) + _block_sizes(printer, kernel.span) + statements
    dynamic = DYNAMIC_SHARED
    parameters = tuple(
        p
        for p in kernel.parameters
        if (p.name in printer.used or p.role is ParameterRole.POINTER)
        and not (static_dynamic and p.role is ParameterRole.DYNAMIC_SHARED and p.type == dynamic)
    )
    if static_dynamic:
        name = printer.names(DYNAMIC_SHARED_ARRAY, dynamic)
        shared.append(f"    __local ulong16 {name}[{-(-static_dynamic // 128)}] __attribute__((aligned(128)));")
    span = kernel.span
    text = ",\n".join(f"    {_parameter_text(p, printer, facts)}" for p in parameters)
    lines = [Line(f"// {span.line}: {span.text.strip()}", span)]
    if program.block_dim is not None:
        size = ", ".join(map(str, program.block_dim))
        lines.append(Line(f"__attribute__((reqd_work_group_size({size})))", span))
    lines += [Line(text, span) for text in subgroup_attribute(program, helpers.caps, subgroup_size)]
    nests = not helpers.caps.diverging_nests and has_diverging_nest(program)
    if nests or (helpers.caps.device_type is DeviceType.CPU and waiting_loop(program) is not None):
        # says that the kernel is vectorised by hand: compilers for CPUs then leave threads out of the lanes of vectors
        lines.append(Line("__attribute__((vec_type_hint(float4)))", span))
    lines.append(Line(f"__kernel void {helpers.function_name(kernel.name)}(", span))
    lines += [Line(part, span) for part in f"{text}) {{".split("\n")]
    lines += [Line(declaration, span) for declaration in shared]
    return [*lines, *body, Line("}", span)], parameters


def _struct(struct: Struct) -> StructView:
    return StructView(name=c_type(struct), members=tuple(f"{c_type(k)} item{n}" for n, k in enumerate(struct.items)))


def _complex_literal(value: complex, array: ConstantArray) -> str:
    lane = Scalar(array.element.dtype.real)
    parts = (literal(Constant(part, lane, span=array.span))[0] for part in (value.real, value.imag))
    return f"({c_type(array.element)})({', '.join(parts)})"


def _values(array: ConstantArray) -> list[str]:
    values = []
    for value in array.data:
        if array.element.dtype is BOOL:
            values.append("1" if value else "0")
        elif array.element.dtype.is_complex:
            values.append(_complex_literal(value, array))
        else:
            values.append(literal(Constant(value, array.element, span=array.span))[0])
    return values


def _words(array: ConstantArray) -> tuple[str, list[str]]:
    """The bits of inexact numbers, and the type of a word of them."""
    dtype = array.element.dtype
    size = (dtype.real if dtype.is_complex else dtype).size
    with np.errstate(over="ignore"):
        bits = np.array(array.data, dtype.numpy).view(f"u{size}")
    return {2: "ushort", 4: "uint", 8: "ulong"}[size], [f"0x{int(word):0{2 * size}x}" for word in bits]


def _constant(array: ConstantArray, helpers: HelperSet) -> ConstantView:
    # no driver's INFINITY and NAN are constants to initialise memory with, once they are converted
    plain = not array.element.dtype.is_inexact or bool(np.isfinite(np.array(array.data, np.complex128)).all())
    bits, values = ("", _values(array)) if plain else _words(array)
    return ConstantView(
        type=storage(array.element),
        bits=bits,
        name=identifier(array.name),
        size=max(1, len(values)),
        values=", ".join(values) or "0",
        aligned=array.aligned or not plain,
        offset="(get_work_dim() >> 3)" if helpers.hides_negations and has_hidden_constants(array) else "",
    )
