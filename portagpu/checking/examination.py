"""One kernel on one target: compiled, and what is wrong with it, at lines of the Python text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from portagpu.backends.offline import OfflineTarget
from portagpu.checking.records import Problem, Result, Status, Subject, hash_of
from portagpu.checking.requirements import Requirement, spill_text
from portagpu.dispatch.arguments.type_names import public_type
from portagpu.dispatch.code.definition import KernelDefinition
from portagpu.dispatch.dispatcher import Dispatcher
from portagpu.dispatch.offline import OfflineKernel
from portagpu.errors import (
    ArgumentCountError,
    BuildError,
    KernelError,
    MissingCapabilityError,
    MissingCompilerError,
    PortaGPUError,
)
from portagpu.ir.types import ConstantType
from portagpu.source import Span

_SAY_TYPES = 'write them into cuda.jit("void(float32[::1], int32)"), or name the kernel with --signature and --constant'


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """How a kernel is compiled: types, values of compile-time parameters, a block.

    ``is_named``: somebody asked for this kernel, so that it cannot be left out where nothing says its types.
    """

    signature: Any = None
    constants: Mapping[str, Any] = field(default_factory=dict)
    block: tuple[int, ...] | None = None
    is_named: bool = True


def calls_of(kernel: Dispatcher, call: Call, *, alone: bool) -> list[Call]:
    """A call for each declared signature, unless the call has one.

    ``alone``: the only kernel, which takes all constants; others take those that they have a parameter for.
    """
    if not alone:
        bound = kernel.source.constexpr
        call = replace(call, constants={name: value for name, value in call.constants.items() if name in bound})
    if call.signature is not None or len(kernel.declared) < 2:
        return [call]
    return [replace(call, signature=signature) for signature in kernel.declared]


@dataclass(frozen=True, slots=True)
class Rules:
    """What makes a check fail: ``requirements``, where none were written that nothing spills on GPUs.

    ``lacking_fails``: that a target does not have what a kernel uses.
    """

    requirements: tuple[Requirement, ...] = ()
    lacking_fails: bool = True

    @property
    def spills_fail(self) -> bool:
        """Whether a spill on a GPU is an error."""
        return not self.requirements or any(one.name == "no-spills" for one in self.requirements)


def examine(kernel: Dispatcher, target: OfflineTarget, call: Call, rules: Rules) -> Result:
    """Compile a kernel for a target, and say what is wrong. Raises nothing that is wrong with the kernel."""
    block = kernel.options.block_dim or call.block
    subject = Subject(
        kernel=kernel.__name__,
        span=definition(kernel),
        signature=_signature(kernel, call),
        constants={name: repr(value) for name, value in call.constants.items()},
        block=None if block is None else tuple(block),
        declared=str(call.signature) if call.signature in kernel.declared else "",
    )

    def compiled() -> OfflineKernel:
        return kernel.compile_for(target, call.signature, constants=call.constants, block=call.block)

    try:
        return examined(compiled, subject, target, rules)
    except ArgumentCountError as error:
        return _without_types(error, subject, target, call)


def _signature(kernel: Dispatcher, call: Call) -> str | None:
    """Types of the arguments, also where a target has no program for them; None where they are not known."""
    try:
        return signature_text(kernel.types_for(call.signature, call.constants))
    except PortaGPUError:  # the compilation tells it
        return None


def _without_types(error: ArgumentCountError, subject: Subject, target: OfflineTarget, call: Call) -> Result:
    problem = Problem(
        rule="no-types",
        level="error" if call.is_named else "warning",
        message=error.message,
        span=subject.span,
        hint=_SAY_TYPES if call.signature is None else error.hint,
    )
    status = Status.REFUSED if call.is_named else Status.NOT_COMPILED
    return Result(subject=subject, target=target, status=status, problems=(problem,))


def examined(compiled: Callable[[], OfflineKernel], subject: Subject, target: OfflineTarget, rules: Rules) -> Result:
    """What a compilation gives, as a result. Raises `ArgumentCountError` where types or constants are missing."""
    try:
        made = compiled()
    except ArgumentCountError:
        raise
    except PortaGPUError as error:
        return _failed(error, subject, target, rules)
    subject = replace(
        subject,
        span=subject.span or made.span,
        signature=subject.signature or signature_text(made.signature),
        source_hash=hash_of(made.source),
        block=made.kernel_source.block_dim or subject.block,
    )
    problems = [*_spills(made, subject, rules), *_unmet(made, subject, rules)]
    return Result(
        subject=subject,
        target=target,
        status=Status.COMPILED,
        figures=made.figures,
        problems=tuple(problems),
        remark=made.remark,
    )


def signature_text(types: Sequence[Any]) -> str:
    """Types of a launch's arguments, without compile-time values: those are told apart."""
    return f"({', '.join(str(public_type(t)) for t in types if not isinstance(t, ConstantType) or t.value is None)})"


def definition(kernel: KernelDefinition) -> Span | None:
    """The line of a kernel's ``def``; None where its text cannot be found."""
    try:
        source = kernel.source
        line = source.first_line + source.tree.lineno - 1
        text = source.lines[source.tree.lineno - 1]
    except (PortaGPUError, IndexError):
        return None
    begin = len(text) - len(text.lstrip())
    return Span(filename=source.filename, line=line, column=begin, end_column=len(text.rstrip()), text=text)


def _failed(error: PortaGPUError, subject: Subject, target: OfflineTarget, rules: Rules) -> Result:
    if isinstance(error, MissingCompilerError):
        said = "; ".join(error.notes) or error.message
        problem = Problem(
            rule="no-compiler", level="note", message=f"not compiled: {said}", span=subject.span, hint=error.hint
        )
        return Result(subject=subject, target=target, status=Status.NOT_COMPILED, problems=(problem,))
    level = "error"
    if isinstance(error, MissingCapabilityError):
        rule, status = "missing-feature", Status.UNSUPPORTED
        level = "error" if rules.lacking_fails else "note"
    else:
        rule, status = "refused" if isinstance(error, BuildError) else "wrong-kernel", Status.REFUSED
    problem = Problem(
        rule=rule,
        level=level,
        message="; ".join((error.message, *error.notes)) if isinstance(error, KernelError) else error.message,
        span=error.span or subject.span,
        hint=error.hint,
    )
    return Result(subject=subject, target=target, status=status, problems=(problem,))


def _spills(made: OfflineKernel, subject: Subject, rules: Rules) -> list[Problem]:
    """What is said of spills: at the line whose code accesses scratch memory most, with the others, or at ``def``."""
    if not made.figures.spills:
        return []
    places = [span for span in made.scratch if subject.span is None or span.line != subject.span.line]
    text = f"`{subject.kernel}` does not fit registers: {spill_text(made.figures)}"
    fails = rules.spills_fail and made.target.is_gpu
    return [
        Problem(
            rule="spill",
            level="error" if fails else "warning" if made.target.is_gpu else "note",
            message=text,
            span=places[0] if places else subject.span,
            related=tuple(span for span in (*places[1:], subject.span) if span is not None) if places else (),
        )
    ]


def _unmet(made: OfflineKernel, subject: Subject, rules: Rules) -> list[Problem]:
    found = []
    for one in rules.requirements:
        text = None if one.name == "no-spills" else one.failure(made.figures, is_gpu=made.target.is_gpu)
        if text is not None:
            message = f"`{subject.kernel}` does not meet {text}"
            found.append(Problem(rule="requirement", level="error", message=message, span=subject.span))
    return found
