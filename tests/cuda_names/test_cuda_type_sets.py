"""Names of the original that its programs lean on: sets of types, parts of complex types, nan-reductions, streams."""

from __future__ import annotations

import builtins

import numpy as np
import pytest
from own_contexts import foreign_queue

from portagpu import cuda, errors
from portagpu import types as own_types
from portagpu.cuda import types

pytestmark = pytest.mark.one_device


def test_sets_of_types():
    assert {str(t) for t in types.signed_domain} == {"int8", "int16", "int32", "int64"}
    assert {str(t) for t in types.unsigned_domain} == {"uint8", "uint16", "uint32", "uint64"}
    assert types.integer_domain == types.signed_domain | types.unsigned_domain
    assert types.real_domain == {types.float32, types.float64}
    assert types.complex_domain == {types.complex64, types.complex128}
    assert types.number_domain == types.integer_domain | types.real_domain | types.complex_domain


def test_the_float_of_a_complex_type():
    assert (types.complex64.underlying_float, types.complex128.underlying_float) == (types.float32, types.float64)
    assert not hasattr(types.float32, "underlying_float")


class _Told:
    """A stream of another library."""

    def __init__(self, handle):
        self._handle = handle

    def __cuda_stream__(self):
        return 0, self._handle


def test_streams_of_libraries_that_tell_their_handle(device):
    stream = cuda.stream()
    x = cuda.to_device(np.arange(5), stream=_Told(int(stream)))
    found = x.copy_to_host(stream=_Told(0))
    np.testing.assert_array_equal(found, np.arange(5))
    event = cuda.event()
    event.record(stream=_Told(int(stream)))
    event.synchronize()
    assert event.query()
    with pytest.raises(errors.ArgumentTypeError, match="a stream is needed, not type"):
        event.record(stream=_Told)
    with pytest.raises(errors.ArgumentTypeError):
        cuda.to_device(np.arange(5), stream=_Told("3"))


def test_streams_tell_their_handles(device):
    stream = cuda.stream()
    assert stream.handle.value == int(stream)
    assert not stream.external
    assert not cuda.default_stream().external
    assert not cuda.default_stream().handle.value
    if device.backend != "cuda":
        foreign, _ = foreign_queue(cuda.current_context())
        assert cuda.external_stream(foreign).external
    assert not cuda.external_stream(int(stream)).external  # one of ours


def test_too_many_launch_bounds():
    with pytest.raises(errors.SettingsError, match="Got 4 launch bounds"):
        cuda.jit("void(int32[:])", launch_bounds=(128, 1, 1, 1))


@pytest.mark.parametrize("value", [150, -2, "most"])
def test_carveouts_that_cuda_does_not_take(value):
    with pytest.raises(errors.SettingsError, match="carveout"):
        cuda.jit(shared_memory_carveout=value)
    for fine in (-1, 0, 100, "MaxL1", "maxshared", "default"):
        cuda.jit(shared_memory_carveout=fine)


_REDUCTIONS = ("nansum", "nanprod", "nanmin", "nanmax", "nanmean", "count_nonzero")


@cuda.jit
def _reduce(out, a, none, grid, whole, small):
    for n, x in cuda.literal_unroll(((0, a), (1, none), (2, grid))):
        out[n, 0] = np.nansum(x)
        out[n, 1] = np.nanprod(x)
        out[n, 2] = np.nanmin(x)
        out[n, 3] = np.nanmax(x)
        out[n, 4] = np.nanmean(x)
        out[n, 5] = np.count_nonzero(x)
    whole[0] = np.nansum(small)
    whole[1] = np.nanprod(small)
    whole[2] = np.nanmin(small)
    whole[3] = np.nanmax(small)
    whole[4] = np.nanmean(small)
    whole[5] = np.count_nonzero(small)


@pytest.mark.filterwarnings("ignore:All-NaN", "ignore:Mean of empty")
def test_reductions_without_nan(device):
    arrays = (
        np.array([np.nan, 2.0, 0.0, -3.5, np.nan]),
        np.full(3, np.nan),
        np.array([[np.nan, np.nan], [4.0, np.nan], [1.5, 0.0]]),
    )
    small = np.array([100, 0, 120, -7], np.int8)
    out, whole = np.zeros((3, 6)), np.zeros(6)
    _reduce[1, 1](out, *arrays, whole, small)
    for found, given in zip((*out, whole), (*arrays, small), strict=True):
        np.testing.assert_allclose(found, [getattr(np, name)(given) for name in _REDUCTIONS], rtol=1e-14)


@cuda.jit
def _reduce_one(a, out):
    out[0] = np.nansum(a) + a.sum() + np.mean(a)
    out[1] = np.nanmin(a) + a.max() + np.prod(a)
    out[2] = np.count_nonzero(a) + a.any() + np.all(a)
    out[3] = a.argmax() + np.argmin(a)


def test_reductions_of_arrays_without_axes(device):
    out = np.zeros(4)
    _reduce_one[1, 1](np.array(2.5), out)
    assert list(out) == [7.5, 7.5, 3, 0]


def test_every_name_of_a_type_is_a_name_of_cuda(device):
    """`from portagpu.cuda import intp, double` as of `cuda.types`; kernels call them as they call `cuda.int64`."""
    names = {name for name in own_types.NAMES if not hasattr(builtins, name)}
    assert {name for name in names if getattr(cuda, name) is not getattr(cuda.types, name)} == set()
    assert names <= {*cuda.__all__}

    @cuda.jit
    def kernel(out):
        out[0] = cuda.intp(7) // 2 + cuda.double(0.25)

    out = np.zeros(1)
    kernel[1, 1](out)
    assert out[0] == 3.25
