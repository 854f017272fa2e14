"""Each pass of the pipeline alone, on a small kernel: what it changes in the text of the IR, and when it applies."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from helpers.programs import define

from portagpu import cuda
from portagpu.backends.opencl.ptx.capabilities import from_ptx
from portagpu.device.ideal_device import IDEAL
from portagpu.dispatch.code.lowering import lower_kernel
from portagpu.dtypes import FLOAT16, FLOAT32, FLOAT64, INT32
from portagpu.errors import LaunchConfigError, UnsupportedSyntaxError
from portagpu.frontend.specialise import specialise
from portagpu.ir.program import GridShape
from portagpu.ir.text import program_text
from portagpu.ir.types import PYINT, ArrayType, Layout, Scalar
from portagpu.ir.verify import verify
from portagpu.passes.barriers.converge import refused
from portagpu.passes.pipeline import PIPELINE, Pass, legalise, ordered, run_pass

FLOATS, DOUBLES, INTEGERS, HALVES = (ArrayType(Scalar(d), 1, Layout.C) for d in (FLOAT32, FLOAT64, INT32, FLOAT16))
PLAIN = dataclasses.replace(IDEAL, **from_ptx(False))
FULL = 0xFFFFFFFF


def lowered(kernel, *types, caps=PLAIN, **options):
    """The frontend's program."""
    program = specialise(kernel.source, types, caps, **options)
    verify(program)
    return program


def after(name, program, caps=PLAIN, launch=None):
    """The text of the program after one pass."""
    made = run_pass(name, program, caps, launch)
    verify(made)
    return program_text(made)


@cuda.jit
def neighbours(x, y, n):
    tile = cuda.shared.array(32, np.float32)
    i = cuda.grid(1)
    if i >= n:
        return
    tile[cuda.threadIdx.x] = x[i]
    cuda.syncthreads()
    y[i] = tile[31 - cuda.threadIdx.x]


@cuda.jit
def exchange(x, n):
    i = cuda.grid(1)
    for _ in range(x[i]):
        x[i] += cuda.shfl_down_sync(FULL, x[i], 1)
        x[i] += cuda.shfl_down_sync(FULL, x[i], 2)


def test_the_order_is_checked():
    names = [each.name for each in PIPELINE]
    assert ordered(*PIPELINE) == PIPELINE and len(set(names)) == len(names)
    for each in PIPELINE:
        if each.after:
            with pytest.raises(ValueError, match=f"the pass {each.name} must come once, and after {each.after[0]}"):
                ordered(each, *(p for p in PIPELINE if p is not each))
    with pytest.raises(ValueError, match="must come once"):
        ordered(PIPELINE[0], PIPELINE[0])


def test_every_pass_says_what_it_does():
    for each in PIPELINE:
        assert isinstance(each, Pass) and each.does and each.when, each.name


def test_emulated_warps_exchanges_through_shared_memory():
    @cuda.jit(device=True)
    def votes(v):
        return cuda.any_sync(FULL, v > 0) or cuda.all_sync(FULL, v > 1) or cuda.eq_sync(FULL, v > 2)

    @cuda.jit
    def operations(x):
        i = cuda.grid(1)
        mask, same = cuda.match_all_sync(cuda.activemask(), x[i])
        cuda.syncwarp(mask)
        if same and votes(x[i]):
            x[i] = cuda.shfl_sync(FULL, x[i], 3) + cuda.ballot_sync(FULL, i > 3) + cuda.match_any_sync(FULL, i)

    program = lowered(operations, INTEGERS)
    assert "warp_shfl(" in program_text(program) and not program.shared
    made = run_pass("emulated_warps", program, PLAIN)
    verify(made)
    text = program_text(made)
    assert [a.name for a in made.shared] == ["pg.warp", "pg.warp_flags"]
    for name, count in (("warp_shuffle(pg.warp, pg.warp_flags, ", 1), ("warp_ballots(", 5), ("warp_match(", 2)):
        assert text.count(name) == count, name
    assert text.count("warp_barrier()") == 1
    assert "votes(x[" in text and ", pg.warp, pg.warp_flags)" in text  # the function takes the arrays
    left = (
        "warp_shfl(",
        "warp_any(",
        "warp_all(",
        "warp_eq(",
        "warp_ballot(",
        "warp_match_a",
        "warp_active(",
        "warp_sync(",
    )
    assert not any(name in text for name in left)
    native = lowered(operations, INTEGERS, caps=IDEAL)
    assert program_text(native) == program_text(program)  # the frontend lowers alike
    assert run_pass("emulated_warps", native, IDEAL) is native


