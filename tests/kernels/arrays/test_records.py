"""Records in kernels: packed and aligned, nested, with array fields, in every memory space."""

import numpy as np
import pytest

from portagpu import cuda, errors

pytestmark = pytest.mark.oclgrind

_FIELDS = [("a", np.int32), ("b", np.float64), ("c", np.uint8), ("v", np.float32, (3,)), ("m", np.int16, (2, 2))]
_INNER = [("p", np.int16), ("q", np.float32)]
_NESTED = [("head", np.uint8), ("inner", np.dtype(_INNER)), ("pair", np.dtype(_INNER), (2,)), ("tail", np.int64)]
PACKED = np.dtype(_FIELDS)
ALIGNED = np.dtype(_FIELDS, align=True)
OFFSETS = np.dtype({"names": ["a", "b"], "formats": [np.int32, np.float32], "offsets": [5, 16], "itemsize": 24})
SIMPLE = np.dtype([("a", np.int32), ("b", np.float32)])
NAMES = ("a", "b")

both = pytest.mark.parametrize("dtype", [PACKED, ALIGNED], ids=["packed", "aligned"])


def filled(dtype, shape):
    """Records whose bytes all differ from zero, with numbers that any float holds."""
    result = np.zeros(shape, dtype)

    def fill(array, start):
        for n, name in enumerate(array.dtype.names or ()):
            part = array[name]
            if part.dtype.names:
                fill(part, start + 10 * n)
            else:
                part[...] = (np.arange(part.size).reshape(part.shape) + start + n) % 100
        return array

    return fill(result, 1)


@both
def test_fields_of_elements(device, dtype):
    @cuda.jit
    def kernel(x):
        i = cuda.grid(1)
        if i < x.size:
            rec = x[i]
            rec.a = i + 1
            x[i].b = rec.a * 2.5
            x[i]["c"] = 7
            rec["c"] += 1
            rec.b -= 1
            x.a[i] *= 3
            x["a"][i] += 2

    x = np.zeros(5, dtype)
    kernel[1, 8](x)
    i = np.arange(5)
    np.testing.assert_array_equal(x["a"], (i + 1) * 3 + 2)
    np.testing.assert_array_equal(x["b"], (i + 1) * 2.5 - 1)
    np.testing.assert_array_equal(x["c"], 8)


@both
def test_array_fields(device, dtype):
    @cuda.jit
    def kernel(x, sizes):
        i = cuda.grid(1)
        if i < x.size:
            rec = x[i]
            total = 0.0
            for k in range(len(rec.v)):
                rec.v[k] += i
                total += rec.v[k]
            for value in rec.v:
                total += value
            rec.b = total
            for row in range(rec.m.shape[0]):
                for column in range(rec.m.shape[1]):
                    x["m"][i, row, column] += 10 * row + column
            rec.m[1, 0] = rec.m[1, 1:][0]
            x.v[i, -1] = rec["v"][:2][1]
            sizes[i] = rec.m.size * 100 + rec.v.itemsize * 10 + x.m.ndim

    x, expected = filled(dtype, 4), filled(dtype, 4)
    sizes = np.zeros(4, np.int64)
    kernel[1, 4](x, sizes)
    for i, rec in enumerate(expected):
        rec["v"] += i
        rec["b"] = 2 * rec["v"].sum()
        rec["m"] += np.array([[0, 1], [10, 11]], np.int16)
        rec["m"][1, 0] = rec["m"][1, 1]
        rec["v"][-1] = rec["v"][1]
    np.testing.assert_array_equal(x, expected)
    np.testing.assert_array_equal(sizes, 443)


