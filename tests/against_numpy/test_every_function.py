"""Every function of device arrays against NumPy: dtypes, shapes, layouts and arguments that hypothesis draws.

What a row of the table draws is in ``rows_*.py``, how far results may be off in docs/arrays.md and ``limits.py``. Each
example compiles kernels of its own: there are half as many as for others, a third where most kernels are those of the
other form, and by default one in twenty-four of the rows runs, with `--thorough` all.
"""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path

import pytest
from function_table import NAMES, ROWS, run
from gpu_forms import gpu_forms
from hypothesis import given, settings
from hypothesis import strategies as st
from operand_drawing import Drawing

from portagpu import xp
from portagpu.runtime.arrays import numpy_dispatch
from portagpu.runtime.arrays.array import DeviceNDArray

for _file in sorted(Path(__file__).parent.glob("rows_*.py")):
    importlib.import_module(_file.stem)

# what calculates nothing: where an array is, how it is laid out, and what other libraries ask for
_FACTS = frozenset(
    "align alloc_size allocation_key as_readonly base bind buffer close context deferred device device_ctypes_pointer"
    " dtype facts_token flags get_ipc_handle gpu_data is_c_contiguous is_f_contiguous is_large itemsize layout"
    " layout_token ndim offset readonly shape shifted size stream strides to_device to_pyopencl token type_key"
    " __annotations__ __array_function__ __array_namespace__ __array_priority__ __array_ufunc__"
    " __cuda_array_interface__ __dlpack_device__ __getattr__ __module__ __slots__ __weakref__".split()
)
_ORDER = frozenset("__eq__ __ne__ __lt__ __le__ __gt__ __ge__".split())  # which each object has
# no functions, but what methods and operators call
_OF_METHODS = frozenset("== != array_namespace assign convert fill getitem setitem to_device ufunc".split())


def _functions(module):
    names = getattr(module, "__all__", None) or dir(module)
    return {name for name in names if inspect.isfunction(getattr(module, name)) and not name.startswith("_")}


def test_every_function_has_a_row():
    numpy_dispatch.registered("")  # loads what is loaded when it is asked for
    wanted = {f"xp.{name}" for name in _functions(xp)}
    wanted |= {f"xp.{part}.{name}" for part in ("linalg", "fft") for name in _functions(getattr(xp, part))}
    wanted |= {f"numpy.{name}" for name in (numpy_dispatch._functions.keys() | numpy_dispatch.METHODS) - _OF_METHODS}
    ours = {name for name in dir(DeviceNDArray) if not name.startswith("_") or name.startswith("__")}
    wanted |= {f"x.{name}" for name in ours - set(dir(object)) - _FACTS | _ORDER}
    assert not wanted - NAMES, "functions without a row in tests/against_numpy/rows_*.py"


@pytest.mark.one_device
@pytest.mark.in_turn(24)
@pytest.mark.parametrize("name", sorted(ROWS))
def test_as_numpy(device, name):
    _check(device, name, share=2)


@pytest.mark.one_device
@pytest.mark.in_turn(48)
@pytest.mark.parametrize("name", sorted(ROWS))
def test_forms_of_gpus(device, name):
    """The kernels that GPUs run, wherever this is."""
    with gpu_forms():
        _check(device, name, share=3)


def _check(device, name, share):
    """With one in so many of the examples that others have."""
    if not device.capabilities.fp64:
        pytest.skip("without float64, dtypes of results are not NumPy's")

    @settings(max_examples=-(-settings.default.max_examples // share))
    @given(st.data())
    def check(data):
        run(name, ROWS[name](Drawing(data)))

    check()
