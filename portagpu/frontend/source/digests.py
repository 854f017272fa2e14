"""Digests of what kernels name: functions by their text, values by their content.

Equal digests, in any process, mean that lowering makes the same of both. What has no such digest is `Unfaithful`.
Objects that are names for others (modules, classes, instances of users' classes) are told by their names alone: their
attributes are values of their own (see `portagpu.frontend.source.dependencies`).
"""

from __future__ import annotations

import copy
import dataclasses
import enum
import hashlib
import sys
import types
from collections.abc import Callable
from typing import Any, Generic, Protocol

import numpy as np

from portagpu import dtypes
from portagpu.dialect.names import ClusterGroup, ConstExpr, GridGroup, Namespace
from portagpu.errors import KernelError
from portagpu.frontend.source.callables import DeviceCallable, LibraryFunction, PythonFunction, undecorated
from portagpu.frontend.source.capture import FunctionSource, global_value
from portagpu.frontend.source.lambdas import NAME
from portagpu.package_stamp import is_of_package

_INSTALLED = frozenset({"numpy", "portagpu", "ml_dtypes", *sys.stdlib_module_names})  # known by name and version
_DEEPEST = 60  # values inside each other


class Unfaithful(Exception):
    """A value that nothing but itself tells enough about."""


@dataclasses.dataclass(slots=True)
class _Known:
    """A function that was met."""

    callee: PythonFunction
    source: FunctionSource | None = None


