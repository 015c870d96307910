# SPDX-License-Identifier: Apache-2.0
"""The old path of everything: `from openvino.runtime import Core`."""

import sys
from typing import Any

import tenon.openvino as _new

__path__: list = []
globals().update({name: value for name, value in vars(_new).items() if name[0] != "_"})
for _name in [name for name in sys.modules if name.startswith("tenon.openvino.")]:
    _old = _name.replace("tenon.openvino.", "tenon.openvino.runtime.", 1)
    if not _name.startswith("tenon.openvino.runtime") and not _name.partition("tenon.openvino.")[2].startswith("_"):
        sys.modules.setdefault(_old, sys.modules[_name])


def __getattr__(name: str) -> Any:
    return getattr(_new, name)