@pytest.mark.parametrize("align", [False, True])
def test_nested_records(device, align):
    inner = np.dtype(_INNER, align=align)
    dtype = np.dtype([(n, inner if "i" in n and n != "tail" else t, *s) for n, t, *s in _NESTED], align=align)

    @cuda.jit
    def kernel(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i].inner.p = x[i].tail
            x["inner"]["q"][i] += 0.5
            x.pair[i, 0] = x[i].inner
            x[i].pair[1].q = x.inner[i].q * 2
            x[i].pair["p"][1] = x[i].head

    x, expected = filled(dtype, 3), filled(dtype, 3)
    kernel[1, 4](x)
    expected["inner"]["p"] = expected["tail"]
    expected["inner"]["q"] += 0.5
    expected["pair"][:, 0] = expected["inner"]
    expected["pair"]["q"][:, 1] = expected["inner"]["q"] * 2
    expected["pair"]["p"][:, 1] = expected["head"]
    np.testing.assert_array_equal(x, expected)


def test_explicit_offsets_and_overlapping_fields(device):
    union = np.dtype({"names": ["number", "bits"], "formats": [np.float32, np.uint32], "offsets": [0, 0]})

    @cuda.jit
    def move(x):
        i = cuda.grid(1)
        x[i].a, x[i].b = x[i].b, x[i].a

    @cuda.jit
    def flip(x):
        i = cuda.grid(1)
        x[i].number = i + 1.5
        x[i].bits ^= 1 << 31

    x = filled(OFFSETS, 4)
    expected = x.copy()
    move[1, 4](x)
    np.testing.assert_array_equal(x["a"], expected["b"])
    np.testing.assert_array_equal(x["b"], expected["a"])
    y = np.zeros(4, union)
    flip[1, 4](y)
    np.testing.assert_array_equal(y["number"], -np.arange(1.5, 5))


@both
def test_any_layout(device, dtype):
    @cuda.jit
    def kernel(x, y):
        i, j = cuda.grid(2)
        if i < x.shape[0] and j < x.shape[1]:
            y[i, j].a = x[i, j].a + x["v"][i, j, 2]
            y.b[i, j] = x[i][j].b

    x = filled(dtype, (6, 8))
    for source in (x, np.asfortranarray(x), x[::2, ::-3], x.T, x[1:, 3:]):
        for target in (np.zeros(source.shape, dtype), np.zeros((12, 9), dtype)[: source.shape[0], : source.shape[1]]):
            kernel[(1, 1), (8, 8)](source, target)
            np.testing.assert_array_equal(target["a"], source["a"] + source["v"][..., 2])
            np.testing.assert_array_equal(target["b"], source["b"])


@both
def test_views_that_are_not_aligned_on_the_device(device, dtype):
    @cuda.jit
    def kernel(x, total):
        for i in range(x.shape[0]):
            total[0] += x[i]
            x[i] = i

    x = filled(dtype, 6)
    on_device = cuda.to_device(x)
    for name, part in (("b", on_device["b"]), ("a", on_device["a"][1::2]), ("c", on_device["c"][::-1])):
        total = np.zeros(1)
        kernel[1, 1](part, total)
        assert total[0] == (x[name][1::2] if name == "a" else x[name]).sum()
        np.testing.assert_array_equal(part.copy_to_host(), np.arange(part.size))


@pytest.mark.parametrize("dtype", [PACKED, ALIGNED, np.dtype([("bytes", np.uint8, (301,))])], ids=str)
def test_whole_records(device, dtype):
    @cuda.jit
    def kernel(x, y):
        i = cuda.grid(1)
        if i < x.size:
            y[i] = x[x.size - 1 - i]

    x, y = filled(dtype, 5), np.zeros(5, dtype)
    kernel[1, 8](x, y)
    np.testing.assert_array_equal(y, x[::-1])


def test_records_of_other_layouts_are_assigned_by_field(device):
    @cuda.jit
    def kernel(x, y):
        y[0] = x[1]

    x, y = filled(PACKED, 2), np.zeros(1, ALIGNED)
    kernel[1, 1](x, y)
    np.testing.assert_array_equal(y.astype(PACKED), x[1:])


