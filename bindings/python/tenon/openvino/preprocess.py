# SPDX-License-Identifier: Apache-2.0
"""Pre- and post-processing as part of a model."""

from typing import Any

from tenon._native import preprocess as _steps

from ._modules import refuse
from ._version import get_version

__path__: list = []
__all__ = [name for name in vars(_steps) if name[0] != "_"] + ["get_version"]
globals().update({name: getattr(_steps, name) for name in __all__[:-1]})


def __getattr__(name: str) -> Any:
    raise refuse(__name__, name)
