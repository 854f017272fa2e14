"""Wrong kernels: each is compiled for the arguments beside it and must be refused."""

from __future__ import annotations

import math
import random
import time

import numpy as np

from portagpu import cuda

F = np.zeros(8, np.float32)
I = np.zeros(8, np.int32)  # noqa: E741
M = np.zeros((4, 4), np.float32)
SIZE = 16
ZERO = np.float32(0)


def plain(x):
    return x + 1


@cuda.jit(device=True)
def half_way(x):
    if x[0] > 0:
        return x


@cuda.jit(device=True)
def two_kinds(x):
    if x > 0:
        return x, 1
    return x


@cuda.jit(device=True)
def recursive(x):
    return recursive(x - 1) if x > 0 else x


@cuda.jit(device=True)
def needs_two(x, y):
    return x + y


@cuda.jit(["int32(int32)", "float32(float32[:])"], device=True)
def declared(x):
    return 1


def unknown_name(x):
    x[0] = valeu  # noqa: F821


def unknown_attribute(x):
    x[0] = math.sine(1.0)


def unknown_array_attribute(x):
    x[0] = x.length


def unknown_cuda_name(x):
    x[0] = cuda.threadIndex.x


def used_before_set(x):
    if x[0] > 0:
        pass
    x[0] = later
    later = 1


def float_index(x):
    x[x[0]] = 1


def too_many_indices(x):
    x[0, 1] = 1


def too_few_indices_for_a_sum(m):
    m[0] += 1


def index_outside_local_array(x):
    a = cuda.local.array(4, np.float32)
    a[4] = 1
    x[0] = a[0]


def whole_array_arithmetic(x):
    x[0] = (x + x)[0]


def array_as_condition(x):
    if x:
        x[0] = 1


def list_display(x):
    a = [1, 2]
    x[0] = a[0]


def comprehension(x):
    x[0] = sum([i for i in range(3)])


def dictionary(x):
    d = {1: 2}
    x[0] = d[1]


def nested_function(x):
    @cuda.jit(device=True)
    def inner(y):
        return y

    x[0] = inner(1)


def lambda_expression(x):
    f = lambda **y: y  # noqa: E731
    x[0] = f(1)


def try_statement(x):
    try:
        x[0] = 1
    except ValueError:
        pass


def with_statement(x):
    with open("file") as f:
        x[0] = f


def raise_nothing(x):
    raise


def raise_number(x):
    raise 1


def raise_array(x):
    raise ValueError("no", x)


def import_statement(x):
    import math as m

    x[0] = m.pi


def global_statement(x):
    global SIZE
    SIZE = 1
    x[0] = 1


def delete_statement(x):
    x[0] = 1
    del x[0]


def f_string(x):
    s = f"{x[0]}"
    x[0] = s


def print_array(x):
    print(x)


def print_to_file(x):
    print(x[0], flush=True)


def print_formatted(x):
    print(f"{x[0]}")


def returns_value(x):
    return x[0]


def calls_plain_function(x):
    x[0] = plain(x[0])


def calls_declared(x):
    declared(x)


def calls_recursive(x):
    x[0] = recursive(x[0])


def calls_with_too_few(x):
    x[0] = needs_two(x[0])


def calls_half_way(x):
    half_way(x)[0] = 1


def calls_two_kinds(x):
    x[0] = two_kinds(x[0])[0]


def calls_open(x):
    x[0] = open("file")


def unsupported_numpy(x):
    x[0] = np.linalg.norm(x)


def shape_of_shared_array_at_run_time(x, n):
    a = cuda.shared.array(n, np.float32)
    x[0] = a[0]


def wrong_dtype_of_array(x):
    a = cuda.shared.array(4, "text")
    x[0] = a[0]


def too_much_shared_memory(x):
    a = cuda.shared.array((4096, 4096), np.float64)
    x[0] = a[0, 0]


def wrong_grid_dimension(x):
    x[cuda.grid(4)] = 1


def unpacks_a_number(x):
    i, j = cuda.grid(1)
    x[i] = j


