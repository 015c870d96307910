# SPDX-License-Identifier: Apache-2.0
"""Tests with packages and servers of others: run by scripts/check_python.sh, each skipped with its reason where its package is missing."""
import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[4]
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))


@pytest.fixture(scope="session")
def root():
    return ROOT


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
