"""Host arrays of other libraries (torch, jax) as NumPy arrays of the same memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu.backends import registry
from portagpu.errors import ArgumentTypeError, DTypeError
from portagpu.runtime.arrays.dlpack import HOST_KINDS, imported
from portagpu.runtime.execution.cuda_members import ArrayNames

_REMEDIES = (  # what torch says of tensors that are more than memory
    ("gradient", "pass x.detach(): kernels record nothing for gradients"),
    ("conjugate bit", "pass x.resolve_conj()"),
    ("negative bit", "pass x.resolve_neg()"),
    ("layout", "pass x.to_dense()"),
)


def is_foreign(value: Any) -> bool:
    """Whether a value is another library's array that shows its memory by DLPack, and no back end takes as it is."""
    return (
        not isinstance(value, np.ndarray | ArrayNames | type)  # device arrays have DLPack, too
        and hasattr(value, "__dlpack__")
        and hasattr(value, "__dlpack_device__")
        and not isinstance(value, registry.foreign.arrays)
    )


def dlpack_kind(value: Any, what: str) -> int:
    """DLPack's code of where the memory of another library's array is. Raises `ArgumentTypeError` where it has none."""
    try:
        return int(value.__dlpack_device__()[0])
    except (AttributeError, BufferError, RuntimeError, TypeError, ValueError) as error:
        raise ArgumentTypeError(
            f"{_named(value, what)} has no memory: {error}", hint="pass an array with elements"
        ) from None


def _named(value: Any, what: str) -> str:
    return f"{what}, a {type(value).__module__.partition('.')[0]}.{type(value).__name__},"


def shared_view(value: Any, what: str) -> np.ndarray[Any, Any]:
    """The memory of another library's array, read-only where that is. ``what`` names it in errors.

    Raises `ArgumentTypeError` for memory of a device, and for arrays that are more than memory.
    """
    shown = _named(value, what)
    if dlpack_kind(value, what) not in HOST_KINDS:
        raise ArgumentTypeError(
            f"{shown} is in the memory of a device, which kernels cannot use here",
            hint="copy it to the host first, as x.cpu() or x.get() does",
        )
    try:
        found = imported(value)
    except DTypeError as error:
        raise ArgumentTypeError(f"{shown} cannot be shared: {error.message}", hint=error.hint) from None
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        hint = next((remedy for word, remedy in _REMEDIES if word in str(error)), None)
        hint = hint or "pass a NumPy array of it, as np.asarray(x) makes"
        raise ArgumentTypeError(f"{shown} cannot be shared: {error}", hint=hint) from None
    return found if found.flags.writeable else _writable(value, found)


def _writable(value: Any, found: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """What older versions of DLPack give is read-only, whatever the library allows; its own way to NumPy tells."""
    if not hasattr(value, "__array__"):
        return found
    try:
        other = np.asarray(value)
    except (BufferError, RuntimeError, TypeError, ValueError):  # torch's bfloat16
        return found
    same = other.__array_interface__["data"][0] == found.__array_interface__["data"][0]
    return other if same and other.shape == found.shape and other.flags.writeable else found
