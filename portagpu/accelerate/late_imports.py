"""A function that is called as soon as a module has been imported: functions of SciPy are replaced then, too."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Sequence
from types import ModuleType


class AfterImport:
    """Calls a function after the first import of a module, until `stop`. A finder that finds nothing itself."""

    def __init__(self, module: str, function: Callable[[], None]) -> None:
        self._module, self._function = module, function
        self._searching = False
        self._active = False

    def start(self) -> None:
        """Watch for the import, unless it has been."""
        self._active = self._module not in sys.modules
        if self._active:
            sys.meta_path.insert(0, self)

    def stop(self) -> None:
        """Leave the import to itself."""
        self._active = False
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """What the other finders find, with the function behind the module's own code."""
        if name != self._module or self._searching:
            return None
        self._searching = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._searching = False
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            if self._active:
                self.stop()
                self._function()

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec
