"""Pass: barriers are uniform: all threads of a block reach each one, as barriers demand; branches become flags.

CUDA lets threads return before a barrier that the others wait at; on OpenCL's CPU drivers that corrupts memory. Here
such a return, and an ``if`` around a barrier whose condition differs between threads, become flags: a thread whose flag
is down walks along to every barrier and does nothing else.

    if i >= n: return          live = true; if (i >= n) live = false;
    tile[t] = x[i]             if (live) tile[t] = x[i];
    cuda.syncthreads()         barrier();
    y[i] = tile[0]             if (live) y[i] = tile[0];

Returns and branches that are uniform in the block, or that no barrier follows, stay what they are. Variables that steer
a loop around a barrier ("control") are also kept up by threads that have left. What cannot be carried out so is an
`UnsupportedSyntaxError` at the barrier's loop.

For compilers that do not keep conditions across a barrier under a branch, uniform branches and returns become flags as
well: "gates", which are the same in all threads of a block. Loops around barriers ask their gate before each turn, so
that nothing needs to be kept up for them, and a closed gate skips what the branch would have skipped:

    if use_tiles:              gate = use_tiles;
        while more():          while (gate && more()) {
            load()                 if (gate) load();
            syncthreads()          barrier(); }
"""

from __future__ import annotations

from dataclasses import replace

from portagpu.errors import UnsupportedSyntaxError
from portagpu.ir.analysis.uniform import Marks, callees_with_barriers
from portagpu.ir.nodes import CallFunction, For, Stmt, While
from portagpu.ir.program import Function, Program
from portagpu.ir.walk import all_statements, expressions
from portagpu.passes.barriers.flags import Behind, Converger

# loops whose way in stays a branch, in a user's kernel and in the package's own, whose results tests know: one compiler
# copies what follows it, and joins such branches (docs/driver-quirks.md)
_MOST_LOOPS, _MOST_OF_OWN = 1, 4


def converge(program: Program, *, gates: bool = False) -> Program:
    """The same program with every barrier reached by all threads; with ``gates``, without any branch around one.

    Raises `UnsupportedSyntaxError` for the first statement of `refused`.
    """
    made, wrong = _converged(program, gates)
    if wrong:
        raise UnsupportedSyntaxError(
            "this decides how often a loop reaches cuda.syncthreads(), but some threads may have left before it",
            span=wrong[0].span,
            hint="compute it before the early `return`, or put the code between the barriers under `if` instead",
        )
    return made


def refused(program: Program, *, gates: bool = False) -> tuple[Stmt, ...]:
    """Statements that steer a loop around a barrier, and that threads which left before could not carry out."""
    return tuple(_converged(program, gates)[1])


def _converged(program: Program, gates: bool) -> tuple[Program, list[Stmt]]:
    wrong: list[Stmt] = []
    callees = callees_with_barriers(program)
    if not callees and not Marks(program.kernel.body, callees).barrier:
        return program, wrong
    wanted: set[tuple[str, Behind]] = set()  # functions that are called behind a flag
    most = _MOST_OF_OWN if program.library else _MOST_LOOPS
    enters = gates and _loops_around_barriers(program, callees) > most
    kernel = Converger(program.kernel, callees, wanted, wrong, gates, enters=enters, is_kernel=True).run()
    functions: list[Function] = []
    for function in reversed(program.functions):  # callers first: they say which variants of callees they want
        if function.name in callees:
            functions.append(Converger(function, callees, wanted, wrong, gates, enters=enters).run())
            for behind in sorted(b for name, b in wanted if name == function.name):
                made = Converger(function, callees, wanted, wrong, gates, enters=enters, behind=behind)
                functions.append(made.run())
        else:
            functions.append(function)
    return replace(program, kernel=kernel, functions=tuple(reversed(functions))), wrong


def _loops_around_barriers(program: Program, callees: frozenset[str]) -> int:
    """Number of loops around barriers, where all functions are inlined."""
    found: dict[str, int] = {}
    for function in (*program.functions, program.kernel):  # callees come first
        marks, count = Marks(function.body, callees), 0
        for statement in all_statements(function.body):
            if marks.has_barrier(statement):
                count += isinstance(statement, For | While)
                count += sum(found.get(e.function, 0) for e in expressions(statement) if isinstance(e, CallFunction))
        found[function.name] = count
    return found[program.kernel.name]
