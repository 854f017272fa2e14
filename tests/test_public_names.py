"""Names that the package itself offers."""

from __future__ import annotations

import importlib
import inspect
import pickle
import pydoc
import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import portagpu
from portagpu import cuda, errors


def test_compilers_for_cpus_are_those_of_an_installed_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    numba = ModuleType("numba")
    names = "njit jit prange stencil get_num_threads set_num_threads get_thread_id threading_layer".split()
    for name in names:
        setattr(numba, name, object())
    monkeypatch.setitem(sys.modules, "numba", numba)
    assert all(getattr(portagpu, name) is getattr(numba, name) for name in names)


def test_without_numba_the_error_says_whose_names_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numba", None)  # as if it were not installed
    with pytest.raises(AttributeError, match="'prange' compiles for the CPU: that is numba's, which is not installed"):
        _ = portagpu.prange
    with pytest.raises(AttributeError, match="portagpu has no 'jitt'"):
        _ = portagpu.jitt


def test_settings_of_cuda_python_are_in_config(monkeypatch: pytest.MonkeyPatch) -> None:
    from portagpu import config

    assert config is cuda.config
    assert not config.ENABLE_CUDASIM and not config.DISABLE_JIT
    core = ModuleType("numba.core.config")
    core.NUMBA_NUM_THREADS = 3  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "numba.core.config", core)
    assert config.NUMBA_NUM_THREADS == 3
    monkeypatch.setitem(sys.modules, "numba.core.config", None)
    with pytest.raises(AttributeError, match=r"portagpu\.config has no 'NUMBA_NUM_THREADS'"):
        _ = config.NUMBA_NUM_THREADS


MISSPELT = [
    (lambda: portagpu, "matmull", "matmul"),
    (lambda: portagpu, "flaot32", "float32"),
    (lambda: portagpu.types, "uintpp", "uintp"),
    (lambda: importlib.import_module("portagpu.blas"), "sgmm", "sgemm"),
    (lambda: cuda, "to_devise", "to_device"),
    (lambda: cuda, "synchronise", "synchronize"),
    (lambda: cuda, "vectorise", "vectorize"),
    (lambda: cuda, "randon", "random"),
    (lambda: cuda.libdevice, "sinnf", "sinf"),
    (lambda: cuda.fp16, "haddd", "hadd"),
    (lambda: cuda.shared, "aray", "array"),
    (lambda: cuda.atomic, "xorr", "xor"),
    (lambda: cuda.get_current_device(), "MAX_THREAD_PER_BLOCK", "MAX_THREADS_PER_BLOCK"),
    (lambda: cuda.device_array(1), "copy_to_hots", "copy_to_host"),
]


@pytest.mark.parametrize(("owner", "wrong", "meant"), MISSPELT, ids=[wrong for _, wrong, _ in MISSPELT])
def test_a_misspelt_attribute_gets_the_name_that_was_meant(owner: Any, wrong: str, meant: str, device: Any) -> None:
    """In the text, and for Python, which looks at ``name`` and ``obj``, among what `dir` tells."""
    found = owner()
    assert meant in dir(found)
    with pytest.raises(AttributeError, match=f"has no '{wrong}', but '{meant}'") as caught:
        getattr(found, wrong)
    assert caught.value.name == wrong
    assert caught.value.obj is found


@pytest.mark.parametrize("name", ["byteswap", "setflags"])
def test_what_only_arrays_of_the_host_have_is_said(name: str, device: Any) -> None:
    with pytest.raises(
        AttributeError, match=rf"no '{name}'; write a kernel, or copy to the host with copy_to_host\(\)"
    ):
        getattr(cuda.device_array(1), name)


def test_libraries_may_ask_for_protocols(device: Any) -> None:
    array = cuda.to_device(np.arange(4))
    assert not hasattr(array, "__array_struct__") and not hasattr(array, "_nothing")
    assert not hasattr(cuda, "__wrapped__")


def test_every_name_is_listed() -> None:
    """`dir` has what is imported at first use, too: completion, and Python's own suggestions, come from it."""
    assert {*cuda.__all__, "random", "types", "errors"} <= set(dir(cuda))
    assert {"intp", "float_", "NPDatetime"} <= set(dir(portagpu.types))


@cuda.jit
def axpy(a, x, y=None):  # type: ignore[no-untyped-def]
    """Add a * x to y."""


@cuda.jit(device=True)
def squared(x):  # type: ignore[no-untyped-def]
    return x * x


def test_help_of_a_kernel_is_its_own() -> None:
    text = pydoc.plain(pydoc.render_doc(axpy))
    assert text.split("\n")[2:4] == ["axpy(a, x, y=None)", "    Add a * x to y."]
    assert axpy.__doc__ == axpy.py_func.__doc__
    text = pydoc.plain(pydoc.render_doc(squared))
    assert text.split("\n")[2].startswith("squared(x)")


def test_help_names_the_module_that_programs_import() -> None:
    for value in (cuda.shared.array, cuda.grid, cuda.threadIdx, cuda.float32x4, cuda.libdevice.sinf):
        assert "in module portagpu.cuda\n" in pydoc.render_doc(value)
    assert str(inspect.signature(cuda.shared.array)) == "(shape, dtype, alignment=None)"
    assert str(inspect.signature(cuda.libdevice.fma)) == "(x, y, z)"
    for value in (cuda.grid, cuda.shared, cuda.float4, cuda.Intrinsic, cuda.threadIdx.x):
        assert pickle.loads(pickle.dumps(value)) == value


class Holder:
    kernel = axpy


def test_a_kernel_of_a_class_is_itself() -> None:
    assert Holder().kernel is Holder.kernel is axpy


def test_every_error_is_listed() -> None:
    """In ``__all__``, and in the tree that the module's docstring shows."""
    classes = {
        name
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and issubclass(kind, BaseException | Warning) and kind.__module__ == errors.__name__
    }
    assert classes - {name for name in classes if name.startswith("_")} <= set(errors.__all__)
    assert not {name for name in classes if not name.startswith("_") and name not in (errors.__doc__ or "")}
