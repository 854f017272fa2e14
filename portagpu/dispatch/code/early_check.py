"""Compilation of a function at its declaration, for the signatures that it declares: errors come early."""

from __future__ import annotations

from portagpu.device.ideal_device import IDEAL
from portagpu.dispatch.arguments.type_names import argument_type
from portagpu.dispatch.code.definition import KernelDefinition
from portagpu.errors import KernelError, KernelTypeError, UnsupportedError
from portagpu.types import Signature


def check_text(function: KernelDefinition, signature: Signature) -> None:
    """Raise what is wrong with the text for a declared signature, on whatever device it will run.

    What kernels do not have is left to the first launch, so that a program's other kernels run; so are functions that
    name themselves, whose name has no value yet.
    """
    code = function.py_func.__code__
    if function.source.constexpr or function.__name__ in (*code.co_names, *code.co_freevars):
        return
    try:
        types = tuple(argument_type(t) for t in signature.args)
    except KernelTypeError:  # a type of which only a value tells enough
        return
    failure: KernelError | None = None
    try:
        if function.is_device_function:
            from portagpu.frontend.specialise import check_device_function  # of the compiler, as kernels' lowering

            check_device_function(function.source, types, IDEAL)
        else:
            function.lowered(types, IDEAL)
    except UnsupportedError:
        return
    except KernelError as error:
        failure = error
    if failure is not None:  # the user's mistake: the compiler's own frames would only hide it
        raise failure.with_traceback(None)
