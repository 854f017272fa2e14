"""LU factors with partial pivoting of some columns of a tall matrix, by all blocks of a grid together; in the dialect.

The rows are spread over the threads of all blocks, and stay in registers until all columns are finished: a thread knows
in which place its row is by now, and leaves it there at the end. For each column every block tells the largest
magnitude that it has, its place, and the elements of that row; then each block picks the same pivot. The next column is
searched as soon as it is updated, the others are while its candidates are on their way. Ties are won by the first row,
as in LAPACK.

What a block tells are words of 64 bits, whose lower halves are the column's number. Where blocks run at the same time
the others read a word until it has that number: one way through the second cache, where a barrier of the grid takes
three. Elsewhere there is such a barrier. Words of a column lie apart from those of the next one, which is enough: a
block that tells of a column has read all of those before.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from portagpu import cuda
from portagpu.blas.factorisations.lu_kernels import divisor_of, largest_of_lanes, pivot_size, tell_failure

_LANES = 32
_DOUBLINGS = 5  # to a warp's lanes
_ALL = 0xFFFFFFFF


class GridPlan(NamedTuple):
    """What is known when the kernel is compiled.

    ``width``: columns, at most; ``threads``: of a block, 32 << ``doublings``; ``rows``: of a thread; ``blocks``: at
    most, a multiple of 32; ``number``: an element, ``real``: a real number, ``words`` and ``real_words``: their 32-bit
    words; ``lanes``: elements of a row that are read and written in a vector, a ``cell``; ``polls``: blocks read until
    others have written, in place of a barrier.
    """

    width: int
    threads: int
    doublings: int
    rows: int
    blocks: int
    number: Any
    real: Any
    words: int
    real_words: int
    is_complex: bool
    lanes: int
    cell: Any
    polls: bool


class Messages(NamedTuple):
    """Memory in which blocks tell what they found, twice: of even columns and of odd ones; no word has a column's
    number before.

    ``heads``: (2, blocks, blocks, real_words + 1) magnitudes and places, for each block that reads those of each that
    writes: many that read one place again and again would hold up who writes there. ``lines``: (2, blocks, width *
    words) rows.
    """

    heads: Any
    lines: Any


class _Shared(NamedTuple):
    """Shared memory: what the warps found, the block's own candidate, the pivot's place, and its row with zeros in the
    place of finished columns."""

    values: Any
    places: Any
    own: Any
    chosen: Any
    pivot: Any


@cuda.jit(device=True)
def _tell(memory, at, bits, number, plan: cuda.constexpr):
    """Write 32 bits for all blocks."""
    word = np.uint64(bits) << np.uint64(32) | np.uint64(number)
    if plan.polls:
        cuda.stwt(memory, at, word)
    else:
        memory[at] = word


@cuda.jit(device=True)
def _look(memory, at, plan: cuda.constexpr):
    """A word that a block tells, or has told before."""
    if plan.polls:
        return cuda.ldcv(memory, at)
    return memory[at]


@cuda.jit(device=True)
def _is_of(word, number):
    """Whether a word is of the column with this number."""
    return np.uint32(word & np.uint64(_ALL)) == number


@cuda.jit(device=True)
def _bits(word):
    """The 32 bits that a word tells."""
    return np.uint32(word >> np.uint64(32))


@cuda.jit(device=True)
def _search(column, at, j, m, thread, shared, plan: cuda.constexpr):
    """The largest magnitude of the block's rows in places from j on, and its place; for all threads.

    column: the elements of a thread's rows, ``at``: their places. A NaN that is no pivot (see `pivot_size`) counts as
    -1, and so does a block without such rows, whose place is m.
    """
    kind = type(m)
    best = plan.real(-1)
    place = m
    for i in cuda.unroll(range(plan.rows)):
        if at[i] >= j and at[i] < m:
            size = pivot_size(column[i], at[i] == j, plan.real, plan.is_complex)
            if size > best or (size == best and at[i] < place):
                best = size
                place = at[i]
    best, place = largest_of_lanes(best, place, _DOUBLINGS)
    if plan.doublings > 0:
        if thread % kind(_LANES) == 0:
            shared.values[thread // kind(_LANES)] = best
            shared.places[thread // kind(_LANES)] = place
        cuda.syncthreads()
        best = shared.values[thread % kind(1 << plan.doublings)]
        place = shared.places[thread % kind(1 << plan.doublings)]
        best, place = largest_of_lanes(best, place, plan.doublings)
    return best, place


@cuda.jit(device=True)
def _head_of(turn, reader, writer, plan: cuda.constexpr):
    """Where a block tells another one its candidate."""
    kind = type(turn)
    return ((turn * kind(plan.blocks) + reader) * kind(plan.blocks) + writer) * kind(plan.real_words + 1)


@cuda.jit(device=True)
def _tell_head(best, place, turn, number, messages, thread, plan: cuda.constexpr):
    """Tell all blocks the candidate of this one."""
    kind = type(place)
    block, blocks = kind(cuda.blockIdx.x), kind(cuda.gridDim.x)
    for i in cuda.unroll(range(plan.blocks // _LANES)):
        reader = kind(i * _LANES) + thread
        if thread < kind(_LANES) and reader < blocks:
            first = _head_of(turn, reader, block, plan)
            if plan.real_words == 1:
                _tell(messages.heads, first, best.view(np.uint32), number, plan)
            else:
                bits = best.view(np.uint64)
                _tell(messages.heads, first, np.uint32(bits & np.uint64(_ALL)), number, plan)
                _tell(messages.heads, first + kind(1), np.uint32(bits >> np.uint64(32)), number, plan)
            _tell(messages.heads, first + kind(plan.real_words), np.uint32(place), number, plan)


@cuda.jit(device=True)
def _tell_line(x, at, place, turn, number, unfinished, messages, thread, shared, plan: cuda.constexpr):
    """Tell the row of the block's candidate."""
    kind = type(place)
    for i in cuda.unroll(range(plan.rows)):
        if at[i] == place:
            for w in cuda.unroll(range(plan.width)):
                shared.own[w] = x[i, w]
    cuda.syncthreads()
    bits = shared.own.view(np.uint32)
    first = (turn * kind(plan.blocks) + kind(cuda.blockIdx.x)) * kind(plan.width * plan.words)
    for word in range(thread, unfinished * kind(plan.words), kind(plan.threads)):
        _tell(messages.lines, first + word, bits[word], number, plan)