def test_places_are_found_before_they_change(device):
    dtype = np.dtype([("next", np.int32), ("value", np.float64), ("v", np.int32, (2,))])

    @cuda.jit
    def kernel(x):
        x[0] = x[x[0].next]
        x[x[1].next].v[:] = x[x[1].next].v[::-1]
        x[x[2].v[1]].v = x[3].v
        x[x[4].next].next += 1

    x = filled(dtype, 5)
    x["next"] = [2, 3, 1, 0, 4]
    x["v"][2] = [2, 2]
    expected = x.copy()
    kernel[1, 1](x)
    expected[0] = expected[2]
    expected["v"][3, 1] = expected["v"][3, 0] = expected["v"][3, 1]
    expected["v"][2] = expected["v"][3]
    expected["next"][4] += 1
    np.testing.assert_array_equal(x, expected)


@both
def test_a_reference_to_a_record_follows_the_array(device, dtype):
    @cuda.jit
    def kernel(x, flag):
        rec = x[0]
        if flag[0] > 0:
            rec = x[1]
        for k in range(2, 4):
            rec.a += x[k].a
            rec = x[k]
        rec.c = 200

    for flag in (0, 1):
        x, expected = filled(dtype, 4), filled(dtype, 4)
        kernel[1, 1](x, np.array([flag]))
        expected["a"][flag] += expected["a"][2]
        expected["a"][2] += expected["a"][3]
        expected["c"][3] = 200
        np.testing.assert_array_equal(x, expected)


@both
@pytest.mark.parametrize("recarray", [False, True])
def test_one_record_as_argument(device, dtype, recarray):
    @cuda.jit
    def kernel(rec, y):
        y[0] = rec.a + rec["b"]
        rec.a = 50
        rec.v[1] = y[0]

    x = filled(dtype, 3)
    x = x.view(np.recarray) if recarray else x
    expected, y = x.copy(), np.zeros(1)
    kernel[1, 1](x[1], y)
    assert y[0] == expected["a"][1] + expected["b"][1]
    expected["a"][1], expected["v"][1, 1] = 50, y[0]
    np.testing.assert_array_equal(x, expected)
    kernel[1, 1](cuda.In(x[0]), y)
    np.testing.assert_array_equal(x, expected)


@cuda.jit(device=True)
def scale(rec, factor):
    rec.a *= factor
    return rec.b


@cuda.jit(device=True)
def larger(x, i, j):
    return x[i] if x[i].a > x[j].a else x[j]


@cuda.jit(device=True)
def pick(x, i, j):
    if x[i].a > x[j].a:
        return x[i]
    return x[j]


@cuda.jit(device=True)
def row(x, i):
    return x[i]


@cuda.jit(device=True)
def column(x, name):
    return x[name]


@both
def test_device_functions(device, dtype):
    @cuda.jit
    def kernel(x, y):
        y[0] = scale(x[0], 3)
        y[1] = scale(pick(x, 1, 2), 2) + scale(larger(x, 1, 2), 1) - larger(x, 2, 1).b
        y[2] = column(x, "b")[1]
        column(x[3], "v")[2] = 9

    x, expected, y = filled(dtype, 4), filled(dtype, 4), np.zeros(3)
    kernel[1, 1](x, y)
    expected["a"] *= np.array([3, 1, 2, 1], np.int32)
    expected["v"][3, 2] = 9
    np.testing.assert_array_equal(x, expected)
    np.testing.assert_array_equal(y, expected["b"][[0, 2, 1]])


def test_a_device_function_returns_a_row(device):
    @cuda.jit
    def kernel(x, y):
        i = cuda.grid(1)
        values = row(x, i)
        for k in range(values.size):
            y[i] += values[k]

    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    for source in (x, x[:, ::2], np.asfortranarray(x)):
        y = np.zeros(3, np.float32)
        kernel[1, 3](source, y)
        np.testing.assert_array_equal(y, source.sum(axis=1))


