"""Who else has a textbook kernel: the maker's CUDA C, the text in other languages, a program of PyOpenCL, NumPy."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from portagpu.backends.opencl.plain import kernel_on_arrays
from portagpu.bench.method.turns import Call
from portagpu.bench.peers import torch_products
from portagpu.bench.peers.cupy_kernels import cupy_for
from portagpu.bench.peers.foreign_errors import told
from portagpu.bench.peers.own_runtime import with_cupy, with_torch
from portagpu.bench.records.cell import Role
from portagpu.bench.running.case import Contender
from portagpu.bench.textbook import cuda_texts, numba_texts, numpy_texts, opencl_texts
from portagpu.bench.textbook.tasks import Task
from portagpu.device import DeviceRecord
from portagpu.runtime.execution.context import Context


def of_the_maker(made: Task, device: DeviceRecord) -> Iterator[Contender]:
    """The same text in the GPU's own language."""
    cupy = cupy_for(device)
    if cupy is not None:
        name = f"CuPy {cupy.__version__} RawKernel, the same text in CUDA C"
        yield _contender(name, lambda: raw_kernel(cupy, made), Role.VENDOR)


def of_other_languages(made: Task, device: DeviceRecord) -> Iterator[Contender]:
    """Numba with the same Python text, Triton where a tutorial has the kernel."""
    name = made.kernel.__name__
    if _is_there("numba", lambda: numba_texts.device_name(), device):
        version = importlib.import_module("numba").__version__
        yield _contender(f"numba.cuda of Numba {version}, the same text", lambda: _numba(made))
    if _is_there("triton", _name_of_torch, device):
        texts = importlib.import_module("portagpu.bench.textbook.triton_texts")
        if name in texts.LAUNCHES:
            version = importlib.import_module("triton").__version__
            yield _contender(f"Triton {version}", lambda: _triton(texts.LAUNCHES[name], made))


def of_opencl(made: Task, context: Context) -> Iterator[Contender]:
    """The same text in OpenCL C, as a program of PyOpenCL, which other back ends' memory cannot be given."""
    if context.device.backend == "opencl":
        version = importlib.import_module("portagpu.backends.opencl.plain").VERSION
        yield _contender(f"PyOpenCL {version}, the same text in OpenCL C", lambda: _opencl(made, context))


def of_numpy(made: Task) -> Iterator[Contender]:
    """One expression of NumPy, on its arrays."""
    text = numpy_texts.TEXTS.get(made.kernel.__name__)
    if text is not None:
        yield _contender(f"NumPy {np.__version__}", lambda: _numpy(text, made))


def _contender(name: str, prepare: Callable[[], Call], role: Role = Role.PEER) -> Contender:
    return Contender(implementation=name, role=role, prepare=told(prepare))


def _is_there(module: str, name: Callable[[], str], device: DeviceRecord) -> bool:
    """Whether a package is installed and uses this very device."""
    try:
        found = name() if importlib.util.find_spec(module) is not None else ""
    except Exception:  # a library without a usable device raises anything
        return False
    return bool(found) and (found in device.name or device.name in found)


def _name_of_torch() -> str:
    return next((place.device for place in torch_products.gpu_places()), "")


def raw_kernel(cupy: Any, made: Task) -> Call:
    """The same in CUDA C, through CuPy."""
    kernel_name = made.kernel.__name__
    kernel = cupy.RawKernel(cuda_texts.program(kernel_name), kernel_name)
    arrays = {label: cupy.asarray(_plain(array)) for label, array in made.arrays.items()}
    arguments = (*_given(made, arrays), *map(np.int32, made.sizes))
    call = Call(
        enqueue=lambda: kernel(made.grid, made.block, arguments),
        wait=cupy.cuda.get_current_stream().synchronize,
        fetch=lambda: {label: cupy.asnumpy(array) for label, array in arrays.items()},
    )
    return with_cupy(cupy, call)


def _numba(made: Task) -> Call:
    kernel = numba_texts.kernel(made.kernel.__name__)
    cuda = importlib.import_module("numba.cuda")
    arrays = {label: cuda.to_device(array) for label, array in made.arrays.items()}
    launch, arguments = kernel[made.grid, made.block], _given(made, arrays)
    return Call(
        enqueue=lambda: launch(*arguments),
        wait=cuda.synchronize,
        fetch=lambda: {label: array.copy_to_host() for label, array in arrays.items()},
    )


def _triton(launch: Callable[..., None], made: Task) -> Call:
    place = torch_products.gpu_places()[0]
    tensors = {n: torch_products.tensor_of(x, x.dtype.name, place.kind) for n, x in made.arrays.items()}
    arguments = _given(made, tensors)
    call = Call(
        enqueue=lambda: launch(*arguments),
        wait=place.wait,
        fetch=lambda: {name: tensor.cpu().numpy() for name, tensor in tensors.items()},
    )
    return with_torch(importlib.import_module("torch"), place.kind, call)


def _opencl(made: Task, context: Context) -> Call:
    name = made.kernel.__name__
    labels = [a for a in made.arguments if isinstance(a, str)]
    arguments = (*_given(made, made.arrays), *map(np.int32, made.sizes))
    items = [blocks * threads for blocks, threads in zip(made.grid, made.block, strict=True)]
    enqueue, wait, fetch = kernel_on_arrays(
        context.cl_context, context.device.cl_device, opencl_texts.program(name), name, arguments, (items, made.block)
    )
    return Call(enqueue=enqueue, wait=wait, fetch=lambda: dict(zip(labels, fetch(), strict=True)))


def _numpy(text: Callable[..., None], made: Task) -> Call:
    arrays = {label: array.copy() for label, array in made.arrays.items()}
    arguments = _given(made, arrays)
    return Call(enqueue=lambda: text(*arguments), fetch=lambda: arrays)


def _given(made: Task, arrays: dict[str, Any]) -> tuple[Any, ...]:
    """The kernel's arguments with these arrays."""
    return tuple(arrays[a] if isinstance(a, str) else a for a in made.arguments)


def _plain(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """An array without records, which CuPy does not take."""
    return array.view(np.uint64) if array.dtype.names else array


__all__ = ["of_numpy", "of_opencl", "of_other_languages", "of_the_maker", "raw_kernel"]
