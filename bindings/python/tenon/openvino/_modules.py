# SPDX-License-Identifier: Apache-2.0
"""Modules that are made of names, and what a module says about a name that Tenon lacks."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from ._absent import REASONS


def reason(path: str) -> str:
    """Why Tenon lacks `path`, such as "frontend.FrontEnd"; empty where it is not known as absent."""
    parts = path.split(".")
    for count in range(len(parts), 0, -1):
        for pattern in (".".join(parts[:count]), ".".join(parts[:count - 1] + ["*"]) if count == len(parts) else ""):
            if pattern in REASONS:
                return REASONS[pattern]
    return ""


def refuse(module: str, name: str) -> AttributeError:
    """The error of a module without this name."""
    within = module.partition("tenon.openvino")[2].lstrip(".")
    why = reason(f"{within}.{name}" if within else name)
    return AttributeError(f"module {module!r} has no attribute {name!r}" + (f": {why}" if why else ""))


class Named(ModuleType):
    """A module of given names."""

    def __getattr__(self, name: str) -> Any:
        raise refuse(self.__name__, name)


def module_of(name: str, text: str, names: dict) -> ModuleType:
    """Makes the module `name` and registers it, as a package, so that it is imported by its path, too."""
    module = Named(name, text)
    module.__path__ = []
    module.__dict__.update(names)
    sys.modules[name] = module
    parent, _, child = name.rpartition(".")
    if parent in sys.modules:
        setattr(sys.modules[parent], child, module)
    return module
