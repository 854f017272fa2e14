"""Text of scanning kernels, in the dialect.

Each of a scan's parts is walked by a block, tile by tile, or by a thread. A tile's threads have neighbours: they scan
their own, then what these become is scanned among them (W. Hillis, G. Steele, "Data parallel algorithms", 1986).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from portagpu import dtypes
from portagpu.dialect.names import INTRINSICS, VectorMaker, blockIdx, local, shared, threadIdx
from portagpu.dispatch.decorators import jit
from portagpu.dispatch.dispatcher import Dispatcher
from portagpu.primitives.scans.operators import Operator, shown
from portagpu.primitives.scans.plans import Plan
from portagpu.ufuncs.kernel_source import KEPT, kernel_from

_WARP = 32
_ALL_LANES = 0xFFFFFFFF
_MOST = 1024  # kernels that are kept
_kernels: dict[Any, Dispatcher[..., Any]] = {}
_lock = threading.Lock()
_NAMES: dict[str, Any] = {
    "threadIdx": threadIdx,
    "blockIdx": blockIdx,
    "local": local,
    "shared": shared,
    "np": np,
    **{name: INTRINSICS[name] for name in ("syncthreads", "vload", "vstore", "shfl_up_sync")},
    **{f"as_{row.name}": getattr(np, "bool_" if row is dtypes.BOOL else row.name) for row in dtypes.ALL},
}


class _Named:
    """Gives the file of a kernel's text its name."""

    __name__ = "scan"


def kernel_of(plan: Plan, operator: Operator) -> Dispatcher[..., Any]:
    """The kernel of a plan.

    It takes what it writes (results, or what parts become and whether segments begin in them), the elements, heads of
    segments, what is before each part, and numbers: items, outer extent, length,
    inner extent, elements of a part, parts, items of a thread, and of the target: length and first element of a scan.
    """
    key = plan, operator, repr(operator.identity)  # 0.0 and -0.0 are equal
    with _lock:
        found = _kernels.get(key)
        if found is None:
            if len(_kernels) >= _MOST:
                _kernels.clear()
            found = _kernels[key] = _made(plan, operator)
    return found


def _made(plan: Plan, operator: Operator) -> Dispatcher[..., Any]:
    text = _Text(plan, operator)
    names = {**_NAMES, "core": _Named, "device": jit(device=True)}
    if operator.function is not None:
        names["operator"] = operator.function
    if plan.lanes > 1:
        names["stored"] = VectorMaker(dtypes.from_numpy(plan.target).computed, plan.lanes)
    return kernel_from(text.kernel(), names, KEPT)


