"""Exported SYCL headers run by the run-time compiler: a free function calls what the header says a work-item does."""

from __future__ import annotations

import dataclasses

import numpy as np

from portagpu.backends.launches import LaunchSizes
from portagpu.backends.sycl.codegen.flags import FLAGS
from portagpu.backends.sycl.codegen.language import PlainSyclCpp
from portagpu.exporting.arguments import Passed
from portagpu.ir.program import FAULT_VALUES, MAX_FAULT_VALUES
from portagpu.ir.types import Pointer

_HEAD = (
    'extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((sycl::ext::oneapi::experimental::nd_range_kernel<3>)) void wrapped('
)


def _type(kind):
    """A parameter's type in a free function."""
    if isinstance(kind, Pointer):
        kind = dataclasses.replace(kind, readonly=False, restrict=False)
    return PlainSyclCpp().type(kind)


def wrapped(made, header, namespace):
    """The header, and the free function."""
    parameters, passed = [], []
    for n, (parameter, argument) in enumerate(zip(made.kernel_source.parameters, made.c_arguments, strict=True)):
        is_shared = argument.passed is Passed.SHARED
        parameters.append(f"{'sycl::local_accessor<pg_line, 1>' if is_shared else _type(parameter.type)} p{n}")
        passed.append(f"&p{n}[0]" if is_shared else f"p{n}")
    if made.kernel_source.static_shared:
        parameters.append("sycl::local_accessor<shared_memory, 1> own")
        passed.append("&own[0]")
    item = "sycl::ext::oneapi::this_work_item::get_nd_item<3>()"
    call = f"kernel({', '.join((item, *passed))});"
    return f"{header}\nnamespace {namespace} {{\n{_HEAD}{', '.join(parameters)}) {{ {call} }}\n}}\n"


def _value(driver, made, argument, arrays, memory, numbers):
    """What a parameter gets."""
    of = argument.argument
    match argument.passed:
        case Passed.BUFFER:
            return memory[of.name]
        case Passed.SHAPE:
            return arrays[of.name].shape[argument.axis]
        case Passed.STRIDE:
            return arrays[of.name].strides[argument.axis] // argument.unit
        case Passed.NUMBER:
            return numbers[of.name]
        case Passed.SHARED:
            return driver.local_memory(made.shared + 128)
        case Passed.SHARED_BYTES:
            return made.shared
        case Passed.FAULT:
            return driver.memory_of(np.zeros(FAULT_VALUES + MAX_FAULT_VALUES, np.int64))
        case _:
            return 0


def run(driver, made, text, arrays, numbers, threads=None):
    """The arrays after a launch of a header's kernel on the grid that its program takes, or on so many ``threads``."""
    queue, program = driver.queue(), driver.compile(text, FLAGS, (), apart=False).program
    memory = {name: driver.memory_of(array) for name, array in arrays.items()}
    types = [None if a.dtype is None else np.dtype(a.dtype.name) for a in made.c_arguments]
    values = [_value(driver, made, argument, arrays, memory, numbers) for argument in made.c_arguments]
    if made.kernel_source.static_shared:
        types.append(None)
        values.append(driver.local_memory(made.kernel_source.static_shared))
    kernel = driver.kernel(program, "wrapped", types)
    kernel.set_args(*values)
    first = arrays[made.arrays[0].name]
    extents = [*reversed(first.shape), 1, 1][: made.axes] if made.axes > 1 else [threads or first.size]
    sizes = [-(-extent // b) * b for extent, b in zip(extents, made.block, strict=False)]
    driver.enqueue(queue, kernel, LaunchSizes(tuple(sizes), made.block[: made.axes]))
    found = {}
    for name, array in arrays.items():
        flat = np.empty(array.size, array.dtype)
        driver.download(queue, flat.view(np.uint8), memory[name], blocking=True)
        found[name] = flat.reshape(array.shape, order="F" if array.flags.f_contiguous else "C")
    return found
