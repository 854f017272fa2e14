"""`cuda.jit`: the decorator that makes kernels and device functions of Python functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, overload

from portagpu.dispatch.code.options import JitKeywords, JitOptions
from portagpu.dispatch.dispatcher import Dispatcher
from portagpu.dispatch.type_variables import P, R
from portagpu.errors import KernelTypeError
from portagpu.types import Signature, Type, as_signature, is_type

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Decorator(Protocol):
    """What `cuda.jit` with options or a signature gives; of these two a type checker makes the kernel's type."""

    def __call__(self, function: Callable[P, R], /) -> Dispatcher[P, R]:
        """The kernel, or the device function."""


# a type, too, can be called, and means a signature
@overload
def jit(  # type: ignore[overload-overlap]
    func_or_sig: str | Signature | Type | Sequence[Any] | None = None,
    *,
    device: bool = False,
    **options: Unpack[JitKeywords],
) -> Decorator: ...
@overload
def jit(func_or_sig: Callable[P, R], *, device: bool = False, **options: Unpack[JitKeywords]) -> Dispatcher[P, R]: ...
def jit(func_or_sig: Any = None, *, device: bool = False, **options: Any) -> Any:
    """Compile a Python function into a kernel, or with ``device=True`` into a function that kernels call.

    ``func_or_sig``: use it bare (``@cuda.jit``), with ``options``, or with a signature: ``void(float32[:], int64)``,
    the same as a string, a tuple of types, or a list of signatures, of which the one that fits a launch best is taken.
    With signatures, numbers are converted to the declared types and arrays must be what is declared.

    Options: ``fastmath`` (True, or a set of LLVM's flags), ``debug`` (subscripts and divisors are checked, and the
    exceptions of threads are raised after the launch, which waits), ``boundscheck`` (subscripts only), ``opt`` (False
    turns the driver's optimiser off), ``fma`` (False: a kernel and the functions that it calls round each product and
    sum, as NumPy does), ``source`` (the text, where Python cannot find it), ``block_dim=(x, y, z)`` (fixes the block's
    size, which lets the compiler use more registers), ``cluster=(x, y, z)`` (blocks that run together,
    `cuda.cg.this_cluster`; the grid is a multiple of it), ``max_registers`` (where the driver takes it), ``extensions``
    (objects whose ``prepare_args(type, value, stream, retr)`` turns arguments into what kernels take), ``cache`` (the
    generated code is kept on disk and used by later processes, as long as nothing that it depends on changes),
    ``forceinline`` (the driver's compiler makes a device function a part of every function that calls it, as some do
    not where there are several calls). ``inline``, ``lineinfo``, ``link``, ``lto``, ``launch_bounds`` and the like are
    accepted and logged.

    Raises `KernelError` subclasses when the function is compiled, at its first launch.
    """
    jit_options = JitOptions.from_keywords(options)
    text = options.get("source")
    if callable(func_or_sig) and not is_type(func_or_sig):
        return Dispatcher(func_or_sig, options=jit_options, device=device, text=text)
    signatures: tuple[Signature, ...] = ()
    if isinstance(func_or_sig, list):
        signatures = tuple(as_signature(s) for s in func_or_sig)
    elif isinstance(func_or_sig, int | float):
        raise KernelTypeError(
            f"cuda.jit takes a function or a signature, not {type(func_or_sig).__name__}",
            hint="write @cuda.jit or @cuda.jit(void(float32[:], int64))",
        )
    elif func_or_sig is not None:
        signatures = (as_signature(func_or_sig),)

    def decorate(function: Callable[..., Any]) -> Dispatcher:
        made = Dispatcher(function, options=jit_options, device=device, signatures=signatures, text=text)
        made.specialized = bool(signatures) and not isinstance(func_or_sig, list)
        return made

    return decorate
