"""Python's language in kernels: what programs written for CUDA-Python use."""

from __future__ import annotations

import enum
import math
import operator

import numpy as np
import pytest

from portagpu import cuda
from portagpu.cuda import float32, float64, int32
from portagpu.errors import PortaGPUCorrectnessWarning

pytestmark = pytest.mark.one_device

# ruff: noqa: E731, F842, F821, F841, PIE790, RUF005


def test_changing_types(device):
    @cuda.jit
    def k(a, out):
        x = 1
        out[0] = x
        x = 2.5
        out[1] = x
        x = a
        out[2] = x[0]

    o = np.zeros(3)
    k[1, 1](np.array([7.0]), o)
    assert list(o) == [1, 2.5, 7], o


def test_branch_types_unused_after(device):
    @cuda.jit
    def k(a, out, n):
        if n > 0:
            x = a
            out[0] = x[0]
        else:
            x = 3
            out[0] = x

    o = np.zeros(3)
    k[1, 1](np.array([7.0]), o, 1)
    assert o[0] == 7


def test_one_path_def(device):
    @cuda.jit
    def k(out):
        t = cuda.threadIdx.x
        if t == 0:
            v = 5
        cuda.syncthreads()
        if t == 0:
            out[0] = v

    o = np.zeros(3)
    k[1, 4](o)
    assert o[0] == 5


def test_def_in_loop_used_after(device):
    @cuda.jit
    def k(out, n):
        for i in range(n):
            last = i
        out[0] = last
        out[1] = i

    o = np.zeros(3)
    k[1, 1](o, 4)
    assert o[0] == 3 and o[1] == 3


def test_nested_function(device):
    @cuda.jit
    def k(out, n):
        def add(a, b):
            return a + b + n

        out[0] = add(1, 2)

    o = np.zeros(3)
    k[1, 1](o, 10)
    assert o[0] == 13


def test_lambda_in_kernel(device):
    @cuda.jit
    def k(out):
        f = lambda a: a * 2
        out[0] = f(4)

    o = np.zeros(3)
    k[1, 1](o)
    assert o[0] == 8


def test_array_methods(device):
    @cuda.jit
    def k(a, out):
        out[0] = a.sum()
        out[1] = a.min()
        out[2] = a.max()
        out[3] = a.mean()
        out[4] = a.prod()
        out[5] = a.argmin()
        out[6] = a.argmax()

    a = np.array([3.0, 1, 2])
    o = np.zeros(7)
    k[1, 1](a, o)
    assert list(o) == [6, 1, 3, 2, 6, 1, 0], o


def test_enum_members(device):
    class Color(enum.IntEnum):
        RED = 1
        BLUE = 2

    class Shape(enum.Enum):
        A = 10
        B = 20

    @cuda.jit
    def k(out, s):
        if s == Shape.A:
            out[0] = Color.BLUE
        out[1] = Shape.B.value
        out[2] = Color.RED + 1

    o = np.zeros(3)
    k[1, 1](o, Shape.A)
    assert list(o) == [2, 20, 2], o


def test_none_arg(device):
    @cuda.jit
    def k(out, x):
        if x is None:
            out[0] = 1
        else:
            out[0] = x[0]

    o = np.zeros(1)
    k[1, 1](o, None)
    assert o[0] == 1
    k[1, 1](o, np.array([3.0]))
    assert o[0] == 3


def test_het_tuple_iter(device):
    @cuda.jit
    def k(out):
        s = 0.0
        for x in (1, 2.5, 3):
            s += x
        out[0] = s

    o = np.zeros(1)
    k[1, 1](o)
    assert o[0] == 6.5


def test_tuple_arg_arrays(device):
    @cuda.jit
    def k(t, out):
        a, b = t
        out[0] = a[0] + b[1]
        s = 0.0
        for arr in t:
            s += arr[0]
        out[1] = s
        out[2] = len(t)
        i = out.size - 3
        out[3] = t[i][0]

    o = np.zeros(4)
    k[1, 1]((np.array([1.0, 2]), np.array([3.0, 4])), o)
    assert list(o) == [5, 4, 2, 3], o


