# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests with packages and servers of others, which scripts/check_python.sh runs. No conftest.py, because the tests beside this
folder import theirs by that name."""
import os
from pathlib import Path

import pytest


def tree():
    """The source tree that these tests lie in; None where they were copied out of it."""
    return next((each for each in Path(__file__).resolve().parents if (each / "models/demo.onnx").exists()), None)


@pytest.fixture(scope="session")
def root():
    found = tree()
    if not found:
        pytest.skip("these tests are not in a source tree, whose model and clip they need")
    return found


@pytest.fixture(scope="session")
def tool():
    from tenon.__main__ import tool as path

    if not path().exists():
        pytest.skip(f"there is no command-line tool at {path()}: build it, or set TENON_TOOL")
    return path()


@pytest.fixture
def environment():
    """For processes of the tests: they import tenon from where the tests do."""
    import tenon

    paths = [str(Path(tenon.__file__).parent.parent), os.environ.get("PYTHONPATH", "")]
    return dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, paths)))
