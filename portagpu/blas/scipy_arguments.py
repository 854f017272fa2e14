"""Arguments of BLAS routines as `scipy.linalg.blas` takes them: dtypes, op(A), numbers, what may be overwritten.

A routine is written once, for all its dtypes, with a `Routine` as its first parameter; `in_dtype` makes the function of
one dtype from it. What vectors with increments need is in `scipy_vectors`.
"""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

import numpy as np

from portagpu.blas.arguments import check_scalar, conversion, operand_of
from portagpu.blas.gemm.core.fill import clear
from portagpu.blas.gemm.kernels.conjugate import conjugated
from portagpu.blas.replay.calls import repeated
from portagpu.blas.replay.host_trace import cleared_host, copied_host, new_host
from portagpu.errors import ArgumentTypeError, DTypeError, PortaGPUError, ShapeError, UnknownOptionError
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.execution.host_pool import out_of_memory
from portagpu.runtime.execution.stream import Stream, as_stream

_P = ParamSpec("_P")
_R = TypeVar("_R")
_LISTS_OF_NUMBERS = (list, tuple, range, int, float, complex)  # of which `operand_of` makes new arrays


@dataclass(frozen=True, slots=True, kw_only=True)
class Routine:
    """A routine in one dtype: what its arguments become, and the name that errors have it under."""

    name: str  # sgemm
    family: str  # gemm
    dtype: np.dtype[Any]

    def scalar(self, value: Any, name: str) -> complex:
        """A factor such as alpha. Raises `ArgumentTypeError`."""
        return check_scalar(_number(value), name, self.dtype, self.dtype)

    def real_scalar(self, value: Any, name: str) -> float:
        """A factor that is real, also of complex vectors. Raises `ArgumentTypeError`."""
        real = np.dtype(f"f{self.dtype.itemsize // 2}") if self.dtype.kind == "c" else self.dtype
        return check_scalar(_number(value), name, real, real).real

    def matrix(self, value: Any, name: str, *, batch: bool = False) -> Any:
        """An argument with two axes in the routine's dtype; a vector is a column. A ``batch`` of them has more axes.

        Raises `ArgumentTypeError`, `ShapeError`, `DTypeError`, `OutOfMemoryError`.
        """
        found = operand_of(value, name)
        if found.ndim > 2 and not batch:
            raise ShapeError(f"{self.name} takes matrices; {name} has {found.ndim} axes", hint="use matmul for batches")
        found = self._converted(found, name)
        return found if found.ndim >= 2 else found.reshape((found.size, 1))

    def square(self, value: Any, name: str, *, batch: bool = False) -> Any:
        """A `matrix` of as many rows as columns, or a ``batch``. Raises as that does, and `ShapeError`."""
        found = self.matrix(value, name, batch=batch)
        if found.shape[-2] != found.shape[-1]:
            error = ShapeError(
                f"{self.name} takes a square {name}; it has shape {found.shape}",
                hint=f"pass a part of it: {name}[..., :n, :n]",
            )
            raise as_scipy(error, f"(shape({name},0)==shape({name},1))", name)
        return found

    def vector(self, value: Any, name: str, stream: Stream | None) -> Any:
        """An argument that is read, with one axis, in the routine's dtype.

        What has more axes is read in Fortran order, as SciPy has it; numbers are vectors, too. Raises
        `ArgumentTypeError`, `DTypeError`, `OutOfMemoryError`.
        """
        found = self._converted(operand_of(value, name), name)
        if found.ndim == 1:
            return found
        return flat(found if has_flat_view(found) else copied(found, stream))

    def written_vector(self, given: Any, name: str, *, overwrite: bool, stream: Stream | None) -> Any:
        """What a vector is written into, and the result: an array of the argument's shape, which has a view as `flat`.

        The argument itself or a copy, as of `target`; what cannot be viewed flat is copied. Raises as `vector` and
        `target` do.
        """
        found = self._converted(operand_of(given, name), name)
        if found.ndim > 1 and overwrite:
            overwrite = has_flat_view(found)
        return self.target(found, given, overwrite=overwrite, stream=stream)

    def target(self, found: Any, given: Any, *, overwrite: bool, stream: Stream | None = None) -> Any:
        """What a result is written into: the argument itself, or a copy that begins with its elements.

        found: an array of the routine's dtype, made of the argument ``given``. It is itself the target if the routine
        may overwrite it, and its memory is the caller's: a device array, or a NumPy array of the routine's dtype that
        is contiguous (in Fortran order), aligned and writable, as SciPy has it. Else a conversion has copied it
        already, or this does. Raises `ArgumentTypeError` for a read-only device array that would be overwritten.
        """
        if isinstance(found, DeviceNDArray):
            if overwrite and found.readonly:
                raise ArgumentTypeError(
                    f"{self.name} writes into an array that is read-only", hint="pass a copy of it: x.copy()"
                )
            return found if overwrite else copied(found, stream)
        # what a conversion, or NumPy's reading of a list, made is nobody else's
        own = isinstance(given, _LISTS_OF_NUMBERS) or (isinstance(given, np.ndarray) and found.dtype != given.dtype)
        usable = found.flags.f_contiguous and found.flags.behaved  # aligned and writable
        return found if usable and (own or (overwrite and isinstance(given, np.ndarray))) else copied(found, stream)

    def new(self, like: Any, shape: tuple[int, ...]) -> Any:
        """An uninitialised array in Fortran order, where ``like`` is: on its device, or in the host's memory."""
        return new_array(like, shape, self.dtype)

    def zeros(self, like: Any, shape: tuple[int, ...], stream: Stream | None) -> Any:
        """As `new`, of zeros."""
        made = self.new(like, shape)
        if isinstance(made, DeviceNDArray):
            if made.size:
                clear(made.T.ravel(), as_stream(stream, made.context))
        else:
            cleared_host(made)
        return made

    def _converted(self, found: Any, name: str) -> Any:
        """An array in the routine's dtype: SciPy converts NumPy's; arrays on the device must have it."""
        if found.dtype == self.dtype:
            return found
        if isinstance(found, DeviceNDArray):
            raise DTypeError(
                f"{self.name} takes {self.dtype}; {name} is {found.dtype}",
                hint="call the function of its dtype, or convert it with a kernel",
            )
        if not _is_converted(found.dtype, self.dtype):
            raise DTypeError(f"{self.name} takes {self.dtype}; {name} is {found.dtype}", hint=self._hint(found, name))
        with out_of_memory(found.shape, self.dtype, f"{name}, converted,"):
            return np.asarray(found).astype(self.dtype)  # results are plain arrays also of subclasses

    def _hint(self, found: Any, name: str) -> str:
        if found.dtype.kind == "c":
            if self.name[1:] == self.family:
                return f"call c{self.family} or z{self.family}"
            return "call the routine's function of a complex dtype, whose name has a c or a z for it"
        if found.dtype.kind in "OSU":
            return f"where all elements are numbers, convert them: {name}.astype(np.{self.dtype})"
        return conversion(name, found)