def test_grid_barriers_are_cells_or_the_barrier_of_the_block():
    @cuda.jit(device=True)
    def wait():
        cuda.cg.this_grid().sync()

    @cuda.jit
    def waits(x):
        wait()
        x[0] = 1

    program = lowered(waits, FLOATS)
    assert "grid_sync()" in program_text(program)
    assert "syncthreads()" in after("grid_barriers", program) and "grid_sync" not in after("grid_barriers", program)
    text = after("grid_barriers", program, IDEAL)
    assert "grid_sync(pg.grid)" in text and "wait(pg.grid)" in text
    assert run_pass("grid_barriers", program, IDEAL).kernel.parameters[-1].role.name == "GRID_CELLS"


def test_async_copies_are_instructions_or_made_at_once():
    @cuda.jit
    def copies(x, y, n):
        tile = cuda.shared.array(64, np.float32)
        t = cuda.threadIdx.x
        cuda.pipeline_memcpy_async(tile, 4 * t, x, 4 * t, 4)
        cuda.pipeline_memcpy_async(tile, t, x, t, 1, valid=t < n)
        cuda.pipeline_commit()
        cuda.pipeline_wait_prior(0)
        cuda.syncthreads()
        y[t] = tile[63 - t]

    program = lowered(copies, FLOATS, FLOATS, PYINT)
    text = program_text(program)
    assert "async_copy.16(offset(" in text and "async_copy_commit()" in text and "async_copy_wait.0()" in text
    text = after("async_copies", program)
    assert "copy_16(" in text and "copy_4(" in text and "async" not in text
    text = after("async_copies", program, IDEAL)
    assert "async_copy_bytes.16(shared_address(" in text and "async_copy_wait.0()" in text
    assert ", select(" in text  # how many bytes are read


def test_hints_that_a_device_lacks_are_dropped():
    @cuda.jit
    def hinted(x):
        cuda.prefetch(x, 5)
        cuda.nanosleep(100)
        x[0] = 1

    program = lowered(hinted, FLOATS)
    text = program_text(program)
    assert "prefetch(" in text and "nanosleep(" in text
    assert run_pass("hints", program, IDEAL) is program
    assert "nanosleep" not in after("hints", program) and "prefetch" in after("hints", program)
    assert "prefetch" not in after("hints", program, dataclasses.replace(PLAIN, prefetch=False))


def test_races_adds_remarks_to_kernels_of_users():
    @cuda.jit
    def racy(x):
        tile = cuda.shared.array(64, np.float32)
        t = cuda.threadIdx.x
        tile[t] = x[t]
        x[t] = tile[63 - t]

    program = lowered(racy, FLOATS)
    (remark,) = run_pass("races", program, PLAIN).remarks
    assert "syncthreads" in remark.text
    assert run_pass("races", dataclasses.replace(program, library=True), PLAIN).remarks == ()


def test_grid_fusion_makes_one_group_of_a_grid():
    @cuda.jit
    def waits(x):
        i = cuda.grid(1)
        cuda.cg.this_grid().sync()
        x[i] = cuda.blockIdx.x

    program = lowered(waits, FLOATS)
    launch = GridShape((4, 1, 1), (8, 1, 1), 0)
    fused = run_pass("grid_fusion", program, PLAIN, launch)
    assert fused.fused == launch and fused.block_dim == (32, 1, 1)
    assert "div(threadIdx(0), 8)" in program_text(fused)
    for single in (None, GridShape((1, 1, 1), (8, 1, 1), 0)):
        assert run_pass("grid_fusion", program, PLAIN, single) is program
    assert run_pass("grid_fusion", program, IDEAL, launch) is program
    with pytest.raises(LaunchConfigError, match="waits for its whole grid"):
        run_pass("grid_fusion", program, PLAIN, GridShape((1000, 1, 1), (8, 1, 1), 0))


