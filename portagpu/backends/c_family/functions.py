"""Prints a program's functions: heads, local arrays and bodies, of device functions and of the kernel."""

from __future__ import annotations

from portagpu.backends.c_family.analysis import Facts, analyse, cuts_wide_integers
from portagpu.backends.c_family.c_types import storage
from portagpu.backends.c_family.dialect import Dialect, KernelParts, KernelText
from portagpu.backends.c_family.emitter import Emitter
from portagpu.backends.c_family.helpers import HelperSet
from portagpu.backends.c_family.line import Line
from portagpu.backends.c_family.names import Names
from portagpu.backends.c_family.printer import Printer
from portagpu.device.capabilities import DeviceType
from portagpu.dtypes import BOOL
from portagpu.ir.analysis.choices import chooses_arrays, reads_local_arrays_apart
from portagpu.ir.analysis.difference_sums import sums_differences
from portagpu.ir.analysis.memory_order import communicates
from portagpu.ir.analysis.spin_loops import waiting_loop
from portagpu.ir.analysis.uniform import Marks, callees_with_barriers
from portagpu.ir.program import Function, MemoryArray, Parameter, ParameterRole, Program
from portagpu.ir.types import Pointer, Space, Vector
from portagpu.passes.barriers.nested_loops import has_diverging_nest
from portagpu.source import Span


class FunctionPrinter:
    """Prints the functions of one program in a dialect."""

    def __init__(self, program: Program, dialect: Dialect, helpers: HelperSet, taken: frozenset[str]) -> None:
        self.program = program
        self.dialect = dialect
        self.helpers = helpers
        self._taken = taken
        self._callees = callees_with_barriers(program) if helpers.hides_cases else frozenset[str]()
        self._communicates = communicates(program)
        self._chooses = not program.library and chooses_arrays(program)
        self._hides_ids = not helpers.caps.cuts_subscripts and cuts_wide_integers(program)

    def device_function(self, function: Function) -> list[Line]:
        """The lines of a device function."""
        printer, facts = self._printer(function)
        language, helpers = self.dialect.language, self.helpers
        # a caller may pass pointers of its own that are not const, so only those known to be read-only are const here
        parameters = ", ".join(self._parameter_text(p, printer, facts) for p in function.parameters)
        name = helpers.function_name(function.name)
        span = function.span
        result = language.type(function.result)
        spaces = {p.type.space for p in function.parameters if isinstance(p.type, Pointer)}
        # a GPU's registers have no addresses: an array of a thread that a call gets would be moved to memory; those
        # that return one are left to the compiler: inlined, they end in an intrinsic that Oclgrind does not know
        private = Space.THREAD in spaces and helpers.caps.device_type is DeviceType.GPU and result == "void"
        is_inlined = function.is_inlined or Space.SHARED in spaces or private
        inline = language.always_inline if is_inlined else language.inline
        lines = [
            Line(f"// {span.line}: {span.text.strip()}", span),
            Line(f"{inline} {result} {name}({parameters or language.no_parameters}) {{", span),
        ]
        helpers.note(function.result)
        body = Emitter(function, facts, printer, self._marks(function)).run()
        if language.first_line:
            lines.append(Line(f"    {language.first_line}", span))
        lines += self._locals(function, printer, facts) + self._place(printer, span) + body
        lines.append(Line("}", span))
        return lines

    def kernel(self, static_dynamic_shared: int, subgroup_size: int | None) -> KernelText:
        """The kernel's text."""
        program, kernel, helpers = self.program, self.program.kernel, self.helpers
        printer, facts = self._printer(kernel)
        for parameter in kernel.parameters:  # parameters get the plain names
            printer.names(parameter.name, parameter.type)
        for array in program.shared:
            printer.names(array.name, Pointer(array.element, Space.SHARED))
        statements = Emitter(kernel, facts, printer, self._marks(kernel)).run()
        for array in program.shared:
            helpers.note(array.element)
        nests = not helpers.caps.diverging_nests and has_diverging_nest(program)
        differs = not helpers.caps.sums_differences and sums_differences(program)
        reads = not (program.library or helpers.caps.chooses_arrays) and reads_local_arrays_apart(program)
        waits = helpers.caps.device_type is DeviceType.CPU and waiting_loop(program) is not None
        parts = KernelParts(
            program=program,
            printer=printer,
            facts=facts,
            parameters=tuple(p for p in kernel.parameters if p.name in printer.used or p.role is ParameterRole.POINTER),
            parameter_text=lambda p: self._parameter_text(p, printer, facts),
            body=self._locals(kernel, printer, facts) + self._place(printer, kernel.span) + statements,
            is_unvectorised=nests or differs or reads or waits,
            is_unoptimised=self._chooses and not helpers.caps.chooses_arrays,
            static_dynamic_shared=static_dynamic_shared,
            subgroup_size=subgroup_size,
        )
        return self.dialect.kernel(parts)

    def _marks(self, function: Function) -> Marks | None:
        return Marks(function.body, self._callees) if self.helpers.hides_cases else None

    def _printer(self, function: Function) -> tuple[Printer, Facts]:
        program = self.program
        facts = analyse(function)
        arrays = {a.name: a for a in (*function.locals, *program.shared)}
        names = Names(self._taken)
        fixed = (
            set(arrays)
            | {c.name for c in program.constants}
            | {p.name for p in function.parameters if isinstance(p.type, Pointer)}
        )
        printer = Printer(self.dialect, facts, names, self.helpers, arrays)
        printer.wide, printer.hides_ids = program.wide_index, self._hides_ids
        printer.fixed = frozenset(fixed)
        return printer, facts

    def _parameter_text(self, parameter: Parameter, printer: Printer, facts: Facts) -> str:
        kind = parameter.type
        printer.helpers.note(kind)
        name = printer.names(parameter.name, kind)
        if isinstance(kind, Pointer):
            readonly = kind.readonly or (parameter.name in facts.constant_pointers and kind.space is not Space.THREAD)
            free = self._communicates and (
                not readonly or parameter.name in facts.polled
            )  # `portagpu.ir.analysis.memory_order`
            restrict = kind.restrict and not free and parameter.name not in facts.merged
            kind = Pointer(kind.element, kind.space, readonly, restrict)
        return f"{self.dialect.language.type(kind)} {name}"

    def _place(self, printer: Printer, span: Span) -> list[Line]:
        """Variables that hold the block's extents and the thread's place in it."""
        sizes = {name: f"(int){self.dialect.language.local_size(a)}" for a, name in sorted(printer.block_sizes.items())}
        ids = {name: printer.thread_id_value(axis) for axis, name in sorted(printer.thread_ids.items())}
        return [Line(f"    const int {name} = {value};", span) for name, value in {**sizes, **ids}.items()]

    def _locals(self, function: Function, printer: Printer, facts: Facts) -> list[Line]:
        """Declarations of local arrays."""
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
                wanted = max(self._alignment(array), array.alignment)
                align = f" __attribute__((aligned({wanted})))" if wanted else ""
                lines.append(Line(f"    {storage(array.element)} {name}[{array.size}]{align};", array.span))
        return lines

    def _alignment(self, array: MemoryArray) -> int:
        """The alignment of a local array in bytes; 0: left to the compiler."""
        if isinstance(array.element, Vector):
            return 64
        if self._chooses:
            return 8  # a compiler takes the alignment of an array for that of parts of it that were chosen
        return 64 if array.size >= 4 else 0


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
