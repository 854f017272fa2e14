"""Functions of the array API on arrays of all layouts, against NumPy's on host arrays of the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from portagpu import cuda, xp

_SHAPES = st.sampled_from([(), (1,), (7,), (0, 3), (257,), (5, 1), (3, 4), (2, 3, 5), (1, 300)])
_FUNCTIONS = {
    "chain": lambda n, x: n.sqrt(n.abs(x)) * 2 - x,
    "rows": lambda n, x: n.sum(x, axis=-1) if x.ndim else n.sum(x),
    "columns": lambda n, x: n.max(x + 1, axis=0) if x.ndim and x.shape[0] else n.sum(x),
    "accumulated": lambda n, x: n.cumulative_sum(x, axis=-1) if x.ndim else x,
    "sorted": lambda n, x: n.sort(x, axis=0) if x.ndim else x,
    "turned": lambda n, x: n.flip(n.roll(x, 2)),
    "joined": lambda n, x: n.concat([x, x * 2], axis=0) if x.ndim else n.stack([x, x]),
    "chosen": lambda n, x: n.where(x > 0, x, -1),
    "selected": lambda n, x: x[x > 0] if x.ndim else x,
    "numbered": lambda n, x: n.argmax(x, axis=-1) if x.size and x.ndim else n.any(x),
    "tiled": lambda n, x: n.tile(x, (2, 1)) + n.repeat(n.reshape(x, (-1,)), 1)[:1] if x.size else x,
}


@st.composite
def _laid_out(draw):
    """A host array, and how a view of it and of a device array's memory is made."""
    shape = draw(_SHAPES)
    steps = [draw(st.sampled_from([1, 1, 2, -1, -2])) for _ in shape]
    order = draw(st.permutations(range(len(shape))))
    copies = draw(st.sampled_from([None, None, 2]))
    wide = tuple(max(n, 1) * abs(s) for n, s in zip(shape, steps, strict=True))
    seed = draw(st.integers(0, 99))

    def view(array):
        key = tuple(slice(None, None, s) for s in steps)
        found = array[key] if shape else array
        found = found[tuple(slice(0, n) for n in shape)] if shape else found
        found = found.transpose(order) if shape else found
        return (
            found
            if copies is None
            else (np if isinstance(found, np.ndarray) else xp).broadcast_to(found, (copies, *found.shape))
        )

    return wide, view, seed


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("dtype", ["float32", "int16"])
@pytest.mark.parametrize("name", _FUNCTIONS)
def test_layouts(device, name, dtype):
    @given(_laid_out())
    def check(example):
        wide, view, seed = example
        host = np.asarray(np.random.default_rng(seed).integers(-50, 50, wide)).astype(dtype)
        memory = xp.asarray(host) if not wide else cuda.to_device(host)
        expected = np.asarray(_FUNCTIONS[name](np, view(host)))
        found = _FUNCTIONS[name](xp, view(memory))
        assert found.shape == expected.shape and found.dtype == expected.dtype
        np.testing.assert_allclose(found.copy_to_host(), expected, rtol=1e-5)

    check()
