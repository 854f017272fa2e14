"""Calls that the device computes: the values, dtypes and shapes of NumPy, and what is left to it."""

from __future__ import annotations

import numpy as np
import pytest

import portagpu
from portagpu.accelerate import acceleration, products
from portagpu.errors import DriverError


def numbers(shape, dtype="float32", seed=0):
    generator = np.random.default_rng(seed)
    made = generator.integers(-4, 5, shape).astype(dtype)  # products are exact in any order
    return made + 1j * generator.integers(-4, 5, shape).astype(dtype) if np.dtype(dtype).kind == "c" else made


A, B, BATCH = numbers((33, 20)), numbers((20, 17), seed=1), numbers((3, 20, 5), seed=2)
INTO = np.zeros((33, 17), np.float32)
CALLS = {  # which ask for names when they run
    "@": (lambda a, b: a @ b, (A, B)),
    "matmul into a part": (lambda a, b: np.matmul(a, b, out=np.zeros((33, 40), "f4")[:, ::2][:, :17]), (A, B)),
    "matmul of a batch": (np.matmul, (A, BATCH)),
    "outer product": (lambda a, b: a @ b, (A[:, :1], B[:1])),
    "outer products of a batch": (np.matmul, (BATCH[:, :, :1], BATCH[:, :1])),
    "matmul with axes": (lambda a, b: np.matmul(a, b, axes=[(1, 0), (1, 0), (1, 0)]), (A.T, B.T)),
    "matmul of steps": (np.matmul, (A[::-1, ::2], B[::2, ::-1])),
    "promoted": (np.matmul, (A, B.astype("float64"))),
    "integers": (np.matmul, (A.astype("int32"), B.astype("float64"))),
    "complex": (np.matmul, (numbers((9, 20), "complex64"), B)),
    "doubles": (np.matmul, (numbers((9, 20), "complex128"), numbers((20, 5), "complex128", 3))),
    "dot": (lambda a, b: np.dot(a, b), (A, B)),
    "dot with out": (lambda a, b: np.dot(a, b, out=INTO), (A, B)),
    "dot of many axes": (lambda a, b: np.dot(a, b), (numbers((2, 3, 20)), BATCH)),
    "inner": (lambda a, b: np.inner(a, b), (A, B.T)),
    "inner of many axes": (lambda a, b: np.inner(a, b), (A, numbers((2, 3, 20)))),
    "tensordot": (lambda a, b: np.tensordot(a, b, [[1], [1]]), (A, BATCH)),
    "multi_dot": (lambda a, b: np.linalg.multi_dot([a, b, b.T]), (A, B)),
    "einsum": (lambda a, b: np.einsum("ij,bjk->kbi", a, b), (A, BATCH)),
    "einsum with optimize": (lambda a, b: np.einsum("ij,jk,lk->il", a, b, b, optimize=True), (A, B)),
    "einsum with out": (lambda a, b: np.einsum(a, [0, 1], b, [1, 2], [0, 2], out=INTO), (A, B)),
}


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.one_device(fast=True)
def test_a_call_is_taken_over_and_gives_what_numpy_gives(name, device):
    call, arrays = CALLS[name]
    before = [array.copy() for array in arrays]
    expected = call(*arrays).copy()
    with portagpu.accelerate(threshold=0) as block:
        found = call(*arrays)
    np.testing.assert_array_equal(found, expected)
    assert type(found) is np.ndarray and found.dtype == expected.dtype
    assert found.flags.owndata or name not in ("@", "dot", "inner", "dot of many axes")
    for array, former in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, former)
    rows = block.report().taken
    assert rows and rows[0].dtype == expected.dtype.name and not block.report().left


