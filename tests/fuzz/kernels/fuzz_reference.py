"""Kernels as plain Python: each thread of a block is a generator, barriers are where they meet.

The text of a kernel is rewritten: operators become functions that promote as docs/dialect.md says (as NumPy, with
Python integers that are no constants as int64 beside other integers), ``cuda`` is the thread, a barrier a ``yield``.
"""

from __future__ import annotations

import ast
import copy
import itertools
import math
import operator
from collections.abc import Callable, Generator
from fractions import Fraction
from functools import cache
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
from fuzz_meeting import WARP, PyInt, Undefined, answered
from fuzz_rough import COMPLEX, FUNCTIONS, allowed, apply, chosen


class _Mode:
    """``strict``: floats must be exact, elements stored by one thread; threads run backwards, memory begins with ones.

    ``thread``: the one that runs, with its block; ``phase``: barriers that its block has met; ``writers`` by address.
    """

    strict = False
    thread: tuple[Any, ...] = ()
    phase = 0
    writers: ClassVar[dict[int, tuple[Any, ...]]] = {}
    memory: ClassVar[list[Any]] = []  # local and shared arrays, kept so that addresses stay theirs


def is_number(value: Any) -> bool:
    """Whether a value is NumPy's integer, not a bool."""
    return isinstance(value, np.integer)


_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mult": operator.mul,
    "FloorDiv": operator.floordiv,
    "Mod": operator.mod,
    "Pow": operator.pow,
    "BitAnd": operator.and_,
    "BitOr": operator.or_,
    "BitXor": operator.xor,
    "LShift": operator.lshift,
    "RShift": operator.rshift,
    "Div": operator.truediv,
}
_BITS = ("BitAnd", "BitOr", "BitXor")


def _weak(value: Any) -> bool:
    return isinstance(value, int | float | complex) and not isinstance(value, bool | np.generic)


def meet(a: Any, b: Any) -> tuple[Any, Any]:
    """Both operands as NumPy's operators shall see them."""
    for_other: dict[bool, Any] = {}
    for flipped, (x, y) in enumerate(((a, b), (b, a))):
        if isinstance(x, PyInt) and is_number(y):
            kind = np.uint64 if y.dtype == np.uint64 else np.int64
            for_other[bool(flipped)] = np.int64(x).astype(kind), kind(y)
    if False in for_other:
        return for_other[False]
    if True in for_other:
        y, x = for_other[True]
        return x, y
    if is_number(a) and is_number(b) and {a.dtype.name, b.dtype.name} == {"int64", "uint64"}:
        return float(a), float(b)
    return a, b


@cache
def _ready(name: str, left: type, right: type) -> Callable[[Any, Any], Any] | None:
    """The operator for operands of two types, where their values do not matter; None for all others."""
    operation = _OPERATORS[name]
    numbers = [issubclass(kind, np.integer | np.floating) for kind in (left, right)]
    integers = [issubclass(kind, np.integer) or kind in (int, PyInt) for kind in (left, right)]
    if name == "Div" and all(integers):
        return None
    if all(numbers):
        return operation if {left, right} != {np.int64, np.uint64} else None
    if numbers[0] and integers[0] and right is PyInt:
        kind = np.uint64 if left is np.uint64 else np.int64
        return lambda a, b: operation(kind(a), np.int64(b).astype(kind))
    if numbers[1] and integers[1] and left is PyInt:
        kind = np.uint64 if right is np.uint64 else np.int64
        return lambda a, b: operation(np.int64(a).astype(kind), kind(b))
    if PyInt in (left, right) and all(integers) and name not in ("FloorDiv", "Mod"):
        return lambda a, b: PyInt(operation(int(a), int(b)))
    return None


