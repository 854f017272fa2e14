"""`vectorize` and `guvectorize`: functions of elements, and of sub-arrays, that take whole arrays."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypedDict, overload

from portagpu.dispatch.dispatcher import Dispatcher
from portagpu.errors import ArgumentTypeError, UnknownOptionError, did_you_mean
from portagpu.types import Signature, Type, as_signature, is_type
from portagpu.ufuncs.gufunc import GeneralizedFunction
from portagpu.ufuncs.ufunc import VectorizedFunction

if TYPE_CHECKING:
    from typing_extensions import Unpack

_TARGETS = ("cuda", "gpu", "cpu", "parallel")


class VectorizeKeywords(TypedDict, total=False):
    """The options of `vectorize` and `guvectorize`, for type checkers."""

    fastmath: bool
    fma: bool
    cache: bool
    # these change nothing
    nopython: bool
    forceobj: Any
    inline: Any
    locals: Any
    boundscheck: Any


_OF_KERNELS = {"cache": False, "fastmath": False, "fma": True}  # with what they are unless given
_OPTIONS = ("target", "identity", *VectorizeKeywords.__annotations__)


@overload
def vectorize(
    signatures: str | Signature | Type | Sequence[Any] = (),
    target: str = "cuda",
    identity: Any = None,
    **options: Unpack[VectorizeKeywords],
) -> Callable[[Callable[..., Any]], VectorizedFunction]: ...
@overload
def vectorize(
    signatures: Callable[..., Any], target: str = "cuda", identity: Any = None, **options: Unpack[VectorizeKeywords]
) -> VectorizedFunction: ...
def vectorize(signatures: Any = (), target: str = "cuda", identity: Any = None, **options: Any) -> Any:
    """Make a function of numbers one of arrays, which broadcast; see `VectorizedFunction`.

    Use it bare, or with a list of ``signatures`` such as ``["float32(float32, float32)"]``, of which the one that fits
    the arguments is taken. Without them each combination of dtypes is compiled when it comes. Every ``target`` runs on
    the current device. ``identity`` is what a reduction of nothing gives; of the ``options``, ``fastmath``, ``fma``
    and ``cache`` are those of `cuda.jit`. Raises `ArgumentTypeError` for other options and targets; calls raise what a
    launch raises.
    """
    jit = _jit_options("vectorize", target, options)
    if _is_function(signatures):
        return VectorizedFunction(signatures, (), jit, identity)
    listed = _listed(signatures)

    def decorate(function: Callable[..., Any]) -> VectorizedFunction:
        return VectorizedFunction(function, listed, jit, identity)

    return decorate


@overload
def guvectorize(
    layout: str,
    /,
    *,
    target: str = "cuda",
    identity: Any = None,
    writable_args: Sequence[int | str] = (),
    **options: Unpack[VectorizeKeywords],
) -> Callable[[Callable[..., Any]], GeneralizedFunction]: ...
@overload
def guvectorize(
    signatures: str | Signature | Type | Sequence[Any],
    layout: str,
    /,
    *,
    target: str = "cuda",
    identity: Any = None,
    writable_args: Sequence[int | str] = (),
    **options: Unpack[VectorizeKeywords],
) -> Callable[[Callable[..., Any]], GeneralizedFunction]: ...
def guvectorize(*args: Any, target: str = "cuda", identity: Any = None, writable_args: Any = (), **options: Any) -> Any:
    """Make a function of sub-arrays one of whole arrays; see `GeneralizedFunction`.

    ``guvectorize(signatures, layout)`` or ``guvectorize(layout)``, with a layout such as ``"(m,n),(n,p)->(m,p)"``. The
    function gets a sub-array for each input and output and writes into the outputs; scalars ``()`` are numbers, or
    arrays of one element where their signature says so and always for outputs. ``writable_args`` are the places of
    inputs that it may write; ``target``, ``identity`` and ``options`` are as with `vectorize`. Where no signature holds
    a host array's dtype, one of a smaller dtype of its kind is taken, as in CUDA-Python: int64 numbers are cut for
    ``int32[:]``. Device arrays are never narrowed, nor are operands of `vectorize`.

    Raises `ArgumentTypeError` for other options and targets, `ShapeError` at a call whose shapes do not fit the layout.
    """
    jit = _jit_options("guvectorize", target, options)
    if len(args) not in (1, 2) or not isinstance(args[-1], str):
        raise ArgumentTypeError(
            "guvectorize takes signatures and a layout",
            hint='write guvectorize(["(float32[:], float32[:])"], "(n)->()")',
        )
    listed = _listed(args[0]) if len(args) == 2 else ()

    def decorate(function: Callable[..., Any]) -> GeneralizedFunction:
        return GeneralizedFunction(function, listed, args[-1], jit, writable_args)

    return decorate


def _is_function(value: Any) -> bool:
    return isinstance(value, Dispatcher) or (
        callable(value) and not is_type(value) and not isinstance(value, Signature)
    )


def _listed(signatures: Any) -> tuple[Signature, ...]:
    items = signatures if isinstance(signatures, list | tuple) and not _is_types(signatures) else [signatures]
    return tuple(as_signature(s) for s in items)


def _is_types(signatures: Any) -> bool:
    """Whether a tuple is one signature, a tuple of types, not several signatures."""
    return isinstance(signatures, tuple) and bool(signatures) and all(_is_one_type(s) for s in signatures)


def _is_one_type(value: Any) -> bool:
    return is_type(value) and not isinstance(value, str | tuple | list)


def _jit_options(name: str, target: Any, options: dict[str, Any]) -> dict[str, Any]:
    if target not in _TARGETS:
        raise ArgumentTypeError(f"{name} has no target {target!r}", hint=f"it is one of {', '.join(_TARGETS)}")
    if options.get("nopython", True) is not True:
        raise ArgumentTypeError("nopython flag must be True")
    if name == "vectorize" and "nopython" in options:
        warnings.warn("nopython kwarg for cuda target is redundant", RuntimeWarning, stacklevel=3)
    known = _OPTIONS if name == "vectorize" else (*_OPTIONS, "writable_args")
    unknown = [o for o in options if o not in known]
    if unknown:
        what = "Unrecognized options" if name == "vectorize" else "The following target options are not supported"
        error = UnknownOptionError(f"{what}: {', '.join(unknown)}")  # programs read the names from the end of the text
        if sys.version_info >= (3, 11):
            error.add_note(f"  hint: {did_you_mean(unknown[0], known)}it has {', '.join(known)}")
        raise error
    return {name: bool(options.get(name, default)) for name, default in _OF_KERNELS.items()}
