"""The public names of a package, imported on first use: a command starts faster without modules that it never needs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def names_on_first_use(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package whose names are in other modules: name -> "module" or "module:name there".

    No name may be that of a module in the package, as Python would return the module once it is imported.
    """

    def value_of(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, _, attribute = modules[name].partition(":")
        value = getattr(import_module(module), attribute or name)
        setattr(sys.modules[package], name, value)
        return value

    return value_of
