"""Parts of the back end `cuda` that need no card: packed arguments, capsules, blocks of memory, who is refused."""

from __future__ import annotations

import ast
import struct
from pathlib import Path

import cards
import numpy as np
import pytest

import portagpu
from portagpu.backends.cuda import dlpack, library
from portagpu.backends.cuda.announcement import may_own, never
from portagpu.backends.cuda.arrays import CudaArray, Lying, reader_of
from portagpu.backends.cuda.kernels import LocalMemory, _chosen, _packer, _places
from portagpu.backends.cuda.memory import Memory
from portagpu.backends.registry import named
from portagpu.errors import DeviceError, NoDeviceError
from portagpu.settings import Settings

needs_no_card = pytest.mark.skipif(bool(cards.records), reason="a card of CUDA works here")


# arguments ----------------------------------------------------------------------------------------------------------


def test_arguments_lie_as_c_has_them():
    kinds = [None, "uint8", "int16", "float16", "float32", "complex64", "float64", "int64", "complex128", None]
    places = _places(tuple(kind and np.dtype(kind) for kind in kinds))
    assert [place.begin for place in places] == [0, 8, 10, 12, 16, 24, 32, 40, 48, 64]
    packed = bytearray(places[-1].end)
    values = [
        Memory(2**40, 8),
        True,
        np.int16(-2),
        0.5,
        np.float32(3),
        1 + 2j,
        4.25,
        -(10**12),
        3 - 4j,
        LocalMemory(64),
    ]
    for place, value in zip(places, values, strict=True):
        place.pack(packed, place.begin, *place.parts(value))
    read = struct.unpack("<QBxhexxf4xffdqddQ", packed)
    assert read == (2**40, 1, -2, 0.5, 3.0, 1.0, 2.0, 4.25, -(10**12), 3.0, -4.0, 0)
    at_once = bytearray(places[-1].end)
    with pytest.raises(AttributeError):  # one by one then
        _packer(places)(at_once, *values)
    _packer(places)(at_once, *values[:-1], Memory(7, 8))
    assert at_once[:-8] == packed[:-8] and at_once[-8:] == (7).to_bytes(8, "little")
    _packer(())(bytearray(1))


def test_a_block_for_a_launch_that_names_none():
    assert _chosen((1024, 4), 1024) == (256, 1)
    assert _chosen((97,), 1024) == (97,)
    assert _chosen((509,), 1024) == (1,)
    assert _chosen((512,), 128) == (128,)


# arrays of others ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "int8", "uint64", "complex64", "bool"])
def test_capsules(dtype):
    host = np.arange(24).astype(dtype).reshape(4, 6)[::2, 1:]
    told = dlpack.read(host.__dlpack__())
    assert (told.address, told.shape, told.strides) == (host.ctypes.data, host.shape, host.strides)
    assert told.dtype == host.dtype and not told.readonly
    host.flags.writeable = False
    assert dlpack.read(host.__dlpack__(max_version=(1, 0))).readonly


def test_how_arrays_lie():
    lying = Lying((3, 4), (-16, 4), np.dtype(np.float32))
    assert (lying.below, lying.above) == (-32, 16)
    empty = Lying((3, 0), (0, 4), np.dtype(np.float32))
    assert (empty.below, empty.above) == (0, 0)


@pytest.mark.parametrize("value", [None, 3, "x", np.zeros(3), (1, 2), object()])
def test_what_is_no_array_on_a_card(value):
    assert reader_of(value) is None and not isinstance(value, CudaArray)


def test_scalars_of_numpy_are_asked_for_nothing():
    asked = []

    class Scalar(np.float32):
        def __getattr__(self, name):
            asked.append(name)
            raise AttributeError(name)

    for value in (Scalar(1), np.int16(1), np.zeros(2).view(np.recarray), int, portagpu.cuda.grid):
        for _ in range(2):
            assert not may_own(value) and reader_of(value) is None
    assert {Scalar, np.int16, np.recarray} <= never and not asked


# machines without a card --------------------------------------------------------------------------------------------


def test_a_driver_that_lacks_functions(monkeypatch):
    class Old:
        cuLaunchKernel = staticmethod(lambda *arguments: 0)  # noqa: N815

    monkeypatch.setattr(library, "_loaded", Old)
    library._started.cache_clear()
    try:
        with pytest.raises(NoDeviceError, match=r"11\.8"):
            library.library()
        assert not library.is_there()
    finally:
        library._started.cache_clear()


@needs_no_card
def test_where_there_is_no_card():
    backend = named("cuda")
    settings = Settings.from_environment()
    assert backend.discover(settings, fresh=False, renumber=False).records == ()
    with pytest.raises(DeviceError, match="libcuda"):
        portagpu.cuda.select_device("cuda:0")


@pytest.mark.skipif(not cards.records, reason="no card of CUDA's works here")
def test_a_card_is_chosen_by_its_back_ends_name():
    with portagpu.cuda.select_device("cuda:0") as context:
        assert context.device.backend == "cuda"
        assert context.device.key.startswith("cuda:")


def test_functions_of_the_driver_are_declared():
    """Each is called by its name, which no type checker sees, and many of them on cards alone."""
    called = set()
    for path in Path(library.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr[0].isupper() and "library" in ast.unparse(node.value):
                called.add(f"cu{node.attr}")
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
                first = node.args[0]
                if isinstance(first, ast.Constant) and isinstance(first.value, str) and node.func.attr in _NAMING:
                    called.add(first.value if node.func.attr == "raw" else f"cu{first.value}")
    assert called == set(library._FUNCTIONS)


_NAMING = ("handle", "handle_of", "number", "memory", "forget", "leave", "raw")
