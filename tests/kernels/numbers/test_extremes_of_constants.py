"""`min`, `max` and `round` of constants have the dtype and the value that variables of their types give."""

from __future__ import annotations

import linecache

import numpy as np
import pytest

from portagpu import cuda

pytestmark = pytest.mark.one_device

CONSTANTS = {
    "np.int8(100)": np.int8(100),
    "np.uint8(200)": np.uint8(200),
    "np.int16(-300)": np.int16(-300),
    "np.uint32(7)": np.uint32(7),
    "np.int64(-5)": np.int64(-5),
    "np.uint64(2**63)": np.uint64(2**63),
    "np.float32(-2.25)": np.float32(-2.25),
    "np.float64(0.75)": np.float64(0.75),
    "True": True,
    "3": 3,
    "2.5": 2.5,
}
TYPES = (
    "bool",
    "int",
    "float",
    *(f"np.{name}" for name in "int8 int16 int32 int64 uint8 uint16 uint32 uint64".split()),
)
TYPES += ("np.float32", "np.float64")


def _kernel(name, one, others):
    """Writes the type and the value of four calls for each other constant: of constants, and of variables in places."""
    lines = [f"def kernel(types, values, x, {', '.join(f'y{n}' for n in range(len(others)))}):"]
    for n, other in enumerate(others):
        for form, call in enumerate(
            (f"({one}, {other})", f"(x, {other})", f"({one}, y{n})", f"(x, y{n})", f"(({one}, {other}))")
        ):
            lines.append(f"    r = {name}{call}")
            lines += [
                f"    if type(r) is {kind}:\n        types[{n}, {form}] = {number}"
                for number, kind in enumerate(TYPES, 1)
            ]
            lines.append(f"    values[{n}, {form}] = r")
    text = "\n".join(lines) + "\n"
    filename = f"<{name} of {one}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    scope = {"np": np}
    exec(compile(text, filename, "exec"), scope)
    return cuda.jit(scope["kernel"], opt=False)


@pytest.mark.parametrize("name", ["min", "max"])
@pytest.mark.parametrize("one", [text for text, value in CONSTANTS.items() if isinstance(value, np.generic)])
def test_types_and_values(device, name, one):
    others = [text for text, value in CONSTANTS.items() if isinstance(value, np.generic)]
    types, values = np.zeros((len(others), 5), np.int64), np.zeros((len(others), 5))
    _kernel(name, one, others)[1, 1](types, values, CONSTANTS[one], *(CONSTANTS[other] for other in others))
    assert (types > 0).all()
    np.testing.assert_array_equal(types, types[:, 3:4].repeat(5, 1), err_msg=str(others))
    np.testing.assert_array_equal(values, values[:, 3:4].repeat(5, 1), err_msg=str(others))


@pytest.mark.parametrize("name", ["min", "max"])
def test_beside_constants_of_python(device, name):
    """A constant of Python's stays one beside a variable."""
    fitting = {
        "np.int8(100)": "3",
        "np.int16(-300)": "3",
        "np.float32(-2.25)": "3",
        "np.uint64(2**63)": "2.5",
        "np.uint32(7)": "True",
    }
    for one, other in fitting.items():
        types, values = np.zeros((1, 5), np.int64), np.zeros((1, 5))
        _kernel(name, one, [other])[1, 1](types, values, CONSTANTS[one], CONSTANTS[other])
        assert types[0, 0] == types[0, 1] == types[0, 4] > 0, (one, other)
        assert values[0, 0] == values[0, 1] == values[0, 4], (one, other)


def test_sums_of_extremes_do_not_wrap_where_those_of_variables_do_not(device):
    limit, small, three = np.int8(100), np.uint8(100), 3

    @cuda.jit
    def kernel(out, x):
        out[0] = max(limit, np.int32(1)) + limit
        out[1] = max(x, np.int32(1)) + limit
        out[2] = -min(small, 1)
        out[3] = max(three, 2.5) // 2
        out[4] = cuda.shared.array(max(small, 7), np.int8).size

    out = np.zeros(5)
    kernel[1, 1](out, limit)
    assert out.tolist() == [200, 200, 255, 1, 100]


def test_rounded_constants_have_the_dtype_of_rounded_variables(device):
    byte, small, truth = np.uint8(206), np.int8(-126), np.bool_(True)

    @cuda.jit
    def kernel(out, x, y, b):
        out[0, 0], out[0, 1] = round(byte, -1) + byte, round(x, -1) + x
        out[1, 0], out[1, 1] = round(byte, ndigits=2) + byte, round(x, ndigits=2) + x
        out[2, 0], out[2, 1] = round(small, -1) * small, round(y, -1) * y
        out[3, 0], out[3, 1] = round(truth, -1), round(b, -1)
        out[4, 0] = out[4, 1] = cuda.shared.array(round(byte), np.int8).size

    out = np.zeros((5, 2))
    kernel[1, 1](out, byte, small, truth)
    assert out.tolist() == [[n, n] for n in (416, 412, 16380, 0, 206)]