class Digest:
    """A digest of values that are added one by one, and the functions among them, numbered as they came."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._functions: list[_Known] = []
        self._numbers: dict[int, int] = {}  # by the id of the Python function
        self._depth = 0

    def fork(self) -> Digest:
        """Another one that continues from here."""
        made = copy.copy(self)
        made._hash, made._functions, made._numbers = self._hash.copy(), list(self._functions), dict(self._numbers)
        return made

    @property
    def text(self) -> str:
        """The digest of what was added so far."""
        return self._hash.hexdigest()

    @property
    def files(self) -> list[str]:
        """The file of each function."""
        return [f.callee.py_func.__code__.co_filename for f in self._functions]

    def number_of(self, function: Any) -> int | None:
        """The number of a Python function that was met."""
        return self._numbers.get(id(function))

    def look_up(self, number: int, name: str) -> tuple[bool, Any]:
        """What a name that is not a local means in a function, as `FunctionSource.lookup`."""
        known = self._functions[number]
        function = known.callee.py_func
        if known.source is None and not function.__code__.co_freevars and is_of_package(function):
            return global_value(function, name)  # its text need not be read
        return self._source(known).lookup(name)

    def add(self, value: Any) -> None:
        """Add a value. Raises `Unfaithful`."""
        plain = _PLAIN.get(type(value))
        if plain is not None:
            self._put(type(value).__name__, plain(value))
            return
        self._depth += 1
        if self._depth > _DEEPEST:
            raise Unfaithful("values inside each other without end")
        self._add(value)
        self._depth -= 1

    def _put(self, *parts: str) -> None:
        for part in parts:
            data = part.encode("utf-8", "surrogatepass")
            self._hash.update(b"%d:" % len(data))
            self._hash.update(data)

    def _all(self, kind: str, values: Any) -> None:
        self._put(kind, str(len(values)))
        for value in values:
            self.add(value)

    def _add(self, value: Any) -> None:
        kind = type(value)
        if isinstance(value, DeviceCallable):
            self._callable(value)
        elif kind.__module__.startswith("portagpu."):
            self._own(value)
        elif undecorated(value) is not value:
            self._callable(PythonFunction(undecorated(value)))
        elif kind is tuple or kind is list:
            self._all(kind.__name__, value)
        elif kind is dict:
            self._all("dict", [*value, *value.values()])
        elif kind in (set, frozenset):
            self._all(kind.__name__, sorted(value, key=lambda item: (type(item).__name__, repr(item))))
        elif kind is slice:
            self._all("slice", (value.start, value.stop, value.step))
        elif isinstance(value, types.UnionType):
            self._all("union", value.__args__)
        elif isinstance(value, np.ndarray | np.generic | np.dtype | np.ufunc | np.finfo | np.iinfo):
            self._numpy(value)
        elif isinstance(value, types.ModuleType):
            self._put("module", value.__name__)
        elif isinstance(value, type):
            self._class(value)
        elif isinstance(value, types.BuiltinFunctionType) and not isinstance(value.__self__, types.ModuleType | None):
            self._put("method", value.__name__)
            self.add(value.__self__)
        elif _is_installed(value):
            self._put("name", value.__module__, value.__qualname__)
        elif kind.__module__.startswith(("numba.core.types", "numba.np.types")) and dtypes.parse(value) is not None:
            self._put("numba", str(value))
        else:
            self._instance(value)

    def _numpy(self, value: Any) -> None:
        if isinstance(value, np.dtype):
            self._put("dtype", repr(value))
        elif isinstance(value, np.finfo | np.iinfo):
            self._put(type(value).__name__, repr(value.dtype))
        elif isinstance(value, np.ufunc):
            name = str(getattr(value, "__name__", ""))
            if getattr(np, name, None) is not value:  # made by np.frompyfunc, or of another library
                raise Unfaithful(f"the ufunc {name}")
            self._put("ufunc", name)
        elif value.dtype.hasobject or type(value).__module__.split(".")[0] != "numpy" or np.ma.isMA(value):
            raise Unfaithful(f"an array of {value.dtype}")
        else:
            self._put(type(value).__name__, repr(value.dtype), repr(value.shape))
            data = np.ascontiguousarray(value).tobytes()
            self._put(hashlib.sha256(data).hexdigest())

    def _class(self, cls: type) -> None:
        self._put("class", *(f"{c.__module__}.{c.__qualname__}" for c in cls.__mro__))
        if _is_installed(cls):
            return
        if type(cls) not in (type, enum.EnumMeta):  # a metaclass may decide what an instance is
            raise Unfaithful(f"the class {cls.__qualname__}")
        if issubclass(cls, tuple):
            self._all("fields", getattr(cls, "_fields", ()))
            self.add(dict(getattr(cls, "_field_defaults", {})))
        if issubclass(cls, enum.Enum):
            self._all("names", list(cls.__members__))
            self._all("values", [member.value for member in cls.__members__.values()])

    def _own(self, value: Any) -> None:
        """An object of a class of this package."""
        kind = type(value)
        self._put(f"{kind.__module__}.{kind.__qualname__}")
        if isinstance(value, dtypes.DType | enum.Enum | Namespace):
            self._put(value.name)
        elif dataclasses.is_dataclass(kind):
            self._all("fields", [getattr(value, f.name) for f in dataclasses.fields(kind)])
        elif isinstance(value, tuple):
            self._all("items", tuple(value))
        elif not isinstance(value, GridGroup | ClusterGroup | ConstExpr):
            raise Unfaithful(f"an object of {kind.__qualname__}")

    def _instance(self, value: Any) -> None:
        """An object of a user's class."""
        kind = type(value)
        if isinstance(value, BaseException):
            self._class(kind)
            self._all("arguments", value.args)
            return
        check_methods(kind)
        self._put("instance", *(f"{c.__module__}.{c.__qualname__}" for c in kind.__mro__))
        if isinstance(value, enum.Enum):
            self._put(str(value.name))
            self.add(value.value)
        elif isinstance(value, tuple):
            self._all("items", tuple(value))
            self._all("fields", getattr(kind, "_fields", ()))
        elif dataclasses.is_dataclass(kind):
            self._all("fields", [getattr(value, f.name) for f in dataclasses.fields(kind)])
        elif kind is types.SimpleNamespace:
            self.add(dict(vars(value)))
        elif any(c.__module__.split(".")[0] in _INSTALLED for c in kind.__mro__ if c not in _EMPTY_BASES):
            raise Unfaithful(f"an object of {kind.__qualname__}")

    # functions ------------------------------------------------------------------------------------------------------

    def _callable(self, callee: DeviceCallable) -> None:
        if isinstance(callee, LibraryFunction):
            self._put("library", callee.py_func.__module__, callee.py_func.__qualname__)
        elif isinstance(callee, PythonFunction):
            self.function(callee)
            self._put(str(callee.is_device_function), str(callee.is_inlined))
            self.add(tuple(callee.declared))
        else:
            raise Unfaithful(f"the function {callee.__name__}")

    def function(self, callee: PythonFunction) -> None:
        """Add a function: its text and default values. What it names is asked for when it is used."""
        function: Any = callee.py_func
        number = self._numbers.get(id(function))
        if number is not None:
            self._put("function", str(number))
            return
        self._numbers[id(function)] = len(self._functions)
        self._functions.append(known := _Known(callee))
        code = function.__code__
        if is_of_package(function):  # whose text the package's stamp tells
            self._put("package", code.co_filename, str(code.co_firstlineno), code.co_name)
        else:
            source = self._source(known)
            lines, first = source.lines, 0
            if code.co_name == NAME:  # of which the whole file is known
                tree = source.tree
                lines, first = source.lines[tree.lineno - 1 : tree.end_lineno], tree.lineno
                self._put(f"{tree.col_offset} {tree.end_col_offset}")
            self._put("text", f"{source.first_line + first} {source.indent}", *lines)
            self._put(*sorted(source.constexpr))
        self.add(function.__defaults__)
        self.add(function.__kwdefaults__)

    def _source(self, known: _Known) -> FunctionSource:
        if known.source is None:
            try:
                known.source = known.callee.source
            except KernelError as error:
                raise Unfaithful(error.message) from error
        return known.source