@both
def test_shared_local_and_constant_records(device, dtype):
    table = filled(dtype, 4)
    first, kind = table[0], cuda.from_dtype(dtype)

    @cuda.jit
    def kernel(x):
        i = cuda.threadIdx.x
        tile = cuda.shared.array(4, dtype)
        mine = cuda.local.array(2, kind)
        constants = cuda.const.array_like(table)
        tile[i] = x[i]
        cuda.syncthreads()
        mine[0] = tile[3 - i]
        mine[1] = constants[i]
        mine[0].b += mine[1].b
        mine[0].v[0] += mine[1]["v"][1]
        x[i] = mine[0]
        x[i].c = first.c + table[i].c

    x, expected = filled(dtype, 4), filled(dtype, 4)[::-1].copy()
    kernel[1, 4](x)
    expected["b"] += table["b"]
    expected["v"][:, 0] += table["v"][:, 1]
    expected["c"] = table["c"][0] + table["c"]
    np.testing.assert_array_equal(x, expected)


def test_dynamic_shared_records(device):
    @cuda.jit
    def kernel(x, count):
        tile = cuda.shared.array(0, SIMPLE)
        i = cuda.threadIdx.x
        tile[i].a = x[i].a
        tile[i].b = i
        cuda.syncthreads()
        x[i] = tile[3 - i]
        if i == 0:
            count[0] = tile.size

    x, count = filled(SIMPLE, 4), np.zeros(1, np.int32)
    expected = x["a"][::-1].copy()
    kernel[1, 4, 0, 4 * SIMPLE.itemsize](x, count)
    np.testing.assert_array_equal(x["a"], expected)
    np.testing.assert_array_equal(x["b"], [3, 2, 1, 0])
    assert count[0] == 4


def test_atomics_on_fields(device):
    @cuda.jit
    def kernel(x):
        i = cuda.grid(1)
        cuda.atomic.add(x["a"], 0, 1)
        cuda.atomic.max(x.b, 1, i)
        cuda.atomic.add(x.a, i % 2 + 1, i)

    x = np.zeros(3, SIMPLE)
    kernel[4, 8](x)
    np.testing.assert_array_equal(x["a"], [32, sum(range(0, 32, 2)), sum(range(1, 32, 2))])
    assert x["b"][1] == 31


def test_atomics_need_aligned_fields(device):
    @cuda.jit
    def kernel(x):
        cuda.atomic.add(x["b"], 0, 1)

    with pytest.raises(errors.KernelTypeError, match="not aligned"):
        kernel[1, 1](np.zeros(3, PACKED))


def test_names_of_fields_are_constants(device):
    second = "b"

    @cuda.jit
    def kernel(x, out, name: cuda.constexpr):
        out[0] = x[0][NAMES[0]] + x[1][second] + x[2][name]
        for field in cuda.literal_unroll(NAMES):
            out[1] += x[0][field]
        for field in NAMES:
            out[2] += x[field][1]
        out[3] = x[0][0] + x[0][1]

    x, out = filled(SIMPLE, 3), np.zeros(4)
    kernel[1, 1](x, out, "a")
    sums = x["a"] + x["b"]
    np.testing.assert_array_equal(out, [x["a"][0] + x["b"][1] + x["a"][2], sums[0], sums[1], sums[0]])


def test_array_fields_are_filled(device):
    @cuda.jit
    def kernel(x, y):
        x[0].m = y[1].m
        x[0]["v"] = 2
        x.v[1:, :] = y.v[1:, ::-1]
        x["m"][:, :, 1] = 5
        x[2].m[0, :] = (7, 8)
        x[1:2] = y[2]
        x[2].v[:] = y[0].v[:1]

    x, y, expected = filled(PACKED, 3), filled(ALIGNED, 3), filled(PACKED, 3)
    kernel[1, 1](x, y)
    expected["m"][0] = y["m"][1]
    expected["v"][0] = 2
    expected["v"][1:] = y["v"][1:, ::-1]
    expected["m"][:, :, 1] = 5
    expected["m"][2, 0] = (7, 8)
    expected[1] = y[2]
    expected["v"][2] = y["v"][0, :1]
    np.testing.assert_array_equal(x, expected)


