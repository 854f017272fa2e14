"""Writes to arrays whose values, subscripts or masks are parts of the same memory: as if these were copied before."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from portagpu import cuda, guvectorize, vectorize

pytestmark = pytest.mark.one_device(fast=True)

ROWS = {
    "whole": lambda m: m[:6],
    "behind": lambda m: m[1:7],
    "far behind": lambda m: m[6:],
    "every second": lambda m: m[::2],
    "reversed": lambda m: m[5::-1],
    "reversed, every second": lambda m: m[11::-2],
    "other dtype": lambda m: m.view(np.uint32)[3:9],
    "halves": lambda m: m.view(np.int16)[4:16:2],
    "one": lambda m: m[2:3],
}
"""Parts of 12 elements: of 6 but for the last."""
MATRICES = {
    "whole": lambda m: m[:4, :4],
    "below": lambda m: m[1:5, :4],
    "beside": lambda m: m[:4, 1:5],
    "transposed": lambda m: m[:4, :4].T,
    "transposed elsewhere": lambda m: m[2:, 1:5].T,
    "reversed": lambda m: m[3::-1, :4],
    "reversed inside": lambda m: m[:4, 3::-1],
    "row": lambda m: m[1, :4],
    "column": lambda m: m[:4, 2:3],
}
"""Parts of 6 rows and columns, that broadcast to 4."""


def _set(x, key, value):
    x[key] = value


ORDER = [-2, 5, 0, 1, 2, -3]
OF_ROWS = {
    "all": lambda x, v, w: _set(x, ..., v),
    "all reversed": lambda x, v, w: _set(x, np.s_[::-1], v),
    "places": lambda x, v, w: _set(x, ORDER, v),
    "places of an expression": lambda x, v, w: _set(x, ORDER, v * 2 + 1),
    "places of a sum of two": lambda x, v, w: _set(x, np.array(ORDER), v + w),
    "places in memory": lambda x, v, w: _set(x, w % 6, 7),
    "places in memory as they are": lambda x, v, w: _set(x, w, 7),
    "mask": lambda x, v, w: _set(x, w > 2, v[w > 2] if v.size > 1 else v),
    "mask and number": lambda x, v, w: _set(x, w[::-1] > 2, 9),
    "put": lambda x, v, w: np.put(x, ORDER, v),
    "put at places in memory": lambda x, v, w: np.put(x, w, 7, mode="wrap"),  # some twice: either value may stay
    "put_along_axis": lambda x, v, w: np.put_along_axis(x, np.array(ORDER), v, 0),
    "place": lambda x, v, w: np.place(x, w[::-1] > 2, v),
    "putmask": lambda x, v, w: np.putmask(x, w[::-1] > 2, v),
    "copyto": lambda x, v, w: np.copyto(x, v, where=w > 2, casting="unsafe"),
    "add": lambda x, v, w: np.add(v, w, out=x, casting="unsafe"),
    "add where": lambda x, v, w: np.add(v, w, out=x, where=v[::-1] > 2, casting="unsafe"),
    "in place": lambda x, v, w: x.__iadd__(w),
    "at": lambda x, v, w: np.add.at(x, ORDER, w),
    "at in order": lambda x, v, w: np.multiply.at(x, [0, 3, 0, 1, 5, 3], w),
    "take": lambda x, v, w: np.take(w, ORDER, out=x),
    "cumsum": lambda x, v, w: np.cumsum(w, out=x),
    "choose": lambda x, v, w: np.choose(w > 2, (v, w), out=x),
    "concatenate": lambda x, v, w: np.concatenate((w[2:], w[:2]), out=x),
    "clip": lambda x, v, w: np.clip(w, 1, 4, out=x),
}
OF_MATRICES = {
    "rows": lambda x, v, w: _set(x, [1, -1, 0, 2], v),
    "columns": lambda x, v, w: _set(x, np.s_[:, [1, -1, 0, 2]], v),
    "both": lambda x, v, w: _set(x, (np.array([[1], [-1], [0], [2]]), [3, 0, 1, 2]), v),
    "rows of a mask": lambda x, v, w: _set(x, w[..., 0] > 2, v[0]) if w.ndim > 1 and v.ndim > 1 else None,
    "expression": lambda x, v, w: _set(x, ..., v + w.T),
    "put": lambda x, v, w: np.put(x, np.arange(16)[::-1], v),
    "along rows": lambda x, v, w: (
        np.put_along_axis(x, np.argsort(w, -1, "stable"), v, 1) if w.shape == (4, 4) else None
    ),
    "fill_diagonal": lambda x, v, w: np.fill_diagonal(x, v[0]),
    "sum": lambda x, v, w: np.sum(v, 0, out=x[1:2].reshape(-1)[: np.sum(v, 0).size]) if v.ndim > 1 else None,
    "max": lambda x, v, w: np.max(v, -1, out=x[:, 1]) if v.shape == (4, 4) else None,
    "sort": lambda x, v, w: x.sort(0),
    "take": lambda x, v, w: np.take(v, [2, 0, 1, 1], 0, out=x) if v.shape == (4, 4) else None,
}


def _compare(write, shape, parts, names, *, reads):
    """Write on the device with parts of the target's memory, on the host with copies of these."""
    host = np.random.default_rng(len(repr(names))).integers(0, 6, shape, np.int32)
    memory = cuda.to_device(host)
    before = memory * 3 if reads else None  # is put off, and read when its operand has been written
    expected = host.copy()
    target, *operands = (parts[name] for name in names)
    try:
        write(target(expected), *(part(host.copy()) for part in operands))
    except TypeError:  # a cast that NumPy refuses
        return
    write(target(memory), *(part(memory) for part in operands))
    np.testing.assert_array_equal(memory.copy_to_host(), expected, err_msg=repr(names))
    if before is not None:
        np.testing.assert_array_equal(before.copy_to_host(), host * 3, err_msg=repr(names))


