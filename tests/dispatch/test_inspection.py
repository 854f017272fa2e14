"""What kernels tell about their specialisations; options, extensions, pickling, warnings."""

from __future__ import annotations

import dataclasses
import io
import logging
import os
import pickle
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import portagpu
from portagpu import cuda
from portagpu.cuda import float32, float64, int64, void
from portagpu.device.capabilities import DeviceType
from portagpu.dispatch.code.options import JitOptions
from portagpu.errors import (
    ArgumentTypeError,
    MissingCapabilityError,
    PortaGPUPerformanceWarning,
    SettingsError,
    SpecialisationError,
)
from portagpu.runtime.execution.context import current_context
from portagpu.runtime.performance_warnings import advise
from portagpu.runtime.programs.launch_shape import LaunchShape

pytestmark = pytest.mark.one_device

TABLE = np.arange(50, dtype=np.int64)


@cuda.jit
def importable(x):
    x[0] += TABLE[3]


def make_scale():
    @cuda.jit
    def scale(x, n):
        tile = cuda.shared.array(100, np.int32)
        mine = cuda.local.array(30, np.float64)
        i = cuda.grid(1)
        tile[i] = i
        for k in range(30):
            mine[(k * i) % 30] = k
        if i < n:
            x[i] *= 2 + TABLE[0] + tile[i] * 0 + mine[i] * 0

    return scale


def test_figures_by_signature(device):
    scale = make_scale()
    for dtype in (np.float32, np.float64):
        scale[1, 4](np.ones(4, dtype), 4)
    single, double = void(float32[::1], int64), void(float64[::1], int64)
    assert list(scale.overloads) == [single.args, double.args] == scale.signatures
    for tell in (scale.get_shared_mem_per_block, scale.get_const_mem_size, scale.get_max_threads_per_block):
        everything = tell()
        assert set(everything) == {single.args, double.args}
        assert everything[single.args] == tell(single) == tell(single.args) == tell(str(single))
    assert scale.get_shared_mem_per_block(single) == 400
    assert scale.get_const_mem_size(double) == TABLE.nbytes
    assert scale.get_local_mem_per_thread(double) >= 240
    assert 0 < scale.get_max_threads_per_block(double) <= device.capabilities.max_work_group_size
    registers = scale.get_regs_per_thread(double)
    assert registers > 0 if device.capabilities.max_registers_option else registers is None
    with pytest.raises(ArgumentTypeError, match="no specialisation for"):
        scale.get_regs_per_thread(void(int64[::1], int64))


def test_declared_signatures_are_compiled_when_asked_for(device):
    @cuda.jit(void(float32[:], int64))
    def one(x, n):
        x[n] = 1

    assert one.specialized
    assert isinstance(one.get_max_threads_per_block(), int)
    assert one.signatures == [(float32[:], int64)]
    one[1, 1](np.zeros(4, np.float32), 3)
    assert list(one.overloads) == [(float32[:], int64)]
    assert "1.0f" in one.inspect_opencl("void(float32[:], int64)")

    @cuda.jit([void(float32[:], int64), void(float64[:], int64)])
    def several(x, n):
        x[n] = 1

    assert not several.specialized
    assert list(several.get_max_threads_per_block()) == [(float32[:], int64), (float64[:], int64)]
    assert len(several.inspect_opencl()) == 2


def test_specialisations_for_equal_types_do_not_collapse(device):
    @cuda.jit
    def add(x, y):
        x[0] += y[0]

    base = cuda.to_device(np.zeros(8))
    other = cuda.to_device(np.zeros(8))
    add[1, 1](base, other)
    add[1, 1](base, base)
    add[1, 1](base, other[4:])
    assert len(add.overloads) == len(add.inspect_opencl()) == 3
    assert {key[:2] for key in add.overloads} == {(float64[::1], float64[::1])}

    @cuda.jit
    def store(x, value: cuda.constexpr):
        x[0] = value

    for value in (1, 1.0, True, 0.0, -0.0):
        store[1, 1](base, value)
    assert len(store.overloads) == 5


