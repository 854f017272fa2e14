"""``portagpu bench FILE.py:NAME``: a kernel of a file, or a function of it that makes a launch."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from portagpu.bench.own_kernels.benchmark import case_of
from portagpu.bench.own_kernels.launch import Launch
from portagpu.bench.running.case import Case, Entry, Options
from portagpu.dispatch.dispatcher import Dispatcher
from portagpu.dispatch.kernel_axes import axes_of
from portagpu.errors import ArgumentCountError, ArgumentTypeError
from portagpu.runtime.execution.context import Context
from portagpu.types import Array, as_signature

SUITE = "kernel"
_BLOCKS = {1: (256,), 2: (16, 16), 3: (8, 8, 4)}  # by the axes of the grid that a kernel looks at
_ELEMENTS = 20  # as a power of two, of arrays whose size nobody says
_MANY = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def entries(
    found: Any,
    name: str,
    *,
    values: Mapping[str, Any],
    sizes: tuple[int, ...],
    signature: str | None,
    block: tuple[int, ...] | None,
    reference: Callable[..., Any] | None,
    options: Options,
    command: tuple[str, ...] = (),
) -> Iterator[Entry]:
    """The workloads of a kernel or of a function that returns a `Launch`, one for each size.

    A function is called with ``values``, and with each size as its parameter ``n`` if it has one. A kernel gets random
    arrays of ``n`` elements on each axis by its signature (declared, or given), numbers from ``values`` by name, and as
    many threads as its first array has elements; without a size the largest array has some 2^20 elements, and without
    a block its threads lie in as many axes as the kernel looks at. ``command``: the command line's words without a
    size. Raises `ArgumentTypeError` for what is neither.
    """
    if isinstance(found, Dispatcher) and found.is_device_function:
        raise ArgumentTypeError(
            f"`{name}` is a device function, which runs only inside kernels", hint="name a kernel that calls it"
        )
    if isinstance(found, Dispatcher):
        make = _of_kernel(found, signature, block, values, reference, options.seed)
    elif callable(found):
        make = _of_function(found, name, values, sized=bool(sizes))
    else:
        raise ArgumentTypeError(f"{name} is neither a kernel nor a function that returns a portagpu.Launch")
    for n in sizes or (None,):

        def cases(context: Context, n: int | None = n) -> Iterator[Case]:
            launch = make(n)
            yield case_of(launch, context, launch.work(), name, "" if n is None else str(n), suite=SUITE)

        sized = () if n is None else ("--size", str(n))
        yield Entry(path="/".join([SUITE, name, *sized[1:]]), make=cases, command=(*command, *sized))


def _of_function(
    function: Callable[..., Any], name: str, values: Mapping[str, Any], *, sized: bool
) -> Callable[[int | None], Launch]:
    parameters = inspect.signature(function).parameters
    unknown = sorted(({"n", *values} if sized else {*values}) - set(parameters))
    if unknown:
        raise ArgumentCountError(
            f"{name} has no parameter {', '.join(unknown)}", hint=f"it has {', '.join(parameters) or 'none'}"
        )
    needed = [label for label, one in parameters.items() if one.default is one.empty and one.kind not in _MANY]
    missing = [label for label in needed if label not in values and not (sized and label == "n")]
    if missing:
        ways = ("--size N" if label == "n" else f"--argument {label}=VALUE" for label in missing)
        raise ArgumentCountError(f"{name} needs {', '.join(missing)}", hint=f"say it with {' '.join(ways)}")

    def make(n: int | None) -> Launch:
        launch = function(**values) if n is None else function(**{**values, "n": n})
        if not isinstance(launch, Launch):
            raise ArgumentTypeError(
                f"{name} returned {type(launch).__name__}, not a portagpu.Launch",
                hint="return portagpu.Launch(kernel=kernel[grid, block], arguments=(...), expected={...})",
            )
        return launch

    return make


def _of_kernel(
    kernel: Dispatcher[Any],
    signature: str | None,
    block: tuple[int, ...] | None,
    values: Mapping[str, Any],
    reference: Callable[..., Any] | None,
    seed: int,
) -> Callable[[int | None], Launch]:
    names = kernel.source.parameters
    given = as_signature(signature).args if signature else kernel.declared[0].args if kernel.declared else None
    if given is not None and len(given) != len(names):
        raise ArgumentCountError(
            f"`{kernel.__name__}` has the parameters {', '.join(names)}, and its signature has {len(given)} types"
        )
    if given is None:
        raise ArgumentCountError(
            f"`{kernel.__name__}` has the parameters {', '.join(names)}, and no signature says their types",
            hint='say them with --signature "void(float32[::1], int32)", or name a function that returns a '
            "portagpu.Launch",
        )

    _check_numbers(kernel.__name__, names, given, values)
    most = max((kind.ndim for kind in given if isinstance(kind, Array)), default=1)

    def make(n: int | None) -> Launch:
        size = 1 << _ELEMENTS // max(most, 1) if n is None else n
        generator = np.random.default_rng(seed)
        arguments = tuple(
            _argument(generator, kind, values.get(label), size) for label, kind in zip(names, given, strict=True)
        )
        threads = block or _BLOCKS[axes_of(kernel)]
        grid = _grid(arguments, threads)
        return Launch(kernel=kernel[grid, threads], arguments=arguments, expected=reference)

    return make


def _check_numbers(kernel: str, names: Sequence[str], given: Sequence[Any], values: Mapping[str, Any]) -> None:
    """Raise `ArgumentTypeError` or `ArgumentCountError` for values that are not those of a kernel's numbers."""
    kinds = dict(zip(names, given, strict=True))
    for name, value in values.items():
        if name not in kinds:
            raise ArgumentCountError(f"`{kernel}` has no parameter {name}", hint=f"it has {', '.join(names)}")
        if isinstance(kinds[name], Array):
            raise ArgumentTypeError(
                f"`{name}` of `{kernel}` is an array, which gets random elements",
                hint="for others name a function that returns a portagpu.Launch",
            )
        if not isinstance(value, bool | int | float | complex):
            raise ArgumentTypeError(f"`{name}` of `{kernel}` is a number, not {value!r}")


def _argument(generator: np.random.Generator, kind: Any, value: Any, n: int) -> Any:
    """A random array, or a number: the one that is given, else n for integers and a half for others."""
    if not isinstance(kind, Array):
        dtype = np.dtype(str(kind))
        return dtype.type(value if value is not None else n if dtype.kind in "iu" else 0.5)
    dtype, shape = np.dtype(str(kind.dtype)), (n,) * kind.ndim
    if dtype.kind in "iu":
        return generator.integers(0, 100, shape).astype(dtype)
    made = generator.random(shape)
    return (made + 1j * generator.random(shape)).astype(dtype) if dtype.kind == "c" else made.astype(dtype)


def _grid(arguments: tuple[Any, ...], block: tuple[int, ...]) -> tuple[int, ...]:
    """Blocks that cover the first array: the last axis by x."""
    first = next((a for a in arguments if isinstance(a, np.ndarray)), None)
    if first is None:
        return (1,) * len(block)
    extents = list(first.shape[::-1])
    while len(extents) > len(block):  # what has no axis of its own goes along the last one
        extents[-2:] = [extents[-2] * extents[-1]]
    extents += [1] * (len(block) - len(extents))
    return tuple(-(-extent // threads) for extent, threads in zip(extents, block, strict=True))


__all__ = ["SUITE", "entries"]
