"""What a launch configuration tells about itself, under CUDA-Python's names."""

from __future__ import annotations

from typing import Any

from portagpu.runtime.launch import Extent, LaunchShape


class LaunchFacts:
    """Grid, block, stream and shared memory of a configured kernel."""

    __slots__ = ()
    shape: LaunchShape
    _stream: Any

    @property
    def griddim(self) -> Extent:
        """Blocks of the grid along x, y and z."""
        return self.shape.grid

    @property
    def blockdim(self) -> Extent:
        """Threads of a block along x, y and z."""
        return self.shape.block

    @property
    def sharedmem(self) -> int:
        """Bytes of dynamic shared memory."""
        return self.shape.shared

    @property
    def stream(self) -> Any:
        """The stream that was named, or 0."""
        return 0 if self._stream is None else self._stream