@cuda.jit(device=True)
def _hear_heads(m, turn, number, messages, lane, plan: cuda.constexpr):
    """The pivot's place among the candidates of all blocks, and the block that has it; by a warp."""
    kind = type(m)
    own, blocks = kind(cuda.blockIdx.x), kind(cuda.gridDim.x)
    count = plan.real_words + 1
    part = cuda.local.array((plan.blocks // _LANES, count), np.uint64)
    is_ready = False
    while not is_ready:  # all words together: one that was read before is an old one
        is_ready = True
        for i in cuda.unroll(range(plan.blocks // _LANES)):
            first = _head_of(turn, own, min(kind(i * _LANES) + lane, blocks - kind(1)), plan)
            for word in cuda.unroll(range(count)):
                part[i, word] = _look(messages.heads, first + kind(word), plan)
        if plan.polls:
            for i in cuda.unroll(range(plan.blocks // _LANES)):
                for word in cuda.unroll(range(count)):
                    is_ready = is_ready and _is_of(part[i, word], number)
    best = plan.real(-2)
    place = m
    winner = kind(0)
    for i in cuda.unroll(range(plan.blocks // _LANES)):
        block = min(kind(i * _LANES) + lane, blocks - kind(1))
        low = _bits(part[i, 0])
        if plan.real_words == 1:
            other = low.view(np.float32)
        else:
            other = (np.uint64(_bits(part[i, 1])) << np.uint64(32) | np.uint64(low)).view(np.float64)
        row = kind(_bits(part[i, plan.real_words]))
        if other > best or (other == best and row < place):
            best = other
            place = row
            winner = block
    first_place = place
    best, place = largest_of_lanes(best, place, _DOUBLINGS)
    holder = np.int32(cuda.ffs(cuda.ballot_sync(_ALL, first_place == place))) - 1
    return place, cuda.shfl_sync(_ALL, winner, holder)


@cuda.jit(device=True)
def _hear_line(winner, turn, number, unfinished, messages, lane, shared, plan: cuda.constexpr):
    """The pivot's row to shared memory; by a warp."""
    kind = type(winner)
    count = -(-plan.width * plan.words // _LANES)
    part = cuda.local.array(count, np.uint64)
    bits = shared.pivot.view(np.uint32)
    words = unfinished * kind(plan.words)
    first = (turn * kind(plan.blocks) + winner) * kind(plan.width * plan.words)
    is_ready = False
    while not is_ready:
        is_ready = True
        for i in cuda.unroll(range(count)):
            part[i] = _look(messages.lines, first + min(kind(i * _LANES) + lane, words - kind(1)), plan)
        if plan.polls:
            for i in cuda.unroll(range(count)):
                is_ready = is_ready and _is_of(part[i], number)
    for i in cuda.unroll(range(count)):
        word = kind(i * _LANES) + lane
        if word < kind(plan.width * plan.words):
            bits[word] = _bits(part[i]) if word < words else np.uint32(0)


@cuda.jit(device=True)
def _divide(x, at, place, j, column, factors, shared, plan: cuda.constexpr):
    """Rows ``place`` and j change places; then factors of the rows below, and the next column, updated."""
    pivot = divisor_of(shared.pivot[0])
    for i in cuda.unroll(range(plan.rows)):
        if at[i] == place:
            at[i] = j
        elif at[i] == j:
            at[i] = place
        factors[i] = x[i, 0]
        column[i] = x[i, 1]
        if at[i] > j:
            factors[i] = factors[i] / pivot
            column[i] -= factors[i] * shared.pivot[1]


@cuda.jit(device=True)
def _update(x, at, j, column, factors, shared, plan: cuda.constexpr):
    """Take the products off all other columns. The columns of ``x`` move on by one, so that the next one is the first;
    registers have no variable subscripts."""
    for i in cuda.unroll(range(plan.rows)):
        x[i, 0] = column[i]
        below = at[i] > j
        for w in cuda.unroll(range(2, plan.width)):
            value = x[i, w]
            if below:
                value -= factors[i] * shared.pivot[w]
            x[i, w - 1] = value
        x[i, plan.width - 1] = factors[i]


@cuda.jit(device=True)
def _turn(x, plan: cuda.constexpr):
    """Move the columns on by one."""
    for i in cuda.unroll(range(plan.rows)):
        value = x[i, 0]
        for w in cuda.unroll(range(1, plan.width)):
            x[i, w - 1] = x[i, w]
        x[i, plan.width - 1] = value


@cuda.jit(device=True)
def _load(x, a, m, n, first, thread, plan: cuda.constexpr):
    """A thread's rows; zeros beyond the matrix."""
    kind = type(m)
    for i in cuda.unroll(range(plan.rows)):
        row = first + kind(i * plan.threads) + thread
        start = a.first + row * a.down
        for w in cuda.unroll(range(0, plan.width, plan.lanes)):
            for lane in cuda.unroll(range(plan.lanes)):
                x[i, w + lane] = plan.number(0)
            if plan.lanes > 1 and row < m and kind(w + plan.lanes) <= n:
                cell = cuda.vload(a.memory, start + kind(w), plan.lanes, aligned=True)
                for lane in cuda.unroll(range(plan.lanes)):
                    x[i, w + lane] = cell[lane]
            else:
                for lane in cuda.unroll(range(plan.lanes)):
                    if row < m and kind(w + lane) < n:
                        x[i, w + lane] = a.memory[start + kind(w + lane) * a.right]


@cuda.jit(device=True)
def _store(x, a, at, m, n, plan: cuda.constexpr):
    """A thread's rows to their places."""
    kind = type(m)
    for i in cuda.unroll(range(plan.rows)):
        start = a.first + at[i] * a.down
        for w in cuda.unroll(range(0, plan.width, plan.lanes)):
            if plan.lanes > 1 and at[i] < m and kind(w + plan.lanes) <= n:
                if plan.lanes == 4:
                    cell = plan.cell(x[i, w], x[i, w + 1], x[i, w + 2], x[i, w + 3])
                else:
                    cell = plan.cell(x[i, w], x[i, w + 1])
                cuda.vstore(cell, a.memory, start + kind(w), aligned=True)
            else:
                for lane in cuda.unroll(range(plan.lanes)):
                    if at[i] < m and kind(w + lane) < n:
                        a.memory[start + kind(w + lane) * a.right] = x[i, w + lane]


@cuda.jit(device=True)
def _list_moves(at, moves, n, first, thread, plan: cuda.constexpr):
    """For `move_rows`: where each of the first n rows comes from, and where it went, or -1 if to one of them."""
    kind = type(n)
    for i in cuda.unroll(range(plan.rows)):
        row = first + kind(i * plan.threads) + thread
        if at[i] < n:
            moves[at[i]] = np.int32(row)
        if row < n:
            moves[kind(plan.width) + row] = np.int32(at[i]) if at[i] >= n else np.int32(-1)


@cuda.jit
def factor_columns_together(a, m, n, before, pivots, info, moves, messages, plan: cuda.constexpr):
    """``a = P L U`` for an m x n matrix, m >= n, in place: L below the diagonal of ones, U on and above it.

    a: a `Strided`. pivots: int32: the rows, counted from 0 in the whole matrix, with which row ``before`` and those
    after it were exchanged. info: as `tell_failure` leaves it. moves: int32 (2, width), for `move_rows`. messages:
    `Messages`; plan: a `GridPlan` with ``width >= n``. Blocks, which have to run at the same time: as many as have
    ``threads * rows`` rows each.
    """
    kind = type(m)
    warps = 1 << plan.doublings
    grid = cuda.cg.this_grid()
    x = cuda.local.array((plan.rows, plan.width), plan.number)
    at = cuda.local.array(plan.rows, kind)
    column = cuda.local.array(plan.rows, plan.number)
    factors = cuda.local.array(plan.rows, plan.number)
    values = cuda.shared.array(warps, plan.real)
    places = cuda.shared.array(warps, kind)
    own = cuda.shared.array(plan.width, plan.number, alignment=16)
    chosen = cuda.shared.array(1, kind)
    pivot = cuda.shared.array(plan.width, plan.number, alignment=16)
    shared = _Shared(values, places, own, chosen, pivot)
    thread, block = kind(cuda.threadIdx.x), kind(cuda.blockIdx.x)
    first = block * kind(plan.threads * plan.rows)
    failed = np.int32(0)
    _load(x, a, m, n, first, thread, plan)
    for i in cuda.unroll(range(plan.rows)):
        at[i] = first + kind(i * plan.threads) + thread
        column[i] = x[i, 0]
    best, place = _search(column, at, kind(0), m, thread, shared, plan)
    number = np.uint32(before) + np.uint32(1)
    _tell_head(best, place, kind(0), number, messages, thread, plan)
    for counter in range(plan.width):
        j = kind(counter)
        if j < n:
            turn = j % kind(2)
            unfinished = kind(plan.width) - j
            number = np.uint32(before) + np.uint32(j) + np.uint32(1)
            _tell_line(x, at, place, turn, number, unfinished, messages, thread, shared, plan)
            if not plan.polls:
                grid.sync()
            if thread < kind(_LANES):
                place, winner = _hear_heads(m, turn, number, messages, thread, plan)
                _hear_line(winner, turn, number, unfinished, messages, thread, shared, plan)
                if thread == 0:
                    shared.chosen[0] = place
            cuda.syncthreads()
            place = shared.chosen[0]
            if block == 0 and thread == 0:
                pivots[before + np.int32(j)] = before + np.int32(place)
            if shared.pivot[0] == 0 and failed == 0:
                failed = np.int32(j) + 1
            _divide(x, at, place, j, column, factors, shared, plan)
            if j + kind(1) < n:
                best, place = _search(column, at, j + kind(1), m, thread, shared, plan)
                _tell_head(best, place, kind(1) - turn, number + np.uint32(1), messages, thread, plan)
            _update(x, at, j, column, factors, shared, plan)
        else:
            _turn(x, plan)
    _store(x, a, at, m, n, plan)
    _list_moves(at, moves, n, first, thread, plan)
    if block == 0 and thread == 0:
        tell_failure(info, 0, before, failed)
