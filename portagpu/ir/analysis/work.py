"""The work of expressions and statements: floating-point operations, bytes that they ask memory for.

What is counted is the program as it was written: what the compiler behind it fuses, folds or leaves out counts.

- An operation on a vector counts once for each lane. Complex numbers count as the real operations that the textbook
  has for them: a sum two, a product four products and two sums, a quotient six products, three sums and two quotients.
- ``fma`` is one operation here; whoever sums up takes it for two.
- Signs, absolute values, roundings to whole numbers, conversions and selections are no arithmetic.
- Addresses, loops and other integers are no floating-point arithmetic either.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from portagpu.dtypes import BOOL, DType
from portagpu.errors import UncountedWorkError
from portagpu.ir.nodes import (
    Binary,
    BinaryOp,
    Compare,
    Constant,
    Expr,
    Instruction,
    Load,
    Logical,
    LogicalOp,
    Not,
    Operation,
    Select,
    Stmt,
    Store,
    VectorLoad,
    VectorStore,
)
from portagpu.ir.operations import OPERATIONS
from portagpu.ir.types import WARP, Pointer, Scalar, Space, Type, Vector, element_size
from portagpu.ir.walk import children, expressions, has_effect

Count = tuple[str, str]
"""What is counted: a kind of operation or access, and the dtype or memory that it is of."""

ARITHMETIC = ("add", "mul", "fma", "div", "special", "compare", "matrix")
ACCESSES = ("loaded", "stored", "atomic")

_BINARY = {BinaryOp.ADD: "add", BinaryOp.SUB: "add", BinaryOp.MUL: "mul", BinaryOp.DIV: "div"}
_COMPLEX: dict[str, dict[str, int]] = {
    "add": {"add": 2},
    "mul": {"mul": 4, "add": 2},
    "div": {"mul": 6, "add": 3, "div": 2},
    "compare": {"compare": 2},
}
_OF_OPERATIONS: dict[str, str] = {
    **dict.fromkeys(("fdim",), "add"),
    **dict.fromkeys(("degrees", "radians"), "mul"),
    "fma": "fma",
    **dict.fromkeys(("min", "max", "fmin", "fmax", "minimum", "maximum"), "compare"),
    **dict.fromkeys(
        (
            *("acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cos", "cosh", "cospi", "sin", "sinh"),
            *("sinpi", "tan", "tanh", "cbrt", "sqrt", "rsqrt", "hypot", "pow", "pown", "erf", "erfc", "lgamma"),
            *("tgamma", "exp", "exp10", "exp2", "expm1", "log", "log10", "log1p", "log2", "one_plus_erf"),
            *("one_plus_tanh", "fmod", "remainder", "floordiv", "mod"),
        ),
        "special",
    ),
}
_FREE = frozenset(
    {
        # signs, roundings, questions, parts and representations of a number
        *("fabs", "ceil", "floor", "rint", "round", "trunc", "copysign", "ldexp", "logb", "nextafter", "ilogb"),
        *("frexp_mantissa", "frexp_exponent", "isfinite", "isinf", "isnan", "signbit", "as_type", "real", "imag"),
        *("convert_nearest", "convert_down", "convert_up", "convert_zero", "bfloat16_bits", "bfloat16_value"),
        *("float_bits", "float_to_tf32", "half_bits", "half_value", "round_half", "complex", "pack_bfloat162"),
        *("pack_half2", "fault_bits"),
        # integers
        *("ipow", "shl", "shr", "hadd", "mul24", "mul_hi", "rhadd", "iabs", "brev", "clz", "ffs", "popc"),
        *(name for name in OPERATIONS if name.startswith(("compare_", "dp4a_"))),
        *("slice_bound", "slice_length"),
        # pointers and hints; the record of an exception
        *("prefetch", "reinterpret", "global_address", "shared_address", "claim_fault"),
        # places, barriers, exchanges between threads
        *("threadIdx", "blockIdx", "blockDim", "gridDim", "grid", "gridsize", "laneid", "nanosleep", "grid_sync"),
        *("opaque", "varying"),
        *("syncthreads", "threadfence", "threadfence_block", "threadfence_system"),
        *("cluster_arrive", "cluster_rank", "cluster_sync", "cluster_wait", "map_shared_rank"),
        *("syncthreads_and", "syncthreads_count", "syncthreads_or"),
        *(name for name in OPERATIONS if name.startswith("warp_")),
        *("subgroup_id", "subgroup_lane", "subgroup_size", "subgroup_broadcast", "subgroup_shuffle"),
    }
)
_LOADS, _STORES = frozenset({"load_half", "load_half_aligned"}), frozenset({"store_half", "store_half_aligned"})
_HALF = 2  # bytes
_SILENT = frozenset(  # instructions
    {
        *("async_copy_commit", "async_copy_wait", "fence_proxy_async", "setmaxnreg", "wgmma_commit_group"),
        *("wgmma_fence", "wgmma_wait_group", "barrier_sync", "mbarrier_arrive", "mbarrier_init"),
        *("mbarrier_wait_parity", "mbarrier_arrive_cluster", "fence_mbarrier_init"),
        *("griddepcontrol_launch_dependents", "griddepcontrol_wait"),
    }
)
_MFMA_LANES, _WARP_GROUP = 64, 4 * WARP  # threads that compute a product together
_DEPTH_BITS = 256  # of the elements of a row that one instruction of a warp group multiplies
_MATRIX_PREFIXES = ("mfma", "wmma", "mad_")


@dataclass(slots=True)
class Cost:
    """What is counted each time; and what is counted, too, where a condition holds."""

    always: Counter[Count] = field(default_factory=Counter)
    where: list[tuple[Expr, Cost]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.always) or bool(self.where)


def cost_of(statement: Stmt) -> Cost:
    """The cost of a statement each time it is carried out, without the statements inside it; of a loop, once.

    Raises `UncountedWorkError` for what cannot be counted.
    """
    cost = Cost()
    for top in expressions(statement):
        if not (isinstance(statement, Instruction) and any(top is r for r in statement.results)):
            _add(cost, top)
    match statement:
        case Store():
            _access(cost, "stored", statement.base.type, _bytes_of(statement.value.type))
        case VectorStore():
            _access(cost, "stored", statement.base.type, _lanes(statement.value.type))
        case Instruction():
            _instruction(cost, statement)
        case _:
            pass
    return cost


def _add(cost: Cost, expr: Expr) -> None:
    match expr:
        case Logical():
            _add(cost, expr.left)
            taken = expr.left if expr.op is LogicalOp.AND else Not(expr.left, span=expr.span)
            _branch(cost, taken, expr.right)
            return
        case Select() if _is_bool(expr.condition.type):
            _add(cost, expr.condition)
            _branch(cost, expr.condition, expr.yes)
            _branch(cost, Not(expr.condition, span=expr.span), expr.no)
            return
        case Binary():
            if expr.op in _BINARY:
                _arithmetic(cost, _BINARY[expr.op], expr.type)
        case Compare():
            _arithmetic(cost, "compare", expr.left.type)
        case Load():
            _access(cost, "loaded", expr.base.type, _bytes_of(expr.type))
        case VectorLoad():
            _access(cost, "loaded", expr.base.type, _lanes(expr.type))
        case Operation():
            _operation(cost, expr)
        case _:
            pass
    for child in children(expr):
        _add(cost, child)


def _branch(cost: Cost, taken: Expr, operand: Expr) -> None:
    """What is evaluated on one path only; the condition is asked once more for the count."""
    inner = Cost()
    _add(inner, operand)
    if not inner:
        return
    if has_effect(taken):
        raise _uncounted("a condition with an effect decides what is computed", taken)
    cost.where.append((taken, inner))


def _arithmetic(cost: Cost, kind: str, of: Type) -> None:
    if not isinstance(of, Scalar | Vector) or not of.dtype.is_inexact:
        return
    parts = _COMPLEX.get(kind, {kind: 1}) if of.dtype.is_complex else {kind: 1}
    lanes = of.lanes if isinstance(of, Vector) else 1
    for part, times in parts.items():
        cost.always[part, of.dtype.real.name] += times * lanes


def _access(cost: Cost, how: str, pointer: Type, size: int) -> None:
    assert isinstance(pointer, Pointer)
    space = Space.SHARED if pointer.space is Space.CLUSTER else pointer.space
    if space in (Space.GLOBAL, Space.SHARED):
        cost.always[how, space.value] += size


def _operation(cost: Cost, expr: Operation) -> None:
    name, place = expr.name, expr.args[0].type if expr.args else None
    if name in _OF_OPERATIONS:
        _arithmetic(cost, _OF_OPERATIONS[name], expr.type)
    elif name.startswith("atomic_"):
        assert isinstance(place, Pointer)
        _access(cost, "atomic", place, element_size(place.element))
    elif name in _LOADS or name in _STORES:
        value = expr.type if name in _LOADS else expr.args[1].type
        assert place is not None
        _access(cost, "loaded" if name in _LOADS else "stored", place, _HALF * _count(value))
    elif name in ("volatile_load", "cluster_load", "subgroup_block_read"):
        assert place is not None
        _access(cost, "loaded", place, _bytes_of(expr.type))
    elif name in ("volatile_store", "cluster_store", "subgroup_block_write"):
        assert place is not None
        _access(cost, "stored", place, _bytes_of(expr.args[1].type))
    elif name.startswith("copy_"):
        _copy(cost, int(name.removeprefix("copy_")), expr.args[2])
    elif name.startswith(_MATRIX_PREFIXES):
        dtype, flops = _matrix_operation(expr)
        cost.always["matrix", dtype] += flops
    elif name not in _FREE:
        raise _uncounted(f"nothing is known of the work of {name}", expr)


def _copy(cost: Cost, size: int, valid: Expr) -> None:
    """A copy from global to shared memory, which stores zeros where it is not valid."""
    cost.always["stored", Space.SHARED.value] += size
    loaded = Cost(Counter({("loaded", Space.GLOBAL.value): size}))
    if not isinstance(valid, Constant):
        if not _is_bool(valid.type):
            raise _uncounted("a copy is made under a condition that is no bool", valid)
        if has_effect(valid):
            raise _uncounted("a condition with an effect decides what is copied", valid)
        cost.where.append((valid, loaded))
    elif valid.value:
        cost.always.update(loaded.always)


def _matrix_operation(expr: Operation) -> tuple[str, int]:
    """The dtype of the operands of a product of matrices, and what one thread of those that compute it does of it."""
    name, *rest = expr.name.split(".")
    if name.startswith("mad_"):  # each lane has a column of the result
        dtype = name.removeprefix("mad_")
        bits = {"float16": 16, "bfloat16": 16, "int8": 8, "tfloat32": 32}[dtype]
        return dtype, 2 * _count(expr.type) * 8 * (32 // bits)
    dtype, shape = rest
    m, n, k = _extents(shape)
    return dtype, 2 * m * n * k // (_MFMA_LANES if name.startswith("mfma") else WARP)


def _instruction(cost: Cost, statement: Instruction) -> None:
    name, attributes = statement.name, statement.attributes
    if name == "async_copy":
        _copy(cost, int(str(attributes[0])), statement.operands[2])
    elif name == "ldmatrix":  # a matrix of 8 x 8 elements of 16 bits for each result, by a warp
        cost.always["loaded", Space.SHARED.value] += 8 * 8 * 2 // WARP * len(statement.results)
    elif name == "mma_sync":
        m, n, k = _extents(str(attributes[1]))
        cost.always["matrix", str(attributes[0])] += 2 * m * n * k // WARP
    elif name == "wgmma":
        n, dtype = int(str(attributes[0])), str(attributes[1])
        bits = {"int8": 8, "uint8": 8, "tfloat32": 32}.get(dtype, 16)
        cost.always["matrix", dtype] += 2 * 64 * n * (_DEPTH_BITS // bits) // _WARP_GROUP
    elif name not in _SILENT:
        raise _uncounted(f"{name} moves or changes memory that the compiler does not see", statement)


def _extents(shape: str) -> tuple[int, int, int]:
    """The extents of a shape such as ``m16n8k16``."""
    numbers = shape.replace("m", " ").replace("n", " ").replace("k", " ").split()
    m, n, k = map(int, numbers)
    return m, n, k


def _is_bool(kind: Type) -> bool:
    return isinstance(kind, Scalar) and kind.dtype is BOOL


def _count(kind: Type) -> int:
    return kind.lanes if isinstance(kind, Vector) else 1


def _lanes(kind: Type) -> int:
    """Bytes of the lanes of a vector, which one of three has without a gap."""
    assert isinstance(kind, Vector)
    dtype: DType = kind.dtype
    return kind.lanes * dtype.size


def _bytes_of(kind: Type) -> int:
    assert isinstance(kind, Scalar | Vector)
    return element_size(kind)


def _uncounted(what: str, at: Expr | Stmt) -> UncountedWorkError:
    return UncountedWorkError(
        f"the work of this kernel cannot be counted: {what}",
        span=at.span,
        hint="count the operations and bytes of this kernel by hand",
    )