_Refusal = TypeVar("_Refusal", bound=PortaGPUError)


class Condition(NamedTuple):
    """A condition on an argument as SciPy's errors have it. ``value``: of a number or an option; None for an array."""

    expression: str
    argument: str
    value: Any

    def message(self, routine: str, signature: inspect.Signature) -> str:
        """The text of SciPy's error."""
        parameters = [x for x in signature.parameters.values() if x.name != "stream"]
        is_needed = any(x.name == self.argument and x.default is x.empty for x in parameters)
        kind = [x.name for x in parameters if (x.default is x.empty) == is_needed]
        number = kind.index(self.argument) + 1
        ordinal = {1: "1st", 2: "2nd", 3: "3rd"}.get(number, f"{number}th")
        word = "argument" if is_needed else "keyword"
        value = "" if self.value is None else f": {routine}:{self.argument}={self.value}"
        return f"{self.expression} failed for {ordinal} {word} {self.argument}{value}"


def as_scipy(error: _Refusal, expression: str, argument: str, value: Any = None) -> _Refusal:
    """The same error, to which the routine's function adds what SciPy says of this condition."""
    vars(error)["condition"] = Condition(expression, argument, value)
    return error


def in_dtype(
    routine: Callable[Concatenate[Routine, _P], _R], name: str, dtype: str, doc: str | None, *, family: str = ""
) -> Callable[_P, _R]:
    """The public function of a routine in one dtype, with the routine's other parameters.

    It is pickled, shown by `help` and known to type checkers as a function that was written out under ``name``.
    ``family``: where one function serves several routines (symm and hemm), the one that this is; by default the
    function's own name says it.
    """
    chosen = Routine(name=name, family=family or routine.__name__.lstrip("_"), dtype=np.dtype(dtype))
    call = functools.partial(routine, chosen)

    @functools.wraps(routine)
    def function(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            return repeated(call, name, args, kwargs)  # type: ignore[no-any-return]
        except PortaGPUError as problem:
            condition = vars(problem).pop("condition", None)
            if condition is not None and condition.argument in signature.parameters:
                problem.notes += (condition.message(name, signature),)
            raise
        except TypeError:
            try:
                signature.bind(*args, **kwargs)
            except TypeError as problem:
                raise ArgumentTypeError(f"{name}: {problem}", hint=f"call it as {name}{shown}") from None
            raise

    whole = inspect.signature(routine)
    first, *others = whole.parameters.values()
    signature = whole.replace(parameters=others)
    bare = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in others]
    shown = inspect.Signature(bare)
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    function.__annotations__ = {key: value for key, value in routine.__annotations__.items() if key != first.name}
    function.__signature__ = signature  # type: ignore[attr-defined]
    vars(function).update(facts_of(chosen.dtype))
    return function