LEFT = {
    "int64 is left to NumPy": lambda: np.dot(A.astype(int), B.astype(int)),
    "float16 is left to NumPy": lambda: np.dot(A.astype("f2"), B.astype("f2")),
    "an operand is a list, no plain array": lambda: np.dot(A.tolist(), B),
    "an operand is a matrix, no plain array": lambda: np.inner(np.asmatrix(A), np.asmatrix(A)),
    "an operand is a MaskedArray, no plain array": lambda: np.dot(np.ma.masked_array(A), B),
    "an operand's dtype is none of the device's": lambda: np.dot(A.astype(">f4"), B),
    "an operand is a vector": lambda: A @ B[:, 0],
    "it is no product of matrices": lambda: np.einsum("ii,ij->j", numbers((17, 17)), numbers((17, 5))),
    "casting= is left to NumPy": lambda: np.einsum("ij,jk->ik", A, B, casting="no"),
    "of 3 operands, without optimize=": lambda: np.einsum("ij,jk,kl->il", A, B, B.T),
    "axes broadcast, or do not fit": lambda: np.einsum("ij,jk->ik", A[:, :1], B),
    "out= is of another kind than the result": lambda: np.einsum("ij,jk->ik", A, B, out=np.zeros((33, 17))),
}


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
@pytest.mark.parametrize("why", LEFT)
@pytest.mark.one_device
def test_a_call_is_left_to_numpy_with_the_reason(why, device):
    expected = LEFT[why]()
    with portagpu.accelerate(threshold=0) as block:
        found = LEFT[why]()
    np.testing.assert_array_equal(found, expected)
    assert type(found) is type(expected) and found.dtype == expected.dtype
    assert why in [row.why for row in block.report().left] and why in str(block)


WRONG = [
    lambda: np.dot(A, A),
    lambda: A @ A,
    lambda: np.inner(A, B),
    lambda: np.einsum("ij,jk->ik", A, A),
    lambda: np.einsum("ij,jk->iz", A, B),
    lambda: np.dot(A, B, out=np.zeros((33, 17))),
    lambda: np.dot(A),
    lambda: np.dot(A, B, where=True),
    lambda: np.einsum(),
]


@pytest.mark.parametrize("call", WRONG)
@pytest.mark.one_device
def test_errors_are_numpys(call, device):
    with pytest.raises(Exception) as expected:
        call()
    with portagpu.accelerate(threshold=0), pytest.raises(type(expected.value)) as found:
        call()
    assert type(found.value) is type(expected.value) and str(found.value) == str(expected.value)


@pytest.mark.one_device
def test_where_the_device_fails_numpy_computes(device, monkeypatch):
    def fail(*arguments):
        raise DriverError("no such luck")

    monkeypatch.setattr(products, "matmul", fail)
    monkeypatch.setattr(acceleration, "matmul", fail)
    with portagpu.accelerate(threshold=0) as block:
        np.testing.assert_array_equal(np.dot(A, B), np.einsum("ij,jk->ik", A, B))
        np.testing.assert_array_equal(A @ B, (A.astype(int) @ B.astype(int)).astype("float32"))
    assert {row.why for row in block.report().left} == {"the device failed: DriverError"}
    assert str(block).endswith("the device failed, and NumPy computed instead: no such luck")


@pytest.mark.one_device
def test_without_the_c_interface_the_name_matmul_is_replaced(device, monkeypatch):
    monkeypatch.setattr(acceleration._loops, "install", lambda: False)
    kept = [np.matmul]
    with portagpu.accelerate(threshold=0) as block:
        assert np.matmul is not kept[0]
        np.testing.assert_array_equal(np.matmul(A, BATCH), kept[0](A, BATCH))
        np.testing.assert_array_equal(np.matmul(A, B, out=INTO), A @ B)
        with pytest.raises(ValueError, match="matmul"):
            np.matmul(A, A)
    assert np.matmul is kept[0] and "a @ b is NumPy's" in str(block)
    assert [row.function for row in block.report().taken] == ["numpy.matmul"]
    assert {row.why for row in block.report().left} == {"out= is left to NumPy"}


@pytest.mark.one_device
def test_arguments_of_accelerate(device):
    assert portagpu.accelerate(device=device.index).device is device
    assert portagpu.accelerate(device=device).device is portagpu.accelerate().device is device
    with pytest.raises(portagpu.errors.DeviceSelectionError):
        portagpu.accelerate(device="no such device")
    with pytest.raises(portagpu.errors.ArgumentTypeError, match="device is a float"):
        portagpu.accelerate(device=1.5)
    with pytest.raises(portagpu.errors.ArgumentTypeError, match="threshold is a str"):
        portagpu.accelerate(threshold="1")
    with pytest.raises(portagpu.errors.SettingsError, match="threshold=-1"):
        portagpu.accelerate(threshold=-1)