def test_loop_directions_finds_the_sign_of_a_step():
    @cuda.jit
    def strided(x):
        for i in range(cuda.grid(1), x.size, cuda.blockDim.x):
            x[i] = 0

    (before,) = (s for s in lowered(strided, FLOATS).kernel.body if type(s).__name__ == "For")
    program = run_pass("loop_directions", lowered(strided, FLOATS), PLAIN)
    (loop,) = (s for s in program.kernel.body if type(s).__name__ == "For")
    assert before.descending is None and loop.descending is False


def test_lockstep_votes_on_loops_around_exchanges():
    program = lowered(exchange, INTEGERS, PYINT)
    text = after("lockstep", emulated(program))
    assert text.count("syncthreads_or(") == 2 and "while ne(pg.votes" in text
    assert run_pass("lockstep", program, IDEAL) is program  # whose warps are native


def test_converge_lets_threads_that_left_reach_the_barrier():
    program = lowered(neighbours, FLOATS, FLOATS, PYINT)
    assert "return" in program_text(program)
    text = after("converge", program)
    assert "return" not in text and "pg.live1 = False" in text
    assert "    syncthreads()\n    if pg.live1:" in text


def test_converge_gates_branches_where_the_driver_keeps_no_barrier_under_one():
    @cuda.jit
    def under_a_branch(x, n):
        if n > 3:
            cuda.syncthreads()
            x[0] = 1

    program = lowered(under_a_branch, FLOATS, PYINT)
    gates = dataclasses.replace(PLAIN, conditional_barriers=False)
    assert "        syncthreads()" in after("converge", program)
    assert "\n    syncthreads()" in after("converge", program, gates)


def test_converge_puts_a_barrier_before_loops_behind_gates():
    @cuda.jit
    def loops(x, n):
        for _ in range(n):
            cuda.syncthreads()
        for _ in range(n):
            x[0] += 1
        if n > 3:
            while n > 2:
                cuda.syncthreads()
                n -= 1

    program = lowered(loops, FLOATS, PYINT)
    gates = dataclasses.replace(PLAIN, conditional_barriers=False)
    before = [line.strip() for line in after("converge", program, gates).splitlines()]
    around = [before[n - 1] for n, line in enumerate(before) if line.startswith("while")]
    assert around == ["syncthreads()"] * 2
    assert after("converge", program).count("syncthreads()") == 2


def test_converge_refuses_what_threads_that_left_would_steer():
    @cuda.jit
    def steered(x, n):
        i = cuda.grid(1)
        if i >= n:
            return
        last = x[i]
        for _ in range(last):
            cuda.syncthreads()

    program = lowered(steered, INTEGERS, PYINT)
    (statement,) = refused(program)
    with pytest.raises(UnsupportedSyntaxError, match="decides how often a loop") as caught:
        run_pass("converge", program, PLAIN)
    assert caught.value.span == statement.span
    assert not refused(lowered(neighbours, FLOATS, FLOATS, PYINT))
    text = program_text(legalise(program, PLAIN))  # where loops ask before each turn
    assert "while ne(pg.votes" in text


@cuda.jit
def names_again(x, n):
    i = cuda.grid(1)
    for k in range(n):
        cuda.syncthreads()
        if k == 2:
            break
    if i >= n:
        return
    for _ in range(x[i]):
        for k in range(x[i]):
            x[k] = i
    cuda.syncthreads()
    x[i] += 1


@cuda.jit
def names_again_before_another_turn(x, n):
    i = cuda.grid(1)
    k = 0
    for _ in range(n):
        while k < n:
            cuda.syncthreads()
            k += 1
        if i >= n:
            return
        while x[i] < k:
            k -= 1
        cuda.syncthreads()


@cuda.jit
def names_again_in_a_loop_that_goes_on(x, n):
    i = cuda.grid(1)
    k = 0
    while k < n:
        cuda.syncthreads()
        if i >= n:
            return
        while x[i] > k:
            k += 1


def test_names_of_what_steered_a_loop_may_be_used_again():
    assert not refused(lowered(names_again, INTEGERS, PYINT))
    assert refused(lowered(names_again_before_another_turn, INTEGERS, PYINT))
    assert refused(lowered(names_again_in_a_loop_that_goes_on, INTEGERS, PYINT))


