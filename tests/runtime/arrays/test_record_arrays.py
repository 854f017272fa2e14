"""Records in device memory: copies, fields, single records, views."""

import numpy as np
import pytest

from portagpu import cuda, errors

pytestmark = pytest.mark.oclgrind

_FIELDS = [("a", np.int32), ("b", np.float64), ("v", np.float32, (3,)), ("in", [("p", np.uint8), ("q", np.int16)])]
PACKED = np.dtype(_FIELDS)
ALIGNED = np.dtype(_FIELDS, align=True)
OVERLAPPING = np.dtype({"names": ["a", "b"], "formats": [np.int32, np.float32], "offsets": [0, 0], "itemsize": 12})

each = pytest.mark.parametrize("dtype", [PACKED, ALIGNED, OVERLAPPING], ids=["packed", "aligned", "overlapping"])
both = pytest.mark.parametrize("dtype", [PACKED, ALIGNED], ids=["packed", "aligned"])


def random_records(shape, dtype):
    rng = np.random.default_rng(3)
    names = [n for n in dtype.names if dtype[n].names is None]
    result = np.zeros(shape, dtype)
    for name in names:
        result[name] = rng.integers(1, 100, result[name].shape)
    return result


@each
def test_round_trips(device, dtype):
    x = random_records((4, 6), dtype)
    for host in (x, np.asfortranarray(x), x[:0], x[::2, ::-2]):
        on_device = cuda.to_device(host)
        assert on_device.dtype == dtype
        np.testing.assert_array_equal(on_device.copy_to_host(), host)
        target = np.zeros_like(host)
        on_device.copy_to_host(target)
        np.testing.assert_array_equal(target, host)
    made = cuda.device_array((4, 6), dtype)
    made.copy_to_device(x)
    np.testing.assert_array_equal(made[1:3, ::2].copy_to_host(), x[1:3, ::2])
    like = cuda.device_array_like(x)
    like[...] = made
    np.testing.assert_array_equal(like.T.copy_to_host(), x.T)


def test_pinned_and_shared_memory(device):
    x = random_records(1000, PACKED)  # large enough to be used in place
    pinned = cuda.pinned_array(1000, PACKED)
    pinned[...] = x

    @cuda.jit
    def kernel(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i].b += x[i].v[0]

    for host in (x, pinned):
        expected = host["b"] + host["v"][:, 0]
        kernel[8, 128](host)
        np.testing.assert_array_equal(host["b"], expected)


@both
def test_fields(device, dtype):
    x = random_records((3, 2), dtype)
    on_device = cuda.to_device(x)
    for name in ("a", "b", "v", "in"):
        part = on_device[name]
        assert (part.shape, part.dtype) == (x[name].shape, x[name].dtype)
        np.testing.assert_array_equal(part.copy_to_host(), x[name])
    np.testing.assert_array_equal(on_device["in"]["q"][1:].copy_to_host(), x["in"]["q"][1:])
    on_device["a"] = 7
    on_device["v"][:, 1] = np.arange(3)
    on_device["in"]["p"][2, 1] = 200
    x["a"], x["v"][:, 1], x["in"]["p"][2, 1] = 7, np.arange(3), 200
    np.testing.assert_array_equal(on_device.copy_to_host(), x)


@both
def test_single_records(device, dtype):
    x = random_records(4, dtype)
    on_device = cuda.to_device(x)
    record = on_device[1]
    assert isinstance(record, cuda.DeviceRecord)
    assert (record.shape, record.strides, record.dtype, record.alloc_size) == ((), (), dtype, dtype.itemsize)
    assert record["a"] == x["a"][1] and isinstance(record["a"], np.int32)
    np.testing.assert_array_equal(record["v"].copy_to_host(), x["v"][1])
    assert record["in"]["q"] == x["in"]["q"][1]
    record["a"] = 5
    on_device[2]["b"] = 2.5
    on_device[2]["in"]["q"] = -1
    record["v"][1:] = 9
    on_device[3] = x[0]
    on_device[0] = (1, 2, (3, 4, 5), (6, 7))
    x[3] = x[0]
    x[0] = (1, 2, (3, 4, 5), (6, 7))
    x["a"][1], x["b"][2], x["in"]["q"][2], x["v"][1, 1:] = 5, 2.5, -1, 9
    np.testing.assert_array_equal(on_device.copy_to_host(), x)
    np.testing.assert_array_equal(record.copy_to_host(), x[1])
    assert "DeviceRecord" in repr(record)


@both
def test_copies_of_numpy_records(device, dtype):
    x = random_records(3, dtype)
    record = cuda.to_device(x[0])
    assert isinstance(record, cuda.DeviceRecord)
    record.copy_to_host(x[1])
    assert x[1] == x[0]
    record.copy_to_device(x[2])
    separate = x[0].copy()
    record.copy_to_host(separate)
    assert separate == x[2]
    assert cuda.device_array((), dtype).dtype == dtype


@both
def test_device_records_in_kernels(device, dtype):
    @cuda.jit
    def kernel(rec, other):
        rec.a = other.a + 1
        rec.v[0] = other["v"][2]

    x = random_records(4, dtype)
    on_device = cuda.to_device(x)
    kernel[1, 1](on_device[3], on_device[1])
    x["a"][3], x["v"][3, 0] = x["a"][1] + 1, x["v"][1, 2]
    np.testing.assert_array_equal(on_device.copy_to_host(), x)
    kernel[1, 1](on_device[2], x[0])
    assert on_device[2]["a"] == x["a"][0] + 1


def test_views_of_bytes(device):
    x = random_records(4, PACKED)
    on_device = cuda.to_device(x)
    np.testing.assert_array_equal(on_device.view(np.uint8).copy_to_host(), x.view(np.uint8))
    raw = cuda.to_device(x.view(np.uint8))
    np.testing.assert_array_equal(raw.view(PACKED).copy_to_host(), x)


def test_recarrays(device):
    x = random_records(4, ALIGNED).view(np.recarray)

    @cuda.jit
    def kernel(x):
        i = cuda.grid(1)
        x[i].a = i
        x.b[i] = x.a[i] + 0.5

    on_device = cuda.to_device(x)
    kernel[1, 4](on_device)
    kernel[1, 4](x)
    np.testing.assert_array_equal(x.b, np.arange(4) + 0.5)
    np.testing.assert_array_equal(on_device.copy_to_host(), x)
    assert len(kernel.overloads) == 1


def test_one_specialisation_for_each_record_type(device):
    @cuda.jit
    def kernel(x):
        x[0].a = 1

    for dtype in (PACKED, ALIGNED, np.dtype([("b", np.int16), ("a", np.int16)]), PACKED):
        x = np.zeros(2, dtype)
        kernel[1, 1](x)
        assert x["a"].tolist() == [1, 0]
    assert len(kernel.overloads) == 3


def test_mistakes(device):
    on_device = cuda.to_device(random_records(4, PACKED))
    with pytest.raises(errors.OutOfBoundsError, match="no field 'x'"):
        on_device["x"]
    with pytest.raises(errors.ArgumentTypeError, match="integers, slices and arrays"):
        cuda.to_device(np.zeros(3))["a"]
    with pytest.raises(errors.DTypeError):
        on_device.copy_to_device(np.zeros(4, OVERLAPPING))
    with pytest.raises(errors.DTypeError):
        on_device["a"] = "text"
