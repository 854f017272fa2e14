"""From a typed program to text of a dialect: views for the templates, and the table that leads back to Python lines."""

from __future__ import annotations

from dataclasses import dataclass

from portagpu.backends.c_family.constants import ConstantView, StructView, constant_view, struct_view
from portagpu.backends.c_family.dialect import Dialect
from portagpu.backends.c_family.functions import FunctionPrinter
from portagpu.backends.c_family.helpers import HelperView
from portagpu.backends.c_family.line import Line
from portagpu.backends.c_family.names import distinct
from portagpu.backends.source import KernelSource
from portagpu.device.capabilities import Capabilities, DeviceType
from portagpu.errors import SharedMemoryError
from portagpu.ir.analysis.memory_access import findings
from portagpu.ir.analysis.spin_loops import waiting_loop
from portagpu.ir.analysis.uniform import Marks
from portagpu.ir.names import WARP_VALUES
from portagpu.ir.nodes import Print
from portagpu.ir.program import MemoryArray, Program
from portagpu.ir.recursion import deeply_nested
from portagpu.ir.types import element_size
from portagpu.ir.walk import all_statements
from portagpu.source import Span


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramView:
    """Everything `kernel.mako` prints."""

    kernel: str  # its name in the text
    extensions: tuple[str, ...]
    declarations: tuple[str, ...]
    structs: tuple[StructView, ...]
    constants: tuple[ConstantView, ...]
    helpers: tuple[HelperView, ...]
    body: str


@deeply_nested
def generate(
    dialect: Dialect,
    program: Program,
    caps: Capabilities,
    *,
    static_dynamic_shared: int = 0,
    subgroup_size: int | None = None,
) -> KernelSource:
    """Print a program for a device.

    ``subgroup_size`` is what the kernel's subgroups must have. With ``static_dynamic_shared`` bytes, dynamic shared
    memory becomes a static array: some drivers allow less for an argument than for a static array.

    Raises `MissingCapabilityError` for what the device cannot do, `SharedMemoryError` when the shared arrays exceed its
    local memory.
    """
    static_shared = sum(map(shared_size, program.shared))
    _check_shared(program, static_shared, caps)
    functions = distinct(f.name for f in (*program.functions, program.kernel))
    helpers = dialect.helpers(caps, functions, has_barriers=_has_barrier(program), fuses=program.fma)
    printer = FunctionPrinter(program, dialect, helpers, frozenset(functions.values()))
    lines: list[Line] = []
    for function in program.functions:
        lines += printer.device_function(function)
        lines.append(Line("", None))
    kernel = printer.kernel(static_dynamic_shared, subgroup_size)
    lines += kernel.lines
    if caps.line_directives:
        lines = _with_directives(lines)
    body = "\n".join(line.text for line in lines)
    helpers.note_extensions_of_types()
    view = ProgramView(
        kernel=functions[program.kernel.name],
        extensions=tuple(helpers.extensions),
        declarations=(*_rounding(program, dialect), *helpers.declarations, *dialect.language.typedefs),
        structs=tuple(struct_view(s, dialect.language) for s in program.structs),
        constants=tuple(constant_view(c, helpers, as_vectors=dialect.has_vector_constants) for c in program.constants),
        helpers=helpers.views,
        body=body,
    )
    source = dialect.render("kernel.mako", view)
    waiting = waiting_loop(program, steered=True)
    return KernelSource(
        source=source,
        name=functions[program.kernel.name],
        parameters=kernel.parameters,
        lines=_spans(source, body, lines),
        static_shared=static_shared,
        findings=findings(program) if caps.device_type is DeviceType.GPU else (),
        block_dim=program.block_dim,
        cluster=program.cluster,
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


def _rounding(program: Program, dialect: Dialect) -> tuple[str, ...]:
    """The pragma that keeps products and sums apart, where the program asks for it.

    Without it, C allows one rounding in an expression, and one vendor's compiler rounds once across statements, too.
    """
    return () if program.fma or not dialect.language.no_contraction else (dialect.language.no_contraction,)


def shared_size(array: MemoryArray) -> int:
    """Bytes that a shared array takes: it begins at a multiple of 128."""
    return -(-_bytes(array) // 128) * 128


def _check_shared(program: Program, static_shared: int, caps: Capabilities) -> None:
    limit = max(caps.local_memory_static, caps.local_memory_argument)
    if static_shared > limit:
        largest = max(program.shared, key=shared_size)
        raise SharedMemoryError(
            f"the kernel's shared arrays take {static_shared} bytes; this device has {limit}",
            span=largest.span,
            hint="make the tiles smaller",
        )


def _spans(source: str, body: str, lines: list[Line]) -> tuple[Span | None, ...]:
    """The place of each line of the program in Python text."""
    spans: list[Span | None] = [None] * source[: source.index(body)].count("\n")
    spans += [line.span for line in lines]
    spans += [None] * (source.count("\n") + 1 - len(spans))
    return tuple(spans)


def _prints(program: Program) -> bool:
    return any(isinstance(s, Print) for f in (*program.functions, program.kernel) for s in all_statements(f.body))


def _has_barrier(program: Program) -> bool:
    return any(Marks(f.body, frozenset()).barrier for f in (*program.functions, program.kernel))


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