def test_divergence_marks_what_sets_variables_for_later():
    @cuda.jit(device=True)
    def tally(n):
        count = 0
        for _ in range(n):
            count += 1
        return count

    @cuda.jit
    def counts(x, n):
        i = cuda.grid(1)
        hits = 0
        for _ in range(n):  # all threads alike
            hits += tally(n)
        if x[i] > 0:  # nothing is set
            x[i] += 1
        for _ in range(x[i]):
            hits = 3
        cuda.syncthreads()
        x[i] = hits

    @cuda.jit
    def divergent_calls(x):
        own = tally(x[cuda.grid(1)])
        cuda.syncthreads()
        x[0] = own

    @cuda.jit
    def no_barrier(x):
        x[0] = tally(x[cuda.grid(1)])

    misses = dataclasses.replace(PLAIN, sees_divergence=False)
    program = lowered(counts, INTEGERS, PYINT)
    assert after("divergence", program) == program_text(program)
    text = after("divergence", program, misses)
    assert text.count("if lt(varying(0, 0), 1):") == 1
    assert "if lt(varying(0, 0), 1):\n        for " in text
    assert after("divergence", lowered(divergent_calls, INTEGERS), misses).count("if lt(varying(0, 0), 1):") == 1
    assert "varying" not in after("divergence", lowered(no_barrier, INTEGERS), misses)


def test_branch_values_depend_on_the_thread():
    @cuda.jit
    def choices(x, n):
        own = 7
        count = 0
        if x[cuda.grid(1)] > 0:
            if n > 3:
                x[0] = 5
            own = 3
        while x[count] < cuda.threadIdx.x:
            count += 1
        x[1] = own + count

    @cuda.jit
    def selects(x, n):
        own = 7
        if x[cuda.grid(1)] > 0:
            own = 3
        if n > 3:
            own = 5
        x[1] = own

    misses = dataclasses.replace(PLAIN, blends_values=False)
    program = lowered(choices, INTEGERS, PYINT)
    assert after("branch_values", program) == program_text(program)
    assert after("branch_values", program, misses).count("own = varying(") == 2  # and no counter
    assert "varying" not in after("branch_values", lowered(selects, INTEGERS, PYINT), misses)


@cuda.jit(device=True)
def element(array, k):
    return array[k]


# expressions with a read of a thread's own array, and how many of their subscripts are marked
PLACES = {
    "x[0] = own[cuda.blockIdx.x % 4]": 0,
    "x[0] = own[n % 4]": 0,
    "if x[i] > 0: x[0] = own[cuda.blockIdx.x % 4] + own[1] + own[cuda.threadIdx.x % 4]": 1,
    "if x[i] > 0 and own[n] > 3: x[0] = 1": 1,
    "x[0] = own[n] if x[i] > 0 else 3": 1,
    "x[0] = element(own, n)": 1,
    "for k in range(n): x[0] += own[k + 1] if x[i] > k else 3": 0,
    "for k in range(n): x[0] += own[k * n] if x[i] > k else 3": 1,
    "for k in range(n): x[0] += own[x[k]] if x[i] > k else 3": 1,
    "for k in range(0, n, n): x[0] += own[k] if x[i] > k else 3": 1,
    "while n > 1: n -= 1; x[0] += own[n] if x[i] > 0 else 3": 1,
}


@pytest.mark.parametrize("statement", PLACES)
def test_uniform_subscripts_of_own_arrays_depend_on_the_thread(statement):
    text = f"""
def places(x, n):
    i = cuda.grid(1)
    own = cuda.local.array(4, np.int32)
    for k in range(4):
        own[k] = x[k]
    {statement}
"""
    places = cuda.jit(define(text, "places", element=element))
    misses = dataclasses.replace(PLAIN, skips_loads=False)
    program = lowered(places, INTEGERS, PYINT)
    assert "[varying(" not in after("guarded_loads", program)
    assert after("guarded_loads", program, misses).count("[varying(") == PLACES[statement]


# statements with reads of global memory, and how many of their places are marked
GUARDED = {
    "if n > 9: cuda.syncthreads(); x[i] = x[n] + x[i] + x[3]": 2,
    "if n > 9: x[i] = x[n]": 0,
    "if x[n] > 9: cuda.syncthreads()": 0,
    "for k in range(n): cuda.syncthreads(); x[i] += x[k] + x[k * n + 1]": 0,
    "for k in range(n): cuda.syncthreads(); x[i] += x[n]": 1,
    "for k in range(n): j = k * n; cuda.syncthreads(); x[i] += x[j]": 0,
    "while n > 1: n -= 1; cuda.syncthreads(); x[i] += x[n]": 0,
    "while n > 1: k = n; k -= 1; n -= k; cuda.syncthreads(); x[i] += x[k - k * 2]": 0,
    "while n > 1: k = 7; k -= 1; n -= 3; cuda.syncthreads(); x[i] += x[k]": 1,
    "if n > 9: cuda.syncthreads(); x[i] = element(x, n)": 1,
    "if n > 9: cuda.syncthreads(); x[i] = x[element(x, n)]": 2,
}