def binary(name: str, a: Any, b: Any) -> Any:
    """``a op b``."""
    if not _Mode.strict and (operation := _ready(name, type(a), type(b))) is not None:
        return operation(a, b)
    bools = isinstance(a, bool | np.bool_), isinstance(b, bool | np.bool_)
    if all(bools) and name in _BITS:
        return np.bool_(_OPERATORS[name](bool(a), bool(b)))
    if bools[0] and (bools[1] or _weak(b)):
        a = PyInt(a)
    if bools[1] and (bools[0] or _weak(a)):
        b = PyInt(b)
    a, b = meet(a, b)
    integers = is_number(a) or type(a) in (int, PyInt), is_number(b) or type(b) in (int, PyInt)
    if name == "Div" and all(integers):
        return float(np.float64(a) / np.float64(b))
    if _weak(a) and _weak(b):
        if all(integers):
            if name in ("FloorDiv", "Mod") and b == 0:
                return PyInt(0)
            result = _OPERATORS[name](int(a), int(b))
            return result if type(a) is int and type(b) is int else PyInt(result)
        if _Mode.strict:
            _check_exact(name, float(a), float(b))
        return float(_OPERATORS[name](np.float64(a), np.float64(b)))
    if isinstance(a, float) and is_number(b):
        return float(_OPERATORS[name](np.float64(a), np.float64(b)))
    if isinstance(b, float) and not isinstance(b, np.generic) and is_number(a):
        return float(_OPERATORS[name](np.float64(a), np.float64(b)))
    a, b = (int(x) if isinstance(x, PyInt) else x for x in (a, b))
    if _Mode.strict:
        _check_exact(name, a, b)
    return _OPERATORS[name](a, b)


def _check_exact(name: str, a: Any, b: Any) -> None:
    result = _OPERATORS[name](a, b)
    if not isinstance(result, np.floating | float) or name not in ("Add", "Sub", "Mult", "Div"):
        return
    if not all(math.isfinite(x) for x in (a, b, result)):
        raise Undefined(f"{name} of {a} and {b}")
    exact = _OPERATORS[name](Fraction(float(a)), Fraction(float(b)))
    if exact != Fraction(float(result)):
        raise Undefined(f"{name} of {a} and {b} is rounded")


def unary(name: str, a: Any) -> Any:
    """``-a`` and ``~a``."""
    if isinstance(a, bool | np.bool_):
        return PyInt(-int(a)) if name == "USub" else np.bool_(not a)
    result = -a if name == "USub" else ~a
    return PyInt(result) if isinstance(a, PyInt) else result


def _extreme(choose: Callable[..., Any]) -> Callable[..., Any]:
    def function(*args: Any) -> Any:
        a, b = args
        wanted = binary("Add", a, b)
        if isinstance(wanted, np.uint64):  # a Python integer, which may be negative, adopts the type first
            a, b = meet(a, b)
        result = choose(a, b)
        if isinstance(wanted, np.generic):
            return wanted.dtype.type(result)
        return type(wanted)(result)

    return function


def _round(x: Any) -> Any:
    return PyInt(round(float(x)))


def _absolute(x: Any) -> Any:
    return PyInt(abs(x)) if isinstance(x, PyInt | bool | np.bool_) else abs(x)


def _int(x: Any) -> Any:
    return PyInt(int(x))


def _float(x: Any) -> float:
    return float(x)


_LARGEST = 2**63 - 1


def fit(value: Any, dtype: np.dtype[Any]) -> Any:
    """A value as an element of an array: converted as C does."""
    if type(value) is dtype.type:
        return value
    if isinstance(value, PyInt | int) and not isinstance(value, bool):
        value = np.uint64(value) if value > _LARGEST else np.int64(value)
    if isinstance(value, float | np.floating) and np.dtype(dtype).kind in "iu":
        info = np.iinfo(dtype)
        if not info.min <= value <= info.max:
            raise Undefined(f"{value} as {dtype}")
    return np.asarray(value).astype(dtype)[()]


def fit_item(value: Any, owner: Any, key: Any) -> Any:
    """A value as an element of an array, or as a field of a record."""
    if _Mode.strict:
        _check_store(owner, key)
    return fit(value, owner.dtype.fields[key][0] if isinstance(key, str) else owner.dtype)


def _check_store(owner: Any, key: Any) -> None:
    """Raise where another thread has stored to the same address since the last barrier."""
    places = key if isinstance(key, tuple) else (key,)
    if not isinstance(owner, np.ndarray) or any(isinstance(p, str | slice) for p in places):
        return  # of a record: what it lies in is checked by the order of threads
    offset = sum((int(p) % n) * s for p, n, s in zip(places, owner.shape, owner.strides, strict=False))
    address = owner.__array_interface__["data"][0] + offset
    block, number = _Mode.thread
    before = _Mode.writers.setdefault(address, (block, number, _Mode.phase))
    if before != (block, number, _Mode.phase):
        if before[:2] != (block, number) and (before[0] != block or before[2] == _Mode.phase):
            raise Undefined("two threads store to one address")
        _Mode.writers[address] = (block, number, _Mode.phase)


