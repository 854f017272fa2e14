"""What tells the calls of a routine apart: its arrays' layout, and its other arguments."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.host_memory import Span
from portagpu.runtime.arrays.overlap import host_key
from portagpu.runtime.execution.stream import Stream
from portagpu.runtime.replay.host_calls import HostArray, arranged

_FLOATS = (float, np.float16, np.float32, np.float64)
_COMPLEX = (complex, np.complex64, np.complex128)
_PLAIN = (int, str, bool, type(None))


class CallKey:
    """Arguments of a call, taken apart: its ``arrays``, ``facts`` that are equal for calls of the same launches, and
    its ``factors``, numbers that launches may be made again without: alpha, beta; the parts of complex ones apart.
    ``host_arrays``: NumPy's, whose ``spans`` of memory are known once they are `arranged`.

    Factors of 0, 1 and -1, which routines treat apart, and those that are not finite are among the facts.
    """

    __slots__ = ("arrays", "factors", "facts", "host_arrays", "spans")

    def __init__(self, *facts: Any) -> None:
        self.facts: list[Any] = list(facts)
        self.arrays: list[DeviceNDArray] = []
        self.factors: list[float] = []
        self.host_arrays: list[HostArray] = []
        self.spans: list[Span] = []

    def add(self, values: Iterable[Any]) -> bool:
        """Take arguments in; False where calls with them cannot be told apart."""
        facts = self.facts
        for value in values:
            kind = type(value)
            if kind is DeviceNDArray:
                if not (value.token or isinstance(value.base, np.ndarray)):  # other libraries', which have queues, too
                    return False
                # kernels are told which arrays may overlap
                shared = next((n for n, x in enumerate(self.arrays) if _is_one_memory(x, value)), None)
                layout = value.layout_token or (value.type_key, value.is_large)
                facts += (layout, value.shape, value.strides, value.offset, shared)
                self.arrays.append(value)
            elif kind is np.ndarray:
                if not value.size:
                    return False
                flags = value.flags
                facts += (value.dtype, value.shape, value.strides, flags.writeable, flags.aligned)
                self.host_arrays.append(value)
            elif kind in _PLAIN:
                facts += (kind, value)
            elif kind in _FLOATS:
                self._add_factor(float, float(value))
            elif kind in _COMPLEX:
                self._add_factor(complex, complex(value))
            elif kind is Stream:
                facts.append(value.token)
            elif isinstance(value, tuple):
                facts += (kind, len(value))
                if not self.add(value):
                    return False
            elif isinstance(value, np.integer | np.bool_):
                facts += (kind, int(value))
            else:
                return False
        return True

    def arrange(self) -> None:
        """Find out where the host's arrays lie; how they share memory is among the facts."""
        arrays = self.host_arrays
        self.spans, arrangement = arranged(arrays, [x.flags.writeable for x in arrays])
        self.facts.append(arrangement)
        if len(self.spans) < len(arrays):  # kernels are told which arrays may overlap
            owners = [host_key(x) for x in arrays]
            self.facts.append(tuple(map(owners.index, owners)))

    def _add_factor(self, kind: type, value: complex) -> None:
        real, imaginary = value.real, value.imag
        if real in (0, 1, -1) or not (math.isfinite(real) and math.isfinite(imaginary)):
            self.facts += (kind, "is", repr(value))  # zeros have signs
        elif imaginary == 0:
            self.facts += (kind, "has", repr(imaginary))
            self.factors.append(real)
        else:
            self.facts += (kind, "is any")
            self.factors += (real, imaginary)


def _is_one_memory(x: DeviceNDArray, y: DeviceNDArray) -> bool:
    return x.allocation_key == y.allocation_key or x.buffer is y.buffer
