"""What functions of `cuda.libdevice` and `cuda.fp16` compute, in a few words each, for the reference."""

from __future__ import annotations

from portagpu.ir.operations import OPERATIONS

# what is no operation of the IR, or one whose result the function shows as a number
_OWN = {
    "add": "Sum, rounded to nearest.",
    "sub": "Difference, rounded to nearest.",
    "mul": "Product, rounded to nearest.",
    "div": "Quotient, rounded to nearest.",
    "isfinite": "1 if x is neither infinite nor NaN, else 0.",
    "isinf": "1 if x is infinite, else 0.",
    "isnan": "1 if x is NaN, else 0.",
    "max": "The larger number.",
    "min": "The smaller number.",
    "modf": "Fraction and whole part, both with the sign of x.",
    "neg": "-x.",
    "rcp": "1 / x.",
    "signbit": "1 if the sign is negative, else 0.",
    "sincos": "Sine and cosine of an angle in radians.",
    "sincospi": "Sine and cosine of x times pi.",
}
_ROUNDING = {"nearest": "to nearest", "down": "down", "up": "up", "zero": "towards 0"}


def text_of(operation: str, result: str) -> str:
    """What an operation computes; ``result`` is the type that conversions lead to."""
    if operation.startswith("convert_"):
        return f"x as {result}, rounded {_ROUNDING[operation.removeprefix('convert_')]}."
    if operation == "as_type":
        return f"The bits of x as {result}."
    return _OWN.get(operation) or OPERATIONS[operation].meaning