class _Maker:
    """A scalar type of NumPy, which converts as C does."""

    def __init__(self, name: str) -> None:
        self.dtype = np.dtype(name)

    def __call__(self, value: Any) -> Any:
        return fit(value, self.dtype)


class _NumPy:
    """``np`` in a kernel: scalar types convert as C does."""

    @staticmethod
    def array(values: Any, dtype: _Maker) -> Any:
        """A constant array."""
        return np.array(values, dtype.dtype)

    def __getattr__(self, name: str) -> Any:
        found = _Maker(name) if name.startswith(("int", "uint", "float", "complex")) else getattr(np, name)
        if isinstance(found, np.ufunc):
            ufunc = found
            found = lambda *args: ufunc(*(int(a) if isinstance(a, PyInt) else a for a in args))  # noqa: E731
        setattr(self, name, found)
        return found


class _Math:
    def __getattr__(self, name: str) -> Any:
        found = getattr(math, name)
        return (lambda x: PyInt(found(x))) if name in ("floor", "ceil", "trunc") else found


def _range(*args: Any) -> Any:
    """Counters are Python's integers, those of bounds of 64 bits have the bounds' dtype."""
    counter = type(args[0]) if isinstance(args[0], np.int64 | np.uint64) else PyInt
    return map(counter, range(*(int(a) for a in args)))


def _enumerate(items: Any) -> Any:
    return ((PyInt(n), item) for n, item in enumerate(items))


@cache
def _axes(values: tuple[int, ...]) -> SimpleNamespace:
    return SimpleNamespace(x=PyInt(values[0]), y=PyInt(values[1]), z=PyInt(values[2]))


def _unsigned(x: Any) -> Any:
    return np.dtype(f"u{x.dtype.itemsize}").type


def _bits_of(x: Any) -> str:
    """The bits of an integer of 32 or 64."""
    if x.dtype.itemsize < 4:
        raise Undefined("bits of a narrow integer")
    return f"{int(x.astype(_unsigned(x))):0{8 * x.dtype.itemsize}b}"


class Thread:
    """What ``cuda`` is for one thread."""

    def __init__(self, block: tuple[int, ...], thread: tuple[int, ...], shape: Any, shared: dict[int, Any]) -> None:
        grid_shape, block_shape = shape
        self.threadIdx, self.blockIdx = _axes(thread), _axes(block)
        self.blockDim, self.gridDim = _axes(block_shape), _axes(grid_shape)
        self._place = [PyInt(block[n] * block_shape[n] + thread[n]) for n in range(3)]
        self._shared = shared
        self.local = SimpleNamespace(array=_memory)
        self.const = SimpleNamespace(array_like=lambda array: array)
        self.atomic = _Atomic()

    popc = staticmethod(lambda x: np.int32(_bits_of(x).count("1")))
    clz = staticmethod(lambda x: np.int32((_bits_of(x) + "1").index("1")))
    ffs = staticmethod(lambda x: np.int32(_bits_of(x)[::-1].find("1") + 1))
    brev = staticmethod(lambda x: _unsigned(x)(int(_bits_of(x)[::-1], 2)).astype(x.dtype))
    selp = staticmethod(lambda test, a, b: a if test else b)

    def fma(self, a: Any, b: Any, c: Any) -> Any:
        """Exact, by the generator's promise."""
        return binary("Add", binary("Mult", a, b), c)

    def grid(self, ndim: int) -> Any:
        return self._place[0] if ndim == 1 else tuple(self._place[:ndim])

    def gridsize(self, ndim: int) -> Any:
        """Threads of the grid, of one axis."""
        assert ndim == 1
        return PyInt(self.blockDim.x * self.gridDim.x)

    def shared_array(self, site: int, shape: Any, dtype: Any) -> Any:
        if shape == 0:  # dynamic: an element for each thread
            shape = self.blockDim.x * self.blockDim.y * self.blockDim.z
        return self._shared.setdefault(site, _memory(shape, dtype))


def _memory(shape: Any, dtype: Any) -> Any:
    """Memory that nothing has set yet: whatever depends on what it holds is undefined."""
    array = np.zeros(shape, dtype.dtype if isinstance(dtype, _Maker) else dtype)
    if _Mode.strict:
        array.reshape(-1).view(np.uint8)[:] = 1
        _Mode.memory.append(array)
    return array


