"""What a check finds fault with: a rule for each kind, as continuous integration shows them."""

from __future__ import annotations

from typing import NamedTuple


class Rule(NamedTuple):
    """``name``: a word in camel case; ``text``: what it means, and what to do."""

    name: str
    text: str


RULES: dict[str, Rule] = {
    "spill": Rule(
        "RegisterSpill",
        "The compiler keeps values of threads in memory that should be in registers. Fewer values at once, fewer"
        " registers of a block, or subscripts of local arrays that are constants help.",
    ),
    "missing-feature": Rule(
        "MissingFeature", "The target does not have what the kernel asks for. Another kernel has to serve it."
    ),
    "refused": Rule("CompilerRefusal", "The target's compiler does not take the generated program."),
    "wrong-kernel": Rule("WrongKernel", "The kernel's Python text is at fault, on every target or on this one."),
    "no-types": Rule(
        "NoTypes", "Nothing says for which types or constants the kernel is to be compiled, so it was not checked."
    ),
    "wrong-file": Rule("WrongFile", "The file cannot be imported, so its kernels were not checked."),
    "requirement": Rule("RequirementNotMet", "The kernel does not meet what --require asks for."),
    "unfinished": Rule("UnfinishedCheck", "The check ended before everything was compiled."),
    "no-compiler": Rule(
        "NoCompiler", "The compiler of a target is not installed, or does not know it: nothing was checked there."
    ),
}