def test_slices_are_filled(device):
    @cuda.jit
    def kernel(x, y, z):
        x[1:3, :] = y
        x[0] = 0
        x[-1, ::2] = z[0]
        tile = cuda.local.array((2, 2), np.float64)
        tile[:] = y[:, 1:3]
        x[3:, 1:2] = tile[1, 0]

    x, y = np.arange(20, dtype=np.float32).reshape(5, 4), np.arange(8).reshape(2, 4) * 2
    expected, z = x.copy(), np.array([9, 8])
    kernel[1, 1](x, y, z)
    expected[1:3] = y
    expected[0] = 0
    expected[-1, ::2] = z[0]
    expected[3:, 1:2] = y[1, 1]
    np.testing.assert_array_equal(x, expected)


def test_shapes_that_do_not_fit(device):
    @cuda.jit
    def kernel(x):
        small = cuda.local.array(3, np.float32)
        large = cuda.local.array(4, np.float32)
        small[:] = 1
        large[:] = small
        x[0] = large[0]

    with pytest.raises(errors.KernelValueError, match="shape"):
        kernel[1, 1](np.zeros(4, np.float32))


def test_facts_of_record_arrays(device):
    @cuda.jit
    def kernel(x, out):
        out[0], out[1], out[2], out[3] = x.size, x.itemsize, x.strides[0], x.nbytes
        out[4], out[5] = x["b"].strides[0], x.v.strides[1]
        out[6] = x.dtype.itemsize

    for dtype in (PACKED, ALIGNED):
        x, out = np.zeros(3, dtype), np.zeros(7, np.int64)
        kernel[1, 1](x, out)
        size = dtype.itemsize
        np.testing.assert_array_equal(out, [3, size, size, 3 * size, size, 4, size])


@both
def test_signatures(device, dtype):
    kind = cuda.from_dtype(dtype)

    @cuda.jit((kind[:], kind, cuda.int64))
    def kernel(x, rec, i):
        x[i].a = rec.a

    x = filled(dtype, 3)
    kernel[1, 1](x, x[2], 0)
    assert x["a"][0] == x["a"][2]
    with pytest.raises(errors.ArgumentTypeError):
        kernel[1, 1](np.zeros(3, SIMPLE), x[2], 0)
    with pytest.raises(errors.ArgumentTypeError):
        kernel[1, 1](x, 5, 0)


def test_types():
    kind = cuda.from_dtype(PACKED)
    assert cuda.as_dtype(kind) == PACKED
    assert kind.typeof("a") == cuda.int32
    assert kind.offset("b") == 4
    assert kind.typeof("v").shape == (3,)
    assert cuda.as_dtype(kind.typeof("v")) == np.dtype((np.float32, (3,)))
    assert cuda.from_dtype(np.dtype(np.float32)) == cuda.float32
    assert cuda.as_dtype(cuda.int16) == np.int16
    assert kind == cuda.from_dtype(np.dtype((np.record, PACKED)))
    assert kind != cuda.from_dtype(ALIGNED)


@pytest.mark.parametrize("align", [False, True])
def test_complex_fields(device, align):
    dtype = np.dtype([("a", np.int16), ("z", np.complex64), ("w", np.complex128, (2,))], align=align)

    @cuda.jit
    def kernel(x, parts):
        i = cuda.grid(1)
        rec = x[i]
        parts[i] = x.z.real[i] + x["w"][i, 1].imag + rec.w.imag[0]
        rec.z = rec.z * 2j
        rec.w[0] += rec.z
        x.z.imag[i] += 1

    x, parts = np.zeros(3, dtype), np.zeros(3)
    x["z"], x["w"] = [1 + 2j, 3 - 1j, 5j], [[1j, 2 + 3j], [4, 5 - 1j], [6 + 6j, 7]]
    expected, parts_expected = x.copy(), x["z"].real + x["w"].imag.sum(axis=1)
    expected["z"] *= 2j
    expected["w"][:, 0] += expected["z"]
    expected["z"].imag += 1
    kernel[1, 3](x, parts)
    np.testing.assert_array_equal(x, expected)
    np.testing.assert_array_equal(parts, parts_expected)


