"""Text of reducing kernels, in the dialect.

A thread reduces vectors of elements, each lane on its own; then come the lanes of a thread and the threads of a group.
Functions of an element are called for each lane of a vector, which compilers for CPUs make one call of a vector's.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from portagpu import dtypes
from portagpu.dialect.names import INTRINSICS, VectorMaker, blockIdx, local, shared, threadIdx
from portagpu.dispatch.decorators import jit
from portagpu.dispatch.dispatcher import Dispatcher
from portagpu.expressions.reductions.elements import Element
from portagpu.expressions.reductions.plans import Plan
from portagpu.expressions.reductions.reducers import Reducer
from portagpu.expressions.reductions.text_strips import TextOfStrips
from portagpu.expressions.step_text import TYPES
from portagpu.ufuncs.kernel_source import KEPT, kernel_from

_MOST = 4096  # kernels that are kept
_kernels: dict[Any, Dispatcher[..., Any]] = {}
_lock = threading.Lock()
_QUICKLY: dict[str, Any] = {**KEPT, "opt": False}  # is compiled
_NAMES: dict[str, Any] = {
    "threadIdx": threadIdx,
    "blockIdx": blockIdx,
    "local": local,
    "shared": shared,
    **{name: INTRINSICS[name] for name in ("syncthreads", "vload", "shfl_down_sync")},
}


def kernel_for(program: Element, reducer: Reducer, plan: Plan, *, has_places: bool) -> Dispatcher[..., Any]:
    """The kernel that reduces what a program computes of each element.

    It takes what it writes (results, or numbers and places), the memory of operands, and numbers: those of the program,
    what a mean is divided by, and `portagpu.expressions.reductions.plans.arguments`. ``has_places``: the last operand
    has the elements' places.
    """
    made = _Text(program, reducer, plan, has_places=has_places)
    lines = made.kernel()
    held = dtypes.from_numpy(reducer.held)
    key = "\n".join(lines), held.name, plan.lanes, plan.wide, plan.few
    with _lock:
        found = _kernels.get(key)
        if found is None:
            if len(_kernels) >= _MOST:
                _kernels.clear()
            names = {"core": _Named, "np": np, "device": jit(device=True), **_NAMES, **TYPES}
            if plan.lanes > 1:
                names["vector"] = VectorMaker(held, plan.lanes)
                names["places"] = VectorMaker(dtypes.UINT64 if plan.wide else dtypes.UINT32, plan.lanes)
            found = _kernels[key] = kernel_from(lines, names, _QUICKLY if plan.few else KEPT)
    return found


class _Named:
    """Gives the file of a kernel's text its name."""

    __name__ = "reduction"


class _Text(TextOfStrips):
    """Makes the text of one kernel."""

    def kernel(self) -> list[str]:
        """Lines of the kernel and of the functions that it calls."""
        plan, reducer = self.plan, self.reducer
        self.functions()
        if plan.lanes > 1:
            self.functions_of_vectors()
        outs = ["out0", "out1"] if reducer.has_places and plan.parts else ["out0"]
        memories = [f"m{n}" for n in range(self.operands)]
        counts = ["divisor"] if reducer.mean and not plan.parts else []
        with self.block(f"def kernel({', '.join([*outs, *memories, *self.numbers, *counts, *self.parameters()])}):"):
            self.body()
        return self.lines

    def parameters(self) -> list[str]:
        """Names of `arguments`."""
        plan = self.plan
        names = ["items", "lines", "length", "chunk", "turns", "width"]
        names += [f"kept{axis}" for axis in range(1, plan.kept)]
        names += [f"gone{axis}" for axis in range(1, plan.reduced)]
        for n, steps in enumerate(plan.steps):
            names += [f"first{n}"] if steps.shifted else []
            names += [f"k{n}_{axis}" for axis, step in enumerate(steps.kept) if step is None]
            names += [f"r{n}_{axis}" for axis, step in enumerate(steps.reduced) if step is None]
        if not plan.parts:
            names += [f"t_{axis}" for axis, step in enumerate(plan.target) if step is None]
        return names

    def body(self) -> None:
        """All of the kernel's lines."""
        plan = self.plan
        one = self.number
        places = plan.block // plan.group
        if plan.block > 1:
            self.add(f"thread = {self.index}(threadIdx.x)")
            first, second = ("x", "y") if plan.across else ("y", "x")
            width = places if plan.across else plan.group
            self.add(f"{first}, {second} = thread % {one(width)}, thread // {one(width)}")
        else:
            self.add(f"y = {one(0)}")
        self.add(f"part = {self.index}(blockIdx.y)", "begin = part * chunk", "end = min(begin + chunk, length)")
        item = f"{self.index}(blockIdx.x)"
        if plan.turns:
            with self.block("for turn in range(turns):"):
                self.add(f"item = {item} * turns + turn")
                self.item()
            return
        self.add(f"item = {item}" if places == 1 else f"item = {item} * {one(places)} + x")
        self.item()

    def item(self) -> None:
        """What a thread does for a result, or a vector of them."""
        plan, reducer = self.plan, self.reducer
        if plan.aside:
            with self.block("if item < items:"):
                self.strip()
            return
        lanes = plan.lanes if plan.across else 1
        self.start("s")
        if not plan.across:
            self.add(f"t = {self.identity()}")
            if reducer.has_places:
                self.add(f"tp = {self.number(0)}")
        self.add(f"line = {self.number(0)}")
        with self.block("if item < items:"):
            self.places()
            self.reduce()
        results = []
        if plan.across:
            self.fold_vectors()
            results = [self.lane("s0", lane) for lane in range(lanes)]
        else:
            self.fold_lanes()
            results = [("t", "tp")]
        if plan.group > 1:
            results = self.exchange(results)
        condition = "item < items" if plan.group == 1 else f"y == {self.number(0)} and item < items"
        with self.block(f"if {condition}:"):
            for n, result in enumerate(results):
                self.store(n, *result)