def facts_of(dtype: np.dtype[Any]) -> dict[str, Any]:
    """The attributes that `scipy.linalg.get_blas_funcs` gives to the functions that it finds."""
    prefix = "sdcz"["fdFD".index(dtype.char)]
    integers = np.dtype(np.intc)  # of increments, for programs that make arrays of them
    return {"typecode": prefix, "prefix": prefix, "dtype": dtype, "int_dtype": integers, "module_name": "fblas"}


TRANS = ("leaves the matrix as it is", "transposes", "transposes and conjugates")
LOWER = ("reads the upper triangle", "reads the lower triangle")
DIAG = ("reads the diagonal", "takes the diagonal for ones, and does not read it")
SIDE = ("has the matrix on the left", "has the matrix on the right")


def op(matrix: Any, name: str, trans: Any, stream: Stream | None) -> Any:
    """BLAS's op(A): the matrix (0), its transpose (1), or its conjugate transpose (2).

    name: of the argument ``trans``. Raises `UnknownOptionError`.
    """
    number = option(trans, name, TRANS)
    if number == 2 and matrix.dtype.kind == "c":
        on_device = isinstance(matrix, DeviceNDArray)
        matrix = conjugated(matrix, as_stream(stream, matrix.context)) if on_device else matrix.conj()
    return matrix.T if number else matrix


def may_overwrite(flag: Any, name: str) -> bool:
    """What ``overwrite_NAME`` says of an argument. Raises `UnknownOptionError`."""
    try:
        return bool(operator.index(_number(flag)))
    except TypeError:
        raise UnknownOptionError(
            f"overwrite_{name} is {flag!r}", hint=f"0 leaves {name} as it is, 1 lets it be overwritten"
        ) from None


def can_take_the_result(converted: Any, whole: Any, given: Any) -> bool:
    """Whether an argument that may be overwritten has the given array's memory, and that may be written.

    given: by the caller; whole: as an array; converted: as the matrix that the routine computes with.
    """
    if isinstance(converted, DeviceNDArray):
        return not converted.readonly
    # what only becomes an array may have been copied
    own = whole is given and converted.dtype == whole.dtype
    return own and bool(converted.flags.f_contiguous and converted.flags.behaved)


def new_array(like: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """An uninitialised array in Fortran order, where ``like`` is: on its device, or in the host's memory."""
    if isinstance(like, DeviceNDArray):
        return device_array(shape[::-1], dtype, context=like.context).T
    return new_host(shape[::-1], dtype).T


def has_flat_view(array: Any) -> bool:
    """Whether an array's elements, in Fortran order, are a view with one axis."""
    if isinstance(array, DeviceNDArray):
        return array.is_f_contiguous() or max(array.shape) >= array.size
    return bool(array.flags.f_contiguous) or max(array.shape) >= array.size


def flat(array: Any) -> Any:
    """An array's elements in Fortran order, a view with one axis; of arrays that `has_flat_view`, which copies have."""
    if array.ndim == 1:
        return array
    if isinstance(array, np.matrix):  # which has two axes however it is reshaped
        array = array.view(np.ndarray)
    return array.T.reshape(array.size)


def copied(matrix: Any, stream: Stream | None) -> Any:
    """A copy in Fortran order, where the array is."""
    if not isinstance(matrix, DeviceNDArray):
        return copied_host(matrix)
    made = device_array(matrix.shape, matrix.dtype, order="F", context=matrix.context)
    made.copy_to_device(matrix, as_stream(stream, matrix.context))
    return made


def integer(value: Any, name: str) -> int:
    """An argument that is a whole number. Raises `ArgumentTypeError`."""
    try:
        return operator.index(_number(value))
    except TypeError:
        raise ArgumentTypeError(f"{name} is {value!r}", hint=f"{name} is a whole number") from None


def option(value: Any, name: str, meanings: Sequence[str]) -> int:
    """An argument such as ``lower`` that is 0, 1 ...; ``meanings``: of each. Raises `UnknownOptionError`."""
    try:
        number = operator.index(_number(value))
    except TypeError:
        number = -1
    if not 0 <= number < len(meanings):
        choices = ", ".join(f"{n} {meaning}" for n, meaning in enumerate(meanings))
        last = len(meanings) - 1
        expression = f"({name}==0||{name}==1)" if last == 1 else f"({name}>=0 && {name} <={last})"
        raise as_scipy(UnknownOptionError(f"{name} is {value!r}", hint=choices), expression, name, value)
    return number


def _number(value: Any) -> Any:
    """A number as SciPy's functions take it: arrays with one element and bools are numbers, too."""
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.reshape(())[()]
    return int(value) if isinstance(value, bool | np.bool_) else value


def _is_converted(given: np.dtype[Any], dtype: np.dtype[Any]) -> bool:
    """Whether NumPy arrays of a dtype are converted to the routine's: those of numbers, but complex ones to real."""
    if given.kind == "V":  # those of ml_dtypes, which NumPy knows how to convert, and records, which it does not
        return np.can_cast(given, dtype)
    return given.kind in ("bifuc" if dtype.kind == "c" else "biuf")
