"""Cold caches: more is written than a device's largest one holds, so that nothing of a workload's operands is left."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from portagpu import cuda
from portagpu.bench.method.plan import CACHES_BYTES
from portagpu.bench.records.cell import Memory
from portagpu.runtime.arrays.array import device_array
from portagpu.runtime.execution.context import Context


@cuda.jit
def _change(x):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Read and write every element."""
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        x[i] += np.float32(1)


def flusher(context: Context, memory: Memory) -> Callable[[], None]:
    """A call that fills the caches of a context's device, or of the host, with other data, and waits."""
    if memory is Memory.HOST:
        on_host = np.zeros(CACHES_BYTES // 4, np.float32)

        def change() -> None:
            np.add(on_host, np.float32(1), out=on_host)

        return change
    with context:
        array = device_array(CACHES_BYTES // 4, np.float32, context=context)
        launch = _change[1024, 256]

    def flush() -> None:
        launch(array)
        context.synchronize()

    return flush


__all__ = ["flusher"]
