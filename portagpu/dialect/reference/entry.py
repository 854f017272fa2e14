"""What is known about one name of the dialect, as a value."""

from __future__ import annotations

import ast
import inspect
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReferenceEntry:
    """One name: its parameters as ``name: what it takes``, what it gives, and one or two sentences.

    ``parameters`` is None for a value that is not called. A parameter with ``= default`` may be left out.
    """

    parameters: tuple[str, ...] | None
    result: str
    text: str
    errors: str = ""

    def signature(self, name: str) -> str:
        """The name as it is written in a kernel."""
        if self.parameters is None:
            return name
        shown = [p.partition(":")[0] + ("=" + p.partition("= ")[2] if "= " in p else "") for p in self.parameters]
        return f"{name}({', '.join(shown)})"

    @property
    def call(self) -> inspect.Signature | None:
        """The parameters as `inspect` has them; None for a value."""
        if self.parameters is None:
            return None
        found = []
        for text in self.parameters:
            name, (_, equals, default) = text.partition(":")[0], text.partition(" = ")
            value = ast.literal_eval(default) if equals else inspect.Parameter.empty
            found.append(inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=value))
        return inspect.Signature(found)

    def help(self, name: str) -> str:
        """The text that `help` shows."""
        lines = [f"{self.signature('cuda.' + name)} -> {self.result}", "", self.text]
        if self.parameters:
            lines += ["", "Takes:", *(f"    {p}" for p in self.parameters)]
        if self.errors:
            lines += ["", f"Errors: {self.errors}"]
        return "\n".join([*lines, "", "Works inside kernels and device functions only."])


def call(parameters: str, result: str, text: str, errors: str = "") -> ReferenceEntry:
    """The meaning of a function; its parameters are separated by semicolons."""
    return ReferenceEntry(tuple(p.strip() for p in parameters.split(";") if p.strip()), result, text, errors)