def test_specialize(device):
    scale = make_scale()
    x32, x64 = np.ones(4, np.float32), np.ones((4, 4))[:, 0]
    first = scale.specialize(x32, 4)
    assert first.specialized and not scale.specialized
    assert scale.specialize(x32, 7) is first
    assert scale.specialize(x64, 4) is not first
    assert len(scale.specializations) == 2
    first[1, 4](x32, 4)
    np.testing.assert_array_equal(x32, 2)
    assert isinstance(first.get_max_threads_per_block(), int)
    with pytest.raises(RuntimeError, match="already specialized"):
        first.specialize(x32, 4)
    with pytest.raises(SpecialisationError):
        first.specialize(x64, 4)
    with pytest.raises(ArgumentTypeError):
        first[1, 4](x64, 4)

    @cuda.jit
    def store(x, value: cuda.constexpr):
        x[0] = value

    made = store.specialize(x32, 5)
    made[1, 1](x32, 5)
    assert x32[0] == 5


def test_inspect_types(device):
    @cuda.jit
    def add(x, n):
        total = x[0] + n
        for k in range(n):
            total += k
        x[0] = total

    add[1, 1](np.zeros(1, np.float32), 1)
    add[1, 1](np.zeros(1), 1)
    out = io.StringIO()
    add.inspect_types(file=out)
    text = out.getvalue()
    assert "add (array(float32, 1d, C), int64)" in text
    assert "add (array(float64, 1d, C), int64)" in text
    assert "# total: float32" in text and "# total: float64" in text
    assert "total = x[0] + n" in text


def test_assembly_where_the_driver_has_some(device):
    importable[1, 1](np.zeros(1))
    try:
        texts = importable.inspect_asm()
    except MissingCapabilityError as error:
        assert "inspect_opencl" in error.hint
        assert device.capabilities.device_type is DeviceType.CPU
    else:
        assert all("importable" in text for text in texts.values())
    for refused in (importable.inspect_llvm, importable.inspect_sass, importable.inspect_lto_ptx):
        with pytest.raises(MissingCapabilityError):
            refused()


# options ------------------------------------------------------------------------------------------------------------


def test_options_that_mean_nothing_are_logged(device, caplog):
    caplog.set_level(logging.DEBUG, "portagpu.dispatch.code.options")
    options = {
        "lto": True,
        "lineinfo": True,
        "shared_memory_carveout": "MaxL1",
        "inline": "always",
        "launch_bounds": (128, 2),
    }

    @cuda.jit(link=[], max_registers=32, opt=False, **options)
    def kernel(x):
        x[0] = 1

    kernel[1, 1](np.zeros(1))
    assert sorted(r.args[0] for r in caplog.records) == sorted(options)


@pytest.mark.opencl
def test_fastmath_as_a_set_and_a_dict(device):
    def flags(value):
        return JitOptions.from_keywords({"fastmath": value}).build_options(current_context())

    assert "-cl-fast-relaxed-math" in flags(True)
    assert flags(False) == flags(set()) == flags({"nsz": False}) == flags({"contract", "afn"})
    assert "-cl-finite-math-only" in flags({"nnan", "ninf"})
    assert "-cl-no-signed-zeros" in flags({"nsz": True})
    assert "-cl-unsafe-math-optimizations" in flags({"reassoc", "arcp", "nsz"})
    for wrong in ({"fats"}, 3, "fast"):
        with pytest.raises(SettingsError, match="fastmath"):
            flags(wrong)

    @cuda.jit(fastmath={"nsz", "contract"})
    def kernel(x):
        x[0] = x[0] * 2 + 1

    x = np.ones(1)
    kernel[1, 1](x)
    assert x[0] == 3


class Wrapped:
    def __init__(self, data):
        self.data = data


class Unwrap:
    def __init__(self, log):
        self.log = log

    def prepare_args(self, ty, val, stream, retr):
        self.log.append((ty, type(val).__name__, stream))
        if isinstance(val, Wrapped):
            retr.append(lambda: self.log.append("after"))
            return float64[::1], val.data
        return ty, val


