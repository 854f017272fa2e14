"""The pipeline of passes: everything between the frontend's IR and a back end's text, in the order in which it runs.

The frontend lowers a kernel as the user wrote it. Each pass here takes a program and returns one that means the same;
what a device lacks, or what its compiler gets wrong, is put right by one of them. A pass says what must have run
before it, and `ordered` refuses a list that breaks that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from portagpu.device.capabilities import Capabilities
from portagpu.ir.analysis.races import races
from portagpu.ir.program import Function, GridShape, Program
from portagpu.ir.recursion import deeply_nested
from portagpu.passes.arithmetic.bare_subscripts import unwrapped
from portagpu.passes.arithmetic.loop_directions import directed
from portagpu.passes.arithmetic.low_bits import shortened
from portagpu.passes.arithmetic.opaque_products import opaque_products
from portagpu.passes.arithmetic.sums_with_one import sums_with_one
from portagpu.passes.arithmetic.vector_calls import vector_calls
from portagpu.passes.barriers.branch_values import mark_branch_values
from portagpu.passes.barriers.converge import converge, refused
from portagpu.passes.barriers.divergence import mark_divergence
from portagpu.passes.barriers.guarded_loads import mark_guarded_loads
from portagpu.passes.emulation.async_copies import async_copies
from portagpu.passes.emulation.emulated_warps import emulated_warps
from portagpu.passes.emulation.exchange_buffers import in_turns
from portagpu.passes.emulation.grid_barriers import grid_barriers
from portagpu.passes.emulation.grid_fusion import check_fits, fuse
from portagpu.passes.emulation.halves import without_halves
from portagpu.passes.emulation.hints import without_hints
from portagpu.passes.emulation.lockstep import Around, lockstep


@dataclass(frozen=True, slots=True)
class Target:
    """What a program is compiled for: a device, and the launch where the code depends on its grid."""

    caps: Capabilities
    launch: GridShape | None = None


def _always(program: Program, target: Target) -> bool:
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """One pass.

    ``does`` and ``when`` say in a line what it does, and to which programs; ``after`` names the passes that must have
    run before it.
    """

    name: str
    does: str
    run: Callable[[Program, Target], Program]
    when: str = "always"
    applies: Callable[[Program, Target], bool] = _always
    after: tuple[str, ...] = ()


def ordered(*passes: Pass) -> tuple[Pass, ...]:
    """The passes, if each comes after those that it names. Raises `ValueError`."""
    seen: set[str] = set()
    for each in passes:
        missing = [name for name in each.after if name not in seen]
        if missing or each.name in seen:
            raise ValueError(f"the pass {each.name} must come once, and after {', '.join(missing) or 'no other'}")
        seen.add(each.name)
    return passes


def _each(change: Callable[[Function], Function], program: Program, target: Target) -> Program:
    """The program with each of its functions changed."""
    return replace(program, kernel=change(program.kernel), functions=tuple(map(change, program.functions)))


def _advised(program: Program, target: Target) -> Program:
    return replace(program, remarks=(*program.remarks, *races(program)))


def _waits_for_its_grid(program: Program, target: Target) -> bool:
    launch = target.launch
    return launch is not None and launch.blocks > 1 and program.cooperative and not target.caps.cooperative_launch


def _fused(program: Program, target: Target) -> Program:
    assert target.launch is not None
    check_fits(target.launch, target.caps)
    return fuse(program, target.launch)


def _lacks_warps(program: Program, target: Target) -> bool:
    return not target.caps.warp_instructions


def _in_step(program: Program, target: Target) -> Program:
    of_users = _lacks_warps(program, target) and not program.library
    made = lockstep(program, Around.BARRIERS if of_users else Around.WARPS)
    return lockstep(program, Around.LEFT) if refused(made, gates=not target.caps.conditional_barriers) else made


PIPELINE = ordered(
    Pass(
        name="emulated_warps",
        does="makes exchanges through shared memory of warp operations",
        run=lambda program, target: emulated_warps(program),
        when="the device lacks CUDA's warp instructions",
        applies=_lacks_warps,
    ),
    Pass(
        name="grid_barriers",
        does="gives the grid's barrier its cells in global memory, or makes the block's of it",
        run=lambda program, target: grid_barriers(program, together=target.caps.cooperative_launch),
        when="the grid waits for itself",
        applies=lambda program, target: program.cooperative,
    ),
    Pass(
        name="async_copies",
        does="makes instructions of copies that go on while threads compute, or copies at once",
        run=lambda program, target: async_copies(program, target.caps),
    ),
    Pass(
        name="hints",
        does="drops hints that the device does not take: prefetching, and sleeping",
        run=lambda program, target: without_hints(program, target.caps),
    ),
    Pass(
        name="races",
        does="adds remarks about shared memory that threads read before others have certainly written it",
        run=_advised,
        when="kernels of users",
        applies=lambda program, target: not program.library,
        after=("emulated_warps", "grid_barriers", "async_copies"),  # whose barriers part accesses
    ),
    Pass(
        name="grid_fusion",
        does="makes one work-group of the whole grid, so that its barrier is the grid's",
        run=_fused,
        when="the grid waits for itself, and the device does not run all its blocks at once",
        applies=_waits_for_its_grid,
        after=("races",),  # which knows shared arrays as they were declared
    ),
    Pass(
        name="loop_directions",
        does="notes which way a loop goes whose step has one sign, whatever its value",
        run=partial(_each, directed),
    ),
    Pass(
        name="lockstep",
        does="lets all threads of a block run loops around barriers equally often",
        run=_in_step,
        when="warps are emulated, or the grid was fused; in kernels of users wherever the device lacks CUDA's warp "
        "instructions, or threads that left before could not keep up what steers a loop",
        after=("emulated_warps", "grid_fusion"),  # whose barriers are those of the block, and of several blocks
    ),
    Pass(
        name="converge",
        does="lets all threads of a block reach each barrier: early returns and branches become flags",
        run=lambda program, target: converge(program, gates=not target.caps.conditional_barriers),
        when="a barrier occurs; without any branch around one where the driver demands that",
        after=("lockstep",),  # which leaves branches that this one takes apart
    ),
    Pass(
        name="exchange_buffers",
        does="lets emulated warp operations use two buffers in turns, with barriers where those do not suffice",
        run=lambda program, target: in_turns(program),
        when="warps are emulated",
        after=("converge",),  # then the order of exchanges is the one that runs
    ),
    Pass(
        name="bare_subscripts",
        does="drops the question whether a subscript counts from the end, where index arithmetic shows that none does",
        run=partial(_each, unwrapped),
        when="subscripts are not checked: checked programs may break what index arithmetic is promised to keep",
        applies=lambda program, target: not program.checked,
        after=("converge",),  # after which threads ask for conditions that branches and returns kept from them
    ),
    Pass(
        name="low_bits",
        does="counts in 32 bits what is stored in 32 bits or fewer",
        run=partial(_each, shortened),
        after=("exchange_buffers", "bare_subscripts"),  # exchanges between threads are statements until then
    ),
    Pass(
        name="opaque_products",
        does="lets the driver's compiler know nothing of products that are divided, except by powers of two",
        run=lambda program, target: opaque_products(program),
        when="it does not return from squares modulo constants in loops",
        applies=lambda program, target: not target.caps.divides_products,
        after=("low_bits",),  # which looks at products and quotients
    ),
    Pass(
        name="sums_with_one",
        does="makes one function of `1 + tanh(x)`, and of `1 + erf(x)`, in float32",
        run=partial(_each, sums_with_one),
    ),
    Pass(
        name="vector_calls",
        does="calls a function once for all lanes of a vector, where each has its own call",
        run=lambda program, target: vector_calls(program),
        when="the device is a CPU, whose registers hold vectors",
        applies=lambda program, target: not target.caps.local_memory_dedicated,
        after=("low_bits",),  # then types are the last ones
    ),
    Pass(
        name="halves",
        does="computes with float16 in float32, rounded after each operation, or only its functions",
        run=lambda program, target: without_halves(program, target.caps),
        when="float16 occurs, and the device lacks arithmetic or functions of it",
        applies=lambda program, target: program.halves,
        after=("vector_calls",),  # whose vectors of halves are widened, too
    ),
    Pass(
        name="divergence",
        does="puts statements in which threads diverge under a branch that no compiler takes for uniform",
        run=lambda program, target: mark_divergence(program),
        when="a barrier occurs, and the driver takes values that such statements set for uniform",
        applies=lambda program, target: not target.caps.sees_divergence,
        after=("halves",),  # nothing else needs to know the branches
    ),
    Pass(
        name="branch_values",
        does="makes uniform values that only some threads assign depend on the thread's index",
        run=lambda program, target: mark_branch_values(program),
        when="the driver's vectoriser takes variables that get such values for uniform",
        applies=lambda program, target: not target.caps.blends_values,
        after=("halves",),  # which computes with constants
    ),
    Pass(
        name="guarded_loads",
        does="makes uniform places that guarded loads read depend on the thread's index",
        run=lambda program, target: mark_guarded_loads(program),
        when="the driver's compiler reads them in branches that no thread takes",
        applies=lambda program, target: not target.caps.skips_loads,
        after=("branch_values",),  # which asks what is uniform
    ),
)


@deeply_nested
def legalise(
    program: Program, caps: Capabilities, launch: GridShape | None = None, passes: tuple[Pass, ...] = PIPELINE
) -> Program:
    """The program after all passes of a back end that apply to it on a device.

    ``launch`` is what the kernel is for, if its blocks wait for each other on a device that does not run all at once.
    Raises subclasses of `portagpu.errors.KernelError` for what the device cannot run.
    """
    return _through(passes, program, Target(caps, launch))


def run_pass(name: str, program: Program, caps: Capabilities, launch: GridShape | None = None) -> Program:
    """The program after one pass of the pipeline, or as it is where the pass does not apply."""
    return _through((_named(name),), program, Target(caps, launch))


def _named(name: str) -> Pass:
    return next(each for each in PIPELINE if each.name == name)


def _through(passes: tuple[Pass, ...], program: Program, target: Target) -> Program:
    for each in passes:
        if each.applies(program, target):
            program = each.run(program, target)
    return program