def _drawn(parts, targets, count):
    drawn = random.Random(count).sample(list(itertools.product(targets, parts, parts)), count)
    return [*drawn, *((name, name, name) for name in targets)]


@pytest.mark.parametrize("name", OF_ROWS)
def test_of_one_axis(device, name):
    one = {part: function for part, function in ROWS.items() if part != "one"}
    targets = [part for part in one if part not in ("other dtype", "halves")]
    for n, (target, v, w) in enumerate(_drawn(one, targets, 16)):
        _compare(OF_ROWS[name], 12, ROWS, (target, "one" if n % 7 == 1 else v, w), reads=n % 3 == 0)


@pytest.mark.parametrize("name", OF_MATRICES)
def test_of_two_axes(device, name):
    targets = [part for part in MATRICES if part not in ("row", "column")]
    for n, names in enumerate(_drawn(MATRICES, targets, 16)):
        _compare(OF_MATRICES[name], (6, 6), MATRICES, names, reads=n % 3 == 0)


def test_of_many_elements(device):
    host = np.random.default_rng(5).integers(0, 9, 1 << 16, np.int32)
    order = np.random.default_rng(6).permutation(host.size)
    memory, mask = cuda.to_device(host), host > 4
    memory[order] = memory[::-1]
    host[order] = host[::-1].copy()
    memory[memory > 4] = memory[::-1][memory > 4]
    mask = host > 4
    host[mask] = host[::-1][mask]
    np.add(memory[1:], memory[:-1], out=memory[1:])
    host[1:] += host[:-1].copy()
    np.testing.assert_array_equal(memory.copy_to_host(), host)


def test_masks_that_are_the_target(device):
    for target, value, mask in itertools.product(
        (lambda m: m, lambda m: m[::-1]),
        (lambda m: m, lambda m: m[::-1], lambda m: ~m),
        (lambda m: m, lambda m: m[::-1]),
    ):
        host = np.random.default_rng(2).random(50) > 0.5
        memory, expected = cuda.to_device(host), host.copy()
        target(memory)[mask(memory)] = value(memory)[mask(memory)]
        target(expected)[mask(host)] = value(host)[mask(host)]
        np.testing.assert_array_equal(memory.copy_to_host(), expected)
        np.copyto(target(memory), value(memory), where=mask(memory))
        before = expected.copy()
        np.copyto(target(expected), value(before), where=mask(before))
        np.testing.assert_array_equal(memory.copy_to_host(), expected)


@pytest.mark.parametrize("shift", [1, -1, 0])
def test_functions_of_the_program(device, shift):
    @vectorize(["int32(int32, int32)"], target="cuda")
    def joined(x, y):
        return x + 2 * y

    @guvectorize(["void(int32[:], int32[:])"], "(n)->(n)", target="cuda")
    def reversed_(x, y):
        for i in range(x.size):
            y[i] = x[x.size - 1 - i]

    host = np.arange(5000, dtype=np.int32)
    into, out_of = np.s_[max(shift, 0) : 5000 + min(shift, 0)], np.s_[max(-shift, 0) : 5000 - max(shift, 0)]
    memory, expected = cuda.to_device(host), host.copy()
    joined(memory[out_of], memory[into][::-1], out=memory[into])
    expected[into] = host[out_of] + 2 * host[into][::-1]
    np.testing.assert_array_equal(memory.copy_to_host(), expected)
    memory, expected = cuda.to_device(host.reshape(50, 100)), host.reshape(50, 100).copy()
    reversed_(memory, out=memory[:, ::-1] if shift else memory)
    expected[...] = expected.copy() if shift else expected[:, ::-1].copy()
    np.testing.assert_array_equal(memory.copy_to_host(), expected)


def _written(x, part, statement):
    names = {"x": x, "y": getattr(x, part), "n": np.arange(4.0)}
    exec(statement.format(part=part), names)
    return names["x"]


PART_STATEMENTS = [
    "x.{part} = 3",
    "x.{part} = n",
    "x.{part} = n.tolist()",
    "x.{part} = x.real.T",
    "x.{part} = x.imag[::-1] + 1",
    "x.{part} = x.imag[2]",
    "x.{part} += 1",
    "x.{part} *= x.real.T",
    "x.{part} -= y[::-1]",
    "x.T[1:].{part} = n[1:, None]",
    "z = x * 2; z.{part} += x.imag; x = z - x",
]
"""Statements that assign to the real or the imaginary parts of a matrix of 4 rows and columns."""


@pytest.mark.parametrize("part", ["real", "imag"])
@pytest.mark.parametrize("dtype", ["F", "D"])
def test_parts_of_complex_numbers_assigned(device, dtype, part):
    host = (np.arange(16) + 1j * np.arange(20, 4, -1)).reshape(4, 4).astype(dtype)
    for order, statement in itertools.product("CF", PART_STATEMENTS):
        expected = _written(host.copy(order), part, statement)
        found = _written(cuda.to_device(host.copy(order)), part, statement)
        np.testing.assert_array_equal(found.copy_to_host(), expected, statement)


def test_parts_of_real_numbers_assigned(device):
    x = cuda.to_device(np.arange(3.0))
    x.real += 1
    x.real = x[::-1]
    np.testing.assert_array_equal(x.copy_to_host(), [3, 2, 1])
    with pytest.raises(TypeError, match="no imaginary parts"):
        x.imag = 1
    with pytest.raises(TypeError, match="read-only"):
        x.as_readonly().real = 2
