"""Functions of arrays that neither reduce nor compute."""

from __future__ import annotations

import operator

import numpy as np

from portagpu import cuda
from portagpu.device import DeviceRecord


@cuda.jit
def shapes(x, z, out, moved):
    out[0] = np.size(x)
    out[1] = np.shape(x)[0] * 100 + np.shape(x)[1]
    out[2] = operator.getitem(x, (1, 2))
    out[3] = np.iscomplexobj(z) + 2 * np.isrealobj(z) + 4 * np.iscomplexobj(x) + 8 * np.isrealobj(x)
    out[4] = x[1:2, 1:2].item()
    out[5] = len(x)
    flat = np.ravel(x)
    turned = np.transpose(x)
    wide = np.reshape(x, (3, 2))
    for i in range(6):
        moved[0, i] = flat[i]
        moved[1, i] = turned[i // 2, i % 2]
        moved[2, i] = wide[i // 2, i % 2]


def test_shapes_and_elements(device: DeviceRecord) -> None:
    x, z = np.arange(6, dtype=np.int32).reshape(2, 3), np.zeros(1, np.complex64)
    out, moved = np.zeros(6, np.int64), np.zeros((3, 6), np.int32)
    shapes[1, 1](x, z, out, moved)
    assert out.tolist() == [6, 203, 5, 9, 4, 2]
    np.testing.assert_array_equal(moved, [x.ravel(), x.T.ravel(), x.ravel()])