def unpacks_too_many(x):
    i, j = cuda.grid(3)
    x[i] = j


def constant_too_large(b):
    b[0] = b[0] + 300


def shift_of_float(x):
    x[0] = x[0] << 1


def type_depends_on_path(x):
    if x[0] > 0:
        y = x
    else:
        y = 1
    x[0] = y[0]


def tuple_or_number(x):
    y = (x[0], 1) if x[0] > 0 else 2
    x[0] = y[0]


def atomic_on_bytes(b):
    cuda.atomic.add(b, 0, 1)


def atomic_on_a_number(x):
    cuda.atomic.add(x[0], 0, 1)


def atomic_and_of_floats(x):
    cuda.atomic.and_(x, 0, 1)


def range_of_complex(x):
    for i in range(x[0] * 1j):
        x[i] = 1


def range_with_zero_step(x):
    for i in range(0, 4, 0):
        x[i] = 1


def unroll_at_run_time(x, n):
    for i in cuda.unroll(range(n)):
        x[i] = 1


def break_in_unrolled_loop(x):
    for i in cuda.unroll(range(4)):
        if x[i] > 0:
            break
        x[i] = 1


def vector_width(x):
    v = cuda.vload(x, 0, 5)
    x[0] = v[0]


def vectors_of_two_widths(x):
    v = cuda.float32x4(1) + cuda.float32x2(1)
    x[0] = v[0]


def vector_lane(x):
    v = cuda.float32x4(1)
    x[0] = v.q


def vector_is_immutable(x):
    v = cuda.float32x4(1)
    v[0] = 2
    x[0] = v[0]


def slice_assignment(x):
    x[:] = (0, 1)


def matrix_product(m):
    m[0, 0] = (m @ m)[0, 0]


def chained_string(x):
    x[0] = "text"


def loops_over_number(x):
    for i in x[0]:
        x[0] = i


R = np.zeros(2, [("flag", np.uint8), ("weight", np.float32), ("name", np.longdouble)])


def slices_of_other_shapes(x):
    a = cuda.local.array((2, 3), np.float32)
    b = cuda.local.array(2, np.float32)
    a[:] = b


def unknown_field(r):
    r[0].wieght = 1


def field_of_a_number(x):
    x["a"][0] = 1


def field_by_a_variable(r):
    for n in range(2):
        r[0][n] = 1


def record_from_a_number(r):
    r[0] = 1


def atomic_on_a_packed_field(r):
    cuda.atomic.add(r["weight"], 0, 1)


def field_that_kernels_do_not_know(r):
    r[0].name = 1


def attribute_of_a_number(x):
    x[0].a = 1


def names_a_barrier(x):
    cuda.syncthreads  # noqa: B018
    x[0] = 1


def names_a_method(x):
    x.sum  # noqa: B018


def divides_constants(x):
    x[0] = 1 / 0


def divides_by_a_constant(x):
    x[0] = x[0] // (SIZE - 16)


def divides_by_a_captured_zero(x):
    x[0] = x[0] % ZERO


def divides_into_both(x):
    x[0] = divmod(5, 0)[0]


def divides_in_place(x):
    x[0] /= 0.0


def match_statement(x):
    match x[0]:
        case 1:
            x[0] = 2


def makes_an_array(x):
    y = np.zeros(3)
    x[0] = y[0]


def stacks_arrays(x):
    x[0] = np.concatenate((x, x))[0]


def draws_from_python(x):
    x[0] = random.random()


def draws_from_numpy(x):
    x[0] = np.random.rand()


def reads_a_clock(x):
    x[0] = time.time()


def calls_list(x):
    x[0] = list((1, 2))[0]


def stores_a_text(x):
    y = "a"
    x[0] = y


def misspelt_builtin(x):
    x[0] = lenn(x)  # noqa: F821


def misspelt_array_attribute(x):
    x[0] = x.shap[0]


def unknown_axis(x):
    x[0] = cuda.threadIdx.w


def misspelt_tuple_method(x, t):
    x[0] = t.ndex(1)


