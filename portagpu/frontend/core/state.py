"""State of a lowering: the program under construction, and one function of it."""

from __future__ import annotations

import ast
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn

from portagpu.device.capabilities import Capabilities
from portagpu.errors import KernelError, KernelTypeError
from portagpu.frontend.core.values import Value
from portagpu.frontend.source.callables import DeviceCallable
from portagpu.frontend.source.capture import FunctionSource
from portagpu.frontend.source.dependencies import Dependencies
from portagpu.frontend.source.scopes import bound_names
from portagpu.ir.names import own
from portagpu.ir.nodes import Assign, Expr, Offset, Stmt, Var
from portagpu.ir.program import ConstantArray, Function, KernelException, MemoryArray, Parameter, Remark
from portagpu.ir.types import (
    INT,
    LONG,
    PYCOMPLEX,
    PYCOMPLEX_NARROW,
    PYFLOAT,
    PYFLOAT_NARROW,
    PYINT,
    PYINT_NARROW,
    Pointer,
    Scalar,
    Struct,
)
from portagpu.source import Span

# the caller, the function, the call (of `core.registry`), and its result
LowerCall = Callable[["FunctionState", DeviceCallable, Any], Value]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceFunction:
    """A specialised device function and what its callers must know."""

    function: Function
    result: Any  # Value template: Const, TupleValue of types, or a leaf type
    shared: tuple[MemoryArray, ...]  # shared arrays that the caller passes
    barrier: bool  # whether threads wait for each other in it, on some device
    records: bool  # whether it records exceptions, or calls what does: it then takes the record's address
    raises: bool  # whether a thread may end in it: it then takes the address of the thread's flag
    hidden: tuple[Parameter, ...] = ()  # of the kernel, which it takes too
    lent: tuple[MemoryArray, ...] = ()  # local arrays that it returns, so that they lie in its caller


class ProgramState:
    """What all functions of one kernel share."""

    def __init__(
        self,
        caps: Capabilities,
        *,
        lower_call: LowerCall,
        wide_index: bool,
        debug: bool,
        fast: bool = False,
        bounds: bool = False,
        cluster: tuple[int, int, int] | None = None,
        dependencies: Dependencies | None = None,
    ) -> None:
        self.caps = caps
        self.lower_call = lower_call  # lowers a call of a device function
        self.dependencies = dependencies  # the record of what is read of the program around the kernel
        self.wide_index = wide_index
        self.debug = debug  # exceptions are reported
        self.fast = fast  # but not for float32 quotients
        self.bounds = bounds  # subscripts are checked
        self.cluster = cluster  # blocks that run together, where they are more than one
        self.faults: dict[Any, KernelException] = {}
        self.remarks: dict[Any, Remark] = {}  # by what and where: functions are lowered for each kind of call
        self.index_type: Scalar = LONG if wide_index else INT
        self.shape_type: Scalar = PYINT if wide_index else PYINT_NARROW
        self.py_float: Scalar = PYFLOAT if caps.fp64 else PYFLOAT_NARROW
        self.py_complex: Scalar = PYCOMPLEX if caps.fp64 else PYCOMPLEX_NARROW
        self.shared: dict[Any, MemoryArray] = {}
        self.constants: dict[int, tuple[Any, ConstantArray]] = {}
        self.functions: dict[Any, DeviceFunction] = {}
        self.in_progress: list[Any] = []
        self.structs: dict[Struct, None] = {}
        self.bound: dict[Any, frozenset[str]] = {}  # parameters of device functions that are needed at compile time
        self.local_functions: dict[Any, Any] = {}  # nested functions by the id of their node
        self.device_arrays: tuple[Any, ...] = ()  # those that the kernel captures
        self.with_arrays: dict[FunctionSource, FunctionSource] = {}  # device functions that these are passed to
        self.dynamic_shared = False
        self.cooperative = False  # whether the grid is a group
        self.halves = False  # whether float16 occurs
        self.retyped = False  # whether an array is viewed under another dtype
        self._names: dict[str, int] = {}

    def unique(self, base: str) -> str:
        """A name that no other function or program-scope object has."""
        count = self._names.get(base, 0)
        self._names[base] = count + 1
        return base if count == 0 else f"{base}.{count}"


@dataclass(slots=True, kw_only=True)
class LoopFrame:
    """An open loop: the types its variables have at its head, and whether they hold what its edges carry."""

    types: dict[str, Any]  # name -> leaf types, in the order of `values.leaves`
    final: bool  # whether the types held what each edge carried so far, so that edges emit conversions
    settles: Callable[[dict[str, Value]], bool] = lambda env: True  # widens the types for an edge; whether they held it
    unrolled: bool = False
    otherwise: Exception | None = None  # raised where a run-time condition leaves an unrolled iteration
    stopped: bool = False  # an unrolled loop met a break that is decided at compile time
    block: list[Stmt] | None = None  # of an unrolled iteration
    has_break: bool = False
    broke: Var | None = None  # flag for an else clause


@dataclass(eq=False, slots=True)
class OpenLoop:
    """A loop that is being lowered, and the variables that have a value before it."""

    node: ast.For | ast.While
    before: frozenset[str]


@dataclass(eq=False, slots=True)
class CallSite:
    """A call of a device function whose body is being lowered: by whom, and with which arguments.

    ``bound``: parameters that are compile-time constants already.
    """

    caller: FunctionState
    arguments: dict[str, Value]
    bound: frozenset[str]


