"""How lanes of a thread's vectors, and threads of a group, become one."""

from __future__ import annotations

from portagpu.expressions.reductions.text_functions import TextOfFunctions

_WARP = 32
_ALL_LANES = 0xFFFFFFFF


class TextOfExchanges(TextOfFunctions):
    """Adds what follows a thread's own elements."""

    def fold_lanes(self) -> None:
        """Join a thread's vectors, their lanes, and the rest: to ``t``."""
        if self.reducer.identity is None or self.searches:
            return
        self.fold_vectors()
        self.joined("t", ("t", "tp"), self.one_lane())

    def one_lane(self) -> tuple[str, str]:
        """Join the lanes of ``s0``."""
        values = [self.lane("s0", lane) for lane in range(self.plan.lanes)]
        count = 0
        while len(values) > 1:
            joined = []
            for first, second in zip(values[: len(values) // 2], values[len(values) // 2 :], strict=True):
                joined.append(self.joined(f"d{count}", first, second))
                count += 1
            values = joined
        return values[0]

    def fold_vectors(self) -> None:
        """Join a thread's vectors lane by lane: to ``s0``."""
        if self.reducer.identity is None:
            return
        names = [f"s{u}" for u in range(self.plan.vectors)]
        while len(names) > 1:
            half = len(names) // 2
            for first, second in zip(names[:half], names[half:], strict=True):
                self.join_vectors(first, second)
            names = names[:half]

    def exchange(self, results: list[tuple[str, str]]) -> list[tuple[str, str]]:
        """Join what the threads of a group have, for the first of them."""
        plan, reducer = self.plan, self.reducer
        for n, (number, place) in enumerate(results):
            self.add(f"z{n} = {number}", *([f"z{n}p = {place}"] if reducer.has_places else []))
        names = [(f"z{n}", f"z{n}p") for n in range(len(results))]
        if plan.warps and not plan.across and reducer.held.kind != "c":
            self.by_warps(*names[0])
            return names
        self.add(f"numbers = shared.array({plan.block * len(names)}, {self.held})")
        if reducer.has_places:
            self.add(f"numbers_places = shared.array({plan.block * len(names)}, {self.index})")
        distance = plan.block // plan.group if plan.across else 1
        if plan.turns:
            self.add("syncthreads()")
        width = plan.group
        for n, pair in enumerate(names):
            self.put(n, *pair)
        self.add("syncthreads()")
        while width > 1:
            width //= 2
            with self.block(f"if y < {self.number(width)}:"):
                for n, pair in enumerate(names):
                    at = f"thread + {self.number(n * plan.block + width * distance)}"
                    self.joined(pair[0], pair, (f"numbers[{at}]", f"numbers_places[{at}]"))
                    if width > 1:
                        self.put(n, *pair)
            if width > 1:
                self.add("syncthreads()")
        return names

    def put(self, n: int, number: str, place: str) -> None:
        """Show a number to the block."""
        at = f"thread + {self.number(n * self.plan.block)}" if n else "thread"
        self.add(f"numbers[{at}] = {number}")
        if self.reducer.has_places:
            self.add(f"numbers_places[{at}] = {place}")

    def by_warps(self, number: str, place: str) -> None:
        """The same by exchanges within warps, and through shared memory between them."""
        plan = self.plan
        self.shuffled(number, place, min(plan.group, _WARP))
        count = plan.group // _WARP
        if count <= 1:
            return
        has_places = self.reducer.has_places
        self.add(f"numbers = shared.array({plan.block // _WARP}, {self.held})")
        if has_places:
            self.add(f"numbers_places = shared.array({plan.block // _WARP}, {self.index})")
        with self.block(f"if thread % {self.number(_WARP)} == {self.number(0)}:"):
            self.add(f"numbers[thread // {self.number(_WARP)}] = {number}")
            if has_places:
                self.add(f"numbers_places[thread // {self.number(_WARP)}] = {place}")
        self.add("syncthreads()", f"from_warp = x * {self.number(count)} + min(y, {self.number(count - 1)})")
        self.add(f"{number} = numbers[from_warp]")
        if has_places:
            self.add(f"{place} = numbers_places[from_warp]")
        self.shuffled(number, place, count)

    def shuffled(self, number: str, place: str, width: int) -> None:
        """Join the numbers of so many lanes that are neighbours."""
        while width > 1:
            width //= 2
            self.add(f"other = shfl_down_sync({_ALL_LANES}, {number}, {width})")
            if self.reducer.has_places:
                self.add(f"other_place = shfl_down_sync({_ALL_LANES}, {place}, {width})")
            self.joined(number, (number, place), ("other", "other_place"))