def test_slice_assign(device):
    @cuda.jit
    def k(a, b):
        a[:] = 3
        b[1:3] = a[0:2]
        b[0] = 9

    a = np.zeros(4)
    b = np.zeros(4)
    k[1, 1](a, b)
    assert list(b) == [9, 3, 3, 0]


def test_while_else(device):
    @cuda.jit
    def k(o):
        i = 0
        while i < 5:
            i += 1
            if i == 10:
                break
        else:
            o[0] = i

    o = np.zeros(1)
    k[1, 1](o)
    assert o[0] == 5


def test_global_arrays(device):
    table = np.arange(5.0)

    @cuda.jit
    def k(o):
        i = cuda.grid(1)
        if i < 5:
            o[i] = table[i] * 2

    o = np.zeros(5)
    k[1, 8](o)
    assert list(o) == [0, 2, 4, 6, 8]


def test_ternary_mixed(device):
    @cuda.jit
    def k(o, n):
        o[0] = n if n > 3 else 0.5
        o[1] = (1 if n > 2 else 2) + (n and 3)
        o[2] = 1 < n < 9
        o[3] = not n

    o = np.zeros(4)
    k[1, 1](o, 4)
    assert list(o) == [4, 4, 1, 0], o


def test_list_of_shape(device):
    @cuda.jit
    def k(a, o):
        h, w = a.shape
        o[0] = h * w
        o[1] = a.ndim
        o[2] = a.strides[0]
        o[3] = a.itemsize
        o[4] = a.size
        o[5] = a.nbytes

    o = np.zeros(6)
    k[1, 1](np.zeros((3, 4), np.float32), o)
    assert list(o) == [12, 2, 16, 4, 12, 48], o


def test_atomics_idx(device):
    @cuda.jit
    def k(h, a):
        i = cuda.grid(1)
        cuda.atomic.add(h, (a[i], 0), 1)

    h = np.zeros((4, 2), np.int32)
    k[1, 8](h, np.arange(8) % 4)
    assert list(h[:, 0]) == [2] * 4


def test_exec_kernel(device):
    ns = {"cuda": cuda}
    exec("@cuda.jit\ndef k(o):\n    o[0]=5\n", ns)
    o = np.zeros(1)
    ns["k"][1, 1](o)
    assert o[0] == 5


def test_factory(device):
    def make(f):
        @cuda.jit
        def k(o, x):
            o[0] = f(x[0], x[1])

        return k

    @cuda.jit(device=True)
    def add(a, b):
        return a + b

    @cuda.jit(device=True)
    def mul(a, b):
        return a * b

    x = np.array([3.0, 4])
    o = np.zeros(1)
    make(add)[1, 1](o, x)
    assert o[0] == 7
    make(mul)[1, 1](o, x)
    assert o[0] == 12
    make(operator.sub)[1, 1](o, x)
    assert o[0] == -1


def test_plain_helper(device):
    def helper(a):
        return a + 1

    @cuda.jit
    def k(o):
        o[0] = cuda.jit(device=True)(helper)(1) if False else 2

    o = np.zeros(1)
    k[1, 1](o)
    assert o[0] == 2


def test_shared_2d(device):
    @cuda.jit
    def k(o):
        s = cuda.shared.array((4, 4), dtype=float32)
        s[cuda.threadIdx.x, cuda.threadIdx.y] = cuda.threadIdx.x * 10 + cuda.threadIdx.y
        cuda.syncthreads()
        o[cuda.threadIdx.x, cuda.threadIdx.y] = s[cuda.threadIdx.y, cuda.threadIdx.x]

    o = np.zeros((4, 4))
    k[1, (4, 4)](o)
    assert o[1, 2] == 21


def test_dyn_shared(device):
    @cuda.jit
    def k(x, y):
        d = cuda.shared.array(0, dtype=int32)
        f = cuda.shared.array(shape=0, dtype=float32)
        i = cuda.threadIdx.x
        d[i] = x[i]
        cuda.syncthreads()
        y[i] = d[3 - i]
        cuda.syncthreads()
        g = d[1:3]
        if i == 0:
            y[0] = g[1] + g.size + d.size

    y = np.zeros(4, np.int32)
    k[1, 4, 0, 16](np.arange(4, dtype=np.int32), y)
    assert list(y) == [2 + 2 + 4, 2, 1, 0], y