@pytest.mark.parametrize("align", [False, True])
def test_small_fields(device, align):
    dtype = np.dtype([("flag", np.bool_), ("h", np.float16), ("k", np.uint64), ("hs", np.float16, (3,))], align=align)

    @cuda.jit
    def kernel(x):
        i = cuda.grid(1)
        if x[i].flag:
            x[i].k = 2**63 + 1
            x[i].h += x[i].hs[2] * 2
        x[i].hs[0] = x.h[i]
        x[i].flag = not x[i].flag

    x = np.zeros(3, dtype)
    x["flag"], x["h"], x["hs"] = [False, True, False], [1.5, 2.5, 0.1], np.arange(9).reshape(3, 3) / 8
    expected = x.copy()
    expected["k"][1], expected["h"][1] = 2**63 + 1, x["h"][1] + x["hs"][1, 2] * 2
    expected["hs"][:, 0] = expected["h"]
    expected["flag"] = ~x["flag"]
    kernel[1, 3](x)
    np.testing.assert_array_equal(x, expected)


def test_fields_that_kernels_do_not_know_stand_beside_others(device):
    dtype = np.dtype([("name", np.longdouble), ("a", np.int32)])

    @cuda.jit
    def kernel(x):
        x[0].a = 3
        x[1] = x[0]

    @cuda.jit
    def wrong(x):
        x[0].name = 1

    x = np.array([(1.5, 1), (2.5, 2)], dtype)
    kernel[1, 1](x)
    assert x[1].tolist() == (1.5, 3)
    with pytest.raises(errors.KernelTypeError, match="`name`"):
        wrong[1, 1](x)


def test_constant_records_cannot_be_written(device):
    table = filled(SIMPLE, 2)

    @cuda.jit
    def kernel(x):
        table[0].a = x[0]

    with pytest.raises(errors.KernelTypeError, match="constant memory"):
        kernel[1, 1](np.zeros(1))


def test_a_local_record_is_returned(device):
    @cuda.jit(device=True)
    def make(a):
        rec = cuda.local.array(2, SIMPLE)
        rec[1].a = a
        rec[1].b = a / 2
        return rec[1]

    @cuda.jit
    def kernel(x):
        first, second = make(3), make(5)
        x[0] = first
        x[1] = second

    x = np.zeros(2, SIMPLE)
    kernel[1, 1](x)
    assert x.tolist() == [(3, 1.5), (5, 2.5)]


SAME_PLACES = [("x", np.float16), ("y", np.float16)]


def test_aligned_types_of_the_same_layout(device):
    plain, aligned = np.dtype(SAME_PLACES), np.dtype(SAME_PLACES, align=True)
    kinds = [cuda.from_dtype(plain), cuda.from_dtype(aligned)]
    assert [kind.aligned for kind in kinds] == [False, True]
    assert kinds[0] != kinds[1] == cuda.from_dtype(np.dtype((np.record, aligned)))
    assert len({*kinds, cuda.from_dtype(aligned)}) == 2

    def swap(x):
        x[0].x, x[0].y = x[0].y, x[0].x

    signatures = []
    for dtype in (plain, aligned):
        kernel = cuda.jit(swap)
        x = np.array([(1, 2)], dtype)
        kernel[1, 1](x)
        assert x[0].tolist() == (2, 1)
        signatures += kernel.signatures
    assert signatures[0] != signatures[1]
    for kind in kinds:  # equal dtypes, for NumPy and for kernels
        declared = cuda.jit((kind[:],))(swap)
        for dtype in (plain, aligned):
            x = np.array([(1, 2)], dtype)
            declared[1, 1](x)
            assert x[0].tolist() == (2, 1)