class _Text:
    """Makes the text of one kernel."""

    def __init__(self, plan: Plan, operator: Operator) -> None:
        self.plan, self.operator = plan, operator
        self.lines: list[str] = []
        self.depth = 0
        self.index = "as_uint64" if plan.wide else "as_uint32"
        self.held = f"as_{dtypes.from_numpy(operator.held).name}"
        self.identity = "" if operator.identity is None else shown(operator.identity, operator.held)
        self.segments = plan.heads is not None

    def add(self, *lines: str) -> None:
        """Lines of the present depth."""
        self.lines += ["    " * self.depth + line for line in lines if line]

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """A line, and lines that are deeper."""
        self.add(head)
        self.depth += 1
        yield
        self.depth -= 1

    def number(self, value: int) -> str:
        """Text of an index that is known."""
        return f"{self.index}({value})"

    def kernel(self) -> list[str]:
        """Lines of the kernel and of the functions that it calls."""
        plan = self.plan
        with self.function("join", "x, y"):
            self.add(f"return {self.held}({self.operator.text})")
        if self.segments:
            with self.function("join_segments", "x, y, begins"):
                self.add("return y if begins != 0 else join(x, y)")
            self.function_of_heads()
        parameters = ["out", "out_heads"] if plan.totals and self.segments else ["out"]
        parameters += ["x", *(["heads"] if self.segments else [])]
        if plan.parts and not plan.totals:
            parameters.append("before")
        parameters += ["items", "outer", "length", "inner", "chunk", "parts", "turns", "pitch", "shift"]
        with self.block(f"def kernel({', '.join(parameters)}):"):
            self.add(f"thread = {self.index}(threadIdx.x)" if plan.block > 1 else "")
            if not plan.across:
                self.add(f"item = {self.index}(blockIdx.x)")
                self.along()
            else:
                first = f"{self.index}(blockIdx.x)"
                if plan.block > 1:
                    first = f"{first} * {self.number(plan.block)} + thread"
                self.add(f"start = ({first}) * turns")
                with self.block("for item in range(start, min(start + turns, items)):"):
                    (self.strip if plan.strip > 1 else self.across)()
        return self.lines

    @contextmanager
    def function(self, name: str, parameters: str) -> Iterator[None]:
        """A device function."""
        self.add("@device")
        with self.block(f"def {name}({parameters}):"):
            yield

    def function_of_heads(self) -> None:
        """Whether a segment begins at an element, ``step`` after the one before it."""
        heads = self.plan.heads
        assert heads is not None
        with self.function("head", "heads, place, step, is_first"):
            if heads.flags:
                self.add("return as_int32(heads.ravel()[place] != 0)")
            else:
                self.add("if is_first:")
                self.add("    return as_int32(1)")
                self.add("return as_int32(heads.ravel()[place] != heads.ravel()[place - step])")

    def joined(self, target: str, before: str, value: str, begins: str = "") -> None:
        """Set ``target`` to a value with what is before it."""
        if self.segments:
            self.add(f"{target} = join_segments({before}, {value}, {begins})")
        else:
            self.add(f"{target} = join({before}, {value})")

    def where(self) -> None:
        """The places of an item of scans that threads have alone."""
        self.add("k = item % inner", "rest = item // inner", "part = rest % parts", "o = rest // parts")

    # a thread for a scan ----------------------------------------------------------------------------------------------

    def across(self) -> None:
        """A thread's part of one scan."""
        plan = self.plan
        self.where()
        self.add("begin = part * chunk", "end = min(begin + chunk, length)")
        self.add("base = o * length * inner + k", "target = (o * pitch + shift) * inner + k")
        if self.operator.identity is None:
            self.add(f"value = {self.held}(x.ravel()[base])")
            self.add(f"out.ravel()[target] = {self.stored('value')}", f"begin = {self.number(1)}")
        else:
            self.begin("o * parts * inner + part * inner + k")
        with self.block("for i in range(begin, end):"):
            self.element("base + i * inner", "i")
            if plan.totals:
                self.joined("value", "value", "element", "begins")
                self.add("begun = begun | begins" if self.segments else "")
            elif plan.starts:
                shown = f"value if begins == 0 else {self.identity}" if self.segments else "value"
                self.add(f"out.ravel()[target + i * inner] = {self.stored(shown)}")
                self.joined("value", "value", "element", "begins")
            else:
                self.joined("value", "value", "element", "begins")
                self.add(f"out.ravel()[target + i * inner] = {self.stored('value')}")
        if plan.totals:
            self.add("out.ravel()[o * parts * inner + part * inner + k] = value")
            self.add("out_heads.ravel()[o * parts * inner + part * inner + k] = begun" if self.segments else "")

    def begin(self, place: str) -> None:
        """A part's value before its first element."""
        if self.plan.parts and not self.plan.totals:
            self.add(f"value = before.ravel()[{place}]")
        else:
            self.add(f"value = {self.identity}")
        self.add("begun = as_int32(0)" if self.segments else "")

    def element(self, place: str, i: str) -> None:
        """Load an element, and whether a segment begins with it."""
        self.add(f"element = {self.held}(x.ravel()[{place}])")
        if self.segments:
            self.add(f"begins = head(heads, {place}, inner, {i} == {self.number(0)})")

    def stored(self, value: str) -> str:
        """Text of a value as the target has it."""
        return f"as_{dtypes.from_numpy(self.plan.target).computed.name}({value})"

    def strip(self) -> None:
        """A work-item's parts of neighbouring scans."""
        plan = self.plan
        strip = self.number(plan.strip)
        self.add(f"strips = (inner + {strip} - {self.number(1)}) // {strip}", f"first = item % strips * {strip}")
        self.add("rest = item // strips", "part = rest % parts", "o = rest // parts")
        self.add("begin = part * chunk", "end = min(begin + chunk, length)", f"width = min({strip}, inner - first)")
        self.add("base = o * length * inner + first", "target = (o * pitch + shift) * inner + first")
        self.add("place = (o * parts + part) * inner + first")
        self.add(f"values = local.array({plan.strip}, {self.held})")
        self.add(f"begun_here = local.array({plan.strip}, as_int32)" if self.segments else "")
        with self.block("for c in range(width):"):
            if self.operator.identity is None:
                self.add(f"value = {self.held}(x.ravel()[base + c])")
                self.add(f"out.ravel()[target + c] = {self.stored('value')}")
            else:
                self.begin("place + c")
            self.add("values[c] = value", "begun_here[c] = begun" if self.segments else "")
        if self.operator.identity is None:
            self.add(f"begin = {self.number(1)}")
        with self.block("for i in range(begin, end):"), self.block("for c in range(width):"):
            self.add("value = values[c]")
            self.element("base + i * inner + c", "i")
            place = "out.ravel()[target + i * inner + c]"
            if plan.starts and not plan.totals:
                before = f"value if begins == 0 else {self.identity}" if self.segments else "value"
                self.add(f"{place} = {self.stored(before)}")
            self.joined("value", "value", "element", "begins")
            if not plan.starts and not plan.totals:
                self.add(f"{place} = {self.stored('value')}")
            self.add("values[c] = value")
            self.add("begun_here[c] = begun_here[c] | begins" if self.segments and plan.totals else "")
        if plan.totals:
            with self.block("for c in range(width):"):
                self.add("out.ravel()[place + c] = values[c]")
                self.add("out_heads.ravel()[place + c] = begun_here[c]" if self.segments else "")

    # a block for a scan -----------------------------------------------------------------------------------------------

    def along(self) -> None:
        """A block's part of one scan."""
        plan = self.plan
        lanes, tile = plan.lanes, plan.block * plan.lanes
        self.add("part = item % parts", "o = item // parts", "begin = part * chunk", "end = min(begin + chunk, length)")
        self.add("base = o * length", "target = o * pitch + shift")
        self.shared()
        self.begin("item")
        self.add(f"side = {self.number(0)}")
        with self.block(f"for tile in range(begin, end, {self.number(tile)}):"):
            self.add(f"at = tile + thread * {self.number(lanes)}")
            self.tile_elements()
            names = [f"r{j}" for j in range(lanes)]
            self.add("r0 = e0", "h0 = g0" if self.segments else "")
            for j in range(1, lanes):
                self.joined(names[j], names[j - 1], f"e{j}", f"g{j}")
                self.add(f"h{j} = h{j - 1} | g{j}" if self.segments else "")
            self.add(f"t = r{lanes - 1}", f"f = h{lanes - 1}" if self.segments else "")
            self.exchange()
            if not plan.totals:
                self.joined("pre", "value", "pre", "pre_begun")
                self.results()
            self.joined("value", "value", "total", "total_begun")
            self.add("begun = begun | total_begun" if self.segments else "")
        if plan.totals:
            with self.block(f"if thread == {self.number(0)}:"):
                self.add("out.ravel()[item] = value", "out_heads.ravel()[item] = begun" if self.segments else "")

    def shared(self) -> None:
        """Shared memory of the exchange between threads."""
        plan = self.plan
        count = 2 * (plan.block // _WARP if plan.warps else plan.block)
        self.add(f"totals = shared.array({count}, {self.held})")
        self.add(f"begun_of = shared.array({count}, as_int32)" if self.segments else "")

    def tile_elements(self) -> None:
        """Load a thread's elements of a tile: nothing behind the end changes anything."""
        plan = self.plan
        for j in range(plan.lanes):
            self.add(f"e{j} = {self.identity}", f"g{j} = as_int32(0)" if self.segments else "")
        with self.block("if at < end:"):  # whole vectors: a part's length is a multiple of their lanes
            if plan.lanes > 1:
                self.add(f"loaded = vload(x.ravel(), base + at, {plan.lanes}, aligned=True)")
            for j in range(plan.lanes):
                place = f"base + at + {self.number(j)}" if j else "base + at"
                value = f"loaded[{j}]" if plan.lanes > 1 else f"x.ravel()[{place}]"
                self.add(f"e{j} = {self.held}({value})")
                if self.segments:
                    first = f"at == {self.number(0)}" if j == 0 else "False"
                    self.add(f"g{j} = head(heads, {place}, {self.number(1)}, {first})")

    def results(self) -> None:
        """Store what a thread's elements become with ``pre``, what is before them."""
        plan = self.plan
        values = []
        for j in range(plan.lanes):
            if plan.starts:
                if j == 0:
                    self.add("o0 = pre")
                else:
                    self.joined(f"o{j}", "pre", f"r{j - 1}", f"h{j - 1}")
                if self.segments:
                    self.add(f"o{j} = o{j} if g{j} == 0 else {self.identity}")
            else:
                self.joined(f"o{j}", "pre", f"r{j}", f"h{j}")
            values.append(self.stored(f"o{j}"))
        with self.block("if at < end:"):
            if plan.lanes > 1:
                self.add(f"vstore(stored({', '.join(values)}), out.ravel(), target + at, aligned=True)")
            else:
                self.add(f"out.ravel()[target + at] = {values[0]}")

    def exchange(self) -> None:
        """What is before a thread in its tile (``pre``), and what the tile becomes (``total``)."""
        if self.plan.warps:
            self.by_warps()
            return
        plan = self.plan
        self.put("thread + side * " + self.number(plan.block), "t", "f")
        self.add("syncthreads()")
        distance = 1
        while distance < plan.block:
            with self.block(f"if thread >= {self.number(distance)}:"):
                at = f"thread + side * {self.number(plan.block)} - {self.number(distance)}"
                self.add(f"other = totals[{at}]", f"other_begun = begun_of[{at}]" if self.segments else "")
                self.joined("t", "other", "t", "f")
                self.add("f = f | other_begun" if self.segments else "")
            self.add(f"side = {self.number(1)} - side")
            self.put("thread + side * " + self.number(plan.block), "t", "f")
            self.add("syncthreads()")
            distance *= 2
        last = f"side * {self.number(plan.block)} + {self.number(plan.block - 1)}"
        self.add(f"total = totals[{last}]", f"total_begun = begun_of[{last}]" if self.segments else "")
        self.add(f"pre = {self.identity}", "pre_begun = as_int32(0)" if self.segments else "")
        with self.block(f"if thread > {self.number(0)}:"):
            at = f"side * {self.number(plan.block)} + thread - {self.number(1)}"
            self.add(f"pre = totals[{at}]", f"pre_begun = begun_of[{at}]" if self.segments else "")
        self.add(f"side = {self.number(1)} - side")

    def put(self, at: str, value: str, begun: str) -> None:
        """Show the block a number."""
        self.add(f"totals[{at}] = {value}", f"begun_of[{at}] = {begun}" if self.segments else "")

    def by_warps(self) -> None:
        """The same by exchanges within warps, and through shared memory between them."""
        plan = self.plan
        warps = plan.block // _WARP
        self.add(f"lane = thread % {self.number(_WARP)}", f"warp = thread // {self.number(_WARP)}")
        distance = 1
        while distance < _WARP:
            self.add(f"other = shfl_up_sync({_ALL_LANES}, t, {distance})")
            self.add(f"other_begun = shfl_up_sync({_ALL_LANES}, f, {distance})" if self.segments else "")
            with self.block(f"if lane >= {self.number(distance)}:"):
                self.joined("t", "other", "t", "f")
                self.add("f = f | other_begun" if self.segments else "")
            distance *= 2
        self.add(f"pre = shfl_up_sync({_ALL_LANES}, t, 1)")
        self.add(f"pre_begun = shfl_up_sync({_ALL_LANES}, f, 1)" if self.segments else "")
        with self.block(f"if lane == {self.number(0)}:"):
            self.add(f"pre = {self.identity}", "pre_begun = as_int32(0)" if self.segments else "")
        with self.block(f"if lane == {self.number(_WARP - 1)}:"):
            self.put(f"side * {self.number(warps)} + warp", "t", "f")
        self.add("syncthreads()", f"total = {self.identity}", "total_begun = as_int32(0)" if self.segments else "")
        self.add(f"front = {self.identity}", "front_begun = as_int32(0)" if self.segments else "")
        for w in range(warps):
            at = f"side * {self.number(warps)} + {self.number(w)}"
            with self.block(f"if warp == {self.number(w)}:"):
                self.add("front = total", "front_begun = total_begun" if self.segments else "")
            self.add(f"own_begun = begun_of[{at}]" if self.segments else "")
            self.joined("total", "total", f"totals[{at}]", "own_begun")
            self.add("total_begun = total_begun | own_begun" if self.segments else "")
        self.joined("pre", "front", "pre", "pre_begun")
        self.add("pre_begun = pre_begun | front_begun" if self.segments else "")
        self.add(f"side = {self.number(1)} - side")
