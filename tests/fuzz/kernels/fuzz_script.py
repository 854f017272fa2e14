"""Runnable programs of drawn kernels: arguments and expected results as literals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from fuzz_reference import execute

if TYPE_CHECKING:
    from fuzz_kernel import Kernel

_HEAD = "import cmath\nimport math\n\nimport numpy as np\nfrom portagpu import cuda\n\n\n"


def script(kernel: Kernel) -> str:
    """The text of a program that launches a kernel and asserts its results."""
    lines = [_HEAD + kernel.source, ""]
    given = kernel.values()
    lines += [f"{a.name} = {literal(v, a.layout)}" for a, v in zip(kernel.arguments, given, strict=True)]
    names = ", ".join(a.name for a in kernel.arguments)
    lines.append(f"kernel[{str(kernel.configuration)[1:-1]}]({names})")
    expected = kernel.values()
    try:
        tolerances = execute(kernel.source, "kernel", kernel.grid, kernel.block, expected)
    except Exception as error:
        return "\n".join([*lines, f"# the reference ends with {type(error).__name__}: {error}"])
    for argument, before, after in zip(kernel.arguments, given, expected, strict=True):
        if argument.layout is not None and id(after) not in tolerances and before.tobytes() != after.tobytes():
            lines.append(f"assert np.array_equal({argument.name}, {literal(after, None)}), {argument.name}")
    return "\n".join(lines) + "\n"


def literal(value: Any, layout: str | None) -> str:
    """The text of an argument."""
    if not isinstance(value, np.ndarray):
        return repr(value) if type(value) in (int, float, bool) else f"np.{value.dtype}({value.item()!r})"
    kind = f"np.{value.dtype}" if value.dtype.names is None and value.dtype.name != "bool" else dtype_text(value.dtype)
    if value.size and value.tobytes() == bytes(value.nbytes):
        text = f"np.zeros({value.shape}, {kind})"
    else:
        text = f"np.array({value.tolist()}, {kind})"
    if layout == "F":
        return f"np.asfortranarray({text})"
    return f"np.repeat({text}, 2, -1)[..., ::2]" if layout == "strided" else text


def dtype_text(dtype: np.dtype[Any]) -> str:
    """The text of a dtype of bools or records."""
    if dtype.names is None:
        return "bool"
    fields = [dtype.fields[name][:2] for name in dtype.names]  # type: ignore[index]
    formats = ", ".join(_format(f) for f, _ in fields)
    offsets = [offset for _, offset in fields]
    return (
        f"np.dtype({{'names': {list(dtype.names)}, 'formats': [{formats}], 'offsets': {offsets}, "
        f"'itemsize': {dtype.itemsize}}})"
    )


def _format(dtype: np.dtype[Any]) -> str:
    if dtype.subdtype is not None:
        return f"({_format(dtype.subdtype[0])}, {dtype.subdtype[1]})"
    return dtype_text(dtype) if dtype.names else repr(dtype.str[1:] if dtype.str[1:] != "b1" else "?")