class _At:
    """The place of the node that is lowered inside ``with``. (A generator's context manager takes several times as
    long.) Where that raises, the place stays: it is the error's.
    """

    __slots__ = ("_before", "_ctx", "_node")

    def __init__(self, ctx: FunctionState, node: ast.AST) -> None:
        self._ctx, self._node = ctx, node

    def __enter__(self) -> None:
        self._before = self._ctx.span
        if hasattr(self._node, "lineno"):
            self._ctx.span = self._ctx.source.span(self._node)

    def __exit__(self, kind: object, *rest: object) -> None:
        if kind is None:
            self._ctx.span = self._before


class FunctionState:
    """Lowering of one function: environment, open block, spans."""

    def __init__(self, program: ProgramState, source: FunctionSource, *, is_kernel: bool) -> None:
        self.program = program
        self.source = source
        self.is_kernel = is_kernel
        self.env: dict[str, Value] = {}
        self.block: list[Stmt] = []
        self.reachable = True
        self.span = source.span(source.tree)
        self.loops: list[LoopFrame] = []
        self.open_loops: list[OpenLoop] = []  # whose variables may have to be set before them
        self.call_site: CallSite | None = None  # of a device function
        self.parameters: list[Parameter] = []
        self.local_arrays: dict[Any, MemoryArray] = {}
        self.shared: dict[str, MemoryArray] = {}  # used by this function or its callees
        self.stable: set[str] = set()  # variables that never change
        self.name_hint = "array"  # of a local or shared array: the name it is assigned to
        self.returns: list[tuple[Value, Span]] = []
        self.return_types: Any = None  # leaf types once known
        self.unset_name: ast.Name | None = None  # a read of a variable that no path to it sets
        self.last_bound: dict[str, Value] = {}  # what each name was last bound to, in the order of the text
        self.effect = False
        self.lends = False  # whether it returns a local array of its own
        self.hidden: dict[str, Parameter] = {}  # of the kernel, which this function or its callees use
        self.records = False  # see `DeviceFunction`
        self.raises = False
        self.guesses: dict[Any, dict[str, Any]] = {}
        self.loop_local: dict[str, bool] = {}
        self.body: tuple[Stmt, ...] = ()
        self.last_frame = LoopFrame(types={}, final=True)
        self.counter = 0
        self.local_names = _assigned_names(source.tree) | set(source.parameters)

    # spans and errors -------------------------------------------------------------------------------------------

    def at(self, node: ast.AST) -> _At:
        """Lower ``node``: everything made inside gets its span."""
        return _At(self, node)

    def error(
        self,
        message: str,
        *,
        kind: type[KernelError] = KernelTypeError,
        node: ast.AST | None = None,
        hint: str | None = None,
        notes: Iterable[str] = (),
    ) -> KernelError:
        """An error at the given node, or at the current place."""
        span = self.span if node is None else self.source.span(node)
        return kind(message, span=span, hint=hint, notes=tuple(notes))

    def fail(self, message: str, **details: Any) -> NoReturn:
        """Raise `error`."""
        raise self.error(message, **details)

    # statements -------------------------------------------------------------------------------------------------

    def emit(self, statement: Stmt) -> None:
        """Append to the open block; unreachable statements are dropped."""
        if self.reachable:
            self.block.append(statement)

    @contextmanager
    def nested(self) -> Iterator[list[Stmt]]:
        """Open a nested block."""
        saved = self.block
        self.block = []
        try:
            yield self.block
        finally:
            self.block = saved

    def fresh(self, prefix: str) -> str:
        """A new variable's name."""
        self.counter += 1
        return own(f"{prefix}{self.counter}")

    def temp(self, value: Expr) -> Var:
        """Keep an expression in a fresh variable."""
        var = Var(self.fresh("t"), value.type, span=self.span)
        self.emit(Assign(var, value, span=self.span))
        return var

    def temp_stable(self, name: str, base: Expr, offset: Expr) -> Var:
        """A pointer into an argument, computed once at the start."""
        var = Var(name, base.type, span=self.span)
        assert isinstance(base.type, Pointer)
        self.emit(Assign(var, Offset(base, offset, base.type, span=self.span), span=self.span))
        self.stable.add(name)
        return var

    def memory_array(self, key: Any, make: Callable[[str], MemoryArray], base: str) -> MemoryArray:
        """The local array declared at one place of the text (one allocation, however often the place is lowered)."""
        if key not in self.local_arrays:
            taken = {a.name for a in self.local_arrays.values()}
            name, count = base, 0
            while name in taken:
                count += 1
                name = f"{base}_{count}"
            self.local_arrays[key] = make(name)
            self.stable.add(name)
        return self.local_arrays[key]

    def trial(self, action: Callable[[], None]) -> None:
        """Run ``action`` for its types only: its statements are dropped."""
        saved = (len(self.returns), self.counter, self.reachable, dict(self.env))
        try:
            with self.nested():
                action()
        finally:
            count, self.counter, self.reachable, self.env = saved
            del self.returns[count:]


_assigned: weakref.WeakKeyDictionary[ast.AST, frozenset[str]] = weakref.WeakKeyDictionary()


def _assigned_names(tree: ast.FunctionDef) -> frozenset[str]:
    """Names that a function binds; device functions are lowered for each of their calls, and walked once."""
    found = _assigned.get(tree)
    if found is None:
        found = _assigned[tree] = frozenset(bound_names(tree))
    return found