def test_const_like(device):
    C = np.arange(6).reshape(2, 3)

    @cuda.jit
    def k(o):
        c = cuda.const.array_like(C)
        for i in range(c.shape[0]):
            for j in range(c.shape[1]):
                o[i, j] = c[i, j]

    o = np.zeros((2, 3))
    k[1, 1](o)
    assert (o == C).all()


def test_grid_strided(device):
    @cuda.jit
    def k(o):
        start = cuda.grid(1)
        stride = cuda.gridsize(1)
        for i in range(start, o.shape[0], stride):
            o[i] += 1

    o = np.zeros(1000)
    k[2, 32](o)
    assert (o == 1).all()


def test_pow_ops(device):
    @cuda.jit
    def k(o, a, n):
        o[0] = a**2
        o[1] = a**n
        o[2] = a**0.5
        o[3] = 2**n
        o[4] = a // n
        o[5] = a % n
        o[6] = divmod(a, n)[1]
        o[7] = -a // n
        o[8] = n**-1

    o = np.zeros(9)
    k[1, 1](o, 7.0, 2)
    np.testing.assert_allclose(o, [49, 49, 7**0.5, 4, 3, 1, 1, -4, 0.5])


def test_view_reshape(device):
    @cuda.jit
    def k(a, o):
        b = a.reshape((2, 3))
        c = a.view(np.int32)
        d = b.T
        e = a.ravel()
        f = b.transpose()
        g = b.flatten() if False else e
        o[0] = b[1, 2]
        o[1] = c.size
        o[2] = d[2, 1]
        o[3] = e[5]

    a = np.arange(6.0, dtype=np.float64)
    o = np.zeros(4)
    k[1, 1](a, o)
    assert list(o) == [5, 12, 5, 5], o


def test_aug_tuple_unpack(device):
    @cuda.jit
    def k(o):
        (a, b), c = (1, 2), 3
        a, b = b, a
        (*r,) = 1, 2
        o[0] = a
        o[1] = b
        o[2] = c

    o = np.zeros(3)
    k[1, 1](o)
    assert list(o) == [2, 1, 3]


def test_nested_tuple(device):
    @cuda.jit
    def k(o, t):
        o[0] = t[0][1] + t[1]
        u = t + (5,)
        o[1] = u[2]
        o[2] = len(u[0:2])

    o = np.zeros(3)
    k[1, 1](o, ((1, 2), 3))
    assert list(o) == [5, 5, 2]


def test_bool_array(device):
    @cuda.jit
    def k(m, o):
        i = cuda.grid(1)
        if m[i]:
            o[i] = True
        m[i] = not m[i]
        m[i] &= True

    m = np.array([1, 0, 1], bool)
    o = np.zeros(3, bool)
    k[1, 3](m, o)
    assert list(o) == [1, 0, 1] and list(m) == [0, 1, 0]


def test_string_consts(device):
    mode = "sum"

    @cuda.jit
    def k(o):
        if mode == "sum":
            o[0] = 1
        else:
            o[0] = 2

    o = np.zeros(1)
    k[1, 1](o)
    assert o[0] == 1


def test_dict_const(device):
    cfg = {"a": 3}

    @cuda.jit
    def k(o):
        o[0] = cfg["a"]

    o = np.zeros(1)
    k[1, 1](o)
    assert o[0] == 3


def test_np_in_kernel(device):
    @cuda.jit
    def k(o):
        o[0] = np.sqrt(4.0) + np.pi * 0 + np.float32(1)
        z = np.int32(3)
        o[1] = z / 2

    o = np.zeros(2)
    k[1, 1](o)
    assert list(o) == [3, 1.5]


