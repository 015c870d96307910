# SPDX-License-Identifier: Apache-2.0
"""What the elements python, python_source and python_sink ask of this package, in whichever program they run."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
import os
import sys
import traceback
from types import ModuleType
from typing import Any, Union

from . import Sink, Source, Transform, __version__, _native
from ._elements import describe

_ELEMENTS = {"source": "python_source", "transform": "python", "sink": "python_sink"}
_files: dict[str, ModuleType] = {}


def _load(module: str) -> ModuleType:
    """A module by its dotted name, or a file by its path; a file is loaded once."""
    if not module.endswith(".py") and os.sep not in module:
        return importlib.import_module(module)
    path = os.path.realpath(module)
    if path not in _files:
        spec = importlib.util.spec_from_file_location(f"tenon_element_{len(_files)}", path)
        if spec is None or spec.loader is None or not os.path.isfile(path):
            raise FileNotFoundError(f"there is no Python file {module!r}")
        loaded = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = loaded  # For pickles and dataclasses of its classes.
        folder = os.path.dirname(path)
        if folder not in sys.path:
            sys.path.append(folder)  # Files beside it are its modules.
        try:
            spec.loader.exec_module(loaded)
        except BaseException:
            del sys.modules[spec.name]
            raise
        _files[path] = loaded
    return _files[path]


def _find(loaded: ModuleType, name: str, role: str) -> Any:
    """The class or function of this name, or the only one that has the role."""
    if name:
        if not hasattr(loaded, name):
            raise AttributeError(f"{loaded.__file__} has no class or function {name!r}; it has {', '.join(_named(loaded)) or 'none'}")
        return getattr(loaded, name)
    kind = {"source": Source, "transform": Transform, "sink": Sink}[role]
    fitting = [each for each in _named(loaded).values() if isinstance(each, type) and issubclass(each, kind)]
    if not fitting and role == "transform":
        fitting = [each for each in _named(loaded).values() if inspect.isfunction(each)]
    if len(fitting) != 1:
        names = ", ".join(each.__name__ for each in fitting)
        raise LookupError(f"{loaded.__file__} has {'no' if not fitting else 'more than one'} {role}{': ' + names if names else ''}; \"class\" names one")
    return fitting[0]


def _named(loaded: ModuleType) -> dict[str, Any]:
    """What the file itself defines under public names."""
    return {name: value for name, value in vars(loaded).items()
            if not name.startswith("_") and (inspect.isfunction(value) or isinstance(value, type)) and value.__module__ == loaded.__name__}


def make(version: str, owner: str, module: str, name: str, kwarg: str, role: str) -> Union[str, object]:
    """A capsule of the element, or the text of what went wrong."""
    try:
        if version != __version__:
            return f"the Python package tenon is {__version__}, and this element is of {version}"
        element = _find(_load(module), name, role)
        described = describe(element)
        own = described["element"]._role
        if own != role:
            return f"{described['name']} is a {own}, for which there is the element {_ELEMENTS[own]}"
        parameters = json.loads(kwarg) if kwarg else {}
        if not isinstance(parameters, dict):
            return f"kwarg is a JSON object of parameters, not {kwarg!r}"
        return _native._element_capsule(element, parameters)
    except json.JSONDecodeError as error:
        return f"kwarg is no JSON: {error}: {kwarg!r}"
    except Exception as error:
        lines = traceback.extract_tb(error.__traceback__)
        where = next((f" (line {line.lineno} of {line.filename})" for line in reversed(lines) if line.filename != __file__ and "importlib" not in line.filename), "")
        return f"{type(error).__name__}: {error}{where}"
