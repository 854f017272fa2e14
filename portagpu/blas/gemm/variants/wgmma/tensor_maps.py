"""Tensor maps of matrices, for bulk copies of tiles: made on the device once for each matrix and box."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from portagpu.blas.gemm.core.array_cache import ArrayCache
from portagpu.blas.gemm.variants.wgmma.tensor_map_kernels import Lying, Tiles, encode_maps
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.execution.stream import Stream

_REMEMBERED = 256  # sets of maps in a context
_SHARE = 256  # of the device's memory: they are small


@dataclass(frozen=True, slots=True)
class Box:
    """A matrix, or batch of them, and the rows and columns of its tiles; ``transposed`` if its columns are contiguous.

    The box counts as the matrix lies in memory: rows are what is contiguous. They have 128 bytes in shared memory,
    whose 16-byte parts are permuted by the row's number.
    """

    array: DeviceNDArray
    box: tuple[int, int]
    transposed: bool
    element: str = ""  # as what elements are copied, if not as the array's: "tfloat32" rounds float32 on the way

    @property
    def kind(self) -> str:
        """What `cuda.tensor_map_encode` calls the elements."""
        return self.element or str(self.array.dtype.name)

    @property
    def key(self) -> tuple[Any, ...]:
        """What the map depends on. Allocations have numbers that are not used again."""
        array = self.array
        return (
            array.allocation_key,
            array.offset,
            array.shape,
            array.strides,
            self.kind,
            self.box,
        )

    @property
    def is_foreign(self) -> bool:
        """Whether the memory belongs to another library, which may move it."""
        return self.array.token is None

    def facts(self) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Extents (batch, rows, columns) and steps in bytes (batch, row), as they lie in memory."""
        shape, strides = self.array.shape, self.array.strides
        (rows, columns), (down, right) = shape[-2:], strides[-2:]
        if self.transposed:
            rows, columns, down, right = columns, rows, right, down
        step = down if rows > 1 else -(-columns * self.array.itemsize // 16) * 16
        batch = shape[0] if len(shape) == 3 and strides[0] != 0 else 1
        over = strides[0] if batch > 1 else step * rows
        return tuple(map(np.uint32, (batch, rows, columns))), tuple(map(np.uint64, (over, step)))


class TensorMaps:
    """Maps of three matrices each (a, b, c), in one array on the device, 16 words each; the latest are kept."""

    def __init__(self) -> None:
        self._kept = ArrayCache(_REMEMBERED, _SHARE)

    def of(self, stream: Stream, *boxes: Box) -> DeviceNDArray:
        """The maps of three boxes; a kernel that writes new ones is enqueued."""
        context = boxes[0].array.context
        key = (stream.token, *(box.key for box in boxes))  # other streams may be ahead of the one that writes
        found = self._kept.get(context, key)
        if found is not None:
            return found
        made = device_array(16 * len(boxes), np.dtype(np.uint64), context=context)
        matrices = (Lying(box.array, *box.facts()) for box in boxes)
        encode_maps[1, 32, stream](made, *matrices, *(Tiles((1, *box.box), box.kind) for box in boxes))
        if not any(box.is_foreign for box in boxes):
            self._kept.keep(context, key, made)
        return made


tensor_maps = TensorMaps()
