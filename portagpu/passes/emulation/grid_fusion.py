"""Pass: a grid whose blocks wait for each other as one work-group, where not all blocks run at once.

All blocks become one work-group: its barrier is the grid's. A work-item is one thread of one block, its number in the
work-group tells which; shared arrays exist once for each block. A barrier of a block becomes a barrier of the grid,
which asks more than the program says, so loops whose blocks reach it differently often go on until the last block is
done (`portagpu.passes.emulation.lockstep`), and branches that only some blocks take are taken apart
(`portagpu.passes.barriers.converge`).
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from portagpu.device.capabilities import Capabilities
from portagpu.errors import KernelValueError, LaunchConfigError, MissingCapabilityError
from portagpu.ir.analysis.uniform import BLOCK_VOTES, EXCHANGES
from portagpu.ir.names import DYNAMIC_SHARED_ARRAY, WARP_FLAGS, WARP_VALUES
from portagpu.ir.nodes import Binary, BinaryOp, Constant, Expr, Node, Offset, Operation, Var
from portagpu.ir.program import Function, GridShape, MemoryArray, Program
from portagpu.ir.types import DYNAMIC_SHARED, INT, WARP, Pointer, Scalar, element_size
from portagpu.passes.emulation.exchange_buffers import BUFFERS
from portagpu.passes.rewriting import operations

_WARP_OPERATIONS = EXCHANGES | {"warp_barrier"}
_ROUTED = frozenset({"threadIdx", "blockIdx", "blockDim", "gridDim", "grid", "gridsize", "laneid"})


def fuse(program: Program, shape: GridShape) -> Program:
    """The program for one work-group that is the whole grid.

    Raises `MissingCapabilityError` for what needs the blocks apart.
    """
    used = {e.name: e for f in (program.kernel, *program.functions) for e in operations(f)}
    _check(used, shape)
    own = {a.name: a for a in program.shared if a.name not in (WARP_VALUES, WARP_FLAGS)}
    fused = _Fused(shape, own)
    count = shape.blocks
    shared = [
        replace(a, shape=(count * a.size,) if a.name in own else (BUFFERS, max(a.shape[1], count * shape.threads)))
        for a in program.shared
    ]
    return replace(
        program,
        kernel=fused.function(program.kernel, is_kernel=True),
        functions=tuple(fused.function(f, is_kernel=False) for f in program.functions),
        shared=tuple(shared),
        fused=shape,
        block_dim=(count * shape.threads, 1, 1),
    )


def check_fits(launch: GridShape, caps: Capabilities) -> None:
    """Raise `LaunchConfigError` where a grid that waits for itself does not fit into one work-group."""
    most = max(1, caps.max_work_group_size // max(1, launch.threads))
    if launch.blocks > most:
        raise LaunchConfigError(
            f"the kernel waits for its whole grid; this device runs {most} block{'s' if most > 1 else ''} of"
            f" {launch.threads} threads at the same time, not {launch.blocks}",
            hint="launch fewer blocks and let each do more, or split the kernel where it calls sync()",
        )


def _check(used: dict[str, Operation], shape: GridShape) -> None:
    for name in BLOCK_VOTES & used.keys():
        raise MissingCapabilityError(
            f"cuda.{name} in a kernel that waits for its whole grid needs one block on this device",
            span=used[name].span,
            hint="count with cuda.atomic.add on a shared array and cuda.syncthreads()",
        )
    for name in _WARP_OPERATIONS & used.keys():
        if shape.threads % WARP:
            raise KernelValueError(
                f"a grid that waits for itself has blocks of whole warps here, not of {shape.threads} threads",
                span=used[name].span,
                hint=f"launch blocks whose size is a multiple of {WARP}",
            )


class _Fused:
    def __init__(self, shape: GridShape, shared: dict[str, MemoryArray]) -> None:
        self.shape, self.shared = shape, shared

    def function(self, function: Function, *, is_kernel: bool) -> Function:
        """The function with the places of a work-item in the grid."""
        body: Any = self._rewritten(function.body, is_kernel)
        return replace(function, body=body)

    def _rewritten(self, value: Any, is_kernel: bool) -> Any:
        if isinstance(value, tuple):
            return tuple(self._rewritten(item, is_kernel) for item in value)
        if not isinstance(value, Node):
            return value
        if isinstance(value, Operation) and value.name in _ROUTED:
            return self._place(value)
        if isinstance(value, Var) and is_kernel and isinstance(value.type, Pointer):
            return self._array(value)
        changes = {
            f.name: self._rewritten(getattr(value, f.name), is_kernel) for f in fields(value) if f.name != "span"
        }
        return replace(value, **changes)

    def _array(self, var: Var) -> Expr:
        """The block's part of a shared array."""
        if var.name in self.shared:
            size = self.shared[var.name].size
        elif var.type == DYNAMIC_SHARED and var.name == DYNAMIC_SHARED_ARRAY:
            size = -(-self.shape.shared // element_size(DYNAMIC_SHARED.element))
        else:
            return var
        assert isinstance(var.type, Pointer)
        index = Binary(BinaryOp.MUL, self._block(INT, var), _constant(size, INT, var), INT, span=var.span)
        return Offset(var, index, var.type, span=var.span)

    # places -----------------------------------------------------------------------------------------------------------

    def _block(self, kind: Scalar, at: Node) -> Expr:
        """The block's number: that of the work-item over the threads of a block."""
        return _binary(BinaryOp.DIV, _item(kind, at), self.shape.threads, kind, at)

    def _thread(self, kind: Scalar, at: Node) -> Expr:
        return _binary(BinaryOp.REM, _item(kind, at), self.shape.threads, kind, at)

    def _place(self, operation: Operation) -> Expr:
        kind = operation.type
        assert isinstance(kind, Scalar)
        if operation.name == "laneid":
            return _binary(BinaryOp.REM, self._thread(kind, operation), WARP, kind, operation)
        axis_node = operation.args[0]
        assert isinstance(axis_node, Constant)
        axis = int(axis_node.value)
        grid, block = self.shape.grid[axis], self.shape.block[axis]
        match operation.name:
            case "blockDim":
                return _constant(block, kind, operation)
            case "gridDim":
                return _constant(grid, kind, operation)
            case "gridsize":
                return _constant(grid * block, kind, operation)
            case "threadIdx":
                return _axis(self._thread(kind, operation), self.shape.block, axis, kind, operation)
            case "blockIdx":
                return _axis(self._block(kind, operation), self.shape.grid, axis, kind, operation)
            case _:
                first = _axis(self._block(kind, operation), self.shape.grid, axis, kind, operation)
                within = _axis(self._thread(kind, operation), self.shape.block, axis, kind, operation)
                scaled = _binary(BinaryOp.MUL, first, block, kind, operation)
                return Binary(BinaryOp.ADD, scaled, within, kind, span=operation.span)


def _item(kind: Scalar, at: Node) -> Expr:
    return Operation("threadIdx", (_constant(0, INT, at),), kind, span=at.span)


def _constant(value: int, kind: Scalar, at: Node) -> Constant:
    return Constant(value, kind, span=at.span)


def _binary(op: BinaryOp, left: Expr, right: int, kind: Scalar, at: Node) -> Expr:
    if right == 1 and op is not BinaryOp.REM:
        return left
    return Binary(op, left, _constant(right, kind, at), kind, span=at.span)


def _axis(number: Expr, extents: tuple[int, int, int], axis: int, kind: Scalar, at: Node) -> Expr:
    """One coordinate of a number that counts along x first."""
    if extents[axis] == 1:
        return _constant(0, kind, at)
    before = extents[0] if axis == 1 else extents[0] * extents[1] if axis == 2 else 1
    found = _binary(BinaryOp.DIV, number, before, kind, at)
    is_last = all(n == 1 for n in extents[axis + 1 :])
    return found if is_last else _binary(BinaryOp.REM, found, extents[axis], kind, at)