def is_in_digest(value: Any) -> bool:
    """Whether the digest of a value, or the package's stamp, tells all its attributes, too."""
    kind = type(value)
    if kind in _PLAIN or kind in (tuple, list, dict, slice, set, frozenset):
        return True
    if isinstance(value, types.ModuleType):
        root = value.__name__.split(".")[0]
        return root in _FIXED_MODULES or value.__name__.startswith(_OWN_MODULES)
    if isinstance(value, type):
        return _is_installed(value)
    if isinstance(value, np.generic | np.dtype | np.finfo | np.iinfo):
        return True
    return kind.__module__.startswith("portagpu.") and not isinstance(value, DeviceCallable)


_FIXED_MODULES = frozenset({"builtins", "math", "cmath", "operator", "numpy"})
_OWN_MODULES = ("portagpu.cuda", "portagpu.dialect", "portagpu.types", "portagpu.frontend", "portagpu.dtypes")
_EMPTY_BASES = (object, Generic, Protocol)

_PLAIN: dict[type, Callable[[Any], str]] = {
    type(None): str,
    type(...): str,
    type(NotImplemented): str,
    bool: str,
    int: hex,  # without the limit on digits
    str: str,
    bytes: bytes.hex,
    float: float.hex,
    complex: lambda value: f"{value.real.hex()} {value.imag.hex()}",
    range: repr,
}

# what a class may define without a say in what its objects mean to a kernel: attributes are read anew each time
_HARMLESS = frozenset(
    f"__{name}__"
    for name in (
        *("new", "init", "post_init", "module", "doc", "dict", "weakref", "slots", "annotations", "qualname"),
        *("match_args", "getnewargs", "init_subclass", "class_getitem", "orig_bases", "parameters", "hash", "del"),
        *("setattr", "delattr", "getattr", "getattribute", "getstate", "setstate", "reduce", "reduce_ex", "replace"),
        *("dataclass_fields", "dataclass_params", "abstractmethods", "firstlineno", "static_attributes", "set_name"),
        *("annotate", "annotate_func", "annotations_cache", "conditional_annotations", "classdictcell", "copy"),
        *("deepcopy", "enter", "exit", "dir", "sizeof", "protocol_attrs", "non_callable_proto_members"),
    )
)


def check_methods(cls: type) -> None:
    """Raise `Unfaithful` for a class that says itself what its objects are to Python's operators."""
    for base in cls.__mro__:
        if base.__module__.split(".")[0] in _INSTALLED:
            continue
        for name, method in vars(base).items():
            if not (name.startswith("__") and name.endswith("__")) or name in _HARMLESS:
                continue
            code = getattr(getattr(method, "__wrapped__", method), "__code__", None)
            if code is not None and code.co_filename == "<string>":  # made by dataclasses
                continue
            owner = getattr(method, "__objclass__", method)
            if method is not None and str(getattr(owner, "__module__", "")).split(".")[0] not in _INSTALLED:
                raise Unfaithful(f"an object of {cls.__qualname__}, which defines {name}")


def _is_installed(value: Any) -> bool:
    """Whether a class or function is found by its name in a module of Python's, NumPy's or this package."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str) or module.split(".")[0] not in _INSTALLED:
        return False
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found is value