def misspelt_keyword(x):
    a = cuda.shared.array(shap=3, dtype=np.float32)
    x[0] = a[0]


def unpacks_a_short_array(x):
    a, b, c = cuda.local.array(2, np.float32)
    x[0] = a + b + c


def unpacks_the_rest(x):
    a, *b = x
    x[0] = a


CASES = [
    (unknown_name, (F,)),
    (unknown_attribute, (F,)),
    (unknown_array_attribute, (F,)),
    (unknown_cuda_name, (F,)),
    (used_before_set, (F,)),
    (float_index, (F,)),
    (too_many_indices, (F,)),
    (too_few_indices_for_a_sum, (M,)),
    (index_outside_local_array, (F,)),
    (whole_array_arithmetic, (F,)),
    (array_as_condition, (F,)),
    (list_display, (F,)),
    (comprehension, (F,)),
    (dictionary, (F,)),
    (nested_function, (F,)),
    (lambda_expression, (F,)),
    (try_statement, (F,)),
    (with_statement, (F,)),
    (raise_nothing, (F,)),
    (raise_number, (F,)),
    (raise_array, (F,)),
    (import_statement, (F,)),
    (global_statement, (F,)),
    (delete_statement, (F,)),
    (f_string, (F,)),
    (print_array, (F,)),
    (print_to_file, (F,)),
    (print_formatted, (F,)),
    (returns_value, (F,)),
    (calls_plain_function, (F,)),
    (calls_declared, (M,)),
    (calls_recursive, (F,)),
    (calls_with_too_few, (F,)),
    (calls_half_way, (F,)),
    (calls_two_kinds, (F,)),
    (calls_open, (F,)),
    (unsupported_numpy, (F,)),
    (shape_of_shared_array_at_run_time, (F, 4)),
    (wrong_dtype_of_array, (F,)),
    (too_much_shared_memory, (F,)),
    (wrong_grid_dimension, (F,)),
    (unpacks_a_number, (F,)),
    (unpacks_too_many, (F,)),
    (constant_too_large, (np.zeros(4, np.uint8),)),
    (shift_of_float, (F,)),
    (type_depends_on_path, (F,)),
    (tuple_or_number, (F,)),
    (atomic_on_bytes, (np.zeros(4, np.uint8),)),
    (atomic_on_a_number, (F,)),
    (atomic_and_of_floats, (F,)),
    (range_of_complex, (F,)),
    (range_with_zero_step, (F,)),
    (unroll_at_run_time, (F, 4)),
    (break_in_unrolled_loop, (F,)),
    (vector_width, (F,)),
    (vectors_of_two_widths, (F,)),
    (vector_lane, (F,)),
    (vector_is_immutable, (F,)),
    (slice_assignment, (M,)),
    (matrix_product, (M,)),
    (chained_string, (F,)),
    (loops_over_number, (F,)),
    (slices_of_other_shapes, (F,)),
    (unknown_field, (R,)),
    (field_of_a_number, (F,)),
    (field_by_a_variable, (R,)),
    (record_from_a_number, (R,)),
    (atomic_on_a_packed_field, (R,)),
    (field_that_kernels_do_not_know, (R,)),
    (attribute_of_a_number, (F,)),
    (names_a_barrier, (F,)),
    (names_a_method, (F,)),
    (divides_constants, (F,)),
    (divides_by_a_constant, (F,)),
    (divides_by_a_captured_zero, (F,)),
    (divides_into_both, (F,)),
    (divides_in_place, (F,)),
    (match_statement, (F,)),
    (makes_an_array, (F,)),
    (stacks_arrays, (F,)),
    (draws_from_python, (F,)),
    (draws_from_numpy, (F,)),
    (reads_a_clock, (F,)),
    (calls_list, (F,)),
    (stores_a_text, (F,)),
    (misspelt_builtin, (F,)),
    (misspelt_array_attribute, (F,)),
    (unknown_axis, (F,)),
    (misspelt_tuple_method, (F, (1, 2))),
    (misspelt_keyword, (F,)),
    (unpacks_a_short_array, (F,)),
    (unpacks_the_rest, (F,)),
]