_ATOMICS: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "max": np.maximum,
    "min": np.minimum,
    "and_": np.bitwise_and,
    "or_": np.bitwise_or,
    "xor": np.bitwise_xor,
    "exch": lambda old, value: value,
    "inc": lambda old, value: old + 1 if old < value else 0,
    "dec": lambda old, value: value if old == 0 or old > value else old - 1,
    "cas": lambda old, wanted, value: value if old == wanted else old,
}


class _Atomic:
    def __getattr__(self, name: str) -> Callable[..., Any]:
        function = _ATOMICS[name]

        def apply(array: Any, index: Any, *values: Any) -> Any:
            old = array[index]
            array[index] = function(old, *(fit(v, array.dtype) for v in values))
            return old

        return apply


MOST_TURNS = 20_000  # of the while loops of all threads

BARRIERS = ("syncthreads", "syncthreads_count", "syncthreads_and", "syncthreads_or", *WARP)


def _has_barrier(function: ast.FunctionDef, waiting: set[str]) -> bool:
    for node in ast.walk(function):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in BARRIERS or name in waiting:
                return True
    return False


class _Rewriter(ast.NodeTransformer):
    """The kernel's text as plain Python."""

    _BUILTINS = frozenset(("min", "max", "int", "float", "abs", "round", "range", "enumerate", "divmod"))

    def __init__(self, functions: set[str], waiting: set[str]) -> None:
        self.functions, self.waiting = functions, waiting
        self.sites = itertools.count()

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        return _call("_binary", _constant(type(node.op).__name__), node.left, node.right)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        load = copy.deepcopy(node.target)
        load.ctx = ast.Load()
        return self.visit(ast.Assign([node.target], ast.BinOp(load, node.op, node.value), **_AT))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, ast.Not) or isinstance(node.operand, ast.Constant):
            return node
        return _call("_unary", _constant(type(node.op).__name__), node.operand)

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        owner = node.targets[0].value if isinstance(node.targets[0], ast.Subscript) else None
        if isinstance(owner, ast.Name) and owner.id.startswith("q"):
            value = _RoughRewriter(self).visit(node.value)
            return ast.Expr(_call("_rough_store", owner, self.visit(node.targets[0].slice), value), **_AT)
        self.generic_visit(node)
        target = node.targets[0]
        if isinstance(target, ast.Subscript):
            node.value = _call("_fit_item", node.value, target.value, target.slice)
        elif isinstance(target, ast.Attribute):
            node.value = _call("_fit_item", node.value, target.value, _constant(target.attr))
        return node

    def visit_While(self, node: ast.While) -> ast.AST:
        self.generic_visit(node)
        node.body.insert(0, ast.Expr(_call("_turn"), **_AT))
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.decorator_list = []
        node.args.args.insert(0, ast.arg("_t", **_AT))
        self.generic_visit(node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return _name("_t") if node.id == "cuda" else node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        text = _text(node.func)
        self.generic_visit(node)
        if text == "cuda.shared.array":
            return _call("_t.shared_array", _constant(next(self.sites)), *node.args)
        if text.removeprefix("cuda.") in BARRIERS:
            met = ast.Tuple([_constant(text.removeprefix("cuda.")), *node.args], ast.Load(), **_AT)
            return ast.Yield(met, **_AT)
        if text in self.functions:
            node.args.insert(0, _name("_t"))
            return ast.YieldFrom(node, **_AT) if text in self.waiting else node
        if text in self._BUILTINS:
            node.func = _name(f"_{text}")
        return node


class _RoughRewriter(ast.NodeTransformer):
    """An expression whose operations round; what it subscripts and tests is exact."""

    def __init__(self, exact: _Rewriter) -> None:
        self.exact = exact

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        return self.exact.visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return self.exact.visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        return _call("_chosen", self.exact.visit(node.test), self.visit(node.body), self.visit(node.orelse))

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        return _call("_rough", _constant(type(node.op).__name__), node.left, node.right)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        return _call("_rough", _constant(type(node.op).__name__), node.operand)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if node.attr not in ("real", "imag"):
            return self.exact.visit(node)
        self.generic_visit(node)
        return _call("_rough", _constant(node.attr), node.value)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        text = _text(node.func)
        if text not in FUNCTIONS and text not in COMPLEX and text not in ("complex", "abs"):
            return self.exact.visit(node)
        return _call("_rough", _constant(text), *(self.visit(a) for a in node.args))


_AT = {"lineno": 1, "col_offset": 0}


def _constant(value: Any) -> ast.expr:
    return ast.Constant(value, **_AT)


def _name(name: str) -> ast.expr:
    owner, _, attribute = name.rpartition(".")
    return ast.Attribute(_name(owner), attribute, ast.Load(), **_AT) if owner else ast.Name(name, ast.Load(), **_AT)


def _call(name: str, *args: ast.expr) -> ast.expr:
    return ast.Call(_name(name), list(args), [], **_AT)


def _text(function: ast.expr) -> str:
    """The text of a name with dots."""
    if isinstance(function, ast.Attribute):
        return f"{_text(function.value)}.{function.attr}"
    return function.id if isinstance(function, ast.Name) else ast.unparse(function)


def translate(source: str) -> ast.Module:
    """The plain Python functions of a kernel's text."""
    tree = ast.parse(source)
    functions = [n for n in tree.body if isinstance(n, ast.FunctionDef)]
    waiting: set[str] = set()
    for function in functions:
        if _has_barrier(function, waiting):
            waiting.add(function.name)
    rewriter = _Rewriter({f.name for f in functions}, waiting)
    tree.body = [rewriter.visit(n) if isinstance(n, ast.FunctionDef) else n for n in tree.body]
    return tree


_SCOPE: dict[str, Any] = {
    "np": _NumPy(),
    "math": _Math(),
    "_binary": binary,
    "_unary": unary,
    "_fit_item": fit_item,
    "_min": _extreme(min),
    "_max": _extreme(max),
    "_int": _int,
    "_float": _float,
    "_abs": _absolute,
    "_round": _round,
    "_range": _range,
    "_enumerate": _enumerate,
    "_divmod": lambda a, b: (binary("FloorDiv", a, b), binary("Mod", a, b)),
}


def execute(
    source: str,
    name: str,
    grid: tuple[int, ...],
    block: tuple[int, ...],
    args: tuple[Any, ...],
    strict: bool = False,
) -> dict[int, Any]:
    """Run the kernel ``name`` of a text in plain Python on ``args``, whose arrays change.

    Returns by how much elements of rough arrays may differ, by the ids of the arrays. ``strict``: see `_Mode`.
    """
    _Mode.strict = strict
    _Mode.writers.clear()
    _Mode.memory.clear()
    tolerances: dict[int, Any] = {}

    def rough_store(array: Any, index: Any, value: Any) -> None:
        tolerance = tolerances.setdefault(id(array), np.zeros(array.shape))
        array[index], tolerance[index] = allowed(value, array.dtype)

    turns = itertools.count()

    def turn() -> None:
        if next(turns) > MOST_TURNS:
            raise RuntimeError("a loop does not end")

    scope = _SCOPE | {"_turn": turn, "_rough_store": rough_store, "_rough": apply, "_chosen": chosen}
    exec(compile(translate(source), f"<reference of {name}>", "exec"), scope)
    values = tuple(_argument(a) for a in args)
    shape = tuple((*s, 1, 1)[:3] for s in (grid, block))
    with np.errstate(all="ignore"):
        for place in list(np.ndindex(*shape[0][::-1]))[:: -1 if strict else 1]:
            shared: dict[int, Any] = {}
            threads = [Thread(place[::-1], inner[::-1], shape, shared) for inner in np.ndindex(*shape[1][::-1])]
            _run_block(scope[name], values, threads, place)
    return tolerances


def _argument(value: Any) -> Any:
    if type(value) is int:
        return PyInt(value)
    return value.view(np.recarray) if isinstance(value, np.ndarray) and value.dtype.names else value


def _run_block(kernel: Any, values: tuple[Any, ...], threads: list[Thread], block: tuple[int, ...]) -> None:
    """Let the threads of a block run from barrier to barrier."""
    order = range(len(threads))[:: -1 if _Mode.strict else 1]
    alive: dict[int, Generator[Any, Any, None]] = {}
    _Mode.phase = 0
    for n in order:
        _Mode.thread = block, n
        thread = kernel(threads[n], *values)  # a kernel without barriers is no generator: it has run
        if thread is not None:
            alive[n] = thread
    answers: dict[int, Any] = dict.fromkeys(alive)
    while alive:
        met: dict[int, tuple[Any, ...]] = {}
        for n, thread in list(alive.items()):
            _Mode.thread = block, n
            try:
                met[n] = thread.send(answers[n])
            except StopIteration:
                del alive[n]
        if len({kind for kind, *_ in met.values()}) > 1:
            raise Undefined("threads wait at different barriers")
        _Mode.phase += 1
        answers = answered(met, len(threads)) if met else {}
