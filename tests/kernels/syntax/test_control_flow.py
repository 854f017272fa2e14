"""Control flow, tuples, functions: each kernel gives what the same Python gives."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import cuda

pytestmark = pytest.mark.oclgrind


def run(function, *arguments, out="int64", size=64):
    """Launch one thread for each element and return what the kernel wrote."""
    result = np.zeros(size, out)
    cuda.jit(function)[1, size](*arguments, result)
    return result


def test_loops_with_else_break_continue(device):
    def kernel(out):
        i = cuda.grid(1)
        total = 0
        for k in range(2, i):
            if k % 5 == 4:
                continue
            if k * k > i:
                break
            total += k
        else:
            total += 1000
        while total > 50:
            total -= 7
            if total == 49:
                break
        else:
            total = -total
        out[i] = total

    def python(i):
        total = 0
        for k in range(2, i):
            if k % 5 == 4:
                continue
            if k * k > i:
                break
            total += k
        else:
            total += 1000
        while total > 50:
            total -= 7
            if total == 49:
                break
        else:
            total = -total
        return total

    assert run(kernel).tolist() == [python(i) for i in range(64)]


def test_loop_variable_after_the_loop_and_reassigned_inside(device):
    def kernel(out):
        i = cuda.grid(1)
        last = -1
        for k in range(10, 10 - i % 7, -2):
            last = k
            k = k * 100
            last += k
        out[i] = last

    def python(i):
        last = -1
        for k in range(10, 10 - i % 7, -2):
            last = k + k * 100
        return last

    assert run(kernel).tolist() == [python(i) for i in range(64)]


def test_counter_lives_on(device):
    def kernel(out):
        i = cuda.grid(1)
        k = 99
        for k in range(i % 4):
            pass
        out[i] = k

    assert run(kernel).tolist() == [99 if i % 4 == 0 else i % 4 - 1 for i in range(64)]


_OF_COUNTERS = (
    "i * i",
    "i << 20",
    "i - 70000",
    "abs(i - 70000) * 50000",
    "i - 1 >= 0",
    "-i",
    "~i",
    "i // -3",
    "-i % 7",
)
_LOOPS = (
    "for i in range(a, b)",
    "for i in range(b - 1, a - 1, -1)",
    "for i in range(b, 0, -701)",
    "for i in range(a, b, s)",
    "for _, i in enumerate(range(a, b))",
    "for i, _ in zip(range(a, b, s), range(20))",
    "for _, i in zip(range(20), range(b, a))",  # of no numbers
    "for i, _ in enumerate(range(5), b)",
    "for _, i in np.ndindex(2, s + 9)",
)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64"])
def test_counters_are_python_integers_whatever_the_bounds_are(device, dtype):
    """Their products do not wrap around at 32 bits, and those of unsigned bounds become negative."""
    lines = [
        f"    {loop}:\n        " + "; ".join(f"out[{k}, {j}] += {e}" for j, e in enumerate(_OF_COUNTERS)) + "\n"
        for k, loop in enumerate(_LOOPS)
    ]
    scope = {"np": np}
    exec("def scalars(a, b, s, out):\n" + "".join(lines), scope)
    exec("def elements(x, out):\n    a, b, s = x[0], x[1], x[2]\n" + "".join(lines), scope)
    end = min(60_000, np.iinfo(dtype).max)
    bounds = np.array([end - 20, end, 3], dtype)
    expected = np.zeros((len(_LOOPS), len(_OF_COUNTERS)), np.int64)
    scope["scalars"](*map(int, bounds), expected)
    for name, arguments in (("scalars", tuple(bounds)), ("elements", (bounds,))):
        out = np.zeros_like(expected)
        cuda.jit(scope[name])[1, 1](*arguments, out)
        np.testing.assert_array_equal(out, expected, name)


def test_a_range_that_begins_with_a_constant_of_numpys_counts_in_its_dtype(device):
    @cuda.jit
    def kernel(n, out):
        for i in range(np.int32(0), n):
            out[0] = i * i

    out = np.zeros(1, np.int64)
    kernel[1, 1](np.int32(50_000), out)
    assert out[0] == 49_999**2 - 2**32


_OWN_BOUNDS = ("n - 1, -1, -1", "n - 1, 0, -2", "-2, n", "-1, n, 3", "n, n - 1, -1", "n, 2**40, 2**38", "-7, -2, n")


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_ranges_whose_constants_do_not_fit_the_dtype_of_the_other_bounds(device, dtype):
    """Such as unsigned bounds with a negative step: the counter is a Python integer, which may become negative."""
    loops = [
        f"    for i in range({bounds}):\n        out[{k}, 0] += 1\n        out[{k}, 1] = i\n"
        for k, bounds in enumerate(_OWN_BOUNDS)
    ]
    scope = {}
    exec("def scalar(n, out):\n" + "".join(loops), scope)
    exec("def element(x, out):\n    n = x[0]\n" + "".join(loops), scope)
    expected = np.zeros((len(_OWN_BOUNDS), 2), np.int64)
    scope["scalar"](5, expected)
    bound = np.array([5], dtype)
    for name, argument in (("scalar", bound[0]), ("element", bound)):
        out = np.zeros_like(expected)
        cuda.jit(scope[name])[1, 1](argument, out)
        np.testing.assert_array_equal(out, expected, name)


def test_variables_change_type(device):
    def kernel(out):
        i = cuda.grid(1)
        x = i
        x = x / 4
        if i > 10:
            x = i
        y = 1
        for _ in range(3):
            y = y * 1.5
        out[i] = x + y

    found = run(kernel, out="float64")
    expected = [(i if i > 10 else i / 4) + 1.5**3 for i in range(64)]
    np.testing.assert_allclose(found, expected, rtol=1e-15)


def test_swaps_tuples_and_unpacking(device):
    def kernel(out):
        i = cuda.grid(1)
        a, b, c = i, i + 1, (i, 2 * i)
        a, b = b, a
        for _ in range(i % 3):
            a, b = b, a + b
        (d, e), f = c, c[1]
        pair = (a, b) if i > 5 else (b, a)
        out[i] = pair[0] * 10000 + pair[-1] * 100 + d + e + f + len(pair)

    def python(i):
        a, b, c = i, i + 1, (i, 2 * i)
        a, b = b, a
        for _ in range(i % 3):
            a, b = b, a + b
        (d, e), f = c, c[1]
        pair = (a, b) if i > 5 else (b, a)
        return pair[0] * 10000 + pair[-1] * 100 + d + e + f + len(pair)

    assert run(kernel).tolist() == [python(i) for i in range(64)]


def test_enumerate_zip_and_runtime_tuple_index(device):
    def kernel(values, out):
        i = cuda.grid(1)
        total = 0
        for n, v in enumerate(values):
            total += n * v
        for a, b in zip(values, (3, 5, 7)):
            total += a * b
        for n, word in enumerate((1, 10, 100), 2):
            total += n * word
        out[i] = total + (4, 5, 6)[i % 3] + (4, 5, 6)[-(i % 3) - 1]

    values = np.array([2, 4, 6, 8], np.int64)
    base = sum(n * v for n, v in enumerate([2, 4, 6, 8])) + 2 * 3 + 4 * 5 + 6 * 7 + 2 * 1 + 3 * 10 + 4 * 100
    expected = [base + (4, 5, 6)[i % 3] + (4, 5, 6)[-(i % 3) - 1] for i in range(64)]
    assert run(kernel, values).tolist() == expected


def test_short_circuit_does_not_evaluate(device):
    def kernel(counter, out):
        i = cuda.grid(1)
        if i == 0:
            hit = out[0] > 0 and cuda.atomic.add(counter, 0, 1) >= 0
            hit = hit or out[0] == 0 or cuda.atomic.add(counter, 0, 10) >= 0
            other = cuda.atomic.add(counter, 0, 100) if hit else cuda.atomic.add(counter, 0, 1000)
            out[0] = other + 5

    counter = np.zeros(1, np.int32)
    assert run(kernel, counter)[0] == 5
    assert counter[0] == 100


def test_chained_comparison_evaluates_the_middle_once(device):
    def kernel(counter, out):
        i = cuda.grid(1)
        if i == 0:
            out[0] = 1 if 0 <= cuda.atomic.add(counter, 0, 1) < 5 else 2

    counter = np.zeros(1, np.int32)
    assert run(kernel, counter)[0] == 1
    assert counter[0] == 1


def test_order_of_effects(device):
    def kernel(cell, out):
        i = cuda.grid(1)
        if i == 0:
            out[0] = cell[0] * 1000 + cuda.atomic.add(cell, 0, 7) * 10 + cell[0]

    cell = np.array([3], np.int32)
    assert run(kernel, cell)[0] == 3 * 1000 + 3 * 10 + 10


@cuda.jit(device=True)
def minmax(values, low, high):
    smallest, largest = values[low], values[low]
    for k in range(low + 1, high):
        smallest = min(smallest, values[k])
        largest = max(largest, values[k])
    return smallest, largest


@cuda.jit(device=True)
def span(values, low, high):
    a, b = minmax(values, low, high)
    return b - a


@cuda.jit(device=True)
def apply(function, x):
    return function(x)


@cuda.jit(device=True)
def square(x):
    return x * x


@cuda.jit(device=True)
def rotate_row(row, tile, t):
    """A device function with a slice as argument and shared memory of its caller."""
    tile[t] = row[t]
    cuda.syncthreads()
    row[t] = tile[(t + 1) % len(row)]


def test_device_functions(device):
    def kernel(values, out):
        i = cuda.grid(1)
        out[i] = span(values, i, values.size) * 100 + apply(square, i % 5)

    values = np.random.default_rng(0).integers(-50, 50, 80)
    expected = [int(np.ptp(values[i:])) * 100 + (i % 5) ** 2 for i in range(64)]
    assert run(kernel, values).tolist() == expected


def test_rows_and_shared_memory_in_device_functions(device):
    @cuda.jit
    def kernel(m):
        tile = cuda.shared.array(16, np.float32)
        rotate_row(m[cuda.blockIdx.x], tile, cuda.threadIdx.x)

    m = np.random.default_rng(0).random((5, 16), np.float32)
    expected = np.roll(m, -1, axis=1)
    kernel[5, 16](m)
    np.testing.assert_array_equal(m, expected)


def test_constexpr_decides_while_compiling(device):
    @cuda.jit
    def kernel(x, mode: cuda.constexpr, n: cuda.constexpr):
        buffer = cuda.local.array(n, np.int64)
        for k in cuda.unroll(range(n)):
            buffer[k] = k
        if mode == "sum":
            total = 0
            for k in range(n):
                total += buffer[k]
            x[0] = total
        else:
            x[0] = undefined_unless_taken  # noqa: F821

    x = np.zeros(1, np.int64)
    for n in (3, 9):
        kernel[1, 1](x, "sum", n)
        assert x[0] == n * (n - 1) // 2
    assert len(kernel.overloads) == 2


def test_factories_capture_constants(device):
    def make(scale, table):
        @cuda.jit
        def kernel(x):
            i = cuda.grid(1)
            x[i] = scale * table[i % 3]

        return kernel

    table = np.array([1.5, 2.5, 3.5], np.float32)
    for scale in (2, 10):
        x = np.zeros(9, np.float32)
        make(scale, table)[1, 9](x)
        np.testing.assert_array_equal(x, scale * np.tile(table, 3))


def test_argument_kinds(device):
    def kernel(flag, nothing, pair, number, single, big, x, out):
        i = cuda.grid(1)
        value = pair[0] + pair[1][i % 4] + number
        if flag and nothing is None:
            value += single
        out[i] = value * x + big // 2**40

    pair = (2, np.array([1.0, 2.0, 3.0, 4.0]))
    found = run(kernel, True, None, pair, 3, np.float32(0.5), 2**42, np.int8(-2), out="float64")
    np.testing.assert_array_equal(found, [(2 + pair[1][i % 4] + 3 + 0.5) * -2 + 4 for i in range(64)])


def test_defaults_and_keywords(device):
    @cuda.jit
    def kernel(x, value=7, extra=1):
        x[cuda.grid(1)] = value * extra

    x = np.zeros(4, np.int32)
    kernel[1, 4](x)
    assert (x == 7).all()
    kernel[1, 4](x, extra=3)
    assert (x == 21).all()
    kernel.forall(4, tpb=2)(extra=2, x=x)
    assert (x == 14).all()


def test_signature_converts(device):
    @cuda.jit("void(float32[:], int32)")
    def kernel(x, n):
        x[0] = n / 2

    x = np.zeros(1, np.float32)
    kernel[1, 1](x, 5.9)
    assert x[0] == 2.5