def test_forward_global(device):
    @cuda.jit
    def k(o):
        o[0] = later(2)

    @cuda.jit(device=True)
    def later(x):
        return x * 3

    o = np.zeros(1)
    k[1, 1](o)
    assert o[0] == 6


def test_numpy_scalar_dim(device):
    n = np.int64(8)

    @cuda.jit
    def k(o):
        s = cuda.local.array(n, float64)
        for i in range(n):
            s[i] = i
        o[0] = s[n - 1]

    o = np.zeros(1)
    k[np.int32(1), np.int64(1)](o)
    assert o[0] == 7


def test_return_in_nested_loop(device):
    @cuda.jit(device=True)
    def find(a, v):
        for i in range(a.shape[0]):
            for j in range(a.shape[1]):
                if a[i, j] == v:
                    return i, j
        return -1, -1

    @cuda.jit
    def k(a, o):
        i, j = find(a, 5.0)
        o[0] = i
        o[1] = j

    o = np.zeros(2)
    k[1, 1](np.arange(6.0).reshape(2, 3), o)
    assert list(o) == [1, 2]


def test_dev_returns_none_or_array(device):
    @cuda.jit(device=True)
    def fill(a, v):
        for i in range(a.size):
            a[i] = v

    @cuda.jit(device=True)
    def pick(a, b, c):
        return a

    @cuda.jit
    def k(a, o):
        fill(a[1:], 2.0)
        p = pick(a, o, 1)
        o[0] = p[1]

    a = np.zeros(3)
    o = np.zeros(1)
    k[1, 1](a, o)
    assert list(a) == [0, 2, 2] and o[0] == 2


def test_global_statement_const(device):
    @cuda.jit
    def k(o):
        x: float = 3
        y: int
        o[0] = x
        pass
        assert x > 0, "bad"

    o = np.zeros(1)
    k[1, 1](o)
    assert o[0] == 3


def test_range_neg(device):
    @cuda.jit
    def k(o):
        for i in range(4, -1, -1):
            o[i] = i
        for i in range(0):
            o[0] = 100

    o = np.zeros(5)
    k[1, 1](o)
    assert list(o) == [0, 1, 2, 3, 4]


def test_for_over_array(device):
    @cuda.jit
    def k(a, o):
        s = 0.0
        for v in a:
            s += v
        for row in range(2):
            s += row
        for i, v in enumerate(a):
            s += i * v
        for x, y in zip(a, a):
            s += x * y
        o[0] = s

    o = np.zeros(1)
    k[1, 1](np.array([1.0, 2]), o)
    assert o[0] == 3 + 1 + 2 + 5


def test_walrus(device):
    @cuda.jit
    def k(o, n):
        if (m := n * 2) > 3:
            o[0] = m

    o = np.zeros(1)
    k[1, 1](o, 4)
    assert o[0] == 8


def test_inf_nan(device):
    @cuda.jit
    def k(o):
        o[0] = math.inf
        o[1] = float("inf")
        o[2] = np.nan
        o[3] = -np.inf
        o[4] = float("nan")

    o = np.zeros(5)
    k[1, 1](o)
    assert o[0] == np.inf and np.isnan(o[4])


def test_variable_that_the_first_iteration_sets(device):
    @cuda.jit
    def k(o, n):
        for i in range(n):
            if i == 0:
                prev = 1.5
            else:
                prev = prev * 2
            o[i] = prev
        o[n] = prev

    o = np.zeros(4)
    k[1, 1](o, 3)
    assert list(o) == [1.5, 3, 6, 6]


def test_variable_that_an_earlier_iteration_sets(device):
    @cuda.jit
    def k(o, n):
        i = 0
        while i < n:
            if i > 0:
                o[i] = last
            last = i + 10
            i += 1

    o = np.zeros(4)
    k[1, 1](o, 4)
    assert list(o) == [0, 10, 11, 12]


@pytest.mark.filterwarnings("ignore::portagpu.errors.PortaGPUPerformanceWarning")  # small launches
def test_variable_set_on_no_taken_path_is_zero(device, telling):
    @cuda.jit
    def k(o, n):
        if n > 100:
            z = 1
        o[0] = z

    o = np.ones(1)
    with pytest.warns(PortaGPUCorrectnessWarning, match="`z` has no value here"):
        k[1, 1](o, 5)
    assert o[0] == 0


