"""Epilogues of products: the caller's function in every variant that runs here, in batches, out of order, refused."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import portagpu
from portagpu import cuda, errors
from portagpu.blas import matmul as matmul_module
from portagpu.blas.gemm.core.fusion import Fusion
from portagpu.blas.gemm.core.interface import order_of
from portagpu.blas.gemm.core.operands import with_strides
from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.engine import gemm
from portagpu.blas.gemm.selection.registry import variant_of
from portagpu.blas.gemm.variants.block.variant import BlockConfig
from portagpu.blas.gemm.variants.element.variant import ElementConfig
from portagpu.blas.gemm.variants.panel.variant import PanelConfig
from portagpu.blas.gemm.variants.skinny.variant import SkinnyConfig
from portagpu.blas.gemm.variants.subgroup.variant import SubgroupConfig
from portagpu.blas.gemm.variants.tile.config import TileConfig
from portagpu.blas.gemm.variants.vector.variant import VectorConfig

pytestmark = [pytest.mark.one_device, pytest.mark.each_value]


def bias_and_residual(value, row, column, bias, residual, scale):
    """Uses everything that an epilogue gets: row and column apart, so that a transposition shows."""
    found = max(value + bias[column], scale) + residual[row, column]
    return found if row >= column else -found


def expected(product, bias, residual, scale):
    found = np.maximum(product + bias, scale) + residual
    rows, columns = np.indices(product.shape[-2:])
    return np.where(rows >= columns, found, -found)


def whole(shape, dtype=np.float32, seed=0):
    """Whole numbers, whose sums are exact in any order."""
    return np.random.default_rng(seed).integers(-5, 6, shape).astype(dtype)


CONFIGS = {
    "element": (ElementConfig(threads=16), (13, 17, 19)),
    "panel": (PanelConfig(tile_m=4, vectors_n=2, lanes=4, unroll_k=2, group_m=2, group_n=2), (13, 29, 19)),
    "block": (
        BlockConfig(tile_m=3, vectors_n=2, lanes=4, depth=16, group_m=2, group_n=2, copied=1, packs=0),
        (13, 29, 40),  # three blocks along k
    ),
    "tile": (TileConfig(tile_m=16, tile_n=16, tile_k=4, thread_m=4, thread_n=4, group=2), (32, 32, 8)),
    "tile with edges": (TileConfig(tile_m=16, tile_n=16, tile_k=4, thread_m=4, thread_n=4, group=2), (21, 30, 19)),
    "tile in parts": (
        TileConfig(tile_m=16, tile_n=16, tile_k=4, thread_m=4, thread_n=4, group=2, split_k=3),
        (21, 30, 59),
    ),
    "vector": (VectorConfig(lines=2, split_k=1), (3, 37, 41)),
    "vector of columns": (VectorConfig(lines=2, split_k=2), (37, 3, 200)),
    "vector of lines": (VectorConfig(lines=16, split_k=1), (2, 150, 20)),
    "skinny": (SkinnyConfig(threads_x=8, threads_y=8, lines=1, flight=1, splits=1), (3, 70, 50)),
    "skinny in parts": (SkinnyConfig(threads_x=8, threads_y=8, lines=1, flight=1, splits=3), (70, 3, 120)),
    "subgroup": (SubgroupConfig(rows=8, vectors=2, size=8, groups_m=2, groups_n=2), (37, 41, 19)),
}


@pytest.mark.oclgrind
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("name", CONFIGS)
def test_every_variant(device, name, order):
    """The result is what the function makes of alpha * a @ b + beta * c, whichever way the product is computed."""
    config, (m, n, k) = CONFIGS[name]
    a, b, c = whole((m, k)), whole((k, n), seed=1), whole((m, n), seed=2)
    bias, residual = whole(n, seed=3), whole((m, n), seed=4)
    x, y, z = cuda.to_device(a), cuda.to_device(b), cuda.to_device(np.array(c, order=order))
    problem = Problem(m=m, n=n, k=k, dtype="float32", scaled=True, aligned=False)
    variant = variant_of(config)
    # GPUs run kernels that are made for CPUs, and the other way round
    alike = (replace(device.capabilities, local_memory_dedicated=dedicated) for dedicated in (False, True))
    if not any(variant.supports(problem, caps) for caps in alike):
        pytest.skip("the device lacks what this variant needs")
    function = cuda.jit(device=True)(bias_and_residual)
    arguments = (cuda.to_device(bias), cuda.to_device(residual), 2.0)
    fusion = Fusion(function=function, arguments=arguments)
    gemm(x, y, z, cuda.default_stream(), config, alpha=2, beta=3, fusion=fusion)
    wanted = expected(2 * (a @ b) + 3 * c, bias, residual, 2)
    assert np.array_equal(z.copy_to_host(), wanted)


def applied(a, b, *arguments, function=bias_and_residual, on_device=False, **options):
    """The product with an epilogue, of NumPy arrays or on the device, as a NumPy array."""
    if not on_device:
        return portagpu.matmul(a, b, epilogue=function, epilogue_args=arguments, **options)
    moved = [cuda.to_device(x) if isinstance(x, np.ndarray) else x for x in (a, b, *arguments)]
    return portagpu.matmul(*moved[:2], epilogue=function, epilogue_args=tuple(moved[2:]), **options).copy_to_host()


@pytest.mark.parametrize("on_device", [False, True])
@pytest.mark.parametrize(
    ("dtype", "out"), [("float64", None), ("float16", None), ("float16", "float32"), ("int8", None)]
)
def test_dtypes(device, dtype, out, on_device):
    """The function gets what sums are scaled in; its value is converted as an assignment converts it."""
    if dtype == "float64" and not device.capabilities.fp64:
        pytest.skip("no float64")
    a, b = whole((20, 30), dtype), whole((30, 40), dtype, 1)
    bias, residual = whole(40, dtype, 2), whole((20, 40), np.float32, 3)
    found = applied(a, b, bias, residual, 1, on_device=on_device, dtype=out)
    kind = {"int8": np.int32}.get(dtype, np.dtype(out or dtype).type)
    product = a.astype(np.float64) @ b.astype(np.float64)
    assert found.dtype == kind
    assert np.array_equal(found, expected(product, bias, residual, 1).astype(kind))


def plus_place(value, row, column, numbers):
    return value + numbers[row, column]


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint16, np.bool_, np.complex64])
def test_products_that_are_computed_as_others(device, dtype):
    """Integers are computed as unsigned ones, bools as counts, complex numbers as real ones: the function sees them."""
    a, b = whole((9, 12), dtype), whole((12, 15), dtype, 1)
    numbers = whole((9, 15), dtype, 2)
    if dtype is np.bool_:
        found = applied(a, b, numbers, function=lambda value, row, column, x: value != x[row, column])
        assert np.array_equal(found, (a @ b) ^ numbers)
        return
    assert np.array_equal(applied(a, b, numbers, function=plus_place), a @ b + numbers)
    halved = applied(a, b, function=lambda value, row, column: value / 2 if value.real < 0 else value)
    wanted = np.where((a @ b).real < 0, (a @ b) / 2, a @ b)
    assert np.array_equal(halved, wanted.astype(dtype))


def masked(value, row, column):
    return value if row >= column else -math.inf


def per_matrix(value, row, column, batch, residual, scales):
    return value * scales[batch] + residual[batch, row, column]


@pytest.mark.parametrize("shapes", [((6, 5, 7), (6, 7, 9)), ((6, 5, 7), (7, 9)), ((5, 7), (6, 7, 9))])
@pytest.mark.parametrize("on_device", [False, True])
def test_batches(device, shapes, on_device):
    """Rows are those of a matrix, also where the matrices of a batch are computed as one tall one."""
    a, b = whole(shapes[0]), whole(shapes[1], seed=1)
    product = np.matmul(a, b)
    rows, columns = np.indices(product.shape[-2:])
    found = applied(a, b, function=masked, on_device=on_device)
    assert np.array_equal(found, np.where(rows >= columns, product, -np.inf))
    residual, scales = whole(product.shape, seed=2), whole(6, seed=3)
    found = applied(a, b, residual, scales, function=per_matrix, on_device=on_device)
    assert np.array_equal(found, product * scales[:, None, None] + residual)


def test_leading_axes_and_vectors(device):
    a, b = whole((2, 3, 5, 7)), whole((3, 7, 4), seed=1)
    product = np.matmul(a, b)
    residual, scales = whole((6, 5, 4), seed=2), whole(6, seed=3)
    wanted = product * scales.reshape(2, 3, 1, 1) + residual.reshape(product.shape)
    assert np.array_equal(applied(a, b, residual, scales, function=per_matrix), wanted)
    integers = [x.astype(np.int64) for x in (a, b, residual, scales)]  # whose function follows the product
    assert np.array_equal(applied(*integers, function=per_matrix), wanted)
    row, column = whole(7), whole(5, seed=5)
    found = applied(row, b[0], function=lambda value, row, column: value + 10 * row + column)
    assert np.array_equal(found, row @ b[0] + np.arange(4))
    found = applied(column, a[0, 0], function=lambda value, row, column: value + 10 * row + column)
    assert np.array_equal(found, column @ a[0, 0] + np.arange(7))
    found = applied(a[0, 0], row, function=lambda value, row, column: value + 10 * row + column)
    assert np.array_equal(found, a[0, 0] @ row + 10 * np.arange(5))
    assert applied(row, row, function=lambda value, row, column: value + 10 * row + column + 1) == row @ row + 1


def test_results_of_any_strides(device):
    a, b = whole((12, 9)), whole((9, 10), seed=1)
    bias, residual = whole(10, seed=2), whole((12, 10), seed=3)
    wanted = expected(a @ b, bias, residual, 1)
    for result in (np.zeros((24, 30), np.float32)[::2, ::3], np.zeros((12, 10), np.float32)[::-1, ::-1]):
        assert applied(a, b, bias, residual, 1, out=result) is result
        assert np.array_equal(result, wanted)
    spread = cuda.to_device(np.zeros((24, 30), np.float32))[::2, ::3]
    portagpu.matmul(
        *map(cuda.to_device, (a, b)),
        spread,
        epilogue=bias_and_residual,
        epilogue_args=(*map(cuda.to_device, (bias, residual)), 1),
    )
    assert np.array_equal(spread.copy_to_host(), wanted)


def test_no_terms_and_no_product(device):
    """Without terms, or with alpha 0, the function still gets beta * out, and NaN in what is not read stays away."""
    function = cuda.jit(device=True)(plus_place)
    numbers = whole((3, 4))
    assert np.array_equal(applied(np.ones((3, 0)), np.ones((0, 4)), numbers, function=function), numbers)
    nothing = np.full((3, 5), np.nan), np.full((5, 4), np.nan)
    out = whole((3, 4), np.float64, 1)
    wanted = 2 * out + numbers
    assert np.array_equal(applied(*nothing, numbers, function=function, alpha=0, beta=2, out=out), wanted)
    assert applied(np.ones((0, 5)), np.ones((5, 4)), numbers, function=function).shape == (0, 4)


def test_again_with_other_arguments(device):
    """Calls that follow one another with the same function have their own arrays, numbers and results."""
    a, b = (cuda.to_device(whole((40, 40), seed=s)) for s in (0, 1))
    product = a.copy_to_host() @ b.copy_to_host()
    for turn in range(5):
        bias, residual = whole(40, seed=turn), whole((40, 40), seed=turn + 10)
        moved = (cuda.to_device(bias), cuda.to_device(residual), turn)
        found = portagpu.matmul(a, b, epilogue=bias_and_residual, epilogue_args=moved)
        assert np.array_equal(found.copy_to_host(), expected(product, bias, residual, turn))
    same = cuda.to_device(whole((40, 40), seed=7))
    for other in (same, cuda.to_device(whole((40, 40), seed=8)), same):  # one array in two places, and two
        found = portagpu.matmul(a, b, epilogue=lambda v, i, j, x, y: v + x[i, j] * y[j, i], epilogue_args=(same, other))
        wanted = product + same.copy_to_host() * other.copy_to_host().T
        assert np.array_equal(found.copy_to_host(), wanted)


def test_calls_that_repeat_are_replayed(device, monkeypatch):
    """Those with an epilogue, too, whatever memory its arguments are in: nothing is asked about the arguments again."""
    a, b = (cuda.to_device(whole((40, 40), seed=s)) for s in (0, 1))
    product = a.copy_to_host() @ b.copy_to_host()
    for turn in range(4):
        if turn == 3:
            monkeypatch.setattr(matmul_module, "_request", None)
        bias, residual = whole(40, seed=turn), whole((40, 40), seed=turn + 10)
        moved = (cuda.to_device(bias), cuda.to_device(residual), 2)
        found = portagpu.matmul(a, b, epilogue=bias_and_residual, epilogue_args=moved)
        assert np.array_equal(found.copy_to_host(), expected(product, bias, residual, 2))


def scaled_by(factor):
    def scaled(value, row, column):
        return value * factor

    return scaled


def test_functions_are_told_apart_by_what_they_captured(device):
    a, b = cuda.to_device(whole((8, 8))), cuda.to_device(whole((8, 8), seed=1))
    product = a.copy_to_host() @ b.copy_to_host()
    for factor in (2, 3, 2):
        found = portagpu.matmul(a, b, epilogue=scaled_by(factor))
        assert np.array_equal(found.copy_to_host(), factor * product)


def test_arguments_that_are_the_result(device):
    """An array that is read and written is read as it was before the product."""
    a, b, out = whole((30, 30)), whole((30, 30), seed=1), whole((30, 30), seed=2)
    wanted = a @ b + out.T
    found = out.copy()
    applied(a, b, found, function=lambda value, row, column, x: value + x[column, row], out=found)
    assert np.array_equal(found, wanted)
    moved = cuda.to_device(out)
    options = {"epilogue": lambda value, row, column, x: value + x[column, row], "epilogue_args": (moved,)}
    portagpu.matmul(cuda.to_device(a), cuda.to_device(b), moved, **options)
    assert np.array_equal(moved.copy_to_host(), wanted)


def test_differences_of_rows_and_columns_are_signed(device):
    """In kernels that count without signs, too."""
    a, b = whole((2, 50)), whole((50, 70), seed=1)
    found = applied(a, b, function=lambda value, row, column: value + abs(row - column) + 3 * (row - column))
    rows, columns = np.indices((2, 70))
    assert np.array_equal(found, a @ b + abs(rows - columns) + 3 * (rows - columns))


def test_numpy_arrays_keep_their_order_of_bytes_and_strides(device):
    a, b = whole((6, 7)), whole((7, 8), seed=1)
    bias, residual = whole(8, seed=2).astype(">f4"), whole((8, 6), seed=3).T
    assert np.array_equal(applied(a, b, bias, residual, 1), expected(a @ b, bias, residual, 1))


def test_what_is_refused(device):
    a, b = whole((4, 4)), whole((4, 4))
    x, y = cuda.to_device(a), cuda.to_device(b)

    def refused(kind, text, function=plus_place, *arguments, operands=(a, b)):
        with pytest.raises(kind, match=text):
            portagpu.matmul(*operands, epilogue=function, epilogue_args=arguments)

    refused(errors.ArgumentCountError, "plus_place.* cannot be called with value, row, column and 2", plus_place, a, a)
    refused(errors.ArgumentCountError, "and 0 of epilogue_args", plus_place)
    refused(errors.ArgumentTypeError, r"epilogue_args\[0\] is on the device", plus_place, x)
    refused(errors.ArgumentTypeError, r"epilogue_args\[0\] is a NumPy array", plus_place, a, operands=(x, y))
    refused(errors.ArgumentTypeError, r"epilogue_args\[0\] is a list", plus_place, [1, 2])
    refused(errors.ArgumentTypeError, r"epilogue_args\[0\]", plus_place, np.array([[{}]]))
    refused(errors.ArgumentTypeError, "epilogue is an ufunc", np.tanh)
    refused(errors.ArgumentTypeError, "is a kernel", cuda.jit(plus_place), a)
    refused(errors.ArgumentTypeError, "returns complex64, and the result's elements are float32", imaginary)
    with pytest.raises(errors.ArgumentTypeError, match="there is no epilogue"):
        portagpu.matmul(a, b, epilogue_args=(a,))
    with pytest.raises(errors.ArgumentTypeError, match="no tuple"):
        portagpu.matmul(a, b, epilogue=plus_place, epilogue_args=a)


def imaginary(value, row, column):
    return value + 1j


def nothing(value, row, column):
    value + 1


def on_some_paths(value, row, column):
    if row > column:
        return value


def writes(value, row, column, x):
    x[row, column] = 0
    return value


def waits(value, row, column):
    cuda.syncthreads()
    return value


def shares(value, row, column):
    tile = cuda.shared.array(4, np.float32)
    tile[0] = value
    return tile[0]


def helper_of_threads(value, row, column):
    return value + which_thread()


@cuda.jit(device=True)
def which_thread():
    return cuda.threadIdx.x


def no_number(value, row, column):
    return "a"


REFUSED = {
    nothing: (errors.KernelTypeError, "`nothing` returns None"),
    on_some_paths: (errors.KernelTypeError, "`on_some_paths` returns float32 or None"),
    no_number: (errors.KernelTypeError, "returns the text"),
    bias_and_residual: (errors.KernelTypeError, "bias|residual"),
    writes: (errors.KernelTypeError, "read-only array"),
    waits: (errors.UnsupportedSyntaxError, "it has no syncthreads"),
    shares: (errors.UnsupportedSyntaxError, "has shared memory"),
    helper_of_threads: (errors.UnsupportedSyntaxError, "it has no threadIdx"),
}


@pytest.mark.parametrize("function", REFUSED)
@pytest.mark.parametrize("on_device", [False, True])
def test_functions_that_kernels_cannot_call_for_an_element(device, function, on_device):
    """Nothing is launched, and the error names the place in the caller's function."""
    kind, text = REFUSED[function]
    arguments = {writes: (whole((4, 4)),), bias_and_residual: (1.0, 2.0, 3.0)}.get(function, ())
    with pytest.raises(kind, match=text) as found:
        applied(whole((4, 4)), whole((4, 4)), *arguments, function=function, on_device=on_device)
    assert found.value.span.filename == __file__


def test_orders_that_no_variant_takes(device):
    """Operands and results whose rows overlap or lie backwards are copied first; the function still sees its place."""
    memory = cuda.to_device(whole(60))
    a = with_strides(memory, (5, 6), (4, 4))
    assert order_of(a) == ""
    b, residual = cuda.to_device(whole((6, 7))), cuda.to_device(whole((5, 7), seed=1))
    found = portagpu.matmul(a, b, epilogue=plus_place, epilogue_args=(residual,)).copy_to_host()
    assert np.array_equal(found, a.copy_to_host() @ b.copy_to_host() + residual.copy_to_host())