@pytest.mark.parametrize("statement", GUARDED)
def test_uniform_places_behind_guards_around_barriers_depend_on_the_thread(statement):
    guarded = cuda.jit(
        define(f"def guarded(x, n):\n    i = cuda.grid(1)\n    {statement}\n", "guarded", element=element)
    )
    misses = dataclasses.replace(PLAIN, skips_loads=False)
    program = lowered(guarded, INTEGERS, PYINT)
    assert "varying(" not in after("guarded_loads", program)
    assert after("guarded_loads", program, misses).count("[varying(") == GUARDED[statement]


def test_exchange_buffers_takes_turns():
    @cuda.jit
    def twice(x):
        i = cuda.grid(1)
        x[i] = cuda.shfl_down_sync(FULL, cuda.shfl_down_sync(FULL, x[i], 1), 2)

    text = after("exchange_buffers", emulated(lowered(twice, INTEGERS)))
    assert text.count("warp_shuffle(") == 2 and text.count("offset(pg.warp, 1024)") == 1
    assert "warp_barrier" not in text


def test_bare_subscripts_asks_for_the_sign_once():
    @cuda.jit
    def guarded(x, y):
        i = cuda.grid(1) - 1
        if i >= 0:
            y[i] = x[i]

    program = lowered(guarded, FLOATS, FLOATS)
    assert "wrap(" in program_text(program) and "wrap(" not in after("bare_subscripts", program)
    checked = lowered(guarded, FLOATS, FLOATS, bounds=True)
    assert run_pass("bare_subscripts", checked, PLAIN) is checked


def test_low_bits_counts_in_the_width_of_the_array():
    @cuda.jit
    def total(x, y):
        found = 0
        for k in range(x.size):
            found += x[k]
        y[0] = found

    program = lowered(total, INTEGERS, INTEGERS)
    assert "int64(x[" in program_text(program)
    assert "int64(x[" not in after("low_bits", program)


def test_halves_are_computed_as_the_device_can():
    @cuda.jit
    def sines(h):
        h[0] = cuda.fp16.hsin(h[0]) + h[0]

    program = lowered(sines, HALVES)
    assert run_pass("halves", program, PLAIN) is not None
    stored = dataclasses.replace(PLAIN, fp16=False, fp16_functions=False)
    assert "round_half(" in after("halves", program, stored) and "load_half(" in after("halves", program, stored)
    arithmetic = dataclasses.replace(PLAIN, fp16_functions=False)
    text = after("halves", program, arithmetic)
    assert "float16(sin(float32(" in text and "load_half" not in text
    assert not lowered(neighbours, FLOATS, FLOATS, PYINT).halves

    @cuda.jit
    def narrowed(h, x):
        h[0] = x[0]

    text = after("halves", lowered(narrowed, HALVES, DOUBLES), stored)
    assert "round_half(x[" in text and "float32(" not in text  # which would round twice


def emulated(program):
    """The program with its warps emulated."""
    return run_pass("emulated_warps", program, PLAIN)


def test_all_passes_in_turn():
    for kernel, types in ((neighbours, (FLOATS, FLOATS, PYINT)), (exchange, (INTEGERS, PYINT))):
        for caps in (PLAIN, IDEAL, dataclasses.replace(PLAIN, conditional_barriers=False, sees_divergence=False)):
            program = step = lowered(kernel, *types, caps=caps)
            for each in PIPELINE:
                step = run_pass(each.name, step, caps)
                verify(step)
            assert program_text(step) == program_text(legalise(program, caps))


def test_a_back_end_may_want_no_passes():
    types = (FLOATS, FLOATS, PYINT)
    plain = program_text(lowered(neighbours, *types))
    assert program_text(lower_kernel(neighbours.source, types, PLAIN, passes=())) == plain
    assert program_text(lower_kernel(neighbours.source, types, PLAIN)) != plain