def test_extensions_prepare_arguments(device):
    log = []

    @cuda.jit(extensions=[Unwrap(log)])
    def kernel(x, n):
        x[0] += n

    stream = cuda.stream()
    wrapped = Wrapped(np.ones(1))
    kernel[1, 1, stream](wrapped, 2)
    stream.synchronize()
    assert wrapped.data[0] == 3
    assert log == [(None, "Wrapped", stream), (int64, "int", stream), "after"]
    with pytest.raises(SettingsError, match="prepare_args"):
        cuda.jit(extensions=[object()])


# pickling -----------------------------------------------------------------------------------------------------------


def test_pickled_by_reference(device):
    assert pickle.loads(pickle.dumps(importable)) is importable


def test_pickled_by_value(device, tmp_path):
    factor = 3

    @cuda.jit(device=True)
    def twice(x):
        return 2 * x

    @cuda.jit("void(float64[:], float64)", debug=True)
    def kernel(x, offset=1.0):
        x[0] = twice(x[0]) * factor + TABLE[5] + offset + cuda.threadIdx.x

    data = pickle.dumps(kernel)
    (tmp_path / "kernel.pickle").write_bytes(data)
    script = tmp_path / "other.py"
    script.write_text(
        "import pathlib, pickle, sys\n"
        "import numpy as np\n"
        "from portagpu import cuda\n"
        f"cuda.select_device({device.index})\n"
        f"x = np.ones(1)\n"
        f"kernel = pickle.loads(pathlib.Path({str(tmp_path / 'kernel.pickle')!r}).read_bytes())\n"
        "kernel[1, 1](x, 2.0)\n"
        "print(x[0], kernel.options.debug, len(kernel.declared), kernel.specialized)\n"
    )
    found = [str(Path(portagpu.__file__).parents[1]), *filter(None, sys.path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(found)}
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout == "13.0 True 1 True\n"


# warnings -----------------------------------------------------------------------------------------------------------


class _Gpu:
    """A context as `advise` sees it."""

    def __init__(self, device, **settings):
        real = current_context()
        self.capabilities = dataclasses.replace(
            device.capabilities, device_type=DeviceType.GPU, host_unified_memory=False, compute_units=100
        )
        self.settings = dataclasses.replace(real.settings, **{"warnings": True, **settings})


def test_warnings_of_gpus(device):
    small, large = LaunchShape((4, 1, 1), (64, 1, 1), 0), LaunchShape((16, 8, 1), (64, 1, 1), 0)
    host = np.zeros(4)
    with pytest.warns(PortaGPUPerformanceWarning, match="Grid size 4 will likely result in GPU under-utilization"):
        advise(_Gpu(device), small, (1,))
    with pytest.warns(PortaGPUPerformanceWarning, match="Host array used in CUDA kernel will incur copy overhead"):
        advise(_Gpu(device), large, (host,))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        advise(_Gpu(device), large, (1, cuda.to_device(host)))
        advise(_Gpu(device, warnings=False), small, (host,))
        if device.capabilities.device_type is DeviceType.CPU:
            advise(current_context(), small, (host,))


@pytest.mark.parametrize(
    ("name", "value", "left"),
    [
        ("CUDA_LOW_OCCUPANCY_WARNINGS", False, ["Host array"]),
        ("CUDA_WARN_ON_IMPLICIT_COPY", 0, ["Grid size"]),
        ("DISABLE_PERFORMANCE_WARNINGS", 1, []),
        ("NUMBA_OPT", 3, ["Grid size", "Host array"]),  # a setting of an installed numba
    ],
)
def test_programs_turn_warnings_off_in_config(device, monkeypatch, name, value, left):
    monkeypatch.setattr(cuda.config, name, value, raising=False)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        advise(_Gpu(device), LaunchShape((4, 1, 1), (64, 1, 1), 0), (np.zeros(4),))
    assert [str(one.message)[: len(start)] for one, start in zip(caught, left, strict=True)] == left