def test_variable_read_before_it_is_set(device):
    @cuda.jit
    def k(o):
        o[0] = q
        q = 3

    with pytest.raises(UnboundLocalError):
        k[1, 1](np.zeros(1))


def test_loops_over_tuples_that_are_left(device):
    @cuda.jit
    def k(out, n, pairs):
        c = 0
        for x in (5, 7, 9):
            if x > n:
                break
            c += x
        out[0] = c
        for x in (5, 7, 9):
            if x == n:
                continue
            c += x
        out[1] = c
        for i, x in enumerate((1.5, 2.5)):
            if i == n:
                break
            c += x
        else:
            c += 100
        out[2] = c
        for dx, dy in ((0, 1), (1, 0), (0, -1)):
            if dx * n == 7:
                out[3] = dy + 5
                break
        a, b = n, n + 1
        for x in (a, b):
            b = 100  # the tuple holds the old one
            if x > 50:
                break
            out[4] += x
        for row in pairs:
            if row[0] > n:
                break
            out[5] += row[0]

    o = np.zeros(6)
    k[1, 1](o, 7, (np.array([1.0]), np.array([2.0]), np.array([8.0])))
    assert o.tolist() == [12, 26, 130, 5, 15, 3], o


def test_rest_parameters(device):
    @cuda.jit(device=True)
    def total(first, *rest):
        s = first
        for x in rest:
            s += x
        return s + len(rest) * 100

    @cuda.jit(device=True)
    def passed_on(*args):
        return total(*args)

    @cuda.jit
    def k(n, out, *arrays):
        def count(*values):
            return len(values) + n

        i = cuda.grid(1)
        if len(arrays) > 1 and i < n:
            arrays[1][i] = arrays[0][i] * 2
        if i == 0:
            out[0] = total(1)
            out[1] = total(1, 2, 3.5)
            out[2] = passed_on(1, 2)
            out[3] = len(arrays)
            out[4] = count(1, 2)

    o, x, y = np.zeros(5), np.arange(4.0), np.zeros(4)
    k[1, 8](4, o, x, y)
    assert o.tolist() == [1, 206.5, 103, 2, 6] and y.tolist() == [0, 2, 4, 6]
    k[1, 8](4, o)
    assert o[3] == 0
    k[1, 8](out=o, n=9)
    assert o[4] == 11


def test_names_of_types_at_the_top():
    from portagpu import complex128, f4, from_dtype, i8, intp, types, uint
    from portagpu.cuda.random import xoroshiro128p_dtype, xoroshiro128p_type

    assert (f4, i8, intp, uint) == (float32, types.int64, types.int64, types.uint64)
    assert complex128 is types.complex128 and from_dtype(xoroshiro128p_dtype) == xoroshiro128p_type


def test_configure(device):
    @cuda.jit
    def k(out):
        cuda.atomic.add(out, 0, 1)

    o = np.zeros(1, np.int32)
    k.configure(2, 3)(o)
    k.configure((1,), (1, 1), 0, 16)(o)
    assert o[0] == 7


def test_augmented_assignment_reads_the_element_first(device):
    point = np.dtype([("x", np.float64)])

    @cuda.jit(device=True)
    def bump(values):
        values[0] += 1
        return values[0]

    @cuda.jit(device=True)
    def grow(p):
        p.x += 1
        return p.x

    @cuda.jit
    def k(out, a, points):
        local = cuda.local.array(2, np.float64)
        local[0] = 5
        local[0] += bump(local)
        out[0] = local[0]
        a[0] += bump(a) * bump(a)
        points[0].x -= grow(points[0])
        i = 1
        a[i] += bump(a[i:]) if a[i] > 0 else 0

    o, a, points = np.zeros(1), np.array([3.0, 4.0]), np.array([(7.0,)], point)
    k[1, 1](o, a, points)
    assert o[0] == 11 and a.tolist() == [23, 9] and points["x"][0] == -1
